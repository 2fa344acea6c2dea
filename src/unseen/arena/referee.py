"""The referee: holds the truth of a game, draws chance, tells each agent what it may know, and enforces the rules.

An agent that raises, chooses an action that is not legal, gives a distribution that is none, or takes longer than it may is at
fault. That ends the game with an `AgentFault`; or, if that is asked for, the agent loses it, with the largest payoff that a
thousand random games show (1 where games are won or lost).
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from unseen.agents import Agent, Budget
from unseen.arena.asking import ATTENTION, Asked, Fault
from unseen.errors import AgentFault
from unseen.game import Game
from unseen.position import Position, history_text
from unseen.random_play import largest_payoff


@dataclass(frozen=True)
class Turn:
    """A choice of an agent: where, with which probabilities, and how long it took."""

    seat: int
    ply: int
    probabilities: Mapping[int, float]
    seconds: float


@dataclass(frozen=True)
class Played:
    """A game between two agents: what happened, what it paid to each seat, and the fault that ended it, if one did."""

    history: tuple[int, ...]
    payoffs: tuple[float, float]
    turns: list[Turn] = field(default_factory=list)
    fault: Fault | None = None


def seeds(seed: int, *parts: int) -> list[int]:
    """Three seeds, for chance and for both seats, that depend on all these numbers."""
    return [int(s) for s in np.random.SeedSequence([seed, *parts]).generate_state(3, np.uint64)]


def play(
    game: Game, agents: Sequence[Agent | Asked], seed: int | Sequence[int] = 0, budget: Budget | None = None,
    limit: float | None = None, of_chance: Sequence[int] | None = None, forfeits: bool = False,
) -> Played:  # fmt: skip
    """Play one game; `agents[0]` moves as player 0. `limit` is the most seconds an agent may take for a move, `of_chance` a seed of
    chance alone. With `forfeits` a fault of an agent loses it the game; otherwise it is raised."""
    chance_seed, *agent_seeds = seeds(*([seed] if isinstance(seed, int) else seed))
    chance = random.Random(chance_seed if of_chance is None else seeds(*of_chance)[0])
    asked = [agent if isinstance(agent, Asked) else Asked(agent) for agent in agents]
    position, turns, told = Position(game), [], [0, 0]
    has_person = any(each.agent.is_person for each in asked)
    for each in asked:
        each.is_secret = has_person
    try:
        with contextlib.nullcontext() if has_person else ATTENTION:
            for seat in (0, 1):
                asked[seat].begin(game, seat, agent_seeds[seat], budget)
            while not position.is_terminal:
                if position.is_chance:
                    position.apply(chance.choices(position.actions, position.chance_probabilities)[0])
                else:
                    seat = position.player
                    asked[seat].history = position.history
                    began = time.perf_counter()
                    chosen = asked[seat].act(position.actions, limit)
                    seconds = time.perf_counter() - began
                    if limit is not None and seconds > limit:
                        raise asked[seat].fault(f"took {seconds:.2f} s for a move, which may take {limit:g} s")
                    turns.append(Turn(seat, len(position.history), chosen.probabilities, seconds))
                    position.apply(chosen.action)
                for seat in (0, 1):
                    asked[seat].history = position.history
                    for percept in position.seen(seat)[told[seat] :]:
                        asked[seat].observe(percept)
                        told[seat] += 1
            return Played(position.history, position.utilities, turns)
    except AgentFault as error:
        if not forfeits:
            raise
        loss = largest_payoff(game)
        return Played(position.history, (-loss, loss) if error.fault.seat == 0 else (loss, -loss), turns, error.fault)


def describe(game: Game, played: Played) -> str:
    """A game for people, with its fault if it had one."""
    ending = f"; {played.fault}" if played.fault else ""
    return f"{history_text(game, played.history)}, payoffs {played.payoffs[0]:+zg} {played.payoffs[1]:+zg}{ending}"

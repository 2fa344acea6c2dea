"""The referee: holds the truth of a game, draws chance, tells each agent what it may know, and enforces the rules.

An agent that raises, chooses an action that is not legal, gives a distribution that is none, or takes longer than it may is at
fault: it loses the game at once, with the largest payoff that a thousand random games show (1 where games are won or lost).
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from unseen.agents import Agent, Budget, Choice
from unseen.errors import GameFault, RuleError
from unseen.game import Game
from unseen.position import Position, history_text
from unseen.random_play import largest_payoff

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Fault:
    """What an agent did wrong, and where."""

    agent: str
    seat: int
    history: tuple[int, ...]
    what: str

    def __str__(self) -> str:
        return f"{self.agent}, player {self.seat + 1}, {self.what}, at history {list(self.history)}"


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


class _AtFault(Exception):
    """An agent has broken a rule; the message says how."""


def seeds(seed: int, *parts: int) -> list[int]:
    """Three seeds, for chance and for both seats, that depend on all these numbers."""
    return [int(s) for s in np.random.SeedSequence([seed, *parts]).generate_state(3, np.uint64)]


def play(
    game: Game, agents: Sequence[Agent], seed: int | Sequence[int] = 0, budget: Budget | None = None, limit: float | None = None,
    of_chance: Sequence[int] | None = None,
) -> Played:  # fmt: skip
    """Play one game; `agents[0]` moves as player 0. `limit` is the most seconds an agent may take for a move, `of_chance` a seed of
    chance alone."""
    chance_seed, *agent_seeds = seeds(*([seed] if isinstance(seed, int) else seed))
    chance = random.Random(chance_seed if of_chance is None else seeds(*of_chance)[0])
    position, turns, told, seat = Position(game), [], [0, 0], 0
    try:
        for seat in (0, 1):
            _call(agents[seat].begin, game, seat, agent_seeds[seat], budget)
        while not position.is_terminal:
            if position.is_chance:
                position.apply(chance.choices(position.actions, position.chance_probabilities)[0])
            else:
                seat = position.player
                began = time.perf_counter()
                chosen = _check(_call(agents[seat].act, position.actions), position.actions)
                seconds = time.perf_counter() - began
                if limit is not None and seconds > limit:
                    raise _AtFault(f"took {seconds:.2f} s for a move, which may take {limit:g} s")
                turns.append(Turn(seat, len(position.history), dict(chosen.probabilities), seconds))
                position.apply(chosen.action)
            for seat in (0, 1):
                for percept in position.seen(seat)[told[seat] :]:
                    _call(agents[seat].observe, percept)
                    told[seat] += 1
        return Played(position.history, position.utilities, turns)
    except _AtFault as error:
        loss = largest_payoff(game)
        fault = Fault(agents[seat].name, seat, position.history, str(error))
        return Played(position.history, (-loss, loss) if seat == 0 else (loss, -loss), turns, fault)


def _call(method: Any, *args: Any) -> Any:
    try:
        return method(*args)
    except (GameFault, RuleError):
        raise  # the game's fault, not the agent's
    except Exception as error:
        raise _AtFault(f"raised {type(error).__name__}: {error}") from error


def _check(choice: Any, actions: Sequence[int]) -> Choice:
    """The choice, if it is one that the rules allow."""
    if not isinstance(choice, tuple) or len(choice) != 2 or not isinstance(choice[1], Mapping):
        raise _AtFault(f"returned {choice!r}, which is not an action and probabilities")
    chosen = Choice(choice[0], choice[1])
    if chosen.action not in actions:
        raise _AtFault(f"chose {chosen.action!r}, which is not among the legal actions {list(actions)}")
    chances = list(chosen.probabilities.values())
    is_known = set(chosen.probabilities) <= set(actions)
    if not is_known or not all(isinstance(p, (int, float)) and isfinite(p) and p >= 0.0 for p in chances):
        raise _AtFault(f"gave the probabilities {dict(chosen.probabilities)}, which are not for the legal actions {list(actions)}")
    if abs(sum(chances) - 1.0) > SUM_TOLERANCE:
        raise _AtFault(f"gave probabilities that sum to {sum(chances):.6g}, not to 1")
    if chosen.probabilities.get(chosen.action, 0.0) <= 0.0:
        raise _AtFault(f"chose {chosen.action}, to which it had given no probability")
    return chosen


def describe(game: Game, played: Played) -> str:
    """A game for people, with its fault if it had one."""
    ending = f"; {played.fault}" if played.fault else ""
    return f"{history_text(game, played.history)}, payoffs {played.payoffs[0]:+g} {played.payoffs[1]:+g}{ending}"

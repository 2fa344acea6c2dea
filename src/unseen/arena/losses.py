"""What an agent loses a game to one that plays an equilibrium, where exact values say what every state is worth.

A game's result is mostly luck. With exact values V* the luck can be taken out: where both choose, with mixes p and q and the matrix
A of what the next states are worth, the joint move is expected to change what the game is worth by p A q - V*. Chance, and what is
drawn from the mixes, change it by nothing on average. So the sum of V* - p A q over the moves of a game has the same mean as what
the agent loses, and none of that noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Agent, Budget
from unseen.arena.asking import Asked
from unseen.arena.intervals import for_json, margin, of_pairs, plus_minus
from unseen.arena.matches import first_seat
from unseen.arena.names import asked, check_agent
from unseen.arena.plans import values_in_a_file
from unseen.arena.referee import Played, play
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.position import Position
from unseen.run.rows import Rows, Watcher
from unseen.run.workers import Workers
from unseen.show.results import Result
from unseen.solving.agents import OptimalAgent
from unseen.stacked.openness import check_open
from unseen.stacked.values import Values


@dataclass(frozen=True, repr=False)
class Losses(Result):
    """What an agent loses a game against `optimal`. The two games of a pair have the same chance, with the seats changed."""

    game: Game
    agent: str
    losses: NDArray[np.float64]
    """(games,) what each was expected to lose, by the mixes of both players; nan where it was not played."""
    payoffs: NDArray[np.float64]
    """(games,) what the agent got."""
    simulations: int
    is_complete: bool = True

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.losses))

    @property
    def margin(self) -> float:
        """Half of a 95% interval of the mean."""
        return margin(of_pairs(self.losses))

    @property
    def title(self) -> str:
        return f"{self.agent} against an equilibrium of {self.game.spec}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "agent": self.agent, "method": "loss", "loss": self.mean,
            "margin": for_json(self.margin),
            "games": int((~np.isnan(self.losses)).sum()), "mean_payoff": float(np.nanmean(self.payoffs)),
            "payoff_margin": for_json(margin(of_pairs(self.payoffs))), "simulations": self.simulations,
            "complete": self.is_complete,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        return {
            "expected loss a game": plus_minus(self.mean, self.margin),
            "mean payoff, luck included": plus_minus(np.nanmean(self.payoffs), margin(of_pairs(self.payoffs))),
            "games": int((~np.isnan(self.losses)).sum()),
        } | ({} if self.is_complete else {"stopped": "by Ctrl-C"})


def expected_loss(
    game: Game | str, agent: str | Agent, *, games: int = 100, values: Values | Path | str | None = None, seed: int = 0,
    workers: Workers = None, budget: Budget | None = None, save: Path | None = None, resume: bool = False,
    watch: Watcher | None = None, progress: bool | None = None,
) -> Losses:  # fmt: skip
    """What an agent loses a game against `optimal`, without bias and with the luck of cards and mixes taken out.

    - `game`: a game, or what names one: simultaneous, and nothing hidden but the move being made.
    - `agent`: an agent, or what names one.
    - `games`: an even number, in pairs with the same chance and the seats changed.
    - `values`: the exact values of the game, or their file; otherwise the game is solved first.
    - `seed`, `workers`, `budget`, `save`, `resume`, `watch`, `progress`: as in `measure`.
    """
    game = load(game)
    check_open(game, "an expected loss against exact values")
    if games < 2 or games % 2:
        raise UnseenError(f"games is {games}, but must be an even number, at least 2.")
    name = agent if isinstance(agent, str) else agent.name
    if isinstance(agent, str):
        check_agent(agent, game)
    about = {"method": "loss", "agent": name, "seed": seed, "budget": repr(budget), "games": games}
    found = Rows(games, 3)
    with values_in_a_file(game, values, workers, progress) as file:
        found.run(
            game, AgainstOptimal, (game, agent, seed, budget, file), range(games), about, save, resume, workers, watch, progress
        )
    simulations = int(np.nansum(found.results[:, 0]))
    return Losses(game, name, found.results[:, 1], found.results[:, 2], simulations, found.is_complete)


class AgainstOptimal:
    """A task is the number of a game."""

    def __init__(self, game: Game, agent: str | Agent, seed: int, budget: Budget | None, file: Path) -> None:
        self.game, self.seed, self.budget, self.values = game, seed, budget, Values.load(file, game)
        self.agent, self.optimal = asked(agent, game), Asked(OptimalAgent(self.values))

    def __call__(self, k: int) -> NDArray[np.float64]:
        """Simulations, what the agent was expected to lose, and what it got."""
        seat = first_seat(k)
        pair = (self.agent, self.optimal) if seat == 0 else (self.optimal, self.agent)
        played = play(self.game, pair, (self.seed, k), self.budget, of_chance=(self.seed, k // 2))
        return np.array([self.agent.simulations_made, loss_of(self.values, played, seat), played.payoffs[seat]])


def loss_of(values: Values, played: Played, seat: int) -> float:
    """The sum of V* - p A q over the joint moves of a game, to the player in `seat`."""
    loss, mixes = 0.0, {(turn.ply, turn.seat): turn.probabilities for turn in played.turns}
    position = Position(values.game)
    for ply, action in enumerate(played.history):
        if position.player == 0:
            answer = values.at(position)
            first, second = list(answer.mixes[0]), list(answer.mixes[1])
            p, q = _vector(mixes[ply, 0], first), _vector(mixes[ply + 1, 1], second)
            loss += answer.value - float(p @ answer.payoffs @ q)
        position.apply(action)
    return loss if seat == 0 else -loss


def _vector(mix: Mapping[int, float], actions: list[int]) -> NDArray[np.float64]:
    return np.array([mix.get(a, 0.0) for a in actions])

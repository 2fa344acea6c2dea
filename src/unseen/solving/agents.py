"""Agents that have solved the game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from unseen.agents import Agent, Budget, Kind, StrategyAgent
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.options import Parameter
from unseen.solving.minimisers import MINIMISERS
from unseen.stacked.openness import open_history
from unseen.tabular.strategy import Strategy

if TYPE_CHECKING:
    from unseen.stacked.values import Values


def make_solved(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
    return StrategyAgent(_solution(game, options["algorithm"], options["until"]), name)


@lru_cache(maxsize=4)
def _solution(game: Game, algorithm: str, until: float) -> Strategy:
    from unseen.solving.job import solve  # which imports much that other agents do not need

    found = solve(game, algorithm, until=until)
    if found.stopped:
        raise KeyboardInterrupt
    return found.strategy


class OptimalAgent(Agent):
    """Plays an equilibrium of the matrix game at each state."""

    is_certain = True

    def __init__(self, values: Values, name: str = "optimal") -> None:
        self.values, self.name = values, name

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        if game != self.values.game:
            raise UnseenError(f"agent {self.name}: its values are those of {self.values.game.spec}, not of {game.spec}.")
        super().begin(game, seat, seed, budget)

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        return self.values.at(open_history(self.game, self.seat, self.seen)).mixes[self.seat]


def make_optimal(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
    from unseen.stacked.values import Values

    values = Values.load(options["file"], game) if options["file"] else _values(game)
    if values.stopped:
        raise UnseenError(f"agent {name!r}: the values in its file are not complete; go on with `unseen value --resume`.")
    return OptimalAgent(values, name)


@lru_cache(maxsize=4)
def _values(game: Game) -> Values:
    from unseen.stacked.values import backward_induction

    found = backward_induction(game, workers=1)
    if found.stopped:
        raise KeyboardInterrupt
    return found


AGENTS: dict[str, Kind] = {
    "optimal": Kind(
        "Plays an equilibrium of a game whose players choose at the same time and know all else, solved by backward induction.",
        "", make_optimal,
        {"file": Parameter("", help="a file of values, as `unseen value GAME --out FILE` writes it; without, it solves the game")},
        ('"pd_goofspiel(cards=7)"', "oshi_zumo"),
    ),
    "solved": Kind(
        "Solves the game first, and plays that strategy.", "", make_solved,
        {
            "algorithm": Parameter("dcfr", choices=tuple(MINIMISERS), help="which solver"),
            "until": Parameter(0.001, 1e-9, help="the exploitability (sum) at which it stops"),
        },
    ),
}  # fmt: skip

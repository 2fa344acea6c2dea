"""Matches: many games between two agents, who change seats after each, with what can be said of the result.

Game number k depends on the seed and k alone, so any of them can be played again, and the number of workers changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from unseen.agents import Agent, Budget
from unseen.arena.names import make_agent
from unseen.arena.referee import Played, play
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.run.progress import InterruptsHeld
from unseen.run.workers import run_all

Z = 1.959963984540054
"""The normal quantile of 95% intervals."""


@dataclass
class Match:
    """The games of a match, in order. Payoffs, wins and losses are those of the agent that was named first."""

    game: Game
    names: tuple[str, str]
    seed: int
    games: list[Played] = field(default_factory=list)
    stopped: bool = False
    """Whether Ctrl-C ended it."""

    @property
    def payoffs(self) -> list[float]:
        return [played.payoffs[first_seat(k)] for k, played in enumerate(self.games)]

    @property
    def mean(self) -> float:
        return sum(self.payoffs) / len(self.games) if self.games else 0.0

    @property
    def ci(self) -> tuple[float, float] | None:
        """The 95% interval of the mean payoff; None if there are too few games to tell."""
        n, mean = len(self.games), self.mean
        if n < 2:
            return None
        margin = Z * sqrt(sum((x - mean) ** 2 for x in self.payoffs) / (n - 1) / n)
        return mean - margin, mean + margin

    @property
    def wins(self) -> int:
        return sum(x > 0 for x in self.payoffs)

    @property
    def draws(self) -> int:
        return sum(x == 0 for x in self.payoffs)

    @property
    def losses(self) -> int:
        return sum(x < 0 for x in self.payoffs)

    @property
    def rate(self) -> tuple[float, float, float]:
        """The rate of wins, a draw counting half, and its 95% interval."""
        return agresti_coull(self.wins + 0.5 * self.draws, len(self.games))

    @property
    def faults(self) -> list[Played]:
        return [played for played in self.games if played.fault]


def agresti_coull(successes: float, trials: int) -> tuple[float, float, float]:
    """A rate and its 95% interval: A. Agresti and B. Coull, "Approximate is better than exact" (1998)."""
    n = trials + Z * Z
    centre = (successes + 0.5 * Z * Z) / n
    margin = Z * sqrt(centre * (1.0 - centre) / n)
    return successes / trials if trials else 0.5, max(0.0, centre - margin), min(1.0, centre + margin)


def first_seat(k: int) -> int:
    """The seat of the agent named first in game number `k`."""
    return k % 2


class _Table:
    """Two agents who play one game after the other."""

    def __init__(
        self, game: Game, agents: Sequence[str | Agent], seed: int, budget: Budget | None, limit: float | None
    ) -> None:  # fmt: skip
        self.game, self.seed, self.budget, self.limit = game, seed, budget, limit
        self.agents = [make_agent(agent, game) if isinstance(agent, str) else agent for agent in agents]

    def __call__(self, k: int) -> Played:
        order = self.agents if first_seat(k) == 0 else self.agents[::-1]
        return play(self.game, order, (self.seed, k), self.budget, self.limit)


def match(
    game: Game | str, first: str | Agent, second: str | Agent, games: int = 100, seed: int = 0, workers: int = 1,
    budget: Budget | None = None, limit: float | None = None, out: Path | None = None,
    watch: Callable[[Match], None] | None = None,
) -> Match:  # fmt: skip
    """Play `games` games. Ctrl-C ends the match and keeps the games that were played.

    With `out`, a line of JSON for each game is added to that file as soon as it has been played.
    """
    game = load(game)
    if games < 1:
        raise UnseenError(f"games is {games}, but must be at least 1.")
    names = [agent if isinstance(agent, str) else agent.name for agent in (first, second)]
    result = Match(game, (names[0], names[1]), seed)
    args = (game, (first, second), seed, budget, limit)
    try:
        for played in run_all(_Table(*args), args, range(games), workers):
            with InterruptsHeld() as interrupts:  # a game is noted everywhere or nowhere
                result.games.append(played)
                if out is not None:
                    _append(out, record(result, len(result.games) - 1))
            if watch is not None:
                watch(result)
            if interrupts.count:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        result.stopped = True
    return result


def replay(
    game: Game | str, first: str | Agent, second: str | Agent, k: int, seed: int = 0, budget: Budget | None = None
) -> Played:
    """Game number `k` of the match with this seed, played again."""
    return _Table(load(game), (first, second), seed, budget, None)(k)


def record(result: Match, k: int) -> dict[str, Any]:
    """Game number `k` of a match as one object of JSON."""
    played, seat = result.games[k], first_seat(k)
    return {
        "game": result.game.spec, "agents": result.names, "seed": result.seed, "number": k, "first_agent_is_player": seat,
        "history": played.history, "payoff": played.payoffs[seat], "fault": str(played.fault) if played.fault else None,
    }  # fmt: skip


def _append(path: Path, row: dict[str, Any]) -> None:
    try:
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise UnseenError(f"cannot write {path}: {error.strerror or error}.") from error

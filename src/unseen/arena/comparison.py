"""Every pair of several agents: what the first gets on average, and how often it wins, draws and loses.

Exactly: each agent becomes a strategy (`extraction`), and a pair is one product with the game's payoffs; the probability of a win
is the same in a game that pays 1 for a win and 0 for all else. Or by playing games.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Budget, RandomAgent
from unseen.arena.extraction import extract
from unseen.arena.intervals import margin
from unseen.arena.matches import match
from unseen.arena.names import check_agent, make_agent
from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.exact.ways import form_for
from unseen.game import Game
from unseen.loading import load
from unseen.options import parameter
from unseen.run.workers import Workers
from unseen.show.results import Result
from unseen.tabular.strategy import Strategy

if TYPE_CHECKING:
    from rich.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """One agent moving first and another second; numbers are those of the first."""

    first: str
    second: str
    mean: float
    win: float
    draw: float
    loss: float
    ci: tuple[float, float] | None = None
    """The 95% interval of the mean, if games were played."""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "ci" or value is not None}


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """All pairs of some agents in all seats."""

    game: Game
    names: list[str]
    pairs: list[Pair]
    games: int
    """Games played for each pair; 0 if the numbers are exact."""
    seconds: float
    form: str = ""
    """The sequence form of an exact comparison (see `Evaluation`)."""

    def pair(self, first: str, second: str) -> Pair:
        """The pair of these two, by name."""
        return next(pair for pair in self.pairs if (pair.first, pair.second) == (first, second))

    @property
    def title(self) -> str:
        return f"{self.game.spec}, rows move first: " + (f"{self.games:,} games a pair" if self.games else "exact")

    @property
    def summary(self) -> str:
        return f"{len(self.pairs)} pairs"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "agents": self.names, "games": self.games, "seconds": self.seconds,
            "pairs": [pair.as_dict() for pair in self.pairs], "form": self.form or None,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        return {
            f"{pair.first} - {pair.second}": f"{pair.mean:+z.6f}, wins {pair.win:.2%}, losses {pair.loss:.2%}"
            for pair in self.pairs
        }  # fmt: skip

    def table(self) -> Table:
        from rich.table import Table

        table = Table("", *self.names, title=self.title, show_lines=True)
        for first in self.names:
            shown = (self.pair(first, second) for second in self.names)
            table.add_row(first, *(
                f"{p.mean:z.4f}" + (f" ± {p.ci[1] - p.mean:.4f}" if p.ci else "") + f"\n{p.win:.2%} / {p.loss:.2%}" for p in shown
            ))  # fmt: skip
        table.caption = "mean payoff of the agent on the left, which moves first; how often it wins / loses"
        if self.form:
            table.caption += f"; on the sequence form, {self.form}"
        return table


def compare(
    game: Game | str, agents: Sequence[str], *, games: int = 0, seed: int | None = None, workers: Workers = None,
    budget: Budget | None = None, progress: bool | None = None,
) -> Comparison:  # fmt: skip
    """Let every one of the `agents` move first against every one, itself included.

    - `game`: a game, or what names one.
    - `agents`: names of agents, or of files of strategies.
    - `games`: to be played for each pair; 0 computes exactly what would come of infinitely many, for which the game is enumerated.
    - `seed`: of random choices. An exact comparison needs none, unless an agent draws random numbers.
    - `workers`, `progress`: as for `match`; `budget`: what an agent that does not say may spend on a move of a game.
    """
    game, began = load(game), time.perf_counter()
    if len(set(agents)) != len(agents) or not agents:
        raise UnseenError(f"agents are {', '.join(agents) or 'none'}, but must be at least one, each named once.")
    if games < 0:
        raise UnseenError(f"games is {games}, but must be at least 0 (0: exactly).")
    if budget and not games:
        raise UnseenError(
            "simulations and seconds are for games that are played; otherwise the agent says them: 'oos(simulations=10)'."
        )
    for name in agents:
        check_agent(name, game)
    if games:
        pairs = played_pairs(game, agents, games, seed or 0, workers, budget, progress)
        return Comparison(game, list(agents), pairs, games, time.perf_counter() - began)
    strategies = [(name, strategy_of(game, name, seed, workers, progress)) for name in agents]
    form = form_for(game, [strategy for _, strategy in strategies], progress=progress)
    pairs = exact_pairs(game, strategies, progress, form)
    return Comparison(game, list(agents), pairs, games, time.perf_counter() - began, form.way)


def strategy_of(game: Game, name: str, seed: int | None, workers: Workers, progress: bool | None, **known: Any) -> Strategy:
    """The strategy that an agent plays; what else is `known` is for `extract`."""
    if type(make_agent(name, game)) is RandomAgent:
        return Strategy.uniform(game)
    found = extract(game, name, seed=seed, workers=workers, progress=progress, **known)
    if not found.is_complete:
        raise KeyboardInterrupt
    return found.strategy


def exact_pairs(
    game: Game, agents: Sequence[tuple[str, Strategy]], progress: bool | None = None, form: SequenceForm | None = None
) -> list[Pair]:
    """All pairs of these strategies, exactly; `form` is the game's sequence form, if there is one already."""
    for _, strategy in agents:
        strategy.check_game(game)
    form = form or form_for(game, [strategy for _, strategy in agents], progress=progress)
    plans = [plans_in(form, strategy) for _, strategy in agents]
    mean, win, loss = (
        products(SequenceForm(other, form.is_streamed, progress, reduced=form.is_reduced) if other else form, plans)
        for other in (None, won(game), lost(game))
    )
    return [
        Pair(first, second, float(mean[i, j]), float(win[i, j]), float(1.0 - win[i, j] - loss[i, j]), float(loss[i, j]))
        for i, (first, _) in enumerate(agents) for j, (second, _) in enumerate(agents)
    ]  # fmt: skip


def products(form: SequenceForm, plans: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The expected payoff to player 0 of each plan, moving first, against each, shape (n, n)."""
    against = np.stack([form.payoffs.against(0, second) for _, second in plans], axis=1)
    found: Floats = np.stack([first for first, _ in plans]) @ against
    return found


def plans_in(form: SequenceForm, strategy: Strategy) -> tuple[Floats, Floats]:
    """A strategy as realisation plans of both players."""
    first, second, _ = form.behaviours(strategy)
    return form.players[0].plan(first), form.players[1].plan(second)


def won(game: Game) -> Game:
    """The same game, in which a win of the first player pays it 1 and all else nothing."""
    return _paying(game, 1)


def lost(game: Game) -> Game:
    """The same game, in which a loss of the first player pays it 1 and all else nothing."""
    return _paying(game, -1)


def _counted(self, s, who):  # type: ignore[no-untyped-def]
    counted = 1.0 if self.plain_utility(s, 0) * self.counted_sign > 0.0 else 0.0
    return counted if who == 0 else -counted


def _paying(game: Game, sign: int) -> Game:
    """The same game, in which payoffs of this sign to the first player are 1: one class for both signs, which compiles once."""
    cls = type(game)
    inside = {
        "utility": _counted, "plain_utility": cls.utility, "counted_sign": parameter(1, minimum=-1, maximum=1),
        "__module__": cls.__module__, "name": cls.name,
    }  # fmt: skip
    other: Game = type(f"{cls.__name__}Outcomes", (cls,), inside)(**game.settings, counted_sign=sign)
    other.origin = game.origin
    return other


def played_pairs(
    game: Game, agents: Sequence[str], games: int, seed: int, workers: Workers, budget: Budget | None, progress: bool | None
) -> list[Pair]:
    """All pairs, by playing. Both seatings of two agents are one match, in which they change seats after each game."""
    found: dict[tuple[str, str], Pair] = {}
    for i, first in enumerate(agents):
        for second in agents[i:]:
            played = match(game, first, second, 2 * games, seed=seed, workers=workers, budget=budget, progress=progress)
            if played.stopped:
                raise KeyboardInterrupt
            for start, names in enumerate(((first, second), (second, first))):
                found[names] = _pair(names, np.array([one.payoffs[0] for one in played.games[start::2]]))
    return [found[first, second] for first in agents for second in agents]


def _pair(names: tuple[str, str], payoffs: Floats) -> Pair:
    """A pair from the payoffs of the games it has played."""
    mean, half = float(payoffs.mean()), margin(payoffs.tolist())
    win, draw, loss = (float(np.mean(np.sign(payoffs) == sign)) for sign in (1, 0, -1))
    return Pair(*names, mean, win, draw, loss, (mean - half, mean + half))

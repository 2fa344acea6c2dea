"""Matches: many games between two agents, who change seats after each, with what can be said of the result.

Game number k depends on the seed and k alone, so any of them can be played again, and the number of workers changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Agent, Budget
from unseen.arena.asking import Asked, Fault
from unseen.arena.intervals import Z, margin, of_pairs, payoff_margin, payoff_scale
from unseen.arena.names import check_agent, make_agent, prepared
from unseen.arena.referee import Played, play
from unseen.arena.sprt import SPRT
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.run.cluster import Cluster
from unseen.run.files import append_line, check_file, check_output, write_atomically
from unseen.run.logs import log_of, marked
from unseen.run.progress import InterruptsHeld, watched
from unseen.run.workers import Workers, core_count, run_all
from unseen.show.figures import new_figure
from unseen.show.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENOUGH = 20
"""Games that are enough for an interval from pairs."""
LOG = log_of("match")


@dataclass(repr=False)
class Match(Result):
    """The games of a match, in order. Payoffs, wins and losses are those of the agent that was named first."""

    game: Game
    names: tuple[str, str]
    seed: int
    games: list[Played] = field(default_factory=list)
    stopped: bool = False
    """Whether Ctrl-C ended it."""
    paired: bool = False
    """Whether games 0 and 1, 2 and 3, ... have the same chance, with the seats changed."""
    sprt: SPRT | None = None
    """The test that may end it, as it stands."""
    forfeits: bool = False
    """Whether an agent at fault loses the game; otherwise its fault would have ended the match."""

    @property
    def payoffs(self) -> list[float]:
        return [played.payoffs[first_seat(k)] for k, played in enumerate(self.games)]

    @property
    def mean(self) -> float:
        return sum(self.payoffs) / len(self.games) if self.games else 0.0

    @property
    def ci(self) -> tuple[float, float] | None:
        """The 95% interval of the mean payoff; None if there are too few games to tell."""
        half = payoff_margin(of_pairs(self.payoffs) if self.paired else self.payoffs, payoff_scale(self.payoffs or 1.0))
        return (self.mean - half, self.mean + half) if isfinite(half) else None

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
    def scores(self) -> NDArray[np.float64]:
        """1 for a win, 1/2 for a draw and 0 for a loss, (g,)."""
        return 0.5 * (1.0 + np.sign(self.payoffs))

    @property
    def rate(self) -> tuple[float, float, float]:
        """The rate of wins, a draw counting half, and its 95% interval; pairs of games, where there are any, are the draws."""
        return rate_of(self.scores, self.paired)

    @property
    def faults(self) -> list[Played]:
        return [played for played in self.games if played.fault]

    @property
    def forfeited(self) -> tuple[list[Fault], list[Fault]]:
        """The faults of both agents, for each of which it has lost a game; that which was named first comes first."""
        found: tuple[list[Fault], list[Fault]] = ([], [])
        for k, played in enumerate(self.games):
            if played.fault:
                found[played.fault.seat != first_seat(k)].append(played.fault)
        return found

    @property
    def title(self) -> str:
        return self.game.spec

    @property
    def summary(self) -> str:
        rate, low, high = self.rate
        who = f"{self.names[0]} against {self.names[1]}, {len(self.games):,} games"
        return f"{who}, win rate {rate:.1%} (95%: {low:.1%} to {high:.1%})"

    def as_dict(self) -> dict[str, Any]:
        rate, low, high = self.rate
        return {
            "game": self.game.spec, "agents": self.names, "games": len(self.games), "mean": self.mean, "ci": self.ci,
            "wins": self.wins, "draws": self.draws, "losses": self.losses, "rate": rate, "rate_ci": [low, high],
            "faults": [str(played.fault) for played in self.faults], "forfeits": [len(mine) for mine in self.forfeited],
            "stopped": self.stopped, "paired": self.paired,
            **({"sprt": self.sprt.as_dict()} if self.sprt else {}),
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        rate, low, high = self.rate
        rows: dict[str, Any] = {
            "first": self.names[0],
            "second": self.names[1],
            "games": f"{len(self.games):,}, in pairs with the same chance" if self.paired else len(self.games),
            "mean payoff of the first": f"{self.mean:+z.4f}"
            + (f"   (95%: {self.ci[0]:+z.4f} to {self.ci[1]:+z.4f})" if self.ci else ""),
            "wins, draws, losses": f"{self.wins:,}, {self.draws:,}, {self.losses:,}",
            "win rate, draws counting half": f"{rate:.1%}   (95%: {low:.1%} to {high:.1%})",
        }
        if self.sprt:
            rows["sequential test"] = str(self.sprt)
        for which, mine in zip(("first", "second"), self.forfeited, strict=True):
            if self.forfeits or mine:
                rows[f"games forfeited by the {which}"] = forfeits_text(mine)
        if self.stopped:
            rows["stopped"] = "by Ctrl-C"
        return rows

    def figure(self) -> Figure:
        """The mean payoff of the first agent after each game, with its 95% interval, as a Matplotlib figure."""
        payoffs = of_pairs(self.payoffs) if self.paired else np.array(self.payoffs)
        games = np.arange(1, len(payoffs) + 1)
        means = np.cumsum(payoffs) / games
        spread = np.sqrt(np.maximum(np.cumsum(payoffs**2) / games - means**2, 0.0) / np.maximum(games - 1, 1))
        figure = new_figure(6.4, 4.0)
        axes = figure.subplots()
        axes.plot(games, means, linewidth=1.4)
        axes.fill_between(games, means - Z * spread, means + Z * spread, alpha=0.2)
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set(
            xlabel="pairs of games" if self.paired else "games",
            ylabel=f"mean payoff of {self.names[0]}",
            title=f"{self.game.spec}, against {self.names[1]}",
        )
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def forfeits_text(faults: Sequence[Fault | str]) -> str:
    """How many there are, and the first one."""
    return f"{len(faults)}: {faults[0]}" + (" ..." if len(faults) > 1 else "") if faults else "0"


def rate_of(scores: NDArray[np.float64], paired: bool) -> tuple[float, float, float]:
    """The mean of some scores from 0 to 1, and its 95% interval: from pairs of games, if they are paired and enough."""
    half = margin(of_pairs(scores)) if paired and len(scores) >= ENOUGH else 0.0
    if half > 0.0:
        return float(scores.mean()), max(0.0, float(scores.mean()) - half), min(1.0, float(scores.mean()) + half)
    return agresti_coull(float(scores.sum()), len(scores))


def agresti_coull(successes: float, trials: int) -> tuple[float, float, float]:
    """A rate and its 95% interval: A. Agresti and B. Coull, "Approximate is better than exact" (1998)."""
    n = trials + Z * Z
    centre = (successes + 0.5 * Z * Z) / n
    margin = Z * sqrt(centre * (1.0 - centre) / n)
    return successes / trials if trials else 0.5, max(0.0, centre - margin), min(1.0, centre + margin)


def check_pairs(games: int) -> None:
    """Raise if games cannot come in pairs with the seats changed."""
    if games % 2:
        raise UnseenError(f"games is {games}, but must be even: games come in pairs with the same chance and the seats changed.")


def first_seat(k: int) -> int:
    """The seat of the agent named first in game number `k`."""
    return k % 2


class _Table:
    """Two agents who play one game after the other."""

    def __init__(
        self, game: Game, agents: Sequence[str | Agent], seed: int, budget: Budget | None, limit: float | None, paired: bool,
        forfeits: bool = False, names: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.game, self.seed, self.budget, self.limit, self.paired, self.forfeits = game, seed, budget, limit, paired, forfeits
        first, second = (make_agent(agent, game) if isinstance(agent, str) else agent for agent in agents)
        if first is second:  # each seat needs a memory of its own
            second = copy.deepcopy(second)
        self.agents = [Asked(agent, name) for agent, name in zip((first, second), names or ("", ""), strict=True)]

    def __call__(self, k: int) -> Played:
        order = self.agents if first_seat(k) == 0 else self.agents[::-1]
        chance = (self.seed, k // 2) if self.paired else None
        return play(self.game, order, (self.seed, k), self.budget, self.limit, chance, self.forfeits)


def match(
    game: Game | str, first: str | Agent, second: str | Agent, games: int = 100, *, seed: int = 0, workers: Workers = None,
    budget: Budget | None = None, limit: float | None = None, paired: bool = False, sprt: tuple[float, float] | None = None,
    forfeits: bool = False, out: Path | str | None = None, watch: Callable[[Match], None] | None = None,
    progress: bool | None = None, force: bool = False,
) -> Match:  # fmt: skip
    """Let two agents play `games` games, changing seats after each. Ctrl-C ends the match and keeps the games that were played.

    An agent that raises an exception, answers with what is no strategy or takes too long ends the match with an `AgentFault`,
    unless there are `forfeits`.

    - `game`: a game, or what names one.
    - `first`, `second`: agents, or what names them, such as `"oos(targeting=public, simulations=1000)"` or a strategy file.
    - `seed`: of all random choices. Game number k depends on it and on k alone.
    - `workers`: processes to use; otherwise one a core if agents are named, or one where they are objects or the game is defined
      in the main program. The result does not depend on it.
    - `budget`: what agents that do not say themselves may spend on a move.
    - `limit`: the most seconds that an agent may take for a move; more are a fault.
    - `paired`: whether both games of a pair have the same chance, as far as their histories let it: the same cards, seats changed.
    - `sprt`: two differences of ratings, (0, 10) say: stop when it is decided by which of them the first agent is stronger.
    - `forfeits`: whether an agent at fault loses the game, and the match goes on. The result says how often.
    - `out`: a file to which a line of JSON is added for each game, as soon as it has been played; with `force`, a file that is not
      such a log is begun anew.
    - `watch`: a function that is called after each game.
    - `progress`: None shows a bar if a person is watching, True always, False never.
    """
    game = load(game)
    if games < 1:
        raise UnseenError(f"games is {games}, but must be at least 1.")
    if paired:
        check_pairs(games)
    if out is not None:
        check_output(out, LOG, force)
    names = [agent if isinstance(agent, str) else agent.name for agent in (first, second)]
    for agent in (first, second):
        if isinstance(agent, str):
            check_agent(agent, game)
    question = SPRT(*sprt) if sprt else None
    result, total = Match(game, (names[0], names[1]), seed, paired=paired, sprt=question, forfeits=forfeits), 0.0
    is_here = workers is not None or games == 1 or not (isinstance(first, str) and isinstance(second, str))
    if is_here and not isinstance(workers, Cluster):
        workers = min(core_count(workers or 1), games)
    try:
        with watched(progress, f"{names[0]} against {names[1]}", "games") as tick:
            agents = [prepared(agent, game) for agent in (first, second)]
            for played in run_all(_Table, (game, agents, seed, budget, limit, paired, forfeits, names), range(games), workers):
                with InterruptsHeld() as interrupts:  # a game is noted everywhere or nowhere
                    result.games.append(played)
                    if out is not None:
                        _append(Path(out), record(result, len(result.games) - 1))
                total += played.payoffs[first_seat(len(result.games) - 1)]
                tick(len(result.games), f"mean {total / len(result.games):+z.3f}")
                if watch is not None:
                    watch(result)
                if interrupts.count:
                    raise KeyboardInterrupt
                if result.sprt and len(result.games) % 2 == 0:
                    result.sprt = result.sprt.after(result.scores[-2:])
                    if result.sprt.accepted is not None:
                        break
    except KeyboardInterrupt:
        result.stopped = True
    return result


def replay(
    game: Game | str, first: str | Agent, second: str | Agent, k: int, seed: int = 0, budget: Budget | None = None,
    paired: bool = False, forfeits: bool = False,
) -> Played:  # fmt: skip
    """Game number `k` of a match, played again.

    `game`, the agents `first` and `second`, `seed`, `budget`, `paired` and `forfeits` are those that `match` was called with.
    """
    names = [agent if isinstance(agent, str) else agent.name for agent in (first, second)]
    return _Table(load(game), (first, second), seed, budget, None, paired, forfeits, names)(k)


def record(result: Match, k: int) -> dict[str, Any]:
    """Game number `k` of a match as one object of JSON."""
    played, seat = result.games[k], first_seat(k)
    return {
        "game": result.game.spec, "agents": result.names, "seed": result.seed, "number": k, "paired": result.paired,
        "first_agent_is_player": seat,
        "history": played.history, "payoff": played.payoffs[seat], "fault": str(played.fault) if played.fault else None,
    }  # fmt: skip


def _append(path: Path, row: dict[str, Any]) -> None:
    """Add a game to a log; a file that is none, of which we know that it may be replaced, becomes one."""
    line = marked("match", row)
    if check_file(path) and not LOG.is_of(path):
        write_atomically(path, [line.encode() + b"\n"])
    else:
        append_line(path, line)

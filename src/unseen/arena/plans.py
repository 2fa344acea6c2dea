"""How good the plan of *one* search over joint moves is: what it recommends, at once, for all that may come.

Two experiments of M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with applications to
Goofspiel" (2013), Section 4.3: depth-limited exploitability against exact values (Table 2), and how the exploitability of the whole
plan falls with the simulations (Figure 4). Neither needs the game enumerated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Agent, Budget
from unseen.arena.matches import Z
from unseen.arena.names import check_agent, make_agent
from unseen.arena.referee import seeds
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.position import Position
from unseen.run.rows import Rows, Watcher
from unseen.search.agents import JointSearchAgent
from unseen.show.figures import new_figure
from unseen.show.results import Result
from unseen.stacked.openness import check_open
from unseen.stacked.values import Values, backward_induction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


# Depth-limited exploitability -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class DepthLimited(Result):
    """What plans of an agent lose, if they are followed for some moves, to an opponent that knows them."""

    game: Game
    agent: str
    depths: tuple[int, ...]
    """For how many moves they are followed."""
    starts: list[tuple[int, ...]]
    """The histories at which searches begin: the first at which players choose."""
    losses: Floats
    """(depths, starts, searches, 2) Ex_d of each player's part of the plan; nan where no search was made."""
    simulations: int
    seconds: float
    """Of searching, added up over workers."""
    is_complete: bool = True

    @property
    def means(self) -> Floats:
        """(depths, starts) over searches and both players."""
        means: Floats = np.nanmean(self.losses, axis=(2, 3))
        return means

    @property
    def mean(self) -> Floats:
        """(depths,) Ex_d: the mean over starts, searches and players."""
        mean: Floats = self.means.mean(axis=1)
        return mean

    @property
    def margin(self) -> Floats:
        """(depths,) half of a 95% interval. A search is one draw; its two players are not taken for independent."""
        each = self.losses.mean(axis=3)
        counts = np.maximum((~np.isnan(each)).sum(axis=2), 2)
        margin: Floats = Z * np.sqrt((np.nanvar(each, axis=2) / (counts - 1)).sum(axis=1)) / len(self.starts)
        return margin

    @property
    def searches(self) -> int:
        return int((~np.isnan(self.losses[0, ..., 0])).sum())

    @property
    def rate(self) -> float:
        """Simulations a second, on one core."""
        return self.simulations / self.seconds if self.seconds else 0.0

    @property
    def title(self) -> str:
        return f"{self.agent} in {self.game.spec}, depth-limited exploitability"

    def as_dict(self) -> dict[str, Any]:
        found = [
            {"depth": d, "mean": float(mean), "margin": float(margin), "starts": at_starts.tolist()}
            for d, mean, margin, at_starts in zip(self.depths, self.mean, self.margin, self.means, strict=True)
        ]
        return {
            "game": self.game.spec, "agent": self.agent, "method": "depth", "depths": found,
            "starts": [list(history) for history in self.starts], "searches": self.searches, "simulations": self.simulations,
            "simulations_per_second": self.rate, "complete": self.is_complete,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        for d, mean, margin in zip(self.depths, self.mean, self.margin, strict=True):
            rows[f"Ex_{d}, mean of both players"] = f"{mean:.4g} ± {margin:.2g} (95%)"
        rows["searches"] = self.searches
        rows["simulations"] = f"{self.simulations:,}, {self.rate:,.0f} a second and core"
        return rows | ({} if self.is_complete else {"stopped": "by Ctrl-C"})


def depth_limited(
    game: Game | str, agent: str | Agent, depths: int | Sequence[int], *, searches: int = 100,
    values: Values | Path | str | None = None, seed: int = 0, workers: int | None = None, budget: Budget | None = None,
    save: Path | None = None, resume: bool = False, watch: Watcher | None = None, progress: bool | None = None,
) -> DepthLimited:  # fmt: skip
    """The depth-limited exploitability Ex_d of an agent's searches at the start of a game.

    - `game`: a game, or what names one: simultaneous, and nothing hidden but the move being made.
    - `agent`: one that searches over joint moves, or what names it.
    - `depths`: for how many moves, of chance or of both players, its plan is followed; then both play as well as can be. One
      number, or several.
    - `searches`: made at each of the first histories at which players choose (after each first outcome, if chance begins).
    - `values`: the exact values of the game, or their file; otherwise the game is solved first.
    - `seed`, `workers`, `budget`, `save`, `resume`, `watch`, `progress`: as in `measure`.

    Ctrl-C ends it and keeps what there is.
    """
    game = load(game)
    depths = (depths,) if isinstance(depths, int) else tuple(depths)
    if not depths or min(depths) < 0:
        raise UnseenError(f"depth is {min(depths, default=None)}, but must be at least 0.")
    if searches < 1:
        raise UnseenError(f"searches is {searches}, but must be at least 1.")
    name = _check(game, agent)
    position = Position(game)
    starts: list[tuple[int, ...]] = [(a,) for a in position.actions] if position.is_chance else [()]
    tasks = [(k, search) for search in range(searches) for k in range(len(starts))]
    with values_in_a_file(game, values, progress) as file:
        about = {
            "method": "depth",
            "agent": name,
            "seed": seed,
            "budget": repr(budget),
            "depths": list(depths),
            "tasks": len(tasks),
        }
        job = game, agent, seed, budget, depths, starts, file
        found = Rows(len(tasks), 2 + 2 * len(depths))
        found.run(game, ByDepth, job, tasks, about, save, resume, workers, watch, progress)
    losses = found.results[:, 2:].reshape(searches, len(starts), len(depths), 2).transpose(2, 1, 0, 3)
    simulations, spent = found.results[found.done][:, :2].sum(axis=0)
    return DepthLimited(game, name, depths, starts, losses, int(simulations), float(spent), found.is_complete)


class ByDepth:
    """A task is the number of a start, and of a search there."""

    def __init__(
        self, game: Game, agent: str | Agent, seed: int, budget: Budget | None, depths: Sequence[int],
        starts: Sequence[tuple[int, ...]], file: Path,
    ) -> None:  # fmt: skip
        self.game, self.seed, self.budget, self.depths, self.starts = game, seed, budget, depths, starts
        self.agent, self.values = _joint_agent(agent, game), Values.load(file, game)
        self.worths = [self.values.at(start).value for start in starts]

    def __call__(self, task: tuple[int, int]) -> Floats:
        """Simulations, seconds, and for each depth what both players' parts of the plan lose."""
        start = self.starts[task[0]]
        self.agent.begin(self.game, 0, seeds(self.seed, *task)[1], self.budget)
        self.agent.search_at(start, began := time.perf_counter())
        spent = time.perf_counter() - began
        worth, found = self.worths[task[0]], [self.agent.simulations_made, spent]
        for depth in self.depths:
            low, high = self.agent.searcher.worst_case(start, depth, self.values)
            found += [worth - low, high - worth]
        return np.array(found)


# Convergence ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Convergence(Result):
    """How exploitable what a search recommends everywhere is, after more and more simulations."""

    game: Game
    agent: str
    simulations: NDArray[np.int64]
    """(points,)"""
    exploitability: Floats
    """(runs, points) the sum of both best-response values; nan where a run was not made."""
    is_complete: bool = True

    @property
    def mean(self) -> Floats:
        mean: Floats = np.nanmean(self.exploitability, axis=0)
        return mean

    @property
    def margin(self) -> Floats:
        """(points,) half of a 95% interval of the mean."""
        runs = max(2, int((~np.isnan(self.exploitability[:, 0])).sum()))
        margin: Floats = Z * np.nanstd(self.exploitability, axis=0) / sqrt(runs - 1)
        return margin

    def below(self, threshold: float) -> Floats:
        """(points,) the share of runs that are less exploitable than a threshold."""
        made = self.exploitability[~np.isnan(self.exploitability[:, 0])]
        share: Floats = (made < threshold).mean(axis=0)
        return share

    @property
    def title(self) -> str:
        return f"{self.agent} in {self.game.spec}, from the root"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "agent": self.agent, "method": "convergence", "simulations": self.simulations.tolist(),
            "mean": self.mean.tolist(), "margin": self.margin.tolist(), "runs": self.exploitability.tolist(),
            "complete": self.is_complete,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        shown = np.unique(np.linspace(0, len(self.simulations) - 1, 6).astype(int))
        rows: dict[str, Any] = {
            f"after {self.simulations[k]:,} simulations": f"{self.mean[k]:.4g} ± {self.margin[k]:.2g}" for k in shown
        }
        rows["runs"] = len(self.exploitability)
        return rows | ({} if self.is_complete else {"stopped": "by Ctrl-C"})

    def figure(self) -> Figure:
        """Mean and interval against simulations."""
        figure = new_figure(6, 4)
        axes = figure.subplots()
        axes.plot(self.simulations, self.mean)
        axes.fill_between(self.simulations, self.mean - self.margin, self.mean + self.margin, alpha=0.2)
        axes.set(xlabel="simulations", ylabel="exploitability (sum)", title=self.title, ylim=(0, None))
        axes.grid(alpha=0.3)
        return figure


def convergence(
    game: Game | str, agent: str | Agent, *, runs: int = 10, simulations: int = 100_000, every: int = 1000, seed: int = 0,
    workers: int | None = None, save: Path | None = None, resume: bool = False, watch: Watcher | None = None,
    progress: bool | None = None,
) -> Convergence:  # fmt: skip
    """The exploitability of what a search from the start of a game recommends everywhere, `every` so many of its `simulations`.

    - `game`: a game, or what names one: simultaneous, nothing hidden but the move being made, and small enough to walk through.
    - `agent`: one that searches over joint moves, or what names it; its own simulations do not count here.
    - `runs`: searches, each with a seed of its own.
    - `seed`, `workers`, `save`, `resume`, `watch`, `progress`: as in `measure`.
    """
    game = load(game)
    for what, count in (("runs", runs), ("simulations", simulations), ("every", every)):
        if count < 1:
            raise UnseenError(f"{what} is {count}, but must be at least 1.")
    if every > simulations:
        raise UnseenError(f"every is {every}, but must be at most simulations, {simulations}.")
    name = _check(game, agent)
    points = np.arange(every, simulations + 1, every)
    about = {"method": "convergence", "agent": name, "seed": seed, "every": every, "simulations": simulations, "runs": runs}
    found = Rows(runs, 1 + len(points))
    found.run(game, Run, (game, agent, seed, points), range(runs), about, save, resume, workers, watch, progress)
    return Convergence(game, name, points, found.results[:, 1:], found.is_complete)


class Run:
    """A task is the number of a search."""

    def __init__(self, game: Game, agent: str | Agent, seed: int, points: NDArray[np.int64]) -> None:
        self.game, self.seed, self.steps = game, seed, np.diff(points, prepend=0).tolist()
        self.agent = _joint_agent(agent, game)

    def __call__(self, task: int) -> Floats:
        """Simulations, and the exploitability after each step."""
        self.agent.begin(self.game, 0, seeds(self.seed, task)[1])
        searcher, found = self.agent.searcher, [float(sum(self.steps))]
        for step in self.steps:
            searcher.run(step)
            low, high = searcher.worst_case()
            found.append(high - low)
        return np.array(found)


# What both need -------------------------------------------------------------------------------------------------------------


def _check(game: Game, agent: str | Agent) -> str:
    """The name of an agent that can do this."""
    check_open(game, "a search over joint moves")
    if isinstance(agent, str):
        check_agent(agent, game)
        return agent
    return _joint_agent(agent, game).name


@contextmanager
def values_in_a_file(game: Game, values: Values | Path | str | None, progress: bool | None) -> Iterator[Path]:
    """A file with the exact values of a game, for workers; if there are none, it is solved now."""
    if isinstance(values, (Path, str)):
        if Values.load(values, game).stopped:
            raise UnseenError(f"values file {values}: it is not complete; go on with `unseen value --resume`.")
        yield Path(values)
        return
    with TemporaryDirectory() as folder:
        solved = values or backward_induction(game, progress=progress)
        if solved.stopped:
            raise KeyboardInterrupt
        solved.save(file := Path(folder) / "game.values")
        yield file


def _joint_agent(agent: str | Agent, game: Game) -> JointSearchAgent:
    made = make_agent(agent, game) if isinstance(agent, str) else agent
    if not isinstance(made, JointSearchAgent):
        raise UnseenError(f"agent {made.name!r}: it does not search over joint moves, as duct, exp3, rm, sm_oos and oos_plus do.")
    return made

"""How good the plan of *one* search over joint moves is: what it recommends, at once, for all that may come.

Two experiments of M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with applications to
Goofspiel" (2013), Section 4.3: depth-limited exploitability against exact values (Table 2), and how the exploitability of the whole
plan falls with the simulations (Figure 4). Neither needs the game enumerated.
The second is also for searches in games in turns, whose plans are evaluated on the sequence form.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Agent, Budget
from unseen.arena.asking import Asked
from unseen.arena.intervals import for_json, margins, plus_minus
from unseen.arena.names import AGENTS, check_agent, make_agent
from unseen.arena.referee import seeds
from unseen.errors import UnseenError
from unseen.exact.ways import form_for
from unseen.game import Game
from unseen.loading import load
from unseen.position import Position
from unseen.run.rows import Rows, Watcher
from unseen.run.workers import Workers, core_count
from unseen.search.agents import AGENTS as SEARCHES
from unseen.search.agents import JOINT, JointSearchAgent, SearchAgent
from unseen.search.root import at_start
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
    starts: dict[tuple[int, ...], float]
    """The histories at which searches begin, the first at which players choose, with their probabilities."""
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
        """(depths,) Ex_d: the mean over starts, by their probabilities, searches and players."""
        mean: Floats = self.means @ self.weights
        return mean

    @property
    def weights(self) -> Floats:
        """(starts,) their probabilities; where some were not searched, of the others."""
        return np.array(list(self.starts.values())) / sum(self.starts.values())

    @property
    def margin(self) -> Floats:
        """(depths,) half of a 95% interval. A search is one draw; its two players are not taken for independent."""
        margin: Floats = np.sqrt(margins(self.losses.mean(axis=3)) ** 2 @ self.weights**2)
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
            {"depth": d, "mean": float(mean), "margin": for_json(margin), "starts": at_starts.tolist()}
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
            rows[f"Ex_{d}, mean of both players"] = plus_minus(mean, margin)
        rows["searches"] = self.searches
        rows["simulations"] = f"{self.simulations:,}, {self.rate:,.0f} a second and core"
        return rows | ({} if self.is_complete else {"stopped": "by Ctrl-C"})


def depth_limited(
    game: Game | str, agent: str | Agent, depths: int | Sequence[int], *, searches: int = 100,
    values: Values | Path | str | None = None, seed: int = 0, workers: Workers = None, budget: Budget | None = None,
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
    depths = tuple(depths) if isinstance(depths, Iterable) else (depths,)
    if not depths or not all(isinstance(depth, (int, np.integer)) and depth >= 0 for depth in depths):
        wrong = [depth for depth in depths if not isinstance(depth, (int, np.integer)) or depth < 0]
        raise UnseenError(f"depth is {wrong[0] if wrong else 'nothing'}, but must be a whole number, at least 0.")
    if searches < 1:
        raise UnseenError(f"searches is {searches}, but must be at least 1.")
    name = _check(game, agent, "depth")
    starts = dict(first_choices(Position(game)))
    tasks = [(k, search) for search in range(searches) for k in range(len(starts))]
    with values_in_a_file(game, values, workers, progress) as file:
        about = {
            "method": "depth",
            "agent": name,
            "seed": seed,
            "budget": repr(budget),
            "depths": list(depths),
            "tasks": len(tasks),
        }
        job = game, agent, seed, budget, depths, list(starts), file
        found = Rows(len(tasks), 2 + 2 * len(depths))
        found.run(game, ByDepth, job, tasks, about, save, resume, workers, watch, progress)
    losses = found.results[:, 2:].reshape(searches, len(starts), len(depths), 2).transpose(2, 1, 0, 3)
    simulations, spent = found.results[found.done][:, :2].sum(axis=0)
    made = [k for k in range(len(starts)) if found.done[k]]  # the first search at each
    kept = {start: chance for k, (start, chance) in enumerate(starts.items()) if k in made}
    return DepthLimited(game, name, depths, kept, losses[:, made], int(simulations), float(spent), found.is_complete)


def first_choices(position: Position, chance: float = 1.0) -> Iterator[tuple[tuple[int, ...], float]]:
    """The first histories at which players choose, with their probabilities."""
    if position.is_chance:
        for a, p in zip(position.actions, position.chance_probabilities, strict=True):
            yield from first_choices(position.child(a), chance * p)
    elif not position.is_terminal:
        yield position.history, chance


class ByDepth:
    """A task is the number of a start, and of a search there."""

    def __init__(
        self, game: Game, agent: str | Agent, seed: int, budget: Budget | None, depths: Sequence[int],
        starts: Sequence[tuple[int, ...]], file: Path,
    ) -> None:  # fmt: skip
        self.game, self.seed, self.budget, self.depths, self.starts = game, seed, budget, depths, starts
        self.joint, self.values = _joint_agent(agent, game), Values.load(file, game)
        self.agent = Asked(self.joint, agent if isinstance(agent, str) else "")
        self.worths = [self.values.at(start).value for start in starts]

    def __call__(self, task: tuple[int, int]) -> Floats:
        """Simulations, seconds, and for each depth what both players' parts of the plan lose."""
        start = self.starts[task[0]]
        self.agent.begin(self.game, 0, seeds(self.seed, *task)[1], self.budget)
        self.agent.call("search_at", start, began := time.perf_counter())
        spent = time.perf_counter() - began
        worth, found = self.worths[task[0]], [self.agent.simulations_made, spent]
        for depth in self.depths:
            low, high = self.joint.searcher.worst_case(start, depth, self.values)
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
    """(runs, points) the sum of both best-response values."""
    is_complete: bool = True

    @property
    def mean(self) -> Floats:
        mean: Floats = self.exploitability.mean(axis=0)
        return mean

    @property
    def margin(self) -> Floats:
        """(points,) half of a 95% interval of the mean."""
        return margins(self.exploitability.T)

    def below(self, threshold: float) -> Floats:
        """(points,) the share of runs that are less exploitable than a threshold."""
        share: Floats = (self.exploitability < threshold).mean(axis=0)
        return share

    @property
    def title(self) -> str:
        return f"{self.agent} in {self.game.spec}, from the root"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "agent": self.agent, "method": "convergence", "simulations": self.simulations.tolist(),
            "mean": self.mean.tolist(), "margin": [for_json(x) for x in self.margin], "runs": self.exploitability.tolist(),
            "complete": self.is_complete,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        shown = np.unique(np.linspace(0, len(self.simulations) - 1, 6).astype(int))
        rows: dict[str, Any] = {
            f"after {self.simulations[k]:,} simulations": plus_minus(self.mean[k], self.margin[k]) for k in shown
        }
        rows["runs"] = len(self.exploitability)
        return rows | ({} if self.is_complete else {"stopped": "by Ctrl-C"})

    def figure(self) -> Figure:
        """Mean and interval against simulations."""
        figure = new_figure(6, 4)
        axes = figure.subplots()
        axes.plot(self.simulations, self.mean)
        if len(self.exploitability) > 1:
            axes.fill_between(self.simulations, self.mean - self.margin, self.mean + self.margin, alpha=0.2)
        axes.set(xlabel="simulations", ylabel="exploitability (sum)", title=self.title, ylim=(0, None))
        axes.grid(alpha=0.3)
        return figure


def convergence(
    game: Game | str, agent: str | Agent, *, runs: int = 10, simulations: int = 100_000, every: int = 1000, seed: int = 0,
    workers: Workers = None, save: Path | None = None, resume: bool = False, watch: Watcher | None = None,
    progress: bool | None = None,
) -> Convergence:  # fmt: skip
    """The exploitability of what a search from the start of a game recommends everywhere, `every` so many of its `simulations`.

    - `game`: a game, or what names one, small enough to walk through.
    - `agent`: one that searches, or what names it, with no simulations or seconds of its own. One that searches over joint moves
      needs a game that is simultaneous and hides nothing but the move being made.
    - `runs`: searches, each with a seed of its own.
    - `seed`, `workers`, `save`, `resume`, `watch`, `progress`: as in `measure`.
    """
    game = load(game)
    for what, count in (("runs", runs), ("simulations", simulations), ("every", every)):
        if count < 1:
            raise UnseenError(f"{what} is {count}, but must be at least 1.")
    if every > simulations:
        raise UnseenError(f"every is {every}, but must be at most simulations, {simulations}.")
    name = _check(game, agent, "convergence")
    points = np.unique([*range(every, simulations, every), simulations])
    about = {"method": "convergence", "agent": name, "seed": seed, "every": every, "simulations": simulations, "runs": runs}
    found = Rows(runs, 1 + len(points))
    found.run(game, Run, (game, agent, seed, points), range(runs), about, save, resume, workers, watch, progress)
    return Convergence(game, name, points, found.results[found.done, 1:], found.is_complete)


class Run:
    """A task is the number of a search."""

    def __init__(self, game: Game, agent: str | Agent, seed: int, points: NDArray[np.int64]) -> None:
        self.game, self.seed, self.steps = game, seed, np.diff(points, prepend=0).tolist()
        self.searching = _searching_agent(agent, game)
        self.agent = Asked(self.searching, agent if isinstance(agent, str) else "")
        is_joint = isinstance(self.searching, JointSearchAgent)
        self.form = None if is_joint else form_for(game, symmetric=False, progress=False)
        if self.searching.simulations or self.searching.seconds:
            raise UnseenError(f"agent {self.searching.name!r}: here it is said by `simulations` alone how many it makes.")

    def __call__(self, task: int) -> Floats:
        """Simulations, and the exploitability after each step."""
        self.agent.begin(self.game, 0, seeds(self.seed, task)[1])
        searcher, found = self.searching.searcher, [float(sum(self.steps))]
        if self.form is not None:
            searcher.begin_at(at_start(self.game))
        for step in self.steps:
            searcher.run(step)
            if self.form is None:
                low, high = searcher.worst_case()
                found.append(high - low)
            else:
                plans = [tree.plan(tree.behaviour(self.agent.gathered(tree))) for tree in self.form.players]
                found.append(self.form.evaluate_plans(plans[0], plans[1]).exploitability)
        return np.array(found)


# What both need -------------------------------------------------------------------------------------------------------------


def _check(game: Game, agent: str | Agent, method: str) -> str:
    """The name of an agent that can do this: for `convergence` any that searches, for `depth` one over joint moves."""
    if not isinstance(agent, str):
        name, is_known, is_joint, is_search = agent.name, True, isinstance(agent, JointSearchAgent), isinstance(agent, SearchAgent)
    else:
        check_agent(agent, game)
        name = agent.split("(")[0].strip()
        is_known, is_joint, is_search = name in AGENTS, name in JOINT, name in SEARCHES
    if method == "depth" or is_joint:
        check_open(game, "a search over joint moves", "; for other games there is --method convergence of oos, vr_oos or ismcts")
    if is_known and not is_search:
        raise _not_searching(name)
    if is_known and method == "depth" and not is_joint:
        raise _not_joint(name)
    return agent if isinstance(agent, str) else name


@contextmanager
def values_in_a_file(
    game: Game, values: Values | Path | str | None, workers: Workers, progress: bool | None
) -> Iterator[Path]:  # fmt: skip
    """A file with the exact values of a game, for workers; if there are none, it is solved now."""
    if isinstance(values, (Path, str)):
        Values.load(values, game).check(game)
        yield Path(values)
        return
    with TemporaryDirectory() as folder:
        solved = values or backward_induction(game, workers=core_count(workers), progress=progress)
        if values is None and solved.stopped:
            raise KeyboardInterrupt
        solved.check(game)
        solved.save(file := Path(folder) / "game.values")
        yield file


def _joint_agent(agent: str | Agent, game: Game) -> JointSearchAgent:
    made = make_agent(agent, game) if isinstance(agent, str) else agent
    if not isinstance(made, JointSearchAgent):
        raise _not_joint(made.name)
    return made


def _searching_agent(agent: str | Agent, game: Game) -> SearchAgent:
    made = make_agent(agent, game) if isinstance(agent, str) else agent
    if not isinstance(made, SearchAgent):
        raise _not_searching(made.name)
    return made


def _not_searching(name: str) -> UnseenError:
    return UnseenError(f"agent {name!r}: it does not search by simulations, as {', '.join(SEARCHES)} do.")


def _not_joint(name: str) -> UnseenError:
    return UnseenError(f"agent {name!r}: it does not search over joint moves, as {', '.join(JOINT)} do.")

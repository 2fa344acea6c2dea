"""How exploitable a searching player is: its strategy, put together from many searches, and the exact best responses to it.

Three methods, the first two of M. Lanctot, V. Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo
counterfactual regret minimization" (2014):

- *Full stitching*: search at every information set, parents first. Each search goes on from the memory that the search at its
  player's previous set left, and only the distribution at the set itself is kept.
- *Aggregation over matches* (here: games): along each of many games, search at every set the player comes to, and add up what the
  searches gathered: at the first set all of it, at later ones what concerns the sets that can still be reached.
- *From the root*: one search at the start of the game, and what it recommends everywhere; choices are even where it knows nothing.
  M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with applications to Goofspiel" (2013),
  Figure 4.

All need the game enumerated. Every search has a seed of its own, so the result does not depend on the number of workers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Agent, Budget
from unseen.arena.asking import Asked, attentive
from unseen.arena.names import asked, check_agent, prepared
from unseen.arena.referee import seeds
from unseen.enumeration.walk import COUNT, new_sink
from unseen.enumeration.walker import Enumeration
from unseen.enumeration.whole import enumerate_game
from unseen.errors import UnseenError
from unseen.exact.sequence_form import Evaluation, SequenceForm
from unseen.exact.treeplex import Treeplex, treeplex
from unseen.exact.ways import walked_form
from unseen.game import Game
from unseen.loading import load
from unseen.position import Percept, Position, random_walk
from unseen.run import checkpoint
from unseen.run.progress import InterruptsHeld, watched
from unseen.run.reading import LARGEST
from unseen.run.rows import SAVE_SECONDS, Watcher
from unseen.run.workers import Workers, run_all
from unseen.show.results import Result, number
from unseen.tabular.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD_DEPTH = 1
"""Stitching is cut into tasks at the sets before which their player has made so many choices."""
EXTRACTION = "extraction"
"""The method of `measured`, which needs no searches."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Measured(Result):
    """The strategy of a searching player and its exact evaluation."""

    strategy: Strategy
    evaluation: Evaluation
    searches: int
    simulations: int
    """All simulations of all searches."""
    seconds: float
    """Of searching, added up over workers."""
    is_complete: bool = True
    agent: str = ""
    method: str = ""

    @property
    def exploitability(self) -> float:
        """That of the strategy: the sum of both best-response values."""
        return self.evaluation.exploitability

    @property
    def per_search(self) -> float:
        return self.simulations / self.searches if self.searches else 0.0

    @property
    def rate(self) -> float:
        """Simulations a second, on one core."""
        return self.simulations / self.seconds if self.seconds else 0.0

    @property
    def title(self) -> str:
        return f"{self.agent} in {self.strategy.game.spec}, by {self.method}"

    @property
    def summary(self) -> str:
        return f"exploitability (sum) {number(self.exploitability)}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.strategy.game.spec, "agent": self.agent, "method": self.method,
            "best_response": list(self.evaluation.best_response), "exploitability": self.exploitability,
            "form": self.evaluation.form,
            "simulations": self.simulations, "searches": self.searches, "simulations_per_search": self.per_search,
            "simulations_per_second": self.rate, "complete": self.is_complete,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        best = self.evaluation.best_response
        rows: dict[str, Any] = {
            "best response of the first player": number(best[0]),
            "best response of the second player": number(best[1]),
            "exploitability (sum of both)": number(self.exploitability),
        }
        if self.method == EXTRACTION:
            rows["different questions"] = self.searches
        else:
            rows["searches"] = self.searches
            rows["simulations"] = f"{self.simulations:,}, {self.per_search:,.0f} a search, {self.rate:,.0f} a second and core"
        rows["sequence form"] = self.evaluation.form
        if not self.is_complete:
            rows["stopped"] = "by Ctrl-C; where no search was made, choices are even"
        return rows

    def figure(self) -> Figure:
        """The strategy as a Matplotlib figure."""
        return self.strategy.figure()


def measure(
    game: Game | str, agent: str | Agent, method: str = "stitching", *, games: int = 100, seed: int = 0,
    workers: Workers = None, budget: Budget | None = None, save: Path | None = None, resume: bool = False,
    watch: Watcher | None = None, progress: bool | None = None, form: SequenceForm | None = None,
    walked: Enumeration | None = None,
) -> Measured:  # fmt: skip
    """The exact exploitability of the strategy that an agent plays. Ctrl-C ends the work and evaluates what there is.

    - `game`: a game, or what names one. It is enumerated.
    - `agent`: an agent, or what names one.
    - `method`: `"stitching"` searches at every information set, for any agent; `"aggregate"` along random games, and `"root"` only
      at the start of the game, for one that searches.
    - `games`: of the aggregate method.
    - `seed`: of all random choices; every search has one of its own, so the result does not depend on the workers.
    - `workers`: processes to use; otherwise one a core if the agent is named, or one where it is an object or the game is defined
      in the main program.
    - `budget`: what an agent that does not say itself may spend on a move.
    - `save`: a file in which what has been found is kept; `resume` goes on from there.
    - `watch`: a function that is called with parts done, parts in all, and simulations made.
    - `progress`: None shows a bar if a person is watching, True always, False never.
    - `form`: the game's sequence form, if there is one already; `walked`: the game enumerated, likewise.
    """
    game = load(game)
    if method not in METHODS:
        more = "for others see depth_limited, convergence and expected_loss"
        raise UnseenError(f"method is {method!r}, but must be one of {', '.join(METHODS)}; {more}.")
    if games < 1:
        raise UnseenError(f"games is {games}, but must be at least 1.")
    name = agent if isinstance(agent, str) else agent.name
    if isinstance(agent, str):
        check_agent(agent, game)
    if form is None and walked is None:
        walked, form = walked_form(game, progress)
    walked = walked or enumerate_game(game, store=form is None, progress=progress)
    form = form or SequenceForm(game, found=walked)
    walked = replace(walked, sink=new_sink(COUNT))  # workers need no payoffs
    trees = form.players
    tasks: list[Any] = stitching_tasks(trees) if method == "stitching" else list(range(games if method == "aggregate" else 1))
    about = {"method": method, "agent": name, "seed": seed, "budget": repr(budget), "tasks": len(tasks)}
    found = _Found(trees, len(tasks))
    if resume and save is not None and save.exists():
        arrays = checkpoint.read(save, game, about, checkpoint.like(found.arrays()))[1]
        if not all(((array >= 0) & (array <= LARGEST)).all() for array in arrays.values()):
            raise UnseenError(f"checkpoint {save}: a number that has been added up cannot be.")
        found.restore(arrays)
    todo = [k for k in range(len(tasks)) if not found.done[k]]
    saved = time.monotonic()
    is_complete = True
    if workers is None and not isinstance(agent, str):
        workers = 1  # an object stays here
    make = METHODS[method]
    try:
        with watched(progress, f"{method} of {name}", "simulations") as tick:
            results = run_all(make, (game, prepared(agent, game), seed, budget, walked), [tasks[k] for k in todo], workers)
            for k, result in zip(todo, results, strict=True):
                with InterruptsHeld() as interrupts:  # a part is added whole or not at all
                    found.add(k, result)
                if interrupts.count:
                    raise KeyboardInterrupt
                tick(int(found.counts[1]), f"{int(found.done.sum()):,} of {len(tasks):,} parts")
                if watch is not None:
                    watch(int(found.done.sum()), len(tasks), int(found.counts[1]))
                if save is not None and time.monotonic() - saved > SAVE_SECONDS:
                    checkpoint.write(save, game, about, found.arrays())
                    saved = time.monotonic()
    except KeyboardInterrupt:
        is_complete = False
    if save is not None:
        checkpoint.write(save, game, about, found.arrays())
    strategy = form.strategy(*(tree.behaviour(sums) for tree, sums in zip(trees, found.sums, strict=True)))
    searches, simulations = found.counts.tolist()
    return Measured(strategy, form.evaluate(strategy), searches, simulations, float(found.seconds[0]), is_complete, name, method)


def stitching_tasks(trees: Sequence[Treeplex]) -> list[tuple[int, int]]:
    """Both players' sets up to `HEAD_DEPTH`."""
    return [(p, int(j)) for p in (0, 1) for j in np.flatnonzero(trees[p].depths() <= HEAD_DEPTH)]


@dataclass(frozen=True)
class Part:
    """What a task found: for some sequences of each player an amount, and how many searches and simulations that took."""

    places: tuple[NDArray[np.int64], NDArray[np.int64]]
    amounts: tuple[Floats, Floats]
    searches: int
    simulations: int
    seconds: float


class _Found:
    """What all tasks have found so far."""

    def __init__(self, trees: Sequence[Treeplex], tasks: int) -> None:
        self.sums = [np.zeros(tree.sequences) for tree in trees]
        self.done = np.zeros(tasks, np.int8)
        self.counts = np.zeros(2, np.int64)  # searches and simulations
        self.seconds = np.zeros(1)

    def add(self, task: int, result: Part) -> None:
        for sums, places, amounts in zip(self.sums, result.places, result.amounts, strict=True):
            sums[places] += amounts
        self.done[task] = 1
        self.counts += (result.searches, result.simulations)
        self.seconds += result.seconds

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"first": self.sums[0], "second": self.sums[1], "done": self.done, "counts": self.counts, "seconds": self.seconds}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.sums = [arrays["first"].copy(), arrays["second"].copy()]
        self.done, self.counts, self.seconds = (arrays[name].copy() for name in ("done", "counts", "seconds"))


class _Measure:
    """What both methods need: the game's information sets, and the agent."""

    def __init__(self, game: Game, agent: str | Agent, seed: int, budget: Budget | None, found: Enumeration) -> None:
        self.game, self.seed, self.budget, self.found = game, seed, budget, found
        self.agent = asked(agent, game)
        self.trees = treeplex(self.found, 0), treeplex(self.found, 1)


class Stitching(_Measure):
    """Full stitching; a task is a set of one player (by number) and, beyond the first choices, all that come after it."""

    def __init__(self, game: Game, agent: str | Agent, seed: int, budget: Budget | None, found: Enumeration) -> None:
        super().__init__(game, agent, seed, budget, found)
        self.seen = [percepts(self.found, player) for player in (0, 1)]
        self.after = [_followers(tree) for tree in self.trees]

    @attentive
    def __call__(self, task: tuple[int, int]) -> Part:
        player, top = task
        tree = self.trees[player]
        before = tree.infoset_before
        path = [top]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        agent = self.agent
        agent.begin(self.game, player, seeds(self.seed, player)[1], self.budget)
        for j in path[:0:-1]:  # the searches on the way are made again, with the same seeds
            agent, _ = self.search(agent, player, j)
        places, amounts, searches, simulations = [], [], 0, 0
        began = time.perf_counter()
        stack = [(top, agent)]
        while stack:
            j, agent = stack.pop()
            earlier = agent.simulations_made
            agent, behaviour = self.search(agent, player, j)
            searches += 1
            simulations += agent.simulations_made - earlier
            places.append(np.arange(tree.first[j], tree.first[j] + tree.count[j]))
            amounts.append(behaviour)
            if len(path) > HEAD_DEPTH:
                stack += [(k, agent) for k in reversed(self.after[player][j])]
        spent = time.perf_counter() - began
        return _for_player(player, np.concatenate(places), np.concatenate(amounts), searches, simulations, spent)

    def search(self, agent: Asked, player: int, j: int) -> tuple[Asked, Floats]:
        """The agent as it is after a search at set `j`, coming from the set before; and its distribution there."""
        tree = self.trees[player]
        agent = agent.fork(seeds(self.seed, player, int(tree.keys[j]))[1])
        for percept in self.seen[player][j][len(agent.seen) :]:
            agent.observe(percept)
        actions = tree.actions[tree.first[j] : tree.first[j] + tree.count[j]].tolist()
        chances = agent.choose(actions)
        return agent, np.array([chances.get(a, 0.0) for a in actions])


class Aggregation(_Measure):
    """Aggregation over games; a task is the number of a game of random moves (the paper calls it a match)."""

    def __init__(self, game: Game, agent: str | Agent, seed: int, budget: Budget | None, found: Enumeration) -> None:
        super().__init__(game, agent, seed, budget, found)
        self.number = [{int(key): j for j, key in enumerate(tree.keys)} for tree in self.trees]

    @attentive
    def __call__(self, task: int) -> Part:
        chance_seed, *agent_seeds = seeds(self.seed, task)
        *_, position = random_walk(self.game, random.Random(chance_seed))
        all_places, all_amounts, searches, simulations, spent = [], [], 0, 0, 0.0
        for player, tree in enumerate(self.trees):
            sums = np.zeros(tree.sequences)
            self.agent.begin(self.game, player, agent_seeds[player], self.budget)
            is_first = True
            for on_the_way in _turns(self.game, position.history, player):
                if on_the_way.infoset not in self.number[player]:
                    break  # the payoffs are settled, and the walk has stopped before
                for percept in on_the_way.seen(player)[len(self.agent.seen) :]:
                    self.agent.observe(percept)
                earlier = self.agent.gathered(tree)
                began = time.perf_counter()
                self.agent.choose(on_the_way.actions)
                spent += time.perf_counter() - began
                gained = self.agent.gathered(tree) - earlier
                if not is_first:
                    gained[~tree.below(self.number[player][on_the_way.infoset])] = 0.0
                sums += gained
                is_first = False
                searches += 1
            simulations += self.agent.simulations_made
            places = np.flatnonzero(sums)
            all_places.append(places)
            all_amounts.append(sums[places])
        return Part((all_places[0], all_places[1]), (all_amounts[0], all_amounts[1]), searches, simulations, spent)


class FromTheRoot(_Measure):
    """One search at the start of the game, for both players; there is but one task."""

    def __call__(self, task: int) -> Part:
        self.agent.begin(self.game, 0, seeds(self.seed, task)[1], self.budget)
        began = time.perf_counter()
        weights = self.agent.plan(self.trees)
        spent = time.perf_counter() - began
        places = [np.flatnonzero(each) for each in weights]
        amounts = [each[where] for each, where in zip(weights, places, strict=True)]
        return Part((places[0], places[1]), (amounts[0], amounts[1]), 1, self.agent.simulations_made, spent)


METHODS: dict[str, type[_Measure]] = {"stitching": Stitching, "aggregate": Aggregation, "root": FromTheRoot}


def percepts(found: Enumeration, player: int) -> list[list[Percept]]:
    """What the player has seen at each of its information sets."""
    recall, sets = found.recall, found.sets
    steps = list(zip(*(array.tolist() for array in (recall.parent, recall.own, recall.public, recall.private)), strict=True))
    seen = []
    for node in sets.node[sets.player == player].tolist():
        way = []
        while steps[node][0] >= 0:
            way.append(Percept(*steps[node][1:]))
            node = steps[node][0]
        seen.append(way[::-1])
    return seen


def _followers(tree: Treeplex) -> list[list[int]]:
    """The sets that come next after each set."""
    after: list[list[int]] = [[] for _ in range(tree.infosets)]
    for j, before in enumerate(tree.infoset_before.tolist()):
        if before >= 0:
            after[before].append(j)
    return after


def _turns(game: Game, history: Sequence[int], player: int) -> list[Position]:
    """The positions on the way along `history` at which `player` is to move."""
    position, turns = Position(game), []
    for action in history:
        if position.player == player:
            turns.append(position.copy())
        position.apply(action)
    return turns


def _for_player(
    player: int, places: NDArray[np.int64], amounts: Floats, searches: int, simulations: int, seconds: float
) -> Part:  # fmt: skip
    nowhere, nothing = np.zeros(0, np.int64), np.zeros(0)
    if player == 0:
        return Part((places, nowhere), (amounts, nothing), searches, simulations, seconds)
    return Part((nowhere, places), (nothing, amounts), searches, simulations, seconds)

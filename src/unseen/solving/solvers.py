"""Solvers: what they have in common, and the two kinds. One works on the sequence form, the other samples the game itself.

A solver can be stopped after any iteration, written down as arrays and taken up again; it then goes on exactly as if nothing had
happened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.engine import random_state, scratch
from unseen.errors import GameFault, UnseenError
from unseen.exact.payoffs import StoredPayoffs
from unseen.exact.sequence_form import Evaluation, SequenceForm
from unseen.game import Game
from unseen.options import Declared, Value, parameter
from unseen.run.checkpoint import Layout, Like, like
from unseen.run.reading import LARGEST
from unseen.solving import cfr, outcome, traversal
from unseen.solving.minimisers import Minimiser
from unseen.tabular.averaging import catch_up_all
from unseen.tabular.strategy import Strategy
from unseen.tabular.table import (
    LAYOUT,
    Keeps,
    Table,
    as_arrays,
    copied,
    from_arrays,
    grown,
    read_shares,
    shares_strategy,
)

Arrays = dict[str, NDArray[Any]]
AVERAGINGS = {"stochastic": outcome.StochasticAverages(), "lazy": outcome.LazyAverages()}
AVERAGES = 1
"""The place of the averages among the fields of an action, the same for all samplers."""


class Solver(ABC):
    """Something that improves a strategy for a game, iteration by iteration."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.iterations = 0
        self.nodes = 0
        """Histories visited so far; on the sequence form, those that a walk over the form would have visited."""

    @abstractmethod
    def run(self, iterations: int) -> None:
        """Do so many more iterations."""

    def prepare(self) -> None:
        """Compile what `run` needs, so that the first iteration takes no longer than the others."""
        self.run(0)

    @abstractmethod
    def strategy(self) -> Strategy:
        """The average strategy, which is what converges."""

    def about(self) -> dict[str, str]:
        """What must be the same for `restore` to make sense, apart from game and algorithm."""
        return {}

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that the solver would need to go on."""

    def layout(self) -> Layout:
        """What these arrays are like in a checkpoint: as they are now, unless a solver says otherwise."""
        return like(self.arrays())

    @abstractmethod
    def restore(self, arrays: Mapping[str, NDArray[Any]], iterations: int, nodes: int) -> None:
        """Go on from what `arrays` returned after so many iterations, if they are like `layout`; raises if they cannot be that."""

    def evaluate(self, form: SequenceForm) -> Evaluation:
        """The exact exploitability of the average strategy."""
        return form.evaluate(self.strategy())


class SequenceSolver(Solver):
    """A member of the counterfactual regret family on the sequence form, with payoffs stored or streamed."""

    STATE = ("behaviour", "plan", "regret", "score", "average")

    def __init__(self, form: SequenceForm, minimiser: Minimiser) -> None:
        super().__init__(form.game)
        self.form, self.minimiser = form, minimiser
        self.sides = cfr.new_side(form.players[0]), cfr.new_side(form.players[1])
        self.matrices = cfr.matrices(form.payoffs) if isinstance(form.payoffs, StoredPayoffs) else None

    def about(self) -> dict[str, str]:
        return {"form": self.form.kind}

    def run(self, iterations: int) -> None:
        end = self.iterations + iterations
        if self.matrices is not None:
            cfr.iterate(self.minimiser, *self.sides, *self.matrices, self.iterations + 1, end + 1)
        else:
            for t in range(self.iterations + 1, end + 1):
                cfr.iterate_streamed(self.minimiser, self.sides, self.form.payoffs, t)
        self.iterations = end
        self.nodes += 2 * self.form.histories * iterations

    def plans(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both players' average plans."""
        first, second = (side.average / side.average[0] if self.iterations else side.plan.copy() for side in self.sides)
        return first, second

    def strategy(self) -> Strategy:
        return self.form.strategy(*(tree.behaviour(plan) for tree, plan in zip(self.form.players, self.plans(), strict=True)))

    def evaluate(self, form: SequenceForm) -> Evaluation:
        return form.evaluate_plans(*self.plans())

    def arrays(self) -> Arrays:
        return {f"{name}{p}": getattr(side, name) for p, side in enumerate(self.sides) for name in self.STATE}

    def restore(self, arrays: Mapping[str, NDArray[Any]], iterations: int, nodes: int) -> None:
        for p, (side, tree) in enumerate(zip(self.sides, self.form.players, strict=True)):
            state = {name: arrays[f"{name}{p}"] for name in self.STATE}
            plan, average = state["plan"], state["average"]
            is_sound = all((np.abs(state[name]) <= LARGEST).all() for name in ("regret", "score"))
            is_sound = is_sound and tree.is_plan(plan, 1.0) and tree.is_plan(average, float(average[0]))
            is_sound = (
                is_sound and np.allclose(tree.plan(state["behaviour"]), plan, 1e-6, 1e-9) and bool(iterations) == bool(average[0])
            )
            if not is_sound:
                raise UnseenError(f"its numbers are not those of {iterations:,} iterations.")
            for name in self.STATE:
                getattr(side, name)[:] = state[name]
        self.iterations, self.nodes = iterations, nodes


class SamplingSolver(Declared, Solver):
    """A solver that keeps a table of the information sets it has met, and nothing of the game."""

    @property
    @abstractmethod
    def keeps(self) -> Keeps:
        """What is kept of an information set."""

    def __init__(self, game: Game, seed: int = 0, **options: Value) -> None:
        Solver.__init__(self, game)
        Declared.__init__(self, **options)
        self.table = self.keeps.new_table()
        self.rng = random_state(seed)
        self.scratch = scratch(game)
        self.memory: int | None = None
        """The most bytes that the table may take, also while it grows."""
        self.is_from_file = False
        """Whether the table is from a file, and has not been compared with a sequence form since."""

    def make_room(self, sets: int, cells: int) -> None:
        """Let the table have room for so many more sets, with so many actions in all."""
        try:
            self.table = grown(self.table, sets, cells, memory=self.memory)
        except UnseenError as error:
            raise UnseenError(f"{self.game.spec}: {error}") from error

    def averaged(self) -> Table:
        """The table with averages that are up to date."""
        return self.table

    def broken(self) -> GameFault:
        hint = ", if it is not the checkpoint that is wrong" * self.is_from_file
        return GameFault(f"{self.game.spec}: a simulation broke the protocol; `unseen check` says where{hint}.")

    def strategy(self) -> Strategy:
        return shares_strategy(self.game, self.averaged(), AVERAGES)

    def evaluate(self, form: SequenceForm) -> Evaluation:
        if form.images is not None or self.is_from_file:
            found = super().evaluate(form)  # which compares the actions at all information sets
            self.is_from_file = False
            return found
        plans, table = [], self.averaged()
        for tree in form.players:  # straight from the table: in large games making a strategy takes longer than evaluating it
            behaviour = tree.uniform()
            if not read_shares(table, AVERAGES, tree.keys, tree.first, behaviour):
                raise self.broken()
            plans.append(tree.plan(behaviour))
        return form.evaluate_plans(plans[0], plans[1])

    def arrays(self) -> Arrays:
        return {**as_arrays(self.table), "rng": self.rng}

    def layout(self) -> Layout:
        return {**LAYOUT, "rng": Like(self.rng.dtype.str, self.rng.shape)}

    def restore(self, arrays: Mapping[str, NDArray[Any]], iterations: int, nodes: int) -> None:
        self.table = from_arrays(self.keeps, self.game, arrays)
        self.rng, self.is_from_file = np.array(arrays["rng"]), True
        self.iterations, self.nodes = iterations, nodes


class OutcomeSampling(SamplingSolver):
    """Outcome sampling; an iteration is one simulation, updating the players in turn."""

    epsilon: float = parameter(
        0.6, above=0.0, maximum=1.0, help="the probability of an even choice, for the player that is updated"
    )
    averaging: int = parameter(
        "stochastic",
        choices=tuple(AVERAGINGS),
        help="how averages are added up: stochastic (right on average) or lazy (exact)",
    )

    def __init__(self, game: Game, seed: int = 0, **options: Value) -> None:
        super().__init__(game, seed, **options)
        self.path = outcome.new_path(game.max_length)
        self.states = game.new_states(1)

    @property
    def keeps(self) -> Keeps:
        return list(AVERAGINGS.values())[self.averaging]

    def run(self, iterations: int) -> None:
        end = self.iterations + iterations
        while True:
            reached, nodes = outcome.run(
                self.game, self.states, self.keeps, self.table, self.path, *self.scratch, self.rng, self.epsilon, self.iterations,
                end,
            )  # fmt: skip
            if reached == outcome.BROKEN:
                raise self.broken()
            self.iterations = reached
            self.nodes += nodes
            if self.iterations == end:
                break
            self.make_room(self.game.max_length, self.game.max_length * self.game.width)

    def averaged(self) -> Table:
        if self.keeps is not AVERAGINGS["lazy"]:
            return self.table
        table = copied(self.table)  # what is added up when must not depend on when somebody looks
        catch_up_all(self.keeps, table, 0.0, float(self.iterations))
        return table


class Traversal(SamplingSolver):
    """Vanilla CFR, chance sampling or external sampling; an iteration is one traversal, for the players in turn."""

    samples_chance = True
    prunes = False
    keeps: Keeps = traversal.WalkKeeps()

    def __init__(self, game: Game, seed: int = 0, **options: Value) -> None:
        super().__init__(game, seed, **options)
        self.sampling = traversal.Sampling(self.samples_chance, self.prunes)
        self.stack = traversal.new_stack(game)
        self.cursor = traversal.new_cursor()
        self.value = np.zeros(1)

    def run(self, iterations: int) -> None:
        self.cursor[traversal.NODES] = 0
        self.cursor[traversal.TRAVERSAL] = self.iterations
        self.iterations += iterations
        while status := traversal.run(
            self.game, self.stack, self.keeps, self.table, *self.scratch, self.rng, self.sampling, self.cursor, self.value,
            self.iterations,
        ):  # fmt: skip
            if status == traversal.BROKEN:
                raise self.broken()
            self.make_room(1, self.game.width)
        self.nodes += int(self.cursor[traversal.NODES])


class VanillaCFR(Traversal):
    """Walks all of the game."""

    pruning: bool = parameter(True, help="whether to leave out what the opponent never does")
    samples_chance = False

    @property
    def prunes(self) -> bool:  # type: ignore[override]
        return self.pruning


class ChanceSampling(Traversal):
    """Draws one outcome at each chance node."""


class ExternalSampling(Traversal):
    """Draws chance's outcomes and the opponent's actions."""

    keeps = traversal.ExternalKeeps()

"""A search in progress: the tree that simulations have built, where they begin, and where they are led."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.arguments import checked
from unseen.belief.belief import DEFAULT_CAP
from unseen.engine import random_state, whole_states
from unseen.errors import GameFault, UnseenError
from unseen.exact.treeplex import Treeplex
from unseen.game import PUBLIC, Game
from unseen.loading import load
from unseen.options import Declared, Value, parameter
from unseen.position import Percept, Position, history_key
from unseen.search.aim import aim_at, no_aim
from unseen.search.flights import ANSWERED, IDLE, WAITING, Memory, new_flights, new_totals, new_work
from unseen.search.joint_rules import JointRule
from unseen.search.leaf import BROKEN, Leaf, OutsidePolicy, Questions, UniformPlayout, questions
from unseen.search.loop import run
from unseen.search.root import Roots, at_start
from unseen.search.rules import LAZY, PER_HISTORY, HistoryBaselines, Rule
from unseen.search.tree import JointTree, SetTree
from unseen.search.worst_case import Notes, advise_at, walk
from unseen.stacked.openness import check_open
from unseen.tabular.averaging import catch_up_all
from unseen.tabular.table import (
    copied,
    emptied,
    grown,
    read_field,
    read_shares,
    table_bytes,
)

if TYPE_CHECKING:
    from unseen.stacked.values import Values

SIMULATIONS_PER_CALL = 200_000
"""So that Ctrl-C is noticed in between."""
SECONDS_PER_CALL = 0.05
TARGETINGS = ("none", "infoset", "public")
_PREPARED: set[tuple[type, ...]] = set()


class Searcher(Declared):
    """Simulations for one player of a game. `aim` says what it has seen; `run` simulates; `behaviour` is what it makes of that.

    - `game`: a game, or what names one.
    - `rule`: what an information set does: how it chooses, and what it learns (one of `unseen.rules`).
    - `leaf`: how simulations end where the tree does: evenly random play, unless told otherwise (see unseen.search.leaf).
    - `seed`: of all random choices.
    - `options`: `targeting` ("none", "infoset" or "public"), `memory` (megabytes), `cap` (of beliefs).
    """

    targeting: int = parameter(
        "infoset", choices=TARGETINGS,
        help="where simulations are led: nowhere, to the player's information set (IST), or to the public subgame (PST)",
    )  # fmt: skip
    memory: float = parameter(1000.0, minimum=1.0, help="megabytes for the tree; when they are used up it stops growing")
    cap: int = parameter(
        DEFAULT_CAP, minimum=1, help="states in a layer of the belief, beyond which percepts are only compared as they come"
    )

    @checked
    def __init__(self, game: Game | str, rule: Rule, *, leaf: Leaf | None = None, seed: int = 0, **options: Value) -> None:
        super().__init__(**options)
        self.game = load(game)
        self.rule = rule
        self.leaf = leaf or UniformPlayout()
        self.known = self.leaf.table(self.game)
        self.is_joint = isinstance(rule, JointRule)
        if self.is_joint:
            check_open(self.game, "a search over joint moves")
        self.tree = JointTree() if self.is_joint else SetTree()
        self.roots: Roots = at_start(self.game)
        self.target = no_aim()
        self.made = 0
        """All simulations, also those of trees that were dropped."""
        self._take_off(random_state(seed))
        self.learnt = Memory(rule.new_table(64), HistoryBaselines.new_table(64), new_totals())
        self.simulations, self.may_grow = 0, True

    def _take_off(self, rng: NDArray[np.uint64]) -> None:
        in_flight = self.leaf.in_flight if isinstance(self.leaf, OutsidePolicy) else 1
        self.flights, self.work = new_flights(self.game, in_flight, self.leaf.needs_percepts), new_work(self.game, rng)

    def fork(self, seed: int) -> Searcher:
        """A search of its own that goes on from here with random numbers of `seed`."""
        other = copy.copy(self)
        table, baselines = (copied(table) for table in (self.learnt.table, self.learnt.baselines))
        other.learnt = Memory(table, baselines, self.learnt.totals.copy())
        other._take_off(random_state(seed))
        return other

    def prepare(self) -> None:
        """Compile what a search needs, so that the first move takes no longer than others."""
        kind = type(self.game), type(self.rule), type(self.leaf)
        if kind not in _PREPARED:
            self._run(self.simulations)
            aim_at(self.game, PUBLIC, (), self.cap)
            self.behaviour(0, (), 1)
            _PREPARED.add(kind)

    def drop(self) -> None:
        """Forget the tree."""
        self.learnt = Memory(emptied(self.learnt.table), emptied(self.learnt.baselines), new_totals())
        self.simulations = 0
        self.may_grow = True

    # Where simulations go -----------------------------------------------------------------------------------------------------

    def aim(self, player: int, seen: Iterable[Percept], until: float = inf) -> None:
        """Lead simulations to where `player`, who is to move, has seen the percepts `seen`.

        If the belief is not known when `time.perf_counter()` is `until`, percepts are compared as they come.
        """
        targeting = TARGETINGS[self.targeting]
        if targeting == "public":
            shared = [Percept(0, percept.public, 0) for percept in seen if percept.public]
            self.target = aim_at(self.game, PUBLIC, shared, self.cap, until)
        elif targeting == "infoset":
            self.target = aim_at(self.game, player, seen, self.cap, until)

    def begin_at(self, roots: Roots) -> None:
        """Let simulations begin at `roots` from now on (see unseen.search.root), and be led nowhere."""
        self.roots, self.target = roots, no_aim()

    # Simulating ---------------------------------------------------------------------------------------------------------------

    def run(self, simulations: int) -> None:
        """So many more `simulations`, all of them to their end."""
        end = self.simulations + simulations
        self.made += simulations
        while self.simulations < end or (self.flights.flight.status != IDLE).any():
            self._run(stop := min(end, self.simulations + SIMULATIONS_PER_CALL))
            if (waiting := self.waiting()) is not None:
                assert isinstance(self.leaf, OutsidePolicy)
                self.answer(waiting.flight, self.leaf.answer(waiting))
            elif self.simulations < stop:
                self.make_room()

    def _run(self, end: int) -> None:
        reached = run(
            self.game, self.tree, self.rule, self.leaf, self.target, self.roots, self.may_grow, self.learnt, self.known,
            self.flights, self.work, self.simulations, end,
        )  # fmt: skip
        self._check(reached != BROKEN)
        self.simulations = reached

    def _check(self, is_sound: bool) -> None:
        if not is_sound:
            raise GameFault(f"{self.game.spec}: a simulation broke the protocol; `unseen check` says where.")

    def waiting(self) -> Questions | None:
        """What simulations in flight want to know; None if none is waiting."""
        flights = np.flatnonzero(self.flights.flight.status == WAITING)
        return questions(self.game, self.flights, flights) if len(flights) else None

    def answer(self, flights: NDArray[np.int64], answers: NDArray[np.float64]) -> None:
        """The `answers`, shape (q, w) or (q, 1), to what some `flights` want to know; these go on when `run` is called again."""
        answers = np.asarray(answers, float)
        if answers.ndim != 2 or len(answers) != len(flights) or answers.shape[1] > self.game.width:
            raise UnseenError(
                f"the answers have shape {answers.shape}, but must have {len(flights)} rows of up to {self.game.width}."
            )
        if not np.isfinite(answers).all():
            raise UnseenError("an answer is not a finite number.")
        self.flights.answer[flights, : answers.shape[1]] = answers
        self.flights.flight.status[flights] = ANSWERED

    def run_until(self, end: float) -> int:
        """Simulate until `time.perf_counter()` is `end`, at least once. Returns the number of simulations."""
        before, batch, now = self.simulations, 1, time.perf_counter()
        while True:
            self.run(batch)
            began, now = now, time.perf_counter()
            if now >= end:
                return self.simulations - before
            batch = max(1, int(batch * min(2.0, min(SECONDS_PER_CALL, end - now) / max(now - began, 1e-9))))

    def make_room(self) -> None:
        """Larger tables if there is memory for them, counted with the old ones beside them while they are copied.

        When there is not, the tree stays as it is, and simulations that leave it are played out from there.
        """
        table, baselines, totals = self.learnt
        if 3 * (table_bytes(table) + table_bytes(baselines)) > self.memory * 1e6:
            self.may_grow = False
            return
        length, width = self.game.max_length, self.game.width
        table = grown(table, 1, 2 * width, width * width) if self.is_joint else grown(table, 1, width)
        if self.rule.baseline == PER_HISTORY:
            baselines = grown(baselines, length, length * width)
        self.learnt = Memory(table, baselines, totals)

    # What it has found --------------------------------------------------------------------------------------------------------

    def behaviour(self, player: int, seen: Sequence[Percept], n: int) -> NDArray[np.float64]:
        """What it would play, shape (n,), at the set of `n` actions where `player` has `seen` this.

        Even, if no simulation has come there.
        """
        self.catch_up()
        found = np.full(n, 1.0 / n)
        key = np.array([history_key(player, seen)], np.uint64)
        self._check(read_shares(self.learnt.table, self.rule.played, key, np.zeros(1, np.int64), found))
        return found

    def worths(self, player: int, seen: Sequence[Percept], n: int) -> NDArray[np.float64]:
        """What the baselines say each of the `n` actions is worth to `player`, shape (n,), at the set where it has `seen` this.

        NaN, if no simulation has come there.
        """
        found, key = np.full(n, np.nan), np.array([history_key(player, seen)], np.uint64)
        self._check(read_field(self.learnt.table, self.rule.baselines, key, np.zeros(1, np.int64), found))
        return found if player == 0 else -found

    def recommended(self, position: Position, player: int) -> NDArray[np.float64]:
        """What `player` should play, shape (n,), at a `position` at which both choose; even, if no simulation has come there."""
        self._must_be_joint()
        counts = len(position.actions), len(position.child(position.actions[0]).actions)
        mixes = [np.full(n, 1.0 / n) for n in counts]
        states, words = whole_states(self.game, 1)
        position.state.write(states)
        advise_at(self.rule, self.learnt.table, words, np.uint64(position.key(0)), np.uint64(position.key(1)), *mixes)
        return mixes[player]

    def worst_case(
        self, history: Sequence[int] = (), depth: int | None = None, values: Values | None = None
    ) -> tuple[float, float]:  # fmt: skip
        """The least that player 0 gets from a `history` on if it follows the search, and the most that it gets if player 1 does.

        Both against an opponent that knows the recommendations; where the search knows nothing they are even. With a `depth` they
        are followed for so many moves, of chance or of both players at once; after them everybody plays as well as can be, which is
        worth what the exact `values` say. See unseen.search.worst_case.
        """
        self._must_be_joint()
        return walk(self.game, self.rule, self.learnt.table, history, depth, values)

    def _must_be_joint(self) -> None:
        if not self.is_joint:
            raise UnseenError(f"a search by {type(self.rule).__name__} is not one over joint moves, so it makes no joint plan.")

    def recommendations(self, trees: Sequence[Treeplex]) -> list[NDArray[np.float64]]:
        """What each player should do, for the actions of all information sets of its tree, one of `trees`."""
        notes = []
        for tree in trees:
            order = np.argsort(tree.keys)
            notes.append(Notes(tree.keys[order], tree.first[order], np.zeros(tree.sequences)))
        walk(self.game, self.rule, self.learnt.table, (), notes=(notes[0], notes[1]))
        return [each.found for each in notes]

    def catch_up(self) -> None:
        """Bring averages up to date that are added up lazily."""
        if self.rule.averaging == LAZY:
            catch_up_all(self.rule, self.learnt.table, float(self.rule.gamma), self.learnt.totals.weight[0])

    def sums(self, keys: NDArray[np.uint64], first: NDArray[np.int64], cells: int) -> NDArray[np.float64]:
        """What has been added up for each action of the sets with these `keys`, from place `first` of each on; shape (`cells`,)."""
        self.catch_up()
        found = np.zeros(cells)
        self._check(read_field(self.learnt.table, self.rule.played, keys, first, found))
        return found

"""A search in progress: the tree that simulations have built, and where they are led."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from unseen.belief.belief import DEFAULT_CAP
from unseen.compiling import Compiled, kernel
from unseen.engine import random_state
from unseen.errors import GameFault, UnseenError
from unseen.game import PUBLIC, Game
from unseen.position import Percept, history_key, try_out
from unseen.search.aim import aim_at, no_aim
from unseen.search.loop import BROKEN, UniformPlayout, new_desk, new_path, run
from unseen.search.rules import PER_HISTORY, Outcome, Rule
from unseen.tabular.table import (
    NOWHERE,
    Table,
    as_arrays,
    averages,
    block_size,
    choice,
    from_arrays,
    grown,
    mass,
    n_actions,
    new_table,
    read_averages,
    slot_of,
)

DEFAULT_MEMORY = 1000.0
"""Megabytes that the tree of a search may take."""
SIMULATIONS_PER_CALL = 200_000
"""So that Ctrl-C is noticed in between."""
SECONDS_PER_CALL = 0.05
TARGETINGS = ("none", "infoset", "public")
_PREPARED: set[tuple[type, type]] = set()


class Searcher:
    """Simulations for one player of a match. `aim` says what it has seen; `run` simulates; `behaviour` is what it makes of that."""

    def __init__(
        self, game: Game, rule: Rule, targeting: str = "infoset", seed: int = 0, memory: float = DEFAULT_MEMORY,
        cap: int = DEFAULT_CAP, playout: Compiled | None = None,
    ) -> None:  # fmt: skip
        if targeting not in TARGETINGS:
            raise UnseenError(f"targeting is {targeting!r}, but must be one of {', '.join(TARGETINGS)}.")
        try_out(game)
        self.game, self.rule, self.targeting, self.cap = game, rule, targeting, cap
        self.playout = playout or UniformPlayout()
        self.memory = memory * 1e6
        self.rng = random_state(seed)
        self.target = no_aim()
        self.made = 0
        """All simulations, also those of trees that were dropped."""
        self.states = game.new_states(2)
        self.path, self.desk = new_path(game.max_length), new_desk(game)
        self.drop()

    def fork(self, seed: int) -> Searcher:
        """A search of its own that goes on from here with other random numbers."""
        other = copy.copy(self)
        other.table, other.worths = (from_arrays(as_arrays(table)) for table in (self.table, self.worths))
        other.notes, other.rng = self.notes.copy(), random_state(seed)
        other.states, other.path, other.desk = self.game.new_states(2), new_path(self.game.max_length), new_desk(self.game)
        return other

    def prepare(self) -> None:
        """Compile what a search needs, so that the first move takes no longer than others."""
        kind = type(self.game), type(self.rule)
        if kind not in _PREPARED:
            self._run(self.simulations)
            aim_at(self.game, PUBLIC, (), self.cap)
            self.behaviour(0, (), 1)
            _PREPARED.add(kind)

    def drop(self) -> None:
        """Forget the tree."""
        self.table: Table = new_table(64)
        self.worths: Table = new_table(64)  # baselines of histories
        self.notes = np.array([0.0, 1.0, 1.0])
        self.simulations = 0
        self.may_grow = True

    def aim(self, player: int, seen: Iterable[Percept]) -> None:
        """Lead simulations to where `player`, who is to move, has seen this."""
        if self.targeting == "none":
            return
        if self.targeting == "public":
            shared = [Percept(0, percept.public, 0) for percept in seen if percept.public]
            self.target = aim_at(self.game, PUBLIC, shared, self.cap)
        else:
            self.target = aim_at(self.game, player, seen, self.cap)

    def run(self, simulations: int) -> None:
        """So many more simulations."""
        end = self.simulations + simulations
        self.made += simulations
        while self.simulations < end:
            self._run(stop := min(end, self.simulations + SIMULATIONS_PER_CALL))
            if self.simulations < stop:
                self.make_room()

    def _run(self, end: int) -> None:
        reached = run(
            self.game, self.rule, self.playout, self.target, self.states, self.may_grow, self.table, self.worths, self.path,
            self.desk, self.notes, self.rng, self.simulations, end,
        )  # fmt: skip
        if reached == BROKEN:
            raise GameFault(f"{self.game.spec}: a simulation broke the protocol; `unseen check` says where.")
        self.simulations = reached

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
        if 3 * (table_bytes(self.table) + table_bytes(self.worths)) > self.memory:
            self.may_grow = False
            return
        length, width = self.game.max_length, self.game.width
        self.table = grown(self.table, 1, width)
        if self.rule.baseline == PER_HISTORY:
            self.worths = grown(self.worths, length, length * width)

    def behaviour(self, player: int, seen: Sequence[Percept], n: int) -> NDArray[np.float64]:
        """The average behaviour, shape (n,), at the set of `player` that has seen this; even if no simulation has come there."""
        self.catch_up()
        found = np.full(n, 1.0 / n)
        read_averages(self.table, np.array([history_key(player, seen)], np.uint64), np.zeros(1, np.int64), found)
        return found

    def catch_up(self) -> None:
        """Bring averages up to date that are added up lazily."""
        if isinstance(self.rule, Outcome) and self.rule.is_lazy:
            catch_up_all(self.rule, self.table, self.notes)

    def sums(self, keys: NDArray[np.uint64], first: NDArray[np.int64], cells: int) -> NDArray[np.float64]:
        """What has been added up for each action of the sets with these keys, from place `first` of each on; shape (cells,)."""
        self.catch_up()
        found = np.zeros(cells)
        read_sums(self.table, keys, first, found)
        return found


def table_bytes(table: Table) -> int:
    return table.whole.nbytes + table.player.nbytes + table.slots.nbytes


@kernel
def catch_up_all(rule, table, notes):
    """Call `arrive` at every set, each after those that its player passes on the way to it."""
    w = 1
    for _ in range(table.size[0]):
        rule.arrive(table, w, mass(table, w), np.int64(table.half[choice(w)]), False, notes)
        w += block_size(n_actions(table, w))


@kernel
def read_sums(table, keys, first, sums):
    """Copy the averages, as they are, of the sets with these keys."""
    for j in range(len(keys)):
        w = np.int64(table.slots[slot_of(table, keys[j])])
        if w != NOWHERE:
            for k in range(n_actions(table, w)):
                sums[first[j] + k] = table.real[averages(table, w) + k]

"""The Python side of a walk over a game: it makes room, reports progress, names faults, and holds what was found."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.engine import scratch
from unseen.enumeration.bundles import with_more_bundles
from unseen.enumeration.infosets import (
    SEQUENCES,
    Recall,
    Sets,
    bytes_for_room,
    extended,
    merge,
    new_recall,
    new_sets,
    trimmed,
    with_room,
)
from unseen.enumeration.symmetry import Reduction
from unseen.enumeration.walk import (
    AT_BOTTOM,
    BEFORE_THE_START,
    BUNDLE,
    COUNT,
    DEPTH,
    DONE,
    EXAMPLES,
    FAULTS,
    HISTORIES,
    LONGEST,
    NO_ROOM,
    PAUSED,
    STORE,
    STORED,
    TERMINALS,
    Sink,
    new_sink,
    new_stack,
    walk,
)
from unseen.errors import GameFault, UnseenError
from unseen.game import Game
from unseen.position import history_text
from unseen.run.progress import Progress

HISTORIES_PER_CALL = 2_000_000
MEMORY_SHARE = 0.8
"""The part of the machine's memory that an enumeration may use unless told otherwise."""


class Part(NamedTuple):
    """A stretch of the walk over a game: from a history to where it has come to more than `size` histories of that `length`."""

    prefix: list[int]
    length: int
    size: int


class Shared:
    """What the walkers of one enumeration have in common: a bound on memory, a count for progress, the signal to stop."""

    def __init__(self, game: Game, progress: Progress | None = None, memory: int | None = None) -> None:
        if memory is not None and not memory > 0:
            raise UnseenError(f"memory is {memory}, but must be a number of bytes above 0.")
        self.game, self.progress = game, progress
        self.memory = int(MEMORY_SHARE * machine_memory()) if memory is None else memory
        self.peak = 0
        self.stopped = False
        self._walkers = count(1)
        self._held: dict[int, int] = {}
        self._counts: dict[int, int] = {}
        self._shown = 0
        self._lock = threading.Lock()

    def enrol(self) -> int:
        """A number for a new walker."""
        return next(self._walkers)

    def count(self, walker: int, histories: int) -> None:
        """A walker says how far it is."""
        if self.stopped:
            raise KeyboardInterrupt
        with self._lock:
            self._counts[walker] = histories
            if self.progress is not None:
                self._shown = max(self._shown, sum(self._counts.values()))
                self.progress(self._shown)

    def hold(self, walker: int, nbytes: int) -> None:
        """A walker says how much memory it holds, or is about to. Raises if that is too much for all together."""
        with self._lock:
            self._held[walker] = nbytes
            held = sum(self._held.values())
            if held > self.memory:
                raise UnseenError(
                    f"{self.game.spec}: walking it takes more than {self.memory / 1e9:,.3g} GB of memory, its bound "
                    f"(see --memory); that was clear after {sum(self._counts.values()):,} histories."
                )
            self.peak = max(self.peak, held)

    def forget(self, walker: int) -> None:
        """What this walker found has been taken over by another, or is not needed."""
        with self._lock:
            self._held.pop(walker, None)
            self._counts.pop(walker, None)


def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or its container's if that is less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * 2**30
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdigit() else physical


def nbytes(recall: Recall, sets: Sets, sink: Sink) -> int:
    """Bytes held by a tree, its sets and what a sink keeps."""
    return sum(array.nbytes for part in (recall, sets, sink[1:-1], sink.bundles) for array in part)


@dataclass(repr=False)
class Enumeration:
    """All that was met on a walk over every history: counts, the tree of what players saw, the information sets."""

    game: Game
    histories: int
    terminals: int
    longest: int
    recall: Recall
    sets: Sets
    sink: Sink
    peak: int
    """The most bytes that were held at a time on the way."""

    @property
    def infosets(self) -> tuple[int, int]:
        """The number of information sets of each player."""
        second = int(np.count_nonzero(self.sets.player))
        return len(self.sets.player) - second, second

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The 64-bit key of each information set, shape (j,)."""
        return self.recall.key[self.sets.node]

    def __repr__(self) -> str:
        return f"<Enumeration of {self.game.spec}: {self.histories:,} histories, {sum(self.infosets):,} information sets>"

    @property
    def nbytes(self) -> int:
        """Bytes held by trees, sets and stored payoffs."""
        return nbytes(self.recall, self.sets, self.sink)


class Walker:
    """The Python side of a walk that begins at the history `prefix`: makes room, reports progress, names faults."""

    def __init__(
        self, game: Game, recall: Recall, sets: Sets, sink: Sink, prefix: Sequence[int] = (), shared: Shared | None = None,
        reduced: Reduction | None = None,
    ) -> None:  # fmt: skip
        self.game, self.recall, self.sets, self.sink = game, recall, sets, sink
        self.reduction = reduced
        self.shared = shared or Shared(game)
        self.number = self.shared.enrol()
        self.prefix = np.array(prefix, np.int64)
        self.stack = new_stack(game)
        self.counters = np.zeros(7, np.int64)
        self.counters[DEPTH] = BEFORE_THE_START
        self.scratch = scratch(game)

    def run(self, part: Part | None = None) -> None:
        """Walk to the end, or to the end of a part."""
        came_to = 0
        while (status := self.go_on(part.length if part else -1)) != DONE:
            came_to += status == AT_BOTTOM
            if part and came_to > part.size:
                break

    def go_on(self, bottom: int = -1) -> int:
        """Walk on for a while. Returns DONE, PAUSED, or AT_BOTTOM at a history of length `bottom`."""
        arrays = (self.stack, self.recall, self.sets, self.sink, self.reduction, self.counters)
        status = int(walk(self.game, *arrays, *self.scratch, self.prefix, bottom, HISTORIES_PER_CALL))
        self.shared.count(self.number, self.histories)
        if status == NO_ROOM:
            self.make_room()
            return PAUSED
        self.check(status)
        return status

    @property
    def histories(self) -> int:
        """How many have been met so far, without those on the way to where the walk began."""
        return int(self.counters[HISTORIES]) - (len(self.prefix) + 1 if len(self.prefix) else 0)

    def check(self, status: int) -> None:
        """Raise if `status` is a fault."""
        if status in FAULTS:
            raise GameFault(f"{type(self.game).__name__}: {FAULTS[status]}, at history {history_text(self.game, self.history())}.")

    def history(self) -> list[int]:
        """Where the walk stands."""
        return [int(self.stack.actions[d, self.stack.next[d] - 1]) for d in range(int(self.counters[DEPTH]))]

    def skip(self) -> None:
        """Leave out what is below the history at which the walk stands."""
        self.counters[DEPTH] -= 1

    def make_room(self, nodes: int = 2, infosets: int = 1, cells: int = 0, stored: int = 1) -> None:
        """Make room for so many more nodes, sets, cells and terminals, and for one more example."""
        wanted = (nodes, infosets, max(cells, self.game.width))
        used, sink = int(self.counters[STORED]), self.sink
        held = nbytes(self.recall, self.sets, self.sink)
        longer = 0
        if sink.mode in (STORE, BUNDLE) and used + stored > len(sink.row):
            longer = max(4096, 2 * used, used + stored)
        row_bytes = sink.row.itemsize + sink.column.itemsize + sink.payoff.itemsize
        self.shared.hold(self.number, held + bytes_for_room(self.recall, self.sets, *wanted) + longer * row_bytes)
        self.recall, self.sets = with_room(self.recall, self.sets, *wanted)
        if longer:
            row, column, payoff = (extended(array, longer) for array in (sink.row, sink.column, sink.payoff))
            self.sink = sink._replace(row=row, column=column, payoff=payoff)
        if sink.mode == BUNDLE:
            members = used - int(self.stack.stored[max(self.counters[DEPTH], 0)])
            self.sink = self.sink._replace(bundles=with_more_bundles(self.sink.bundles, members))
        elif sink.mode == EXAMPLES:
            example, lengths = sink.example, np.full(len(self.sets.player) + 1, -1, np.int64)
            lengths[: len(sink.length)] = sink.length
            if used + self.game.max_length > len(example):
                example = extended(example, 2 * len(example))
            self.sink = sink._replace(example=example, length=lengths)
        self.shared.hold(self.number, nbytes(self.recall, self.sets, self.sink))

    def take_over(self, part: Walker) -> None:
        """Add what a walk over a part of the game has found, as if it had been found here."""
        nodes, (infosets, cells), stored = (
            int(part.recall.size[0]),
            part.sets.sizes[:SEQUENCES].tolist(),
            int(part.counters[STORED]),
        )
        self.make_room(nodes, infosets, cells, stored)
        node_of, sequence_of = np.zeros(nodes, np.int32), np.zeros((2, int(part.sets.sizes[SEQUENCES:].max())), np.int32)
        if merge(self.recall, self.sets, part.recall, part.sets, node_of, sequence_of) >= 0:
            # An information set has other actions in another part: one walk over both names the history.
            Walker(self.game, new_recall(), new_sets(), new_sink(COUNT), reduced=self.reduction).run()
            raise AssertionError("parts of the game disagree, but a single walk finds no fault")
        self.counters[HISTORIES] += part.histories
        self.counters[TERMINALS] += part.counters[TERMINALS]
        self.counters[LONGEST] = max(self.counters[LONGEST], part.counters[LONGEST])
        if self.sink.mode == STORE:
            here = slice(int(self.counters[STORED]), int(self.counters[STORED]) + stored)
            self.sink.row[here] = sequence_of[0, part.sink.row[:stored]]
            self.sink.column[here] = sequence_of[1, part.sink.column[:stored]]
            self.sink.payoff[here] = part.sink.payoff[:stored]
            self.counters[STORED] += stored
        self.shared.forget(part.number)
        self.shared.count(self.number, self.histories)

    def result(self) -> Enumeration:
        """What was found on the whole walk."""
        counters, sink = self.counters, self.sink
        if sink.mode in (STORE, BUNDLE):
            n = int(counters[STORED])
            sink = sink._replace(row=sink.row[:n], column=sink.column[:n], payoff=sink.payoff[:n])
        found = Enumeration(
            self.game, self.histories, int(counters[TERMINALS]), int(counters[LONGEST]),
            self.recall, trimmed(self.sets), sink, max(self.shared.peak, nbytes(self.recall, self.sets, self.sink)),
        )  # fmt: skip
        check_keys(found)
        return found


def check_keys(found: Enumeration) -> None:
    """Raise if two information sets share a 64-bit key."""
    keys = np.sort(found.keys)
    twice = keys[:-1][keys[:-1] == keys[1:]]
    if len(twice):
        raise GameFault(
            f"{found.game.name}: {len(twice)} pairs of information sets share a 64-bit key (the first is {int(twice[0]):#018x}); "
            "tables keyed by information set would mix them up."
        )

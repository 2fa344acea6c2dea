"""The payoff operator: what each sequence of a player is worth against a plan of the other.

`against(0, plan1)[q]` is the sum, over the terminals whose last sequence of player 0 is q, of chance's reach times player 0's
payoff times the weight that `plan1` gives to the terminal's last sequence of player 1; `against(1, plan0)` likewise. Two forms give
the same numbers: one keeps a sparse matrix, the other walks the game each time and keeps nothing.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse import coo_array, csr_array

from unseen.enumeration import (
    LARGE,
    PARTS_PER_WORKER,
    Enumeration,
    Part,
    Progress,
    Shared,
    Walker,
    bottom_histories,
    core_count,
    first_moves,
    parts_of,
    threads,
)  # fmt: skip
from unseen.exact.treeplex import Floats
from unseen.infosets import padded, with_room
from unseen.walk import STREAM, Sink, new_sink


class Payoffs(Protocol):
    """What the evaluation needs to know of a game's payoffs."""

    @property
    def nbytes(self) -> int:
        """Bytes held to answer."""

    def against(self, player: int, plan: Floats) -> Floats:
        """The value of each sequence of `player` against the opponent's `plan`."""

    def both(self, plan0: Floats, plan1: Floats) -> tuple[Floats, Floats]:
        """`against(0, plan1)` and `against(1, plan0)`."""


class StoredPayoffs:
    """A sparse matrix of player 0's payoffs times chance's reach: rows are sequences of player 0, columns of player 1."""

    def __init__(self, found: Enumeration) -> None:
        shape = (int(found.sets.sizes[2]), int(found.sets.sizes[3]))
        sink = found.sink
        entries = coo_array((sink.payoff, (sink.row, sink.column)), shape=shape)
        self.matrix: csr_array = entries.tocsr()  # adds up terminals with the same pair of sequences
        self._transposed: csr_array | None = None

    @property
    def transposed(self) -> csr_array:
        """The matrix the other way round, made when first needed."""
        if self._transposed is None:
            self._transposed = self.matrix.T.tocsr()
        return self._transposed

    @property
    def nbytes(self) -> int:
        matrices = [self.matrix] + ([self._transposed] if self._transposed is not None else [])
        return sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in matrices)

    def against(self, player: int, plan: Floats) -> Floats:
        values: Floats = self.matrix @ plan if player == 0 else -(self.transposed @ plan)
        return values

    def both(self, plan0: Floats, plan1: Floats) -> tuple[Floats, Floats]:
        return self.against(0, plan1), self.against(1, plan0)


class StreamedPayoffs:
    """Payoffs that are never stored: each answer is a walk over the game, skipping what neither plan reaches.

    The parts of a large game are dealt out to `workers` threads, each of which adds up what it meets. All share the tree of
    information sets, which holds every node already and so is only read.
    """

    def __init__(self, found: Enumeration, progress: Progress | None = None, workers: int | None = None) -> None:
        self.game, self.progress = found.game, progress
        self.recall, self.sets = found.recall, padded(found.sets, found.game.width)
        self.recall, _ = with_room(self.recall, self.sets, 2, 0, 0)
        self.sizes = found.sets.sizes[2:].tolist()
        self.workers = core_count(workers) if found.histories > LARGE else 1
        self.length = len(first_moves(self.game, PARTS_PER_WORKER * self.workers)[0]) if self.workers > 1 else 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for part in (self.recall, self.sets) for array in part)

    def against(self, player: int, plan: Floats) -> Floats:
        blank = np.zeros(self.sizes[player])
        return self.both(blank, plan)[0] if player == 0 else self.both(plan, blank)[1]

    def both(self, plan0: Floats, plan1: Floats) -> tuple[Floats, Floats]:
        shared = Shared(self.game, self.progress)
        parts = self.parts(plan0, plan1)
        sinks = [new_values(plan0, plan1) for _ in range(min(self.workers, len(parts)))]

        def walk_parts(worker: int) -> None:
            for part in parts[worker :: len(sinks)]:
                Walker(self.game, self.recall, self.sets, sinks[worker], part.prefix, shared).run(part)

        with threads(len(sinks), shared) as pool:
            list(pool.map(walk_parts, range(len(sinks))))
        return np.sum([sink.value0 for sink in sinks], axis=0), np.sum([sink.value1 for sink in sinks], axis=0)

    def parts(self, plan0: Floats, plan1: Floats) -> list[Part]:
        """The walk that these plans need, cut into parts."""
        wanted = PARTS_PER_WORKER * self.workers
        if self.workers > 1:
            start = Walker(self.game, self.recall, self.sets, new_values(plan0, plan1))
            if histories := bottom_histories(start, self.length):
                return parts_of(histories, wanted)
        return [Part([], 0, 1)]


def new_values(plan0: Floats, plan1: Floats) -> Sink:
    """A sink for the values of all sequences against these plans."""
    return new_sink(STREAM, plan0=plan0, plan1=plan1, value0=np.zeros(len(plan0)), value1=np.zeros(len(plan1)))

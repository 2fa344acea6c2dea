"""The payoff operator: what each sequence of a player is worth against a plan of the other.

`against(0, plan1)[q]` is the sum, over the terminals whose last sequence of player 0 is q, of chance's reach times player 0's
payoff times the weight that `plan1` gives to the terminal's last sequence of player 1; `against(1, plan0)` likewise. Three kinds:
one keeps a sparse matrix, one that of a reduced walk, one walks the game each time and keeps nothing. Where endings are settled,
the last two give all sequences of a set the same amount less, which changes neither regrets nor the value at the root.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from unseen.compiling import kernel, piece
from unseen.enumeration.bundles import OF_PLAYER, empty_bundles, fill_bundles
from unseen.enumeration.infosets import SEQUENCES, padded, with_room
from unseen.enumeration.symmetry import Reduction, orbits_of
from unseen.enumeration.walk import STREAM, Sink, new_sink
from unseen.enumeration.walker import Enumeration, Part, Shared, Walker
from unseen.enumeration.whole import LARGE, PARTS_PER_WORKER, bottom_histories, first_moves, parts_of, threads
from unseen.exact.treeplex import Floats
from unseen.run.progress import Progress, watched
from unseen.run.workers import core_count

LARGE_MATRIX = 2_000_000
"""Entries beyond which several threads multiply."""


class Payoffs(Protocol):
    """What the evaluation needs to know of a game's payoffs."""

    @property
    def nbytes(self) -> int:
        """Bytes held to answer."""

    def against(self, player: int, plan: Floats) -> Floats:
        """The value of each sequence of `player` against the opponent's `plan`."""

    def both(self, plan0: Floats, plan1: Floats) -> tuple[Floats, Floats]:
        """`against(0, plan1)` and `against(1, plan0)`."""


class Matrix(NamedTuple):
    """A sparse matrix by rows, as SciPy has it."""

    indptr: NDArray[np.int64]  # (rows + 1,)
    indices: NDArray[np.int32]  # (entries,)
    data: Floats  # (entries,)


def rows_of(matrix: csr_array) -> Matrix:
    """The arrays of a sparse matrix, for kernels."""
    return Matrix(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


@piece
def multiply(matrix, plan, value, begin, end):
    """value = matrix times plan, for the rows from `begin` to `end`."""
    for row in range(begin, end):
        total = 0.0
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            total += matrix.data[k] * plan[matrix.indices[k]]
        value[row] = total


@kernel
def multiply_rows(matrix, plan, value, begin, end):
    """The same, for Python to call."""
    multiply(matrix, plan, value, begin, end)


def product(matrix: Matrix, plan: Floats, value: Floats) -> None:
    """value = matrix times plan, by several threads if the matrix is large."""
    entries, rows = len(matrix.data), len(value)
    workers = core_count() if entries > LARGE_MATRIX else 1
    if workers == 1:
        multiply_rows(matrix, plan, value, 0, rows)
        return
    cuts = np.searchsorted(matrix.indptr, np.linspace(0, entries, workers + 1)[1:-1]).tolist()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda begin, end: multiply_rows(matrix, plan, value, begin, end), [0, *cuts], [*cuts, rows]))


class StoredPayoffs:
    """A sparse matrix of player 0's payoffs times chance's reach: rows are sequences of player 0, columns of player 1."""

    def __init__(self, found: Enumeration) -> None:
        shape = tuple(found.sets.sizes[SEQUENCES:].tolist())
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


def shares_of(reduced: Reduction | None, found: Enumeration) -> tuple[Floats, Floats]:
    """The part of an orbit's weight that each image of it has, by sequence, shapes (q0,) and (q1,)."""
    if reduced is None:
        return np.ones(found.sets.sizes[SEQUENCES]), np.ones(found.sets.sizes[SEQUENCES + 1])
    first, second = orbits_of(reduced, found.recall, found.sets)
    return 1.0 / first, 1.0 / second


class BundledPayoffs:
    """The payoffs of a reduced walk: a sparse matrix whose rows and columns are the sequences and bundles of the players.

    Plans are of orbits: a sequence's weight is that of all its images together, so each image has its `share` of it.
    """

    def __init__(self, found: Enumeration, reduced: Reduction) -> None:
        self.sizes = found.sets.sizes[SEQUENCES:].tolist()
        self.shares = shares_of(reduced, found)
        self.bundles = found.sink.bundles
        self.parts = [n + int(b) for n, b in zip(self.sizes, self.bundles.size[OF_PLAYER:], strict=True)]
        places = []
        for ids, sequences in zip((found.sink.row, found.sink.column), self.sizes, strict=True):
            places.append(np.where(ids >= 0, ids, sequences - 1 - ids))
        matrix = coo_array((found.sink.payoff, (places[0], places[1])), shape=(self.parts[0], self.parts[1])).tocsr()
        self.matrices = (rows_of(matrix), rows_of(matrix.T.tocsr()))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for part in (*self.matrices, self.bundles) for array in part)

    def against(self, player: int, plan: Floats) -> Floats:
        other, sequences = 1 - player, self.sizes[1 - player]
        parts, values = np.zeros(self.parts[other]), np.zeros(self.parts[player])
        parts[:sequences] = plan * self.shares[other]
        fill_bundles(self.bundles, other, parts, sequences)
        product(self.matrices[player], parts, values)
        empty_bundles(self.bundles, player, values, self.sizes[player])
        mine = values[: self.sizes[player]] * self.shares[player]
        return mine if player == 0 else -mine

    def both(self, plan0: Floats, plan1: Floats) -> tuple[Floats, Floats]:
        return self.against(0, plan1), self.against(1, plan0)


class StreamedPayoffs:
    """Payoffs that are never stored: each answer is a walk over the game, skipping what neither plan reaches.

    The parts of a large game are dealt out to `workers` threads, each of which adds up what it meets. All share the tree of
    information sets, which holds every node already and so is only read.
    """

    def __init__(
        self,
        found: Enumeration,
        progress: Progress | bool | None = None,
        workers: int | None = None,
        reduced: Reduction | None = None,
    ) -> None:
        self.game, self.progress = found.game, progress
        self.reduction = reduced
        self.shares = shares_of(reduced, found)
        self.recall, self.sets = found.recall, padded(found.sets, found.game.width)
        self.recall, _ = with_room(self.recall, self.sets, 2, 0, 0)
        self.sizes = found.sets.sizes[SEQUENCES:].tolist()
        self.workers = core_count(workers) if found.histories > LARGE else 1
        self.length = len(first_moves(self.game, PARTS_PER_WORKER * self.workers, self.reduction)[0]) if self.workers > 1 else 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for part in (self.recall, self.sets) for array in part)

    def against(self, player: int, plan: Floats) -> Floats:
        blank = np.zeros(self.sizes[player])
        return self.both(blank, plan)[0] if player == 0 else self.both(plan, blank)[1]

    def both(self, plan0: Floats, plan1: Floats) -> tuple[Floats, Floats]:
        plan0, plan1 = plan0 * self.shares[0], plan1 * self.shares[1]
        parts = self.parts(plan0, plan1)
        sinks = [new_values(plan0, plan1) for _ in range(min(self.workers, len(parts)))]

        with watched(self.progress, f"walking {self.game.name}", "histories") as tick:
            shared = Shared(self.game, tick)

            def walk_parts(worker: int) -> None:
                for part in parts[worker :: len(sinks)]:
                    Walker(self.game, self.recall, self.sets, sinks[worker], part.prefix, shared, self.reduction).run(part)

            with threads(len(sinks), shared) as pool:
                list(pool.map(walk_parts, range(len(sinks))))
        value0, value1 = np.sum([sink.value0 for sink in sinks], axis=0), np.sum([sink.value1 for sink in sinks], axis=0)
        return value0 * self.shares[0], value1 * self.shares[1]

    def parts(self, plan0: Floats, plan1: Floats) -> list[Part]:
        """The walk that these plans need, cut into parts."""
        wanted = PARTS_PER_WORKER * self.workers
        if self.workers > 1:
            start = Walker(self.game, self.recall, self.sets, new_values(plan0, plan1), reduced=self.reduction)
            if histories := bottom_histories(start, self.length):
                return parts_of(histories, wanted)
        return [Part([], 0, 1)]


def new_values(plan0: Floats, plan1: Floats) -> Sink:
    """A sink for the values of all sequences against these plans."""
    return new_sink(STREAM, plan0=plan0, plan1=plan1, value0=np.zeros(len(plan0)), value1=np.zeros(len(plan1)))

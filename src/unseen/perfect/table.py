"""Values of states that a search of an open game has found: a table whose keys are the states themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.engine import whole_states
from unseen.game import Game

WAYS = 4
"""Slots in which the value of a state may be."""
GENERATIONS = 255
"""Generations of values that can be told apart."""
FEWEST_SLOTS = 1 << 15


class Table(NamedTuple):
    """Values of states. A slot is a tag (a seed, and in how many moves errors count), the words of a state, what the value is and
    the best action, and m, p, a. Most states that are looked up are not there, which their marks tell: a key without its last
    bits, in place of which there is a generation. Values of another generation are as good as none. Slots are taken into use as
    they are needed, so that a small search stays near the processor."""

    marks: NDArray[np.uint64]  # (slots,)
    words: NDArray[np.uint64]  # (slots, 1 + k + 1 + 3)
    floats: NDArray[np.float64]  # the same memory
    use: NDArray[np.int64]  # (3,) the generation, from 1 to GENERATIONS; slots in use; states that were put into them


def new_table(game: Game, megabytes: float) -> Table:
    row = whole_states(game, 1)[1].shape[1] + 5
    slots = 1 << max(4, int(megabytes * 1e6 / (8 * row + 8)).bit_length() - 1)
    words = np.zeros((slots, row), np.uint64)
    return Table(np.zeros(slots, np.uint64), words, words.view(np.float64), np.array([1, min(slots, FEWEST_SLOTS), 0]))


def forget(table: Table) -> None:
    """Make all values those of another generation."""
    generation = table.use[0] % GENERATIONS + 1
    if generation == 1:
        table.marks[:] = 0
    table.use[:] = generation, min(len(table.marks), FEWEST_SLOTS), 0


@piece
def tag_of(seed, left):
    """What is remembered belongs to a seed, and to a number of moves in which errors count."""
    return seed + np.uint64(left) * np.uint64(0x9E3779B97F4A7C15)


@piece
def mark_of(table, key):
    """What the mark of a slot is in which there is a state with this key."""
    return key & ~np.uint64(GENERATIONS) | np.uint64(table.use[0])


@piece
def first_slot(table, key):
    """The first of the `WAYS` slots for this key."""
    return np.int64(key >> np.uint64(8)) & (table.use[1] - WAYS)


@piece
def look_up(table, tag, state, d, key):
    """The slot of this state, -1 if it has none."""
    marks, words, k = table.marks, table.words, state.shape[1]
    mark, first = mark_of(table, key), first_slot(table, key)
    for at in range(first, first + WAYS):
        if marks[at] == mark:
            is_same = words[at, 0] == tag
            for i in range(k):
                is_same = is_same and words[at, 1 + i] == state[d, i]
            return at if is_same else -1
    return -1


@piece
def new_slot(table, key):
    """A slot for a state with this key: the one that it has, a free one, or any."""
    marks = table.marks
    if 2 * table.use[2] > table.use[1] and 2 * table.use[1] <= len(marks):
        use_more(table)
    mark, first = mark_of(table, key), first_slot(table, key)
    free = -1
    for at in range(first, first + WAYS):
        if marks[at] == mark:
            return at
        if (marks[at] ^ mark) & np.uint64(GENERATIONS):
            free = at
    if free < 0:
        free = first + np.int64(key >> np.uint64(62))
    else:
        table.use[2] += 1
    marks[free] = mark
    return free


@piece
def use_more(table):
    """Take as many slots into use as there are already. Each state stays where it is or goes as far up."""
    marks, words, n = table.marks, table.words, table.use[1]
    for at in range(n):
        if np.int64(marks[at] & np.uint64(GENERATIONS)) == table.use[0] and np.int64(marks[at] >> np.uint64(8)) & n:
            marks[at + n] = marks[at]
            marks[at] = np.uint64(0)
            for i in range(words.shape[1]):
                words[at + n, i] = words[at, i]
    table.use[1] = 2 * n

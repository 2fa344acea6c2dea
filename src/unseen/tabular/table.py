"""A table of information sets that grows as they are met: regrets and sums of behaviours, found by 64-bit key.

Solvers that walk or sample the game keep nothing else, and most of their time goes into fetching it from memory. So all that
belongs to one set is one block of 8-byte words: its key; the number of actions, and what the last traversal chose; a mark; the
regrets of its actions; the actions; the averages; the current behaviour. What is used most comes first. A set is known by the
place `w` of its block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import random
from unseen.enumeration.infosets import extended
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.tabular.strategy import Strategy

HEAD = 3
"""Words of a block before the regrets."""
MAX_WORDS = 2**31
"""Places are kept in 32 bits."""
NOWHERE = 0
"""No block begins at the first word."""


class Table(NamedTuple):
    """The information sets met so far. The first three are views of the same words."""

    whole: NDArray[np.int64]  # (words,)
    real: NDArray[np.float64]  # (words,)
    half: NDArray[np.int32]  # (2 * words,)
    player: NDArray[np.int8]  # (j,) in order of discovery
    slots: NDArray[np.uint32]  # (a power of two,) open addressing by key: a block, or NOWHERE
    size: NDArray[np.int64]  # (2,) information sets, and words in use


def new_table(sets: int = 1024) -> Table:
    """An empty table."""
    return _with_views(np.zeros(16 * sets, np.int64), np.zeros(sets, np.int8), np.zeros(2 * sets, np.uint32), np.array([0, 1]))


def _with_views(words: NDArray[np.int64], *rest: NDArray[Any]) -> Table:
    return Table(words, words.view(np.float64), words.view(np.int32), *rest)


# The parts of a block -------------------------------------------------------------------------------------------------------


@piece
def n_actions(table, w):
    return np.int64(table.half[2 * w + 2])


@piece
def choice(w):
    """Where, in `half`, it says what the last traversal chose; for lazy averaging, where the average of the choice before is."""
    return 2 * w + 3


@piece
def mark(w):
    """Where, in `whole`, there is the number of the last traversal; in `real`, for lazy averaging, the weight last seen."""
    return w + 2


@piece
def regrets(w):
    """Where, in `real`, the regrets begin."""
    return w + HEAD


@piece
def actions(table, w):
    """Where, in `half`, the actions begin."""
    return 2 * (w + HEAD + n_actions(table, w))


@piece
def averages(table, w):
    """Where, in `real`, the sums of behaviours begin."""
    n = n_actions(table, w)
    return w + HEAD + n + (n + 1) // 2


@piece
def current(table, w):
    """Where, in `real`, the behaviour of the last traversal begins, if that had to be kept."""
    return averages(table, w) + n_actions(table, w)


@piece
def block_size(n):
    """The words of a set with `n` actions."""
    return HEAD + 3 * n + (n + 1) // 2


# Finding and adding ---------------------------------------------------------------------------------------------------------


@piece
def slot_of(table, key):
    """The slot that says where the set with this key is, or the free one in which that would be said."""
    mask = np.uint64(len(table.slots) - 1)
    slot = key & mask
    while table.slots[slot] != NOWHERE and table.whole[table.slots[slot]] != np.int64(key):
        slot = (slot + np.uint64(1)) & mask
    return slot


@piece
def meet(game, s, player, key, table, out):
    """The set with this key, added with the actions of the history `s` if it is new."""
    slot = slot_of(table, key)
    if table.slots[slot] != NOWHERE:
        return np.int64(table.slots[slot])
    n = game.actions(s, out)
    w = table.size[1]
    table.slots[slot] = w
    table.whole[w] = np.int64(key)
    table.half[2 * w + 2] = n
    first = actions(table, w)
    for k in range(n):
        table.half[first + k] = out[k]
    table.player[table.size[0]] = player
    table.size[0] += 1
    table.size[1] += block_size(n)
    return w


@piece
def fits(table, sets, cells):
    """Whether so many more sets, with so many actions in all, fit in any case."""
    return table.size[0] + sets <= len(table.player) and table.size[1] + block_size(0) * sets + 4 * cells <= len(table.whole)


@kernel
def put_all(table):
    """Enter all sets in empty slots."""
    w = 1
    for _ in range(table.size[0]):
        table.slots[slot_of(table, np.uint64(table.whole[w]))] = w
        w += block_size(n_actions(table, w))


def grown(table: Table, sets: int, cells: int) -> Table:
    """The same table with room for so many more sets, with so many actions in all."""
    words, player, slots = table.whole, table.player, table.slots
    while table.size[1] + HEAD * sets + 4 * cells > len(words):
        if len(words) >= MAX_WORDS:
            raise UnseenError(
                f"the table of information sets is full: {int(table.size[0]):,} of them take {8 * MAX_WORDS / 1e9:.0f} GB."
            )
        words = extended(words, 2 * len(words))
    while table.size[0] + sets > len(player):
        player = extended(player, 2 * len(player))
    if len(player) > len(table.player):
        slots = np.zeros(2 * len(player), np.uint32)
    longer = _with_views(words, player, slots, table.size)
    if len(player) > len(table.player):
        put_all(longer)
    return longer


# Regret matching ------------------------------------------------------------------------------------------------------------


@piece
def mass(table, w):
    """The sum of the positive regrets at a set."""
    n = n_actions(table, w)
    regret = table.real[regrets(w) : regrets(w) + n]
    even, odd = 0.0, 0.0  # two sums, so that one addition need not wait for the other
    for k in range(0, n - 1, 2):
        even += max(regret[k], 0.0)
        odd += max(regret[k + 1], 0.0)
    if n & 1:
        even += max(regret[n - 1], 0.0)
    return even + odd


@piece
def probability(table, w, total, k):
    """That of action `k` by regret matching, where `total` is the set's mass: even if there is none."""
    return max(table.real[regrets(w) + k], 0.0) / total if total > 0.0 else 1.0 / n_actions(table, w)


@piece
def draw(table, w, total, rng):
    """The place of an action, drawn by regret matching."""
    n = n_actions(table, w)
    u = random(rng)
    if total <= 0.0:
        return int(u * n)
    u *= total
    regret = table.real[regrets(w) : regrets(w) + n]
    for k in range(n - 1):
        u -= max(regret[k], 0.0)
        if u < 0.0:
            return k
    return n - 1


@piece
def remember(table, w, total, weight):
    """Add the behaviour, `weight` times, to the average."""
    n = n_actions(table, w)
    regret, average = table.real[regrets(w) : regrets(w) + n], table.real[averages(table, w) : averages(table, w) + n]
    if total > 0.0:
        weight /= total
        for k in range(n):
            average[k] += weight * max(regret[k], 0.0)
    else:
        for k in range(n):
            average[k] += weight / n


# For Python -------------------------------------------------------------------------------------------------------------------


def as_arrays(table: Table) -> dict[str, NDArray[Any]]:
    """The table as arrays that do not share memory."""
    return {"words": table.whole, "player": table.player, "slots": table.slots, "size": table.size}


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Table:
    """The table that became `arrays`."""
    return _with_views(*(np.array(arrays[name]) for name in ("words", "player", "slots", "size")))


@kernel
def fill_blocks(table, blocks):
    """The place of each block, in order of discovery."""
    w = 1
    for j in range(len(blocks)):
        blocks[j] = w
        w += block_size(n_actions(table, w))


@kernel
def read_averages(table, keys, first, behaviour):
    """The average behaviour at the sets with these keys, from place `first` of each on; left as it is at sets not met yet."""
    for j in range(len(keys)):
        w = np.int64(table.slots[slot_of(table, keys[j])])
        if w == NOWHERE:
            continue
        n = n_actions(table, w)
        average = table.real[averages(table, w) : averages(table, w) + n]
        total = 0.0
        for k in range(n):
            total += average[k]
        if total > 0.0:
            for k in range(n):
                behaviour[first[j] + k] = average[k] / total


class Columns(NamedTuple):
    """The table's content set by set and cell by cell: `j` sets, `c` cells."""

    key: NDArray[np.uint64]  # (j,)
    block: NDArray[np.int64]  # (j,)
    n_actions: NDArray[np.int64]  # (j,)
    action: NDArray[np.int32]  # (c,)
    regret: NDArray[np.int64]  # (c,) places in `real`
    average: NDArray[np.int64]  # (c,) places in `real`


def columns(table: Table) -> Columns:
    """Where everything is."""
    block = np.zeros(table.size[0], np.int64)
    fill_blocks(table, block)
    n = table.half[2 * block + 2].astype(np.int64)
    step = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    first = np.repeat(block + HEAD, n)
    wide = np.repeat(n, n)
    action = table.half[2 * (first + wide) + step]
    return Columns(table.whole[block].view(np.uint64), block, n, action, first + step, first + wide + (wide + 1) // 2 + step)


def average_strategy(game: Game, table: Table) -> Strategy:
    """The average behaviour at every set; even where nothing has been added up."""
    content = columns(table)
    return _strategy(game, table, content, table.real[content.average])


def current_strategy(game: Game, table: Table) -> Strategy:
    """The behaviour that the regrets stand for, at every set."""
    content = columns(table)
    return _strategy(game, table, content, np.maximum(table.real[content.regret], 0.0))


def _strategy(game: Game, table: Table, content: Columns, sums: NDArray[np.float64]) -> Strategy:
    """The strategy in proportion to `sums`, shape (c,)."""
    count = content.n_actions
    totals = np.repeat(np.add.reduceat(sums, np.cumsum(count) - count), count) if len(count) else np.zeros(0)
    even = np.repeat(1.0 / count, count)
    return Strategy(
        game, keys=content.key, player=table.player[: len(count)].copy(), count=count, actions=content.action,
        probability=np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), even),
    )  # fmt: skip

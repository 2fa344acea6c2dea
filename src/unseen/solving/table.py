"""A table of information sets that grows as they are met: regrets and sums of behaviours, found by 64-bit key.

Solvers that walk or sample the game keep nothing else. What belongs to one set lies together in memory, for most of the time goes
into fetching it. Naming: `j` information sets in order of discovery, `c` cells (an action at an information set).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import random
from unseen.game import Game
from unseen.infosets import extended
from unseen.strategy import Strategy

REGRET, AVERAGE = range(2)
"""What is known of each action: cumulative regret, weighted sum of behaviours."""
KINDS = 2
INFOSET = np.dtype([("key", "u8"), ("cell", "i8"), ("n_actions", "i4"), ("choice", "i4"), ("stamp", "i8"), ("seen", "f8")])
"""Key; where its cells begin; how many actions; what the last traversal chose that came here; its number; for lazy averaging, the
weight of the choices that lead here when a simulation last came."""


class Table(NamedTuple):
    """The information sets met so far."""

    sets: NDArray[Any]  # (j,) records of type INFOSET
    player: NDArray[np.int8]  # (j,)
    action: NDArray[np.int32]  # (c,)
    values: NDArray[np.float64]  # (KINDS * c,) set by set: the regrets of its actions, then the averages
    current: NDArray[np.float64]  # (c,) the behaviour of the last traversal that came here, if it must be kept
    slots: NDArray[np.int32]  # (a power of two,) open addressing by key: a set, or -1
    size: NDArray[np.int64]  # (2,) sets and cells in use


def new_table(sets: int = 1024) -> Table:
    """An empty table."""
    cells = 4 * sets
    return Table(
        np.zeros(sets, INFOSET).view(np.recarray), np.zeros(sets, np.int8), np.zeros(cells, np.int32), np.zeros(KINDS * cells),
        np.zeros(cells), np.full(2 * sets, -1, np.int32), np.zeros(2, np.int64),
    )  # fmt: skip


@piece
def meet(game, s, player, key, table, out):
    """The set with this key, added with the actions of the history `s` if it is new."""
    mask = np.uint64(len(table.slots) - 1)
    slot = key & mask
    while table.slots[slot] >= 0:
        j = table.slots[slot]
        if table.sets[j].key == key:
            return j
        slot = (slot + np.uint64(1)) & mask
    n = game.actions(s, out)
    j = table.size[0]
    cell = table.size[1]
    table.slots[slot] = j
    infoset = table.sets[j]
    infoset.key = key
    infoset.cell = cell
    infoset.stamp = -1
    infoset.seen = 0.0
    infoset.n_actions = n
    table.player[j] = player
    for k in range(n):
        table.action[cell + k] = out[k]
    table.size[0] += 1
    table.size[1] += n
    return j


@piece
def place(infoset, kind):
    """Where the values of one kind begin for a set."""
    return KINDS * infoset.cell + kind * infoset.n_actions


@piece
def mass(table, infoset):
    """The sum of the positive regrets at a set."""
    at, n = place(infoset, REGRET), infoset.n_actions
    even, odd = 0.0, 0.0  # two sums, so that one addition need not wait for the other
    for k in range(0, n - 1, 2):
        even += max(table.values[at + k], 0.0)
        odd += max(table.values[at + k + 1], 0.0)
    if n & 1:
        even += max(table.values[at + n - 1], 0.0)
    return even + odd


@piece
def probability(table, infoset, total, k):
    """That of action `k` by regret matching, where `total` is the set's mass: even if there is none."""
    if total > 0.0:
        return max(table.values[place(infoset, REGRET) + k], 0.0) / total
    return 1.0 / infoset.n_actions


@piece
def draw(table, infoset, total, rng):
    """The place of an action, drawn by regret matching."""
    n = infoset.n_actions
    u = random(rng)
    if total <= 0.0:
        return int(u * n)
    u *= total
    at = place(infoset, REGRET)
    for k in range(n - 1):
        u -= max(table.values[at + k], 0.0)
        if u < 0.0:
            return k
    return n - 1


@piece
def remember(table, infoset, total, weight):
    """Add the behaviour, `weight` times, to the average."""
    n = infoset.n_actions
    regret, average = place(infoset, REGRET), place(infoset, AVERAGE)
    if total > 0.0:
        weight /= total
        for k in range(n):
            table.values[average + k] += weight * max(table.values[regret + k], 0.0)
    else:
        for k in range(n):
            table.values[average + k] += weight / n


@piece
def fits(table, sets, cells):
    """Whether so many more sets and cells fit."""
    return table.size[0] + sets <= len(table.player) and table.size[1] + cells <= len(table.action)


@kernel
def put_all(table):
    """Enter all sets in empty slots."""
    mask = np.uint64(len(table.slots) - 1)
    for j in range(table.size[0]):
        slot = table.sets[j].key & mask
        while table.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table.slots[slot] = j


def grown(table: Table, sets: int, cells: int) -> Table:
    """The same table with room for so many more sets and cells."""
    capacity, room = len(table.player), len(table.action)
    while room < table.size[1] + cells:
        room *= 2
    if room > len(table.action):
        longer = {"action": room, "current": room, "values": KINDS * room}
        table = table._replace(**{name: extended(getattr(table, name), length) for name, length in longer.items()})
    while capacity < table.size[0] + sets:
        capacity *= 2
    if capacity > len(table.player):
        records = extended(table.sets, capacity).view(np.recarray)
        slots = np.full(2 * capacity, -1, np.int32)
        table = table._replace(sets=records, player=extended(table.player, capacity), slots=slots)
        put_all(table)
    return table


def as_arrays(table: Table) -> dict[str, NDArray[Any]]:
    """The table as plain arrays."""
    return table._asdict() | {"sets": table.sets.view(np.int64)}


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Table:
    """The table that became `arrays`."""
    copies = {name: np.array(arrays[name]) for name in Table._fields}
    return Table(**(copies | {"sets": copies["sets"].view(INFOSET).view(np.recarray)}))


def of_kind(table: Table, kind: int) -> NDArray[np.int64]:
    """Where the values of one kind are, cell by cell, shape (c,)."""
    sets = table.sets[: table.size[0]]
    n = sets["n_actions"].astype(np.int64)
    step = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    places: NDArray[np.int64] = np.repeat(KINDS * sets["cell"] + kind * n, n) + step
    return places


def average_strategy(game: Game, table: Table, kind: int = AVERAGE) -> Strategy:
    """The average behaviour at every set; even where nothing has been added up."""
    sets = table.sets[: table.size[0]]
    count = sets["n_actions"].astype(np.int64)
    sums = np.maximum(table.values[of_kind(table, kind)], 0.0)
    totals = np.repeat(np.add.reduceat(sums, sets["cell"]), count) if len(sets) else np.zeros(0)
    even = np.repeat(1.0 / count, count)
    return Strategy(
        game, keys=sets["key"].copy(), player=table.player[: len(sets)].copy(), count=count,
        actions=table.action[: table.size[1]].copy(),
        probability=np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), even),
    )  # fmt: skip

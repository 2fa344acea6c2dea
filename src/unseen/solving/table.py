"""A table of information sets that grows as they are met: regrets and sums of behaviours, found by 64-bit key.

Solvers that walk or sample the game keep nothing else. Naming: `j` information sets in order of discovery, `c` cells (an action
at an information set).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.engine import random
from unseen.game import Game
from unseen.infosets import extended, put_all
from unseen.strategy import Strategy


class Table(NamedTuple):
    """The information sets met so far."""

    key: NDArray[np.uint64]  # (j,)
    player: NDArray[np.int8]  # (j,)
    n_actions: NDArray[np.int32]  # (j,) how many actions
    cell: NDArray[np.int64]  # (j,) where they begin
    stamp: NDArray[np.int64]  # (j,) the last traversal that came here
    choice: NDArray[np.int32]  # (j,) what that traversal chose
    action: NDArray[np.int32]  # (c,)
    regret: NDArray[np.float64]  # (c,) cumulative
    average: NDArray[np.float64]  # (c,) the weighted sum of behaviours
    current: NDArray[np.float64]  # (c,) the behaviour of the last traversal that came here
    slots: NDArray[np.int32]  # (a power of two,) open addressing by key: a set, or -1
    size: NDArray[np.int64]  # (2,) sets and cells in use


PER_SET = ("key", "player", "n_actions", "cell", "stamp", "choice")
PER_CELL = ("action", "regret", "average", "current")


def new_table(sets: int = 1024) -> Table:
    """An empty table."""
    cells = 4 * sets
    return Table(
        np.zeros(sets, np.uint64), np.zeros(sets, np.int8), np.zeros(sets, np.int32), np.zeros(sets, np.int64),
        np.full(sets, -1, np.int64), np.zeros(sets, np.int32), np.zeros(cells, np.int32), np.zeros(cells), np.zeros(cells),
        np.zeros(cells), np.full(2 * sets, -1, np.int32), np.zeros(2, np.int64),
    )  # fmt: skip


@piece
def find(table, key, player, actions, n):
    """The set with this key, added if it is new."""
    mask = np.uint64(len(table.slots) - 1)
    slot = key & mask
    while table.slots[slot] >= 0:
        j = table.slots[slot]
        if table.key[j] == key:
            return j
        slot = (slot + np.uint64(1)) & mask
    j = table.size[0]
    cell = table.size[1]
    table.slots[slot] = j
    table.key[j] = key
    table.player[j] = player
    table.n_actions[j] = n
    table.cell[j] = cell
    for k in range(n):
        table.action[cell + k] = actions[k]
    table.size[0] += 1
    table.size[1] += n
    return j


@piece
def behave(table, j, behaviour, row):
    """Regret matching at set `j`, into a row of `behaviour`."""
    cell, n = table.cell[j], table.n_actions[j]
    total = 0.0
    for k in range(n):
        positive = max(table.regret[cell + k], 0.0)
        behaviour[row, k] = positive
        total += positive
    for k in range(n):
        behaviour[row, k] = behaviour[row, k] / total if total > 0.0 else 1.0 / n


@piece
def draw(behaviour, row, n, rng):
    """The place of an action, drawn by a row of `behaviour`."""
    u = random(rng)
    for k in range(n - 1):
        u -= behaviour[row, k]
        if u < 0.0:
            return k
    return n - 1


@piece
def fits(table, sets, cells):
    """Whether so many more sets and cells fit."""
    return table.size[0] + sets <= len(table.key) and table.size[1] + cells <= len(table.action)


def grown(table: Table, sets: int, cells: int) -> Table:
    """The same table with room for so many more sets and cells."""
    longer: dict[str, Any] = {}
    capacity = len(table.key)
    while capacity < table.size[0] + sets:
        capacity *= 2
    if capacity > len(table.key):
        longer |= {name: extended(getattr(table, name), capacity) for name in PER_SET}
        longer["stamp"][len(table.key) :] = -1
        longer["slots"] = np.full(2 * capacity, -1, np.int32)
    room = len(table.action)
    while room < table.size[1] + cells:
        room *= 2
    if room > len(table.action):
        longer |= {name: extended(getattr(table, name), room) for name in PER_CELL}
    table = table._replace(**longer)
    if "slots" in longer:
        put_all(table)
    return table


def average_strategy(game: Game, table: Table) -> Strategy:
    """The average behaviour at every set; even where nothing has been added up."""
    sets, cells = table.size.tolist()
    count = table.n_actions[:sets].astype(np.int64)
    sums = table.average[:cells]
    totals = np.repeat(np.add.reduceat(sums, table.cell[:sets]), count) if sets else np.zeros(0)
    even = np.repeat(1.0 / count, count)
    return Strategy(
        game, keys=table.key[:sets].copy(), player=table.player[:sets].copy(), count=count, actions=table.action[:cells].copy(),
        probability=np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), even),
    )  # fmt: skip

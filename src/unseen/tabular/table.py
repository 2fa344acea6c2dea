"""A table of information sets that grows as they are met, found by 64-bit key; what is kept of each is declared by name.

Who samples or walks a game keeps nothing else, and most of the time goes into fetching it from memory. So all that belongs to one
set is one block of 8-byte words, known by the place `w` of its head: before it the fields of the set; in it the key and the
numbers of actions; after it the first field of each action, the actions, and the other fields. What is used most is closest
together.

A block can also be a *joint* node of a game with simultaneous moves: it then has the actions of player 0, followed by those of
player 1, and fields for every pair of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import Compiled, as_python, kernel, piece
from unseen.engine import is_mover, is_proper
from unseen.enumeration.infosets import extended
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.run.checkpoint import Like
from unseen.run.reading import LARGEST
from unseen.tabular.strategy import Strategy

HEAD = 2
"""Words of a block's head: its key; the number of actions, and how many of these are player 1's at a joint node."""
MAX_WORDS = 2**31
"""Places are kept in 32 bits."""
NOWHERE = 0
"""No block begins at the first word."""
UNMET = -1
"""In place of how many of a set's actions are player 1's: it is from a file, and no simulation has come there yet.

Then it shows whether its actions are those of the game; rules do not look at what they are asked to play."""
ALWAYS, SOMETIMES = 1024, 16
"""In so many simulations, and then in every so many, sets are compared with the histories in them."""
SETS, WORDS, SET_FIELDS, ACTION_FIELDS, JOINT_FIELDS = range(5)


class Table(NamedTuple):
    """The information sets met so far. The first three are views of the same words."""

    ints: NDArray[np.int64]  # (words,)
    floats: NDArray[np.float64]  # (words,)
    halves: NDArray[np.int32]  # (2 * words,)
    player: NDArray[np.int8]  # (j,) in order of discovery
    slots: NDArray[np.uint32]  # (a power of two,) open addressing by key: a block, or NOWHERE
    size: NDArray[np.int64]  # (5,) information sets, words in use, and how many fields a set, an action, a pair of actions has


class Keeps(Compiled):
    """Declares what is kept: names of fields. Each name becomes a number, the place of the field among those of its kind.

    Compiled code finds them by `set_field(w, keeps.NAME)`, `cells(w, n, keeps.NAME)` and `joint_cells(w, n, m, fields,
    keeps.NAME)`.
    """

    for_set: ClassVar[tuple[str, ...]] = ()
    for_action: ClassVar[tuple[str, ...]] = ()
    for_joint: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> int:
            """The place of a field."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for names in (cls.for_set, cls.for_action, cls.for_joint):
            for place, name in enumerate(names):
                setattr(cls, name, place)

    def is_sound(self, table: Table, content: Columns) -> bool:
        """Whether the numbers that a table from a file keeps of its sets can be: here, those of their actions."""
        numbers = {name: table.floats[content.places(field)] for field, name in enumerate(self.for_action)}
        return all(
            bool((np.abs(each) <= LARGEST).all()) and (name == "regrets" or bool((each >= 0.0).all()))
            for name, each in numbers.items()
        )

    @classmethod
    def new_table(cls, sets: int = 1024) -> Table:
        """An empty table with room for so many sets of a few actions."""
        size = np.array([0, 1, len(cls.for_set), len(cls.for_action), len(cls.for_joint)])
        return _with_views(np.zeros(16 * sets, np.int64), np.zeros(sets, np.int8), np.zeros(2 * sets, np.uint32), size)


def _with_views(words: NDArray[np.int64], *rest: NDArray[Any]) -> Table:
    return Table(words, words.view(np.float64), words.view(np.int32), *rest)


# The parts of a block -------------------------------------------------------------------------------------------------------


@piece
def n_actions(halves, w):
    """The number of actions of a set; at a joint node, of both players."""
    return np.int64(halves[2 * w + 2])


@piece
def n_second(halves, w):
    """How many of a joint node's actions are player 1's, the last ones; 0 at a set."""
    return np.int64(halves[2 * w + 3])


@piece
def set_field(w, field):
    """Where, in `ints` or `floats`, a field of the set is."""
    return w - 1 - field


@piece
def actions(w, n):
    """Where, in `halves`, the `n` actions begin."""
    return 2 * (w + HEAD + n)


@piece
def cells(w, n, field):
    """Where, in `floats`, a field of the `n` actions begins: the first is before the list of actions, the others after it."""
    return w + HEAD + field * n + ((n + 1) // 2 if field > 0 else 0)


@piece
def kept(floats, w, n, field):
    """A field of the `n` actions of a set, shape (n,)."""
    first = cells(w, n, field)
    return floats[first : first + n]


@piece
def kept_of_both(floats, w, n, m, field):
    """A field of the `n` actions of player 0 and of the `m` of player 1 at a joint node, shapes (n,) and (m,)."""
    first = cells(w, n + m, field)
    return floats[first : first + n], floats[first + n : first + n + m]


@piece
def joint_cells(w, n, m, fields, field):
    """Where, in `floats`, a field of the pairs of actions begins: row after row, player 0's actions being the rows.

    There are `n` actions, of which `m` are player 1's, and `fields` fields for each.
    """
    return w + HEAD + fields * n + (n + 1) // 2 + field * (n - m) * m


@piece
def block_words(size, n, m):
    """The words of a block with `n` actions, of which `m` are player 1's at a joint node; `size` is that of the table."""
    return size[SET_FIELDS] + HEAD + size[ACTION_FIELDS] * n + (n + 1) // 2 + size[JOINT_FIELDS] * (n - m) * m


@piece
def first_block(size):
    """The place of the first block."""
    return 1 + size[SET_FIELDS]


@piece
def next_block(size, halves, w):
    """The place of the block after this one."""
    return w + block_words(size, n_actions(halves, w), n_second(halves, w))


# Finding and adding ---------------------------------------------------------------------------------------------------------


@piece
def slot_of(slots, ints, key):
    """The slot that says where the set with this key is, or the free one in which that would be said."""
    mask = np.uint64(len(slots) - 1)
    slot = key & mask
    while slots[slot] != NOWHERE and ints[slots[slot]] != np.int64(key):
        slot = (slot + np.uint64(1)) & mask
    return slot


@piece
def find(table, key):
    """The set with this key, or NOWHERE."""
    return np.int64(table.slots[slot_of(table.slots, table.ints, key)])


@piece
def add(table, slot, key, player, out, n, m):
    """A new set, in this slot, with the `n` actions in `out`, of which `m` are player 1's at a joint node."""
    size = table.size
    w = size[WORDS] + size[SET_FIELDS]
    table.slots[slot] = w
    table.ints[w] = np.int64(key)
    table.halves[2 * w + 2] = n
    table.halves[2 * w + 3] = m
    first = actions(w, n)
    for k in range(n):
        table.halves[first + k] = out[k]
    table.player[size[SETS]] = player
    size[SETS] += 1
    size[WORDS] += block_words(size, n, m)
    return w


@piece
def find_or_add(game, s, player, key, table, out, t):
    """The set with this key, added with the actions of the history `s` if it is new; NOWHERE if the game is broken, or if a file
    says that the set has other actions. `t` is the number of the simulation.
    """
    slot = slot_of(table.slots, table.ints, key)
    w = np.int64(table.slots[slot])
    if w == NOWHERE or table.halves[2 * w + 3] == UNMET:
        n = game.actions(s, out)
        if w != NOWHERE:
            w = met(table.halves, w, out, n)
        elif is_proper(out, n):
            w = add(table, slot, key, player, out, n, 0)
    elif not agrees(game, s, player, table, w, out, t):
        w = np.int64(NOWHERE)
    return w


@piece
def met(halves, w, out, n):
    """A set from a file, come to for the first time, where the game offers the `n` actions in `out`; NOWHERE if it has others."""
    if n != n_actions(halves, w):
        return NOWHERE
    first = actions(w, n)
    for k in range(n):
        if halves[first + k] != out[k]:
            return NOWHERE
    halves[2 * w + 3] = 0
    return w


@piece
def agrees(game, s, player, table, w, out, t):
    """Whether the set at `w` is one of a `player` and has the actions of the history `s`, where simulation number `t` has come.

    That takes listing them, so games of the library are trusted, and of a user's only some simulations are looked at.
    """
    if not game.checks_indices or (t >= ALWAYS and t % SOMETIMES != 0):
        return True
    n = game.actions(s, out)
    if not is_mover(player) or n != n_actions(table.halves, w):
        return False
    first = actions(w, n)
    for k in range(n):
        if table.halves[first + k] != out[k]:
            return False
    return True


@piece
def most_words(size, sets, cells, pairs):
    """The words that so many sets, with so many actions and pairs of actions in all, take at most."""
    return sets * (size[SET_FIELDS] + HEAD + 1) + (size[ACTION_FIELDS] + 1) * cells + size[JOINT_FIELDS] * pairs


@piece
def fits(table, sets, words):
    """Whether so many more sets, of so many words in all, fit."""
    return table.size[SETS] + sets <= len(table.player) and table.size[WORDS] + words <= len(table.ints)


@kernel
def put_all(table):
    """Enter all sets in empty slots."""
    w = first_block(table.size)
    for _ in range(table.size[SETS]):
        table.slots[slot_of(table.slots, table.ints, np.uint64(table.ints[w]))] = w
        w = next_block(table.size, table.halves, w)


def grown(table: Table, sets: int, cells: int, pairs: int = 0, memory: int | None = None) -> Table:
    """The same table with room for so many more sets, with so many actions and pairs of actions in all.

    Raises if the old table and the new one together take more than `memory` bytes.
    """
    words, places = len(table.ints), len(table.player)
    needed = int(table.size[WORDS] + as_python(most_words)(table.size, sets, cells, pairs))
    while needed > words:
        if words >= MAX_WORDS:
            raise UnseenError(
                f"the table of information sets is full: {int(table.size[SETS]):,} of them take {8 * MAX_WORDS / 1e9:.0f} GB."
            )
        words *= 2
    while table.size[SETS] + sets > places:
        places *= 2
    a_place = table.player.itemsize + 2 * table.slots.itemsize
    if memory is not None and table_bytes(table) + words * table.ints.itemsize + places * a_place > memory:
        raise UnseenError(
            f"the table of information sets takes more than {memory / 1e9:,.3g} GB of memory, its bound (see --memory); that was "
            f"clear after {int(table.size[SETS]):,} of them."
        )
    is_longer = places > len(table.player)
    longer = _with_views(
        extended(table.ints, words) if words > len(table.ints) else table.ints,
        extended(table.player, places) if is_longer else table.player,
        np.zeros(2 * places, np.uint32) if is_longer else table.slots,
        table.size,
    )
    if is_longer:
        put_all(longer)
    return longer


def emptied(table: Table) -> Table:
    """The same memory without any sets: what was written to is known to the machine, and need not be asked for again."""
    table.ints[: table.size[WORDS]] = 0
    table.slots[:] = NOWHERE
    table.size[:2] = (0, 1)
    return table


# For Python -------------------------------------------------------------------------------------------------------------------


def table_bytes(table: Table) -> int:
    """The memory that a table takes."""
    return table.ints.nbytes + table.player.nbytes + table.slots.nbytes


def copied(table: Table) -> Table:
    """The same table in memory of its own."""
    return _with_views(table.ints.copy(), table.player.copy(), table.slots.copy(), table.size.copy())


def as_arrays(table: Table) -> dict[str, NDArray[Any]]:
    """The table as arrays: all of it but the slots, which follow from the rest."""
    return {"words": table.ints, "player": table.player, "size": table.size}


LAYOUT = {"words": Like("<i8", (None,), holes=True), "player": Like("|i1", (None,)), "size": Like("<i8", (5,))}
"""What such arrays are like in a checkpoint."""


def from_arrays(keeps: Keeps, game: Game, arrays: Mapping[str, NDArray[Any]]) -> Table:
    """The table of sets of `game`, of which is kept what `keeps` says, that became `arrays`.

    They may be from a file that somebody else has written: raises if compiled code could not take them for such a table.
    """
    words, player, size = (np.array(arrays[name]) for name in ("words", "player", "size"))
    sets, used, *fields = size.tolist()
    table = _with_views(words, player, np.zeros(2 * len(player), np.uint32), size)
    is_sound = fields == [len(names) for names in (keeps.for_set, keeps.for_action, keeps.for_joint)]
    is_sound = is_sound and _is_power_of_two(len(player)) and _is_power_of_two(len(words)) and len(words) <= MAX_WORDS
    is_sound = is_sound and 0 <= sets <= len(player) and 1 <= used <= len(words) and not words[used:].any()
    is_sound = is_sound and bool(np.isin(player[:sets], (0, 1)).all())
    if not is_sound or not holds_blocks(table, game.num_actions):
        raise UnseenError("its table of information sets is not one.")
    put_all(table)
    if np.count_nonzero(table.slots) != sets:
        raise UnseenError("its table has an information set twice.")
    content = columns(table)
    if not keeps.is_sound(table, content):
        raise UnseenError("its table has numbers that cannot be.")
    table.halves[2 * content.block + 3] = UNMET
    return table


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@kernel
def holds_blocks(table, most):
    """Whether the words in use are blocks of sets, one after the other, with up to `most` actions, which ascend."""
    size, halves = table.size, table.halves
    w = first_block(size)
    for _ in range(size[SETS]):
        if w + HEAD > size[WORDS]:
            return False
        n, m = n_actions(halves, w), n_second(halves, w)
        if n < 1 or n > most or (m != 0 and m != UNMET):
            return False
        end = next_block(size, halves, w)
        if end - size[SET_FIELDS] > size[WORDS]:
            return False
        first = actions(w, n)
        for k in range(n):
            before = halves[first + k - 1] if k > 0 else -1
            if halves[first + k] <= before or halves[first + k] >= most:
                return False
        w = end
    return w - size[SET_FIELDS] == size[WORDS]


@kernel
def fill_blocks(table, blocks):
    """The place of each block, in order of discovery."""
    w = first_block(table.size)
    for j in range(len(blocks)):
        blocks[j] = w
        w = next_block(table.size, table.halves, w)


@kernel
def fill_table(table, keys, player, first, count, actions, values):
    """Add sets with these keys and actions, and `values` as the first field of the actions. Room must have been made."""
    for j in range(len(keys)):
        last = first[j] + count[j]
        w = add(table, slot_of(table.slots, table.ints, keys[j]), keys[j], player[j], actions[first[j] : last], count[j], 0)
        for k in range(count[j]):
            table.floats[cells(w, count[j], 0) + k] = values[first[j] + k]


@kernel
def read_shares(table, field, keys, first, behaviour):
    """A field of the actions of the sets with these keys, normalised, from place `first` of each on. Returns whether they fit.

    What is there is left alone at sets not met yet and where the field is nothing but zeros.
    """
    for j in range(len(keys)):
        w = find(table, keys[j])
        if w == NOWHERE:
            continue
        n = n_actions(table.halves, w)
        if first[j] + n > len(behaviour):
            return False
        at = cells(w, n, field)
        total = 0.0
        for k in range(n):
            total += table.floats[at + k]
        if total > 0.0:
            for k in range(n):
                behaviour[first[j] + k] = table.floats[at + k] / total
    return True


@kernel
def read_field(table, field, keys, first, values):
    """Copy a field of the actions, as it is, of the sets with these keys. Returns whether they fit."""
    for j in range(len(keys)):
        w = find(table, keys[j])
        if w != NOWHERE:
            n = n_actions(table.halves, w)
            if first[j] + n > len(values):
                return False
            at = cells(w, n, field)
            for k in range(n):
                values[first[j] + k] = table.floats[at + k]
    return True


class Columns(NamedTuple):
    """The table's content set by set and cell by cell: `j` sets, `c` cells."""

    key: NDArray[np.uint64]  # (j,)
    block: NDArray[np.int64]  # (j,)
    n_actions: NDArray[np.int64]  # (j,)
    action: NDArray[np.int32]  # (c,)

    def of_sets(self, words: NDArray[Any], field: int) -> NDArray[Any]:
        """A field of each set, shape (j,); `words` are the table's `ints` or `floats`."""
        return words[self.block - 1 - field]

    def places(self, field: int) -> NDArray[np.int64]:
        """Where, in `floats`, a field of each cell is, shape (c,)."""
        n = self.n_actions
        first = self.block + HEAD + (field * n + (n + 1) // 2 if field else 0)
        return np.repeat(first, n) + _steps(n)


def _steps(n: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ..., n - 1 for each of the numbers `n`, one after the other."""
    steps: NDArray[np.int64] = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    return steps


def columns(table: Table) -> Columns:
    """Where everything is."""
    block = np.zeros(table.size[SETS], np.int64)
    fill_blocks(table, block)
    n = table.halves[2 * block + 2].astype(np.int64)
    action = table.halves[np.repeat(2 * (block + HEAD + n), n) + _steps(n)]
    return Columns(table.ints[block].view(np.uint64), block, n, action)


def shares_strategy(game: Game, table: Table, field: int) -> Strategy:
    """The strategy in proportion to the positive part of a field of the actions; even where that is nothing."""
    content = columns(table)
    count, sums = content.n_actions, np.maximum(table.floats[content.places(field)], 0.0)
    totals = np.repeat(np.add.reduceat(sums, np.cumsum(count) - count), count) if len(count) else np.zeros(0)
    even = np.repeat(1.0 / count, count)
    return Strategy(
        game, keys=content.key, player=table.player[: len(count)].copy(), count=count, actions=content.action,
        probability=np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), even),
    )  # fmt: skip

"""A table from states to numbers, which several threads fill at once.

A key is the state itself, as 64-bit words. A state of two words is often almost one: its fields do not fill them, and some are the
same in all states that are entered. The second word is then laid over the first, where that has nothing but constants. A state with
a bit that was taken for constant is noticed; then there must be another folding, by which all keys are made anew.

A slot is the words of a key and the bits of a number, which are 0 if the slot is empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.compiling.memory import CLAIMED, claim, publish, read

Words = NDArray[np.uint64]
MINUS_ZERO = np.uint64(1 << 63)
"""How a number of zero is written."""


class Folding(NamedTuple):
    """How a state of one or two words becomes a key of one. Others are their own keys."""

    constant: tuple[np.uint64, np.uint64]
    """What the bits are that do not vary."""
    varying: tuple[np.uint64, np.uint64]
    """Which bits do, in whole bytes."""
    turn: np.uint64
    """By how many bits the second word is turned before it is laid over the first."""


def folding(constant: Words, varying: Words) -> Folding | None:
    """A folding of states, (k,), in which only certain bytes vary, if there is one."""
    if len(constant) > 2:
        return None
    first, second = np.append(varying, np.zeros(2, np.uint64))[:2]
    for turn in map(np.uint64, range(0, 64, 8)):
        if first & _turned(second, turn) == 0:
            padded = np.append(constant, np.zeros(2, np.uint64))
            return Folding((padded[0], padded[1]), (first, second), turn)
    return None


def whole_bytes(bits: Words) -> Words:
    """All bits of each byte of which one is set."""
    found: Words = (bits.view(np.uint8) != 0).astype(np.uint8) * np.uint8(255)
    return found.view(np.uint64)


def _turned(word: Any, turn: Any) -> Any:
    """`word` with its bits moved up by `turn`, those at the top coming in below."""
    return word << turn | word >> (np.uint64(64) - turn & np.uint64(63))


turned = piece(_turned)


def refolded(table: Words, old: Folding, new: Folding | None, words: int) -> Words:
    """The entries of a table of folded states with other keys: folded otherwise, or the `words` of the states themselves."""
    entries = table[table[:, -1] != 0]
    second = _turned(entries[:, 0] & _turned(old.varying[1], old.turn), np.uint64(64) - old.turn & np.uint64(63))
    bits = np.column_stack([entries[:, 0] & old.varying[0], second])[:, :words]
    if new is None:
        return np.column_stack([bits ^ np.array(old.constant[:words], np.uint64), entries[:, 1]])
    return np.column_stack([bits[:, 0] ^ (_turned(second, new.turn) if words == 2 else np.uint64(0)), entries[:, 1]])


def new_table(slots: int, words: int) -> Words:
    """An empty table of `slots`, a power of two."""
    return np.zeros((slots, words), np.uint64)


@piece
def folded(words, c, fold):
    """The key of state `c`, and for each word the bits that are not what they were taken for."""
    first = words[c, 0] ^ fold.constant[0]
    second = words[c, 1] ^ fold.constant[1] if words.shape[1] == 2 else np.uint64(0)
    return first ^ turned(second, fold.turn), first & ~fold.varying[0], second & ~fold.varying[1]


@piece
def length(keys, fold):
    """How many words a key has."""
    return keys.shape[1] if fold is None else 1


@piece
def hash_of(keys, c, fold):
    """What decides where in a table a key is looked for."""
    h = keys[c, 0] * np.uint64(0x9E3779B97F4A7C15)
    for p in range(1, length(keys, fold)):
        h = (h ^ h >> np.uint64(32) ^ keys[c, p]) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((h ^ h >> np.uint64(32)) * np.uint64(0xD1B54A32D192ED03) >> np.uint64(20))


@piece
def find(table, keys, c, h, fold):
    """The slot of a key with hash `h`, or the empty one where it would be; and the bits of its number, 0 if it is not there."""
    k = length(keys, fold)
    mask = table.shape[0] - 1
    slot = h & mask
    while True:
        entry = table[slot]
        bits = read(entry, k)
        if bits != CLAIMED:
            is_same = entry[0] == keys[c, 0]
            for p in range(1, k):
                is_same &= entry[p] == keys[c, p]
            if is_same or bits == 0:
                return slot, bits
            slot = (slot + 1) & mask


@piece
def find_state(table, words, keys, fold):
    """The bits of the number of the first state of `words`, (1, k); 0 if it is not there. `keys`, (1, p), is to write on."""
    if fold is not None:
        keys[0, 0], other0, other1 = folded(words, 0, fold)
        if other0 | other1 != 0:
            return np.uint64(0)
    _, bits = find(table, keys, 0, hash_of(keys, 0, fold), fold)
    return bits


@piece
def remember(table, keys, c, number, fold):
    """Write the number of a key. Returns whether it is new."""
    k = length(keys, fold)
    h = hash_of(keys, c, fold)
    bits = np.float64(number).view(np.uint64)
    while True:
        slot, known = find(table, keys, c, h, fold)
        if known != 0:
            return False
        entry = table[slot]
        if claim(entry, k):
            for p in range(k):
                entry[p] = keys[c, p]
            publish(entry, k, MINUS_ZERO if bits == 0 else bits)
            return True


@kernel
def copy_table(old, new):
    """Enter all that is in one table into another. Returns how many entries were new there."""
    k = old.shape[1] - 1
    count = 0
    for slot in range(old.shape[0]):
        if old[slot, k] != 0:
            count += remember(new, old[:, :k], slot, np.uint64(old[slot, k]).view(np.float64), None)
    return count

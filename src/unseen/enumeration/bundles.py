"""Last moves bundled: where only one player still decides, all that can happen is one entry of the payoffs.

Below such a history the opponent's sequence stays the same, so what the history is worth to both players depends on the
decider's plan through one number: the sum of weight times plan over the ends below. That number is a *bundle*; it is made of
sequences and of other bundles, and histories that the decider cannot tell apart mostly share it. A player's *parts* are its
sequences, 0, 1, ..., and its bundles, written as -1, -2, ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import mix
from unseen.enumeration.infosets import extended

BUNDLES, MEMBERS, OF_PLAYER = range(3)
"""Places in the size of `Bundles`; the number of player 1's comes after that of player 0's."""
WEIGHT_SCALE = 2.0**40
"""Weights that differ by less than one over this have the same hash."""


class Bundles(NamedTuple):
    """The bundles of both players, each made before those that contain it. `b` bundles, `m` members."""

    player: NDArray[np.int8]  # (b,) whose it is
    number: NDArray[np.int32]  # (b,) its number among that player's
    first: NDArray[np.int64]  # (b + 1,) where its members begin
    member: NDArray[np.int32]  # (m,) parts of the same player
    weight: NDArray[np.float64]  # (m,)
    slots: NDArray[np.int32]  # (a power of two,) open addressing by content: a bundle, or -1
    size: NDArray[np.int64]  # (4,) bundles, members, bundles of player 0 and of player 1


def new_bundles(capacity: int = 1) -> Bundles:
    """None yet."""
    n = capacity
    return Bundles(
        np.zeros(n, np.int8), np.zeros(n, np.int32), np.zeros(n + 1, np.int64), np.zeros(4 * n, np.int32), np.zeros(4 * n),
        np.full(2 * n, -1, np.int32), np.zeros(4, np.int64),
    )  # fmt: skip


@piece
def digest(player, members, weights, begin, end):
    """A hash of a list of members and weights."""
    key = np.uint64(player + 1)
    for k in range(begin, end):
        key = mix(key + np.uint64(members[k]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(np.int64(weights[k] * WEIGHT_SCALE)))
    return key


@piece
def bundle_of(bundles, player, members, weights, begin, end):
    """The bundle of `player` with these members and weights (places `begin` to `end`), added if it is new."""
    mask = np.uint64(len(bundles.slots) - 1)
    slot = digest(player, members, weights, begin, end) & mask
    while bundles.slots[slot] >= 0:
        b = bundles.slots[slot]
        start = bundles.first[b]
        is_same = bundles.player[b] == player and bundles.first[b + 1] - start == end - begin
        for k in range(begin, end):
            if not is_same:
                break
            at = start + k - begin
            is_same = bundles.member[at] == members[k] and bundles.weight[at] == weights[k]
        if is_same:
            return b
        slot = (slot + np.uint64(1)) & mask
    b = bundles.size[BUNDLES]
    bundles.slots[slot] = b
    bundles.player[b] = player
    bundles.number[b] = bundles.size[OF_PLAYER + player]
    for k in range(begin, end):
        at = bundles.size[MEMBERS] + k - begin
        bundles.member[at] = members[k]
        bundles.weight[at] = weights[k]
    bundles.size[BUNDLES] += 1
    bundles.size[MEMBERS] += end - begin
    bundles.size[OF_PLAYER + player] += 1
    bundles.first[b + 1] = bundles.size[MEMBERS]
    return b


@kernel
def put_all_bundles(bundles):
    """Enter all bundles in empty slots."""
    mask = np.uint64(len(bundles.slots) - 1)
    for b in range(bundles.size[BUNDLES]):
        slot = digest(bundles.player[b], bundles.member, bundles.weight, bundles.first[b], bundles.first[b + 1]) & mask
        while bundles.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        bundles.slots[slot] = b


@piece
def bundles_fit(bundles, members):
    """Whether one more bundle with so many members fits."""
    return bundles.size[BUNDLES] + 1 < len(bundles.player) and bundles.size[MEMBERS] + members <= len(bundles.member)


def with_more_bundles(bundles: Bundles, members: int) -> Bundles:
    """The same bundles with room for one more with so many members, made by doubling."""
    longer: dict[str, Any] = {}
    if bundles.size[BUNDLES] + 1 >= len(bundles.player):
        n = 2 * len(bundles.player)
        longer = {"player": extended(bundles.player, n), "number": extended(bundles.number, n)}
        longer |= {"first": extended(bundles.first, n + 1), "slots": np.full(2 * n, -1, np.int32)}
    room = len(bundles.member)
    while room < bundles.size[MEMBERS] + members:
        room *= 2
    if room > len(bundles.member):
        longer |= {"member": extended(bundles.member, room), "weight": extended(bundles.weight, room)}
    bundles = bundles._replace(**longer)
    if "slots" in longer:
        put_all_bundles(bundles)
    return bundles


@kernel
def fill_bundles(bundles, player, plan, sequences):
    """Given a plan for the first `sequences` parts, the same sum for each bundle, after them."""
    for b in range(bundles.size[BUNDLES]):
        if bundles.player[b] == player:
            total = 0.0
            for k in range(bundles.first[b], bundles.first[b + 1]):
                part = bundles.member[k]
                total += bundles.weight[k] * plan[part if part >= 0 else sequences - 1 - part]
            plan[sequences + bundles.number[b]] = total


@kernel
def empty_bundles(bundles, player, value, sequences):
    """Given values of all parts, pass those of the bundles on to their members."""
    for b in range(bundles.size[BUNDLES] - 1, -1, -1):
        if bundles.player[b] == player:
            here = value[sequences + bundles.number[b]]
            for k in range(bundles.first[b], bundles.first[b + 1]):
                part = bundles.member[k]
                value[part if part >= 0 else sequences - 1 - part] += bundles.weight[k] * here

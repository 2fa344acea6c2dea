"""The trellis: every history that fits what one viewer has seen, merged where state and percepts agree, in flat arrays.

There is a layer for each length of history. A node is a state together with how many of the viewer's percepts have been matched
on the way to it. Edges are the moves whose percept is silence or the next one seen. A backward pass drops every node from which
the end cannot be reached, so the edges of a node are exactly the moves that stay on target.
"""

from __future__ import annotations

from math import frexp, inf
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import mix, own_part, private_part, random, scratch, step
from unseen.enumeration.infosets import extended
from unseen.errors import GameFault
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.position import Percept

NODES, EDGES = 0, 1
NODES_PER_CALL = 20_000
"""So that the clock is looked at in between."""
ANYONE = -9
"""In place of a player to move: whoever it is."""
BROKEN = -1
EXACT_INTEGERS = 2.0**62
Integers = NDArray[np.int64]


class Trellis(NamedTuple):
    """The graph in flat arrays, layer after layer, so a node comes before its children. `n` nodes, `e` edges."""

    states: NDArray[Any]  # (n,) records
    matched: Integers  # (n,) how many percepts were seen on the way
    ends: NDArray[np.bool_]  # (n,) whether histories to this node fit all that was seen
    first: Integers  # (n + 1,) where the edges of each node begin
    action: Integers  # (e,)
    child: Integers  # (e,)


# Building ---------------------------------------------------------------------------------------------------------------


def build(
    game: Game, viewer: int, seen: tuple[Percept, ...], to_move: int | None, cap: int, shortest: bool, until: float = inf
) -> Trellis | None:  # fmt: skip
    """The trellis before the backward pass.

    None if a layer has more than `cap` nodes, or if it is not done when `time.perf_counter()` is `until`.
    """
    room = 256
    states, matched, ends = game.new_states(room), np.zeros(room, np.int64), np.zeros(room, np.bool_)
    first, action, child = np.zeros(room + 1, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    trellis = Trellis(states, matched, ends, first, action, child)
    percepts = np.array(seen, np.int64).reshape(-1, 3)
    sizes, arrays = np.array([1, 0]), scratch(game)
    mover = ANYONE if to_move is None else to_move
    plant(game, trellis, len(percepts), mover)
    low, high, depth = 0, 1, 0
    while low < high:
        if depth > game.max_length:
            raise GameFault(f"{game.spec}: the game goes on past max_length = {game.max_length}; `unseen check` says where.")
        depth += 1
        slots = np.full(1 << max(8, int(np.log2(4 * (high - low)))), -1, np.int64)
        while low < high:
            stop = min(low + NODES_PER_CALL, high)
            low = extend(game, trellis, _bytes(trellis), low, stop, high, viewer, percepts, mover, shortest, slots, *arrays, sizes)
            if low == BROKEN:
                raise GameFault(f"{game.spec}: actions() returns a number of actions that it must not; `unseen check` says where.")
            layer = int(sizes[NODES]) - high
            if layer > cap or perf_counter() > until:
                return None
            if low < stop:  # out of room: extend what is short and enter this layer's nodes in a larger table
                trellis = _grown(trellis, int(sizes[NODES]), int(sizes[EDGES]), game.width)
                slots = np.full(2 * max(len(slots), 1 << int(np.log2(4 * (layer + game.width)))), -1, np.int64)
                enter_all(trellis, _bytes(trellis), slots, high, sizes[NODES])
        high = int(sizes[NODES])
    n, e = sizes.tolist()
    return Trellis(
        trellis.states[:n], trellis.matched[:n], trellis.ends[:n], trellis.first[: n + 1], trellis.action[:e], trellis.child[:e]
    )


def _bytes(trellis: Trellis) -> NDArray[np.uint8]:
    """The states as bytes, shape (n, bytes of a state), sharing memory."""
    return trellis.states.view(np.ndarray).view(np.uint8).reshape(len(trellis.states), -1)


def _grown(trellis: Trellis, nodes: int, edges: int, width: int) -> Trellis:
    n = len(trellis.states) if nodes + width <= len(trellis.states) else 2 * len(trellis.states) + width
    e = len(trellis.action) if edges + width <= len(trellis.action) else 2 * len(trellis.action) + width
    lengths = (n, n, n, n + 1, e, e)
    grown = Trellis(*(extended(array, length) for array, length in zip(trellis, lengths, strict=True)))
    return grown._replace(states=grown.states.view(np.recarray))


@kernel
def plant(game, trellis, target, to_move):
    """The root: the start of the game, with nothing seen."""
    game.start(trellis.states[0])
    trellis.ends[0] = is_end(game, trellis.states[0], 0, target, to_move)


@piece
def is_end(game, s, matched, target, to_move):
    """Whether all percepts were seen and the right player is to move, which may be ANYONE."""
    return matched == target and (to_move == ANYONE or game.player(s) == to_move)


@piece
def hash_state(raw, node, matched):
    """A hash of a node's state and the percepts matched."""
    h = mix(np.uint64(matched + 1))
    for k in range(raw.shape[1]):
        h = h * np.uint64(0x100000001B3) ^ np.uint64(raw[node, k])
    return mix(h)


@piece
def same_state(raw, a, b):
    for k in range(raw.shape[1]):
        if raw[a, k] != raw[b, k]:
            return False
    return True


@piece
def enter(trellis, raw, slots, node):
    """The node of this layer that equals `node`, which is entered in the table if there is none yet."""
    mask = np.uint64(len(slots) - 1)
    slot = hash_state(raw, node, trellis.matched[node]) & mask
    while slots[slot] >= 0:
        other = slots[slot]
        if trellis.matched[other] == trellis.matched[node] and same_state(raw, other, node):
            return other
        slot = (slot + np.uint64(1)) & mask
    slots[slot] = node
    return node


@kernel
def enter_all(trellis, raw, slots, low, high):
    for node in range(low, high):
        enter(trellis, raw, slots, node)


@piece
def match_percept(percepts, t, own, public, private):
    """How many percepts are matched after one more step; -1 if the step contradicts what was seen."""
    if own == 0 and public == 0 and private == 0:
        return t
    if t < len(percepts) and percepts[t, 0] == own and percepts[t, 1] == public and percepts[t, 2] == private:
        return t + 1
    return -1


@kernel
def extend(game, trellis, raw, low, stop, high, viewer, percepts, to_move, shortest, slots, out, tell, sizes):
    """Add the children of nodes `low` to `stop` of the layer that ends at `high`.

    Returns the first node that was not done, because room was short.
    """
    width = len(out)
    for node in range(low, stop):
        nodes, edges = sizes[NODES], sizes[EDGES]
        if nodes + width > len(trellis.states) or edges + width > len(trellis.action) or 2 * (nodes - high + width) > len(slots):
            return node
        trellis.first[node] = edges
        s = trellis.states[node]
        p = game.player(s)
        is_last = p == TERMINAL or (shortest and trellis.ends[node])
        n = 0 if is_last else game.actions(s, out)
        if n < 0 or n > width:
            return BROKEN
        for k in range(n):
            new = sizes[NODES]
            trellis.states[new] = s
            step(game, trellis.states[new], out[k], tell)
            own, private = own_part(viewer, p, out[k]), private_part(viewer, tell)
            t = match_percept(percepts, trellis.matched[node], own, tell[PUBLIC], private)
            if t < 0:
                continue
            trellis.matched[new] = t
            child = enter(trellis, raw, slots, new)
            if child == new:
                trellis.ends[new] = is_end(game, trellis.states[new], t, len(percepts), to_move)
                sizes[NODES] += 1
            trellis.action[sizes[EDGES]] = out[k]
            trellis.child[sizes[EDGES]] = child
            sizes[EDGES] += 1
        trellis.first[node + 1] = sizes[EDGES]
    return stop


# Counting and drawing ------------------------------------------------------------------------------------------------------


def alive(full: Trellis) -> Trellis:
    """The trellis without the nodes from which no end can be reached."""
    n = len(full.ends)
    lives = full.ends.copy()
    mark_alive(full.first, full.child, lives)
    number = np.cumsum(lives) - 1
    keep = lives[full.child]
    keep &= np.repeat(lives, np.diff(full.first))
    kept = np.concatenate([[0], np.cumsum(keep)])[full.first]
    first = np.concatenate([kept[:n][lives], kept[-1:]])
    return Trellis(full.states[lives], full.matched[lives], full.ends[lives], first, full.action[keep], number[full.child[keep]])


@kernel
def mark_alive(first, child, alive):
    for node in range(len(alive) - 1, -1, -1):
        for e in range(first[node], first[node + 1]):
            alive[node] |= alive[child[e]]


def count_histories(trellis: Trellis) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each node the number of histories that lead to it, and of ways on to an end. Exact: Python integers if need be."""
    n = len(trellis.ends)
    rough = np.zeros(n), np.zeros(n)
    add_up(trellis.first, trellis.child, trellis.ends, *rough)
    if max(part.max(initial=0.0) for part in rough) < EXACT_INTEGERS:
        exact: tuple[NDArray[Any], NDArray[Any]] = np.zeros(n, np.int64), np.zeros(n, np.int64)
        add_up(trellis.first, trellis.child, trellis.ends, *exact)
        return exact
    big = np.zeros(n, object), np.zeros(n, object)
    add_up.__wrapped__(trellis.first, trellis.child, trellis.ends, *big)  # type: ignore[attr-defined]
    return big


@kernel
def add_up(first, child, ends, ways, completions):
    """Fill in the number of ways from the root to each node, and from each node to an end."""
    n = len(ends)
    if n > 0:
        ways[0] += 1
    for node in range(n):
        for e in range(first[node], first[node + 1]):
            ways[child[e]] += ways[node]
    for node in range(n - 1, -1, -1):
        completions[node] += 1 if ends[node] else 0
        for e in range(first[node], first[node + 1]):
            completions[node] += completions[child[e]]


@kernel
def look_at_edges(game, states, first, action, out, index, chances):
    """The index of each edge's action among the legal ones of its node, and its probability: 1 if a player moves."""
    for node in range(len(states)):
        if first[node] == first[node + 1]:
            continue
        is_chance = game.player(states[node]) == CHANCE
        n = min(game.actions(states[node], out), len(out))
        k = 0
        for e in range(first[node], first[node + 1]):  # both are ascending
            while k < n and out[k] != action[e]:
                k += 1
            index[e] = k
            chances[e] = game.chance(states[node], action[e], n) if is_chance else 1.0


@kernel
def share_by_chance(first, child, ends, chances, part, power, shares):
    """For each edge the part of its node's histories that go on by it, each counting the probability of its chance outcomes.

    The sum at each node is kept as a part and a power of two, so that it can be as small or as large as it likes.
    """
    for node in range(len(ends) - 1, -1, -1):
        top = 0 if ends[node] else -(1 << 40)
        for e in range(first[node], first[node + 1]):
            if chances[e] * part[child[e]] > 0.0:
                top = max(top, power[child[e]])
        total = 2.0 ** max(-top, -1000) if ends[node] else 0.0
        for e in range(first[node], first[node + 1]):
            shares[e] = chances[e] * part[child[e]] * 2.0 ** max(power[child[e]] - top, -1000)
            total += shares[e]
        if total > 0.0:
            for e in range(first[node], first[node + 1]):
                shares[e] /= total
            part[node], shift = frexp(total)
            power[node] = top + shift


@kernel
def draw_history(trellis, shares, path, rng):
    """A history drawn by the shares of edges: its actions in `path`. Returns its length."""
    node = 0
    length = 0
    while True:
        edge = draw_edge(trellis.first[node], trellis.first[node + 1], shares, rng)
        if edge == trellis.first[node + 1]:
            if trellis.ends[node]:
                return length
            edge -= 1  # what is left over is rounding
        path[length] = trellis.action[edge]
        length += 1
        node = trellis.child[edge]


@piece
def draw_edge(first, last, shares, rng):
    """One of the edges `first` to `last` - 1, each as likely as its share; `last` for what they leave over."""
    left = random(rng)
    edge = first
    while edge < last and left >= shares[edge]:
        left -= shares[edge]
        edge += 1
    return edge

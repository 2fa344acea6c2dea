"""What the players of a game can tell apart: an exact tree of action-observation histories and the information sets in it.

Every history that a player can have in mind is a node of one tree, found by (parent, percept). The comparison is of the
percepts themselves, never of hashes alone, so the information sets are exact; that their 64-bit keys are distinct is then
checked, not hoped.

Naming: `n` nodes, `j` information sets (both players', in order of discovery), `c` cells (an action at an information set).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import extend_key, root_key
from unseen.errors import UnseenError

INFOSETS, CELLS, SEQUENCES = range(3)
"""Places in the sizes of `Sets`; player 1's sequences come after player 0's."""
MOST_NODES = 2**31
"""Nodes are numbered with 32 bits."""


class Recall(NamedTuple):
    """The tree of action-observation histories. Nodes 0 and 1 are the players' empty ones."""

    parent: NDArray[np.int32]  # (n,)
    own: NDArray[np.int32]  # (n,) the percept that leads here from the parent
    public: NDArray[np.int32]  # (n,)
    private: NDArray[np.int32]  # (n,)
    key: NDArray[np.uint64]  # (n,)
    infoset: NDArray[np.int32]  # (n,) the information set of this history, -1 while its player has not moved there
    slots: NDArray[np.int32]  # (a power of two,) open addressing by key: a node, or -1
    size: NDArray[np.int64]  # (1,) nodes in use


class Sets(NamedTuple):
    """The information sets. A player's sequences are numbered 1, 2, ... in order of discovery; 0 is the empty one."""

    player: NDArray[np.int8]  # (j,)
    node: NDArray[np.int32]  # (j,) its node in the tree
    parent: NDArray[np.int32]  # (j,) the sequence with which its player arrives
    first: NDArray[np.int32]  # (j,) the sequence that its first action makes; the others follow
    cell: NDArray[np.int64]  # (j,) where its actions begin in `actions`
    n_actions: NDArray[np.int32]  # (j,) how many actions it has
    actions: NDArray[np.int32]  # (c,)
    sizes: NDArray[np.int64]  # (4,) in use: information sets, cells, sequences of each player


PER_NODE = ("parent", "own", "public", "private", "key", "infoset")
PER_INFOSET = ("player", "node", "parent", "first", "cell", "n_actions")
"""The arrays that have an element for each node, for each information set."""


def new_recall(capacity: int = 1024) -> Recall:
    """An empty tree: the two roots."""
    n = capacity
    recall = Recall(
        np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32),
        np.zeros(n, np.uint64), np.full(n, -1, np.int32), np.full(2 * n, -1, np.int32), np.array([2]),
    )  # fmt: skip
    recall.parent[:2] = -1
    plant_roots(recall)
    return recall


def new_sets(capacity: int = 256) -> Sets:
    """No information sets; each player has its empty sequence."""
    n = capacity
    return Sets(
        np.zeros(n, np.int8), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32),
        np.zeros(n, np.int64), np.zeros(n, np.int32), np.zeros(2 * n, np.int32), np.array([0, 0, 1, 1]),
    )  # fmt: skip


@kernel
def plant_roots(recall):
    for player in range(2):
        recall.key[player] = root_key(player)
        put(recall, player)


@piece
def put(recall, node):
    """Enter `node` in the first free slot from its key on."""
    mask = np.uint64(len(recall.slots) - 1)
    slot = recall.key[node] & mask
    while recall.slots[slot] >= 0:
        slot = (slot + np.uint64(1)) & mask
    recall.slots[slot] = node


@kernel
def put_all(recall):
    for node in range(recall.size[0]):
        put(recall, node)


@piece
def next_node(recall, node, own, public, private):
    """The node that follows `node` after a percept, added if it is new. Silence changes nothing."""
    if own == 0 and public == 0 and private == 0:
        return node
    key = extend_key(recall.key[node], own, public, private)
    mask = np.uint64(len(recall.slots) - 1)
    slot = key & mask
    while recall.slots[slot] >= 0:
        n = recall.slots[slot]
        if recall.parent[n] == node and recall.own[n] == own and recall.public[n] == public and recall.private[n] == private:
            return n
        slot = (slot + np.uint64(1)) & mask
    n = recall.size[0]
    recall.size[0] += 1
    recall.slots[slot] = n
    recall.parent[n] = node
    recall.own[n] = own
    recall.public[n] = public
    recall.private[n] = private
    recall.key[n] = key
    return n


@piece
def infoset_at(recall, sets, node, player, sequence, actions, count):
    """The information set at `node`, added if it is new; -1 if it has been seen with other actions."""
    j = recall.infoset[node]
    if j < 0:
        j = sets.sizes[INFOSETS]
        cell = sets.sizes[CELLS]
        recall.infoset[node] = j
        sets.player[j] = player
        sets.node[j] = node
        sets.parent[j] = sequence
        sets.first[j] = sets.sizes[SEQUENCES + player]
        sets.cell[j] = cell
        sets.n_actions[j] = count
        for k in range(count):
            sets.actions[cell + k] = actions[k]
        sets.sizes[INFOSETS] += 1
        sets.sizes[CELLS] += count
        sets.sizes[SEQUENCES + player] += count
        return j
    if sets.n_actions[j] != count:
        return -1
    for k in range(count):
        if sets.actions[sets.cell[j] + k] != actions[k]:
            return -1
    return j


@piece
def has_room(recall, sets, width):
    """Whether one more history, with up to `width` actions, fits in any case."""
    return (
        recall.size[0] + 2 <= len(recall.parent)
        and sets.sizes[INFOSETS] < len(sets.player)
        and sets.sizes[CELLS] + width <= len(sets.actions)
    )


@kernel
def merge(recall, sets, other, other_sets, node_of, sequence_of):
    """Add another tree and its sets, in the order in which it found them. Room must have been made.

    Afterwards node n of the other tree is `node_of[n]` of this one, and sequence q of player p `sequence_of[p, q]`. Returns -1,
    or a set of the other tree whose actions differ from those of the same set in this one.
    """
    node_of[0] = 0
    node_of[1] = 1
    for n in range(2, other.size[0]):
        node_of[n] = next_node(recall, node_of[other.parent[n]], other.own[n], other.public[n], other.private[n])
    sequence_of[0, 0] = 0
    sequence_of[1, 0] = 0
    for j in range(other_sets.sizes[INFOSETS]):
        p = other_sets.player[j]
        count = other_sets.n_actions[j]
        cell = other_sets.cell[j]
        actions = other_sets.actions[cell : cell + count]
        mine = infoset_at(recall, sets, node_of[other_sets.node[j]], p, sequence_of[p, other_sets.parent[j]], actions, count)
        if mine < 0:
            return j
        for k in range(count):
            sequence_of[p, other_sets.first[j] + k] = sets.first[mine] + k
    return -1


def with_room(recall: Recall, sets: Sets, nodes: int, infosets: int, cells: int) -> tuple[Recall, Sets]:
    """The same tree and sets with room for so many more, made by doubling wherever it is short."""
    capacity = _enough(len(recall.parent), int(recall.size[0]) + nodes)
    if capacity > len(recall.parent):
        longer: Any = {name: extended(getattr(recall, name), capacity) for name in PER_NODE}
        recall = recall._replace(**longer, slots=np.full(2 * capacity, -1, np.int32))
        recall.infoset[recall.size[0] :] = -1
        put_all(recall)
    capacity = _enough(len(sets.player), int(sets.sizes[INFOSETS]) + infosets)
    if capacity > len(sets.player):
        longer = {name: extended(getattr(sets, name), capacity) for name in PER_INFOSET}
        sets = sets._replace(**longer)
    capacity = _enough(len(sets.actions), int(sets.sizes[CELLS]) + cells)
    if capacity > len(sets.actions):
        sets = sets._replace(actions=extended(sets.actions, capacity))
    return recall, sets


def bytes_for_room(recall: Recall, sets: Sets, nodes: int, infosets: int, cells: int) -> int:
    """The bytes that `with_room` will ask for while the old arrays are still there."""
    total = 0
    for arrays, used, more in (
        ([getattr(recall, name) for name in (*PER_NODE, "slots")], recall.size[0], nodes),
        ([getattr(sets, name) for name in PER_INFOSET], sets.sizes[INFOSETS], infosets), ([sets.actions], sets.sizes[CELLS], cells),
    ):  # fmt: skip
        factor = _enough(len(arrays[0]), int(used) + more) / len(arrays[0])
        total += int(factor * sum(array.nbytes for array in arrays)) if factor > 1.0 else 0
    return total


def padded(sets: Sets, cells: int) -> Sets:
    """The sets with spare room for one more, with so many cells: enough for a walk that adds none."""
    longer: Any = {name: extended(getattr(sets, name), len(sets.player) + 1) for name in PER_INFOSET}
    return sets._replace(**longer, actions=extended(sets.actions, len(sets.actions) + cells))


def _enough(capacity: int, needed: int) -> int:
    """The first doubling of `capacity` that is at least `needed`."""
    while capacity < needed:
        capacity = max(2 * capacity, 1)
    if capacity > MOST_NODES:
        raise UnseenError(
            f"there are over {needed:,} histories that a player can have in mind; up to {MOST_NODES:,} can be enumerated."
        )
    return capacity


def trimmed(sets: Sets) -> Sets:
    """The sets without spare room."""
    n, cells = int(sets.sizes[INFOSETS]), int(sets.sizes[CELLS])
    shorter: Any = {name: getattr(sets, name)[:n].copy() for name in PER_INFOSET}
    return sets._replace(**shorter, actions=sets.actions[:cells].copy())


def extended(array: NDArray[Any], length: int) -> NDArray[Any]:
    """A copy with room for `length` elements, zeros after the old ones."""
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer

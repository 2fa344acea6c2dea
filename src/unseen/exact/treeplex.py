"""One player's information sets as flat arrays, and the sweeps over them.

A *sequence* is a player's choice of an action at an information set, together with all its earlier choices; sequence 0 is
having chosen nothing. A *plan* gives each sequence the probability that the player makes all its choices (its realisation
weight). A *behaviour* gives each sequence the probability of its last choice alone.

Information sets are numbered parents first, so a forward loop meets a set after the sequence it follows and a backward loop the
other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel
from unseen.enumeration.walker import Enumeration

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Treeplex:
    """The information sets and sequences of one player. `j` sets, `q` sequences, of which the first is the empty one."""

    parent: NDArray[np.int64]  # (j,) the sequence that leads to the set
    first: NDArray[np.int64]  # (j,) the sequence of its first action; the others follow
    count: NDArray[np.int64]  # (j,) how many actions it has
    actions: NDArray[np.int32]  # (q,) the action that each sequence ends with; -1 for the empty one
    keys: NDArray[np.uint64]  # (j,) the 64-bit key of each set

    @property
    def infosets(self) -> int:
        return len(self.parent)

    @property
    def sequences(self) -> int:
        return len(self.actions)

    @property
    def infoset_of(self) -> NDArray[np.int64]:
        """The set that each sequence but the empty one chooses at, shape (q - 1,)."""
        return np.repeat(np.arange(self.infosets), self.count)

    def uniform(self) -> Floats:
        """The behaviour that chooses evenly, shape (q,)."""
        return np.concatenate([[1.0], np.repeat(1.0 / self.count, self.count)])

    def plan(self, behaviour: Floats) -> Floats:
        """The realisation weight of each sequence under a behaviour; both have shape (q,)."""
        plan = np.empty(self.sequences)
        fill_plan(self.parent, self.first, self.count, behaviour, plan)
        return plan

    def is_plan(self, plan: Floats, weight: float) -> bool:
        """Whether `plan`, shape (q,), is a plan times `weight`: what leads to a set is, but for rounding, what goes on from it."""
        if not (plan >= 0.0).all() or not np.isclose(plan[0], weight):
            return False
        onward = np.add.reduceat(plan, self.first) if self.infosets else np.zeros(0)
        return bool(np.allclose(onward, plan[self.parent], 1e-6, 1e-9 * weight))

    def behaviour(self, plan: Floats) -> Floats:
        """The behaviour that a plan stands for, even where the plan does not go; both have shape (q,)."""
        behaviour = np.empty(self.sequences)
        fill_behaviour(self.parent, self.first, self.count, plan, behaviour)
        return behaviour

    def best_response(self, values: Floats) -> tuple[float, Floats]:
        """The most that can be had when sequence q itself pays `values[q]`, and a pure behaviour that gets it."""
        total = values.copy()
        choice = np.zeros(self.sequences)
        choice[0] = 1.0
        choose_best(self.parent, self.first, self.count, total, choice)
        return float(total[0]), choice

    @property
    def infoset_before(self) -> NDArray[np.int64]:
        """The player's last set before each set, shape (j,); -1 if it is the first."""
        return np.concatenate([[-1], self.infoset_of])[self.parent]

    def depths(self) -> NDArray[np.int64]:
        """How many own choices come before each set, shape (j,)."""
        owner = self.infoset_before
        depth = np.zeros(self.infosets, np.int64)
        while True:
            deeper = np.where(owner >= 0, depth[owner] + 1, 0)
            if np.array_equal(deeper, depth):
                return depth
            depth = deeper

    def below(self, j: int) -> NDArray[np.bool_]:
        """Which sequences are chosen at set `j` or after it, shape (q,)."""
        inside = np.zeros(self.infosets, np.bool_)
        inside[j] = True
        mark_below(self.infoset_before, j, inside)
        return np.concatenate([[False], np.repeat(inside, self.count)])

    def m_value(self) -> float:
        """The M-value: over the player's own action sequences, the sum of the root of the number of sets that share one.

        Lanctot et al. (2009), Section 4. Two sets share an action sequence if the player chose the same actions before them,
        whatever it saw.
        """
        depth, owner = self.depths(), self.infoset_before
        label = np.zeros(self.infosets, np.int64)  # sets with equal depth and label share their action sequence
        total = 0.0
        for d in range(int(depth.max(initial=-1)) + 1):
            here = np.flatnonzero(depth == d)
            before = np.where(owner[here] >= 0, label[owner[here]], 0)
            last = self.actions[self.parent[here]]
            together = before * (int(self.actions.max()) + 2) + last + 1  # one number for (before, last)
            _, label[here], sizes = np.unique(together, return_inverse=True, return_counts=True)
            total += float(np.sqrt(sizes).sum())
        return total


def treeplex(found: Enumeration, player: int) -> Treeplex:
    """The part of an enumeration that is one player's."""
    sets = found.sets
    mine = sets.player == player
    parent, first, count = (array[mine].astype(np.int64) for array in (sets.parent, sets.first, sets.n_actions))
    cells: NDArray[np.bool_] = np.repeat(mine, sets.n_actions)
    actions = np.concatenate([np.array([-1], np.int32), sets.actions[cells]])
    return Treeplex(parent, first, count, actions, found.keys[mine])


@kernel
def mark_below(before, j, inside):
    """Mark the sets whose player's last set before is marked."""
    for k in range(j + 1, len(before)):
        inside[k] = before[k] >= 0 and inside[before[k]]


@kernel
def fill_plan(parent, first, count, behaviour, plan):
    """plan[q] = plan[parent] * behaviour[q], from the root down."""
    plan[0] = 1.0
    for j in range(len(parent)):
        own_reach = plan[parent[j]]
        for q in range(first[j], first[j] + count[j]):
            plan[q] = own_reach * behaviour[q]


@kernel
def fill_behaviour(parent, first, count, plan, behaviour):
    """behaviour[q] = plan[q] / the plan's weight at the set; even where that weight is zero."""
    behaviour[0] = 1.0
    for j in range(len(parent)):
        total = 0.0
        for q in range(first[j], first[j] + count[j]):
            total += max(plan[q], 0.0)
        for q in range(first[j], first[j] + count[j]):
            behaviour[q] = (plan[q] / total if plan[q] > 0.0 else 0.0) if total > 0.0 else 1.0 / count[j]


@kernel
def choose_best(parent, first, count, total, choice):
    """From the leaves up, add to each sequence the best that the sets after it can get; mark the (first) best actions."""
    for j in range(len(parent) - 1, -1, -1):
        best = first[j]
        for q in range(first[j] + 1, first[j] + count[j]):
            if total[q] > total[best]:
                best = q
        choice[best] = 1.0
        total[parent[j]] += total[best]

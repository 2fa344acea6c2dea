"""Counterfactual regret minimisation on the sequence form.

An iteration for one player: what each of its sequences is worth against the opponent's plan (a product with the payoffs), a
backward sweep that turns these into values and regrets of its information sets, a new behaviour at each, and a forward sweep that
makes the new plan. No history is visited; the payoffs may be stored or streamed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.exact.payoffs import Matrix, Payoffs, StoredPayoffs, multiply, rows_of
from unseen.exact.treeplex import Floats, Treeplex
from unseen.solving.minimisers import Minimiser
from unseen.tabular.regret_matching import fill_behaviour


class Side(NamedTuple):
    """One player's information sets and all that the solver knows about them. `j` sets, `q` sequences."""

    parent: NDArray[np.int32]  # (j,) the sequence that leads to the set
    first: NDArray[np.int32]  # (j,) the sequence of its first action
    n_actions: NDArray[np.int32]  # (j,) how many actions it has
    behaviour: Floats  # (q,) the current one
    plan: Floats  # (q,) its realisation weights
    regret: Floats  # (q,) cumulative
    score: Floats  # (q,) what the next behaviour is made of: the regret, with the prediction
    value: Floats  # (q,) of each sequence in this iteration
    average: Floats  # (q,) the weighted sum of plans


def new_side(tree: Treeplex) -> Side:
    """A player that behaves evenly and regrets nothing."""
    q = tree.sequences
    uniform = tree.uniform()
    return Side(
        tree.parent.astype(np.int32), tree.first.astype(np.int32), tree.count.astype(np.int32), uniform, tree.plan(uniform),
        np.zeros(q), np.zeros(q), np.zeros(q), np.zeros(q),
    )  # fmt: skip


@piece
def respond(minimiser, side, t):
    """Given the value of each sequence on its own: add up values from the leaves, update regrets, behave anew."""
    positive = minimiser.discount(t, minimiser.alpha)
    negative = minimiser.discount(t, minimiser.beta)
    value, behaviour = side.value, side.behaviour
    for j in range(len(side.parent) - 1, -1, -1):
        first, count = side.first[j], side.n_actions[j]
        expected = 0.0
        for q in range(first, first + count):
            expected += behaviour[q] * value[q]
        value[side.parent[j]] += expected
        for q in range(first, first + count):
            instant = value[q] - expected
            side.regret[q] = minimiser.add(side.regret[q], instant, positive, negative)
            side.score[q] = side.regret[q] + minimiser.prediction * instant
        fill_behaviour(side.score, behaviour, first, count)


@piece
def remember(minimiser, side, t):
    """Add the plan of iteration `t` to the average, then make the plan of the new behaviour."""
    weight = minimiser.weight(t)
    side.average[0] += weight
    for j in range(len(side.parent)):
        own_reach = side.plan[side.parent[j]]
        for q in range(side.first[j], side.first[j] + side.n_actions[j]):
            side.average[q] += weight * side.plan[q]
            side.plan[q] = own_reach * side.behaviour[q]


@kernel
def update(minimiser, side, t):
    """One player's part of iteration `t`, once `side.value` holds the values of its sequences."""
    respond(minimiser, side, t)
    remember(minimiser, side, t)


@kernel
def iterate(minimiser, first, second, payoffs, transposed, begin, end):
    """Iterations `begin` to `end` - 1 with stored payoffs."""
    for t in range(begin, end):
        multiply(payoffs, second.plan, first.value, 0, len(first.value))
        if not minimiser.alternating:
            multiply(transposed, first.plan, second.value, 0, len(second.value))
        respond(minimiser, first, t)
        remember(minimiser, first, t)
        if minimiser.alternating:
            multiply(transposed, first.plan, second.value, 0, len(second.value))
        respond(minimiser, second, t)
        remember(minimiser, second, t)


def matrices(payoffs: StoredPayoffs) -> tuple[Matrix, Matrix]:
    """What each player's sequences pay it, as arrays for kernels."""
    return rows_of(payoffs.matrix), rows_of(-payoffs.transposed)


def iterate_streamed(minimiser: Minimiser, sides: tuple[Side, Side], payoffs: Payoffs, t: int) -> None:
    """Iteration `t` with payoffs of any kind."""
    first, second = sides
    if minimiser.alternating:
        first.value[:] = payoffs.against(0, second.plan)
        update(minimiser, first, t)
        second.value[:] = payoffs.against(1, first.plan)
    else:
        first.value[:], second.value[:] = payoffs.both(first.plan, second.plan)
        update(minimiser, first, t)
    update(minimiser, second, t)

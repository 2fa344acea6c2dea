"""Regret matching: behave in proportion to positive regrets, evenly if there are none (S. Hart and A. Mas-Colell, 2000).

The positive ones of a set's regrets, shape (n,), are summed once (`positive_sum`), and the sum is handed to what needs the
probabilities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.engine import random


@piece
def positive_sum(regret):
    """The sum of the positive ones."""
    n = len(regret)
    even, odd = 0.0, 0.0  # two sums, so that one addition need not wait for the other
    for k in range(0, n - 1, 2):
        even += max(regret[k], 0.0)
        odd += max(regret[k + 1], 0.0)
    if n & 1:
        even += max(regret[n - 1], 0.0)
    return even + odd


@piece
def mixing(total, n, gamma):
    """Regret matching with an even part `gamma`, at a set of `n` actions whose positive regrets sum to `total`.

    Returns e and f such that an action with regret r has probability e + f max(r, 0).
    """
    even = gamma / n if gamma > 0.0 else 0.0  # a division that is mostly not needed
    return (even, (1.0 - gamma) / total) if total > 0.0 else (1.0 / n, 0.0)


@piece
def probability(regret, total, k):
    """The probability of action `k`."""
    return max(regret[k], 0.0) / total if total > 0.0 else 1.0 / len(regret)


@piece
def draw(regret, total, rng):
    """The index of an action, drawn by its probability."""
    n, u = len(regret), random(rng)
    if total <= 0.0:
        return int(u * n)
    u *= total
    for k in range(n - 1):
        u -= max(regret[k], 0.0)
        if u < 0.0:
            return k
    return n - 1


@piece
def add_behaviour(regret, total, gamma, average, weight):
    """Add the behaviour, `weight` times, to the sums `average`, shape (n,)."""
    even, greedy = mixing(total, len(regret), gamma)
    even *= weight
    greedy *= weight
    for k in range(len(regret)):
        average[k] += even + greedy * max(regret[k], 0.0)


@piece
def fill_behaviour(values, behaviour, first, n):
    """Write the behaviour to the same places of another array."""
    total = 0.0
    for q in range(first, first + n):  # in one pass: sets on the sequence form are small, and this is all that is done there
        total += max(values[q], 0.0)
    for q in range(first, first + n):
        behaviour[q] = max(values[q], 0.0) / total if total > 0.0 else 1.0 / n


def matched(regrets: NDArray[np.float64]) -> NDArray[np.float64]:
    """The behaviour that regrets, shape (n,), stand for; shape (n,)."""
    positive = np.maximum(regrets, 0.0)
    total = positive.sum()
    return positive / total if total > 0.0 else np.full(len(regrets), 1.0 / len(regrets))

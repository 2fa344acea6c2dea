"""Nash averaging (D. Balduzzi et al., "Re-evaluating evaluation", 2018): the equilibrium of largest entropy of the game in which
each of two players names an agent, and these play.

That equilibrium is unique, and agents that get the same share it equally; others, such as those a simplex method ends at, may give
one of two copies everything. The equilibria are the mixes p >= 0 with A p <= 0, for A is antisymmetric and the value 0. One linear
program finds which agents have a share in any of them, and a mix inside the set of all (A. Goldman and A. Tucker, 1956: an agent
without a share loses against it). From there Newton's method follows the entropy, with a barrier before agents that would gain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.optimize import linprog

from unseen.errors import UnseenError

Floats = NDArray[np.float64]
TIE = 1e-9
"""What is no difference, where the largest payoff is 1."""
RANGE = 1e6
"""The largest ratio of two shares that is looked for."""
BARRIERS = 10.0 ** -np.arange(1, 13)
STEPS = 60


def nash_average(payoffs: Floats) -> Floats:
    """The mix of agents, (n,). `payoffs` of the row against the column, (n, n), antisymmetric."""
    n, scale = len(payoffs), float(np.abs(payoffs).max())
    if scale == 0.0:
        return np.full(n, 1.0 / n)
    payoffs = payoffs / scale
    inside = _inside(payoffs)
    has_share = inside > 0.0
    mix, kept = np.zeros(n), payoffs[:, has_share]
    mix[has_share] = _most_entropy(inside[has_share], kept[has_share], kept[~has_share])
    return mix


def _inside(payoffs: Floats) -> Floats:
    """An equilibrium that has all agents that are in any of them, and against which all others lose, (n,)."""
    n = len(payoffs)
    # Multiples q of a mix; t <= q, s <= -A q; each t and s is at most 1, and as many are 1 as can be.
    none, one = np.zeros((n, n)), np.eye(n)
    limits = np.block([[-one, one, none], [payoffs, none, one]])
    found = linprog(
        np.repeat([0.0, -1.0, -1.0], n), limits, np.zeros(2 * n), bounds=[(0.0, RANGE)] * n + [(0.0, 1.0)] * (2 * n), method="highs"
    )
    if not found.success:
        raise UnseenError(f"these payoffs have no Nash average that could be found: {found.message}.")
    inside: Floats = np.where(found.x[n : 2 * n] > found.x[2 * n :], found.x[:n], 0.0)
    inside /= inside.sum()
    return inside


def _most_entropy(start: Floats, even: Floats, losing: Floats) -> Floats:
    """The p of largest entropy with `even @ p` = 0, `losing @ p` <= 0 and a sum of 1; `start` is inside of all that."""
    equal = np.vstack([even, np.ones(len(start))])
    start = start - np.linalg.pinv(equal, rcond=TIE) @ (equal @ start - np.append(np.zeros(len(even)), 1.0))
    start = np.maximum(start, 0.0) / np.maximum(start, 0.0).sum()
    free = null_space(equal, rcond=TIE)
    if free.shape[1] == 0 or (start == 0.0).any():
        return start
    losing = losing[(losing @ start) < 0.0]

    def worth(p: Floats, barrier: float) -> float:
        slack = -losing @ p
        if (p <= 0.0).any() or (slack <= 0.0).any():
            return -np.inf
        return float(barrier * np.log(slack).sum() - p @ np.log(p))

    p = start
    for barrier in BARRIERS:
        for _ in range(STEPS):
            slack = -losing @ p
            slope = free.T @ (-np.log(p) - 1.0 - barrier * losing.T @ (1.0 / slack))
            bend = free.T @ (np.diag(1.0 / p) + barrier * losing.T @ (losing / slack[:, None] ** 2)) @ free
            step = free @ np.linalg.solve(bend, slope)
            size, now = 1.0, worth(p, barrier)
            while size > 1e-12 and not worth(p + size * step, barrier) > now:
                size /= 2.0
            if size <= 1e-12:
                break
            p = p + size * step
    return p

"""One matrix game, exactly: a saddle point if there is one, else the simplex method.

The payoffs A of the row player are scaled to B = (A - lowest) / range + 1, between 1 and 2, where the column player's program is
to maximise the sum of y >= 0 subject to B y <= 1 (G. B. Dantzig, 1951). At the optimum that sum is one over the value of B, y
times the value is the column player's mix, and the dual variables times the value are the row player's. The tableau is condensed:
it has a column for each variable that is 0, and a row for each that need not be.

What comes out is judged by the payoffs themselves: what the row player's mix is sure to get, and what the column player's mix is
sure to hold it to. The value lies between, so the difference bounds the error whatever happened on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece

ZERO = 1e-12
"""A scaled number below this is rounding."""
TOO_SMALL = 1e-10
"""What is not divided by."""
PRECISION = 1e-11
"""If the mixes leave more of the range open, it is tried again with care."""


class Simplex(NamedTuple):
    """Room to solve games of up to `w` rows and columns."""

    tableau: NDArray[np.float64]  # ((w + 1) * (w + 4),) row after row: the objective last, and in each row the right side
    basic: NDArray[np.int64]  # (w,) the variable of each row: j < m is y_j, m + i is the slack of row i
    free: NDArray[np.int64]  # (w,) the variable of each column
    row_mix: NDArray[np.float64]  # (w,)
    column_mix: NDArray[np.float64]  # (w,)
    sums: NDArray[np.float64]  # (w,)


def new_simplex(width: int) -> Simplex:
    """Room for games of up to `width` rows and columns."""
    whole = np.zeros(width, np.int64)
    return Simplex(
        np.zeros((width + 1) * (width + 4)), whole, whole.copy(), np.zeros(width), np.zeros(width), np.zeros(width)
    )  # fmt: skip


@piece
def solve_matrix(payoff, stride, n, m, simplex):
    """The value to the row player of the game with payoffs `payoff[i * stride + j]`, (n, m), and what the mixes leave open."""
    maximin, minimax, row, column, lowest, highest = pure_values(payoff, stride, n, m, simplex.sums)
    if not np.isfinite(maximin):
        return np.nan, np.nan
    if maximin >= minimax:
        simplex.row_mix[:n] = 0.0
        simplex.column_mix[:m] = 0.0
        simplex.row_mix[row] = 1.0
        simplex.column_mix[column] = 1.0
        return maximin, 0.0
    spread = highest - lowest
    is_careful = False
    while True:
        # Rows of a length that the compiler knows are computed without a loop.
        if m < 4:
            by_pivots(payoff, stride, n, m, 4, lowest, spread, is_careful, simplex)
        elif m < 8:
            by_pivots(payoff, stride, n, m, 8, lowest, spread, is_careful, simplex)
        elif m < 12:
            by_pivots(payoff, stride, n, m, 12, lowest, spread, is_careful, simplex)
        else:
            by_pivots(payoff, stride, n, m, (m + 4) // 4 * 4, lowest, spread, is_careful, simplex)
        value, gap = attained(payoff, stride, n, m, simplex)
        if is_careful or gap <= PRECISION * spread:
            return value, gap
        is_careful = True


@piece
def pure_values(payoff, stride, n, m, most):
    """What each player is sure of without mixing, the actions for that, and the extreme payoffs. Not numbers if one is none."""
    maximin, lowest, row, column, zero = -np.inf, np.inf, 0, 0, 0.0
    for j in range(m):
        most[j] = -np.inf
    for i in range(n):
        least = np.inf
        for j in range(m):
            u = payoff[i * stride + j]
            zero += u * 0.0
            least = u if u < least else least
            most[j] = u if u > most[j] else most[j]
        lowest = least if least < lowest else lowest
        if least > maximin:
            maximin, row = least, i
    minimax, highest = np.inf, -np.inf
    for j in range(m):
        highest = most[j] if most[j] > highest else highest
        if most[j] < minimax:
            minimax, column = most[j], j
    return maximin + zero, minimax, row, column, lowest, highest


@piece
def by_pivots(payoff, stride, n, m, wide, lowest, spread, is_careful, simplex):
    """Solve the program in a tableau with rows of length `wide`, more than `m`: the right side is last, what is between is 0."""
    tableau, basic, free = simplex.tableau, simplex.basic, simplex.free
    scale = 1.0 / spread
    for i in range(n):
        for j in range(m, wide - 1):
            tableau[i * wide + j] = 0.0
        for j in range(m):
            tableau[i * wide + j] = (payoff[i * stride + j] - lowest) * scale + 1.0
        tableau[i * wide + wide - 1] = 1.0
        basic[i] = m + i
    for j in range(wide):
        tableau[n * wide + j] = -1.0 if j < m else 0.0
    for j in range(m):
        free[j] = j
    for pivots in range(64 * (n + m)):
        by_number = is_careful or pivots > 4 * (n + m)
        q = entering(tableau, n * wide, free, m, by_number)
        if q < 0:
            return
        p = leaving(tableau, wide, basic, n, q, by_number)
        if p < 0:
            return
        pivot(tableau, wide, n, p, q)
        basic[p], free[q] = free[q], basic[p]


@piece
def entering(tableau, objective, free, m, by_number):
    """The column that improves the objective most; or, so that it cannot go round in circles, the lowest variable that does
    (Bland's rule). -1 if none does."""
    best, least = -1, -ZERO
    for j in range(m):
        gain = tableau[objective + j]
        if gain < -ZERO:
            if by_number:
                if best < 0 or free[j] < free[best]:
                    best = j
            elif gain < least:
                best, least = j, gain
    return best


@piece
def leaving(tableau, wide, basic, n, q, by_number):
    """The row that bounds column `q` first; of several, that with the largest entry, or the lowest variable. -1 if none does."""
    best, least, largest = -1, np.inf, 0.0
    for i in range(n):
        slope = tableau[i * wide + q]
        if slope > TOO_SMALL:
            ratio = tableau[i * wide + wide - 1] / slope
            is_tie = ratio < least + ZERO
            is_better = basic[i] < basic[best] if by_number else slope > largest
            if ratio < least - ZERO or (is_tie and is_better):
                best, least, largest = i, ratio, slope
    return best


@piece
def pivot(tableau, wide, n, p, q):
    """Exchange the variables of row `p` and column `q`."""
    inverse = 1.0 / tableau[p * wide + q]
    for j in range(wide):
        tableau[p * wide + j] *= inverse
    tableau[p * wide + q] = inverse
    for i in range(n + 1):
        if i != p:
            factor = tableau[i * wide + q]
            tableau[i * wide + q] = 0.0
            for j in range(wide):
                tableau[i * wide + j] -= factor * tableau[p * wide + j]


@piece
def attained(payoff, stride, n, m, simplex):
    """Read the mixes off the tableau. Returns the middle of what they are sure of, and the distance."""
    tableau, basic, free, x, y, sums = simplex
    wide = (m + 4) // 4 * 4
    for i in range(n):
        x[i] = 0.0
    for j in range(m):
        y[j] = 0.0
        sums[j] = 0.0
    total = 0.0
    for i in range(n):
        if basic[i] < m:
            y[basic[i]] = max(tableau[i * wide + wide - 1], 0.0)
            total += y[basic[i]]
    scale, total = 1.0 / total, 0.0
    for j in range(m):
        y[j] *= scale
        if free[j] >= m:
            x[free[j] - m] = max(tableau[n * wide + j], 0.0)
            total += x[free[j] - m]
    scale = 1.0 / total
    held = -np.inf
    for i in range(n):
        x[i] *= scale
        mean = 0.0
        for j in range(m):
            mean += y[j] * payoff[i * stride + j]
            sums[j] += x[i] * payoff[i * stride + j]
        held = mean if mean > held else held
    sure = np.inf
    for j in range(m):
        sure = sums[j] if sums[j] < sure else sure
    return 0.5 * (sure + held), held - sure

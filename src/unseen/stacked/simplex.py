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

PRECISION = 1e-11
"""If the mixes leave more of the range open, they are computed anew from the payoffs; if it is still more, it is tried again."""
QUICKLY, EXACTLY, COARSELY, BY_NUMBER, ATTEMPTS = range(5)
"""What differs between attempts: how ties are broken, and which numbers are taken for rounding."""
GAIN = (1e-12, 1e-12, 1e-10, 1e-12)
"""For each attempt: what does not improve a scaled objective."""
SLOPE = (1e-10, 1e-12, 1e-8, 1e-9)
"""What is not divided by."""
TIE = (1e-12, 0.0, 1e-12, 1e-12)
"""How far below 0 a right side may come where rows are equal."""


class Simplex(NamedTuple):
    """Room to solve games of up to `w` rows and columns."""

    tableau: NDArray[np.float64]  # ((w + 1) * (w + 4),) row after row: the objective last, and in each row the right side
    basic: NDArray[np.int64]  # (w,) the variable of each row: j < m is y_j, m + i is the slack of row i
    free: NDArray[np.int64]  # (w,) the variable of each column
    row_mix: NDArray[np.float64]  # (w,)
    column_mix: NDArray[np.float64]  # (w,)
    row_tried: NDArray[np.float64]  # (w,) the same, before it is known whether they are better
    column_tried: NDArray[np.float64]  # (w,)
    sums: NDArray[np.float64]  # (w,)
    rows: NDArray[np.int64]  # (w,) those that are mixed
    columns: NDArray[np.int64]  # (w,)


def new_simplex(width: int) -> Simplex:
    """Room for games of up to `width` rows and columns."""
    basic, free, rows, columns = np.zeros((4, width), np.int64)
    row_mix, column_mix, row_tried, column_tried, sums = np.zeros((5, width))
    tableau = np.zeros((width + 1) * (width + 4))
    return Simplex(tableau, basic, free, row_mix, column_mix, row_tried, column_tried, sums, rows, columns)


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
    value, gap, attempt = np.nan, np.inf, 0
    while attempt < ATTEMPTS and gap > PRECISION * spread:
        # Rows of a length that the compiler knows are computed without a loop.
        if m < 4:
            by_pivots(payoff, stride, n, m, 4, lowest, spread, attempt, simplex)
        elif m < 8:
            by_pivots(payoff, stride, n, m, 8, lowest, spread, attempt, simplex)
        elif m < 12:
            by_pivots(payoff, stride, n, m, 12, lowest, spread, attempt, simplex)
        else:
            by_pivots(payoff, stride, n, m, (m + 4) // 4 * 4, lowest, spread, attempt, simplex)
        read_off(n, m, simplex)
        value, gap = keep_better(payoff, stride, n, m, value, gap, simplex)
        if gap > PRECISION * spread:
            work_out(payoff, stride, n, m, lowest, spread, simplex)
            value, gap = keep_better(payoff, stride, n, m, value, gap, simplex)
        attempt += 1
    return value, gap


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
def by_pivots(payoff, stride, n, m, wide, lowest, spread, attempt, simplex):
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
        by_number = attempt == BY_NUMBER or pivots > 4 * (n + m)
        q = entering(tableau, n * wide, free, m, by_number, GAIN[attempt])
        if q < 0:
            return
        p = leaving(tableau, wide, basic, n, q, by_number, SLOPE[attempt], TIE[attempt])
        if p < 0:
            return
        pivot(tableau, wide, n, p, q)
        basic[p], free[q] = free[q], basic[p]


@piece
def entering(tableau, objective, free, m, by_number, zero):
    """The column that improves the objective most; or, so that it cannot go round in circles, the lowest variable that does
    (Bland's rule). -1 if none does."""
    best, least = -1, -zero
    for j in range(m):
        gain = tableau[objective + j]
        if gain < -zero:
            if by_number:
                if best < 0 or free[j] < free[best]:
                    best = j
            elif gain < least:
                best, least = j, gain
    return best


@piece
def leaving(tableau, wide, basic, n, q, by_number, small, tie):
    """The row that bounds column `q` first; of several, that with the largest entry, or the lowest variable. -1 if none does.

    Several are equal if right sides come below 0 by less than `tie`, whichever is taken.
    """
    best, least, largest = -1, np.inf, 0.0
    for i in range(n):
        slope = tableau[i * wide + q]
        if slope > small:
            ratio = max(tableau[i * wide + wide - 1], 0.0) / slope
            is_tie = best >= 0 and abs(ratio - least) * max(slope, largest) <= tie
            is_better = basic[i] < basic[best] if by_number else slope > largest
            if is_better if is_tie else ratio < least:
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
def read_off(n, m, simplex):
    """Read the mixes off the tableau."""
    tableau, basic, free, x, y = simplex.tableau, simplex.basic, simplex.free, simplex.row_tried, simplex.column_tried
    wide = (m + 4) // 4 * 4
    for i in range(n):
        x[i] = 0.0
    for j in range(m):
        y[j] = 0.0
    for i in range(n):
        if basic[i] < m:
            y[basic[i]] = tableau[i * wide + wide - 1]
    for j in range(m):
        if free[j] >= m:
            x[free[j] - m] = tableau[n * wide + j]


@piece
def work_out(payoff, stride, n, m, lowest, spread, simplex):
    """Compute the mixes anew from the payoffs of the actions that they are made of: pivots add up their rounding, this does not.

    The tableau is gone then.
    """
    rows, columns, count = simplex.rows, simplex.columns, 0
    for j in range(m):
        if simplex.free[j] >= m:
            rows[count] = simplex.free[j] - m
            count += 1
    count = 0
    for i in range(n):
        if simplex.basic[i] < m:
            columns[count] = simplex.basic[i]
            count += 1
    equalise(payoff, stride, 1, rows, columns, count, lowest, spread, m, simplex.tableau, simplex.column_tried)
    equalise(payoff, 1, stride, columns, rows, count, lowest, spread, n, simplex.tableau, simplex.row_tried)


@piece
def equalise(payoff, down, along, rows, columns, count, lowest, spread, length, tableau, mix):
    """Write weights of `columns` to `mix`, shape (length,), by which all of `rows` are worth 1 in scaled payoffs (Gauss)."""
    wide, scale = count + 1, 1.0 / spread
    for i in range(count):
        for j in range(count):
            tableau[i * wide + j] = (payoff[rows[i] * down + columns[j] * along] - lowest) * scale + 1.0
        tableau[i * wide + count] = 1.0
    for q in range(count):
        best = q
        for i in range(q + 1, count):
            if abs(tableau[i * wide + q]) > abs(tableau[best * wide + q]):
                best = i
        for j in range(q, wide):
            tableau[q * wide + j], tableau[best * wide + j] = tableau[best * wide + j], tableau[q * wide + j]
        for i in range(q + 1, count):
            factor = tableau[i * wide + q] / tableau[q * wide + q]
            for j in range(q, wide):
                tableau[i * wide + j] -= factor * tableau[q * wide + j]
    for k in range(length):
        mix[k] = 0.0
    for i in range(count - 1, -1, -1):
        rest = tableau[i * wide + count]
        for j in range(i + 1, count):
            rest -= tableau[i * wide + j] * mix[columns[j]]
        mix[columns[i]] = rest / tableau[i * wide + i]


@piece
def keep_better(payoff, stride, n, m, value, gap, simplex):
    """Keep the mixes that were tried, if they are better than `gap`. Returns the middle of what the mixes that are kept are sure
    of, and the distance."""
    x, y, sums = simplex.row_tried, simplex.column_tried, simplex.sums
    make_mix(x, n)
    make_mix(y, m)
    for j in range(m):
        sums[j] = 0.0
    held = -np.inf
    for i in range(n):
        mean = 0.0
        for j in range(m):
            mean += y[j] * payoff[i * stride + j]
            sums[j] += x[i] * payoff[i * stride + j]
        held = mean if mean > held else held
    sure = np.inf
    for j in range(m):
        sure = sums[j] if sums[j] < sure else sure
    if not held - sure < gap:
        return value, gap
    for i in range(n):
        simplex.row_mix[i] = x[i]
    for j in range(m):
        simplex.column_mix[j] = y[j]
    return 0.5 * (sure + held), held - sure


@piece
def make_mix(weights, n):
    """Scale weights to sum to 1; there is no weight below 0."""
    total = 0.0
    for k in range(n):
        weights[k] = max(weights[k], 0.0)
        total += weights[k]
    scale = 1.0 / total
    for k in range(n):
        weights[k] *= scale

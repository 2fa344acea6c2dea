"""How far a mean of independent draws may be off: half of its 95% interval, by Student's t."""

from __future__ import annotations

from math import ceil, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
Z = 1.959963984540054
"""The normal quantile of 95% intervals."""


def margins(draws: ArrayLike) -> Floats:
    """Half of the 95% interval of each mean of `draws`, shape (..., n) to (...); infinite for fewer than two. nan is no draw."""
    draws = np.asarray(draws, float)
    counts = (~np.isnan(draws)).sum(axis=-1)
    enough = np.maximum(counts, 2)
    means = np.nansum(draws, axis=-1) / np.maximum(counts, 1)
    spread = np.nansum((draws - means[..., None]) ** 2, axis=-1) / (enough - 1)
    found: Floats = np.where(counts > 1, stdtrit(enough - 1, 0.975) * np.sqrt(spread / enough), np.inf)
    return found


def margin(draws: ArrayLike) -> float:
    """The same of one mean, of draws of shape (n,)."""
    return float(margins(draws))


def means(draws: ArrayLike, kinds: NDArray[np.int64], scale: float) -> tuple[Floats, Floats]:
    """The mean of the payoffs of each kind, and its standard error. `kinds` numbers the kind of each draw, from 0.

    Few payoffs may all be the same, or nearly. So errors are as large as if two more of size `scale` had been drawn, one won and
    one lost.
    """
    draws = np.asarray(draws, float)
    count = np.bincount(kinds)
    mean = np.bincount(kinds, draws) / count
    spread = np.bincount(kinds, (draws - mean[kinds]) ** 2) * count / np.maximum(count - 1, 1)
    return mean, np.sqrt(spread + 2.0 * (scale**2 + mean**2)) / count


def payoff_scale(payoffs: ArrayLike) -> float:
    """The size of payoffs: their root mean square; 1 if all are 0."""
    return float(np.sqrt(np.mean(np.square(payoffs)))) or 1.0


def payoff_margin(draws: ArrayLike, scale: float) -> float:
    """Half of the 95% interval of a mean payoff, never 0; infinite for fewer than two draws. `scale` is the size of payoffs."""
    draws = np.asarray(draws, float)
    if len(draws) < 2:
        return np.inf
    return float(stdtrit(len(draws) - 1, 0.975) * means(draws, np.zeros(len(draws), np.int64), scale)[1][0])


def of_pairs(draws: ArrayLike) -> Floats:
    """The means of games 0 and 1, 2 and 3, ..., shape (n // 2,): where a pair has the same chance, it is one draw."""
    draws = np.asarray(draws, float)
    means: Floats = draws[: len(draws) // 2 * 2].reshape(-1, 2).mean(axis=1)
    return means


def for_json(x: float) -> float | None:
    """A number for programs: JSON knows no infinity."""
    return float(x) if isfinite(x) else None


def plus_minus(mean: Any, half: Any, digits: int = 4) -> str:
    """A mean and its interval for people."""
    return f"{mean:z.{digits}g} ± {half:.2g} (95%)" if isfinite(half) else f"{mean:z.{digits}g} (too few draws for an interval)"


def signed(x: float, half: float, digits: int) -> str:
    """A number with its sign and half of its interval, with at least `digits` decimals, so many that the interval is not shown as
    0."""
    if not isfinite(half):
        return f"{x:+z.{digits}f}"
    if half > 0.0:
        digits = max(digits, ceil(-log10(2.0 * half)))
    return f"{x:+z.{digits}f} ± {half:.{digits}f}"

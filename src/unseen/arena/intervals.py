"""How far a mean of independent draws may be off: half of its 95% interval, by Student's t."""

from __future__ import annotations

from math import isfinite
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
    return f"{mean:.{digits}g} ± {half:.2g} (95%)" if isfinite(half) else f"{mean:.{digits}g} (too few draws for an interval)"

"""Ways to a truly mixed strategy from what actions are presumed to pay in each world.

Presumed payoffs choose one action, or evenly among equals, which makes them easy to exploit: Wisser (2016) closes with the wish for
a mixed strategy. Some ways are here. A matrix holds what each action is presumed to pay in each world, (n, c), NaN where it is not
there (each is there in some world); and each world has a weight, (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Way = Callable[[Floats, Floats, float], Floats]
SAME = 1e-9
ROUNDS = 500


def means(presumed: Floats, weights: Floats) -> Floats:
    """What each action is presumed to pay on average over the worlds that have it, (c,)."""
    mass = np.where(np.isnan(presumed), 0.0, weights[:, None])
    mean: Floats = (mass * np.nan_to_num(presumed)).sum(axis=0) / mass.sum(axis=0)
    return mean


def near(presumed: Floats, weights: Floats, temperature: float) -> Floats:
    """Evenly among the actions that are not worse than the best by more than `temperature`."""
    pays = means(presumed, weights)
    return _normal(pays >= pays.max() - temperature - SAME)


def softmax(presumed: Floats, weights: Floats, temperature: float) -> Floats:
    """Each action by the exponential of what it is presumed to pay."""
    pays = means(presumed, weights)
    return _normal(np.exp((pays - pays.max()) / temperature))


def by_worlds(presumed: Floats, weights: Floats, temperature: float) -> Floats:
    """Each action by the share of the worlds in which it is best."""
    known = np.nan_to_num(presumed, nan=-np.inf)
    is_best = known >= known.max(axis=1, keepdims=True) - SAME
    return _normal(weights @ (is_best / is_best.sum(axis=1, keepdims=True)))


def by_regret(presumed: Floats, weights: Floats, temperature: float) -> Floats:
    """An equilibrium of the game in which somebody else chooses the world, by regret matching of both (with `+`, alternating).

    An action that is not there tells so, and another is tried: it pays what the best one does.
    """
    known = np.nan_to_num(presumed, nan=-np.inf)
    payoffs = np.where(np.isnan(presumed), known.max(axis=1, keepdims=True), presumed)
    payoffs = payoffs[np.isfinite(payoffs).all(axis=1)]  # a world with none of these actions has no say
    n, c = payoffs.shape
    regrets, mixes = [np.zeros(n), np.zeros(c)], [np.full(n, 1.0 / n), np.full(c, 1.0 / c)]
    average = np.zeros(c)
    for turn in range(1, ROUNDS + 1):
        for who, pays in ((1, payoffs.T @ mixes[0]), (0, -(payoffs @ mixes[1]))):
            # Without rounding, noise would decide between actions that are images of each other.
            regrets[who] = np.round(np.maximum(regrets[who] + pays - pays @ mixes[who], 0.0), 9)
            total = regrets[who].sum()
            mixes[who] = regrets[who] / total if total > 0.0 else np.full(len(pays), 1.0 / len(pays))
        average += turn * mixes[1]
    return _normal(np.round(_normal(average), 9))


def _normal(weights: NDArray[Any]) -> Floats:
    chances: Floats = weights / weights.sum()
    return chances


MIXINGS: dict[str, Way | None] = {"best": None, "near": near, "softmax": softmax, "worlds": by_worlds, "regret": by_regret}

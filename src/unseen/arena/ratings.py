"""Ratings of agents from the results of games: Bradley-Terry by maximum likelihood, with draws and an advantage of the first seat.

The model is that of R. Davidson (1970) with an order effect (Davidson and Beaver 1977). Where `d` is the rating of who moves first
less that of the other, plus the advantage of moving first, both in natural units, a win, a draw and a loss have the weights
exp(d / 2), exp(t) and exp(-d / 2), with `t` the inclination of these games to be drawn. Its likelihood has one maximum, which
Newton's method finds. Without draws it is the model of Bradley and Terry. What people see is in the usual units, of which 400 are
odds of ten to one.

Intervals come from the curvature there. Games that share something (both games of a pair have the same cards) are not independent,
so the scores of each group are added up before their spread is estimated: the "sandwich" of P. Huber (1967).

No library that could be found rates with draws, seats and intervals at once (`choix`, `arena-rank`, `evalica` and `openskill` each
lack one of these).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from unseen.arena.intervals import Z
from unseen.errors import UnseenError

Floats = NDArray[np.float64]
PER_UNIT = 400.0 / log(10.0)
"""Points of a rating in a natural unit."""
FAR = 25.0
"""Natural units beyond which a rating has no end: somebody has won or lost all games."""
WEAK = 1000.0 / PER_UNIT
"""The standard deviation of a prior that holds such ratings back."""
STEPS = 200


@dataclass(frozen=True)
class Ratings:
    """How strong agents are. `n` agents."""

    names: list[str]
    rating: Floats
    """In points, (n,)."""
    covariance: Floats
    """Of these, in points squared, (n, n)."""
    games: NDArray[np.int64]
    """Games of each agent, (n,)."""
    advantage: float
    """Of moving first, in points."""
    advantage_error: float
    """Its standard error."""
    is_held: bool
    """Whether some ratings would be without end, as of agents that have won all their games, and a weak prior holds them back."""

    @property
    def error(self) -> Floats:
        """The standard error of each rating, (n,); 0 for the one that is the anchor."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    @property
    def half(self) -> Floats:
        """Half of each 95% interval, (n,)."""
        return Z * self.error

    @property
    def low(self) -> Floats:
        """The lower end of each 95% interval, (n,)."""
        return self.rating - self.half

    @property
    def high(self) -> Floats:
        """The upper end of each 95% interval, (n,)."""
        return self.rating + self.half

    @property
    def superiority(self) -> Floats:
        """The likelihood that the agent of a row is stronger than that of a column, (n, n); one half for an agent and itself."""
        own = np.diagonal(self.covariance)
        spread = np.sqrt(np.maximum(own[:, None] + own - 2.0 * self.covariance, 0.0))
        apart = self.rating[:, None] - self.rating
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.where(spread > 1e-9, ndtr(apart / spread), 0.5 + 0.5 * np.sign(apart))
        return found


def rate(
    names: Sequence[str], first: ArrayLike, second: ArrayLike, score: ArrayLike, *, groups: ArrayLike | None = None,
    anchor: tuple[str, float] | None = None, seats: bool = True,
) -> Ratings:  # fmt: skip
    """Ratings of the agents called `names` from `g` games.

    - `first`, `second`: who moved first and second in each game, places in `names`, (g,).
    - `score`: what it was for who moved first: more than 0 a win, less a loss, 0 a draw, (g,).
    - `groups`: games with equal numbers have something in common, such as the same cards, (g,). Otherwise all are independent.
    - `anchor`: an agent and its rating; otherwise ratings have a mean of 0.
    - `seats`: whether moving first may be an advantage.
    """
    n, sides = len(names), [np.asarray(side, np.int64) for side in (first, second)]
    result = np.sign(np.asarray(score, float)).astype(np.int64)
    if n < 2 or len(result) == 0 or any(side.shape != result.shape for side in sides):
        raise UnseenError(f"ratings need at least two agents and one game; there are {n} and {len(result)}.")
    if anchor is not None and anchor[0] not in names:
        raise UnseenError(f"the anchor is {anchor[0]!r}, but must be one of the agents: {', '.join(names)}.")
    has_draws = bool((result == 0).any())
    design = np.zeros((len(result), n + 1))
    design[np.arange(len(result)), sides[0]] += 1.0
    design[np.arange(len(result)), sides[1]] -= 1.0
    design[:, n] = float(seats)
    found, is_held = _fit(design, result, has_draws, 0.0), False
    if found is None:
        found, is_held = _fit(design, result, has_draws, WEAK**-2), True
    if found is None:
        raise UnseenError("the results of these games have no rating that fits best.")
    parameters, bread = found
    gradients = _moments(design, result, parameters, has_draws)[1]
    if groups is not None:
        _, place = np.unique(np.asarray(groups), return_inverse=True)
        gradients = np.stack([np.bincount(place, column) for column in gradients.T], axis=1)
    count = len(gradients)
    covariance = bread @ (gradients.T @ gradients) @ bread * (count / max(count - 1, 1))
    if is_held or count <= len(parameters):  # there are too few groups to tell their spread
        covariance = bread
    level = np.full((n, n), 1.0 / n) if anchor is None else np.eye(n)[[names.index(anchor[0])]].repeat(n, axis=0)
    apart = np.eye(n) - level  # ratings less their mean, or less that of the anchor
    return Ratings(
        list(names), apart @ parameters[:n] * PER_UNIT + (anchor[1] if anchor else 0.0),
        apart @ covariance[:n, :n] @ apart.T * PER_UNIT**2, np.bincount(np.concatenate(sides), minlength=n),
        float(parameters[n]) * PER_UNIT, float(np.sqrt(max(covariance[n, n], 0.0))) * PER_UNIT, is_held,
    )  # fmt: skip


def _moments(design: Floats, result: NDArray[np.int64], parameters: Floats, has_draws: bool) -> tuple[float, Floats, Floats]:
    """The log-likelihood, its gradient for each game, (g, n + 2), and the information, (n + 2, n + 2).

    `parameters`: n ratings, the advantage of the first seat, the inclination to draws.
    """
    apart = design @ parameters[:-1]
    weights = np.stack([apart / 2.0, np.full(len(apart), parameters[-1] if has_draws else -np.inf), -apart / 2.0])
    top = weights.max(axis=0)
    chances = np.exp(weights - top)
    total = chances.sum(axis=0)
    chances /= total
    likelihood = float((weights[1 - result, np.arange(len(result))] - top - np.log(total)).sum())
    wins_less_losses = chances[0] - chances[2]
    gradients = np.empty((len(result), design.shape[1] + 1))
    gradients[:, :-1] = design * ((result - wins_less_losses) / 2.0)[:, None]
    gradients[:, -1] = (result == 0) - chances[1] if has_draws else 0.0
    information = np.zeros((gradients.shape[1],) * 2)
    information[:-1, :-1] = design.T @ (design * ((chances[0] + chances[2] - wins_less_losses**2) / 4.0)[:, None])
    if has_draws:
        information[-1, :-1] = information[:-1, -1] = design.T @ (-chances[1] * wins_less_losses / 2.0)
        information[-1, -1] = (chances[1] * (1.0 - chances[1])).sum()
    return likelihood, gradients, information


def _fit(design: Floats, result: NDArray[np.int64], has_draws: bool, prior: float) -> tuple[Floats, Floats] | None:
    """The parameters of largest likelihood and the inverse of the information there; None if there are none.

    `prior` is the precision of a normal prior around 0.
    """
    n = design.shape[1] - 1
    parameters = np.zeros(n + 2)
    # What the data say nothing about stays 0: the level of all ratings, and what is not in the model.
    fixed = np.zeros((n + 2, n + 2))
    fixed[:n, :n] = 1.0
    fixed[n, n] = float(not design[:, n].any())
    fixed[-1, -1] = float(not has_draws)
    likelihood, gradients, information = _moments(design, result, parameters, has_draws)
    for _ in range(STEPS):
        slope = gradients.sum(axis=0) - prior * parameters
        try:
            bread = np.linalg.inv(information + fixed + prior * np.eye(n + 2))
        except np.linalg.LinAlgError:
            return None
        step, size = bread @ slope, 1.0
        while size > 1e-9:
            other = parameters + size * step
            moved = _moments(design, result, other, has_draws)
            if moved[0] - prior / 2.0 * other @ other >= likelihood - prior / 2.0 * parameters @ parameters - 1e-12:
                break
            size /= 2.0
        parameters, (likelihood, gradients, information) = other, moved
        if np.abs(parameters).max() > FAR:
            return None
        if np.abs(step).max() < 1e-11:
            return np.asarray(parameters, np.float64), np.asarray(bread, np.float64)
    return None

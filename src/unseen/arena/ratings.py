"""Ratings of agents from the results of games: by wins, which is Bradley-Terry with draws and an advantage of the first seat, or by
payoffs, where some games pay more than others.

By wins, the model is that of R. Davidson (1970) with an order effect (Davidson and Beaver 1977). Where `d` is the rating of who
moves first less that of the other, plus the advantage of moving first, both in natural units, a win, a draw and a loss have the
weights exp(d / 2), exp(t) and exp(-d / 2), with `t` the inclination of these games to be drawn. Its likelihood has one maximum,
which Newton's method finds. Without draws it is the model of Bradley and Terry. What people see is in the usual units, of which 400
are odds of ten to one.

By payoffs, the rating of an agent is its expected payoff a game against the field: the mean over its opponents, all alike, of what
it gets from each.

Games that share something (both games of a pair have the same cards) are not independent, so intervals come from the spread of the
sums over such groups: the "sandwich" of P. Huber (1967). Where all pairs have been split there is no such spread, and few pairs
show too little of it. So intervals are as wide as if any two agents had played two pairs more, whose games both went the same way;
D. Bonett and R. Price (2012) add as many to pairs of binary results. Ratings are those of the games that were played.

No library that could be found rates with draws, seats and intervals at once (`choix`, `arena-rank`, `evalica` and `openskill` each
lack one of these).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from unseen.arena.intervals import Z, means, payoff_scale, signed
from unseen.errors import UnseenError

Floats = NDArray[np.float64]
PER_UNIT = 400.0 / log(10.0)
"""Points of a rating in a natural unit."""
WINS, PAYOFFS = "wins", "payoffs"
"""What a rating is by."""
DIGITS = {WINS: 0, PAYOFFS: 3}
FAR = 25.0
"""Natural units beyond which a rating, or its standard error, has no end: somebody has won or lost all games."""
WEAK = 1000.0 / PER_UNIT
"""The standard deviation of a prior that holds such ratings back."""
MORE = 2
"""Groups of games in which all went the same way by which spreads are larger than those of the games that were played."""
STEPS = 200


@dataclass(frozen=True)
class Ratings:
    """How strong agents are. `n` agents."""

    names: list[str]
    rating: Floats
    """In points, or as payoffs a game, (n,)."""
    covariance: Floats
    """Of these, in units squared, (n, n)."""
    games: NDArray[np.int64]
    """Games of each agent, (n,)."""
    advantage: float
    """Of moving first: in points, or the mean payoff of who moves first."""
    advantage_error: float
    """Its standard error."""
    is_held: bool = False
    """Whether some ratings would be without end, as of agents that have won all their games, and a weak prior holds them back."""
    by: str = WINS
    """What is rated: wins or payoffs."""
    anchor: str = ""
    """The agent whose rating was given; '' if there is none."""

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

    def shown(self, x: float) -> str:
        """A rating for people, without its interval."""
        return f"{x:+z.{DIGITS[self.by]}f}"

    def text(self, i: int) -> str:
        """The rating of agent number `i` with its interval, for people."""
        if self.names[i] == self.anchor:
            return f"{self.shown(self.rating[i])} (anchor)"
        return signed(self.rating[i], self.half[i], DIGITS[self.by])

    @property
    def advantage_text(self) -> str:
        """What moving first is worth, for people."""
        return signed(self.advantage, Z * self.advantage_error, DIGITS[self.by])

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
    """Ratings of the agents called `names` by the wins of `g` games.

    - `first`, `second`: who moved first and second in each game, places in `names`, (g,).
    - `score`: what it was for who moved first: more than 0 a win, less a loss, 0 a draw, (g,).
    - `groups`: games with equal numbers have something in common, such as the same cards, (g,). Otherwise all are independent.
    - `anchor`: an agent and its rating; otherwise ratings have a mean of 0.
    - `seats`: whether moving first may be an advantage.
    """
    n, sides, result = len(names), *_checked(names, first, second, np.sign(np.asarray(score, float)).astype(np.int64), anchor)
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
    _, gradients, information = _moments(design, result, parameters, has_draws)
    together = _places(groups, len(result))
    count = int(together.max()) + 1
    size = len(result) / count  # games in a group
    if is_held:  # games of a group may have gone the same way because of what they share: together they count as one
        covariance = np.linalg.inv(information / size + np.eye(n + 2) * WEAK**-2)
    else:
        sums = np.stack([np.bincount(together, column) for column in gradients.T], axis=1)
        spread = sums.T @ sums * (count / max(count - 1, 1))
        met = np.unique(np.concatenate([design, design * np.append(-np.ones(n), 1.0)]), axis=0)  # any two, from both seats
        each_way = _moments(met, np.zeros(len(met), np.int64), parameters, has_draws)[2]
        spread += MORE * size**2 * each_way / 2.0
        covariance = bread @ spread @ bread
    level = np.full((n, n), 1.0 / n) if anchor is None else _row_of(anchor[0], names)
    apart = np.eye(n) - level  # ratings less their mean, or less that of the anchor
    return Ratings(
        list(names), apart @ parameters[:n] * PER_UNIT + (anchor[1] if anchor else 0.0),
        apart @ covariance[:n, :n] @ apart.T * PER_UNIT**2, np.bincount(np.concatenate(sides), minlength=n),
        float(parameters[n]) * PER_UNIT, float(np.sqrt(max(covariance[n, n], 0.0))) * PER_UNIT, is_held,
        anchor=anchor[0] if anchor else "",
    )  # fmt: skip


def rate_payoffs(
    names: Sequence[str], first: ArrayLike, second: ArrayLike, payoff: ArrayLike, *, groups: ArrayLike | None = None,
    anchor: tuple[str, float] | None = None,
) -> Ratings:  # fmt: skip
    """Ratings by payoffs: what each agent gets a game against the field, in which every opponent it has met counts alike.

    `payoff` is what each game paid to who moved first; the rest is as for `rate`. Without an anchor these are mean payoffs as they
    are; with one, all are moved so that the anchor has its rating.
    """
    n, sides, paid = len(names), *_checked(names, first, second, np.asarray(payoff, float), anchor)
    numbers = np.sort(np.stack(sides, axis=1), axis=1)
    together = _places(np.column_stack([numbers, _places(groups, len(paid))]), len(paid))
    games = np.bincount(together)
    to_lower, to_first = (np.bincount(together, x) / games for x in (np.where(sides[0] < sides[1], paid, -paid), paid))
    matchup = _places(numbers, len(paid))
    met = np.zeros((matchup.max() + 1, 2), np.int64)
    met[matchup] = numbers
    of_group = np.zeros(len(games), np.int64)
    of_group[together] = matchup
    scale = payoff_scale(paid)
    (mean, error), (seat, seat_error) = (means(draws, of_group, scale) for draws in (to_lower, to_first))
    opponents = np.bincount(met.ravel(), minlength=n)
    share = np.zeros((n, len(met)))  # of what a match-up pays to its lower number in the rating of each agent
    share[met[:, 0], np.arange(len(met))] = 1.0 / opponents[met[:, 0]]
    share[met[:, 1], np.arange(len(met))] = -1.0 / opponents[met[:, 1]]
    apart = np.eye(n) - (_row_of(anchor[0], names) if anchor else 0.0)
    share = apart @ share
    return Ratings(
        list(names), share @ mean + (anchor[1] if anchor else 0.0), share @ (error[:, None] ** 2 * share.T),
        np.bincount(np.concatenate(sides), minlength=n), float(seat.mean()), float(np.sqrt((seat_error**2).sum()) / len(seat)),
        by=PAYOFFS, anchor=anchor[0] if anchor else "",
    )  # fmt: skip


def _checked(
    names: Sequence[str], first: ArrayLike, second: ArrayLike, result: NDArray[Any], anchor: tuple[str, float] | None
) -> tuple[list[NDArray[np.int64]], NDArray[Any]]:  # fmt: skip
    """Who moved first and second, and the results, if they can be rated."""
    sides = [np.asarray(side, np.int64) for side in (first, second)]
    if len(names) < 2 or len(result) == 0 or any(side.shape != result.shape for side in sides):
        raise UnseenError(f"ratings need at least two agents and one game; there are {len(names)} and {len(result)}.")
    if anchor is not None and anchor[0] not in names:
        raise UnseenError(f"the anchor is {anchor[0]!r}, but must be one of the agents: {', '.join(names)}.")
    return sides, result


def _places(labels: ArrayLike | None, count: int) -> NDArray[np.int64]:
    """Equal labels, or rows of labels, as equal numbers from 0; each a number of its own if there are none."""
    if labels is None:
        return np.arange(count)
    return np.unique(np.asarray(labels), axis=0, return_inverse=True)[1].reshape(-1)


def _row_of(name: str, names: Sequence[str]) -> Floats:
    """The matrix that puts the number of one agent in place of all, (n, n)."""
    n = len(names)
    return np.eye(n)[[names.index(name)]].repeat(n, axis=0)


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
        if np.abs(parameters).max() > FAR or bread.max() > FAR**2:
            return None
        if np.abs(step).max() < 1e-11:
            return np.asarray(parameters, np.float64), np.asarray(bread, np.float64)
    return None

"""A sequential probability ratio test: games go on until it is decided which of two ratings fits better.

A. Wald (1945), on pairs of games with the seats changed, each of which scores 0, 1/4, 1/2, 3/4 or 1 (the pentanomial of those who
test chess engines). The two hypotheses are about the mean of that score alone, so each is represented by the distribution of
largest likelihood among those with its mean: M. Van den Bergh, "The generalized maximum likelihood ratio for the expectation value
of a distribution" (2019). The chance to be wrong either way is `ERROR`, or a little more, as the last pair overshoots.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from unseen.errors import UnseenError

Floats = NDArray[np.float64]
ERROR = 0.05
BOUND = log((1.0 - ERROR) / ERROR)
"""The ratio of likelihoods, as a logarithm, at which one of the hypotheses is taken."""
SCORES = np.linspace(0.0, 1.0, 5)
UNSEEN = 1e-3
"""In place of 0 pairs with a score: it may still come."""
MOST = 2000.0
"""The largest difference of ratings that can be asked about."""


@dataclass(frozen=True)
class SPRT:
    """Which is it: is an agent stronger by `least` points, or by `most`? `ratio` is the logarithm of how much better the second
    fits what `pairs`, (5,), counts: pairs of games by their score."""

    least: float
    most: float
    pairs: tuple[int, ...] = (0, 0, 0, 0, 0)

    def __post_init__(self) -> None:
        if not -MOST <= self.least < self.most <= MOST:
            raise UnseenError(
                f"sprt is {self.least:g},{self.most:g}, but must be two differences of ratings, the smaller one first, from "
                f"{-MOST:g} to {MOST:g}."
            )

    @classmethod
    def parse(cls, text: str) -> SPRT:
        """Two numbers with a comma between them."""
        try:
            least, most = map(float, text.split(","))
        except ValueError:
            raise UnseenError(f"sprt is {text!r}, but must be two differences of ratings, such as 0,10.") from None
        return cls(least, most)

    def after(self, scores: ArrayLike) -> SPRT:
        """The test after so many more games: `scores` of the first agent, 1, 1/2 or 0 for each, (g,); an odd one does not count."""
        games = np.asarray(scores, float)
        games = games[: len(games) // 2 * 2].reshape(-1, 2)
        counts = np.bincount(np.rint(2.0 * games.sum(axis=1)).astype(np.int64), minlength=len(SCORES))
        return SPRT(self.least, self.most, tuple((counts + self.pairs).tolist()))

    @property
    def ratio(self) -> float:
        if not sum(self.pairs):
            return 0.0
        counts = np.maximum(np.array(self.pairs, float), UNSEEN)
        share = counts / counts.sum()
        low, high = (constrained(share, 1.0 / (1.0 + 10.0 ** (-points / 400.0))) for points in (self.least, self.most))
        return float(counts @ np.log(high / low))

    @property
    def accepted(self) -> float | None:
        """The difference that is taken to be right; None as long as it is open."""
        ratio = self.ratio
        return self.most if ratio >= BOUND else self.least if ratio <= -BOUND else None

    def __str__(self) -> str:
        ratio = f"log of the ratio {self.ratio:+z.2f}, bounds ±{BOUND:.2f}, {sum(self.pairs):,} pairs"
        if (accepted := self.accepted) is None:
            return f"open between {self.least:+zg} and {self.most:+zg} points ({ratio})"
        return f"{accepted:+zg} points rather than {self.least if accepted == self.most else self.most:+zg} ({ratio})"

    def as_dict(self) -> dict[str, Any]:
        return {
            "least": self.least, "most": self.most, "pairs": list(self.pairs), "ratio": self.ratio, "bound": BOUND,
            "accepted": self.accepted,
        }  # fmt: skip


def constrained(share: Floats, mean: float) -> Floats:
    """The distribution over `SCORES` with this `mean` under which shares, all above 0, have the largest likelihood, (5,).

    It is share / (1 + x (score - mean)), with the x for which that is a distribution of this mean.
    """
    away = SCORES - mean
    ends = -1.0 / away[-1], -1.0 / away[0]  # between them all denominators are positive

    def moment(x: float) -> float:
        return float(share @ (away / (1.0 + x * away)))

    inset = 1e-12 * (ends[1] - ends[0])
    found: Floats = share / (1.0 + brentq(moment, ends[0] + inset, ends[1] - inset, xtol=1e-14) * away)
    return found

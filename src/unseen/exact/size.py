"""How large a game is, roughly and at once: random games as probes of its tree.

D. E. Knuth, "Estimating the efficiency of backtrack programs" (1975): along a game of uniformly random choices, chance included,
the product of the numbers of choices so far is, on average over such games, the number of histories of that length. So the sum of
these products is an unbiased estimate of the number of all histories, from one game; the mean over many has an interval.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from math import exp, isfinite, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.position import random_walk
from unseen.show.results import Result

PROBE_MOVES = 20_000
"""Moves in the random games of an estimate that is asked for; a glance takes a fifth of them."""
FEWEST_PROBES = 30
Z = 1.96
FEW = 10
"""Probes that are too few to carry an estimate: the square of their sum over the sum of their squares counts them."""
HISTORIES_PER_SECOND = 2e7
"""What a walk does, to say how long one takes: a rough figure, for two cores of a few years ago."""


CENTURY = 100 * 365.25 * 86_400


class Probe(NamedTuple):
    """What one random game says of the numbers of histories, of terminal ones, and of those up to where payoffs are settled."""

    histories: float
    terminals: float
    unsettled: float


class Rough(NamedTuple):
    """An estimate and its 95% interval; no numbers where a few probes make up most of it, which an interval would hide."""

    mean: float
    low: float
    high: float

    def words(self, what: str = "") -> str:
        """The estimate of how many of `what` there are, for people."""
        what = f" {what}" if what else ""
        if not isfinite(self.low):
            return f"of the order of {self.mean:.0e}{what} (a few random games make up most of the estimate)"
        if self.high - self.low < 1e-9 * self.mean:
            return f"about {rough(self.mean)}{what} (every random game says the same)"
        return f"about {rough(self.mean)}{what} (95%: {rough(self.low)} to {rough(self.high)})"

    def __str__(self) -> str:
        return self.words()


@dataclass(frozen=True, repr=False)
class Size(Result):
    """An estimate of how large a game is."""

    game: Game
    histories: Rough
    terminals: Rough
    unsettled: Rough
    """Histories of a walk that stops where payoffs are settled."""
    longest: int
    """The longest game that was seen."""
    probes: int

    @property
    def title(self) -> str:
        return f"{self.game.spec}, estimated"

    @property
    def summary(self) -> str:
        return f"histories: {self.histories}"

    @property
    def sentence(self) -> str:
        """How large it is, as the beginning of a sentence."""
        return f"{self.game.spec} has {self.histories.words('histories')}"

    def as_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("histories", "terminals", "unsettled")}
        found = {name: {"mean": for_json(x.mean), "ci": [for_json(x.low), for_json(x.high)]} for name, x in numbers.items()}
        return {"game": self.game.spec, "estimated": True, **found, "longest_seen": self.longest, "probes": self.probes}

    def rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = {"histories": self.histories, "terminal histories": self.terminals}
        if type(self.game).settled is not Game.settled:
            rows["histories until payoffs are settled"] = self.unsettled
        rows["longest game seen"] = self.longest
        rows["estimated from"] = f"{self.probes:,} random games"
        return rows

    @property
    def walking_time(self) -> str:
        """How long a walk over all histories takes, in words."""
        seconds = self.histories.mean / HISTORIES_PER_SECOND
        if seconds > CENTURY:
            return "centuries"
        for unit, length in (("years", CENTURY / 100), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
            if seconds >= 1.5 * length:
                return f"some {seconds / length:,.0f} {unit}"
        return "a minute or so"


def probe(game: Game, rng: random.Random) -> tuple[Probe, int]:
    """One game of uniformly random choices by `rng`, chance included: what it says of the size of `game`; and its length."""
    knows_endings = type(game).settled is not Game.settled
    histories, unsettled, weight, is_settled = 0.0, 0.0, 1.0, False
    for position in random_walk(game, rng):
        histories += weight
        if not is_settled:
            unsettled += weight
            is_settled = knows_endings and not position.is_terminal and bool(position._call("settled", position.state))
        if not position.is_terminal:
            weight *= len(position.actions)
    return Probe(histories, weight, unsettled), len(position.history)


def estimate_size(game: Game | str, moves: int = PROBE_MOVES, seed: int = 0) -> Size:
    """Estimate how large `game` is by random games of `moves` moves in all, at least thirty games, by `seed`.

    The rules run as plain Python, so nothing is compiled. `game` is a game, or what names one.
    """
    game = load(game)
    if moves < 1:
        raise UnseenError(f"moves is {moves}, but must be at least 1.")
    rng, found, lengths = random.Random(seed), list[Probe](), list[int]()
    while len(found) < FEWEST_PROBES or sum(lengths) < moves:
        one, length = probe(game, rng)
        found.append(one)
        lengths.append(length + 1)
    histories, terminals, unsettled = (_mean(numbers) for numbers in zip(*found, strict=True))
    return Size(game, histories, terminals, unsettled, max(lengths) - 1, len(found))


@lru_cache(maxsize=64)
def glance(game: Game) -> Size:
    """A rough estimate, in a fraction of a second, for what has to choose."""
    return estimate_size(game, PROBE_MOVES // 5)


def _mean(numbers: tuple[float, ...]) -> Rough:
    """The mean of some positive numbers with an interval around its logarithm, since few of them can be much larger than most."""
    mean = float(np.mean(numbers))
    shares = np.array(numbers) / max(numbers)
    if not isfinite(mean) or shares.sum() ** 2 < FEW * (shares**2).sum():
        return Rough(mean, nan, nan)
    spread = Z * float(np.std(numbers, ddof=1)) / (mean * sqrt(len(numbers)))
    return Rough(mean, mean * exp(-spread), mean * exp(spread))


def rough(x: float) -> str:
    """A large number for people: three digits and a word, or a power of ten."""
    for unit, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if unit <= x < 1e15:
            return f"{x / unit:.3g} {name}"
    return f"{x:,.0f}" if x < 1e6 else f"{x:.2g}"


def for_json(x: float) -> float | None:
    """A number as JSON can hold it: None for what is none."""
    return x if isfinite(x) else None

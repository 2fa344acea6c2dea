"""An exponentially weighted reservoir of decisions: later ones are likelier to be in it.

Each decision that comes replaces one at random with a fixed probability p = k (1 - exp(-1 / (k r))) once the `k` places are taken,
where `r` is the decay ratio: M. Osborne, A. Lall and B. Van Durme, "Exponential reservoir sampling for streaming language models"
(2014), as in the code of ExIt-OOS. So after `a` further ones a decision is still there with probability p exp(-a / (k r)).

Inputs are mostly zeros and ones, which are kept as bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import expm1
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.enumeration.walker import machine_memory
from unseen.errors import UnseenError
from unseen.networks.encoding import Encoding
from unseen.run.checkpoint import Like


class Decisions(NamedTuple):
    """What self-play has brought: `n` decisions."""

    hot: NDArray[np.uint8]  # (n, bytes) the columns of seat and percepts, as bits
    own: NDArray[np.float32]  # (n, k) what the game has encoded
    target: NDArray[np.float32]  # (n, actions) the probability of each legal action; NaN for those that are not. If values are
    # learnt, (n, 2 actions): and what each is worth


def decisions(encoding: Encoding, rows: NDArray[np.float32], targets: NDArray[np.float32]) -> Decisions:
    """Decisions from rows of an encoding, (n, length)."""
    split = encoding.layout.percepts
    return Decisions(np.packbits(rows[:, :split] > 0.0, axis=1), rows[:, split:].copy(), targets)


class Reservoir:
    """Up to `capacity` decisions for networks with an encoding, with `values` or not; `ratio` is how slowly it forgets."""

    def __init__(self, encoding: Encoding, capacity: int, ratio: float, values: bool = False) -> None:
        self.encoding, self.capacity = encoding, capacity
        self.chance = min(1.0, -capacity * expm1(-1.0 / (ratio * capacity)))
        """The probability with which a decision comes in once it is full."""
        self.size = 0
        shapes = [
            (-(-encoding.layout.percepts // 8), np.uint8),
            (encoding.layout.own, np.float32),
            (encoding.game.num_actions * (1 + values), np.float32),
        ]
        nbytes = capacity * sum(width * np.dtype(kind).itemsize for width, kind in shapes)
        if nbytes > machine_memory():
            raise UnseenError(
                f"the reservoir would take {nbytes / 1e9:,.1f} GB, which is more than this machine's memory; keep fewer games."
            )
        try:
            self.held = Decisions(*(np.zeros((capacity, width), kind) for width, kind in shapes))
        except MemoryError:
            raise UnseenError(
                f"there is no memory for the reservoir, which takes {nbytes / 1e9:,.1f} GB; keep fewer games."
            ) from None

    def add(self, new: Decisions, rng: np.random.Generator) -> None:
        """Take in decisions, one after the other."""
        count = len(new.target)
        room = min(count, self.capacity - self.size)
        places = np.concatenate([np.arange(self.size, self.size + room), rng.integers(self.capacity, size=count - room)])
        is_in = np.concatenate([np.ones(room, np.bool_), rng.random(count - room) < self.chance])
        for k in np.flatnonzero(is_in):  # in order: of two for the same place the later one stays
            self.held.hot[places[k]] = new.hot[k]
            self.held.own[places[k]] = new.own[k]
            self.held.target[places[k]] = new.target[k]
        self.size += room

    def draw(self, count: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """So many of what it holds, with repetition: inputs, (count, length), and targets, (count, actions) or
        (count, 2 actions)."""
        at = rng.integers(self.size, size=count)
        hot = np.unpackbits(self.held.hot[at], axis=1, count=self.encoding.layout.percepts)
        return np.concatenate([hot.astype(np.float32), self.held.own[at]], axis=1), self.held.target[at]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What there is to be kept in a checkpoint."""
        return {f"reservoir.{name}": part[: self.size] for name, part in self.held._asdict().items()}

    def layout(self) -> dict[str, Like]:
        """What these arrays are like; targets have holes where actions are not legal."""
        held = self.held._asdict().items()
        return {f"reservoir.{name}": Like(p.dtype.str, (None, *p.shape[1:]), holes=name == "target") for name, p in held}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up what a checkpoint held, if it is like `layout`; raises if it cannot be that."""
        sizes = {len(arrays[f"reservoir.{name}"]) for name in Decisions._fields}
        if len(sizes) != 1 or max(sizes) > self.capacity:
            raise UnseenError(f"its reservoir does not hold up to {self.capacity:,} decisions.")
        chances = arrays["reservoir.target"][:, : self.encoding.game.num_actions]
        known = np.nan_to_num(chances)
        if (known < 0.0).any() or not np.allclose(known.sum(axis=1), 1.0, atol=1e-3):
            raise UnseenError("its reservoir has a decision that is not a distribution.")
        self.size = sizes.pop()
        for name, part in self.held._asdict().items():
            part[: self.size] = arrays[f"reservoir.{name}"]

"""What actions are worth in worlds: the Python side of searches of open games, which clocks, counts and Ctrl-C may stop."""

from __future__ import annotations

import time
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.engine import scratch
from unseen.errors import GameFault, UnseenError
from unseen.game import Game
from unseen.perfect.minimax import DONE, Minimax, Valuation, evaluate, new_frames
from unseen.perfect.table import forget, new_table

NODES_PER_CALL = 100_000
"""Compiled code comes back to Python after so many, for clocks and Ctrl-C."""


class Found(NamedTuple):
    """What actions are worth in worlds. `n` worlds, `c` actions."""

    values: NDArray[np.float64]  # (n, c, 3): m, p, a
    legal: NDArray[np.int8]  # (n, c) whether there is that action
    known: NDArray[np.float64]  # (n, c) what the game says that the other knows


def new_found(worlds: int, actions: int) -> Found:
    return Found(np.zeros((worlds, actions, 3)), np.zeros((worlds, actions), np.int8), np.zeros((worlds, actions)))


class Solver:
    """Values of states of `game` to player `who`, as a valuation has them, with a table of up to `megabytes`."""

    is_whole: ClassVar[bool] = False
    """Whether all worlds are looked at together, so that there is nothing to say before the end."""

    def __init__(self, game: Game, valuation: Valuation, who: int, megabytes: float = 64.0) -> None:
        self.game, self.valuation, self.who = game, valuation, who
        self.table, self.frames = new_table(game, megabytes), new_frames(game)
        self.arrays, self.plain = scratch(game), Minimax()

    @property
    def nodes(self) -> int:
        """States looked at so far."""
        return int(self.frames.counts[0])

    def room(self, worlds: int) -> tuple[Any, Any]:
        """Stack and table for so many worlds."""
        return self.frames, self.table

    def parts(self, worlds: int, actions: int) -> int:
        """How many searches it takes."""
        return worlds * actions

    def forget(self) -> None:
        """Start with nothing remembered: what is looked at from here on does not depend on what was before."""
        forget(self.table)
        self.frames.merits[:] = 0

    def evaluate(
        self, worlds: NDArray[Any], seeds: NDArray[np.uint64], actions: NDArray[np.int64], deadline: float = np.inf, nodes: int = 0,
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[Found, int]:  # fmt: skip
        """What `actions` are worth in `worlds`, one after another until all are done, it is `deadline`, by `time.perf_counter`, or
        so many `nodes` (0: no limit) were looked at; the first one always is. Returns how many worlds were done.

        What worlds count, their `weights` (by default all alike), matters only where they are looked at together."""
        n, c = len(worlds), len(actions)
        found, where, (frames, table), parts = new_found(n, c), np.array([0, DONE]), self.room(n), self.parts(n, c)
        most = frames.counts[0] + nodes
        self.frames.aims[:] = 0  # a search that was given up leaves some behind
        while where[0] < parts:
            is_sound = evaluate(
                self.game, self.valuation, self.plain, self.who, worlds, seeds, actions, found, frames, table, where, parts,
                frames.counts[0] + NODES_PER_CALL, *self.arrays,
            )  # fmt: skip
            if not is_sound:
                raise GameFault(f"{self.game.spec}: the game breaks its rules when all is laid open; `unseen check` says where.")
            is_over = time.perf_counter() >= deadline or (nodes and frames.counts[0] >= most)
            if is_over and self.is_whole and where[0] < parts and deadline < np.inf:
                raise UnseenError(
                    f"{self.game.spec}: looking at all worlds together takes longer than the seconds given; it is for small games."
                )
            if is_over and not self.is_whole and where[0] >= c:
                break
        return found, int(where[0]) * n // parts

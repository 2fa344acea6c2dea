"""A game of a user's own with type hints, which `mypy --strict` accepts (`make lint` runs it over this file)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import unseen
from unseen import CHANCE, PUBLIC, TERMINAL, Game, Position, parameter


class Boxes(Game):
    """Hide a coin in a box; the other player opens one. A die says what it is worth."""

    boxes: int = parameter(3, minimum=2, maximum=20, help="how many boxes there are")
    state = np.dtype([("worth", "i1"), ("hidden", "i1"), ("opened", "i1")])
    max_length = 3

    @property
    def num_actions(self) -> int:
        return self.boxes

    @property
    def num_outcomes(self) -> int:
        return 6

    def start(self, s: Any) -> None:
        s.worth = 0
        s.hidden = -1
        s.opened = -1

    def player(self, s: Any) -> int:
        if s.worth == 0:
            return CHANCE
        return 0 if s.hidden < 0 else 1 if s.opened < 0 else TERMINAL

    def actions(self, s: Any, out: NDArray[np.int64]) -> int:
        n = 6 if s.worth == 0 else self.boxes
        for k in range(n):
            out[k] = k
        return n

    def chance(self, s: Any, a: int, n: int) -> float:
        return 0.5 if a == 5 else 0.1

    def apply(self, s: Any, a: int, tell: NDArray[np.int64]) -> None:
        if s.worth == 0:
            s.worth = a + 1
            tell[0] = a + 1
        elif s.hidden < 0:
            s.hidden = a
        else:
            s.opened = a
            tell[PUBLIC] = a + 1

    def utility(self, s: Any, who: int) -> float:
        u = -1.0 if s.hidden == s.opened else 1.0
        return u if who == 0 else -u

    def settled(self, s: Any) -> bool:
        return False

    def describe_action(self, s: Any, a: int) -> str:
        return f"box {a + 1}" if s.worth else f"a {a + 1}"


class TwoBoxes(Boxes):
    """Numbers do where properties did."""

    boxes = 2
    num_actions = 2
    num_outcomes = 6


def solved(game: Boxes) -> dict[int, float]:
    """What the first player does in `game` if the die shows a six."""
    return unseen.solve_exactly(game).strategy[Position(game, [5])]

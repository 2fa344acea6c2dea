"""The game in which searching from the current information set goes wrong.

Source: Figure 1 of M. Lanctot, V. Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo
counterfactual regret minimization" (2014). The payoffs follow from what the paper says of them: the value 1, the equilibrium,
3/4 for right against a uniform minimiser, and 1/2 for always-left against always-right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import CHANCE, TERMINAL, Game

LEFT, RIGHT = 0, 1


class Coordination(Game):
    """A guessing game that is played only half of the time.

    Rules: Chance goes left or right, each with probability 1/2. The first player (the maximiser), who does not see which, goes
    left or right. If chance went left the game is over. If it went right, the second player (the minimiser), who does not see
    the first one's move, guesses left or right: this is the information set I.

    Players see: the first player nothing; the second whether chance went left or right.

    Payoffs: to the first player, if chance went left, 1 for left and 0 for right; if chance went right, 3 when both went the
    same way and 0 otherwise. The only equilibrium is (1/2, 1/2) for the first player and (1/3, 2/3) for the second, and the
    value is 1. An algorithm that searches from I alone sees a symmetric game and mixes evenly, which the first player exploits
    by always going left.
    """

    state = np.dtype([("chance", "i1"), ("first", "i1"), ("second", "i1")])
    num_actions = 2
    num_outcomes = 2
    max_length = 3

    def start(self, s):
        s.chance = -1
        s.first = -1
        s.second = -1

    def player(self, s):
        if s.chance < 0:
            return CHANCE
        if s.first < 0:
            return 0
        return 1 if s.chance == RIGHT and s.second < 0 else TERMINAL

    def actions(self, s, out):
        out[0] = LEFT
        out[1] = RIGHT
        return 2

    def apply(self, s, a, tell):
        if s.chance < 0:
            s.chance = a
            tell[1] = a + 1
        elif s.first < 0:
            s.first = a
        else:
            s.second = a

    def utility(self, s, who):
        if s.chance == LEFT:
            u = 1.0 if s.first == LEFT else 0.0
        else:
            u = 3.0 if s.first == s.second else 0.0
        return u if who == 0 else -u

    def describe_action(self, s: Any, a: int) -> str:
        return f"chance {('left', 'right')[a]}" if s.chance < 0 else ("left", "right")[a]

    def render(self, s: Any, who: int) -> str:
        def show(move: int, seen: bool) -> str:
            return ("left", "right")[move] if seen and move >= 0 else "?"

        return f"chance {show(s.chance, who == 1)}, first {show(s.first, who == 0)}, second {show(s.second, who == 1)}"

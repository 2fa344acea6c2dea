"""A game in thirty lines: a coin is tossed, one player sees it, and the other has to guess whether it bluffs."""

import numpy as np

from unseen import CHANCE, PUBLIC, TERMINAL, Game


class Bluff(Game):
    """A coin is tossed; the first player sees it and may raise; the second folds or calls."""

    state = np.dtype([("coin", "i1"), ("first", "i1"), ("second", "i1")])
    num_actions = 2
    num_outcomes = 2
    max_length = 3

    def start(self, s):
        s.coin = s.first = s.second = -1

    def player(self, s):
        if s.coin < 0:
            return CHANCE
        if s.first < 0:
            return 0
        return 1 if s.first == 1 and s.second < 0 else TERMINAL

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def apply(self, s, a, tell):
        if s.coin < 0:
            s.coin = a
            tell[0] = a + 1  # the first player sees the coin, nobody else does
        elif s.first < 0:
            s.first = a
            tell[PUBLIC] = a + 1
        else:
            s.second = a
            tell[PUBLIC] = a + 1

    def utility(self, s, who):
        if s.first == 0 or s.second == 1:
            u = (2.0 if s.second == 1 else 1.0) * (1 if s.coin == 1 else -1)
        else:
            u = 1.0  # raised, and the second player folded
        return u if who == 0 else -u

    def describe_action(self, s, a):
        if s.coin < 0:
            return ("tails", "heads")[a]
        return (("check", "raise") if s.first < 0 else ("fold", "call"))[a]

    def render(self, s, who):
        coin = ("-", "tails", "heads")[s.coin + 1] if who == 0 else "?"
        return f"coin {coin}; first {('-', 'checks', 'raises')[s.first + 1]}; second {('-', 'folds', 'calls')[s.second + 1]}"

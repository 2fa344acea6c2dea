"""Oshi-Zumo: push a wrestler off the field by bidding coins.

Source: M. Buro, "Solving the Oshi-Zumo game" (2003). The rules for the end of the coins and for Alesia are OpenSpiel's.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from unseen.game import PUBLIC, TERMINAL, Game
from unseen.options import parameter

NONE = -1


class OshiZumo(Game):
    """Bid coins to push a wrestler off the far end of the field.

    Rules: A wrestler stands in the middle of a field of 2K + 1 squares, and each player has N coins. In each round both players
    bid at once, at least `min_bid` or else all they have. Both bids are spent. The higher one pushes the wrestler one square
    towards the opponent's end. The game ends when the wrestler is off the field, when nobody has a coin left, or after
    `horizon` rounds.

    Players see: both bids after each round.

    Payoffs: 1 to the player in whose opponent's half (or beyond) the wrestler ends, -1 to the other; 0 in the middle and, with
    `alesia=True`, anywhere on the field.
    """

    coins: int = parameter(6, minimum=1, maximum=100, help="coins of each player")
    size: int = parameter(2, minimum=0, maximum=20, help="squares on each side of the middle")
    min_bid: int = parameter(1, minimum=0, maximum=100, help="the least that may be bid")
    horizon: int = parameter(100, minimum=1, maximum=1000, help="rounds at most")
    alesia: bool = parameter(False, help="whether the game is drawn unless the wrestler is pushed off the field")
    state = np.dtype([("coins", "i1", (2,)), ("place", "i1"), ("bid", "i1"), ("rounds", "i2")])
    simultaneous = True

    @property
    def num_actions(self) -> int:
        return self.coins + 1

    @property
    def max_length(self) -> int:
        rounds_with_coins = ceil(self.coins / self.min_bid) if self.min_bid else self.horizon
        return 2 * min(rounds_with_coins, self.horizon)

    def start(self, s):
        s.coins[0] = self.coins
        s.coins[1] = self.coins
        s.place = 0
        s.bid = NONE  # the first player's, while the second chooses
        s.rounds = 0

    def player(self, s):
        if s.bid != NONE:
            return 1
        is_over = abs(s.place) > self.size or (s.coins[0] == 0 and s.coins[1] == 0) or s.rounds == self.horizon
        return TERMINAL if is_over else 0

    def actions(self, s, out):
        most = s.coins[0 if s.bid == NONE else 1]
        n = 0
        for bid in range(min(self.min_bid, most), most + 1):
            out[n] = bid
            n += 1
        return n

    def apply(self, s, a, tell):
        if s.bid == NONE:
            s.bid = a
            return
        tell[PUBLIC] = 1 + s.bid * (self.coins + 1) + a
        s.coins[0] -= s.bid
        s.coins[1] -= a
        s.place += 1 if s.bid > a else -1 if s.bid < a else 0
        s.bid = NONE
        s.rounds += 1

    def utility(self, s, who):
        if self.alesia and abs(s.place) <= self.size:
            return 0.0
        lead = s.place if who == 0 else -s.place
        return 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0

    def reduced(self, s):
        """The player with more coins is the first; rounds count only if the last one can come before the coins are spent."""
        if self.min_bid > 0 and s.rounds + (max(s.coins[0], s.coins[1]) + self.min_bid - 1) // self.min_bid <= self.horizon:
            s.rounds = 0
        if s.coins[0] > s.coins[1] or (s.coins[0] == s.coins[1] and s.place >= 0):
            return 0.0, 1.0
        first, second = s.coins[0], s.coins[1]
        s.coins[0] = second
        s.coins[1] = first
        s.place = -s.place
        return 0.0, -1.0

    def describe_action(self, s: Any, a: int) -> str:
        return f"bid {a}"

    def render(self, s: Any, who: int) -> str:
        squares = ["W" if place == s.place else "." for place in range(-self.size, self.size + 1)]
        ends = ["W" if s.place < -self.size else "|", "W" if s.place > self.size else "|"]
        bid = f"; your bid {s.bid}" if who == 0 and s.bid != NONE else ""
        return f"{ends[0]} {' '.join(squares)} {ends[1]}  coins {s.coins[0]} | {s.coins[1]}; rounds played {s.rounds}{bid}"

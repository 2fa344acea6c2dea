"""Kuhn poker and its generalisation to a larger deck.

Sources: H. W. Kuhn, "A simplified two-person poker", Contributions to the Theory of Games 1 (1950). One-Card Poker is the same
with more cards: G. J. Gordon, "No-regret algorithms for structured prediction problems" (2005), as used by Lanctot et al.,
"Monte Carlo sampling for regret minimization in extensive games" (2009), with 500 cards. That paper prints 22.4 million
histories; there are 1 + 500 + 500 x 499 x 9 = 2,246,001. Its information sets and M-values are as here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

PASS, BET = 0, 1
NAMES = {3: "JQK", 4: "JQKA"}


class KuhnPoker(Game):
    """Poker with one card each and a single bet.

    Rules: Each player antes 1 and gets one card of a deck of different ranks. The first player passes or bets 1. After a bet
    the other player passes (folds) or bets (calls). After a pass the second player passes, or bets, and then the first player
    passes (folds) or bets (calls). The higher card wins the pot unless somebody folded.

    Players see: their own card and every pass and bet.

    Payoffs: what is won or lost: 1 after a fold or two passes, 2 after a call.
    """

    cards: int = parameter(3, minimum=2, maximum=5000, help="cards in the deck, one of each rank")
    state = np.dtype([("card", "i2", (2,)), ("dealt", "i1"), ("moves", "i1"), ("bets", "i1"), ("over", "i1")])
    num_actions = 2
    max_length = 5

    @property
    def num_outcomes(self) -> int:
        return self.cards

    def start(self, s):
        s.card[0] = -1
        s.card[1] = -1
        s.dealt = 0
        s.moves = 0  # moves made since the deal
        s.bets = 0  # the moves that were bets, one bit each
        s.over = 0

    def player(self, s):
        if s.over:
            return TERMINAL
        return CHANCE if s.dealt < 2 else s.moves % 2

    def actions(self, s, out):
        if s.dealt == 2:
            out[0] = PASS
            out[1] = BET
            return 2
        n = 0
        for card in range(self.cards):
            if card != s.card[0]:
                out[n] = card
                n += 1
        return n

    def apply(self, s, a, tell):
        if s.dealt < 2:
            s.card[s.dealt] = a
            tell[s.dealt] = a + 1
            s.dealt += 1
            return
        s.bets |= a << s.moves
        s.moves += 1
        # Over after pass-pass, after an answered bet, and so never later than the third move.
        s.over = (s.moves == 2 and s.bets != 2) or s.moves == 3
        tell[PUBLIC] = a + 1

    def utility(self, s, who):
        first_bet, second_bet = s.bets & 5, s.bets & 2  # moves 0 and 2 are the first player's
        if (first_bet and second_bet) or s.bets == 0:
            stake = 2.0 if s.bets else 1.0
            winner = 0 if s.card[0] > s.card[1] else 1
        else:
            stake = 1.0
            winner = 0 if first_bet else 1
        return stake if winner == who else -stake

    def describe_action(self, s: Any, a: int) -> str:
        if s.dealt < 2:
            return f"deal {self.rank(a)}"
        return self.word(s.bets, a)

    def render(self, s: Any, who: int) -> str:
        moves = [self.word(s.bets & ((1 << m) - 1), s.bets >> m & 1) for m in range(s.moves)]
        hands = [self.rank(card) if owner == who and card >= 0 else "?" for owner, card in enumerate(s.card)]
        return f"cards {hands[0]} {hands[1]}, moves: {' '.join(moves) or 'none'}"

    @staticmethod
    def word(bets: int, a: int) -> str:
        """What a move is called after the `bets` before it."""
        return ("call" if a == BET else "fold") if bets else ("bet" if a == BET else "pass")

    def rank(self, card: int) -> str:
        return NAMES[self.cards][card] if self.cards in NAMES else str(card + 1)


class OneCardPoker(KuhnPoker):
    """Kuhn poker with a deck of 500 cards.

    Rules: As in Kuhn poker: ante 1, one card each, a single bet of 1, the higher card wins.

    Players see: their own card and every pass and bet.

    Payoffs: what is won or lost: 1 after a fold or two passes, 2 after a call.
    """

    cards: int = parameter(500, minimum=2, maximum=5000, help="cards in the deck, one of each rank")

"""Leduc poker.

Source: F. Southey et al., "Bayes' bluff: opponent modelling in poker" (2005). The rules are those of OpenSpiel's game.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.errors import UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

FOLD, CALL, RAISE = 0, 1, 2
MAX_RAISES = 2
RANK_NAMES = "23456789TJQKA"
SUIT_NAMES = "♠♥♦♣"


class LeducPoker(Game):
    """Poker with two rounds of betting, one private card each and one public card.

    Rules: The deck has two suits of three ranks (J, Q, K). Each player antes 1 and gets a card. In the first round of betting a
    raise is 2, in the second 4; there are at most two raises a round; the first player begins both rounds. Between the rounds a
    public card is turned up. Whoever has the rank of the public card wins, else the higher rank; equal ranks share the pot.

    Players see: their own card, the public card and every fold, call and raise. With `suits_seen=False` they see the
    ranks of cards only, which changes nothing in play and makes 288 information sets of the usual 936.

    Payoffs: what is won or lost.
    """

    ranks: int = parameter(3, minimum=2, maximum=13, help="ranks in the deck")
    suits: int = parameter(2, minimum=1, maximum=4, help="cards of each rank")
    suits_seen: bool = parameter(True, help="whether players see the suits of cards")
    state = np.dtype([
        ("card", "i1", (2,)), ("board", "i1"), ("paid", "i1", (2,)),
        ("street", "i1"), ("turn", "i1"), ("moves", "i1"), ("raises", "i1"), ("over", "i1"), ("folded", "i1"),
    ])  # fmt: skip
    num_actions = 3
    max_length = 11

    @property
    def num_outcomes(self) -> int:
        return self.ranks * self.suits

    def validate(self) -> None:
        if self.ranks * self.suits < 3:
            raise UnseenError(f"leduc_poker: ranks={self.ranks} and suits={self.suits} make fewer than 3 cards; 3 are dealt.")

    def start(self, s):
        s.card[0] = -1
        s.card[1] = -1
        s.board = -1
        s.paid[0] = 1
        s.paid[1] = 1
        s.street = 0
        s.turn = 0
        s.moves = 0  # in this round
        s.raises = 0  # in this round
        s.over = 0
        s.folded = -1

    def player(self, s):
        if s.over:
            return TERMINAL
        if s.card[1] < 0 or (s.street == 1 and s.board < 0):
            return CHANCE
        return s.turn

    def actions(self, s, out):
        n = 0
        if s.card[1] < 0 or (s.street == 1 and s.board < 0):
            for card in range(self.ranks * self.suits):
                if card != s.card[0] and card != s.card[1]:
                    out[n] = card
                    n += 1
            return n
        if s.paid[s.turn] < s.paid[1 - s.turn]:
            out[n] = FOLD
            n += 1
        out[n] = CALL
        n += 1
        if s.raises < MAX_RAISES:
            out[n] = RAISE
            n += 1
        return n

    def apply(self, s, a, tell):
        if s.card[1] < 0:
            who = 0 if s.card[0] < 0 else 1
            s.card[who] = a
            tell[who] = self.token(a)
        elif s.street == 1 and s.board < 0:
            s.board = a
            tell[PUBLIC] = self.token(a)
        else:
            self.bet(s, a)
            tell[PUBLIC] = a + 1

    def bet(self, s, a):
        other = 1 - s.turn
        if a == FOLD:
            s.folded = s.turn
            s.over = 1
            return
        s.paid[s.turn] = s.paid[other]
        s.moves += 1
        if a == RAISE:
            s.paid[s.turn] += 2 if s.street == 0 else 4
            s.raises += 1
            s.turn = other
        elif s.moves == 1:
            s.turn = other
        elif s.street == 0:
            s.street = 1
            s.turn = 0
            s.moves = 0
            s.raises = 0
        else:
            s.over = 1

    def token(self, card):
        return 1 + (card if self.suits_seen else card // self.suits)

    def strength(self, s, who):
        rank = s.card[who] // self.suits
        return rank + (self.ranks if rank == s.board // self.suits else 0)

    def utility(self, s, who):
        if s.folded >= 0:
            winner = 1 - s.folded
        else:
            mine, theirs = self.strength(s, 0), self.strength(s, 1)
            if mine == theirs:
                return 0.0
            winner = 0 if mine > theirs else 1
        stake = float(s.paid[1 - winner])
        return stake if winner == who else -stake

    @property
    def encoding_size(self) -> int:
        return 2 * self.ranks + 6

    def encode(self, s, who, out):
        """Its rank, that of the public card, whether they are the same, what both have paid, the raises of this round, the seat."""
        out[s.card[who] // self.suits] = 1.0
        if s.board >= 0:
            out[self.ranks + s.board // self.suits] = 1.0
            out[2 * self.ranks] = 1.0 if s.board // self.suits == s.card[who] // self.suits else 0.0
            out[2 * self.ranks + 1] = 1.0
        out[2 * self.ranks + 2] = s.paid[who] / 13.0
        out[2 * self.ranks + 3] = s.paid[1 - who] / 13.0
        out[2 * self.ranks + 4] = s.raises / 2.0
        out[2 * self.ranks + 5] = float(who)

    def describe_action(self, s: Any, a: int) -> str:
        if self.player(s) == CHANCE:
            return f"{'deal' if s.street == 0 else 'turn up'} {self.card_name(a)}"
        facing_raise = s.paid[s.turn] < s.paid[1 - s.turn]
        return ("fold", "call" if facing_raise else "check", "raise")[a]

    def render(self, s: Any, who: int) -> str:
        hands = [self.card_name(card) if owner == who and card >= 0 else "?" for owner, card in enumerate(s.card)]
        board = self.card_name(s.board) if s.board >= 0 else "-"
        return f"cards {hands[0]} {hands[1]}, board {board}, round {s.street + 1}, paid {s.paid[0]}:{s.paid[1]}, raises {s.raises}"

    def card_name(self, card: int) -> str:
        names = "JQK" if self.ranks == 3 else RANK_NAMES[-self.ranks :]
        return names[card // self.suits] + (SUIT_NAMES[card % self.suits] if self.suits_seen else "")

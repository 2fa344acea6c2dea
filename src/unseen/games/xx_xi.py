"""XX and XI, two card games that show what averaging over clairvoyant play gets wrong.

Source: F. Wisser, "Evaluating the performance of Presumed Payoff Perfect Information Monte Carlo sampling against optimal
strategies" (2016): rules in the text, trees in Figures 1 and 2, the payoffs of several algorithms in Table 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import CHANCE, PUBLIC, TERMINAL, Game

CARDS = ("♠A", "♥A", "♦A", "♣A")
FOLD, CALL = 0, 1
MATCH, DIFF = 0, 1


class XX(Game):
    """Fold for a sure win, or bet on the colour of a card you cannot see.

    Rules: MAX (the first player) and MIN get one of four aces each; the other two stay face down. MAX folds or calls. After a
    call MAX bets that the two cards match in colour (match) or that they do not (diff). MIN has no decision.

    Players see: their own card and every move.

    Payoffs: to MAX: fold 1; match 2 if the colours match, else -1; diff 1 if they differ, else -2. Calling is worth 0, whichever
    follows. An algorithm that lets each world choose its own bet believes it is worth 4/3.
    """

    state = np.dtype([("card", "i1", (2,)), ("first", "i1"), ("bet", "i1")])
    num_actions = 2
    num_outcomes = 4
    max_length = 4
    better = 0
    """The player who bets after a call."""
    fold_payoff = 1.0

    def start(self, s):
        s.card[0] = -1
        s.card[1] = -1
        s.first = -1
        s.bet = -1

    def player(self, s):
        if s.card[1] < 0:
            return CHANCE
        if s.first < 0:
            return 0
        return TERMINAL if s.first == FOLD or s.bet >= 0 else self.better

    def actions(self, s, out):
        if s.card[1] >= 0:
            out[0] = 0
            out[1] = 1
            return 2
        n = 0
        for card in range(4):
            if card != s.card[0]:
                out[n] = card
                n += 1
        return n

    def apply(self, s, a, tell):
        if s.card[1] < 0:
            who = 0 if s.card[0] < 0 else 1
            s.card[who] = a
            tell[who] = a + 1
            return
        if s.first < 0:
            s.first = a
        else:
            s.bet = a
        tell[PUBLIC] = a + 1

    def is_red(self, card):
        return card == 1 or card == 2

    def utility(self, s, who):
        same = self.is_red(s.card[0]) == self.is_red(s.card[1])
        if s.first == FOLD:
            u = self.fold_payoff
        elif s.bet == MATCH:
            u = 2.0 if same else -1.0
        else:
            u = -2.0 if same else 1.0
        return u if who == 0 else -u

    def describe_action(self, s: Any, a: int) -> str:
        if s.card[1] < 0:
            return f"deal {CARDS[a]}"
        return ("fold", "call")[a] if s.first < 0 else ("match", "diff")[a]

    def render(self, s: Any, who: int) -> str:
        hands = [CARDS[card] if owner == who and card >= 0 else "?" for owner, card in enumerate(s.card)]
        moves = [("fold", "call")[s.first]] if s.first >= 0 else []
        moves += [("match", "diff")[s.bet]] if s.bet >= 0 else []
        return f"MAX {hands[0]}, MIN {hands[1]}, moves: {' '.join(moves) or 'none'}"


class XI(XX):
    """Fold for a sure loss, or let the opponent bet on the colour of a card it cannot see.

    Rules: As in XX, but folding costs 1, and after a call it is MIN who chooses match or diff.

    Players see: their own card and every move.

    Payoffs: to MAX: fold -1; match 2 if the colours match, else -1; diff 1 if they differ, else -2. Calling is worth 0 because
    MIN cannot see MAX's card; an algorithm that lets MIN see everything believes it is worth -4/3, and folds.
    """

    better = 1
    fold_payoff = -1.0

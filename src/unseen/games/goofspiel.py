"""Goofspiel, the game of pure strategy, in the forms that the papers use.

Sources: the game is M. Flood's (1930s). With hidden bids and prizes in ascending order it is the Goofspiel of M. Lanctot, K.
Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009), and II-Goofspiel
of M. Lanctot, V. Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo counterfactual regret
minimization" (2014). With open bids it is WL-Goof and PD-Goof of M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search
in simultaneous move games with applications to Goofspiel" (2013). A. Kitchen and M. Benedetti number the cards from
0 in "ExpIt-OOS: Towards learning from planning in imperfect information games" (2018).

The 2009 paper's counts for 7 cards (98.3 million histories, 3,294 thousand information sets, length 14) are those of
`ii_goofspiel(cards=7)`. Its M-value, 89,884 for each player, is not: by the paper's definition (the sum, over a player's own
bids so far, of the root of the number of information sets with these bids) it is 114,112, of which 1 + 11 + 112 + 902 + 5,718 +
26,665 + 80,702 come from the seven rounds. Other ways to group the last rounds come near the printed number, none gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

ASCENDING, DESCENDING, SHUFFLED = 0, 1, 2
WIN_LOSS, POINT_DIFFERENCE = 0, 1
FIRST, SECOND, TIE = 1, 2, 3
NONE = -1


class Goofspiel(Game):
    """Bid your cards, each of them once, for the prizes that are turned up one by one.

    Rules: Each player has the cards 1 to N. A third set of the same cards is the stack of prizes, in ascending, descending or
    random order. For each prize both players choose a card at once; the higher card takes the prize, and if they are equal nobody
    does. Both cards are then gone. The last round is played like the others, although each player has only one card left.

    Players see: the prize, and after each round both cards; or, with `bids_seen=False`, only who won the round.

    Payoffs: 1 to whoever has more points in the end, -1 to the other, 0 for a tie; or, with `payoff=point_difference`, the
    difference of the points.
    """

    cards: int = parameter(4, minimum=1, maximum=13, help="cards of each player, and prizes")
    order: Any = parameter("shuffled", choices=("ascending", "descending", "shuffled"), help="the order of the prizes")
    bids_seen: bool = parameter(True, help="whether both cards are shown after a round, or only who won it")
    payoff: Any = parameter("win_loss", choices=("win_loss", "point_difference"), help="what is paid in the end")
    lowest: int = parameter(1, minimum=0, maximum=1, help="the number on the lowest card, and what the lowest prize is worth")
    state = np.dtype([("hand", "i2", (2,)), ("prizes", "i2"), ("prize", "i1"), ("bid", "i1"), ("lead", "i1")])
    simultaneous = True

    @property
    def num_actions(self) -> int:
        return self.cards

    @property
    def num_outcomes(self) -> int:
        return self.cards if self.order == SHUFFLED else 0

    @property
    def max_length(self) -> int:
        return (3 if self.order == SHUFFLED else 2) * self.cards

    @property
    def chance_fields(self) -> tuple[str, ...]:
        is_sum = self.payoff == POINT_DIFFERENCE and self.order == SHUFFLED and self.bids_seen
        return ("prizes",) if is_sum else ()

    def start(self, s):
        full = (1 << self.cards) - 1  # a bit for each card
        s.hand[0] = full
        s.hand[1] = full
        s.prizes = full  # those still in the stack
        s.prize = NONE
        s.bid = NONE  # the first player's, while the second chooses
        s.lead = 0  # points of the first player less those of the second
        if self.order != SHUFFLED:
            self.turn_up(s, 0 if self.order == ASCENDING else self.cards - 1)

    def turn_up(self, s, prize):
        s.prize = prize
        s.prizes &= ~(1 << prize)

    def player(self, s):
        if s.prize == NONE:
            return CHANCE if s.prizes else TERMINAL
        return 0 if s.bid == NONE else 1

    def bits(self, s):
        return s.prizes if s.prize == NONE else s.hand[0] if s.bid == NONE else s.hand[1]

    def actions(self, s, out):
        left, n = self.bits(s), 0
        for card in range(self.cards):
            out[n] = card  # the next one overwrites it if it is not there; a branch would be harder to foresee
            n += left >> card & 1
        return n

    def apply(self, s, a, tell):
        if s.prize == NONE:
            self.turn_up(s, a)
            tell[PUBLIC] = a + 1
        elif s.bid == NONE:
            s.hand[0] &= ~(1 << a)
            s.bid = a
        else:
            s.hand[1] &= ~(1 << a)
            result = FIRST if s.bid > a else SECOND if s.bid < a else TIE
            tell[PUBLIC] = 1 + s.bid * self.cards + a if self.bids_seen else result
            if result != TIE:
                worth = s.prize + self.lowest
                s.lead += worth if result == FIRST else -worth
            self.next_round(s)

    def next_round(self, s):
        last = s.prize
        s.bid = NONE
        s.prize = NONE
        if self.order != SHUFFLED and s.prizes:
            self.turn_up(s, last + 1 if self.order == ASCENDING else last - 1)

    def utility(self, s, who):
        lead = s.lead if who == 0 else -s.lead
        if self.payoff == POINT_DIFFERENCE:
            return float(lead)
        return 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0

    def settled(self, s):
        """A lead that is greater than all prizes to come decides who wins."""
        if self.payoff == POINT_DIFFERENCE:
            return False
        lead = abs(s.lead)
        for card in range(self.cards):
            if (s.prizes >> card & 1) or card == s.prize:
                lead -= card + self.lowest
        return lead > 0

    def reduced(self, s):
        """Points so far count as such, of the cards only the order counts, and the better hand is the first player's."""
        if not self.bids_seen:
            return 0.0, 1.0
        decided = 0.0
        if self.payoff == POINT_DIFFERENCE:
            decided = float(s.lead)
            s.lead = 0
        first, second = s.hand[0], s.hand[1]
        while True:
            for _ in range(2):  # after a round two cards may be missing; close the lowest gap, or none
                held = first | second
                below = (held + 1 & ~held) - 1
                first = first & below | first >> 1 & ~below
                second = second & below | second >> 1 & ~below
            held = first | second
            if held & (held + 1) == 0:
                break
        is_second_better = (first < second) | ((first == second) & (s.lead < 0))
        s.hand[0] = second if is_second_better else first
        s.hand[1] = first if is_second_better else second
        s.lead = -s.lead if is_second_better else s.lead
        return decided, -1.0 if is_second_better else 1.0

    @property
    def encoding_size(self) -> int:
        return 4 * self.cards + 2

    def encode(self, s, who, out):
        """The prize, those to come, its own cards, the other's if they are seen, who leads and by how much, and the seat."""
        n, other = self.cards, s.hand[1 - who] | (1 << s.bid if s.bid != NONE else 0)  # a bid is a secret until both are made
        out[s.prize] = 1.0
        for card in range(n):
            out[n + card] = s.prizes >> card & 1
            out[2 * n + card] = s.hand[who] >> card & 1
            out[3 * n + card] = other >> card & 1 if self.bids_seen else 0
        out[4 * n] = (s.lead if who == 0 else -s.lead) / n
        out[4 * n + 1] = float(who)

    def describe_action(self, s: Any, a: int) -> str:
        return f"{'prize' if s.prize == NONE else 'bid'} {a + self.lowest}"

    def render(self, s: Any, who: int) -> str:
        held = [s.hand[0] | (1 << s.bid if s.bid != NONE and who != 0 else 0), s.hand[1]]  # a bid is a secret until both are made
        hands = [self.card_names(hand) if self.bids_seen or owner == who else "?" for owner, hand in enumerate(held)]
        prize = "-" if s.prize == NONE else s.prize + self.lowest
        order = -1 if self.order == DESCENDING else 1
        to_come = " ".join(self.card_names(s.prizes).split()[::order])
        bid = f"; your bid {s.bid + self.lowest}" if who == 0 and s.bid != NONE else ""
        score = "level" if s.lead == 0 else f"{'first' if s.lead > 0 else 'second'} leads by {abs(s.lead)}"
        return f"prize {prize}, to come {to_come}; hands {hands[0]} | {hands[1]}; {score}{bid}"

    def card_names(self, mask: int) -> str:
        return " ".join(str(card + self.lowest) for card in range(self.cards) if mask >> card & 1) or "-"


class IIGoofspiel(Goofspiel):
    """Goofspiel in which bids stay hidden: you learn only who won each prize.

    Rules: As in `goofspiel`, with the prizes in ascending order.

    Players see: after each round who won it, and no cards but their own.

    Payoffs: 1 to whoever has more points in the end, -1 to the other, 0 for a tie.
    """

    name = "ii_goofspiel"
    order = "ascending"
    bids_seen = False


class WLGoofspiel(Goofspiel):
    """Goofspiel with open bids and shuffled prizes, for a win or a loss.

    Rules: As in `goofspiel`, with the prizes in random order.

    Players see: the prize, and after each round both cards.

    Payoffs: 1 to whoever has more points in the end, -1 to the other, 0 for a tie. The paper on simultaneous-move search prints win
    rates instead: 1, 0 and 1/2.
    """

    name = "wl_goofspiel"


class PDGoofspiel(Goofspiel):
    """Goofspiel with open bids and shuffled prizes, for the difference of the points.

    Rules: As in `goofspiel`, with the prizes in random order.

    Players see: the prize, and after each round both cards.

    Payoffs: the difference of the points.
    """

    name = "pd_goofspiel"
    payoff = "point_difference"

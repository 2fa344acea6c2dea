"""Schnapsen, the Austrian game of sixty-six points for two.

Source: K. Waclena and J. McLeod, "Schnapsen" (pagat.com); F. Wisser, "Creating possible worlds using sims tables for the imperfect
information card game Schnapsen" (2010). Three things are done for the players: whoever has enough points says so at once (so nobody
claims in vain, or too late), tricks stay face up, and the last card of the talon is taken without asking.

A hand is dealt lowest card first, with the probabilities that this has when the pack was shuffled; so there is one way to deal it,
and a player that has been dealt a hand has seen the same however the cards lay.
"""

from __future__ import annotations

from math import comb, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.compiling.bits import bit_count
from unseen.errors import UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

MOST_CARDS = 20
POINTS = np.array([2, 3, 4, 10, 11])
JACK, QUEEN, KING = 0, 1, 2
RANK_NAMES = ("J", "Q", "K", "10", "A")
SUIT_NAMES = "♠♥♦♣"
NONE = -1
MARRIAGE, ROYAL_MARRIAGE = 20, 40
LEAST_TO_CLOSE = 3
"""Cards of the talon that must be there for closing and exchanging."""
HAND_SIZES = 5
WAYS = np.array([[comb(n, k) for k in range(HAND_SIZES + 1)] for n in range(MOST_CARDS + 1)])
"""Ways to choose k of n cards."""
SHARES = (0.39, 0.34, 0.27)
"""How often the winner of a deal gets 1, 2 and 3 game points: in 300 deals between `ppp`, `pimc` and `ismcts`."""


def chances_to_win(target: int) -> NDArray[np.float64]:
    """The chance of the first of two equal players to win a match when they still need so many game points, (t + 1, t + 1)."""
    table = np.full((target + 1, target + 1), 0.5)
    table[0, :], table[:, 0] = 1.0, 0.0
    for mine in range(1, target + 1):
        for theirs in range(1, target + 1):
            won = sum(share * table[max(mine - n, 0), theirs] for n, share in enumerate(SHARES, 1))
            lost = sum(share * table[mine, max(theirs - n, 0)] for n, share in enumerate(SHARES, 1))
            table[mine, theirs] = (won + lost) / 2.0
    return table


LONGEST_MATCH = 21
TO_WIN = chances_to_win(LONGEST_MATCH)


@piece
def low_card(cards):
    """The lowest of a set of cards."""
    return bit_count((cards & -cards) - 1)


@piece
def high_card(cards):
    """The highest of a set of cards, -1 if there is none."""
    for k in range(5):
        cards |= cards >> (1 << k)
    return bit_count(cards) - 1


class Schnapsen(Game):
    """The most popular card game of Austria: first to 66 points in tricks and marriages, of 20 cards of which ten are yet to come.

    Rules: A (11 points), 10 (10), K (4), Q (3) and J (2) of four suits are shuffled. Each player gets five cards, the next is
    turned up, which makes its suit trump, and goes face up under the others: the talon. A player leads a card and the other plays
    one. The higher card of the suit led wins the trick, or the higher trump; the points of both cards are the winner's, who leads
    to the next trick. While the talon is open any card may be played, and after a trick both draw a card, the winner first; the
    last one is the trump that lies open. Then, or when the talon is closed, the second card must be of the suit led, and higher if
    possible; without that suit a trump; without trumps any.

    Who is about to lead may, before that, show a marriage, king and queen of a suit: 20 points, 40 in trumps, which count once
    its owner has a trick; one of the two must be led. It may exchange the trump jack for the trump that lies open, and close the
    talon, both as long as the talon has more than two cards. Whoever has 66 points wins: 3 game points if the other has no trick,
    2 if it has fewer than 33 points, otherwise 1. If the talon was closed, the other's tricks and points of that moment count; and
    if who closed it does not get to 66 first, the other gets 2, or 3 if it had no trick then. If nobody gets there, the last trick
    wins 1. With `match=7` deals go on, the players leading in turn, until one has 7 game points.

    Players see: their own cards, the trump that lies open, everything that is played, shown, exchanged and closed; not what
    the other draws.

    Payoffs: the game points of one deal; with `match` 1 to the winner of the match, -1 to the loser.
    """

    suits: int = parameter(4, minimum=2, maximum=4, help="suits in the pack")
    ranks: int = parameter(5, minimum=3, maximum=5, help="cards of a suit: J, Q, K, 10, A, from below")
    hand: int = parameter(5, minimum=1, maximum=HAND_SIZES, help="cards in a hand")
    target: int = parameter(66, minimum=5, maximum=200, help="points that win")
    match: int = parameter(0, minimum=0, maximum=LONGEST_MATCH, help="game points that win a match; 0: one deal")
    state = np.dtype([
        ("cards", "i4", (2,)), ("gone", "i4"), ("points", "i2", (2,)), ("has_trick", "i1", (2,)), ("open", "i1"), ("trump", "i1"),
        ("led", "i1"), ("shown", "i1"), ("turn", "i1"), ("draws", "i1"), ("closed", "i1"), ("stake", "i1"), ("winner", "i1"),
        ("won", "i1"), ("score", "i1", (2,)), ("leads", "i1"),
    ])  # fmt: skip
    predetermined = True
    error_horizon = 2

    @property
    def pack(self) -> int:
        return self.suits * self.ranks

    @property
    def num_actions(self) -> int:
        return self.suits * self.ranks + self.suits + 2

    @property
    def num_outcomes(self) -> int:
        return self.suits * self.ranks

    @property
    def max_length(self) -> int:
        deal = max(self.longest_deal(tricks) for tricks in range(1, self.pack // 2 + 1))
        return deal * max(2 * self.match - 1, 1)

    def longest_deal(self, tricks: int) -> int:
        """A bound for the moves of a deal with so many tricks: nobody had won before the last of them."""
        talon = self.pack - 2 * self.hand
        before = sum(sorted(POINTS[: self.ranks].tolist() * self.suits)[: 2 * tricks - 2])
        # Both have fewer points than it takes; or one has all, and the other a marriage that does not count yet.
        marriages = max((2 * self.target - 2 - before) // MARRIAGE, 1 + (self.target - 1 - before) // MARRIAGE)
        if marriages < 0:
            return 0
        marriages = min(marriages, self.suits) if self.hand > 1 else 0
        draws = min(2 * tricks - 2, talon - 1)
        return 2 * self.hand + 1 + 2 * tricks + draws + marriages + (talon >= LEAST_TO_CLOSE)

    def validate(self) -> None:
        talon = self.suits * self.ranks - 2 * self.hand
        if talon < 2 or talon % 2:
            raise UnseenError(
                f"{self.name}: suits={self.suits}, ranks={self.ranks} and hand={self.hand} leave {talon} cards for the talon, "
                "which must be an even number and at least 2."
            )

    # A deal -----------------------------------------------------------------------------------------------------------------

    def start(self, s):
        s.score[0] = 0
        s.score[1] = 0
        s.leads = 0  # who leads first in this deal
        self.start_deal(s)

    def start_deal(self, s):
        for who in range(2):
            s.cards[who] = 0
            s.points[who] = 0
            s.has_trick[who] = 0
        s.gone = 0  # cards of tricks
        s.open = NONE  # the trump that lies open
        s.trump = NONE  # its suit
        s.led = NONE
        s.shown = NONE  # the suit of a marriage of which a card must be led
        s.turn = s.leads
        s.draws = 0
        s.closed = NONE  # by whom
        s.stake = 0  # what the one who closed the talon plays for
        s.winner = NONE
        s.won = 0

    def player(self, s):
        if s.winner >= 0:
            return TERMINAL
        return CHANCE if s.trump == NONE or s.draws > 0 else s.turn

    def dealt_to(self, s):
        """Who is being dealt a hand; 2 if nobody is."""
        if bit_count(s.cards[s.leads]) < self.hand:
            return s.leads
        return 1 - s.leads if bit_count(s.cards[1 - s.leads]) < self.hand else 2

    def hidden(self, s):
        """The cards that lie face down."""
        known = s.cards[0] | s.cards[1] | s.gone
        if s.open != NONE:
            known |= 1 << s.open
        if s.led != NONE:
            known |= 1 << s.led
        return ((1 << (self.suits * self.ranks)) - 1) & ~known

    def outcomes(self, s):
        """The cards that chance may give next, as bits."""
        cards = self.hidden(s)
        if s.trump == NONE:
            who = self.dealt_to(s)
            if who < 2:  # the next lowest of a hand; enough must be left for the rest of it
                cards = (cards >> (high_card(s.cards[who]) + 1)) << (high_card(s.cards[who]) + 1)
                for _ in range(self.hand - bit_count(s.cards[who]) - 1):
                    cards &= ~(1 << high_card(cards))
        return cards

    def chance(self, s, a, n):
        if s.trump == NONE:
            who = self.dealt_to(s)
            if who < 2:
                missing = self.hand - bit_count(s.cards[who])
                cards = self.hidden(s)
                above, left = bit_count(cards >> (a + 1)), bit_count(cards >> (high_card(s.cards[who]) + 1))
                return WAYS[above, missing - 1] / WAYS[left, missing]
        return 1.0 / n

    # Moves ------------------------------------------------------------------------------------------------------------------

    def suit_cards(self, suit):
        """All cards of a suit."""
        return ((1 << self.ranks) - 1) << (suit * self.ranks)

    def pair(self, suit):
        """King and queen of a suit."""
        return (1 << QUEEN | 1 << KING) << (suit * self.ranks)

    def playable(self, s):
        """The cards that the player to move may play, as bits."""
        mine = s.cards[s.turn]
        if s.led == NONE:
            return mine & self.pair(s.shown) if s.shown != NONE else mine
        if s.closed == NONE and s.open != NONE:
            return mine
        follows = mine & self.suit_cards(s.led // self.ranks)
        beats = follows >> (s.led + 1) << (s.led + 1)
        if beats:
            return beats
        if follows:
            return follows
        trumps = mine & self.suit_cards(s.trump)
        return trumps if trumps else mine

    def is_open(self, s):
        """Whether the talon can be closed, and the jack exchanged."""
        return s.closed == NONE and s.open != NONE and bit_count(self.hidden(s)) + 1 >= LEAST_TO_CLOSE

    def bits(self, s):
        if s.trump == NONE or s.draws > 0:
            return self.outcomes(s)
        legal = self.playable(s)
        if s.led == NONE and s.shown == NONE:
            cards = self.suits * self.ranks
            for suit in range(self.suits):
                if s.cards[s.turn] & self.pair(suit) == self.pair(suit):
                    legal |= 1 << (cards + suit)
            if self.is_open(s):
                if s.cards[s.turn] >> (s.trump * self.ranks + JACK) & 1:
                    legal |= 1 << (cards + self.suits)
                legal |= 1 << (cards + self.suits + 1)
        return legal

    def actions(self, s, out):
        legal, n = self.bits(s), 0
        while legal:
            out[n] = low_card(legal)
            legal &= legal - 1
            n += 1
        return n

    def apply(self, s, a, tell):
        cards = self.suits * self.ranks
        if s.trump == NONE:
            self.deal(s, a, tell)
        elif s.draws > 0:
            self.draw(s, a, tell)
        else:
            tell[PUBLIC] = a + 1
            if a < cards:
                self.play(s, a)
            elif a < cards + self.suits:
                s.shown = a - cards
                s.points[s.turn] += ROYAL_MARRIAGE if s.shown == s.trump else MARRIAGE
                self.count_points(s, s.turn)
            elif a == cards + self.suits:
                jack = s.trump * self.ranks + JACK
                s.cards[s.turn] ^= 1 << jack | 1 << s.open
                s.open = jack
            else:
                s.closed = s.turn
                s.stake = self.worth_of(s, 1 - s.turn)

    def deal(self, s, a, tell):
        who = self.dealt_to(s)
        if who < 2:
            s.cards[who] |= 1 << a
            tell[who] = a + 1
        else:
            s.open = a
            s.trump = a // self.ranks
            tell[PUBLIC] = a + 1

    def draw(self, s, a, tell):
        """The player to draw gets card `a`; the other the one that lies open, if it is the last."""
        who = s.turn if s.draws == 2 else 1 - s.turn
        s.cards[who] |= 1 << a
        tell[who] = a + 1
        s.draws -= 1
        if s.draws == 1 and self.hidden(s) == 0:
            s.cards[1 - who] |= 1 << s.open
            tell[PUBLIC] = s.open + 1
            s.open = NONE
            s.draws = 0

    def play(self, s, a):
        s.cards[s.turn] ^= 1 << a
        s.shown = NONE
        if s.led == NONE:
            s.led = a
            s.turn = 1 - s.turn
            return
        is_beaten = a > s.led if a // self.ranks == s.led // self.ranks else a // self.ranks == s.trump
        winner = s.turn if is_beaten else 1 - s.turn
        s.gone |= 1 << a | 1 << s.led
        s.points[winner] += POINTS[a % self.ranks] + POINTS[s.led % self.ranks]
        s.has_trick[winner] = 1
        s.led = NONE
        s.turn = winner
        self.count_points(s, winner)
        if s.winner >= 0 or s.trump == NONE:  # the deal is over
            return
        if s.cards[0] == 0 and s.cards[1] == 0 and s.open == NONE:
            self.end_deal(s, winner, 1)
        elif s.closed != NONE:
            if s.cards[0] == 0 and s.cards[1] == 0:
                self.end_deal(s, 1 - s.closed, 3 if s.stake == 3 else 2)
        elif s.open != NONE:
            s.draws = 2

    def worth_of(self, s, loser):
        """What winning now against `loser` is worth."""
        if not s.has_trick[loser]:
            return 3
        return 2 if s.points[loser] < (self.target + 1) // 2 else 1

    def count_points(self, s, who):
        """End the deal if `who` has enough points."""
        if s.points[who] >= self.target and s.has_trick[who]:
            if s.closed == NONE:
                self.end_deal(s, who, self.worth_of(s, 1 - who))
            elif s.closed == who:
                self.end_deal(s, who, s.stake)
            else:
                self.end_deal(s, who, 3 if s.stake == 3 else 2)

    def end_deal(self, s, winner, won):
        if self.match == 0:
            s.winner = winner
            s.won = won
            return
        s.score[winner] += won
        if s.score[winner] >= self.match:
            s.winner = winner
            s.won = 1
        else:
            s.leads = 1 - s.leads
            self.start_deal(s)

    def utility(self, s, who):
        return float(s.won if s.winner == who else -s.won)

    # Hints ------------------------------------------------------------------------------------------------------------------

    def most(self, s, who):
        if self.match > 0:
            return np.inf
        if s.closed == who:
            return float(s.stake)
        if s.closed != NONE:
            return 3.0 if s.stake == 3 else 2.0
        most = self.worth_of(s, 1 - who)
        if self.is_open(s) and most < 3:  # the other may close the talon in vain
            most = 2 if s.has_trick[who] else 3
        return float(most)

    def between_rounds(self, s):
        return self.match > 0 and s.trump == NONE and s.cards[s.leads] == 0

    def ahead(self, s, who):
        if self.match == 0:
            return self.utility(s, who)
        return float(s.score[who] - s.score[1 - who])

    def worth(self, s, who):
        if s.winner >= 0 or self.match == 0:
            return self.utility(s, who)
        return 2.0 * TO_WIN[self.match - s.score[who], self.match - s.score[1 - who]] - 1.0

    def knowledge(self, s, who):
        # The other knows that this hand is one of so many; as a share of what it did not know when the hands were dealt.
        mine = bit_count(s.cards[who])
        ways = WAYS[bit_count(self.hidden(s)) + mine, mine] if s.open != NONE else 1
        most = WAYS[self.suits * self.ranks - self.hand - 1, self.hand]
        return min(max(1.0 - log(ways) / log(most), 0.0), 1.0)

    # Words ------------------------------------------------------------------------------------------------------------------

    def describe_action(self, s: Any, a: int) -> str:
        if s.trump == NONE:
            return f"deal {self.card_name(a)}" if self.dealt_to(s) < 2 else f"turn up {self.card_name(a)}"
        if s.draws > 0:
            return f"draw {self.card_name(a)}"
        if a < self.pack:
            return self.card_name(a)
        suit = a - self.pack
        if suit < self.suits:
            return f"marriage {SUIT_NAMES[suit]} ({ROYAL_MARRIAGE if suit == s.trump else MARRIAGE})"
        return f"exchange for {self.card_name(s.open)}" if suit == self.suits else "close"

    def card_name(self, card: int) -> str:
        return RANK_NAMES[card % self.ranks] + SUIT_NAMES[card // self.ranks]

    def card_names(self, cards: int) -> str:
        """Cards by suit, the highest first; the suits apart."""
        names = []
        for suit in range(self.suits):
            held = [card for card in reversed(range(suit * self.ranks, (suit + 1) * self.ranks)) if cards >> card & 1]
            names += [" ".join(map(self.card_name, held))] if held else []
        return "  ".join(names) or "-"

    def render(self, s: Any, who: int) -> str:
        lines = []
        if self.match:
            lines.append(f"match: {s.score[0]} to {s.score[1]}, of {self.match}")
        if s.trump == NONE and s.winner < 0:
            talon = "the cards are being dealt"
        else:
            talon = f"trump {SUIT_NAMES[s.trump]}, "
            if s.closed != NONE:
                talon += f"closed by player {s.closed + 1}"
            elif s.open != NONE:
                under = max(bit_count(self.hidden(s)) - s.draws, 0)  # nobody sees when the other draws
                talon += f"{self.card_name(s.open)} lies open under {under} {'card' if under == 1 else 'cards'}"
            else:
                talon += "the talon is gone"
        lines.append(talon)
        if who == PUBLIC:
            lines.append(f"player 1 has {s.points[0]} points, player 2 has {s.points[1]}")
        else:
            lines.append(f"you have {s.points[who]} points, player {2 - who} has {s.points[1 - who]}")
        if s.gone:
            lines.append(f"played: {self.card_names(s.gone)}")
        if s.led != NONE:
            lines.append(f"led by player {2 - s.turn}: {self.card_name(s.led)}")
        if who != PUBLIC:
            lines.append(f"your cards: {self.card_names(s.cards[who])}")
        if s.winner >= 0:
            what = f"the match, {s.score[s.winner]} to {s.score[1 - s.winner]}" if self.match else f"{s.won}"
            lines.append(f"player {s.winner + 1} wins {what}")
        return "\n".join(lines)

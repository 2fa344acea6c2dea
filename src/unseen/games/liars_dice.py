"""Liar's Dice, a single round or until someone has no dice left.

Source: M. Lanctot, V. Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo counterfactual
regret minimization" (2014), where LD(dice1, dice2) is played in rounds. The single round is OpenSpiel's game. LD(1, 1) is the
same in both. The paper's 352 million information sets of LD(2, 2) are those of a single round: 21 hands times 2^24 sets of
earlier bids is 352,321,536.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

MAX_DICE, MAX_FACES = 5, 10
FACE_NAMES = "⚀⚁⚂⚃⚄⚅"
CHOOSE = np.array([[comb(n, k) for k in range(MAX_DICE + 1)] for n in range(MAX_DICE + MAX_FACES)])
HANDS = comb(MAX_DICE + MAX_FACES - 1, MAX_DICE)


class LiarsDice(Game):
    """Bid on all dice, yours and the hidden ones, or call the last bid a lie.

    Rules: Both players roll their dice in secret. In turn each bids a quantity and a face ("three fours"), which must raise
    the quantity, or keep it and raise the face; or calls the last bid. The highest face is wild and counts as any other. At the
    call all dice are shown: if there are at least as many as were bid, the bidder wins, otherwise the caller. With `rounds=True`
    that is only a round. A bidder who was caught loses as many dice as were missing (all of them at most); a caller who was wrong
    loses one, a rule of ours where the paper has none. All dice that are left are rolled again and the loser of the round bids
    first. The game ends when a player has no dice.

    Players see: their own dice (not the order in which they fell), every bid, and all dice after a call.

    Payoffs: 1 to the winner, -1 to the loser.
    """

    dice1: int = parameter(1, minimum=1, maximum=MAX_DICE, help="dice of the first player")
    dice2: int = parameter(1, minimum=1, maximum=MAX_DICE, help="dice of the second player")
    faces: int = parameter(6, minimum=2, maximum=MAX_FACES, help="faces of a die, the highest of which is wild")
    rounds: bool = parameter(False, help="whether the loser of a round only loses dice, and the game goes on")
    state = np.dtype([
        ("dice", "i1", (2,)), ("count", "i1", (2, MAX_FACES)), ("hand", "i4", (2,)), ("rolled", "i1"), ("last", "i1"),
        ("turn", "i1"), ("winner", "i1"),
    ])  # fmt: skip

    @property
    def num_outcomes(self) -> int:
        return self.faces

    @property
    def num_actions(self) -> int:
        return int(self.call()) + 1

    @property
    def max_length(self) -> int:
        dice = self.dice1 + self.dice2
        longest_rounds = [n + n * self.faces + 1 for n in range(2, dice + 1)]  # all dice, all bids, a call that costs one die
        return sum(longest_rounds) if self.rounds else longest_rounds[-1]

    def call(self):
        """The action that calls the last bid; smaller ones are bids: (quantity - 1) * faces + face, faces from 0."""
        return (self.dice1 + self.dice2) * self.faces

    def start(self, s):
        s.dice[0] = self.dice1
        s.dice[1] = self.dice2
        s.winner = -1
        self.new_round(s, 0)

    def new_round(self, s, first):
        for who in range(2):
            for face in range(MAX_FACES):
                s.count[who, face] = 0
            s.hand[who] = 0
        s.rolled = 0
        s.last = -1
        s.turn = first

    def player(self, s):
        if s.winner >= 0:
            return TERMINAL
        return CHANCE if s.rolled < s.dice[0] + s.dice[1] else s.turn

    def actions(self, s, out):
        dice = s.dice[0] + s.dice[1]
        if s.rolled < dice:
            for face in range(self.faces):
                out[face] = face
            return self.faces
        n = 0
        for bid in range(s.last + 1, dice * self.faces):
            out[n] = bid
            n += 1
        if s.last >= 0:
            out[n] = self.call()
            n += 1
        return n

    def apply(self, s, a, tell):
        if s.rolled < s.dice[0] + s.dice[1]:
            who = 0 if s.rolled < s.dice[0] else 1
            s.count[who, a] += 1
            s.rolled += 1
            if s.rolled == s.dice[0] or s.rolled == s.dice[0] + s.dice[1]:
                s.hand[who] = self.hand_number(s, who)
                tell[who] = 1 + s.hand[who]
        elif a == self.call():
            tell[PUBLIC] = 1 + a + s.hand[0] * HANDS + s.hand[1]
            self.settle(s)
        else:
            tell[PUBLIC] = 1 + a
            s.last = a
            s.turn = 1 - s.turn

    def hand_number(self, s, who):
        """The place of the dice of `who`, without their order, among all hands with as many: a combinatorial number."""
        number, k = 0, 0
        for face in range(self.faces):
            for _ in range(s.count[who, face]):
                k += 1
                number += CHOOSE[face + k - 1, k]
        return number

    def settle(self, s):
        """Someone has called: find the loser, take its dice, and end the game or begin a new round."""
        quantity, face = 1, s.last
        while face >= self.faces:  # dividing would take longer
            quantity, face = quantity + 1, face - self.faces
        missing = quantity - self.matching(s, face)
        loser = 1 - s.turn if missing > 0 else s.turn  # it is the caller's turn
        if not self.rounds or s.dice[loser] <= max(missing, 1):
            s.winner = 1 - loser
        else:
            s.dice[loser] -= max(missing, 1)
            self.new_round(s, loser)

    def matching(self, s, face):
        """How many of all dice count as `face`."""
        wild = self.faces - 1
        have = 0
        for owner in range(2):
            have += s.count[owner, face]
            if face != wild:
                have += s.count[owner, wild]
        return have

    def utility(self, s, who):
        return 1.0 if s.winner == who else -1.0

    @property
    def encoding_size(self) -> int:
        return int(self.call()) + self.faces + 4

    def encode(self, s, who, out):
        """The last bid, its own dice by face, how many dice both have, and how many of its own help the last bid."""
        if s.last >= 0:
            out[s.last] = 1.0
        bids = self.call()
        for face in range(self.faces):
            out[bids + face] = s.count[who, face]
        at = bids + self.faces
        out[at] = s.dice[who] / 5.0
        out[at + 1] = s.dice[1 - who] / 5.0
        if s.last >= 0:
            face = s.last % self.faces
            out[at + 2] = (s.count[who, face] + (s.count[who, self.faces - 1] if face != self.faces - 1 else 0)) / 5.0
        out[at + 3] = float(who)

    def describe_action(self, s: Any, a: int) -> str:
        if self.player(s) == CHANCE:
            return f"roll {self.face_name(a)}"
        return "call" if a == self.call() else self.bid_name(a)

    def render(self, s: Any, who: int) -> str:
        hands = []
        for owner, dice in enumerate(s.dice):
            faces = [self.face_name(f) for f in range(self.faces) for _ in range(s.count[owner, f])]
            is_seen = (owner == who and len(faces) == dice) or s.winner >= 0
            hands.append(" ".join(faces) if is_seen else " ".join("?" * int(dice)))
        return f"dice {hands[0]} | {hands[1]}, " + ("no bid yet" if s.last < 0 else f"bid {self.bid_name(s.last)}")

    def bid_name(self, bid: int) -> str:
        return f"{bid // self.faces + 1}x{self.face_name(bid % self.faces)}"

    def face_name(self, face: int) -> str:
        return "★" if face == self.faces - 1 else FACE_NAMES[face] if face < len(FACE_NAMES) else str(face + 1)

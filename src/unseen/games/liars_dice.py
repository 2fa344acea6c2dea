"""Liar's Dice, a single round.

Source: M. Lanctot, V. Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo counterfactual regret
minimization" (2014), where it is LD(dice1, dice2). The single round is OpenSpiel's game.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import CHANCE, PUBLIC, TERMINAL, Game, parameter

MAX_FACES = 10
FACE_NAMES = "⚀⚁⚂⚃⚄⚅"


class LiarsDice(Game):
    """Bid on all dice, yours and the hidden ones, or call the last bid a lie.

    Rules: Both players roll their dice in secret. In turn each bids a quantity and a face ("three fours"), which must raise
    the quantity, or keep it and raise the face; or calls the last bid. The highest face is wild and counts as any other. At the
    call all dice are shown: if there are at least as many as were bid, the bidder wins, otherwise the caller.

    Players see: their own dice (not the order in which they fell) and every bid.

    Payoffs: 1 to the winner, -1 to the loser.
    """

    dice1: int = parameter(1, minimum=1, maximum=5, help="dice of the first player")
    dice2: int = parameter(1, minimum=1, maximum=5, help="dice of the second player")
    faces: int = parameter(6, minimum=2, maximum=MAX_FACES, help="faces of a die, the highest of which is wild")
    state = np.dtype([("count", "i1", (2, MAX_FACES)), ("rolled", "i1"), ("last", "i1"), ("turn", "i1"), ("over", "i1")])

    @property
    def num_outcomes(self) -> int:  # type: ignore[override]
        return self.faces

    @property
    def num_actions(self) -> int:  # type: ignore[override]
        return int(self.call()) + 1

    @property
    def max_length(self) -> int:  # type: ignore[override]
        return self.dice1 + self.dice2 + self.num_actions

    def call(self):
        """The action that calls the last bid; smaller ones are bids: (quantity - 1) * faces + face, faces from 0."""
        return (self.dice1 + self.dice2) * self.faces

    def start(self, s):
        for who in range(2):
            for face in range(MAX_FACES):
                s.count[who, face] = 0
        s.rolled = 0
        s.last = -1
        s.turn = 0
        s.over = 0

    def player(self, s):
        if s.over:
            return TERMINAL
        return CHANCE if s.rolled < self.dice1 + self.dice2 else s.turn

    def actions(self, s, out):
        if s.rolled < self.dice1 + self.dice2:
            for face in range(self.faces):
                out[face] = face
            return self.faces
        n = 0
        for bid in range(s.last + 1, self.call()):
            out[n] = bid
            n += 1
        if s.last >= 0:
            out[n] = self.call()
            n += 1
        return n

    def apply(self, s, a, tell):
        if s.rolled < self.dice1 + self.dice2:
            who = 0 if s.rolled < self.dice1 else 1
            s.count[who, a] += 1
            s.rolled += 1
            if s.rolled == self.dice1 or s.rolled == self.dice1 + self.dice2:
                tell[who] = self.hand(s, who)
            return
        if a == self.call():
            s.over = 1
        else:
            s.last = a
            s.turn = 1 - s.turn
        tell[PUBLIC] = a + 1

    def hand(self, s, who):
        """A number for the dice of `who` without their order."""
        token = 0
        for k in range(self.faces):
            token = token * (max(self.dice1, self.dice2) + 1) + s.count[who, self.faces - 1 - k]
        return token

    def utility(self, s, who):
        quantity, face = s.last // self.faces + 1, s.last % self.faces
        wild = self.faces - 1
        have = 0
        for owner in range(2):
            have += s.count[owner, face]
            if face != wild:
                have += s.count[owner, wild]
        winner = 1 - s.turn if have >= quantity else s.turn  # it is the caller's turn
        return 1.0 if winner == who else -1.0

    def describe_action(self, s: Any, a: int) -> str:
        if self.player(s) == CHANCE:
            return f"roll {self.face_name(a)}"
        return "call" if a == self.call() else f"{a // self.faces + 1}x{self.face_name(a % self.faces)}"

    def render(self, s: Any, who: int) -> str:
        hands = []
        for owner, dice in enumerate((self.dice1, self.dice2)):
            faces = [self.face_name(f) for f in range(self.faces) for _ in range(s.count[owner, f])]
            all_rolled = len(faces) == dice
            hands.append(" ".join(faces) if owner == who and all_rolled else " ".join("?" * dice))
        bid = "no bid yet" if s.last < 0 else f"bid {s.last // self.faces + 1}x{self.face_name(s.last % self.faces)}"
        return f"dice {hands[0]} | {hands[1]}, {bid}"

    def face_name(self, face: int) -> str:
        return "★" if face == self.faces - 1 else FACE_NAMES[face] if face < len(FACE_NAMES) else str(face + 1)

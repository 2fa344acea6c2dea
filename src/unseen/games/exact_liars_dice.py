"""Liar's Dice as the authors of ExIt-OOS play it: the face first, then the number, and a bid must be exactly right.

Source: the code published with A. Kitchen and M. Benedetti, "ExpIt-OOS: Towards learning from planning in imperfect information
games" (2018), whose tables have it as Liar's Dice(1) and (2). The raises that are allowed are those of its table, which is
narrower than the rules that one would write: after a bid of three only four may follow, after four or five nothing but the call.
In that code a second die of the first player that falls on one shows two; this slip is not followed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

MAX_DICE, FACES = 2, 6
WILD = FACES - 1
NUMBERS = 6
"""Actions 0 to 5 raise the face by so much; those from here on raise the number."""
CALL = NUMBERS + 5
FACE_NAMES = "⚀⚁⚂⚃⚄★"


class ExactLiarsDice(Game):
    """Bid on all dice, yours and the hidden ones: first the face, then the number; or call the last bid a lie.

    Rules: Both players roll their dice in secret. A bid is made in two decisions: by how much the face is raised (from 0, up to
    five), then by how much the number of dice is; one of the two must be. From the second bid on a player may call instead of
    raising the face. Then all dice are shown. The highest face is wild: it counts as any other and cannot be bid. If the number
    of dice that show the face is *exactly* the number bid, the caller loses, otherwise the caller wins. After the face three only
    four can be bid, after four or five nothing: the player must call. With two dice each, who has raised or kept the face when
    the number is three or more must call, too: then its own new face counts.

    Players see: their own dice, in the order in which they fell, every decision, and all dice after the call.

    Payoffs: 1 to the winner, -1 to the loser.
    """

    dice: int = parameter(1, minimum=1, maximum=MAX_DICE, help="dice of each player")
    state = np.dtype([
        ("die", "i1", (2, MAX_DICE)), ("rolled", "i1"), ("face", "i1"), ("number", "i1"), ("step", "i1"), ("turn", "i1"),
        ("winner", "i1"),
    ])  # fmt: skip
    num_actions = CALL + 1
    num_outcomes = FACES

    @property
    def max_length(self) -> int:
        return 13 if self.dice == 1 else 15

    def start(self, s):
        for who in range(2):
            for k in range(MAX_DICE):
                s.die[who, k] = -1
        s.rolled = 0
        s.face = 0
        s.number = 0
        s.step = 0  # 0: the face is chosen; 1: it was raised, 2: it was kept, and now the number is chosen
        s.turn = 0
        s.winner = -1

    def player(self, s):
        if s.winner >= 0:
            return TERMINAL
        return CHANCE if s.rolled < 2 * self.dice else s.turn

    def actions(self, s, out):
        if s.rolled < 2 * self.dice:
            for face in range(FACES):
                out[face] = face
            return FACES
        if s.step == 0:
            return self.faces(s, out)
        return self.numbers(s, out)

    def faces(self, s, out):
        """By how much the face may be raised, then the call."""
        least, most = 0, 0
        if s.face == 0:
            least, most = 1, 5
        elif s.face == 3:
            least, most = 1, 1
        elif s.face < 3:  # it may be kept where the number can still rise
            least, most = 1 if self.dice == 1 and s.number == 2 else 0, 5 - s.face
        n = 0
        if most > 0:
            for raised in range(least, most + 1):
                out[n] = raised
                n += 1
        if s.face > 0:
            out[n] = CALL
            n += 1
        return n

    def numbers(self, s, out):
        """By how much the number may be raised; with two dice each and a number of three or more, the call."""
        if self.dice == 2 and s.number >= 3:
            out[0] = CALL
            return 1
        least = 1 if s.number == 0 or s.step == 2 else 0
        n = 0
        for raised in range(least, 2 * self.dice - s.number + 1):
            out[n] = NUMBERS + raised
            n += 1
        return n

    def apply(self, s, a, tell):
        if s.rolled < 2 * self.dice:
            who = 0 if s.rolled < self.dice else 1
            s.die[who, s.rolled - who * self.dice] = a
            s.rolled += 1
            tell[who] = 1 + a
            return
        tell[PUBLIC] = 1 + a
        if a == CALL:
            shown = 0
            for who in range(2):
                for k in range(self.dice):
                    shown = shown * FACES + s.die[who, k]
            tell[PUBLIC] += shown
            s.winner = 1 - s.turn if self.matching(s) == s.number else s.turn
        elif a < NUMBERS:
            s.face += a
            s.step = 1 if a > 0 else 2
        else:
            s.number += a - NUMBERS
            s.step = 0
            s.turn = 1 - s.turn

    def matching(self, s):
        """The number of dice that show the face of the bid, wild ones included."""
        have = 0
        for who in range(2):
            for k in range(self.dice):
                have += s.die[who, k] == s.face - 1 or s.die[who, k] == WILD
        return have

    def utility(self, s, who):
        return 1.0 if s.winner == who else -1.0

    @property
    def encoding_size(self) -> int:
        return 5 + 2 * MAX_DICE + 3 + FACES + 1

    def encode(self, s, who, out):
        """The face and the number of the bid, what is to be chosen, its own dice by face, and its seat."""
        if s.face > 0:
            out[s.face - 1] = 1.0
        if s.number > 0:
            out[5 + s.number - 1] = 1.0
        at = 5 + 2 * MAX_DICE
        out[at + s.step] = 1.0
        for k in range(self.dice):
            out[at + 3 + s.die[who, k]] += 1.0
        out[at + 3 + FACES] = float(who)

    def describe_action(self, s: Any, a: int) -> str:
        if self.player(s) == CHANCE:
            return f"roll {FACE_NAMES[a]}"
        if a == CALL:
            return "call"
        what, raised, now = ("face", a, s.face) if a < NUMBERS else ("number", a - NUMBERS, s.number)
        return f"{what} {now + raised}" if raised else f"keep {what} {now}"

    def render(self, s: Any, who: int) -> str:
        hands = []
        for owner in range(2):
            dice = [FACE_NAMES[s.die[owner, k]] if s.die[owner, k] >= 0 else "?" for k in range(self.dice)]
            hands.append(" ".join(dice if owner == who or s.winner >= 0 else "?" * self.dice))
        bid = "no bid yet" if s.face == 0 else f"bid {s.number or '?'}x{FACE_NAMES[s.face - 1]}"
        return f"dice {hands[0]} | {hands[1]}, {bid}"

"""Phantom Tic-Tac-Toe: noughts and crosses without seeing the opponent's marks.

Source: F. Wisser, "Evaluating the performance of Presumed Payoff Perfect Information Monte Carlo sampling against optimal
strategies" (2016). The abrupt variant is OpenSpiel's. The paper speaks of about 10^10 full games and 5.6 million information
sets; there are 9,829,101,024 and 5,990,669.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.compiling.bits import bit_count
from unseen.game import PUBLIC, TERMINAL, Game
from unseen.options import parameter

SQUARES = 9
FULL = (1 << SQUARES) - 1
LINES = np.array([0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124])
"""Rows, columns and diagonals, a bit for each square."""
PLACED, TAKEN = 1, 2
OPEN = 2
MARKS = "XO"


WITH_LINE = (np.arange(FULL + 1)[:, None] & LINES == LINES).any(axis=1)
"""For each set of squares whether it holds three in a row."""


@piece
def has_line(marks):
    """Whether a set of squares holds three in a row."""
    return WITH_LINE[marks]


def final_payoffs() -> NDArray[np.int8]:
    """For each board, the squares of X and those of O as bits: what X gets if every way to finish pays the same, else OPEN."""
    boards = np.arange(FULL + 1)
    marks = (boards[:, None] >> np.arange(SQUARES) & 1).sum(axis=1)
    table = np.full((FULL + 1, FULL + 1), OPEN, np.int8)
    is_legal = (boards[:, None] & boards == 0) & np.isin(marks[:, None] - marks, (0, 1))
    for filled in range(SQUARES, -1, -1):
        x, o = np.nonzero(is_legal & (marks[:, None] + marks == filled))
        x_moves, least, most = marks[x] == marks[o], np.full(len(x), OPEN), np.full(len(x), -OPEN)
        for square in 1 << np.arange(SQUARES):
            after = np.where(x_moves, table[x | square, o], table[x, o | square])
            free = (x | o) & square == 0
            least, most = np.where(free, np.minimum(least, after), least), np.where(free, np.maximum(most, after), most)
        unfinished = np.where(least == most, least, OPEN) if filled < SQUARES else 0
        table[x, o] = np.where(WITH_LINE[x], 1, np.where(WITH_LINE[o], -1, unfinished))
    return table


FINAL = final_payoffs()


def shares_met() -> NDArray[np.float64]:
    """By the number of marks on the board: the share of a player's marks that its opponent has met, on average.

    The paper says that k is "the proportion of all our previous actions the opponent will know on average if our opponent played
    random actions" and prints 0.19 for O's first, the second mark of the game. An opponent that tries squares at random until one
    is free, of which there are f, meets a given mark on the way with probability 1 / (f + 1). After X's n-th mark O has met 1/9,
    4/21, 19/63, 61/126 of them on average, for n = 1, 2, 3, 4. The printed number is the second, so n is taken to be the number of
    marks on the board; from the fifth on everything is known.
    """
    shares, met = np.ones(SQUARES + 1), np.zeros(0)
    shares[0] = 0.0
    for n in range(1, 5):
        chance = 1.0 / (SQUARES - 2 * n + 2)
        met = np.append(met, 0.0)
        met = met + (1.0 - met) * chance
        shares[n] = met.mean()
    return shares


MET = shares_met()


@piece
def free_squares(taken, out):
    """Write the squares that are not taken into `out`; return how many there are."""
    n = 0
    for square in range(SQUARES):
        if not taken >> square & 1:
            out[n] = square
            n += 1
    return n


def board_symmetries() -> list[list[int]]:
    """The four turns of the board, and the same after a reflection: where each square goes."""
    board = np.arange(SQUARES).reshape(3, 3)
    return [np.rot90(side, k).ravel().tolist() for side in (board, board.T) for k in range(4)]


def draw_board(xs: int, os: int, empty: str = ".", hidden: int = 0) -> str:
    """A board with its rows and columns named; `empty` stands where there is no mark, hidden marks are small."""
    squares = ["X" if xs >> k & 1 else "O" if os >> k & 1 else empty for k in range(SQUARES)]
    squares = [square.lower() if hidden >> k & 1 else square for k, square in enumerate(squares)]
    rows = [f"{'321'[row]} {' '.join(squares[3 * row : 3 * row + 3])}" for row in range(3)]
    return "\n".join([*rows, "  a b c"])


def square_name(square: int) -> str:
    return "abc"[square % 3] + "321"[square // 3]


class PhantomTTT(Game):
    """Tic-tac-toe in which you do not see your opponent's marks until you bump into one.

    Rules: X moves first. A player tries a square that it does not know to be taken. If the square is free it gets the player's
    mark and the turn passes. If the opponent's mark is there, the player is told so and tries another; with `abrupt=True` it
    loses its turn instead. Three in a row win; a full board is a draw.

    Players see: whether their own tries succeeded, and nothing of the opponent's, not even how often it tried; in the end, the
    whole board.

    Payoffs: 1 to the winner, -1 to the loser, 0 for a draw.
    """

    name = "phantom_ttt"
    abrupt: bool = parameter(False, help="whether trying a taken square loses the turn")
    state = np.dtype([("marks", "i2", (2,)), ("bumped", "i2", (2,)), ("turn", "i1"), ("winner", "i1")])
    num_actions = SQUARES
    max_length = 2 * SQUARES - 1  # nobody tries a square twice, and the last mark leaves nothing to try

    def start(self, s):
        for who in range(2):
            s.marks[who] = 0
            s.bumped[who] = 0  # the opponent's marks that it knows
        s.turn = 0
        s.winner = -1

    def player(self, s):
        return TERMINAL if s.winner >= 0 or (s.marks[0] | s.marks[1]) == FULL else s.turn

    def actions(self, s, out):
        return free_squares(s.marks[s.turn] | s.bumped[s.turn], out)

    def apply(self, s, a, tell):
        me, other = s.turn, 1 - s.turn
        if s.marks[other] >> a & 1:
            s.bumped[me] |= 1 << a
            tell[me] = TAKEN
            if self.abrupt:
                s.turn = other
        else:
            s.marks[me] |= 1 << a
            tell[me] = PLACED
            if has_line(s.marks[me]):
                s.winner = me
            s.turn = other
        if self.player(s) == TERMINAL:
            tell[PUBLIC] = 1 + (s.marks[0] << SQUARES) + s.marks[1]

    def utility(self, s, who):
        payoff = 0 if s.winner < 0 else 1 - 2 * s.winner
        if s.winner < 0 and self.settled(s):
            payoff = FINAL[s.marks[0], s.marks[1]]
        return float(payoff if who == 0 else -payoff)

    def settled(self, s):
        # A player that lost its turn may have fewer marks than the table knows of.
        return not self.abrupt and FINAL[s.marks[0], s.marks[1]] != OPEN

    def lay_open(self, s):
        s.bumped[0] = s.marks[1]
        s.bumped[1] = s.marks[0]

    def knowledge(self, s, who):
        return MET[bit_count(s.marks[0] | s.marks[1])]

    @property
    def encoding_size(self) -> int:
        return 2 * SQUARES + 1

    def encode(self, s, who, out):
        """The squares of its own marks, those that it knows to be the opponent's, and the seat."""
        for square in range(SQUARES):
            out[square] = s.marks[who] >> square & 1
            out[SQUARES + square] = s.bumped[who] >> square & 1
        out[2 * SQUARES] = float(who)

    def symmetries(self) -> list[list[int]]:
        return board_symmetries()

    def describe_action(self, s: Any, a: int) -> str:
        return f"{MARKS[s.turn]} {square_name(a)}"

    def render(self, s: Any, who: int) -> str:
        if self.player(s) == TERMINAL:
            return draw_board(s.marks[0], s.marks[1])
        if who == PUBLIC:
            return draw_board(0, 0, "?")
        mine, theirs = s.marks[who], s.bumped[who]
        return draw_board(mine, theirs, "?") if who == 0 else draw_board(theirs, mine, "?")

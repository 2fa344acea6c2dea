"""Princess and Monster: hide and seek in the dark, on a grid.

Source: R. Isaacs, "Differential games" (1965), problem 12.4.1, in the form of M. Lanctot, K. Waugh, M. Zinkevich and M.
Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009): random starts, a grid of 3 by 3 squares, a
horizon of 13 steps. The paper counts 91.8 million histories, the longest of 13 moves, 20,000 information sets and the M-values
9541 and 2930.

The rules here give 91,803,132 histories, the longest of 13 moves, and were found by counting 1,920 readings: players may stay
or not, or bump into walls, the same for both or not; 10 to 14 moves; starts on one square allowed or not, or a capture; capture
checked after each move, after each pair of moves, also on swapping squares, or not at all; one random placement or two. No
other comes within 1% of the paper's number, except these rules with both placements in one step, whose longest game has 12. A
player that sees nothing but its own way has 9,454 or 2,469 information sets, 11,923 in all, and M-values of 5411.9 and 1300.1
if actions are directions, 4812.1 and 1256.5 if they are target squares. No reading gives the paper's 20,000 or its M-values; an
M-value of 9541 needs at least 9,541 information sets, so players there must see something else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.errors import UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.options import parameter

UP, LEFT, STAY, RIGHT, DOWN = range(5)
NAMES = ("up", "left", "stay", "right", "down")
PRINCESS, MONSTER = 0, 1
NOWHERE = -1
PLACEMENTS = 2
CAUGHT, FREE = 1, 2


class PrincessAndMonster(Game):
    """The monster hunts the princess in a dark room; neither ever sees the other.

    Rules: The princess (the first player) and then the monster are put on random squares of a grid, maybe on the same one. They
    take turns, the princess first: a player moves to a square next to its own, up, down, left or right, or stays. If after a
    move both are on one square, the princess is caught. The game ends then, or after `horizon` steps; the two placements are
    steps.

    Players see: where they are themselves, and nothing of the other; in the end, whether she was caught.

    Payoffs: the monster pays the princess 1 for each move, of either, after which she is free.
    """

    rows: int = parameter(3, minimum=1, maximum=10, help="rows of the grid")
    columns: int = parameter(3, minimum=1, maximum=10, help="columns of the grid")
    horizon: int = parameter(13, minimum=3, maximum=100, help="steps of a game, the two placements included")
    state = np.dtype([("place", "i1", (2,)), ("steps", "i1"), ("caught", "i1")])
    num_actions = 5

    @property
    def num_outcomes(self) -> int:
        return self.rows * self.columns

    @property
    def max_length(self) -> int:
        return self.horizon

    def validate(self) -> None:
        if self.rows * self.columns < 2:
            raise UnseenError(f"{self.name}: rows x columns is 1, but the grid must have at least 2 squares.")

    def start(self, s):
        s.place[PRINCESS] = NOWHERE
        s.place[MONSTER] = NOWHERE
        s.steps = 0
        s.caught = 0

    def player(self, s):
        if s.caught or s.steps == self.horizon:
            return TERMINAL
        return CHANCE if s.steps < PLACEMENTS else s.steps % 2

    def actions(self, s, out):
        if s.steps < PLACEMENTS:
            for square in range(self.rows * self.columns):
                out[square] = square
            return self.rows * self.columns
        n = 0
        place = s.place[s.steps % 2]
        for move in range(5):
            if self.is_open(place, move):
                out[n] = move
                n += 1
        return n

    def is_open(self, place, move):
        row, column = place // self.columns, place % self.columns
        if move == UP:
            return row > 0
        if move == LEFT:
            return column > 0
        if move == RIGHT:
            return column < self.columns - 1
        return move == STAY or row < self.rows - 1

    def apply(self, s, a, tell):
        who = s.steps % 2
        if s.steps < PLACEMENTS:
            s.place[who] = a
            tell[who] = a + 1
        else:
            s.place[who] += (a == DOWN) * self.columns - (a == UP) * self.columns + (a == RIGHT) - (a == LEFT)
            s.caught = s.place[PRINCESS] == s.place[MONSTER]
        s.steps += 1
        if s.caught or s.steps == self.horizon:
            tell[PUBLIC] = CAUGHT if s.caught else FREE

    def utility(self, s, who):
        free = float(s.steps - PLACEMENTS - s.caught)
        return free if who == PRINCESS else -free

    def describe_action(self, s: Any, a: int) -> str:
        if s.steps < PLACEMENTS:
            return f"{('princess', 'monster')[s.steps]} at {a // self.columns + 1},{a % self.columns + 1}"
        return NAMES[a]

    def render(self, s: Any, who: int) -> str:
        squares = ["."] * (self.rows * self.columns)
        if who in (PRINCESS, MONSTER) and s.place[who] != NOWHERE:
            squares[s.place[who]] = "PM"[who]
        lines = [" ".join(squares[r * self.columns : (r + 1) * self.columns]) for r in range(self.rows)]
        moves = max(s.steps - PLACEMENTS, 0)
        own_moves = (moves + 1) // 2 if who == PRINCESS else moves // 2
        if who != PUBLIC:
            lines.append(f"own moves: {own_moves}")
        if self.player(s) == TERMINAL:
            lines.append("caught" if s.caught else "still free")
        return "\n".join(lines)

"""Latent Tic-Tac-Toe: noughts and crosses in which every mark stays hidden for one move.

Source: M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009),
which gives the rules in one sentence; OpenSpiel reads it as we do by default. The paper counts 70.4 million histories, 16,039,000
information sets and a longest game of 18 moves. No reading that we tried gives these numbers:

| a line counts | the game ends when the board is full | histories | information sets | longest |
|---|---|---|---|---|
| while hidden | at once (the default, and OpenSpiel) | 58,086,835 | 18,638,492 | 16 |
| while hidden | when the last mark is revealed | 63,892,915 | 21,218,972 | 17 |
| when revealed | at once | 84,591,379 | 20,216,180 | 16 |
| when revealed | when the last mark is revealed | 102,090,259 | 28,965,620 | 17 |
| X's while hidden, O's when revealed | at once | 69,518,515 | 19,346,132 | 16 |
| X's when revealed, O's while hidden | at once | 73,159,699 | 19,508,540 | 16 |

Also tried: if two marks meet, the later one stays (41.6 to 117 million histories), or neither does (over 269 million); players may
choose squares that they see are taken (over 3 billion). The first four readings are the parameters of this game. The default is
the one whose worst error among the three numbers is smallest, and the one of the library led by the paper's first author.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import PUBLIC, TERMINAL, Game
from unseen.games.phantom_ttt import FULL, MARKS, SQUARES, draw_board, free_squares, has_line, square_name
from unseen.options import parameter

NONE = -1
LONGEST = 17


class LatentTTT(Game):
    """Tic-tac-toe in which each mark is shown only after the opponent's next move.

    Rules: X moves first. A player chooses a square that it sees to be free. The choice stays hidden until the opponent has made
    its next one, and is then revealed. If both chose the same square, the first to choose has it and the other's choice is lost.
    Three in a row win, at once even if the last of them is still hidden; with `hidden_lines=False`, when it is revealed. The game
    ends when the board is full, which reveals its last mark; with `hidden_end=False`, only when that has been revealed by
    one more choice; or as a draw after so many `choices`, for a smaller game.

    Players see: all choices except the opponent's last one; in the end, all of them.

    Payoffs: 1 to the winner, -1 to the loser, 0 for a draw.
    """

    name = "latent_ttt"
    hidden_lines: bool = parameter(True, help="whether a line counts while its last mark is hidden")
    hidden_end: bool = parameter(True, help="whether the game ends when the board is full while its last mark is hidden")
    choices: int = parameter(LONGEST, minimum=1, maximum=LONGEST, help="the game is a draw after so many choices")
    state = np.dtype([("marks", "i2", (2,)), ("latent", "i1"), ("turn", "i1"), ("made", "i1"), ("over", "i1"), ("winner", "i1")])
    num_actions = SQUARES

    @property
    def max_length(self) -> int:
        return min(self.choices, LONGEST - self.hidden_end)

    def start(self, s):
        s.marks[0] = 0  # hidden ones included
        s.marks[1] = 0
        s.latent = NONE  # the choice that is still hidden: the last one, made by the player who is not to move
        s.turn = 0
        s.made = 0
        s.over = 0
        s.winner = NONE

    def player(self, s):
        return TERMINAL if s.over else s.turn

    def revealed(self, s):
        """The squares that both players see taken."""
        taken = s.marks[0] | s.marks[1]
        is_hidden_mark = s.latent != NONE and s.marks[1 - s.turn] >> s.latent & 1
        return taken & ~(1 << s.latent) if is_hidden_mark else taken

    def actions(self, s, out):
        return free_squares(self.revealed(s), out)

    def apply(self, s, a, tell):
        me, other = s.turn, 1 - s.turn
        tell[PUBLIC] = s.latent + 1
        taken = s.marks[0] | s.marks[1]
        if not self.hidden_lines and has_line(s.marks[other]):
            self.end(s, other)
        if not taken >> a & 1:
            s.marks[me] |= 1 << a
        is_full = (s.marks[0] | s.marks[1] if self.hidden_end else taken) == FULL
        if not s.over and (self.hidden_lines or is_full) and has_line(s.marks[me]):
            self.end(s, me)
        s.made += 1
        if not s.over and (is_full or s.made == self.choices):
            self.end(s, NONE)
        s.latent = a
        s.turn = other
        if s.over:
            tell[PUBLIC] += (SQUARES + 1) * (a + 1)  # the last choice too

    def end(self, s, winner):
        s.over = 1
        s.winner = winner

    def utility(self, s, who):
        if s.winner == NONE:
            return 0.0
        return 1.0 if s.winner == who else -1.0

    def describe_action(self, s: Any, a: int) -> str:
        return f"{MARKS[s.turn]} {square_name(a)}"

    def render(self, s: Any, who: int) -> str:
        if s.over:
            return draw_board(s.marks[0], s.marks[1])
        shown = self.revealed(s)
        seen = shown | (s.marks[who] if who == 1 - s.turn else 0)
        return draw_board(s.marks[0] & seen, s.marks[1] & seen, hidden=seen & ~shown)

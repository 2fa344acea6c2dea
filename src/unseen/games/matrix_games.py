"""One-shot games of simultaneous choice, given by a matrix of payoffs.

Sources: matching pennies is folklore. Biased rock-paper-scissors is from M. Shafiei, N. Sturtevant and J. Schaeffer, "Comparing UCT
versus CFR in simultaneous games" (2009); its equilibrium is (1, 10, 5) / 16 for both players.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import PUBLIC, TERMINAL, Game

BIASED_RPS = np.array([[0.0, -25.0, 50.0], [25.0, 0.0, -5.0], [-50.0, 5.0, 0.0]])
"""Payoffs of the row player; rows and columns are rock, paper, scissors."""


class MatrixGame(Game):
    """Both players choose at once; `payoff(a, b)` is what the first player gets."""

    state = np.dtype([("moves", "i1"), ("choice", "i2", (2,))])
    max_length = 2
    simultaneous = True
    choices: tuple[str, ...] = ()

    def start(self, s):
        s.moves = 0
        s.choice[0] = -1
        s.choice[1] = -1

    def player(self, s):
        return TERMINAL if s.moves == 2 else s.moves

    def actions(self, s, out):
        for a in range(self.options()):
            out[a] = a
        return self.options()

    def apply(self, s, a, tell):
        s.choice[s.moves] = a
        s.moves += 1
        if s.moves == 2:
            tell[PUBLIC] = 1 + s.choice[0] * self.options() + s.choice[1]

    def options(self):
        """How many actions there are."""
        return self.num_actions

    def utility(self, s, who):
        u = self.payoff(s.choice[0], s.choice[1])
        return u if who == 0 else -u

    def payoff(self, a, b):
        raise NotImplementedError

    def describe_action(self, s: Any, a: int) -> str:
        return self.choice_name(a)

    def choice_name(self, a: int) -> str:
        return self.choices[a]

    def render(self, s: Any, who: int) -> str:
        shown = [s.moves == 2 or (owner == who and choice >= 0) for owner, choice in enumerate(s.choice)]
        names = [self.choice_name(choice) if show else "?" for choice, show in zip(s.choice, shown, strict=True)]
        return f"choices {names[0]} | {names[1]}"


class MatchingPennies(MatrixGame):
    """One player wants the two coins to match, the other wants them to differ.

    Rules: Each player lays a coin, heads or tails up, hidden under a hand. Both lift their hands. The first player wins if both
    coins show the same side, the second if not.

    Players see: nothing before they choose; both choices afterwards.

    Payoffs: 1 to the winner, -1 to the loser.
    """

    num_actions = 2
    choices = ("heads", "tails")

    def payoff(self, a, b):
        return 1.0 if a == b else -1.0


class BiasedRPS(MatrixGame):
    """Rock-paper-scissors in which each way of winning pays differently.

    Rules: Both players choose rock, paper or scissors at once. Rock beats scissors, scissors beat paper, paper beats rock.

    Players see: nothing before they choose; both choices afterwards.

    Payoffs: the winner gets 50 with rock, 25 with paper and 5 with scissors, and the loser pays it; 0 if the choices are the same.
    """

    name = "biased_rps"
    num_actions = 3
    choices = ("rock", "paper", "scissors")

    def payoff(self, a, b):
        return BIASED_RPS[a, b]

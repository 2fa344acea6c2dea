"""Colonel Blotto: who spreads an army best over several battlefields.

Source: É. Borel, "La théorie du jeu et les équations intégrales à noyau symétrique" (1921). The payoff is OpenSpiel's.
"""

from __future__ import annotations

from math import comb

import numpy as np

from unseen.compiling import piece
from unseen.errors import UnseenError
from unseen.games.matrix_games import MatrixGame
from unseen.options import parameter

MAX_ACTIONS, MAX_SOLDIERS, MAX_FIELDS = 20_000, 100, 10
WAYS = np.array([[comb(max(n + f - 1, 0), n) for f in range(MAX_FIELDS + 1)] for n in range(MAX_SOLDIERS + 1)])
"""In how many ways n soldiers can be divided among f fields, shape (n, f)."""


@piece
def split_off(number, soldiers, fields):
    """Of the division with this number in lexicographic order: the soldiers on its first field, and the number of the rest."""
    here = 0
    while number >= WAYS[soldiers - here, fields - 1]:
        number -= WAYS[soldiers - here, fields - 1]
        here += 1
    return here, number


class Blotto(MatrixGame):
    """Two colonels divide their soldiers among battlefields; the larger force takes each.

    Rules: Both players at once divide all their soldiers among the fields. On each field the player with more soldiers wins.
    Whoever wins more fields wins the war.

    Players see: nothing before they choose; both divisions afterwards.

    Payoffs: 1 to the winner, -1 to the loser, 0 if both take as many fields.
    """

    soldiers: int = parameter(10, minimum=1, maximum=MAX_SOLDIERS, help="soldiers of each player")
    fields: int = parameter(3, minimum=2, maximum=MAX_FIELDS, help="battlefields")

    @property
    def num_actions(self) -> int:
        return int(self.options())

    def validate(self) -> None:
        if self.num_actions > MAX_ACTIONS:
            raise UnseenError(
                f"{self.name}: {self.soldiers} soldiers on {self.fields} fields can be divided in {self.num_actions:,} ways, "
                f"but there may be at most {MAX_ACTIONS:,}."
            )

    def options(self):
        return WAYS[self.soldiers, self.fields]

    def payoff(self, a, b):
        left_a, left_b, lead = self.soldiers, self.soldiers, 0
        for k in range(self.fields - 1):
            here_a, a = split_off(a, left_a, self.fields - k)
            here_b, b = split_off(b, left_b, self.fields - k)
            lead += (here_a > here_b) - (here_a < here_b)
            left_a -= here_a
            left_b -= here_b
        lead += (left_a > left_b) - (left_a < left_b)
        return float((lead > 0) - (lead < 0))

    def choice_name(self, a: int) -> str:
        forces, left = [], self.soldiers
        for k in range(self.fields - 1):
            here, a = split_off(a, left, self.fields - k)
            forces.append(here)
            left -= here
        return "-".join(map(str, [*forces, left]))

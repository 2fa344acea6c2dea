"""A game of our own in one file: a smuggler declares a cargo, a customs officer searches or waves it through.

unseen check examples/smuggler.py:Smuggler           is it a proper game?
unseen info examples/smuggler.py:Smuggler            how large is it?
unseen value examples/smuggler.py:Smuggler           its exact value, and an equilibrium
unseen strategy examples/smuggler.py:Smuggler        any strategy as a table or a picture
unseen value "examples/smuggler.py:Smuggler(values=6)" --out smuggler.strategy --picture smuggler.png
"""

import numpy as np

from unseen import CHANCE, PUBLIC, TERMINAL, Game, parameter

PASS, SEARCH = 0, 1


class Smuggler(Game):
    """Declare your cargo, truly or not; the officer sees only the declaration.

    The cargo is worth 0, 1, ... `values` - 1, all equally likely. The smuggler pays the value it declares. Waved through, it
    keeps the cargo. Searched, it loses twice what it hid, or gets `apology` if it hid nothing.
    """

    values: int = parameter(4, minimum=2, maximum=50, help="how many values a cargo can have")
    apology: int = parameter(1, minimum=0, maximum=100, help="paid to an honest smuggler who was searched")

    state = np.dtype([("cargo", "i1"), ("declared", "i1"), ("searched", "i1")])
    max_length = 3

    @property
    def num_actions(self):
        return self.values

    @property
    def num_outcomes(self):
        return self.values

    def start(self, s):
        s.cargo = -1
        s.declared = -1
        s.searched = -1

    def player(self, s):
        if s.cargo < 0:
            return CHANCE
        if s.declared < 0:
            return 0
        return 1 if s.searched < 0 else TERMINAL

    def actions(self, s, out):
        n = 2 if s.declared >= 0 else self.values
        for k in range(n):
            out[k] = k
        return n

    def apply(self, s, a, tell):
        if s.cargo < 0:
            s.cargo = a
            tell[0] = a + 1  # the smuggler alone sees the cargo
        elif s.declared < 0:
            s.declared = a
            tell[PUBLIC] = a + 1
        else:
            s.searched = a
            tell[PUBLIC] = a + 1

    def utility(self, s, who):
        hidden = s.cargo - s.declared
        if s.searched == PASS:
            u = float(hidden)
        else:
            u = float(self.apology) if hidden == 0 else -2.0 * abs(hidden)
        return u if who == 0 else -u

    def describe_action(self, s, a):
        return f"cargo {a}" if s.cargo < 0 else f"declare {a}" if s.declared < 0 else ("pass", "search")[a]

    def render(self, s, who):
        return f"cargo {s.cargo if who == 0 and s.cargo >= 0 else '?'}, declared {s.declared if s.declared >= 0 else '-'}"

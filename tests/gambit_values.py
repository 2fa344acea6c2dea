"""Makes gambit_values.json: values of small games by Gambit, in rational arithmetic.

Gambit has to be built from source on many machines, so the tests read what it found. To find it again:

    pip install -e ".[oracles]" && python tests/gambit_values.py
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pygambit

from unseen import Game, Position, load

GAMES = ("kuhn_poker", "kuhn_poker(cards=4)", "coordination", "xx", "xi", "biased_rps", "liars_dice(faces=2)")


def gambit_game(game: Game):
    """The same tree in Gambit, with exact payoffs and probabilities."""
    tree = pygambit.Game.new_tree(players=["first", "second"])
    infosets: dict[int, object] = {}

    def grow(node, position: Position) -> None:
        if position.is_terminal:
            u = [Fraction(x).limit_denominator(10**6) for x in position.utilities]
            label = " ".join(map(str, position.history))
            tree.set_outcome(node, tree.add_outcome(label, [str(x) for x in u]))
            return
        if position.is_chance:
            tree.append_move(node, tree.players.chance, [str(a) for a in position.actions])
            probabilities = [Fraction(p).limit_denominator(10**6) for p in position.chance_probabilities]
            tree.set_chance_probs(node.infoset, [str(p) for p in probabilities])
        elif position.infoset in infosets:
            tree.append_infoset(node, infosets[position.infoset])
        else:
            tree.append_move(node, tree.players[("first", "second")[position.player]], [str(a) for a in position.actions])
            infosets[position.infoset] = node.infoset
        for action, child in zip(position.actions, list(node.children), strict=True):
            grow(child, position.child(action))

    grow(tree.root, Position(game))
    return tree


if __name__ == "__main__":
    values = {}
    for spec in GAMES:
        tree = gambit_game(load(spec))
        profile = pygambit.nash.lp_solve(tree).equilibria[0]
        values[spec] = str(Fraction(str(profile.payoff(tree.players["first"]))))
    found = {"made with": f"pygambit {pygambit.__version__}", "values": values}
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n")

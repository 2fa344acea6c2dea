"""What several tests need: positions of a whole game, and bridges to OpenSpiel and Gambit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyspiel

from unseen import Game, Position, Strategy
from unseen.enumeration.whole import example_histories

ROOT = Path(__file__).parent.parent
TINY = (
    "kuhn_poker", "coordination", "xx", "xi", "matching_pennies", "biased_rps", "liars_dice(faces=2)",
    "liars_dice(dice1=1, dice2=2, faces=2)", "leduc_poker(ranks=2, suits=2)",
)  # fmt: skip
SPIEL_NAMES = {"kuhn_poker": "kuhn_poker", "leduc_poker": "leduc_poker", "liars_dice": "liars_dice"}


def all_positions(game: Game) -> Iterator[Position]:
    """Every position of a game, in depth-first order of histories."""
    stack = [Position(game)]
    while stack:
        position = stack.pop()
        yield position
        stack += [position.child(a) for a in reversed(position.actions)]


def spiel_state(spiel: pyspiel.Game, history: list[int]) -> pyspiel.State:
    state = spiel.new_initial_state()
    for action in history:
        state.apply_action(action)
    return state


def spiel_infosets(game: Game, spiel: pyspiel.Game) -> dict[int, str]:
    """OpenSpiel's string for each of our information sets, by key."""
    found, histories = example_histories(game)
    strings = [spiel_state(spiel, history).information_state_string() for history in histories]
    return dict(zip(found.keys.tolist(), strings, strict=True))


def spiel_policy(strategy: Strategy, names: dict[int, str]) -> pyspiel.TabularPolicy:
    """Our strategy as OpenSpiel's tabular policy."""
    table = {}
    for j, key in enumerate(strategy.keys.tolist()):
        cells = slice(strategy.first[j], strategy.first[j] + strategy.count[j])
        pairs = zip(strategy.actions[cells].tolist(), strategy.probability[cells].tolist(), strict=True)
        table[names[key]] = list(pairs)
    return pyspiel.TabularPolicy(table)


def gambit_game(game: Game):
    """The same tree in Gambit, with exact payoffs and probabilities."""
    import pygambit

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


def run_cli(*args: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "unseen", *args], capture_output=True, text=True, cwd=cwd, env=os.environ | env, check=False
    )

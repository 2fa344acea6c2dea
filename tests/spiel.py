"""Bridges to OpenSpiel, an independent oracle."""

from __future__ import annotations

import pyspiel

from unseen import Game, Strategy
from unseen.enumeration.whole import example_histories

SPIEL_NAMES = {"kuhn_poker": "kuhn_poker", "leduc_poker": "leduc_poker", "liars_dice": "liars_dice"}


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

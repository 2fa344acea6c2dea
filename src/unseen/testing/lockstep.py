"""Two states of a game played on side by side: whether `reduced` has written one with the same future."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from unseen.game import CHANCE, TERMINAL, Game, PlainState

Call = Callable[..., Any]
"""Calls a rule by name."""


def difference(game: Game, call: Call, first: PlainState, second: PlainState, decided: float, sign: float, seed: int) -> str:
    """Play a random game from `first` and the same one from `second`, with the players' moves exchanged if `sign` is -1.

    Returns what is not the same, "" if nothing. The two states are changed.
    """
    try:
        return _difference(game, call, first, second, decided, sign, random.Random(seed))
    except (TypeError, ValueError, IndexError) as error:  # what rules return can be anything
        return f"the rules do not go on from there ({error})"


def _difference(
    game: Game, call: Call, first: PlainState, second: PlainState, decided: float, sign: float, rng: random.Random
) -> str:
    for _ in range(game.max_length):
        players = call("player", first), call("player", second)
        if players[0] != players[1]:
            return f"player() is {players[0]} and {players[1]}"
        if players[0] == TERMINAL:
            payoffs = call("utility", first, 0), call("utility", second, 0)
            expected = decided + sign * payoffs[1]
            if abs(payoffs[0] - expected) > 1e-9 * max(1.0, abs(expected)):
                return f"the first player gets {payoffs[0]:g}, not {decided:g} + {sign:g} * {payoffs[1]:g}"
            return ""
        if players[0] == CHANCE:
            problem = _same_chance(game, call, first, second, rng)
        else:
            problem = _same_choice(game, call, first, second, sign < 0, rng)
        if problem:
            return problem
    return ""  # a game that is too long is a fault of its own


def _same_chance(game: Game, call: Call, first: PlainState, second: PlainState, rng: random.Random) -> str:
    choices = legal(game, call, first), legal(game, call, second)
    chances = [[call("chance", s, a, len(c)) for a in c] for s, c in zip((first, second), choices, strict=True)]
    if not (len(chances[0]) == len(chances[1]) and np.allclose(chances[0], chances[1])):
        return f"the probabilities of chance are {chances[0]} and {chances[1]}"
    k = rng.randrange(len(choices[0]))
    for state, actions in zip((first, second), choices, strict=True):
        call("apply", state, actions[k], np.zeros(3, object))
    return ""


def _same_choice(game: Game, call: Call, first: PlainState, second: PlainState, is_exchanged: bool, rng: random.Random) -> str:
    """A joint move: the same numbers of choices for the same player, and the same of them taken."""
    counts: list[list[int]] = []
    draws = rng.random(), rng.random()
    for state, order in ((first, draws), (second, draws[::-1] if is_exchanged else draws)):
        counts.append([])
        for u in order:
            actions = legal(game, call, state)
            counts[-1].append(len(actions))
            call("apply", state, actions[int(u * len(actions))], np.zeros(3, object))
    if counts[0] != (counts[1][::-1] if is_exchanged else counts[1]):
        return f"the players have {counts[0]} and {counts[1]} actions"
    return ""


def legal(game: Game, call: Call, state: PlainState) -> list[int]:
    """The legal actions of a state."""
    out = np.zeros(max(game.width, 1), np.int64)
    return [int(a) for a in out[: call("actions", state, out)]]

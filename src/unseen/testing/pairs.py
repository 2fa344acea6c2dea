"""Two states of a game put together: whether chance's own fields of the one go with all other fields of the other."""

from __future__ import annotations

import random
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from unseen.game import CHANCE, TERMINAL, Game, PlainState
from unseen.testing.lockstep import Call, legal


class _Round(NamedTuple):
    """What came of a round."""

    actions: list[list[int]]
    """Of both players."""
    is_over: bool
    sign: float
    won: float
    fields: dict[str, Any]


def misfit(game: Game, call: Call, hand: PlainState, stack: PlainState, seed: int) -> str:
    """Play a round from a state that has chance's fields of `stack` and all others of `hand`, in both of which chance moves.

    Returns what is not as `Game.chance_fields` has it, "" if nothing.
    """
    if not set(game.chance_fields) <= set(game.state.names or ()):
        return f"the state's fields are {game.state.names}"
    both, rng = hand.copy(), random.Random(seed)
    for name in game.chance_fields:
        setattr(both, name, copy(getattr(stack, name)))
    try:
        return _misfit(game, call, both, hand.copy(), stack.copy(), rng)
    except (TypeError, ValueError, IndexError) as error:  # what rules return can be anything
        return f"the rules do not go on from there ({error})"


def _misfit(game: Game, call: Call, both: PlainState, hand: PlainState, stack: PlainState, rng: random.Random) -> str:
    if call("player", both) != CHANCE:
        return f"player() is {call('player', both)}, not CHANCE"
    outcomes = [legal(game, call, s) for s in (both, stack)]
    chances = [[call("chance", s, a, len(known)) for a in known] for s, known in zip((both, stack), outcomes, strict=True)]
    if outcomes[0] != outcomes[1] or not np.allclose(chances[0], chances[1]):
        return f"the outcomes are {outcomes[0]} and {outcomes[1]}, their chances {chances[0]} and {chances[1]}"
    outcome, others = rng.choice(outcomes[0]), legal(game, call, hand)
    other, draws = outcome if outcome in others else rng.choice(others), (rng.random(), rng.random())
    mixed, by_hand = _round(game, call, both, outcome, draws), _round(game, call, hand, other, draws)
    by_stack = _round(game, call, stack, outcome, draws)
    if not mixed.is_over == by_hand.is_over == by_stack.is_over:
        return "the game is over after the round, or not, as one or the other has it"
    if mixed[:3] != by_hand[:3]:
        return f"the actions are {mixed.actions} and {by_hand.actions}, the signs of reduced() {mixed.sign:g} and {by_hand.sign:g}"
    if other == outcome and abs(mixed.won - by_hand.won) > 1e-9 * max(1.0, abs(mixed.won)):
        return f"the same outcome and moves win {mixed.won:g} and {by_hand.won:g}"
    for name in () if mixed.is_over else game.state.names or ():
        expected = (by_stack if name in game.chance_fields else by_hand).fields[name]
        if mixed.fields[name] != expected:
            return f"field {name!r} becomes {mixed.fields[name]} and {expected}"
    return ""


def _round(game: Game, call: Call, s: PlainState, outcome: int, draws: tuple[float, float]) -> _Round:
    """An outcome of chance, and a joint move."""
    actions, tell = [], np.zeros(3, object)
    call("apply", s, outcome, tell)
    for u in draws:
        actions.append(legal(game, call, s))
        call("apply", s, actions[-1][int(u * len(actions[-1]))], tell)
    if call("player", s) == TERMINAL or call("settled", s):
        return _Round(actions, True, 0.0, call("utility", s, 0), {})
    won, sign = call("reduced", s)
    return _Round(actions, False, sign, won, s.values())

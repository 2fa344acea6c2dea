"""Whether `lay_open` writes a state with the same future, as far as one more move shows, and `knowledge` a share."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.game import TERMINAL, Game, PlainState
from unseen.testing.lockstep import Call, legal


def opened(call: Call, state: PlainState) -> PlainState:
    """A state laid open, the given one being left alone."""
    other = state.copy()
    call("lay_open", other)
    return other


def misfit_when_open(game: Game, call: Call, state: PlainState) -> str:
    """What is wrong with `state` as it is laid open; "" if nothing."""
    laid = opened(call, state)
    if opened(call, laid).values() != laid.values():
        return "laid open again, it becomes another"
    player = call("player", state)
    if call("player", laid) != player:
        return f"player() is {player} and then {call('player', laid)}"
    if player == TERMINAL or call("settled", state):
        payoffs = [float(call("utility", each, 0)) for each in (state, laid)]
        return (
            ""
            if abs(payoffs[0] - payoffs[1]) < 1e-9
            else f"the payoff of the first player is {payoffs[0]:g} and then {payoffs[1]:g}"
        )
    before, after = legal(game, call, state), legal(game, call, laid)
    if not after or not set(after) <= set(before):
        return f"the actions are {before} and then {after}, which must be some of them"
    for action in after:
        one, other = (opened(call, _played(call, each, action)) for each in (state, laid))
        if one.values() != other.values():
            return f"after action {action} it becomes {other}, not {one}"
        if game.has_knowledge and player >= 0:
            known: Any = call("knowledge", one, player)
            if not 0.0 <= known <= 1.0:
                return f"after action {action} knowledge() is {known}, which must be from 0 to 1"
    return ""


def _played(call: Call, state: PlainState, action: int) -> PlainState:
    after = state.copy()
    call("apply", after, action, np.zeros(3, object))
    return after

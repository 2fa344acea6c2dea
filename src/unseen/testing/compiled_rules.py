"""The compiled rules of a game beside its plain ones: whether both say the same of a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import CHECKED_FOR, JIT_DISABLED, kernel
from unseen.engine import step
from unseen.errors import RuleError
from unseen.game import TERMINAL, Game, PlainState, cut

UNWRITTEN = -77
"""Stands where a rule ought to write."""
History = tuple[int, ...]


class CompiledRules:
    """Asks the compiled rules what the plain ones have said, and calls `fault(check, message, history, details)` if they differ."""

    def __init__(self, game: Game, fault: Callable[..., None]) -> None:
        self.game, self.fault = game, fault
        self.is_usable = not JIT_DISABLED
        """Not any more, once they have turned out not to compile."""
        self.compact = game.new_states(1)
        single = any(game.state[name].base == np.float32 for name in game.state.names or ())
        self.tolerance = 1e-5 if single else 1e-9  # compiled rules compute with what is stored, plain ones with more digits

    def run(self, history: History, function: Callable[..., Any], *args: Any) -> Any:
        """Call a kernel with the state at `history`; None if the rules raise. If they do not compile that is a fault, and nothing
        compiled is tried again."""
        if not self.is_usable:
            return None
        try:
            return function(self.game, self.compact, *args)
        except RuleError as error:
            if isinstance(error.__cause__, CHECKED_FOR):
                said = str(error.__cause__)
                self.fault("compiled raises", f"plain Python finds nothing wrong, but compiled rules say: {said}", history)
                return None
            self.fault("compile", f"the rules do not compile: {str(error).rstrip('.')}", (), error.details)
            self.is_usable = False
            return None

    def compare_start(self, plain: PlainState) -> None:
        """Start the game."""
        if self.fit("start", plain, ()) and self.run((), begin):
            self.compare_fields("start", plain, ())

    def compare(self, history: History, state: PlainState, player: int, actions: list[int], utilities: list[float]) -> None:
        """Ask who is to move, and what the actions or payoffs are."""
        out, payoffs = np.full(max(self.game.width, 2), UNWRITTEN, np.int64), np.zeros(2)
        state.write(self.compact)
        found = self.run(history, ask, out, payoffs)
        if found is None:
            return
        if self.game.knows_bits and player != TERMINAL and found[3] != self.game.bits(state):
            self.fault("compiled differs", f"the compiled bits() says {found[3]:#b}, the plain one does not", history)
        native = (int(found[0]), out[: found[1]].tolist())
        if (player, actions) != native:
            self.fault("compiled differs", f"plain Python says (player, actions) {(player, actions)}, compiled {native}", history)
        if bool(found[2]) != (player != TERMINAL and bool(self.game.settled(state))):
            self.fault("compiled differs", f"the compiled settled() says {bool(found[2])}, the plain one does not", history)
        if player == TERMINAL and not self.is_close(payoffs, utilities):
            message = f"plain Python says the utilities are {utilities}, compiled {payoffs.tolist()}"
            self.fault("compiled utility", message, history)

    def compare_chance(self, history: History, state: PlainState, actions: list[int], plain: list[float]) -> None:
        """Ask for the probabilities of chance."""
        state.write(self.compact)
        native = np.zeros(len(actions))
        if self.run(history, ask_chance, np.array(actions), native) and not self.is_close(native, plain):
            message = f"plain Python says the probabilities of chance are {plain}, compiled {native.tolist()}"
            self.fault("compiled chance", message, history)

    def compare_apply(self, history: History, before: PlainState, after: PlainState, told: list[int]) -> None:
        """Play the last action of `history`."""
        tell = np.zeros(3, np.int64)
        if not self.fit("apply", after, history):
            return
        before.write(self.compact)
        if not self.run(history, play, history[-1], tell):
            return
        self.compare_fields("apply", after, history)
        if tell.tolist() != told:
            self.fault("compiled tokens", f"plain apply() tells {told}, compiled {tell.tolist()}", history)

    def compare_reduced(self, history: History, before: PlainState, after: PlainState, said: tuple[float, float]) -> None:
        """Reduce a state."""
        if not self.fit("reduced", after, history):
            return
        before.write(self.compact)
        found = self.run(history, reduce_state)
        if found is None:
            return
        self.compare_fields("reduced", after, history)
        if not self.is_close(found, said):
            self.fault("compiled reduced", f"plain reduced() returns {said}, compiled {tuple(found)}", history)

    def compare_open(self, history: History, before: PlainState, after: PlainState) -> None:
        """Lay a state open."""
        if not self.fit("lay_open", after, history):
            return
        before.write(self.compact)
        if self.run(history, open_state):
            self.compare_fields("lay_open", after, history)

    def compare_encoding(self, history: History, state: PlainState, player: int, plain: NDArray[np.float32]) -> None:
        """Encode what a player knows."""
        native = np.zeros(self.game.encoding_size, np.float32)
        state.write(self.compact)
        if self.run(history, encode_state, player, native) and not np.allclose(native, plain, rtol=1e-5, atol=1e-6):
            self.fault("compiled encode", f"plain encode() writes {plain.tolist()}, compiled {native.tolist()}", history)

    def is_close(self, native: Any, plain: Any) -> bool:
        return np.allclose(native, plain, rtol=self.tolerance, atol=1e-12, equal_nan=True)

    def fit(self, rule: str, after: PlainState, history: History) -> bool:
        """Whether the whole numbers that a rule has written fit their fields; if not, that is a fault."""
        for name, plain in after.values().items():
            kind = self.game.state[name].base
            if kind.kind in "iu" and not np.array_equal(cut(plain, kind), plain):
                said = f"after {rule}() field {name!r} is {plain}: the value does not fit its type {kind}"
                self.fault(f"field {name}", said, history)
                return False
        return True

    def compare_fields(self, rule: str, after: PlainState, history: History) -> None:
        """Compare a plain state with what the compiled rules have made of the compact one."""
        for name, plain in after.values().items():
            kind, native = self.game.state[name].base, self.compact[name][0]
            stored = cut(plain, kind)
            is_same = (
                np.allclose(stored, native, self.tolerance, equal_nan=True) if kind.kind == "f" else np.array_equal(stored, native)
            )
            if not is_same:
                said = f"after {rule}() field {name!r} is {plain} or {native.tolist()}: plain Python and compiled rules differ"
                self.fault(f"field {name}", said, history)


@kernel
def ask(game, states, out, payoffs):
    """What the compiled rules say of a state: player, number of actions, is it settled, bits; actions or payoffs are written."""
    s = states[0]
    p = game.player(s)
    is_settled = p != TERMINAL and game.settled(s)
    if p == TERMINAL or is_settled:
        payoffs[0] = game.utility(s, 0)
        payoffs[1] = game.utility(s, 1)
    if p == TERMINAL:
        return p, 0, is_settled, 0
    return p, game.actions(s, out), is_settled, game.bits(s)


@kernel
def begin(game, states):
    """Start a game with the compiled rules."""
    game.start(states[0])
    return True


@kernel
def ask_chance(game, states, actions, probabilities):
    """The probabilities of chance's outcomes by the compiled rules."""
    for k in range(len(actions)):
        probabilities[k] = game.chance(states[0], actions[k], len(actions))
    return True


@kernel
def play(game, states, a, tell):
    """Play one action with the compiled rules."""
    step(game, states[0], a, tell)
    return True


@kernel
def reduce_state(game, states):
    """Reduce a state with the compiled rules."""
    return game.reduced(states[0])


@kernel
def open_state(game, states):
    """Lay a state open with the compiled rules."""
    game.lay_open(states[0])
    return True


@kernel
def encode_state(game, states, who, out):
    """Encode what a player knows with the compiled rules."""
    game.encode(states[0], who, out)
    return True

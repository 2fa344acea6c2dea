"""The cheap laws at as many histories as time allows, in compiled code that checks indices.

What shows once in a million histories is met by no walk in plain Python. Here every rule is called twice at every history of a
walk in depth-first order, or, if that does not come to its end, at those of random games, which reach everywhere a little.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import CHECKED_FOR, kernel, piece
from unseen.engine import random_index, random_state, step
from unseen.errors import RuleError, UnseenError
from unseen.game import CHANCE, MAX_TOKEN, TERMINAL, Game
from unseen.position import Position

HISTORIES_PER_CALL = 200_000
STUCK_SECONDS = 10.0
"""A call that takes so long is taken for one that never ends."""
SUM_TOLERANCE = 1e-9
HISTORIES, GAMES, LONGEST, DEPTH, ACTION = range(5)
NOTHING_DONE = -1
DONE, PAUSED = 0, 1
BAD_PLAYER, BAD_COUNT, BAD_ACTION, BAD_CHANCE, BAD_TOKEN, BAD_UTILITY, NOT_ZERO_SUM, TOO_LONG = range(2, 10)
PLAYER_TWICE, ACTIONS_TWICE, CHANCE_TWICE, APPLY_TWICE, UTILITY_TWICE, NOT_SETTLED = range(10, 16)
LAWS = {
    BAD_PLAYER: ("player invalid", "player() is not 0, 1, CHANCE or TERMINAL"),
    BAD_COUNT: ("number of actions", "actions() offers none, or more than num_actions or num_outcomes allow"),
    BAD_ACTION: ("action bound", "actions() offers actions that are not ascending, or not below num_actions or num_outcomes"),
    BAD_CHANCE: ("chance sum", "the probabilities of chance are not positive numbers that sum to 1"),
    BAD_TOKEN: ("token", f"apply() tells a token that is not from 0 to {MAX_TOKEN}"),
    BAD_UTILITY: ("utility not finite", "the utilities are not finite numbers"),
    NOT_ZERO_SUM: ("not zero-sum", "the utilities do not sum to zero"),
    TOO_LONG: ("too long", "the game is not over after max_length moves"),
    PLAYER_TWICE: ("player not deterministic", "player() does not say the same twice of the same state"),
    ACTIONS_TWICE: ("actions not deterministic", "actions() does not say the same twice of the same state"),
    CHANCE_TWICE: ("chance not deterministic", "chance() does not say the same twice of the same state"),
    APPLY_TWICE: ("apply not deterministic", "apply() does not do the same twice"),
    UTILITY_TWICE: ("utility not deterministic", "utility() does not say the same twice of the same state"),
    NOT_SETTLED: ("settled", "the payoffs are others than when settled() said that they are settled"),
}
"""What a law is called in a report, and what breaks it."""
RAISED = {IndexError: "index", ZeroDivisionError: "division by zero", OverflowError: "overflow"}
"""What it is called if compiled rules, which are checked, raise."""


class Stack(NamedTuple):
    """The history that the survey stands at, by depth; the last state is spare."""

    states: NDArray[Any]  # (max_length + 3,) records
    raw: NDArray[np.uint8]  # (max_length + 3, bytes) the same memory
    actions: NDArray[np.int64]  # (max_length + 2, width)
    n_actions: NDArray[np.int64]  # (max_length + 2,)
    next: NDArray[np.int64]  # (max_length + 2,) the index of the next action to try
    settled: NDArray[np.float64]  # (max_length + 2,) the payoff to player 0 if the history is settled, or NaN
    again: NDArray[np.int64]  # (width,) what `actions` says the second time
    tell: NDArray[np.int64]  # (2, 3)


def new_stack(game: Game) -> Stack:
    depths = game.max_length + 2
    states = game.new_states(depths + 1)
    raw = states.view(np.ndarray).view(np.uint8).reshape(depths + 1, -1)
    return Stack(
        states, raw, np.zeros((depths, game.width), np.int64), np.zeros(depths, np.int64), np.zeros(depths, np.int64),
        np.zeros(depths), np.zeros(game.width, np.int64), np.zeros((2, 3), np.int64),
    )  # fmt: skip


@piece
def arrive(game, stack, d, bounds):
    """The laws at the history on the stack at depth `d`. Returns whose move it is, and DONE or a law that is broken."""
    s = stack.states[d]
    p = game.player(s)
    stack.n_actions[d] = 0
    stack.next[d] = 0
    if game.player(s) != p:
        return p, PLAYER_TWICE
    if p == TERMINAL:
        return p, check_end(game, s, stack.settled[d])
    if p < TERMINAL or p > 1:
        return p, BAD_PLAYER
    if d >= len(stack.n_actions) - 2:
        return p, TOO_LONG
    if stack.settled[d] != stack.settled[d] and game.settled(s):
        stack.settled[d] = game.utility(s, 0)
    out = stack.actions[d]
    n = game.actions(s, out)
    bound = bounds[1] if p == CHANCE else bounds[0]
    if n <= 0 or n > len(out):
        return p, BAD_COUNT
    if game.actions(s, stack.again) != n:
        return p, ACTIONS_TWICE
    least = 0
    for k in range(n):
        if out[k] < least or out[k] >= bound:
            return p, BAD_ACTION
        least = out[k] + 1
        if stack.again[k] != out[k]:
            return p, ACTIONS_TWICE
    if p == CHANCE:
        total = 0.0
        for k in range(n):
            chance = game.chance(s, out[k], n)
            if game.chance(s, out[k], n) != chance:
                return p, CHANCE_TWICE
            if not chance > 0.0:
                return p, BAD_CHANCE
            total += chance
        if not abs(total - 1.0) < SUM_TOLERANCE:
            return p, BAD_CHANCE
    stack.n_actions[d] = n
    return p, DONE


@piece
def check_end(game, s, settled):
    """The laws at the end of a game."""
    first, second = game.utility(s, 0), game.utility(s, 1)
    if not (np.isfinite(first) and np.isfinite(second)):
        return BAD_UTILITY
    if game.utility(s, 0) != first or game.utility(s, 1) != second:
        return UTILITY_TWICE
    if not abs(first + second) < SUM_TOLERANCE:
        return NOT_ZERO_SUM
    if settled == settled and not abs(settled - first) < SUM_TOLERANCE * max(1.0, abs(first)):
        return NOT_SETTLED
    return DONE


@piece
def follow(game, stack, d, a):
    """Play `a` at depth `d`, twice. Returns DONE or a law that is broken."""
    spare = len(stack.states) - 1
    stack.states[d + 1] = stack.states[d]
    stack.states[spare] = stack.states[d]
    step(game, stack.states[d + 1], a, stack.tell[0])
    step(game, stack.states[spare], a, stack.tell[1])
    for k in range(stack.raw.shape[1]):
        if stack.raw[d + 1, k] != stack.raw[spare, k]:
            return APPLY_TWICE
    for k in range(3):
        if stack.tell[0, k] != stack.tell[1, k]:
            return APPLY_TWICE
        if stack.tell[0, k] < 0 or stack.tell[0, k] > MAX_TOKEN:
            return BAD_TOKEN
    stack.settled[d + 1] = stack.settled[d]
    return DONE


@kernel
def survey(game, stack, bounds, counters, is_random, rng, budget):
    """Go on for up to `budget` more histories: depth first, or by random games. Returns DONE, PAUSED, or a law that is broken.

    `counters` says at any time at which depth it stands, and which action it is about to play there.
    """
    end = counters[HISTORIES] + budget
    d = counters[DEPTH]
    status = DONE
    while status == DONE:
        if d == NOTHING_DONE:
            if counters[GAMES] > 0 and not is_random:
                break
            counters[GAMES] += 1
            game.start(stack.states[0])
            stack.settled[0] = np.nan
        elif stack.next[d] == stack.n_actions[d] or (is_random and stack.next[d] > 0):
            d = NOTHING_DONE if is_random else d - 1
            counters[DEPTH] = d
            continue
        else:
            k = random_index(stack.n_actions[d], rng) if is_random else stack.next[d]
            stack.next[d] = k + 1
            counters[ACTION] = stack.actions[d, k]
            status = follow(game, stack, d, stack.actions[d, k])
        if status == DONE:
            d += 1
            counters[DEPTH] = d
            counters[ACTION] = NOTHING_DONE
            counters[HISTORIES] += 1
            counters[LONGEST] = max(counters[LONGEST], d)
            _, status = arrive(game, stack, d, bounds)
        if status == DONE and counters[HISTORIES] >= end:
            return PAUSED
    return status


@dataclass(frozen=True)
class Surveyed:
    """What a survey saw: histories in depth-first order, whether these were all, random games; and the law it found broken, if
    any."""

    histories: int
    is_complete: bool
    games: int
    longest: int
    check: str = ""
    message: str = ""
    history: tuple[int, ...] = ()


class Surveyor:
    """A survey of a game, for so many seconds."""

    def __init__(self, game: Game, seconds: float, seed: int = 0, progress: Callable[[int], None] | None = None) -> None:
        self.game, self.seconds, self.progress = game, seconds, progress
        self.stack, self.rng = new_stack(game), random_state(seed)
        self.bounds = np.array([game.num_actions, game.num_outcomes])
        self.counters = np.array([0, 0, 0, NOTHING_DONE, NOTHING_DONE])

    def run(self) -> Surveyed:
        """Walk for half of the time; if that was not enough for all of the game, play random games for the other half."""
        end = time.monotonic() + self.seconds
        status = self.go_on(False, time.monotonic() + self.seconds / 2)
        walked, is_complete, games = int(self.counters[HISTORIES]), status == DONE, 0
        if status == PAUSED:
            self.counters[:] = (0, 0, self.counters[LONGEST], NOTHING_DONE, NOTHING_DONE)
            status = self.go_on(True, end)
            games = int(self.counters[GAMES])
        check, message = LAWS.get(status, ("", "")) if isinstance(status, int) else status
        history = self.history() if check else ()
        return Surveyed(walked, is_complete, games, int(self.counters[LONGEST]), check, message, history)

    def go_on(self, is_random: bool, end: float) -> int | tuple[str, str]:
        while True:
            try:
                status = int(self.call(is_random))
            except RuleError as error:
                if isinstance(error.__cause__, CHECKED_FOR):
                    return RAISED.get(type(error.__cause__), "compiled raises"), f"a compiled rule raises: {error.__cause__}"
                raise
            if self.progress is not None:
                self.progress(int(self.counters[HISTORIES]))
            if status != PAUSED or time.monotonic() > end:
                return status

    def call(self, is_random: bool) -> int:
        """A stretch of the survey, in a thread of its own: a rule that never returns must not take the process with it."""
        done: list[Any] = []

        def work() -> None:
            try:
                done.append(survey(self.game, self.stack, self.bounds, self.counters, is_random, self.rng, HISTORIES_PER_CALL))
            except BaseException as error:
                done.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        seen, since = -1, time.monotonic()
        while thread.is_alive():
            thread.join(0.05)
            if int(self.counters[HISTORIES]) != seen or not seen:  # before the first history, the kernel is still being compiled
                seen, since = int(self.counters[HISTORIES]), time.monotonic()
            if time.monotonic() - since > STUCK_SECONDS:
                raise Endless(self.history())
        if isinstance(done[0], BaseException):
            raise done[0]
        return int(done[0])

    def history(self) -> tuple[int, ...]:
        """Where the survey stands, with the action that it is about to play."""
        depth, action = int(self.counters[DEPTH]), int(self.counters[ACTION])
        moves = [int(self.stack.actions[d, self.stack.next[d] - 1]) for d in range(max(depth, 0))]
        return (*moves, action) if action >= 0 else tuple(moves)


class Endless(UnseenError):
    """A compiled rule does not return; `history` is where."""

    def __init__(self, history: tuple[int, ...]) -> None:
        super().__init__("a rule does not return")
        self.history = history


def blame(game: Game, history: tuple[int, ...]) -> str:
    """What plain Python says at a history where compiled rules broke a law, if it sees a fault there, too."""
    try:
        position = Position(game, history)
        _ = position.utilities if position.is_terminal else position.actions
    except UnseenError as error:
        return str(error)
    return ""

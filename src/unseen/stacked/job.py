"""Backward induction at work: threads, their table, and how both grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import GameFault, UnseenError
from unseen.game import Game
from unseen.stacked.rounds import Rounds, UnevenError, new_work, solve_hands
from unseen.stacked.table import Words, copy_table, folding, new_table, refolded, whole_bytes
from unseen.stacked.walk import (
    DONE,
    FAULTS,
    FULL,
    GAMES,
    MET_OTHERS,
    PAUSED,
    STATES,
    Frames,
    begin,
    enter,
    first_words,
    new_frames,
    replay,
    solve_states,
)

LOAD = 0.7
"""A table that is fuller than this is made twice as large."""
FIRST_SLOTS = 1 << 12
FIRST_GAMES = 500
ROUNDS_FROM = 20_000
"""States from which on it pays to compile what solves them round by round; fewer are walked in a blink."""
SECONDS_A_CALL = 0.3
"""So that Ctrl-C is noticed in between, and progress is shown."""
BYTES_A_CELL = 64
"""At least so much is kept of each joint move, besides the state that it leads to."""


class Known(NamedTuple):
    """What has been found before."""

    table: Words  # (slots, p + 1) the words of each key, and the bits of what the state is worth
    varying: Words  # (k,) which bits of a state vary, in whole bytes
    entries: int
    games: int
    """Matrix games of the states in the table."""
    gap: float
    """The most that the mixes of one of them leave open."""


class Job:
    """Threads that walk a game at once from some history on, and their table."""

    def __init__(self, game: Game, workers: int, memory: int, known: Known | None = None) -> None:
        self.game, self.workers, self.memory, self.first = game, workers, memory, first_words(game)
        self.seconds, self.before, varying = 0.0, (0, 0, 0.0), np.zeros_like(self.first)
        cells = workers * (game.max_length + 1) * game.width**2
        self.held = cells * (game.state.itemsize + BYTES_A_CELL)
        if self.held > memory:
            raise UnseenError(
                f"{game.spec}: {game.width} actions at a time are too many for {memory / 1e9:,.3g} GB (see --memory)."
            )
        if known is not None:
            self.before, varying = (known.entries, known.games, known.gap), known.varying
        self.varying, self.fold = varying, folding(self.first, varying)
        self.table = known.table if known is not None else self.new_table(FIRST_SLOTS)
        self.hold(self.table.nbytes)
        self.games_a_call, self.value = FIRST_GAMES, float("nan")
        self.rounds: Rounds | None = None

    def begin_rounds(self) -> None:
        """Solve all states round by round, if the game has rounds, before any walk: there is then nothing left to walk."""
        try:
            rounds = Rounds(self.game, self.first)
        except UnevenError:
            return
        if rounds.is_done or rounds.states < ROUNDS_FROM:
            return
        self.rounds = rounds
        met = rounds.varying & ~self.varying
        if self.fold is not None and met.any():
            self.fold_anew(met)
        slots = slots_for(self.entries + rounds.states)
        if slots > len(self.table):
            self.grow(slots)
        self.work = [new_work(self.game, rounds.layers, self.fold) for _ in self.threads]
        self.hold(self.table.nbytes + rounds.nbytes)
        solve_hands(*self.share(0, 0, 0))  # compiled before the clock runs

    def begin(self, history: Sequence[int]) -> None:
        """Put all threads at a history. Its own state is not reduced, so that its actions are those of the game."""
        self.history, self.is_done = history, False
        self.threads = [new_frames(self.game, self.fold, is_last_first=bool(k % 2)) for k in range(self.workers)]
        for frames in self.threads:
            replay(self.game, np.array(history, np.int64), frames.states, frames.tell)
            self.check(begin(self.game, frames), frames)
        solve_states(self.game, self.threads[0], self.fold, self.table, 0, 0)  # compiled before the clock runs

    def solve(self, history: Sequence[int]) -> float:
        """The value of a history."""
        self.begin(history)
        while not self.is_done:
            self.run()
        return self.value

    def enter(self, history: Sequence[int]) -> None:
        """Solve the state after a history, and enter what it is worth."""
        value = self.solve(history)
        while True:
            frames = self.threads[0]
            replay(self.game, np.array(history, np.int64), frames.next, frames.tell)
            if enter(self.game, frames, self.fold, self.table, value) != MET_OTHERS:
                break
            self.fold_anew(self.met)

    @property
    def entries(self) -> int:
        return self.before[0] + sum(int(frames.counts[STATES]) for frames in self.threads)

    @property
    def met(self) -> Words:
        """Bits, (2,), that are not what the folding takes them for."""
        met: Words = np.bitwise_or.reduce([frames.met for frames in self.threads])
        return met

    @property
    def games(self) -> int:
        return self.before[1] + sum(int(frames.counts[GAMES]) for frames in self.threads)

    @property
    def gap(self) -> float:
        return max(self.before[2], *(float(frames.gap[0]) for frames in self.threads))

    def hold(self, nbytes: int) -> None:
        """Raise if tables of so many bytes, with all else, are too large."""
        if self.held + nbytes > self.memory:
            raise UnseenError(
                f"{self.game.spec}: its table takes more than {self.memory / 1e9:,.3g} GB of memory, its bound (see --memory)."
            )

    def new_table(self, slots: int) -> Words:
        return new_table(slots, 1 + (len(self.first) if self.fold is None else 1))

    def run(self) -> None:
        """Let all threads go on for a moment."""
        room = (int(LOAD * len(self.table)) - self.entries) // self.workers
        began = time.monotonic()
        if self.rounds is not None:
            self.solve_rounds(self.rounds)
        elif room < 1:
            self.grow(2 * len(self.table))
        else:
            self.walk(room)
        self.seconds += time.monotonic() - began

    def grow(self, slots: int) -> None:
        """Make the table larger."""
        larger = self.new_table(slots)
        self.hold(self.table.nbytes + larger.nbytes)
        copy_table(self.table, larger)
        self.table = larger

    def walk(self, room: int) -> None:
        """Until a thread is done, each has solved so many games, or entered so many states."""
        began = time.monotonic()
        calls = [(self.game, frames, self.fold, self.table, room, self.games_a_call) for frames in self.threads]
        statuses = self.at_once(solve_states, calls)
        self.is_done = DONE in statuses
        if self.is_done:
            self.value = float(self.threads[statuses.index(DONE)].worth[0, 0])
        elif MET_OTHERS in statuses:
            self.fold_anew(self.met)
        elif FULL not in statuses:
            self.games_a_call = paced(self.games_a_call, began)

    def solve_rounds(self, rounds: Rounds) -> None:
        """Solve some hands of a round, with all stacks."""
        began, first, hands = time.monotonic(), rounds.hand, rounds.hands_a_call
        ends = [min(first + k * hands, len(rounds.values)) for k in range(self.workers + 1)]
        self.at_once(solve_hands, [self.share(k, ends[k], ends[k + 1]) for k in range(self.workers)])
        rounds.hands_a_call = paced(hands, began)
        rounds.go_on(ends[-1])
        if rounds.is_done:
            self.rounds, self.before = None, (self.entries, self.games, self.gap)
            self.begin(self.history)

    def share(self, thread: int, first: int, last: int) -> tuple[Any, ...]:
        """What a thread is to do: all hands from `first` to `last`."""
        assert self.rounds is not None
        layer, below, values = self.rounds.layer, self.rounds.below, self.rounds.values
        return self.game, self.threads[thread], self.fold, self.table, layer, below, first, last, self.work[thread], values

    def at_once(self, solve: Callable[..., int], calls: list[tuple[Any, ...]]) -> list[int]:
        """Let each thread do its part, and check what came of it."""
        if self.workers == 1:
            statuses = [solve(*calls[0])]
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                statuses = [call.result() for call in [pool.submit(solve, *call) for call in calls]]
        for status, frames in zip(statuses, self.threads, strict=True):
            self.check(status, frames)
        return statuses

    def fold_anew(self, met: Words) -> None:
        """A state has bits that were taken for constant: other keys for all that is known, and back to where we began."""
        self.before = (self.entries, self.games, self.gap)
        self.varying = self.varying | whole_bytes(met)[: len(self.varying)]
        old, self.fold = self.fold, folding(self.first, self.varying)
        assert old is not None
        rows = refolded(self.table, old, self.fold, len(self.first))
        self.table = self.new_table(len(self.table))
        copy_table(rows, self.table)
        self.begin(self.history)

    def check(self, status: int, frames: Frames) -> None:
        if status not in (DONE, PAUSED, FULL, MET_OTHERS):
            depth = int(frames.depth[0])
            raise GameFault(f"{type(self.game).__name__}: {FAULTS[status]}, in a state that comes {depth} rounds after the start.")

    def known(self) -> Known:
        """What has been found so far."""
        return Known(self.table, self.varying, self.entries, self.games, self.gap)


def paced(amount: int, began: float) -> int:
    """How much to do in a call, if that took from `began` until now."""
    return max(1, int(amount * min(2.0, SECONDS_A_CALL / max(time.monotonic() - began, 1e-6))))


def slots_for(entries: int) -> int:
    """How many slots a table with so many entries has: a power of two."""
    slots = FIRST_SLOTS
    while LOAD * slots <= entries:
        slots *= 2
    return slots

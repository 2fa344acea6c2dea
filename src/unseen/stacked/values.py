"""What every state of an open simultaneous game is worth, and how to play there: solved once, kept in a file, asked anywhere."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.enumeration.walker import MEMORY_SHARE, machine_memory
from unseen.errors import GameFault, UnseenError
from unseen.game import PUBLIC, Game
from unseen.games import REGISTRY
from unseen.loading import load, parse
from unseen.position import Position, fingerprint, random_walk
from unseen.run.files import CHECKSUM_BYTES, check_file, write_sealed
from unseen.run.progress import InterruptsHeld, Progress, watched
from unseen.run.workers import core_count
from unseen.show.mixes import Answer, mixes_figure
from unseen.show.results import Result, number
from unseen.stacked.openness import check_open
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
    first_words,
    new_frames,
    replay,
    solve_states,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAGIC = b"unseen-values 1\n"
LOAD = 0.7
"""A table that is fuller than this is made twice as large."""
FIRST_SLOTS = 1 << 12
BLOCK = 1 << 20
"""Slots that are read or written at a time."""
FIRST_GAMES = 500
SECONDS_A_CALL = 0.3
"""So that Ctrl-C is noticed in between, and progress is shown."""
BYTES_A_CELL = 64
"""At least so much is kept of each joint move, besides the state that it leads to."""
SAVE_EVERY = 900.0
RULE_GAMES = 30


@dataclass(repr=False)
class Values(Result):
    """What every state of `game` is worth. `values.at(position)` says what a position is worth, and how both should play there."""

    game: Game
    value: float
    """Of the game, to the first player."""
    entries: int
    """How many states are in the table: all but the start."""
    games: int
    """Matrix games of these states."""
    seconds: float
    """Spent on solving."""
    gap: float
    """The most that the mixes of a matrix game leave open between what one player is sure of and what the other concedes."""
    stopped: bool
    """Whether Ctrl-C ended it before all states were solved; `value` is then not known (nan)."""
    slots: Words = field(repr=False)
    """(slots, p + 1) the words of each key, and the bits of what the state is worth."""
    varying: Words = field(repr=False)
    """(k,) which bits of a state vary, in whole bytes."""
    added: int = field(default=0, repr=False)
    """Entries that `at` has added: if reducing a state and playing on is not the same as playing on and reducing."""

    @property
    def title(self) -> str:
        return self.game.spec + " (stopped)" * self.stopped

    @property
    def states(self) -> int:
        """How many were solved, the start among them; those that the game's `reduced` makes the same are one."""
        return self.entries + (not self.stopped)

    @property
    def matrix_games(self) -> int:
        """How many were solved, those at the start among them."""
        start = Position(self.game)
        return self.games + (0 if self.stopped else len(start.actions) if start.is_chance else 1)

    @property
    def error(self) -> float:
        """How far `value` can be from the truth, but for rounding: the gaps of all rounds add up, and a value is in the middle."""
        return 0.5 * self.gap * (self.game.max_length // 2)

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "value": None if self.stopped else self.value, "states": self.states,
            "matrix_games": self.matrix_games, "seconds": self.seconds, "error": self.error, "stopped": self.stopped,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        known = {} if self.stopped else {
            "value to the first player": number(self.value), "certified to be off by at most": f"{max(self.error, 1e-15):.1g}"
        }  # fmt: skip
        return known | {
            "different states": self.states,
            "matrix games solved": self.matrix_games,
            "seconds": f"{self.seconds:.2f} ({self.matrix_games / max(self.seconds, 1e-9):,.0f} games/s)",
        }

    def at(self, position: Position | Sequence[int]) -> Answer:
        """What a position of the game, or the history that leads there, is worth to the first player, and how both should play.

        In the midst of a joint move that is what it was worth before. Where nobody is to choose, the mixes are empty.
        """
        position = position if isinstance(position, Position) else Position(self.game, position)
        if position.game != self.game:
            raise UnseenError(f"{position}: the values are those of {self.game.spec}.")
        if self.stopped:
            raise UnseenError(f"{position}: the table of values is not complete; go on with `unseen value --resume`.")
        if position.player == 1:
            position = Position(self.game, position.history[:-1])
        if position.is_terminal:
            return Answer(position.utilities[0], ({}, {}))
        job = _Job(self.game, 1, 2**62, self)
        value = job.solve(position.history)
        self.slots, self.added = job.table, job.entries - self.entries
        if position.is_chance:
            return Answer(value, ({}, {}))
        own, other = position.actions, position.child(position.actions[0]).actions
        mixes = job.threads[0].simplex.row_mix, job.threads[0].simplex.column_mix
        return Answer(value, (dict(zip(own, mixes[0].tolist())), dict(zip(other, mixes[1].tolist()))))  # noqa: B905

    def figure(self, history: Sequence[int] = ()) -> Figure:
        """How both should play after `history`, or after each outcome if it is chance's turn, as a Matplotlib figure."""
        position = Position(self.game, history)
        if position.is_chance:
            after = {position.describe(a): position.child(a) for a in position.actions}
        else:
            after = {position.render(PUBLIC) if history else "at the start": position}
        shown = {name: (at, self.at(at)) for name, at in after.items() if at.player == 0}
        if not shown:
            raise UnseenError(f"{position}: nobody has anything to choose here.")
        return mixes_figure(self.game.spec, shown)

    # Files ----------------------------------------------------------------------------------------------------------------------

    def save(self, path: Path | str) -> None:
        """Write the table to a file at `path`, with the game that it belongs to."""
        about = {
            "game": self.game.spec, "rules": _rules(self.game), "entries": self.entries + self.added, "words": self.slots.shape[1],
            "complete": not self.stopped, "games": self.games, "seconds": self.seconds, "gap": self.gap,
            "varying": self.varying.tolist(),
        }  # fmt: skip
        write_sealed(Path(path), MAGIC, about, _entries(self.slots))

    @classmethod
    def load(cls, path: Path | str, game: Game | str | None = None) -> Values:
        """Read a table from the file at `path`, which must be of `game`; without, of a game of the library: no file can make us
        run code."""
        path = Path(path)
        try:
            with open(path, "rb") as file:
                found = cls._read(path, file, None if game is None else load(game))
        except OSError as error:
            raise UnseenError(f"values file {path}: it cannot be read: {error.strerror or error}.") from error
        if not found.stopped:
            found.value = found.at(()).value
        return found

    @classmethod
    def _read(cls, path: Path, file: Any, game: Game | None) -> Values:
        first = file.read(len(MAGIC))
        if first != MAGIC:
            raise UnseenError(f"values file {path}: it is not one (its first line is not {MAGIC.decode().strip()!r}).")
        line = file.readline(1 << 16)
        damaged = UnseenError(f"values file {path}: it is cut off or damaged.")
        try:
            about = json.loads(line)
            spec, rules, complete, varying = (about[name] for name in ("game", "rules", "complete", "varying"))
            entries, words, games = (about[name] for name in ("entries", "words", "games"))
            gap, seconds = float(about["gap"]), float(about["seconds"])
            counts = [entries, words, games, *varying]
            is_good = isinstance(spec, str) and isinstance(complete, bool) and isfinite(gap + seconds)
            is_good = is_good and all(type(count) is int and 0 <= count < 2**64 for count in counts)
        except (ValueError, KeyError, TypeError, RecursionError):
            is_good = False
        if not is_good:
            raise damaged
        if game is None:
            if parse(spec)[0] not in REGISTRY:
                raise UnseenError(
                    f"values file {path}: it is of {spec}, not a game of the library; say which: Values.load(path, game)."
                )
            game = load(spec)
        if spec != game.spec or rules != _rules(game):
            other = spec if spec != game.spec else f"{spec} with other rules than today's"
            raise UnseenError(f"values file {path}: it is of {other}, not of {game.spec}.")
        constant, bits = first_words(game), np.array(varying, np.uint64)
        fold = folding(constant, bits) if bits.shape == constant.shape else None
        length = file.tell() + entries * words * 8 + CHECKSUM_BYTES
        if bits.shape != constant.shape or words != 1 + (len(constant) if fold is None else 1) or length != path.stat().st_size:
            raise damaged
        digest, new = hashlib.sha256(first + line), 0
        table = new_table(_slots_for(entries), words)
        for begun in range(0, entries, BLOCK):
            block = file.read(min(BLOCK, entries - begun) * words * 8)
            digest.update(block)
            rows = np.frombuffer(block, np.uint64).reshape(-1, words)
            if not np.isfinite(rows[:, -1].view(np.float64)).all() or not rows[:, -1].all():
                raise damaged
            new += copy_table(rows, table)
        if digest.digest() != file.read(CHECKSUM_BYTES) or new != entries:
            raise damaged
        return cls(game, float("nan"), entries, games, seconds, gap, not complete, table, bits)


def _rules(game: Game) -> str:
    """A digest of how a game behaves, and of which states it says are the same or settled."""
    digest, rng = hashlib.sha256(fingerprint(game).encode()), random.Random(0)
    for _ in range(RULE_GAMES):
        for position in random_walk(game, rng):
            if position.player != 1 and not position.is_terminal:
                state = position.state.copy()
                digest.update(repr((game.settled(state), game.reduced(state), state)).encode())
    return digest.hexdigest()[:32]


def backward_induction(
    game: Game | str, *, workers: int | None = None, memory: int | None = None, save: Path | str | None = None,
    resume: bool = False, progress: Progress | bool | None = None,
) -> Values:  # fmt: skip
    """The exact value of every state of a simultaneous game that hides nothing but the move being made, by backward induction.

    - `game`: a game, or what names one: `"pd_goofspiel(cards=7)"`.
    - `workers`: how many threads (otherwise one a core); the values are the same.
    - `memory`: the most bytes that the table may take.
    - `save`: a file that gets the table, now and then and at the end. `resume` goes on from what is there.
    - `progress`: None shows a bar if a person is watching, True always, False never; a function is called with the states so far.

    Ctrl-C ends it; what has been solved so far is in the result (`stopped`) and in the file.
    """
    game = load(game)
    check_open(game, "backward induction over states")
    if save is not None:
        check_file(Path(save))
    before = Values.load(save, game) if resume and save is not None and Path(save).exists() else None
    job = _Job(game, core_count(workers), int(MEMORY_SHARE * machine_memory()) if memory is None else memory, before)
    with watched(progress, game.name, "states") as tick, InterruptsHeld() as interrupts:
        job.begin(())
        saved = time.monotonic()
        try:
            while not job.is_done and not interrupts.count:
                job.run()
                tick(job.entries, f"{job.games / max(job.seconds, 1e-9):,.0f} games/s")
                if save is not None and time.monotonic() - saved > SAVE_EVERY:
                    job.values().save(save)
                    saved = time.monotonic()
        finally:
            found = job.values()
            if save is not None and found.entries:
                found.save(save)
    return found


class _Job:
    """Threads that walk the game at once from some history on, and their table; `found` is what is known before."""

    def __init__(self, game: Game, workers: int, memory: int, found: Values | None = None) -> None:
        self.game, self.workers, self.memory, self.first = game, workers, memory, first_words(game)
        self.seconds, self.before, varying = 0.0, (0, 0, 0.0), np.zeros_like(self.first)
        cells = workers * (game.max_length + 1) * game.width**2
        self.held = cells * (game.state.itemsize + BYTES_A_CELL)
        if self.held > memory:
            raise UnseenError(
                f"{game.spec}: {game.width} actions at a time are too many for {memory / 1e9:,.3g} GB (see --memory)."
            )
        if found is not None:
            self.seconds, self.before, varying = found.seconds, (found.entries + found.added, found.games, found.gap), found.varying
        self.varying, self.fold = varying, folding(self.first, varying)
        self.table = found.slots if found is not None else self.new_table(FIRST_SLOTS)
        self.hold(self.table.nbytes)
        self.games_a_call, self.value = FIRST_GAMES, float("nan")

    def begin(self, history: Sequence[int]) -> None:
        """Put all threads at a history: as it is, or reduced if it is the start of the game."""
        self.history, self.is_done = history, False
        self.threads = [new_frames(self.game, self.fold, is_last_first=bool(k % 2)) for k in range(self.workers)]
        for frames in self.threads:
            moves = np.array(history, np.int64)
            self.decided, self.sign = replay(self.game, moves, frames.states, frames.tell, not history)
            self.check(begin(self.game, frames), frames)
        solve_states(self.game, self.threads[0], self.fold, self.table, 0, 0)  # compiled before the clock runs

    def solve(self, history: Sequence[int]) -> float:
        """The value of a history."""
        self.begin(history)
        while not self.is_done:
            self.run()
        return self.value

    @property
    def entries(self) -> int:
        return self.before[0] + sum(int(frames.counts[STATES]) for frames in self.threads)

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
        if room < 1:
            self.hold(3 * self.table.nbytes)
            larger = self.new_table(2 * len(self.table))
            copy_table(self.table, larger)
            self.table = larger
        else:
            self.walk(room)
        self.seconds += time.monotonic() - began

    def walk(self, room: int) -> None:
        """Until a thread is done, each has solved so many games, or entered so many states."""
        began = time.monotonic()
        calls = [(self.game, frames, self.fold, self.table, room, self.games_a_call) for frames in self.threads]
        if self.workers == 1:
            statuses = [solve_states(*calls[0])]
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                statuses = [call.result() for call in [pool.submit(solve_states, *call) for call in calls]]
        for status, frames in zip(statuses, self.threads, strict=True):
            self.check(status, frames)
        self.is_done = DONE in statuses
        if self.is_done:
            worth = float(self.threads[statuses.index(DONE)].worth[0, 0])
            self.value = self.decided + self.sign * worth
        elif MET_OTHERS in statuses:
            self.fold_anew()
        elif FULL not in statuses:
            pace = SECONDS_A_CALL / max(time.monotonic() - began, 1e-6)
            self.games_a_call = max(1, int(self.games_a_call * min(2.0, pace)))

    def fold_anew(self) -> None:
        """A state has bits that were taken for constant: other keys for all that is known, and back to where we began."""
        met = np.bitwise_or.reduce([frames.met for frames in self.threads])
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

    def values(self) -> Values:
        return Values(
            self.game, self.value, self.entries, self.games, self.seconds, self.gap, not self.is_done, self.table, self.varying
        )  # fmt: skip


def _slots_for(entries: int) -> int:
    """How many slots a table with so many entries has: a power of two."""
    slots = FIRST_SLOTS
    while LOAD * slots <= entries:
        slots *= 2
    return slots


def _entries(table: Words) -> Iterator[Words]:
    """The slots that are in use, some at a time."""
    for begun in range(0, len(table), BLOCK):
        block = table[begun : begun + BLOCK]
        yield block[block[:, -1] != 0]

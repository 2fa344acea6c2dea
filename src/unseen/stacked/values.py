"""What every state of an open simultaneous game is worth, and how to play there: solved once, kept in a file, asked anywhere."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.enumeration.walker import MEMORY_SHARE, machine_memory
from unseen.errors import GameFault, UnseenError
from unseen.game import PUBLIC, Game
from unseen.loading import load
from unseen.position import Position, fingerprint
from unseen.run.files import CHECKSUM_BYTES, check_file, write_sealed
from unseen.run.progress import InterruptsHeld, Progress, watched
from unseen.run.workers import core_count
from unseen.show.mixes import Answer, mixes_figure
from unseen.show.results import Result, number
from unseen.stacked.openness import check_open
from unseen.stacked.table import Words, copy_table, folding, new_table, whole_bytes
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
    solve_at,
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
GAMES_A_CALL = 100_000
BYTES_A_CELL = 64
"""At least so much is kept of each joint move, besides the state that it leads to."""
SAVE_EVERY = 900.0


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
        """How far `value` can be from the truth: the gaps of all rounds add up."""
        return self.gap * self.game.max_length

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "value": None if self.stopped else self.value, "states": self.states,
            "matrix_games": self.matrix_games, "seconds": self.seconds, "error": self.error, "stopped": self.stopped,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        known = {} if self.stopped else {
            "value to the first player": number(self.value), "certified to be off by at most": f"{self.error:.1g}"
        }  # fmt: skip
        return known | {
            "different states": self.states,
            "matrix games solved": self.matrix_games,
            "seconds": f"{self.seconds:.2f} ({self.matrix_games / max(self.seconds, 1e-9):,.0f} games/s)",
        }

    def at(self, position: Position | tuple[int, ...] | list[int]) -> Answer:
        """What a position of the game, or the history that leads there, is worth to the first player, and how both should play.

        In the midst of a joint move that is what it was worth before. Where nobody is to choose, the mixes are empty.
        """
        position = position if isinstance(position, Position) else Position(self.game, position)
        self.game.enter()
        if position.game != self.game:
            raise UnseenError(f"{position}: the values are those of {self.game.spec}.")
        if position.player == 1:
            position = Position(self.game, position.history[:-1])
        if position.is_terminal:
            return Answer(position.utilities[0], ({}, {}))
        fold = folding(first_words(self.game), self.varying)
        frames = new_frames(self.game, fold, depth=1)
        position.state.write(frames.states)
        worth, is_known = solve_at(self.game, frames, fold, self.slots)
        if not is_known:
            raise UnseenError(f"{position}: the table has no value for what comes next; it is not complete.")
        if position.is_chance:
            return Answer(worth, ({}, {}))
        own, other = position.actions, position.child(position.actions[0]).actions
        mixes = frames.simplex.row_mix, frames.simplex.column_mix
        return Answer(worth, (dict(zip(own, mixes[0].tolist())), dict(zip(other, mixes[1].tolist()))))  # noqa: B905

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
        """Write the table to a file, with the game that it belongs to."""
        about = {
            "game": self.game.spec, "fingerprint": fingerprint(self.game), "entries": self.entries, "words": self.slots.shape[1],
            "value": None if self.stopped else self.value, "games": self.games, "seconds": self.seconds,
            "gap": self.gap, "varying": self.varying.tolist(),
        }  # fmt: skip
        write_sealed(Path(path), MAGIC, about, _entries(self.slots))

    @classmethod
    def load(cls, path: Path | str, game: Game | str | None = None) -> Values:
        """Read a table from a file, which must be of `game` if that is given."""
        path = Path(path)
        try:
            with open(path, "rb") as file:
                return cls._read(path, file, None if game is None else load(game))
        except OSError as error:
            raise UnseenError(f"values file {path}: it cannot be read: {error.strerror or error}.") from error

    @classmethod
    def _read(cls, path: Path, file: Any, game: Game | None) -> Values:
        first = file.read(len(MAGIC))
        if first != MAGIC:
            raise UnseenError(f"values file {path}: it is not one (its first line is not {MAGIC.decode().strip()!r}).")
        line = file.readline(1 << 16)
        damaged = UnseenError(f"values file {path}: it is cut off or damaged.")
        try:
            about = json.loads(line)
            spec, entries, words = str(about["game"]), int(about["entries"]), int(about["words"])
            counts = float(about["gap"]), float(about["seconds"]), int(about["games"])
            varying = np.array(about["varying"], np.uint64)
            value = float("nan") if about["value"] is None else float(about["value"])
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            raise damaged from None
        game = load(spec) if game is None else game
        if spec != game.spec or about.get("fingerprint") != fingerprint(game):
            other = spec if spec != game.spec else f"{spec} with other rules than today's"
            raise UnseenError(f"values file {path}: it is of {other}, not of {game.spec}.")
        constant, length = first_words(game), path.stat().st_size
        if varying.shape != constant.shape or length != file.tell() + entries * words * 8 + CHECKSUM_BYTES:
            raise damaged
        if words != 1 + (len(constant) if folding(constant, varying) is None else 1):
            raise damaged
        digest = hashlib.sha256(first + line)
        table = new_table(_slots_for(entries), words)
        for begun in range(0, entries, BLOCK):
            block = file.read(min(BLOCK, entries - begun) * words * 8)
            digest.update(block)
            copy_table(np.frombuffer(block, np.uint64).reshape(-1, words), table)
        if digest.digest() != file.read(CHECKSUM_BYTES):
            raise damaged
        return cls(game, value, entries, counts[2], counts[1], counts[0], value != value, table, varying)


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
    job = _Job(game, core_count(workers), int(MEMORY_SHARE * machine_memory()) if memory is None else memory)
    if resume and save is not None and Path(save).exists():
        job.take_up(Values.load(save, game))
    with watched(progress, game.name, "states") as tick, InterruptsHeld() as interrupts:
        saved = time.monotonic()
        while not job.is_done and not interrupts.count:
            job.run()
            tick(job.entries, f"{job.games / max(job.seconds, 1e-9):,.0f} games/s")
            if save is not None and time.monotonic() - saved > SAVE_EVERY:
                job.values().save(save)
                saved = time.monotonic()
        found = job.values()
        if save is not None:
            found.save(save)
    return found


class _Job:
    """Threads that walk the game at once, and their table."""

    def __init__(self, game: Game, workers: int, memory: int) -> None:
        self.game, self.workers, self.memory = game, workers, memory
        cells = workers * (game.max_length + 1) * game.width**2
        if cells * (game.state.itemsize + BYTES_A_CELL) > memory:
            raise UnseenError(
                f"{game.spec}: {game.width} actions at a time are too many for {memory / 1e9:,.3g} GB (see --memory)."
            )
        self.seconds, self.before, self.is_done = 0.0, (0, 0, 0.0), False
        self.first = first_words(game)
        self.begin(np.zeros_like(self.first))
        self.table = self.new_table(FIRST_SLOTS)
        solve_states(game, self.threads[0], self.fold, self.table, 0, 0)  # compiled before the clock runs
        copy_table(self.table[:1], self.table)

    def begin(self, varying: Words) -> None:
        """Put all threads at the start of the game, for states in which these bits vary."""
        self.varying, self.fold = varying, folding(self.first, varying)
        self.threads = [new_frames(self.game, self.fold, is_last_first=bool(k % 2)) for k in range(self.workers)]
        for frames in self.threads:
            self.check(begin(self.game, frames), frames)

    @property
    def entries(self) -> int:
        return self.before[0] + sum(int(frames.counts[STATES]) for frames in self.threads)

    @property
    def games(self) -> int:
        return self.before[1] + sum(int(frames.counts[GAMES]) for frames in self.threads)

    def take_up(self, found: Values) -> None:
        self.table, self.seconds = found.slots, found.seconds
        self.begin(found.varying)
        self.before = (found.entries, found.games, found.gap)

    def new_table(self, slots: int) -> Words:
        words = self.threads[0].keys.shape[1] + 1
        if slots * words * 8 > self.memory:
            raise UnseenError(
                f"{self.game.spec}: its table takes more than {self.memory / 1e9:,.3g} GB of memory, its bound (see --memory)."
            )
        return new_table(slots, words)

    def run(self) -> None:
        """Let all threads go on for a moment."""
        room = (int(LOAD * len(self.table)) - self.entries) // len(self.threads)
        began = time.monotonic()
        if room < 1:
            larger = self.new_table(2 * len(self.table))
            copy_table(self.table, larger)
            self.table = larger
        else:
            with ThreadPoolExecutor(len(self.threads)) as pool:
                calls = [pool.submit(solve_states, self.game, f, self.fold, self.table, room, GAMES_A_CALL) for f in self.threads]
                statuses = [call.result() for call in calls]
            for status, frames in zip(statuses, self.threads, strict=True):
                self.check(status, frames)
            self.is_done = DONE in statuses
            if MET_OTHERS in statuses:  # early in the game, if at all
                self.before = (0, 0, 0.0)
                met = np.bitwise_or.reduce([frames.met for frames in self.threads])
                self.begin(self.varying | whole_bytes(met)[: len(self.varying)])
                self.table = self.new_table(FIRST_SLOTS)
        self.seconds += time.monotonic() - began

    def check(self, status: int, frames: Frames) -> None:
        if status not in (DONE, PAUSED, FULL, MET_OTHERS):
            depth = int(frames.depth[0])
            raise GameFault(f"{type(self.game).__name__}: {FAULTS[status]}, in a state that comes {depth} rounds after the start.")

    def values(self) -> Values:
        gap = max(self.before[2], *(float(frames.gap[0]) for frames in self.threads))
        found = Values(
            self.game, float("nan"), self.entries, self.games, self.seconds, gap, not self.is_done, self.table, self.varying
        )
        if self.is_done:
            found.value = found.at(()).value
        return found


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

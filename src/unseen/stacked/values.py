"""What every state of an open simultaneous game is worth, and how to play there: solved once, kept in a file, asked anywhere."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from unseen.arguments import checked
from unseen.enumeration.walker import MEMORY_SHARE, machine_memory
from unseen.errors import UnseenError
from unseen.game import PUBLIC, Game
from unseen.loading import load
from unseen.position import Position, fingerprint, random_walk
from unseen.run.files import CHECKSUM_BYTES, check_output, sealed_kind, write_sealed
from unseen.run.headers import game_of, header_of
from unseen.run.progress import InterruptsHeld, Progress, Saving, watched
from unseen.run.reading import MOST, is_amount, is_count, opened, parse_json, reading
from unseen.run.workers import core_count
from unseen.show.mixes import Answer, mixes_figure
from unseen.show.results import Result, number
from unseen.stacked.job import Job, Known, slots_for
from unseen.stacked.openness import check_open
from unseen.stacked.table import Folding, Words, copy_table, folding, new_table
from unseen.stacked.walk import first_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAGIC = b"unseen-values 2\n"
KIND = sealed_kind("a table of values", MAGIC)
DAMAGED = "it is cut off or damaged."
BLOCK = 1 << 20
"""Slots that are read or written at a time."""
SAVE_EVERY = 60.0
"""Seconds between saves, or more if they would take more than a small share of the time."""
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

        In the midst of a joint move that is what it was worth before. Where nobody is to choose, mixes and matrix are empty.
        """
        position = position if isinstance(position, Position) else Position(self.game, position)
        self.check(position.game)
        if position.player == 1:
            position = Position(self.game, position.history[:-1])
        if position.is_terminal:
            return Answer(position.utilities[0], ({}, {}))
        job = Job(self.game, 1, 2**62, self.known())
        value = job.solve(position.history)
        self._learn(job)
        if position.is_chance:
            return Answer(value, ({}, {}))
        own, other = position.actions, position.child(position.actions[0]).actions
        frames = job.threads[0]
        mixes = frames.simplex.row_mix, frames.simplex.column_mix
        payoff = np.full((len(own), len(other)), value)  # all the same, if the game is settled
        if (frames.frame[0].rows, frames.frame[0].columns) == payoff.shape:
            payoff[:] = frames.payoff[0].reshape(self.game.width, -1)[: len(own), : len(other)]
        return Answer(value, (dict(zip(own, mixes[0].tolist())), dict(zip(other, mixes[1].tolist()))), payoff)  # noqa: B905

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

    def check(self, game: Game) -> None:
        """Raise if these are not all values of `game`."""
        if self.game != game:
            raise UnseenError(f"the values are those of {self.game.spec}, not of {game.spec}.")
        if self.stopped:
            raise UnseenError(f"values of {game.spec}: the table is not complete; go on with `unseen value --resume`.")

    def enter(self, history: Sequence[int]) -> None:
        """Add the state after `history` to the table, if only its reduced form is there that one comes to otherwise."""
        job = Job(self.game, 1, 2**62, self.known())
        job.enter(history)
        self._learn(job)

    def _learn(self, job: Job) -> None:
        """Take over what a job has added to the table."""
        self.slots, self.varying, self.added = job.table, job.varying, job.entries - self.entries

    def known(self) -> Known:
        return Known(self.slots, self.varying, self.entries + self.added, self.games, self.gap)

    # Files ----------------------------------------------------------------------------------------------------------------------

    def save(self, path: Path | str, force: bool = False) -> None:
        """Write the table to a file at `path`, with the game that it belongs to. Another file is replaced only with `force`."""
        about = {
            **header_of(self.game), "rules": _rules(self.game), "entries": self.entries + self.added, "words": self.slots.shape[1],
            "complete": not self.stopped, "games": self.games, "seconds": self.seconds, "gap": self.gap,
            "varying": self.varying.tolist(),
        }  # fmt: skip
        write_sealed(Path(path), KIND, MAGIC, about, _entries(self.slots), force)

    @property
    def fold(self) -> Folding | None:
        """How states become keys of the table."""
        return folding(first_words(self.game), self.varying)

    @classmethod
    @checked
    def load(cls, path: Path | str, game: Game | str | None = None) -> Values:
        """Read a table from the file at `path`, which must be of `game`; without, of a game of the library: no file can make us
        run code."""
        game = None if game is None else load(game)
        with reading(f"values file {path}"), opened(path) as file:
            found = cls._read(file, game)
            if not found.stopped:
                found.value = found._value_of_start()
        return found

    @classmethod
    def _read(cls, file: BinaryIO, game: Game | None) -> Values:
        first = file.read(len(MAGIC))
        if first != MAGIC:
            raise UnseenError(f"it is not one (its first line is not {MAGIC.decode().strip()!r}).")
        line = file.readline(1 << 16)
        try:
            about = parse_json(line)
            rules, complete, varying = (about[name] for name in ("rules", "complete", "varying"))
            entries, words, games, seconds, gap = (about[name] for name in ("entries", "words", "games", "seconds", "gap"))
            is_good = isinstance(complete, bool) and isinstance(varying, list) and all(map(is_count, (entries, words, games)))
            is_good = is_good and all(type(bits) is int and 0 <= bits < 2**64 for bits in varying)
            is_good = is_good and is_amount(seconds) and is_amount(gap)
        except (ValueError, KeyError, TypeError):
            is_good = False
        if not is_good:
            raise UnseenError(DAMAGED)
        game = game_of(about, game, "Values.load(path, game)")
        if rules != _rules(game):
            raise UnseenError(f"it is for {game.spec} with other rules than today's.")
        constant, bits = first_words(game), np.array(varying, np.uint64)
        fold = folding(constant, bits) if bits.shape == constant.shape else None
        length = file.tell() + entries * words * 8 + CHECKSUM_BYTES
        size = os.fstat(file.fileno()).st_size
        if bits.shape != constant.shape or words != 1 + (len(constant) if fold is None else 1) or length != size:
            raise UnseenError(DAMAGED)
        digest, new = hashlib.sha256(first + line), 0
        table = new_table(slots_for(entries), words)
        for begun in range(0, entries, BLOCK):
            block = file.read(min(BLOCK, entries - begun) * words * 8)
            digest.update(block)
            rows = np.frombuffer(block, np.uint64).reshape(-1, words)
            if not (np.abs(rows[:, -1].view(np.float64)) <= MOST).all() or not rows[:, -1].all():
                raise UnseenError(DAMAGED)
            new += copy_table(rows, table)
        if digest.digest() != file.read(CHECKSUM_BYTES) or new != entries:
            raise UnseenError(DAMAGED)
        return cls(game, float("nan"), entries, games, seconds, gap, not complete, table, bits)

    def _value_of_start(self) -> float:
        """What the game is worth, from a table that is said to be complete: then there is nothing to enter on the way."""
        job = Job(self.game, 1, 2**62, self.known())
        job.begin(())
        while not job.is_done:
            job.run()
            if job.entries > self.entries:
                raise UnseenError("it says that all states are in it, but they are not.")
        return job.value


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
    resume: bool = False, progress: Progress | bool | None = None, force: bool = False,
) -> Values:  # fmt: skip
    """The exact value of every state of a simultaneous game that hides nothing but the move being made, by backward induction.

    - `game`: a game, or what names one: `"pd_goofspiel(cards=7)"`.
    - `workers`: how many threads (otherwise one a core); the values are the same.
    - `memory`: the most bytes that the table may take.
    - `save`: a file that gets the table, now and then and at the end. `resume` goes on from what is there; with `force`, a file
      that is not a table of values is replaced.
    - `progress`: None shows a bar if a person is watching, True always, False never; a function is called with the states so far.

    Ctrl-C ends it; what has been solved so far is in the result (`stopped`) and in the file.
    """
    game = load(game)
    check_open(game, "backward induction over states")
    if save is not None:
        check_output(save, KIND, force)
    before = Values.load(save, game) if resume and save is not None and os.path.exists(save) else None
    memory = int(MEMORY_SHARE * machine_memory()) if memory is None else memory
    job = Job(game, core_count(workers), memory, before.known() if before else None)
    job.seconds = before.seconds if before else 0.0
    with watched(progress, game.name, "states") as tick, InterruptsHeld() as interrupts:
        job.begin(())
        if game.chance_fields:
            job.begin_rounds()
        saving = Saving(SAVE_EVERY)
        try:
            while not job.is_done and not interrupts.count:
                job.run()
                tick(job.entries, f"{job.games / max(job.seconds, 1e-9):,.0f} games/s")
                if save is not None and saving.is_due:
                    with saving:
                        _found(job).save(save, force)
        finally:
            found = _found(job)
            if save is not None and found.entries:
                found.save(save, force)
    return found


def _found(job: Job) -> Values:
    """What a job has found so far."""
    table, varying, entries, games, gap = job.known()
    return Values(job.game, job.value, entries, games, job.seconds, gap, not job.is_done, table, varying)


def _entries(table: Words) -> Iterator[Words]:
    """The slots that are in use, some at a time."""
    for begun in range(0, len(table), BLOCK):
        block = table[begun : begun + BLOCK]
        yield block[block[:, -1] != 0]

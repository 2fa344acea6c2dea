"""Walking a whole game: how many histories there are, what players can tell apart, what the ends pay.

A large game is walked in parts by several threads, and what the parts find is put together in the order in which one thread would
have found it, so the result is the same to the last bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.enumeration.infosets import new_recall, new_sets
from unseen.enumeration.symmetry import Reduction
from unseen.enumeration.walk import (
    AT_BOTTOM,
    BUNDLE,
    COUNT,
    DONE,
    EXAMPLES,
    STORE,
    new_sink,
)
from unseen.enumeration.walker import Enumeration, Part, Shared, Walker
from unseen.game import Game
from unseen.loading import load
from unseen.run.progress import Progress, watched
from unseen.run.workers import core_count

LARGE = 8_000_000
"""Histories beyond which a game is walked by several threads."""
PARTS_PER_WORKER = 8
NODES_PER_HISTORY = 0.2
"""Where there are more, putting parts together takes as long as walking, so one thread does it all."""


def enumerate_game(
    game: Game | str, store: bool = False, progress: Progress | bool | None = None, workers: int | None = None,
    memory: int | None = None, reduced: Reduction | None = None,
) -> Enumeration:  # fmt: skip
    """Walk every history of `game`; with `store`, keep the payoff of every terminal.

    Uses as many threads as this process has cores, or `workers`, and up to `memory` bytes (by default most of what there is).
    `progress`: None shows a bar if a person is watching, True always, False never; a function is called with the number of
    histories. `reduced` leaves out what something else stands for (see `symmetry`).
    """
    game = load(game)
    workers = core_count(workers)
    with watched(progress, f"walking {game.name}", "histories") as tick:
        shared = Shared(game, tick, memory)
        mode = BUNDLE if store and reduced else STORE if store else COUNT
        workers = 1 if mode == BUNDLE else workers
        walker = Walker(game, new_recall(), new_sets(), new_sink(mode), shared=shared, reduced=reduced)
        while walker.go_on() != DONE:
            few_nodes = walker.recall.size[0] < NODES_PER_HISTORY * walker.histories
            if workers > 1 and walker.histories >= LARGE and few_nodes:
                shared.forget(walker.number)
                del walker  # before the parts need room
                walker = walk_in_parts(game, mode, workers, shared, reduced)
                break
        return walker.result()


def enumerate_small(game: Game, most: int, store: bool = False) -> Enumeration | None:
    """The whole game, if it has no more than so many histories or little more; otherwise None."""

    def stop_if_large(histories: int) -> None:
        if histories > most:
            raise _TooLarge

    try:
        return enumerate_game(game, store=store, progress=stop_if_large)
    except _TooLarge:
        return None


class _TooLarge(Exception):
    """The game has more histories than were asked for."""


def parts_of(histories: list[list[int]], wanted: int) -> list[Part]:
    """Cut the walk into up to `wanted` parts that begin at some of these histories, which are all those of one length."""
    pieces = [piece for piece in np.array_split(np.arange(len(histories)), wanted) if len(piece)]
    return [Part(histories[piece[0]] if piece[0] else [], len(histories[0]), len(piece)) for piece in pieces]


def walk_in_parts(game: Game, mode: int, workers: int, shared: Shared, reduced: Reduction | None = None) -> Walker:
    """Let threads walk the parts of a game and put all together in the order of one walk."""
    wanted = PARTS_PER_WORKER * workers
    whole = Walker(game, new_recall(), new_sets(), new_sink(mode), shared=shared, reduced=reduced)

    def walk_part(part: Part) -> Walker:
        walker = Walker(game, new_recall(), new_sets(), new_sink(mode), part.prefix, shared, reduced)
        walker.run(part)
        return walker

    with threads(workers, shared) as pool:
        waiting = deque(parts_of(first_moves(game, wanted, reduced), wanted))
        walked: deque[Future[Walker]] = deque()
        while waiting or walked:
            while waiting and len(walked) <= workers:  # one ahead; more would hold memory without need
                walked.append(pool.submit(walk_part, waiting.popleft()))
            whole.take_over(walked.popleft().result())
    return whole


@contextmanager
def threads(workers: int, shared: Shared) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads for walkers, which are told to stop if something is raised meanwhile."""
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield pool
        except BaseException:
            shared.stopped = True
            raise


def first_moves(game: Game, wanted: int, reduced: Reduction | None = None) -> list[list[int]]:
    """All unfinished histories of the least length of which there are `wanted`, or else of the length of which there are most."""
    most: list[list[int]] = [[]]
    for length in range(1, game.max_length):
        found = bottom_histories(Walker(game, new_recall(), new_sets(), new_sink(COUNT), reduced=reduced), length)
        most = max(most, found, key=len)
        if len(found) >= wanted or not found:
            break
    return most


def bottom_histories(walker: Walker, bottom: int) -> list[list[int]]:
    """Walk no further than to histories of length `bottom`; returns these."""
    found = []
    while (status := walker.go_on(bottom)) != DONE:
        if status == AT_BOTTOM:
            found.append(walker.history())
            walker.skip()
    return found


class Examples(NamedTuple):
    """A history in each information set, `j` of them, one after the other."""

    actions: NDArray[np.int64]  # (a,) of all histories
    ends: NDArray[np.int64]  # (j,) where each of them ends

    def history(self, j: int) -> list[int]:
        """The history in set `j`."""
        found: list[int] = self.actions[self.ends[j - 1] if j else 0 : self.ends[j]].tolist()
        return found


def enumerate_examples(
    game: Game, progress: Progress | bool | None = None, longest: int | None = None, reduced: Reduction | None = None
) -> tuple[Enumeration, Examples]:
    """Walk every history of `game`, of up to `longest` moves, and keep one in each information set; `reduced` as above."""
    sink = new_sink(EXAMPLES, length=np.full(1, -1, np.int64), example=np.zeros(game.max_length + 2, np.int64))
    with watched(progress, f"walking {game.name}", "histories") as tick:
        walker = Walker(game, new_recall(), new_sets(), sink, shared=Shared(game, tick), reduced=reduced)
        bottom_histories(walker, game.max_length if longest is None else longest)
    found = walker.result()
    ends = np.cumsum(walker.sink.length[: len(found.sets.player)])
    return found, Examples(walker.sink.example, ends)


def example_histories(
    game: Game, progress: Progress | bool | None = None, longest: int | None = None
) -> tuple[Enumeration, list[list[int]]]:
    """The same, the second part as a list of histories."""
    found, examples = enumerate_examples(game, progress, longest)
    return found, [examples.history(j) for j in range(len(examples.ends))]

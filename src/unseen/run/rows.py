"""Tasks that are done one by one, here or in workers, each with a row of numbers; kept in a file, and resumed from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.run import checkpoint
from unseen.run.progress import InterruptsHeld, watched
from unseen.run.reading import LARGEST
from unseen.run.workers import Workers, run_all

SAVE_SECONDS = 20.0
Watcher = Callable[[int, int, int], None]
"""Called with tasks done, tasks in all, and simulations made."""


class Rows:
    """What is known of some tasks. The first number of a row is how many simulations, or other `units`, the task took."""

    def __init__(self, tasks: int, columns: int, units: str = "simulations") -> None:
        self.units = units
        self.results, self.done, self.is_complete = np.full((tasks, columns), np.nan), np.zeros(tasks, bool), True

    def run(
        self, game: Game, make: Callable[..., Any], job: tuple[Any, ...], tasks: Sequence[Any], about: Mapping[str, Any],
        save: Path | str | None, resume: bool, workers: Workers, watch: Watcher | None, progress: bool | None,
    ) -> None:  # fmt: skip
        """Do what is not done: `make(*job)(task)` is a row. Ctrl-C ends it, after at least one."""
        save = None if save is None else Path(save)
        if resume and save is not None and save.exists():
            arrays = checkpoint.read(save, game, about, checkpoint.like(self.arrays(), holes=True))[1]
            self.results, self.done = arrays["results"].copy(), arrays["done"] == 1
            known = self.results[self.done]
            if not (np.abs(known) <= LARGEST).all() or (known[:, 0] < 0.0).any():
                raise UnseenError(f"checkpoint {save}: it has no result of a part that it says is done.")
        todo = [k for k in range(len(tasks)) if not self.done[k]]
        saved = time.monotonic()
        if workers is None and not isinstance(job[1], str):
            workers = 1  # an agent that is an object stays here
        try:
            with watched(progress, str(about["agent"]), self.units) as tick:
                for k, row in zip(todo, run_all(make, job, [tasks[k] for k in todo], workers), strict=True):
                    with InterruptsHeld() as interrupts:
                        self.results[k], self.done[k] = row, True
                    if interrupts.count:
                        raise KeyboardInterrupt
                    count, simulations = int(self.done.sum()), int(np.nansum(self.results[:, 0]))
                    tick(simulations, f"{count:,} of {len(tasks):,} parts")
                    if watch is not None:
                        watch(count, len(tasks), simulations)
                    if save is not None and time.monotonic() - saved > SAVE_SECONDS:
                        self.keep(save, game, about)
                        saved = time.monotonic()
        except KeyboardInterrupt:
            self.is_complete = False
            if not self.done.any():
                raise
        if save is not None:
            self.keep(save, game, about)

    def keep(self, path: Path, game: Game, about: Mapping[str, Any]) -> None:
        checkpoint.write(path, game, about, self.arrays())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is kept in a checkpoint."""
        return {"results": self.results, "done": self.done.astype(np.int8)}

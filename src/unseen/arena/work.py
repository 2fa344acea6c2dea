"""Where work runs: here, or on several cores in processes of their own. The results are the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load

AHEAD = 8
"""Tasks for each worker that wait to be done or to be taken."""
_job: Any = None


def default_workers() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(make: Callable[..., Any], args: tuple[Any, ...], tasks: Iterable[Any], workers: int) -> Iterator[Any]:
    """The results of `make(*args)(task)` for each task, in the order of the tasks.

    With several workers each makes the job once, from arguments that are pickled; a game among them goes by its name.
    """
    if workers < 1:
        raise UnseenError(f"workers is {workers}, but must be at least 1.")
    if workers == 1:
        yield from map(make(*args), tasks)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start, (make, tuple(map(_ship, args))))
    try:
        waiting: deque[Future[Any]] = deque()
        for task in tasks:
            waiting.append(pool.submit(_do, task))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UnseenError(
            "a worker process ended before its work was done; was there too little memory? Try fewer workers."
        ) from None
    finally:
        for process in list((pool._processes or {}).values()):  # a search may take long, and nobody waits for it now
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _ship(value: Any) -> Any:
    """A game by its name if it can be loaded by that; other things as they are."""
    is_named = isinstance(value, Game) and (value.origin or type(value).__module__.startswith("unseen.games."))
    return ("unseen.load", value.spec) if is_named else value


def _start(make: Callable[..., Any], args: tuple[Any, ...]) -> None:
    global _job
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for the results
    _job = make(*(load(a[1]) if isinstance(a, tuple) and len(a) == 2 and a[0] == "unseen.load" else a for a in args))


def _do(task: Any) -> Any:
    return _job(task)

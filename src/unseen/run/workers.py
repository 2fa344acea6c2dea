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

AHEAD = 8
"""Tasks for each worker that wait to be done or to be taken."""
_job: Any = None


def core_count(workers: int | None = None) -> int:
    """How many threads or processes to use: `workers`, or one for each core that this process may run on."""
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise UnseenError(f"workers is {workers!r}, but must be a whole number, at least 1.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return workers or cores or 1


def run_all(job: Any, args: tuple[Any, ...], tasks: Iterable[Any], workers: int) -> Iterator[Any]:
    """The results of `job(task)` for each task, in the order of the tasks.

    With several workers each makes a job of its own, of the same class, from the arguments `args`, which are pickled.
    """
    if core_count(workers) == 1:
        yield from map(job, tasks)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start, (type(job), args))
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


def _start(make: Callable[..., Any], args: tuple[Any, ...]) -> None:
    global _job
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for the results
    _job = make(*args)


def _do(task: Any) -> Any:
    return _job(task)

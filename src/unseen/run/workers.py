"""Where work runs: here, or on several cores in processes of their own. The results are the same."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from unseen.compiling import notice
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


def run_all(make: Callable[..., Any], args: tuple[Any, ...], tasks: Iterable[Any], workers: int | None = None) -> Iterator[Any]:
    """The results of `make(*args)(task)` for each task, in the order of the tasks.

    With several workers (otherwise as many as there are cores), each makes a job of its own; `args` are pickled. With one, the
    job is made here.
    """
    workers = core_count(workers) if workers is not None or can_travel(args) else 1
    if workers == 1:
        job = None
        for task in tasks:
            job = job or make(*args)
            yield job(task)
        return
    context = _context(make.__module__)
    pool = ProcessPoolExecutor(workers, context, _start, (make, args, context.Value("b", int(notice.said))))
    try:
        waiting: deque[Future[Any]] = deque()
        for task in tasks:
            with _main_hidden(can_travel(args)):  # the first task starts the processes
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


def _context(module: str) -> Any:
    """How processes begin: as copies of one that has imported what they need, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


def can_travel(args: tuple[Any, ...]) -> bool:
    """Whether another process can be sent these without running the main program again: no class in them is defined there."""
    try:
        return b"__main__" not in pickle.dumps(args)
    except Exception:  # whatever a user's object raises when it is pickled
        return False


@contextmanager
def _main_hidden(is_hidden: bool) -> Iterator[None]:
    """Processes that start meanwhile do not import the main program, which may be a script that would begin all over."""
    main = sys.modules["__main__"]
    if is_hidden:
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start(make: Callable[..., Any], args: tuple[Any, ...], said: Any) -> None:
    global _job
    notice.shared = said
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for the results
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _job = make(*args)
    except UnseenError as error:
        _job = _Refused(error)


class _Refused:
    """A job that could not be made: whoever asks for its result is told why."""

    def __init__(self, error: UnseenError) -> None:
        self.error = error

    def __call__(self, task: Any) -> Any:
        raise self.error


def _end_with_parent() -> None:
    """If the process that waits for the results is killed, nobody does any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(task: Any) -> Any:
    return _job(task)

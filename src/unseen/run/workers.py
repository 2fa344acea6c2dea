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
from unseen.run.cluster import TRIES, Cluster

AHEAD = 8
"""Tasks for each worker that wait to be done or to be taken."""
_job: Any = None


Workers = int | Cluster | None
"""Where work runs: so many processes here, one a core if nothing is said, or a cluster."""


def core_count(workers: Workers = None) -> int:
    """How many threads or processes to use here: `workers`, or one for each core that this process may run on."""
    if isinstance(workers, Cluster):
        workers = None
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise UnseenError(f"workers is {workers!r}, but must be a whole number, at least 1.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return workers or cores or 1


Crew = Callable[[Iterable[Any]], Iterator[Any]]
"""Does tasks; the results come in the order of the tasks."""


def run_all(make: Callable[..., Any], args: tuple[Any, ...], tasks: Iterable[Any], workers: Workers = None) -> Iterator[Any]:
    """The results of `make(*args)(task)` for each task, in the order of the tasks.

    With several workers (otherwise as many as there are cores), each makes a job of its own; `args` are pickled. A task that dies
    with its worker is done again. With one worker, the job is made here. A `Cluster` does the same on other machines.
    """
    with crew_of(make, args, workers) as crew:
        yield from crew(tasks)


@contextmanager
def crew_of(make: Callable[..., Any], args: tuple[Any, ...], workers: Workers = None) -> Iterator[Crew]:
    """Workers as for `run_all` that stay together, with their jobs, for several lots of tasks."""
    if isinstance(workers, Cluster):
        with workers.crew(make, args, core_count()) as crew:
            yield crew
        return
    workers = core_count(workers) if workers is not None or can_travel(args) else 1
    if workers == 1:
        yield _Alone(make, args)
        return
    pool = _Pool(make, args, workers)
    try:
        yield pool
    finally:
        pool.end()


class _Alone:
    """A job that is done here; made when it is first needed."""

    def __init__(self, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.make, self.args = make, args
        self.job: Any = None

    def __call__(self, tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            self.job = self.job or self.make(*self.args)
            yield self.job(task)


class _Pool:
    """Processes that do tasks in order. Where one dies with its task, others take its place, and what is not done is done again."""

    def __init__(self, make: Callable[..., Any], args: tuple[Any, ...], workers: int) -> None:
        self.make, self.args, self.workers = make, args, workers
        self.context = _context(make.__module__)
        self.waiting: deque[tuple[Any, Future[Any]]] = deque()
        self.deaths = 0
        """Times that processes have died since the last result."""
        self.begin()

    def begin(self) -> None:
        said = self.context.Value("b", int(notice.said))
        self.pool = ProcessPoolExecutor(self.workers, self.context, _start, (self.make, self.args, said))

    def __call__(self, tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            self.waiting.append((task, self.submit(task)))
            if len(self.waiting) > AHEAD * self.workers:
                yield self.next_result()
        while self.waiting:
            yield self.next_result()

    def submit(self, task: Any) -> Future[Any]:
        try:
            with _main_hidden(can_travel(self.args)):  # the first task starts the processes
                return self.pool.submit(_do, task)
        except BrokenProcessPool as error:  # a process has died, which is noticed when the first result is asked for
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def next_result(self) -> Any:
        """The result of the task that waits longest."""
        while True:
            try:
                result = self.waiting[0][1].result()
            except BrokenProcessPool:
                self.deaths += 1
                if self.deaths == TRIES:
                    raise UnseenError(
                        f"a worker process ended before its work was done, {TRIES} times; was there too little memory? "
                        "Try fewer workers."
                    ) from None
                self.end()
                self.begin()
                self.waiting = deque((task, done if _is_good(done) else self.submit(task)) for task, done in self.waiting)
                continue
            self.waiting.popleft()
            self.deaths = 0
            return result

    def end(self) -> None:
        for process in list((self.pool._processes or {}).values()):  # a search may take long, and nobody waits for it now
            process.terminate()
        self.pool.shutdown(wait=True, cancel_futures=True)


def _is_good(future: Future[Any]) -> bool:
    """Whether there is a result, or an error that is none of the process's death."""
    return future.done() and not future.cancelled() and not isinstance(future.exception(), BrokenProcessPool)


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

"""Compiling beside what a command does meanwhile, on cores that would be idle: by copies of this process, which end with it.

What a copy compiles this process finds on disk. Where it comes to need what a copy is still compiling, it waits for that.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Sequence

from unseen.compiling.lowering import JIT_DISABLED
from unseen.run.workers import core_count

Task = Callable[[], object]
POLL_SECONDS = 0.2
_copies: list[int] = []


def compile_ahead(*tasks: Task) -> None:
    """Starts `tasks`, each of which compiles something, in as many copies of this process as there are idle cores.

    For commands, at their beginning: a process with several threads is not copied.
    """
    copies = min(core_count() - 1, len(tasks))
    if copies < 1 or JIT_DISABLED or not hasattr(os, "fork") or threading.active_count() > 1:
        return
    for k in range(copies):
        _start_copy(tasks[k::copies])


def _start_copy(tasks: Sequence[Task]) -> None:
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries, which hold nothing that is needed here
        copy = os.fork()
    if copy:
        if not _copies:
            atexit.register(_end_copies)
        _copies.append(copy)
        return
    try:
        _become_silent()
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        for task in tasks:
            with contextlib.suppress(Exception):  # whoever needs it says what is wrong
                task()
    finally:
        os._exit(0)


def _become_silent() -> None:
    """Nothing is read or written, and Ctrl-C ends it without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def _end_copies() -> None:
    """Nothing goes on compiling when the command is done."""
    while _copies:
        copy = _copies.pop()
        with contextlib.suppress(OSError):
            os.kill(copy, signal.SIGKILL)
            os.waitpid(copy, 0)

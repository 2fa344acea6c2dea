"""A look about every second at what the main thread is doing, between two steps of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

SECONDS = 1.0


class Ticks:
    """While this is entered, calls `look` every second in the main thread, which it interrupts; what `look` raises is raised there.

    It does nothing in other threads, where the system has no such signal, and where somebody else is using it.
    """

    def __init__(self, look: Callable[[], Any]) -> None:
        self.look, self.is_on = look, False

    def __enter__(self) -> None:
        is_possible = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if is_possible and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN):
            self.is_on, self.before = True, signal.signal(signal.SIGALRM, lambda number, frame: self.look())
            signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)

    def __exit__(self, *args: object) -> None:
        if self.is_on:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self.before)
            self.is_on = False

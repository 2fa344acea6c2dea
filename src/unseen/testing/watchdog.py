"""Interrupting a rule in plain Python that does not return."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from unseen.testing.survey import STUCK_SECONDS


class StuckError(Exception):
    """A rule in plain Python has been running for too long."""


class Watchdog:
    """Looks every second at what `calling` says: since when a rule has been running, or None. Only the main thread can have one."""

    def __init__(self, calling: Callable[[], float | None]) -> None:
        self.calling, self.is_possible = calling, hasattr(signal, "setitimer")

    def __enter__(self) -> None:
        self.is_possible = self.is_possible and threading.current_thread() is threading.main_thread()
        if self.is_possible:
            self.before = signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)

    def _look(self, number: int, frame: Any) -> None:
        since = self.calling()
        if since is not None and time.monotonic() - since > STUCK_SECONDS:
            raise StuckError

    def __exit__(self, *args: object) -> None:
        if self.is_possible:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self.before)

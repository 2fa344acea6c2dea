"""Interrupting a rule in plain Python that does not return."""

from __future__ import annotations

import time
from collections.abc import Callable

from unseen.run.ticks import Ticks
from unseen.testing.survey import STUCK_SECONDS


class StuckError(Exception):
    """A rule in plain Python has been running for too long."""


class Watchdog(Ticks):
    """Looks every second at what `calling` says: since when a rule has been running, or None. Only the main thread can have one."""

    def __init__(self, calling: Callable[[], float | None]) -> None:
        super().__init__(self._look)
        self.calling = calling

    def _look(self) -> None:
        since = self.calling()
        if since is not None and time.monotonic() - since > STUCK_SECONDS:
            raise StuckError

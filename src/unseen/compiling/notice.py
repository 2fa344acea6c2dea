"""Tells people why they have to wait."""

from __future__ import annotations

import sys
import threading
from typing import Any

from numba.core import event

from unseen.compiling.lowering import JIT_DISABLED

SLOW_COMPILE_SECONDS = 1.0


class _CompileNotice(event.Listener):
    """Says "compiling..." on standard error when a compilation takes longer than a second, once a process."""

    def __init__(self) -> None:
        self.depth = 0
        self.said = False
        self.shared: Any = None
        """A number that workers share, so that one of them says it for all."""
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1 and not self.said:
            self.timer = threading.Timer(SLOW_COMPILE_SECONDS, self._say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()

    def _say(self) -> None:
        self.said = True
        if self.shared is not None:
            with self.shared.get_lock():
                if self.shared.value:
                    return
                self.shared.value = 1
        print("compiling... (the result is kept on disk)", file=sys.stderr, flush=True)


notice = _CompileNotice()
if not JIT_DISABLED:
    event.register("numba:compile", notice)

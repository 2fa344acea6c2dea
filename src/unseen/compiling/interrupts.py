"""Ctrl-C while the compiler works is kept until that is done: it would get lost in a callback, or end in a crash."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

from numba.core import event

from unseen.compiling.lowering import JIT_DISABLED


class _InterruptsKept(event.Listener):
    """From when a thread takes the compiler's lock until it gives it back, SIGINT is only noted; then it is raised again."""

    def __init__(self) -> None:
        self.depth = 0
        self.before: Any = None
        self.is_due = False

    def on_start(self, event: Any) -> None:
        if threading.current_thread() is not threading.main_thread():  # only there signals are handled
            return
        self.depth += 1
        if self.depth == 1 and callable(signal.getsignal(signal.SIGINT)):
            self.before = signal.signal(signal.SIGINT, self._note)

    def on_end(self, event: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if self.depth == 0 and self.before is not None:
            before, self.before, is_due, self.is_due = self.before, None, self.is_due, False
            signal.signal(signal.SIGINT, before)
            if is_due:
                signal.raise_signal(signal.SIGINT)

    def _note(self, number: int, frame: Any) -> None:
        if not self.is_due:
            print("stopping as soon as this is compiled...", file=sys.stderr, flush=True)
        self.is_due = True


kept = _InterruptsKept()
if not JIT_DISABLED:
    event.register("numba:compiler_lock", kept)

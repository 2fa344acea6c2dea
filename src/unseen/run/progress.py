"""Progress on standard error for anything that takes over two seconds; and Ctrl-C at a moment that suits."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

SHOW_AFTER_SECONDS = 1.5
SAVING_SHARE = 0.05
Progress = Callable[[int], None]
"""Called with how much has been done so far."""


@contextmanager
def watched(progress: Progress | bool | None, label: str, unit: str) -> Iterator[Callable[..., None]]:
    """What to call with how much has been done, and perhaps a note: a bar if a person is watching, or if `progress` is True.

    A function is called with the count alone; False is silence.
    """
    if callable(progress):
        yield lambda done, note="": progress(done)
    elif progress or (progress is None and sys.stderr.isatty()):
        with ProgressBar(label, unit) as bar:
            yield bar
    else:
        yield lambda done, note="": None


class ProgressBar:
    """Counts things done; appears only if the work goes on for a while. Use it as a context manager and call it with the count."""

    def __init__(self, label: str, unit: str) -> None:
        self.label, self.unit = label, unit
        self.began = time.monotonic()
        self.bar: Any = None
        self.task: Any = None
        self.done = 0
        self.is_over = False

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: int, note: str = "") -> None:
        if self.is_over:
            return
        self.done = done
        elapsed = time.monotonic() - self.began
        if self.bar is None and elapsed > SHOW_AFTER_SECONDS:
            self._show()
        if self.bar is not None:
            self.bar.update(self.task, completed=done, rate=f"{done / elapsed:,.0f} {self.unit}/s", note=note)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn(f"{self.label}: {{task.completed:,.0f}} {self.unit}"),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(self.label, total=None, rate="", note="")
        self.bar.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.is_over = True
        if self.bar is not None:
            self.bar.stop()


class LiveTable:
    """A table that is drawn anew as work goes on, if a person is watching or `progress` is True; a context manager to be called."""

    def __init__(self, progress: bool | None, table: Callable[[], Any]) -> None:
        self.is_shown = progress or (progress is None and sys.stderr.isatty())
        self.table = table
        self.live: Any = None
        self.due = time.monotonic() + SHOW_AFTER_SECONDS

    def __enter__(self) -> LiveTable:
        return self

    def __call__(self) -> None:
        """Something is new."""
        began = time.monotonic()
        if not self.is_shown or began < self.due:
            return
        if self.live is None:
            from rich.console import Console
            from rich.live import Live

            self.live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
            self.live.start()
        self.live.update(self.table(), refresh=True)
        self.due = began + max(1.0, 20.0 * (time.monotonic() - began))  # drawing takes little of the time

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.live is not None:
            self.live.stop()


class Saving:
    """When to save: every so many seconds, or more rarely where that would take more than a twentieth of the time.

    A save is made inside of it, as a context manager.
    """

    def __init__(self, every: float) -> None:
        self.every = every
        self.due = time.monotonic() + every

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self.due

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        now = time.monotonic()
        self.due = now + max(self.every, (now - self.began) / SAVING_SHARE)


class InterruptsHeld:
    """While this is entered, Ctrl-C is only counted; the second one raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> InterruptsHeld:
        if threading.current_thread() is threading.main_thread():  # only there can signals be handled
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

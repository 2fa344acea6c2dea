"""The command line: `unseen COMMAND GAME`. Results go to standard output, progress and errors to standard error."""

from __future__ import annotations

import _thread
import io
import sys
import threading
from typing import Any

from unseen.cli import exact, games, learning, searching, solving  # noqa: F401  (importing them registers their commands)
from unseen.cli.common import app


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a card or die shows a question mark
    sys.unraisablehook = _interrupt_again
    app(prog_name="unseen")


def _interrupt_again(lost: Any) -> None:
    """A Ctrl-C that came in a callback, from where no exception gets out, comes again as soon as that is over."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(0.05, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)

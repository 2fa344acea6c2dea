"""The command line: `unseen COMMAND GAME`. Results go to standard output, progress and errors to standard error."""

from __future__ import annotations

import _thread
import io
import sys
import threading
from typing import Any

# Importing them registers their commands, in the order in which `unseen --help` lists them.
# isort: off
from unseen.cli import games, exact, solving, searching, learning  # noqa: F401
from unseen.cli.common import app
# isort: on


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a card or die shows a question mark
    sys.unraisablehook = _interrupt_again
    app()


def _interrupt_again(lost: Any) -> None:
    """A Ctrl-C that came in a callback, from where no exception gets out, comes again as soon as that is over."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(0.05, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)

"""The command line: `unseen COMMAND GAME`. Results go to standard output, progress and errors to standard error."""

from __future__ import annotations

import io
import sys

# Importing them registers their commands, in the order in which `unseen --help` lists them.
# isort: off
from unseen.cli import games, exact, solving, searching, learning  # noqa: F401
from unseen.cli.common import app
# isort: on


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a card or die shows a question mark
    app()

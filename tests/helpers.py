"""What several tests need: positions of a whole game, and the command line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from unseen import Game, Position
from unseen.cli import app

ROOT = Path(__file__).parent.parent
TINY = (
    "kuhn_poker", "coordination", "xx", "xi", "matching_pennies", "biased_rps", "liars_dice(faces=2)",
    "liars_dice(dice1=1, dice2=2, faces=2)", "leduc_poker(ranks=2, suits=2)",
)  # fmt: skip


def all_positions(game: Game) -> Iterator[Position]:
    """Every position of a game, in depth-first order of histories."""
    stack = [Position(game)]
    while stack:
        position = stack.pop()
        yield position
        stack += [position.child(a) for a in reversed(position.actions)]


def run_cli(*args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command line, in this process: what is imported and compiled already serves it."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(app, list(args))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(args, done.exit_code, done.stdout, done.stderr)


def run_process(*args: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, with other variables in its environment."""
    command = [sys.executable, "-m", "unseen", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | env, check=False)

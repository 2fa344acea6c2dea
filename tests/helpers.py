"""What several tests need: positions of a whole game, and the command line."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from unseen import CHANCE, TERMINAL, Game, Position
from unseen.cli import app

ROOT = Path(__file__).parent.parent
TINY = (
    "kuhn_poker", "coordination", "xx", "xi", "matching_pennies", "biased_rps", "liars_dice(faces=2)",
    "liars_dice(dice1=1, dice2=2, faces=2)", "leduc_poker(ranks=2, suits=2)",
)  # fmt: skip


class Urn(Game):
    """Chance draws a ball that nobody sees, red nine times of ten; the first player bets on its colour.

    Red pays 1 or costs 1, so it is worth 0.8. Blue pays 4 or costs 0.8, so it is worth -0.32, though more than red to those who
    believe that both balls are equally likely.
    """

    state = np.dtype([("ball", "i1"), ("bet", "i1")])
    num_actions = 2
    num_outcomes = 2
    max_length = 2

    def start(self, s):
        s.ball = -1
        s.bet = -1

    def player(self, s):
        return CHANCE if s.ball < 0 else 0 if s.bet < 0 else TERMINAL

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def chance(self, s, a, n):
        return 0.9 if a == 0 else 0.1

    def apply(self, s, a, tell):
        if s.ball < 0:
            s.ball = a
        else:
            s.bet = a

    def utility(self, s, who):
        pays = (1.0 if s.ball == 0 else -1.0) if s.bet == 0 else (4.0 if s.ball == 1 else -0.8)
        return pays if who == 0 else -pays


class Urns(Game):
    """Chance puts two balls of unequal colours into a bag; the second player opens two of three boxes, in an order that the state
    forgets; chance then lights a lamp or not, likelier with the last box open. The first player, who has seen nothing, says yes or
    no to it."""

    state = np.dtype([("balls", "i1", 3), ("drawn", "i1"), ("boxes", "i1"), ("opened", "i1"), ("lamp", "i1"), ("said", "i1")])
    num_actions = 3
    num_outcomes = 3
    max_length = 6

    def start(self, s):
        for k in range(3):
            s.balls[k] = 0
        s.drawn = 0
        s.boxes = 0
        s.opened = 0
        s.lamp = -1
        s.said = -1

    def player(self, s):
        if s.drawn < 2 or (s.opened == 2 and s.lamp < 0):
            return CHANCE
        return 1 if s.opened < 2 else 0 if s.said < 0 else TERMINAL

    def actions(self, s, out):
        n = 0
        for a in range(3):
            if (s.drawn < 2 or s.opened == 2 or not s.boxes >> a & 1) and (a < 2 or s.drawn < 2 or s.opened < 2):
                out[n] = a
                n += 1
        return n

    def chance(self, s, a, n):
        if s.drawn < 2:
            return 0.6 if a == 0 else 0.3 if a == 1 else 0.1
        lit = 0.75 if s.boxes >> 2 & 1 else 0.25
        return lit if a == 1 else 1.0 - lit

    def apply(self, s, a, tell):
        if s.drawn < 2:
            s.balls[a] += 1
            s.drawn += 1
        elif s.opened < 2:
            s.boxes |= 1 << a
            s.opened += 1
        elif s.lamp < 0:
            s.lamp = a
        else:
            s.said = a

    def utility(self, s, who):
        pays = float(s.said * (2 * s.lamp - 1) * (s.balls[1] + s.balls[2] * 2 - 1))
        return pays if who == 0 else -pays


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

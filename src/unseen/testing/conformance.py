"""Checking a game against the protocol, history by history.

Every history up to a budget is visited in order of length, then random games are played to reach deeper. At each history all
rules are called as plain Python, twice, and once compiled, and what they say is compared with itself, with the protocol and with
what was said at other histories that the player to move cannot tell from this one. What stands that is then surveyed in compiled
code, with the cheap laws only, for as long as one likes (`survey`).
"""

from __future__ import annotations

import contextlib
import random
from collections import deque
from typing import Any

from unseen.errors import GameFault
from unseen.game import Game
from unseen.loading import load
from unseen.run.checked import note_checked
from unseen.run.progress import Progress
from unseen.testing.inspector import Inspector, Stopped
from unseen.testing.report import Report
from unseen.testing.watchdog import Watchdog

DEFAULT_HISTORIES = 10_000
DEFAULT_PLAYOUTS = 200
DEFAULT_SECONDS = 10.0


def check_game(game: Game | str, **options: Any) -> Report:
    """Raise `GameFault`, listing every fault found, unless `game` keeps the protocol. Options are those of `find_faults`."""
    report = find_faults(game, **options)
    if not report.ok:
        lines = "\n".join(f"- {fault}" for fault in report.faults)
        raise GameFault(f"{report.game.spec} is not a proper game:\n{lines}")
    return report


def find_faults(
    game: Game | str, histories: int = DEFAULT_HISTORIES, playouts: int = DEFAULT_PLAYOUTS, seed: int = 0,
    seconds: float = DEFAULT_SECONDS, progress: Progress | None = None,
) -> Report:  # fmt: skip
    """Everything about up to `histories` histories in order of length and `playouts` random games; then, in compiled code, the
    cheap laws at as many as `seconds` allow. `progress` is called with the number of histories."""
    inspector = Inspector(load(game))
    with contextlib.suppress(Stopped), Watchdog(lambda: inspector.calling and inspector.calling[2]):
        _inspect(inspector, histories, playouts, seed, progress)
    report = inspector.report
    report.notes = inspector.notes()
    if not inspector.faults and inspector.compiled.is_usable and seconds > 0.0:
        inspector.survey(seconds, seed, progress)
    if not inspector.faults and _is_thorough(report, histories, seconds):
        note_checked(report.game)
    report.faults = sorted(inspector.faults.values(), key=lambda fault: (len(fault.history), fault.history))
    return report


def _is_thorough(report: Report, histories: int, seconds: float) -> bool:
    """Whether it was looked at no less than by default."""
    surveyed = report.surveyed
    return report.exhaustive or (
        histories >= DEFAULT_HISTORIES and (seconds >= DEFAULT_SECONDS or bool(surveyed and surveyed.is_complete))
    )


def _inspect(inspector: Inspector, histories: int, playouts: int, seed: int, progress: Progress | None) -> None:
    """The part in plain Python, with compiled rules beside it."""
    report = inspector.report
    inspector.check_declarations()
    frontier = deque([(inspector.root(), -1)])
    report.exhaustive = True
    while frontier:
        before, action = frontier.popleft()
        node = before if action < 0 else inspector.follow(before, action)
        actions = inspector.visit(node)
        room = histories - report.histories - len(frontier)
        report.exhaustive = report.exhaustive and len(actions) <= room
        frontier.extend((node, a) for a in actions[: max(room, 0)])
        if progress is not None:
            progress(report.histories)
    rng = random.Random(seed)
    inspector.mirrored = 0  # the images of random games, too: the shortest ones all begin alike
    while not report.exhaustive and report.playouts < playouts:
        node = inspector.root()
        while actions := inspector.visit(node):
            node = inspector.follow(node, rng.choice(actions))
        report.playouts += 1
        if progress is not None:
            progress(report.histories)

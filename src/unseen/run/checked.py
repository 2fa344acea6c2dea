"""Which games of users have passed `unseen check`: an empty file for each, in the user's cache folder, named by a digest.

Compiled rules and walks look for what is cheap to look for. What shows only where nobody looks, such as an ending that is not as
settled as the game says, is found by a check alone; so results of a game that has not passed one say so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from unseen.compiling import class_digest
from unseen.compiling.locks import cache_folder
from unseen.game import Game


def note_checked(game: Game) -> None:
    """Remember that `game`, as its code is now, has passed a check."""
    marker = _marker(game)
    with contextlib.suppress(OSError):  # no home folder to write to: then it is said again that the game has not been checked
        marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        marker.touch(mode=0o600)


def is_checked(game: Game) -> bool:
    """Whether `game` is one of the library's, or has passed a check since its code was last changed."""
    return is_ours(game) or os.path.lexists(_marker(game))


def is_ours(game: Game) -> bool:
    return type(game).__module__.startswith("unseen.games.")


def advice(game: Game) -> str:
    """What to do about a game that has not been checked."""
    return f'run `unseen check "{game.spec}"`' if game.origin else "run `unseen.testing.check_game` on it"


def _marker(game: Game) -> Path:
    cls, digest = type(game), hashlib.sha256()
    code = cls.__name__, class_digest(cls), repr(cls.state), sorted(game.settings.items())
    declared = game.num_actions, game.num_outcomes, game.max_length, game.simultaneous, game.symmetries()
    digest.update(repr((code, declared)).encode())
    return folder() / digest.hexdigest()[:32]


def folder() -> Path:
    return cache_folder() / "checked"

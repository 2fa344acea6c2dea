"""Strategy files: sealed files with a strategy's columns. Nothing in them is ever executed.

docs/strategy-format.md describes every byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.run.files import sealed_kind, write_sealed
from unseen.run.headers import game_of, header_of
from unseen.run.reading import is_count, read_sealed

MAGIC = b"unseen-strategy 1\n"
KIND = sealed_kind("a strategy", MAGIC)
COLUMNS = {"keys": "<u8", "player": "<i1", "count": "<i4", "actions": "<i4", "probability": "<f8"}
PER_INFOSET = ("keys", "player", "count")
MAX_HEADER_BYTES = 65_536


def write(path: Path, game: Game, columns: Mapping[str, NDArray[np.generic]], force: bool = False) -> None:
    """Write a strategy's columns, with the game they belong to."""
    header = {**header_of(game), "infosets": len(columns["keys"]), "cells": len(columns["actions"])}
    write_sealed(path, KIND, MAGIC, header, (columns[name].astype(kind) for name, kind in COLUMNS.items()), force)


def read(path: Path, game: Game | None) -> tuple[Game, dict[str, NDArray[Any]]]:
    """The game and the columns of a strategy file. Raises for anything that is not right about it, but not for what the columns
    say."""
    header, content = read_sealed(path, MAGIC, "a strategy file", MAX_HEADER_BYTES)
    infosets, cells = header.get("infosets"), header.get("cells")
    if not is_count(infosets) or not is_count(cells):
        raise UnseenError("its header is damaged.")
    sizes = {name: infosets if name in PER_INFOSET else cells for name in COLUMNS}
    if len(content) != sum(np.dtype(kind).itemsize * sizes[name] for name, kind in COLUMNS.items()):
        raise UnseenError(f"it does not hold {infosets} information sets with {cells} actions; it is cut off or damaged.")
    game, columns, begin = game_of(header, game, "Strategy.load(path, game)"), {}, 0
    for name, kind in COLUMNS.items():
        columns[name] = np.frombuffer(content, kind, sizes[name], begin)
        begin += columns[name].nbytes
    return game, columns

"""Strategy files: sealed files with a strategy's columns. Nothing in them is ever executed.

docs/strategy-format.md describes every byte.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import StrategyFileError
from unseen.game import Game
from unseen.games import REGISTRY
from unseen.loading import load
from unseen.position import fingerprint
from unseen.run.files import CHECKSUM_BYTES, is_sealed, sealed_kind, write_sealed

MAGIC = b"unseen-strategy 1\n"
KIND = sealed_kind("a strategy", MAGIC)
COLUMNS = {"keys": "<u8", "player": "<i1", "count": "<i4", "actions": "<i4", "probability": "<f8"}
PER_INFOSET = ("keys", "player", "count")
MAX_HEADER_BYTES = 65_536


def write(path: Path, game: Game, columns: Mapping[str, NDArray[np.generic]], force: bool = False) -> None:
    """Write a strategy's columns, with the game they belong to."""
    header = {
        "game": game.name,
        "parameters": game.settings,
        "fingerprint": fingerprint(game),
        "infosets": len(columns["keys"]),
        "cells": len(columns["actions"]),
    }
    write_sealed(path, KIND, MAGIC, header, (columns[name].astype(kind) for name, kind in COLUMNS.items()), force)


def read(path: Path, game: Game | None) -> tuple[Game, dict[str, NDArray[Any]]]:
    """The game and the columns of a strategy file. Raises `StrategyFileError` for anything that is not right about it."""
    try:
        with open(path, "rb") as file:
            header, body = _read_header(path, file.read(len(MAGIC) + MAX_HEADER_BYTES))
            sizes = {name: header["infosets" if name in PER_INFOSET else "cells"] for name in COLUMNS}
            expected = body + sum(np.dtype(kind).itemsize * sizes[name] for name, kind in COLUMNS.items()) + CHECKSUM_BYTES
            length = os.fstat(file.fileno()).st_size
            if length != expected:
                raise StrategyFileError(
                    f"strategy file {path}: it is {length} bytes long but should be {expected}; it is cut off or damaged."
                )
            file.seek(0)
            data = file.read()
    except OSError as error:
        raise StrategyFileError(f"strategy file {path}: it cannot be read: {error.strerror or error}.") from error
    if not is_sealed(data):
        raise StrategyFileError(f"strategy file {path}: the checksum does not match; the file is damaged.")
    game = _matching_game(path, header, game)
    columns = {}
    for name, kind in COLUMNS.items():
        columns[name] = np.frombuffer(data, kind, sizes[name], body)
        body += columns[name].nbytes
    return game, columns


def _read_header(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    """The JSON line and where the arrays begin, from the beginning of a file."""
    if not data.startswith(MAGIC):
        first = MAGIC.decode().strip()
        raise StrategyFileError(f"strategy file {path}: it is not a strategy file (its first line is not {first!r}).")
    end = data.find(b"\n", len(MAGIC))
    try:
        header = json.loads(data[len(MAGIC) : max(end, 0)])
        good = (
            isinstance(header["game"], str)
            and isinstance(header["parameters"], dict)
            and isinstance(header["fingerprint"], str)
            and all(type(header[name]) is int and 0 <= header[name] < 2**40 for name in ("infosets", "cells"))
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        good = False
    if not good:
        raise StrategyFileError(f"strategy file {path}: its header is damaged.")
    return header, end + 1


def _matching_game(path: Path, header: dict[str, Any], game: Game | None) -> Game:
    """The game of the file, which must be `game` if that is given."""
    spec = f"{header['game']}({', '.join(f'{k}={v}' for k, v in header['parameters'].items())})".removesuffix("()")
    if game is None:
        if header["game"] not in REGISTRY:
            raise StrategyFileError(
                f"strategy file {path}: it is for {spec}, not a game of the library; say which: Strategy.load(path, game)."
            )
        game = load(spec)
    if (header["game"], header["parameters"]) != (game.name, game.settings):
        raise StrategyFileError(f"strategy file {path}: it is for {spec}, not for {game.spec}.")
    if header["fingerprint"] != fingerprint(game):
        raise StrategyFileError(f"strategy file {path}: it is for {spec} with other rules than today's.")
    return game

"""Checkpoints: the state of a solver in a sealed file. Nothing in it is ever executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.position import fingerprint
from unseen.run.files import is_sealed, sealed_kind, write_sealed

MAGIC = b"unseen-checkpoint 2\n"
KIND = sealed_kind("a checkpoint", MAGIC, can_force=False)
KINDS = ("<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "|i1", "|u1")


def write(path: Path, game: Game, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the state of a solver: what it is about, and its arrays."""
    layout = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    about = {"game": game.spec, "fingerprint": fingerprint(game), "arrays": layout, **header}
    write_sealed(path, KIND, MAGIC, about, arrays.values())


def header_of(path: Path) -> dict[str, Any]:
    """What a file says it is about, if it is a checkpoint; nothing is checked, as `read` does that."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline()) if file.readline() == MAGIC else {}
    except (OSError, ValueError):
        return {}
    return header if isinstance(header, dict) else {}


def read(path: Path, game: Game, expected: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and arrays of a checkpoint of `game` whose header has what is `expected`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnseenError(f"checkpoint {path}: it cannot be read: {error.strerror or error}.") from error
    if not data.startswith(MAGIC):
        raise UnseenError(
            f"checkpoint {path}: it is not a checkpoint of this version (its first line is not {MAGIC.decode().strip()!r})."
        )
    if not is_sealed(data):
        raise UnseenError(f"checkpoint {path}: the checksum does not match; the file is cut off or damaged.")
    end = data.index(b"\n", len(MAGIC)) + 1
    header = json.loads(data[len(MAGIC) : end])
    for name, want in {"game": game.spec, "fingerprint": fingerprint(game), **expected}.items():
        if header.get(name) != want:
            what = f"{name} {header.get(name)!r}" if name != "fingerprint" else f"{game.spec} with other rules than today's"
            raise UnseenError(
                f"checkpoint {path}: it is of {what}, not {want!r}; use another file, or begin anew without --resume."
            )
    arrays = {}
    for name, kind, shape in header["arrays"]:
        if kind not in KINDS:
            raise UnseenError(f"checkpoint {path}: an array is of type {kind!r}.")
        arrays[name] = np.frombuffer(data, kind, prod(shape), end).reshape(shape)
        end += arrays[name].nbytes
    return header, arrays

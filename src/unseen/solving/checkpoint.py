"""Checkpoints: the state of a solver in a file, written whole or not at all. Nothing in it is ever executed.

A line that says what it is, a line of JSON, the arrays one after the other, and a SHA-256 checksum of all that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.files import write_atomically
from unseen.game import Game
from unseen.position import fingerprint

MAGIC = b"unseen-checkpoint 1\n"
CHECKSUM_BYTES = 32
KINDS = ("<f8", "<i8", "<u8", "<i4", "<u4", "|i1")


def write(path: Path, game: Game, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the state of a solver: what it is about, and its arrays."""
    columns = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    layout = [[name, array.dtype.str, list(array.shape)] for name, array in columns.items()]
    about = {"game": game.spec, "fingerprint": fingerprint(game), "arrays": layout, **header}
    parts = [
        MAGIC,
        json.dumps(about).encode() + b"\n",
        *(array.tobytes() for array in columns.values()),
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    write_atomically(path, [*parts, digest.digest()])


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
    if hashlib.sha256(data[:-CHECKSUM_BYTES]).digest() != data[-CHECKSUM_BYTES:]:
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

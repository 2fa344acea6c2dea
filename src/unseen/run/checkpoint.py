"""Checkpoints: the state of a solver in a sealed file. Nothing in it is ever executed."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.position import fingerprint
from unseen.run.files import sealed_kind, write_sealed
from unseen.run.reading import TEXT_BYTES, is_count, opened, parse_json, read_sealed, reading

MAGIC = b"unseen-checkpoint 2\n"
KIND = sealed_kind("a checkpoint", MAGIC, can_force=False)
KINDS = ("<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "|i1", "|u1")
MOST_AXES = 4


def write(path: Path, game: Game, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the state of a solver: what it is about, and its arrays."""
    layout = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    about = {"game": game.spec, "fingerprint": fingerprint(game), "arrays": layout, **header}
    write_sealed(path, KIND, MAGIC, about, arrays.values())


def header_of(path: Path) -> dict[str, Any]:
    """What a file says it is about, if it is a checkpoint; nothing is checked, as `read` does that."""
    try:
        with opened(path) as file:
            header = parse_json(file.readline(TEXT_BYTES)) if file.read(len(MAGIC)) == MAGIC else {}
    except (OSError, ValueError):
        return {}
    return header if isinstance(header, dict) else {}


class Like(NamedTuple):
    """What an array of a checkpoint must be like."""

    kind: str
    """Its type."""
    shape: tuple[int | None, ...]
    """None where any length will do."""
    holes: bool = False
    """Whether its numbers may be NaN. None are ever infinite."""
    optional: bool = False
    """Whether it may be missing."""

    def is_like(self, array: NDArray[Any]) -> bool:
        fits = array.dtype.str == self.kind and array.ndim == len(self.shape)
        fits = fits and all(most in (None, length) for most, length in zip(self.shape, array.shape, strict=True))
        if not fits or array.dtype.kind != "f":
            return fits
        return not (np.isinf(array).any() if self.holes else not np.isfinite(array).all())


Layout = Mapping[str, Like]


def like(arrays: Mapping[str, NDArray[Any]], holes: bool = False) -> dict[str, Like]:
    """A layout of arrays like these."""
    return {name: Like(array.dtype.str, array.shape, holes) for name, array in arrays.items()}


def read(path: Path, game: Game, expected: Mapping[str, Any], layout: Layout) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and arrays of a checkpoint of `game` whose header has what is `expected`, and whose arrays are as in `layout`.

    Whoever reads one checks what else the header says, and that the numbers in the arrays go together.
    """
    with reading(f"checkpoint {path}"):
        header, content = read_sealed(path, MAGIC, "a checkpoint of this version")
        for name, want in {"game": game.spec, "fingerprint": fingerprint(game), **expected}.items():
            if header.get(name) != want:
                what = f"{name} {header.get(name)!r}" if name != "fingerprint" else f"{game.spec} with other rules than today's"
                raise UnseenError(f"it is of {what}, not {want!r}; use another file, or begin anew without --resume.")
        arrays = _arrays(header.get("arrays"), content)
        if not set(arrays) <= set(layout) or not all(name in arrays or layout[name].optional for name in layout):
            raise UnseenError("it does not hold what is needed to go on.")
        for name, array in arrays.items():
            if not layout[name].is_like(array):
                raise UnseenError(f"its array {name!r} is not one that was saved: its type, shape or numbers cannot be.")
    return header, arrays


def _arrays(listed: Any, content: memoryview) -> dict[str, NDArray[Any]]:
    """The arrays that a header lists."""
    arrays: dict[str, NDArray[Any]] = {}
    damaged, begin = UnseenError("its header does not list the arrays that it holds."), 0
    for row in listed if isinstance(listed, list) else [None]:
        if not isinstance(row, list) or len(row) != 3:
            raise damaged
        name, kind, shape = row
        if not isinstance(name, str) or name in arrays or kind not in KINDS or not isinstance(shape, list):
            raise damaged
        if not all(is_count(length) for length in shape) or len(shape) > MOST_AXES:
            raise damaged
        size = prod(shape) * np.dtype(kind).itemsize
        if begin + size > len(content):
            raise damaged
        try:
            arrays[name] = np.ndarray(shape, kind, content[begin : begin + size])
        except ValueError:  # some of its axes are too long, though another is empty
            raise damaged from None
        begin += size
    if begin != len(content):
        raise damaged
    return arrays

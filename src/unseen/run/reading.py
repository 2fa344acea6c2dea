"""Reading files that somebody else may have written: regular files only, JSON that is plain, sealed files with their checksum.

A checksum shows damage, not malice: whatever reads a file also checks that its content makes sense, before compiled code sees it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from unseen.errors import UnseenError
from unseen.run.files import CHECKSUM_BYTES

TEXT_BYTES = 1 << 28
"""The most that a file of text, or a line of JSON at the head of a file, may take."""
MOST = 2**53
"""The largest count that a header may hold."""
LARGEST = 1e100
"""The largest number that a file may hold: sums and products of a few such numbers are still numbers."""


@contextlib.contextmanager
def reading(what: str, kind: type[UnseenError] = UnseenError) -> Iterator[None]:
    """Says of a file, such as `strategy file x`, what is found wrong with it inside; all in one sentence of one kind."""
    try:
        yield
    except UnseenError as error:
        raise kind(f"{what}: {error}") from error
    except OSError as error:
        raise kind(f"{what}: it cannot be read: {error.strerror or error}.") from error
    except MemoryError:
        raise kind(f"{what}: there is not enough memory to read it.") from None


@contextlib.contextmanager
def opened(path: Path | str) -> Iterator[BinaryIO]:
    """A regular file, to be read. Anything else, such as a device or a pipe, may never end, and is refused at once."""
    if "\0" in str(path):
        raise UnseenError("it cannot be read: its name has a null character.")
    is_regular, never_wait = stat.S_ISREG(os.stat(path).st_mode), getattr(os, "O_NONBLOCK", 0)
    if is_regular:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | never_wait)) as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if is_regular:
                yield file
    if not is_regular:
        raise UnseenError("it cannot be read: it is not a regular file.")


def read_bytes(path: Path | str, most: int | None = None) -> bytes:
    """All of a regular file, which may have so many bytes at `most`."""
    with opened(path) as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise UnseenError(f"it has more than {most:,} bytes.")
    return data


def parse_json(text: bytes | str) -> Any:
    """What a text says in JSON. Raises `ValueError`, also for numbers that are not finite and for what is nested too deeply."""

    def number(digits: str) -> float:
        if not isfinite(found := float(digits)):
            raise ValueError(f"{digits} is not finite")
        return found

    try:
        return json.loads(text, parse_constant=number, parse_float=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def is_count(value: object) -> TypeGuard[int]:
    """Whether something in a header is a whole number that can count things."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def is_number(value: object) -> TypeGuard[float]:
    """Whether something in a header is a number that is finite, and not so large that sums or products would not be."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


def is_amount(value: object) -> TypeGuard[float]:
    """Whether something in a header is such a number, and not below zero."""
    return is_number(value) and value >= 0


def read_sealed(path: Path, magic: bytes, what: str, longest: int = TEXT_BYTES) -> tuple[dict[str, Any], memoryview]:
    """The header of a sealed file, a line of `longest` bytes at most, and what comes after it, without the checksum.

    `what` says what such a file is, such as "a strategy file". Nothing is known of the header but that it is a dictionary.
    """
    with opened(path) as file:
        first = file.read(len(magic))
        if first != magic:
            raise UnseenError(f"it is not {what} (its first line is not {magic.decode().strip()!r}).")
        line = file.readline(longest)
        try:
            header = parse_json(line) if line.endswith(b"\n") else None
        except ValueError:
            header = None
        if not isinstance(header, dict):
            raise UnseenError("its header is damaged.")
        data = file.read()
    digest = hashlib.sha256(first + line)
    digest.update(content := memoryview(data)[: max(len(data) - CHECKSUM_BYTES, 0)])
    if digest.digest() != data[-CHECKSUM_BYTES:]:
        raise UnseenError("the checksum does not match; the file is cut off or damaged.")
    return header, content

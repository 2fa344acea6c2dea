"""Writing files so that a crash leaves either the old file or the new one, whole; and files that show damage.

A *sealed* file is a line that says what it is, a line of JSON, arrays one after the other, and a checksum of all that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError

CHECKSUM_BYTES = 32


def write_atomically(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write `chunks` to `path` by way of a temporary file beside it. A link stays one; a device is not replaced."""
    path = Path(os.path.realpath(path))
    check_file(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".unseen-", suffix=".tmp", delete=False) as file:
            temporary = file.name
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        raise UnseenError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def check_file(path: Path) -> None:
    """Raise if there can be no file of this name, before any work is done for it."""
    if (os.path.exists(path) and not os.path.isfile(path)) or not os.path.isdir(path.parent):
        raise UnseenError(f"cannot write {path}: name a file in a folder that exists.")


def write_sealed(path: Path, magic: bytes, header: Mapping[str, Any], arrays: Iterable[NDArray[Any]]) -> None:
    """Write a sealed file."""

    def chunks() -> Iterator[bytes | memoryview]:
        digest = hashlib.sha256()
        for part in (magic, json.dumps(header, sort_keys=True).encode() + b"\n"):
            digest.update(part)
            yield part
        for array in arrays:
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            digest.update(content)
            yield content
        yield digest.digest()

    write_atomically(path, chunks())


def is_sealed(data: bytes) -> bool:
    """Whether the checksum at the end is that of the rest."""
    return hashlib.sha256(data[:-CHECKSUM_BYTES]).digest() == data[-CHECKSUM_BYTES:]


def _umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

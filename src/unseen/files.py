"""Writing files so that a crash leaves either the old file or the new one, whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from unseen.errors import UnseenError


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to `path` by way of a temporary file beside it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise UnseenError(f"cannot write {path}: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)

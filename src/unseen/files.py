"""Writing files so that a crash leaves either the old file or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from unseen.errors import UnseenError


def write_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to `path` by way of a temporary file beside it."""
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


def _umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

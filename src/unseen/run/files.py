"""Writing files so that a crash leaves either the old file or the new one, whole, and nobody else's file is lost.

A file of this library carries a mark by which it is known again (`Kind`). `check_output` decides what may be replaced: a file of
the same kind always; any other only with `force`; a link, a folder or a device never.

A *sealed* file is a line that says what it is, a line of JSON, arrays one after the other, and a checksum of all that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError

CHECKSUM_BYTES = 32
OURS = ".unseen-"
"""How the names of temporary files begin."""
FOLDER_SIGN = ".unseen"
GONE_SECONDS, OLD_SECONDS = 60.0, 3600.0
"""A temporary file is left over if nothing was written to it for so long: by a process that is gone, or by any."""
READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
APPEND = (
    os.O_WRONLY | os.O_APPEND | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_swept: set[str] = set()


@dataclass(frozen=True)
class Kind:
    """A kind of file that the library writes."""

    name: str
    is_marked: Callable[[BinaryIO], bool]
    """Whether a file, open at its beginning, carries the mark of this kind."""
    can_force: bool = True
    """Whether a file of another kind may be replaced if that is asked for."""

    def is_of(self, path: Path) -> bool:
        """Whether there is a file of this kind at `path`."""
        try:
            with open(os.open(path, READ), "rb") as file:
                return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and self.is_marked(file)
        except (OSError, ValueError):
            return False


def begins_with(name: str, mark: bytes, can_force: bool = True) -> Kind:
    """The kind of files that begin with a mark."""
    return Kind(name, lambda file: file.read(len(mark)) == mark, can_force)


def sealed_kind(name: str, magic: bytes, can_force: bool = True) -> Kind:
    """The kind of sealed files whose first line is `magic`, of this version or another."""
    return begins_with(name, magic.partition(b" ")[0] + b" ", can_force)


def check_outputs(outputs: Iterable[tuple[Path | str | None, Kind]], force: bool = False) -> None:
    """Raise if one of the files that work is going to write cannot be written, before any of it is done; None is no file."""
    names = set()
    for path, kind in outputs:
        if path is not None:
            check_output(path, kind, force)
            if (name := os.path.realpath(path)) in names:
                raise UnseenError(f"cannot write {path}: two outputs have that name.")
            names.add(name)


def check_output(path: Path | str, kind: Kind, force: bool = False) -> None:
    """Raise if `path` cannot be written, or holds a file of another kind, which is replaced with `force` only."""
    path = Path(path)
    if not check_file(path) or kind.is_of(path) or (force and kind.can_force):
        return
    way = "name another, or replace it with --force (in Python: force=True)" if kind.can_force else "name another"
    raise UnseenError(f"cannot write {path}: there is a file of that name, which is not {kind.name} of Unseen; {way}.")


def check_file(path: Path) -> bool:
    """Raise if a file of this name can be neither made nor replaced; otherwise, whether there is one."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except (OSError, ValueError) as error:  # a name that is too long, or that no file can have
        raise UnseenError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from error
    if mode is not None and stat.S_ISLNK(mode):
        raise UnseenError(f"cannot write {path}: it is a symbolic link; name the file itself.")
    if (mode is not None and not stat.S_ISREG(mode)) or not path.name or not os.path.isdir(path.parent):
        raise UnseenError(f"cannot write {path}: name a file in a folder that exists.")
    if not os.access(path.parent, os.W_OK):
        raise UnseenError(f"cannot write {path}: nothing may be written in its folder.")
    return mode is not None


def write_output(path: Path | str, kind: Kind, chunks: Iterable[bytes | memoryview], force: bool = False) -> None:
    """Write a file of a kind, whole or not at all."""
    path = Path(path)
    check_output(path, kind, force)
    write_atomically(path, chunks)


def write_atomically(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write `chunks` to `path` by way of a temporary file beside it. A file that is there is replaced, whatever it holds."""
    path = Path(path)
    check_file(path)
    sweep(path.parent)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{OURS}{_here()}-", suffix=".tmp", delete=False) as file:
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


def append_line(path: Path | str, line: str) -> None:
    """Add a line to a file, which is made if it is not there. No link is followed."""
    try:
        with open(os.open(path, APPEND, 0o666), "ab") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnseenError(f"cannot write {path}: it is no file.")
            file.write(line.encode() + b"\n")
    except (OSError, ValueError) as error:
        if isinstance(error, UnseenError):
            raise
        raise UnseenError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from error


def make_folder(folder: Path, what: str, is_ours: Callable[[Path], bool] = lambda folder: False) -> None:
    """A folder for `what`: made, or empty, or one that was made for it before. A folder that holds other things is refused.

    It is marked by a file of its own; `is_ours` may know it by something else that it holds.
    """
    sign, word = folder / FOLDER_SIGN, f"unseen folder: {what}\n".encode()
    kind = begins_with(f"the sign of a folder for {what}", word, can_force=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        is_empty = not any(folder.iterdir())
    except (OSError, ValueError) as error:
        raise UnseenError(f"cannot use the folder {folder}: {getattr(error, 'strerror', None) or error}.") from error
    if not is_empty and not kind.is_of(sign) and not is_ours(folder):
        raise UnseenError(f"the folder {folder} holds other files; name an empty one, or one that is not there.")
    if not kind.is_of(sign):
        write_output(sign, kind, [word])


def sweep(folder: Path) -> None:
    """Remove what writes that were killed have left in a folder: once a process for each folder."""
    name = os.path.realpath(folder)
    if name in _swept:
        return
    _swept.add(name)
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(OURS) and entry.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    if _is_left_over(entry):
                        os.unlink(entry.path)


def _is_left_over(entry: os.DirEntry[str]) -> bool:
    """Whether a temporary file is ours, and nobody writes it any more."""
    known = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(known.st_mode) or (hasattr(os, "getuid") and known.st_uid != os.getuid()):
        return False
    age, writer = time.time() - known.st_mtime, re.fullmatch(rf"{re.escape(OURS)}(\w+)-(\d+)-.*\.tmp", entry.name)
    is_dead = writer is not None and f"{writer[1]}-{writer[2]}" != _here() and writer[1] == _machine() and _is_gone(int(writer[2]))
    return age > (GONE_SECONDS if is_dead else OLD_SECONDS)


def _is_gone(process: int) -> bool:
    """Whether there is no such process on this machine any more."""
    if sys.platform == "win32":  # where asking would end it
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _here() -> str:
    """This process, in the names of the files that it is writing."""
    return f"{_machine()}-{os.getpid()}"


def write_sealed(
    path: Path, kind: Kind, magic: bytes, header: Mapping[str, Any], arrays: Iterable[NDArray[Any]], force: bool = False
) -> None:
    """Write a sealed file of a kind."""

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

    write_output(path, kind, chunks(), force)


def _umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

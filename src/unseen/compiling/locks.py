"""Locks between processes of one user, as files in the user's cache folder, where nobody else can put anything.

The system ends a lock with the process that holds it. Waiting is bounded, and says for what.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

fcntl: ModuleType | None = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows
    with contextlib.suppress(ImportError):
        import msvcrt

POLL_SECONDS = 0.05
QUIET_SECONDS = 5.0
"""Nothing is said of a wait that is no longer than this."""
OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Lock:
    """A lock that this process holds until it is released, or until the process ends; also a context manager."""

    def __init__(self, descriptor: int | None, path: Path) -> None:
        self.descriptor, self.path = descriptor, path

    def release(self, remove: bool = False) -> None:
        """End it; `remove` its file, too, if no other is to use the same name for long."""
        if self.descriptor is None:
            return
        if remove:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        os.close(self.descriptor)
        self.descriptor = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


def hold(place: str | Path, wait: float, why: str) -> Lock | None:
    """The lock of a name, kept in the user's cache folder, or of a file; None if another process holds it for `wait` seconds.

    `why` is said on standard error when that takes long: "waiting for WHY...". Where no lock can be had, because there is no folder
    for it, or its file is a link, it is one that keeps nobody out.
    """
    if isinstance(place, str):
        folder = lock_folder()
        if folder is None:
            return Lock(None, Path(place))
        place = folder / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}.lock"
    began = time.monotonic()
    is_said = False
    while True:
        try:
            lock = _try_to_hold(place)
        except OSError:
            return Lock(None, place)
        waited = time.monotonic() - began
        if lock is not None or waited >= wait:
            return lock
        if waited > QUIET_SECONDS and not is_said:
            print(f"waiting for {why} (at most {wait:.0f} s)...", file=sys.stderr, flush=True)
            is_said = True
        time.sleep(POLL_SECONDS)


def _try_to_hold(path: Path) -> Lock | None:
    """The lock of a file, if nobody else holds it."""
    descriptor: int | None = os.open(path, OPEN, 0o600)
    assert descriptor is not None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no file")
        if _is_free(descriptor) and _is_still_there(descriptor, path):
            held, descriptor = Lock(descriptor, path), None
            return held
        return None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Whether nobody else held the lock of an open file; now we do."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            raise OSError("there are no locks here")
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_still_there(descriptor: int, path: Path) -> bool:
    """Whether a file has its name still: who held its lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


def lock_folder() -> Path | None:
    """The folder of all locks, which nobody else can write to; None if there is none and none can be made."""
    folder = cache_folder() / "locks"
    try:
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        return folder if _make_own(folder.parent) and _make_own(folder) else None
    except OSError:
        return None


def _make_own(folder: Path) -> bool:
    """Make a folder that is this user's alone. Returns False if what is there is somebody else's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    known = folder.lstat()
    if not stat.S_ISDIR(known.st_mode):
        return False
    if hasattr(os, "getuid"):
        if known.st_uid != os.getuid():
            return False
        if stat.S_IMODE(known.st_mode) != 0o700:
            folder.chmod(0o700)
    return True


def cache_folder() -> Path:
    """Where the library keeps what it can make again for this user."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else "~/.cache"
    return Path(os.path.expanduser(base)) / "unseen"

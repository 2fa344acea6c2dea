"""Machine code kept on disk, in files named by a digest of all that it was made from."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core import config
from numba.core.caching import IndexDataCacheFile

from unseen.compiling import locks
from unseen.compiling.digest import code_digest

CACHE_FILES_PER_KERNEL = 64
WAIT_SECONDS = 20.0
"""Of several processes that want the same, all but one wait for it so long, and then compile for themselves."""
CHECKSUM_BYTES = 32


class ContentCacheFile(IndexDataCacheFile):
    """Machine code in files named by a digest of all that it was made from.

    Of several processes that want the same, one compiles, and the others wait for its result; not for ever, as to compile twice
    does no harm: a file is written whole, and what is in it follows from its name. It begins with a checksum of its name and of
    what follows: machine code that was damaged or renamed would end in a signal, so it is compiled again.
    """

    turns: ClassVar[dict[str, locks.Lock]] = {}
    """The locks that this process holds while it compiles, by name of the file that it is going to write."""

    def __init__(self, cache: Any, function: Callable[..., Any]) -> None:
        base = cache._cache_file._index_name.removesuffix(".nbi")
        super().__init__(cache_path=cache.cache_path, filename_base=base, source_stamp=None)
        self._base, self._function = base, function

    def _name(self, key: Any) -> str:
        made_from = (key, numba.__version__, config.BOUNDSCHECK, code_digest(self._function))  # type: ignore[attr-defined]
        return f"{self._base}.{hashlib.sha256(repr(made_from).encode()).hexdigest()[:32]}.nbc"

    def load(self, key: Any) -> Any:
        name = self._name(key)
        found = self._read(name)
        if found is None and self._wait_for_turn(name):
            found = self._read(name)  # somebody else may have compiled it meanwhile
            if found is not None:
                self.end_turn(name)
        return found

    def _read(self, name: str) -> Any:
        try:
            return self._load_data(name)
        except Exception:  # no file, or a damaged one, which will be compiled again and overwritten
            return None

    def _load_data(self, name: str) -> Any:
        found = Path(self._data_path(name)).read_bytes()
        content = found[CHECKSUM_BYTES:]
        if found[:CHECKSUM_BYTES] != _checksum(name, content):
            raise ValueError(f"{name} is damaged")
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_checksum(name, content) + content)

    def _wait_for_turn(self, name: str) -> bool:
        """Wait until no other process compiles this. Returns False if that takes too long."""
        if name in self.turns:  # this process has tried before, and failed
            return True
        who = f"another process, which is compiling {self._function.__name__}"
        lock = locks.hold(f"{self._cache_path}/{name}", WAIT_SECONDS, who)
        if lock is None:
            return False
        self.turns[name] = lock
        return True

    @classmethod
    def end_turn(cls, name: str) -> None:
        if (lock := cls.turns.pop(name, None)) is not None:
            lock.release(remove=True)

    def save(self, key: Any, data: Any) -> None:
        name = self._name(key)
        try:
            self._save_data(name, data)
        except OSError:  # no space on the disk, say: compile again next time
            return
        finally:
            self.end_turn(name)
        siblings = Path(self._cache_path).glob(f"{self._base}.*.nbc")
        by_age = sorted(siblings, key=_modified, reverse=True)
        for old in by_age[CACHE_FILES_PER_KERNEL:]:
            old.unlink(missing_ok=True)


def _checksum(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def with_content_cache(dispatcher: Any) -> Any:
    """Switch on caching for a dispatcher, unless its function has no file (it was typed at a prompt)."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        return dispatcher
    dispatcher._cache._cache_file = ContentCacheFile(dispatcher._cache, dispatcher.py_func)
    return dispatcher

"""Tells people why they have to wait: what is being compiled, for which game, and how long that took last time."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from numba.core import event

from unseen.compiling.locks import cache_folder
from unseen.compiling.lowering import JIT_DISABLED
from unseen.compiling.types import CompiledType

SLOW_COMPILE_SECONDS = 1.0
LONGEST_SECONDS = 3600.0
WHAT = {
    "unseen.belief": "beliefs", "unseen.enumeration": "the walk over all histories", "unseen.networks": "the network",
    "unseen.perfect": "the search of open games", "unseen.search": "the search", "unseen.solving": "the solver",
    "unseen.stacked": "backward induction", "unseen.testing": "the checks",
}  # fmt: skip
"""What the kernels of a room are, for people."""


class _CompileNotice(event.Listener):
    """Says on standard error what is being compiled when that takes longer than a second; of workers, one says it, once."""

    def __init__(self) -> None:
        self.depth = 0
        self.began = 0.0
        self.said = False
        self.shared: Any = None
        """A number that workers share, so that one of them says it for all."""
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1:
            self.began = time.monotonic()
            self.timer = threading.Timer(SLOW_COMPILE_SECONDS, self._say, (event.data["dispatcher"].py_func, event.data["args"]))
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            seconds = time.monotonic() - self.began
            if seconds > SLOW_COMPILE_SECONDS:
                remember(name_of(event.data["dispatcher"].py_func), seconds)

    def _say(self, function: Any, args: tuple[Any, ...]) -> None:
        self.said = True
        if self.shared is not None:
            with self.shared.get_lock():
                if self.shared.value:
                    return
                self.shared.value = 1
        print(sentence(function, args), file=sys.stderr, flush=True)


def sentence(function: Any, args: tuple[Any, ...]) -> str:
    """What is compiled, for which class of games, and how long it took last time."""
    what = next((text for room, text in WHAT.items() if function.__module__.startswith(room)), function.__name__)
    classes = [arg.compiled_class.__name__ for arg in args[:1] if isinstance(arg, CompiledType)]
    last = known_seconds().get(name_of(function))
    return (
        f"compiling {what}{''.join(f' for {name}' for name in classes)}, which is kept on disk"
        f"{f' (it took {last:.1f} s last time)' if last is not None else ''}..."
    )


def name_of(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def known_seconds() -> dict[str, float]:
    """How long kernels took to compile, by name; nothing that is not such a table is believed."""
    try:
        found = json.loads(_file().read_bytes()[:100_000])
        return {str(name): float(s) for name, s in found.items() if isinstance(s, (int, float)) and 0.0 < s < LONGEST_SECONDS}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def remember(name: str, seconds: float) -> None:
    """Note how long a kernel took, if there is a place for that."""
    path = _file()
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.write_text(json.dumps(known_seconds() | {name: round(seconds, 2)}))
        temporary.replace(path)


def _file() -> Path:
    return cache_folder() / "compile_seconds.json"


notice = _CompileNotice()
if not JIT_DISABLED:
    event.register("numba:compile", notice)

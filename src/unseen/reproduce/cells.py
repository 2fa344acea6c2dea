"""The cells of an experiment: single measurements, each kept in a file of its own, so that what was done is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unseen.reproduce.page import Say, make_folder
from unseen.run.files import write_atomically
from unseen.run.reading import TEXT_BYTES, parse_json, read_bytes

Cell = dict[str, Any]


class Cells:
    """All cells of an experiment, in a folder."""

    def __init__(self, folder: Path, is_quick: bool, seed: int, say: Say, workers: int) -> None:
        self.folder, self.is_quick, self.seed, self.say, self.workers = folder, is_quick, seed, say, workers
        self.cells: dict[str, Cell] = {}
        self.part = folder  # where an unfinished measurement is kept
        self.has_news = False  # since the page was written
        make_folder(folder, "cells")

    def run(self) -> None:
        """Do what is missing; the page is written in the end, also when Ctrl-C ends it."""
        try:
            self.fill()
        finally:
            self.write()

    def fill(self) -> None:
        """Do what is missing, cell by cell."""
        raise NotImplementedError

    def write(self) -> None:
        """Write the page from the cells that there are."""
        raise NotImplementedError

    def cell(self, name: str, compute: Callable[..., Cell], *args: Any) -> None:
        """One measurement: read if it is there, done and written if not, or if it was made with other arguments."""
        kind = "quick" if self.is_quick else "full"
        file = self.folder / "cells" / f"{kind}_seed{self.seed}_{name.replace(' ', '_')}.json"
        found = _read(file)
        if found.get("of") != [*args]:
            self.say(name)
            self.part = file.with_suffix(".part")
            asked = file.with_suffix(".asked")  # of what the part is
            if not asked.exists() or _read(asked).get("of") != [*args]:
                self.part.unlink(missing_ok=True)
                write_atomically(asked, [json.dumps({"of": args}).encode()])
            found = {"of": args, **compute(*args)}
            write_atomically(file, [json.dumps(found).encode()])
            for path in (self.part, asked):
                path.unlink(missing_ok=True)
            self.has_news = True
        self.cells[name] = found


def _read(file: Path) -> Cell:
    """What is in a cell's file; nothing, if there is none or it is damaged."""
    try:
        found = parse_json(read_bytes(file, TEXT_BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

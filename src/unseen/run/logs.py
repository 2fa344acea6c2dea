"""Logs of solvers: a line of JSON for each evaluation, written by `solve` and read by `plot`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError

AXES = {"nodes": "nodes touched", "iterations": "iterations", "seconds": "seconds"}
"""What exploitability can be drawn against."""


@dataclass
class Run:
    """One run of a solver: what it was, and where it was at each evaluation."""

    game: str
    algorithm: str
    seed: int
    points: list[dict[str, float]]

    def against(self, axis: str) -> tuple[list[float], list[float]]:
        """The values of one axis and the exploitability, where both can be drawn on a logarithmic scale."""
        pairs = [(p[axis], p["exploitability"]) for p in self.points if p[axis] > 0 and p["exploitability"] > 0]
        return [x for x, _ in pairs], [y for _, y in pairs]


def read_log(path: Path) -> Run:
    """The run in a log: a line of JSON for each evaluation."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnseenError(f"log {path}: it cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}.") from error
    if not lines:
        raise UnseenError(f"log {path}: it is empty.")
    rows = [_read_line(path, number, line) for number, line in enumerate(lines, 1)]
    first = rows[0]
    return Run(first["game"], first["algorithm"], first["seed"], rows)


def _read_line(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if (
            all(isinstance(row[name], (int, float)) for name in (*AXES, "exploitability", "seed"))
            and row["game"]
            and row["algorithm"]
        ):
            return dict(row)
    except (ValueError, KeyError, TypeError):
        pass
    raise UnseenError(f"log {path}: line {number} is not an evaluation that `unseen solve --log` has written.")

"""Logs of solvers: a line of JSON for each evaluation, written by `solve` and read by `plot`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError
from unseen.run.files import Kind, begins_with
from unseen.run.reading import TEXT_BYTES, is_count, is_number, parse_json, read_bytes, reading

AXES = {"nodes": "nodes touched", "iterations": "iterations", "seconds": "seconds"}
"""What exploitability can be drawn against."""

MARK = "unseen"
"""The first name in each line of a log; its value is the command that writes such logs."""


def marked(command: str, row: dict[str, Any]) -> str:
    """A line of a log of `command`."""
    return json.dumps({MARK: command, **row})


def log_of(command: str) -> Kind:
    """The kind of logs that `command` writes."""
    return begins_with(f"a log of `unseen {command}`", json.dumps({MARK: command})[:-1].encode())


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
    with reading(f"log {path}"):
        try:
            lines = read_bytes(path, TEXT_BYTES).decode().splitlines()
        except UnicodeDecodeError:
            raise UnseenError("it cannot be read: it is not text.") from None
        if not lines:
            raise UnseenError("it is empty.")
        rows = [_read_line(number, line) for number, line in enumerate(lines, 1)]
    first = rows[0]
    return Run(first["game"], first["algorithm"], first["seed"], rows)


def _read_line(number: int, line: str) -> dict[str, Any]:
    try:
        row = parse_json(line)
        is_one = all(is_number(row[name]) for name in (*AXES, "exploitability"))
        is_one = is_one and is_count(row["iterations"]) and is_count(row["nodes"]) and isinstance(row["seed"], int)
        if is_one and all(row[name] and isinstance(row[name], str) for name in ("game", "algorithm")):
            return {name: value for name, value in row.items() if name != MARK}
    except (ValueError, KeyError, TypeError):
        pass
    raise UnseenError(f"line {number} is not an evaluation that `unseen solve --log` has written.")

"""The record of a tournament: a folder to which every game is added as soon as it has been played, and never changed.

`tournament.json` says what is played. A line of `games.jsonl` is a game, in the order of their numbers, and depends on the seed and
on nothing else, so the file is the same however the games were played. What depends on the machine, how long agents thought, is in
`times.jsonl`, line by line. A line that was not written to its end, because of a kill or a full disk, is dropped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError
from unseen.run.files import write_atomically
from unseen.run.reading import TEXT_BYTES, is_amount, is_count, is_number, parse_json, read_bytes, reading

SETTINGS, GAMES, TIMES = "tournament.json", "games.jsonl", "times.jsonl"
Row = dict[str, Any]


class Record:
    """What has been played, in a folder or only here. `settings` are those of the tournament, `per_task` the games that are added
    together."""

    def __init__(self, folder: Path | None, settings: dict[str, Any], resume: bool, per_task: int = 2) -> None:
        self.folder, self.games, self.times = folder, list[Row](), list[Row]()
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open(folder, settings, resume, per_task)
        except OSError as error:
            raise UnseenError(f"cannot write to the folder {folder}: {error.strerror or error}.") from error

    def _open(self, folder: Path, settings: dict[str, Any], resume: bool, per_task: int) -> None:
        place = folder / SETTINGS
        if place.exists():
            if not resume:
                raise UnseenError(f"the folder {folder} holds a tournament; --resume goes on with it.")
            check_settings(folder, _loaded(place), settings)
        elif any(folder.iterdir()):
            raise UnseenError(f"the folder {folder} holds other files; name an empty one, or one that is not there.")
        # It may go on to more games than it was for.
        write_atomically(place, [json.dumps(settings, indent=1).encode() + b"\n"])
        rows, ends = zip(*(_rows(folder / name) for name in (GAMES, TIMES)), strict=True)
        count = min(map(len, rows)) // per_task * per_task
        names = settings["agents"]
        if not all(_is_game(row, names) for row in rows[0][:count]) or not all(_is_time(row) for row in rows[1][:count]):
            raise UnseenError(f"the games in the folder {folder} are not those of a tournament: a line is not one of its games.")
        if any(row.get("number") != k for each in rows for k, row in enumerate(each[:count])):
            raise UnseenError(f"the games in the folder {folder} are not those of a tournament: they are not numbered one by one.")
        self.games, self.times = rows[0][:count], rows[1][:count]
        for name, places in zip((GAMES, TIMES), ends, strict=True):
            with (folder / name).open("ab") as file:
                file.truncate(places[count])

    def add(self, games: list[Row], times: list[Row]) -> None:
        """Add games; all of them, or none if that cannot be written."""
        if self.folder is not None:
            try:
                for name, rows in ((TIMES, times), (GAMES, games)):
                    with (self.folder / name).open("ab") as file:
                        file.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            except OSError as error:
                raise UnseenError(f"cannot write to the folder {self.folder}: {error.strerror or error}.") from error
        self.games += games
        self.times += times


def check_settings(folder: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raise if a folder belongs to another tournament. More games than before are the same one."""
    for name in ours.keys() | theirs.keys():
        if name != "rounds" and ours.get(name) != theirs.get(name):
            raise UnseenError(
                f"the folder {folder} belongs to another tournament: its {name} is {theirs.get(name)!r}, not {ours.get(name)!r}."
            )


def _loaded(path: Path) -> dict[str, Any]:
    with reading(str(path)):
        data = read_bytes(path, TEXT_BYTES)
    try:
        found = parse_json(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UnseenError(f"{path} is damaged: it does not say which tournament this is.")
    return found


def _rows(path: Path) -> tuple[list[Row], list[int]]:
    """The lines of a file that are whole, and how long the file is before each of them and after the last."""
    rows, ends, data = [], [0], b""
    if path.exists():
        with reading(str(path)):
            data = read_bytes(path)
    for line in data.splitlines(keepends=True):
        try:
            row = parse_json(line)
        except ValueError:
            break
        if not line.endswith(b"\n") or not isinstance(row, dict):
            break
        rows.append(row)
        ends.append(ends[-1] + len(line))
    return rows, ends


def _is_game(row: Row, names: list[str]) -> bool:
    """Whether a line can be a game between two of these agents."""
    is_played = row.get("first") in names and row.get("second") in names and is_number(row.get("payoff"))
    return is_played and isinstance(row.get("fault", 0), (str, type(None)))


def _is_time(row: Row) -> bool:
    """Whether a line can be how long both agents thought."""
    pairs = [row.get(name) for name in ("seconds", "moves", "simulations")]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return False
    return all(map(is_amount, pairs[0])) and all(map(is_count, (*pairs[1], *pairs[2])))  # type: ignore[arg-type, misc]

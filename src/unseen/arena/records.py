"""The record of a tournament: a folder to which every game is added as soon as it has been played, and never changed.

`tournament.json` says what is played. A line of `games.jsonl` is a game, in the order of their numbers, and depends on the seed and
on nothing else, so the file is the same however the games were played. What depends on the machine, how long agents thought, is in
`times.jsonl`, line by line.

Each line ends with a checksum of what is before it, so damage is noticed and refused: a changed number, a lost byte, a line that
is missing or there twice. Only the end may be missing, as after a kill or on a full disk: a last line that is not whole, or fewer
lines than in the other file. It is cut off, `repaired` says so, and those games are played again. While games are added, the file
of games is locked: of two processes only one adds to a record.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from unseen.errors import UnseenError
from unseen.run.files import write_atomically
from unseen.run.reading import TEXT_BYTES, parse_json, read_bytes, reading

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SETTINGS, GAMES, TIMES = "tournament.json", "games.jsonl", "times.jsonl"
Row = dict[str, Any]
Check = Callable[[Row, Row], bool]
MARK = b', "check": "'
END = b'"}\n'
CHECK_BYTES = 8


class Record:
    """What has been played, in a folder or only here. A context manager: when it is left, the folder is free for others.

    - `settings`: those of the tournament.
    - `is_right`: whether the lines of a game, and of the times in it, can be of this tournament.
    - `per_task`: games that are added together.
    """

    def __init__(
        self, folder: Path | None, settings: dict[str, Any], resume: bool, is_right: Check | None = None, per_task: int = 2
    ) -> None:  # fmt: skip
        self.folder, self.games, self.times = folder, list[Row](), list[Row]()
        self.repaired = ""
        """What was cut off, in words; '' if nothing was."""
        self.files: dict[str, FileIO] = {}
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open(folder, settings, resume, is_right or (lambda game, times: True), per_task)
        except OSError as error:
            self.close()
            raise UnseenError(f"cannot write to the folder {folder}: {error.strerror or error}.") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others add to the folder. Nothing can be added here any more."""
        while self.files:
            self.files.popitem()[1].close()

    def _open(self, folder: Path, settings: dict[str, Any], resume: bool, is_right: Check, per_task: int) -> None:
        place = folder / SETTINGS
        others = UnseenError(f"the folder {folder} holds other files; name an empty one, or one that is not there.")
        if not place.exists() and any(path.name not in (GAMES, TIMES) for path in folder.iterdir()):
            raise others
        self.files[GAMES] = _opened(folder / GAMES)
        lock(self.files[GAMES], folder)
        if place.exists():
            if not resume:
                raise UnseenError(f"the folder {folder} holds a tournament; --resume goes on with it.")
            check_settings(folder, _loaded(place), settings)
        self.files[TIMES] = _opened(folder / TIMES)
        if not place.exists() and any(map(_size, self.files.values())):
            raise others
        (games, game_ends), (times, time_ends) = (_rows(folder / name, self.files[name]) for name in (GAMES, TIMES))
        count = min(len(games), len(times)) // per_task * per_task
        for k, (game, each) in enumerate(zip(games[:count], times[:count], strict=True)):
            if not is_right(game, each):
                raise UnseenError(f"{folder}: game {k} is not one of this tournament.")
        lost = max(len(games), len(times)) - count
        self.games, self.times = games[:count], times[:count]
        for name, ends in ((GAMES, game_ends), (TIMES, time_ends)):
            if _size(self.files[name]) > ends[count]:
                self.repaired = f"the record was cut off after {count:,} games"
                self.repaired += f"; {lost:,} that were there are played again" if lost else ""
                self.files[name].truncate(ends[count])
        # It may go on to more games than it was for.
        write_atomically(place, [json.dumps(settings, indent=1).encode() + b"\n"])

    def add(self, games: list[Row], times: list[Row]) -> None:
        """Add games; all of them, or none if that cannot be written."""
        if self.folder is not None:
            try:
                for name, rows in ((TIMES, times), (GAMES, games)):
                    data = b"".join(map(as_line, rows))
                    while data:
                        data = data[self.files[name].write(data) :]
            except OSError as error:
                raise UnseenError(f"cannot write to the folder {self.folder}: {error.strerror or error}.") from error
        self.games += games
        self.times += times


def lock(file: FileIO, folder: Path) -> None:
    """Raise if another process has locked this file; otherwise nobody else can until it is closed."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnseenError(f"the folder {folder} is being written by another process.") from None


def as_line(row: Row) -> bytes:
    """A row as a line that ends with its checksum."""
    text = json.dumps(row).encode()[:-1]
    return text + MARK + _checksum(text) + END


def check_settings(folder: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raise if a folder belongs to another tournament. More games than before are the same one."""
    for name in ours.keys() | theirs.keys():
        if name != "rounds" and ours.get(name) != theirs.get(name):
            raise UnseenError(
                f"the folder {folder} belongs to another tournament: its {name} is {theirs.get(name)!r}, not {ours.get(name)!r}."
            )


def _checksum(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=CHECK_BYTES).hexdigest().encode()


def _opened(path: Path) -> FileIO:
    """A file to be read and added to, and no link to one, nor anything else that is none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if path.is_symlink():
        raise UnseenError(f"{path} is a link, but must be a file.")
    file = FileIO(path, "a+", opener=lambda name, _: os.open(name, flags, 0o666))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise UnseenError(f"{path} must be a file.")
    return file


def _size(file: FileIO) -> int:
    return os.fstat(file.fileno()).st_size


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


def _rows(path: Path, file: FileIO) -> tuple[list[Row], list[int]]:
    """The lines of a file, and how long the file is before each of them and after the last. What is after the last whole line is
    left out; anything else that is not what was written is an error."""
    rows, ends = list[Row](), [0]
    file.seek(0)
    lines = file.readall().splitlines(keepends=True)
    for k, line in enumerate(lines):
        row = _parsed(line)
        if k == len(lines) - 1 and (row is None or not line.endswith(b"\n")):
            break
        if row is None:
            raise UnseenError(f"{path} is damaged: line {k + 1} is not what was written.")
        if "check" not in row:
            raise UnseenError(f"{path} is of an older version, without checksums; begin anew in another folder.")
        text, _, check = line.rpartition(MARK)
        if check != _checksum(text) + END:
            raise UnseenError(f"{path} is damaged: line {k + 1} is not what was written.")
        number = row.get("number")
        if number != k:
            what = f"game {number} again" if isinstance(number, int) and number < k else f"game {number}, not {k}"
            raise UnseenError(f"{path} is damaged: line {k + 1} is {what}; lines are missing or there twice.")
        del row["check"]
        rows.append(row)
        ends.append(ends[-1] + len(line))
    return rows, ends


def _parsed(line: bytes) -> Row | None:
    """A line as a row; None if it is none, as after a kill."""
    try:
        row = parse_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None

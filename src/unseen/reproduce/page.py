"""A page of results in Markdown: tables, pictures, and for each claim whether it held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UnseenError
from unseen.run import files
from unseen.show.markdown import table

Say = Callable[[str], None]
VERDICTS = {True: "held", False: "**did not hold**", None: "not decided"}


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, what was measured here, and whether it held."""

    text: str
    measured: str
    held: bool | None


def claims_table(claims: Iterable[Claim]) -> str:
    return table(("the paper says", "measured here", "verdict"), [(c.text, c.measured, VERDICTS[c.held]) for c in claims])


def page_name(quick: bool) -> str:
    """The file of a page."""
    return "quick.md" if quick else "page.md"


def make_folder(folder: Path, inside: str = "") -> None:
    """The folder for an experiment's results, and perhaps one inside of it."""
    files.make_folder(folder, "an experiment", _has_page)
    try:
        (folder / inside).mkdir(exist_ok=True)
    except OSError as error:
        raise UnseenError(f"cannot use the folder {folder / inside}: {error.strerror or error}.") from error


def _has_page(folder: Path) -> bool:
    """Whether an earlier version has written its page here."""
    pages = [folder / page_name(quick) for quick in (True, False)]
    return any(b"`unseen reproduce " in page.read_bytes() for page in pages if page.is_file())


def write_page(path: Path, title: str, parts: Sequence[str]) -> None:
    """Write a page, whole or not at all."""
    files.write_atomically(path, ["\n\n".join([f"# {title}", *parts, ""]).encode()])


def seconds(value: float) -> str:
    """A duration for people."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("μs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"

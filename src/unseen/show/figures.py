"""Pictures as Matplotlib figures that belong to nobody else: no global backend is touched, and files are written whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unseen.errors import UnseenError
from unseen.run.files import Kind, check_output, write_output
from unseen.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    ".png": (b"tEXtSoftware\0unseen ", "Software", {}),
    ".svg": (b"<dc:title>unseen ", "Creator", {"Date": None}),
    ".pdf": (b"/Creator (unseen ", "Creator", {"CreationDate": None}),
}
"""How each kind of picture is marked: what stands in the file, and the entry of its metadata from which that comes."""
LARGEST = 1 << 26
"""No picture of ours has more bytes."""


def _is_marked(file: BinaryIO) -> bool:
    data = file.read(LARGEST)
    return any(data.startswith(head) and MARKS[suffix][0] in data for suffix, head in HEADS.items())


HEADS = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF"}
PICTURE = Kind("a picture", _is_marked)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def check_picture(path: Path, force: bool = False) -> None:
    """Raise if a picture cannot be written to `path`, before any work is done for it."""
    if path.suffix not in MARKS:
        raise UnseenError(f"cannot write the picture {path}: name a file that ends in {', '.join(MARKS)}.")
    check_output(path, PICTURE, force)


def save_picture(figure: Figure, path: Path, force: bool = False) -> None:
    """Write a figure to a file, with a mark by which it is known again; a file without it is replaced only with `force`."""
    check_picture(path, force)
    data = io.BytesIO()
    _, entry, more = MARKS[path.suffix]
    figure.savefig(data, dpi=120, format=path.suffix[1:], metadata={entry: f"unseen {__version__}", **more})
    write_output(path, PICTURE, [data.getvalue()], force)

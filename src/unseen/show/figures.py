"""Pictures as Matplotlib figures that belong to nobody else: no global backend is touched, and files are written whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UnseenError
from unseen.run.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def check_picture(path: Path) -> None:
    """Raise if a picture cannot be written to `path`, before any work is done for it."""
    if path.is_dir() or path.suffix not in (".png", ".svg", ".pdf") or not path.parent.is_dir():
        raise UnseenError(f"cannot write the picture {path}: name a file that ends in .png, .svg or .pdf in a folder that exists.")


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure to a file."""
    check_picture(path)
    data = io.BytesIO()
    figure.savefig(data, dpi=120, format=path.suffix[1:])
    write_atomically(path, [data.getvalue()])

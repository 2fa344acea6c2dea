"""Small tables in HTML, for notebooks: all text in them is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


def table(title: str, rows: Mapping[str, Any]) -> str:
    """A table with a caption, and a row for each name and what belongs to it; a text of several lines keeps them."""
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{_cell(value)}</td></tr>" for name, value in rows.items())
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return f'<pre style="margin: 0; text-align: left">{escape(text)}</pre>' if "\n" in text else escape(text)

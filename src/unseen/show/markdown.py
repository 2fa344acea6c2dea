"""Tables in Markdown, and in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same in HTML."""
    lines = [("th", head), *(("td", row) for row in rows)]
    return "<table>" + "".join(_line(kind, cells) for kind, cells in lines) + "</table>"


def _line(kind: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

"""Results that show themselves: a short line, a table for the terminal, HTML for notebooks, and the dictionary that is a
command's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unseen import html
from unseen.game import Game
from unseen.run.checked import advice, is_checked

if TYPE_CHECKING:
    from rich.table import Table


class Result:
    """What a function of the library returns to people and programs alike."""

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        raise NotImplementedError

    def rows(self) -> dict[str, Any]:
        """What it says, for people: a word for each thing, and the thing."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """What it says, for programs: the JSON of the command."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """The one thing that everybody wants to know."""
        return ", ".join(f"{name}: {shown(value)}" for name, value in list(self.rows().items())[:2])

    def all_rows(self) -> dict[str, Any]:
        """All of it; and if the game is a user's that has not passed a check, that."""
        about = (getattr(self, name, None) for name in ("strategy", "enumeration"))
        game = getattr(self, "game", None) or next((part.game for part in about if part is not None), None)
        return self.rows() | ({"checked": f"no; {advice(game)}"} if isinstance(game, Game) and not is_checked(game) else {})

    def table(self) -> Table:
        """All of it as a table for `rich.print`."""
        return facts(self.title, self.all_rows())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title}: {self.summary}>"

    def _repr_html_(self) -> str:
        return html.table(self.title, self.all_rows())


def shown(value: Any) -> str:
    """A value for people."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def facts(title: str, rows: dict[str, Any]) -> Table:
    """A table of two columns."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), show_header=False)
    for name, value in rows.items():
        table.add_row(Text(name), Text(shown(value)))
    return table


def number(x: float) -> str:
    """A number for people: rounding errors are shown as zero."""
    return "0" if abs(x) < 1e-12 else f"{x:.12g}"


def per_player(values: Any, form: str = ",") -> str:
    """A number of each player."""
    return " + ".join(f"{value:{form}}" for value in values)

"""Strategies for people: a table in the terminal, and a picture.

Information sets are grouped by *situation*: what the player did and what everybody saw. Within a situation they differ in what
only the player knows (its card, its dice), which is the axis of a panel of the picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from rich.table import Table
from rich.text import Text

from unseen.enumeration.whole import example_histories
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.position import Position
from unseen.run.progress import Progress
from unseen.show.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_INFOSETS = 5000
MAX_TICKS = 8
MAX_LABEL, ROOM_FOR_LABELS = 28, 70
"""Characters of a label below a bar, and of all of them side by side."""
FEW_COLOURS = 10
UNREACHED = 0.2


class Shown(Protocol):
    """What can be shown: a strategy."""

    game: Game

    def __getitem__(self, position: Position) -> Mapping[int, float]:
        """The probability of each legal action at a position of a player."""


@dataclass
class Situation:
    """Information sets of one player that differ only in what that player alone knows."""

    player: int
    positions: list[Position] = field(default_factory=list)
    is_reached: bool = False
    """Whether the strategy itself ever chooses to come here."""

    @property
    def labels(self) -> tuple[str, list[str]]:
        """A title for all of them, and what is special to each: the words in which their renderings differ."""
        words = [p.render(self.player).replace("\n", " / ").split() for p in self.positions]
        if len(words) == 1:
            return " ".join(words[0]), [""]
        before = _common(words)
        after = _common([w[before:][::-1] for w in words])
        first = words[0]
        title = " ".join([*first[:before], "…", *first[len(first) - after :]])
        return title, [" ".join(w[before : len(w) - after]).rstrip(",;") for w in words]


def shorten(text: str, length: int) -> str:
    """A text of up to so many characters: its end, where boards and hands mostly differ."""
    return text if len(text) <= length else "…" + text[1 - length :]


def _common(rows: list[list[str]]) -> int:
    """How many words at the beginning all rows have in common."""
    n = 0
    while all(len(row) > n for row in rows) and len({row[n] for row in rows}) == 1:
        n += 1
    return n


def _shortest_examples(game: Game, progress: Progress | bool | None) -> list[list[int]]:
    """A history in each of the first MAX_INFOSETS information sets, those after few moves first."""
    for longest in range(game.max_length + 1):
        found, histories = example_histories(game, progress, longest)
        if len(histories) >= MAX_INFOSETS or found.longest < longest:
            break
    return sorted(histories, key=len)[:MAX_INFOSETS]


def situations(strategy: Shown, progress: Progress | bool | None = None) -> list[Situation]:
    """The situations of a game: first those that the strategy comes to, and among them those after few moves."""
    found: dict[object, Situation] = {}
    for history in _shortest_examples(strategy.game, progress):
        position = Position(strategy.game, history)
        player = position.player
        shared = tuple((p.own, p.public) for p in position.seen(player) if p.own or p.public)
        situation = found.setdefault((player, shared), Situation(player))
        situation.positions.append(position)
        situation.is_reached = situation.is_reached or _comes_here(strategy, position)
    for situation in found.values():
        situation.positions.sort(key=lambda p: [percept.private for percept in p.seen(p.player)])
    return sorted(_together(list(found.values())), key=lambda situation: not situation.is_reached)


def _together(every: list[Situation]) -> list[Situation]:
    """Situations of a single information set, put together if the player has the same actions in them."""
    merged: dict[object, Situation] = {}
    for number, situation in enumerate(every):
        first = situation.positions[0]
        key = (first.player, *first.action_names.items()) if len(situation.positions) == 1 else number
        into = merged.setdefault(key, Situation(situation.player))
        into.positions += situation.positions
        into.is_reached = into.is_reached or situation.is_reached
    return list(merged.values())


def _comes_here(strategy: Shown, position: Position) -> bool:
    """Whether the player to move made no move on the way that its strategy never makes."""
    on_the_way = Position(position.game)
    for action in position.history:
        if on_the_way.player == position.player and strategy[on_the_way][action] < 1e-9:
            return False
        on_the_way.apply(action)
    return True


def _sets(every: list[Situation]) -> int:
    """How many information sets there are in all; MAX_INFOSETS if `situations` stopped there, so there may be more."""
    return sum(len(situation.positions) for situation in every)


def first_positions(every: list[Situation], rows: int) -> list[Position]:
    """One position in each of the first `rows` information sets, the first player's before the second's."""
    listed = (p for situation in every for p in situation.positions)
    return sorted(listed, key=lambda p: p.player)[:rows]


def strategy_table(strategy: Shown, every: list[Situation], rows: int) -> Table:
    """The strategy at the first `rows` information sets of the situations `every`."""
    table = Table("player", "sees", "chooses", title=Text(strategy.game.spec))
    for position in first_positions(every, rows):
        names = position.action_names
        chances = "  ".join(f"{names[a]} {p:.3f}".replace(" ", "\u00a0") for a, p in strategy[position].items())
        table.add_row(str(position.player + 1), Text(position.render(position.player)), Text(chances))
    total = _sets(every)
    if table.row_count < total:
        of_all = f" of {total:,}" if total < MAX_INFOSETS else ""
        table.caption = f"the first {rows}{of_all} information sets"
    return table


def strategy_figure(strategy: Shown, every: list[Situation], panels: int) -> Figure:
    """The strategy in up to `panels` of the situations `every`, as stacked bars.

    Bars are pale where the strategy itself never comes, so that what it would do there does not matter to its value.
    """
    from matplotlib import colormaps

    columns = [[s for s in every if s.player == player][: (panels + 1) // 2] for player in (0, 1)]
    columns = [column for column in columns if column]
    if not columns:
        raise UnseenError(f"{strategy.game.spec}: no player has a decision, so there is no strategy to draw.")
    height = max(map(len, columns))
    figure = new_figure(6.2 * len(columns), 0.7 + 1.9 * height)
    axes = figure.subplots(height, len(columns), squeeze=False)
    names = list(dict.fromkeys(n for column in columns for s in column for n in s.positions[0].action_names.values()))
    palette = colormaps["tab10"] if len(names) <= FEW_COLOURS else colormaps["nipy_spectral"].resampled(len(names) + 2)
    colour = {name: palette(k if len(names) <= FEW_COLOURS else k + 1) for k, name in enumerate(names)}
    for x, column in enumerate(columns):
        for y in range(height):
            if y < len(column):
                _draw_panel(axes[y, x], strategy, column[y], colour)
            else:
                axes[y, x].axis("off")
    shown, total = sum(map(len, columns)), len(every)
    of_all = f" of {total}" if _sets(every) < MAX_INFOSETS else ""
    figure.suptitle(strategy.game.spec + (f"   (the first {shown}{of_all} situations)" if shown < total else ""))
    return figure


def _draw_panel(axis: Axes, strategy: Shown, situation: Situation, colour: Mapping[str, tuple[float, ...]]) -> None:
    title, labels = situation.labels
    n = len(situation.positions)
    bottom = np.zeros(n)
    names = situation.positions[0].action_names
    chosen = [strategy[position] for position in situation.positions]
    fading = [1.0 if _comes_here(strategy, position) else UNREACHED for position in situation.positions]
    for action, name in names.items():
        height = np.array([c.get(action, 0.0) for c in chosen])
        faded = [(*colour[name][:3], alpha) for alpha in fading]
        axis.bar(range(n), height, 0.9 if n <= 40 else 1.0, bottom=bottom, color=faded)
        axis.bar(0, 0, color=colour[name], label=name)  # for the legend, never faded
        bottom += height
    ticks = range(n) if n <= 13 else np.linspace(0, n - 1, MAX_TICKS).astype(int)
    words = [shorten(labels[t], MAX_LABEL) for t in ticks]
    is_wide = max(map(len, words)) * len(words) > ROOM_FOR_LABELS
    axis.set_xticks(
        list(ticks), words, rotation=25 if is_wide else 0, ha="right" if is_wide else "center", fontsize=7 if is_wide else 9
    )
    axis.set(ylim=(0, 1), xlim=(-0.6, n - 0.4), yticks=(0, 0.5, 1))
    axis.set_title(f"player {situation.player + 1}: {shorten(title, 3 * ROOM_FOR_LABELS // 2)}", fontsize=9, loc="left")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, ncols=1 + len(names) // 8)
    axis.spines[["top", "right"]].set_visible(False)

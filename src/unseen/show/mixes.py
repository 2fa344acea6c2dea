"""How both players should choose at the same time: a picture of mixes, situation by situation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.position import Position

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Answer:
    """What a position is worth to the first player, and an equilibrium of the joint move there: a mix for each player."""

    value: float
    mixes: tuple[dict[int, float], dict[int, float]]
    payoffs: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)), compare=False)
    """(n, m) what each pair of their actions is worth."""


def mixes_figure(title: str, shown: Mapping[str, tuple[Position, Answer]]) -> Figure:
    """A row for each situation and a column for each action; the darker, the likelier. One panel if both players play alike."""
    from matplotlib.figure import Figure

    answers = [answer for _, answer in shown.values()]
    players = (0,) if all(_alike(answer) for answer in answers) else (0, 1)
    columns = max(len(answer.mixes[0]) for answer in answers)
    figure = Figure(figsize=(len(players) * (2.0 + 0.55 * columns), 1.6 + 0.42 * len(shown)), layout="constrained")
    for player, axes in zip(players, np.atleast_1d(figure.subplots(1, len(players))), strict=True):
        _draw(axes, player, shown)
        axes.set_title("both players" if len(players) == 1 else f"player {player + 1}")
    figure.suptitle(textwrap.fill(f"An equilibrium of {title}", width=int(12 * figure.get_figwidth())), fontsize=9)
    return figure


def _alike(answer: Answer) -> bool:
    first, second = answer.mixes
    return first.keys() == second.keys() and np.allclose(list(first.values()), list(second.values()), atol=1e-9)


def _draw(axes: Axes, player: int, shown: Mapping[str, tuple[Position, Answer]]) -> None:
    """One player's mixes."""
    actions = sorted({a for _, answer in shown.values() for a in answer.mixes[player]})
    chances = np.array([[answer.mixes[player].get(a, np.nan) for a in actions] for _, answer in shown.values()])
    axes.imshow(chances, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for row, column in np.argwhere(chances > 0.005):
        p = chances[row, column]
        colour = "white" if p > 0.55 else "black"
        axes.text(column, row, f"{p:.2f}".removeprefix("0"), ha="center", va="center", fontsize=8, color=colour)
    position, _ = next(iter(shown.values()))
    asked = position if player == 0 else position.child(position.actions[0])
    words = asked.action_names
    axes.set_xticks(range(len(actions)), [words.get(a, str(a)) for a in actions], rotation=45, ha="right", fontsize=8)
    names = list(shown)
    if any(abs(answer.value) > 0.0005 for _, answer in shown.values()):
        names = [f"{name}   ({answer.value:+z.3f})" for name, (_, answer) in shown.items()]
        axes.set_ylabel("what is next, and its value to the first player", fontsize=8)
    axes.set_yticks(range(len(shown)), names, fontsize=8)

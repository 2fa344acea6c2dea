"""Pictures of how solvers converged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unseen.run.logs import AXES, Run
from unseen.show.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def labels(runs: Sequence[Run]) -> list[str]:
    """A name for each run, with as much as is needed to tell them apart."""
    one_game = len({run.game for run in runs}) == 1
    named = [run.algorithm if one_game else f"{run.algorithm}, {run.game}" for run in runs]
    return [f"{name}, seed {run.seed}" if named.count(name) > 1 else name for name, run in zip(named, runs, strict=True)]


def draw_axis(axes: Axes, runs: Sequence[Run], axis: str) -> None:
    """Exploitability against one axis, both logarithmic, a line for each run."""
    for run, label in zip(runs, labels(runs), strict=True):
        axes.plot(*run.against(axis), label=label, linewidth=1.4, marker=".", markersize=3)
    axes.set(xscale="log", yscale="log", xlabel=AXES[axis])
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def runs_figure(runs: Sequence[Run], axes: Sequence[str] = tuple(AXES)) -> Figure:
    """All runs against each of `axes`, side by side."""
    figure = new_figure(4.6 * len(axes), 4.2)
    panels = figure.subplots(1, len(axes), squeeze=False, sharey=True)
    for panel, axis in zip(panels[0], axes, strict=True):
        draw_axis(panel, runs, axis)
    panels[0, 0].set_ylabel("exploitability (sum)")
    panels[0, 0].legend(fontsize=8, frameon=False)
    games = list(dict.fromkeys(run.game for run in runs))
    figure.suptitle(games[0] if len(games) == 1 else f"{len(games)} games")
    return figure

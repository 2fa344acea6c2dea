"""Convergence logs, as `unseen solve --log` writes them, and their pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.drawing import save_picture
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = {"nodes": "nodes touched", "iterations": "iterations", "seconds": "seconds"}
"""What exploitability can be drawn against."""


@dataclass
class Run:
    """One run of a solver: what it was, and where it was at each evaluation."""

    game: str
    algorithm: str
    seed: int
    points: list[dict[str, float]]

    def against(self, axis: str) -> tuple[list[float], list[float]]:
        """The values of one axis and the exploitability, where both can be drawn on a logarithmic scale."""
        pairs = [(p[axis], p["exploitability"]) for p in self.points if p[axis] > 0 and p["exploitability"] > 0]
        return [x for x, _ in pairs], [y for _, y in pairs]


def read_log(path: Path) -> Run:
    """The run in a log: a line of JSON for each evaluation."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnseenError(f"log {path}: it cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}.") from error
    if not lines:
        raise UnseenError(f"log {path}: it is empty.")
    rows = [_read_line(path, number, line) for number, line in enumerate(lines, 1)]
    first = rows[0]
    return Run(first["game"], first["algorithm"], first["seed"], rows)


def _read_line(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if (
            all(isinstance(row[name], (int, float)) for name in (*AXES, "exploitability", "seed"))
            and row["game"]
            and row["algorithm"]
        ):
            return dict(row)
    except (ValueError, KeyError, TypeError):
        pass
    raise UnseenError(f"log {path}: line {number} is not an evaluation that `unseen solve --log` has written.")


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


def draw_runs(runs: Sequence[Run], path: Path, axes: Sequence[str] = tuple(AXES)) -> None:
    """Draw all runs against each of `axes`, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(axes), figsize=(4.6 * len(axes), 4.2), squeeze=False, layout="constrained", sharey=True)
    for panel, axis in zip(panels[0], axes, strict=True):
        draw_axis(panel, runs, axis)
    panels[0, 0].set_ylabel("exploitability (sum)")
    panels[0, 0].legend(fontsize=8, frameon=False)
    games = list(dict.fromkeys(run.game for run in runs))
    figure.suptitle(games[0] if len(games) == 1 else f"{len(games)} games")
    save_picture(figure, path)
    pyplot.close(figure)

"""The games in numbers: playouts beside OpenSpiel's, and what it takes to build II-Goofspiel's sequence form.

`make bench` runs it. With `--counts` (`make counts`) it walks the games that are too large for the tests and compares the counts.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import unseen
from unseen.bench import bench_playouts, open_spiel
from unseen.exact.treeplex import treeplex
from unseen.run.progress import ProgressBar

COUNTS = Path(__file__).parent.parent / "tests" / "counts.json"
GAMES = (
    "kuhn_poker", "leduc_poker", "liars_dice", "liars_dice(dice1=2, dice2=2)", "goofspiel(cards=13)", "ii_goofspiel(cards=6)",
    "ii_goofspiel(cards=13)", "wl_goofspiel(cards=5)", "pd_goofspiel(cards=11)", "phantom_ttt", "phantom_ttt(abrupt=True)",
    "latent_ttt", "oshi_zumo", "oshi_zumo(coins=50, size=3, min_bid=1)", "blotto", "princess_and_monster",
    "liars_dice(dice1=2, dice2=2, rounds=True)",
)  # fmt: skip
FORMS = ("ii_goofspiel(cards=6)", "ii_goofspiel(cards=7)")
console = Console(width=120)


def main() -> None:
    if "--counts" in sys.argv:
        console.print(long_counts())
        return
    console.print(playouts())
    console.print(forms())


def playouts() -> Table:
    """Random games a second on one thread, beside OpenSpiel's driven from Python and its outcome sampling in C++."""
    table = Table("game", "games/s", "OpenSpiel", "times", "C++ outcome sampling", "times", title="random playouts")
    for spec in GAMES:
        game = unseen.load(spec)
        ours, *beside = bench_playouts(game, open_spiel(game))
        figures = [ours.ours, ours.theirs, ours.ratio, *((beside[0].theirs, beside[0].ratio) if beside else (None, None))]
        table.add_row(spec, *("-" if x is None else f"{x:,.0f}" for x in figures))
    return table


def forms() -> Table:
    """Seconds and bytes for building sequence forms, compilation not counted."""
    table = Table("game", "seconds", "information sets", "form (MB)", "process at most (MB)", title="building the sequence form")
    unseen.SequenceForm("ii_goofspiel(cards=2)")
    for spec in FORMS:
        began = time.perf_counter()
        form = unseen.SequenceForm(spec)
        took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        table.add_row(spec, f"{took:.1f}", f"{sum(form.infosets):,}", f"{form.nbytes / 1e6:,.0f}", f"{peak:,.0f}")
    return table


def long_counts() -> Table:
    """Walk the games that are too large for the tests. Raises if a count is wrong."""
    title = "walked to the end, with all cores"
    table = Table("game", "histories", "terminals", "information sets", "M-values", "longest", "seconds", "MB", title=title)
    for spec, want in json.loads(COUNTS.read_text()).items():
        if not want.get("long"):
            continue
        began = time.perf_counter()
        with ProgressBar(spec, "histories") as bar:
            found = unseen.enumerate_game(unseen.load(spec), progress=bar)
        took = time.perf_counter() - began
        got = [found.histories, found.terminals, list(found.infosets), found.longest]
        assert got == [want[name] for name in ("histories", "terminals", "infosets", "max_length")], (spec, got)
        m_values = " + ".join(f"{treeplex(found, player).m_value():,.0f}" for player in (0, 1))
        table.add_row(
            spec, f"{found.histories:,}", f"{found.terminals:,}", f"{sum(found.infosets):,}", m_values, str(found.longest),
            f"{took:.0f}", f"{found.peak / 1e6:,.0f}",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    main()

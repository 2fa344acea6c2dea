"""Exact values of simultaneous games, state by state: `python benchmarks/stacked.py`.

`--peer FILE` is a program that solves PD-Goofspiel by other means and prints, in its last line, the seconds it took; it is run as
`python FILE CARDS` before and after ours, on one core. `--large` solves the games that take minutes to hours on all cores.
"""

from __future__ import annotations

import re
import subprocess
import sys

from rich.console import Console
from rich.table import Table

import unseen

console = Console(width=130)
SMALL = ("pd_goofspiel(cards=9)", "pd_goofspiel(cards=10)", "wl_goofspiel(cards=8)", "oshi_zumo(coins=30, size=3)")
LARGE = ("wl_goofspiel(cards=9)", "pd_goofspiel(cards=11)", "wl_goofspiel(cards=10)", "pd_goofspiel(cards=13)")
COMPARED = 11


def row(spec: str, workers: int | None) -> list[str]:
    """What it took to solve a game."""
    found = unseen.backward_induction(spec, workers=workers)
    rate = found.matrix_games / found.seconds
    return [
        spec, f"{found.states:,}", f"{found.matrix_games:,}", f"{found.seconds:.2f}", f"{rate:,.0f}", f"{found.value:+.9f}",
        f"{found.error:.0e}", f"{found.slots.nbytes / 1e9:.2f}",
    ]  # fmt: skip


def solved(specs: tuple[str, ...], workers: int | None) -> Table:
    cores = "one core" if workers == 1 else "all cores"
    table = Table("game", "states", "matrix games", "seconds", "games a second", "value", "error below", "table, GB", title=cores)
    for spec in specs:
        table.add_row(*row(spec, workers))
        console.print(f"[dim]{spec}[/dim]")
    return table


def peer_seconds(path: str, cards: int) -> float:
    """What the peer says that it took."""
    done = subprocess.run([sys.executable, path, str(cards)], capture_output=True, text=True, check=True)
    found = re.findall(r"([\d.]+) s\b", done.stdout.splitlines()[-1])
    return float(found[-1])


def compared(path: str, cards: int) -> Table:
    unseen.backward_induction("pd_goofspiel(cards=3)", workers=1)  # compiles
    before = peer_seconds(path, cards)
    ours = unseen.backward_induction(f"pd_goofspiel(cards={cards})", workers=1).seconds
    after = peer_seconds(path, cards)
    table = Table("PD-Goofspiel, one core", "peer, seconds", "ours, seconds", "ratio")
    table.add_row(f"{cards} cards", f"{before:.1f}, {after:.1f}", f"{ours:.1f}", f"{min(before, after) / ours:.2f}")
    return table


def main(args: list[str]) -> None:
    if "--large" in args:
        console.print(solved(LARGE, None))
    elif "--peer" in args:
        console.print(compared(args[args.index("--peer") + 1], COMPARED))
    else:
        console.print(solved(SMALL, 1))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The speed of the foundation beside OpenSpiel, in one run: `make bench`.

Ratios, not seconds, are what to compare between machines. Cold starts are whole commands with an empty cache, warm ones
the same again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

import unseen
from unseen.bench import as_table, bench

GAMES = ("kuhn_poker", "leduc_poker", "liars_dice", "one_card_poker")
STARTS = (("info", "kuhn_poker"), ("exploitability", "liars_dice", "--strategy", "uniform"))


def main() -> None:
    console = Console(width=110)
    for name in GAMES:
        console.print(as_table(name, bench(unseen.load(name))))
    console.print(starts())


def starts() -> Table:
    """Whole commands, from the shell's point of view."""
    table = Table("command", "cold (s)", "warm (s)", title="starting up")
    for command in STARTS:
        with tempfile.TemporaryDirectory() as cache:
            env = os.environ | {"NUMBA_CACHE_DIR": cache}
            times = []
            for _ in range(4):
                began = time.perf_counter()
                subprocess.run([sys.executable, "-m", "unseen", *command], env=env, check=True, capture_output=True)
                times.append(time.perf_counter() - began)
        table.add_row("unseen " + " ".join(command), f"{times[0]:.1f}", f"{min(times[1:]):.2f}")
    return table


if __name__ == "__main__":
    main()

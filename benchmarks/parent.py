"""Speeds of this tree beside those of another commit, in one run: `python benchmarks/parent.py REV`.

Each of the two is a process of its own. They take turns, row by row and round by round, and the best round of each counts, so a
machine that is busy now and then does both the same harm. Rows are those of `search.py` and `solvers.py`; those of OpenSpiel are
left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
ROUNDS, SECONDS = 8, 0.4
SEARCHES = (
    ("liars_dice", (2, 5), "oos(targeting=public)"), ("liars_dice", (2, 5), "oos(targeting=infoset)"),
    ("liars_dice", (2, 5, 3, 7), "oos(targeting=public)"), ("liars_dice", (2, 5, 3, 7), "oos(targeting=infoset)"),
    ("liars_dice", (2, 5, 3, 7), "vr_oos(targeting=public)"), ("liars_dice", (2, 5, 0, 1, 2, 3, 4, 5), "oos(targeting=public)"),
    ("ii_goofspiel(cards=6)", (2, 3, 1, 1), "oos(targeting=public)"),
    ("ii_goofspiel(cards=6)", (2, 3, 1, 1), "oos(targeting=infoset)"),
    ("leduc_poker", (0, 1), "ismcts"), ("leduc_poker", (0, 1, 1, 1, 2), "ismcts"),
)  # fmt: skip
SOLVERS = (
    ("leduc_poker", "cfr+"), ("liars_dice", "cfr+"), ("leduc_poker", "outcome_sampling"), ("liars_dice", "outcome_sampling"),
    ("ii_goofspiel(cards=6)", "outcome_sampling"), ("phantom_ttt", "outcome_sampling"), ("leduc_poker", "external_sampling"),
    ("liars_dice", "external_sampling"), ("ii_goofspiel(cards=6)", "external_sampling"),
)  # fmt: skip
ROWS = [f"{agent} in {game} after {len(history)} moves" for game, history, agent in SEARCHES] + [
    f"{algorithm} on {game}" for game, algorithm in SOLVERS
]


def work_of(row: int) -> Callable[[], float]:
    """What measures a row once: simulations or iterations a second."""
    from unseen import Position, SequenceForm, load
    from unseen.arena.names import make_agent
    from unseen.solving.algorithms import make_solver

    if row < len(SEARCHES):
        game, history, spec = SEARCHES[row]
        position = Position(load(game), history)
        agent = make_agent(spec, position.game)
        agent.begin(position.game, position.player, 1)
        agent.searcher.aim(position.player, position.seen(position.player))

        def search() -> float:
            agent.searcher.drop()
            began = time.perf_counter()
            return agent.searcher.run_until(began + SECONDS) / (time.perf_counter() - began)

        return search
    game, name = SOLVERS[row - len(SEARCHES)]
    solver = make_solver(name, load(game), SequenceForm(game) if name == "cfr+" else None)
    solver.run(2)

    def solve() -> float:
        began, before, step = time.perf_counter(), solver.iterations, 1
        while time.perf_counter() - began < SECONDS:
            solver.run(step)
            step *= 2 if time.perf_counter() - began < SECONDS / 8 else 1
        return (solver.iterations - before) / (time.perf_counter() - began)

    return solve


def serve() -> None:
    """Measure the rows that are asked for on standard input."""
    works: dict[int, Callable[[], float]] = {}
    for line in sys.stdin:
        row = int(line)
        works.setdefault(row, work_of(row))
        print(json.dumps(works[row]()), flush=True)


class Worker:
    """One of the two trees."""

    def __init__(self, tree: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=os.environ | {"PYTHONPATH": str(tree / "src")},
        )  # fmt: skip

    def measure(self, row: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{row}\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))


def main(revision: str) -> None:
    table = Table("best of several rounds, a second", revision, "this tree", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", revision], check=True)
        theirs, ours = Worker(Path(folder)), Worker(ROOT)
        for row, name in enumerate(ROWS):
            best = [0.0, 0.0]
            for k in range(ROUNDS + 1):
                for side, worker in enumerate((theirs, ours)):
                    rate = worker.measure(row)
                    best[side] = max(best[side], rate) if k else 0.0  # the first may compile
            table.add_row(name, f"{best[0]:,.0f}", f"{best[1]:,.0f}", f"{best[1] / best[0]:.2f}")
            print(f"{name}: {best[1] / best[0]:.2f}", file=sys.stderr, flush=True)
        for worker in (theirs, ours):
            worker.process.kill()
    Console(width=130).print(table)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main(sys.argv[1] if sys.argv[1:] else "HEAD~1")

"""What tournaments cost and what their pairs of games bring.

- *Variance*: how many more single games it takes to know a mean payoff as well as from pairs with the same chance and the seats
  changed: the ratio of the variances of a mean over the same number of games.
- *Overhead*: the part of two workers' time that is spent inside agents which think 10 ms a move, and games a second of `random`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from unseen.arena.intervals import of_pairs
from unseen.arena.matches import match
from unseen.arena.tournament import Tournament, tournament

PAIRS = (
    ("leduc_poker", "solved", "random"),
    ("leduc_poker", "solved", "pimc"),
    ("leduc_poker", "solved", "solved"),
    ("leduc_poker", "vr_oos(simulations=1000)", "pimc"),
    ("liars_dice", "solved(until=0.01)", "random"),
    ("liars_dice", "solved(until=0.01)", "pimc"),
    ("liars_dice", "vr_oos(simulations=1000)", "ismcts(simulations=1000)"),
)
THINKER = '''
import time
from unseen import Agent

class Thinker(Agent):
    """Thinks for 10 ms."""
    name = "thinker"

    def choose(self, actions):
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass
        return {a: 1 / len(actions) for a in actions}
'''


def variance(games: int) -> None:
    print(f"variance of a mean payoff: single games over pairs, the same number of games ({games:,} of each)")
    for game, first, second in PAIRS:
        single, paired = (match(game, first, second, games, paired=flag, seed=5, progress=False).payoffs for flag in (False, True))
        ratio = np.var(single, ddof=1) / (2.0 * np.var(of_pairs(paired), ddof=1))
        print(f"  {game:12} {first:26} {second:26} {ratio:6.2f}x")


def overhead(games: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "thinker.py").write_text(THINKER)
        thinker = f"{folder / 'thinker.py'}:Thinker"

        def played(agents: list[str], games: int, workers: int, out: Path | None) -> tuple[Tournament, float]:
            """A tournament, and the seconds until its last game; the page that is drawn then takes the same for any number."""
            times = [time.perf_counter()]
            found = tournament(
                "leduc_poker", agents, games, workers=workers, out=out, exploitability=False, progress=False,
                watch=lambda _: times.append(time.perf_counter()),
            )  # fmt: skip
            return found, times[-1] - times[0]

        played([thinker, "random"], 4, 2, None)  # what there is to compile
        found, seconds = played([thinker] * 2, games, 2, folder / "thinkers")
        share, rate = sum(sum(row["seconds"]) for row in found.record.times) / (2 * seconds), games / seconds
        print(f"two workers, agents that think 10 ms: {share:.1%} of their time inside agents, {rate:.1f} games/s")
        for workers in (1, 2):
            _, seconds = played(["random", "random"], 20 * games, workers, folder / f"random{workers}")
            print(f"random against random, {workers} workers: {20 * games / seconds:,.0f} games/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=4000)
    asked = parser.parse_args()
    overhead(1000)
    variance(asked.games)

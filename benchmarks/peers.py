"""The picture of the README: how the exploitability of CFR+ falls with CPU time, here, in OpenSpiel's C++ and in LiteEFG.

`python benchmarks/peers.py --out docs/peers.png` (needs `pip install open_spiel LiteEFG`). One thread each; what it takes to
evaluate a strategy is not counted, nor is compiling or building the game.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable
from pathlib import Path

import LiteEFG
import pyspiel
from LiteEFG.baselines import CFRplus

import unseen
from unseen.bench import spiel_name
from unseen.show.figures import new_figure, save_picture
from unseen.solving.algorithms import make_solver

GAMES = {"leduc_poker": "Leduc poker, 936 information sets", "liars_dice": "Liar's Dice (1, 1), 24,576 information sets"}
GROWTH = 1.5
"""How many times as long a curve is after each of its points."""
Runner = tuple[Callable[[int], None], Callable[[], float]]
"""A function that makes some iterations, and one that returns the exploitability (sum) of the average strategy now."""


def here(spec: str, algorithm: str) -> Runner:
    form = unseen.SequenceForm(spec)
    solver = make_solver(algorithm, form.game, form)
    solver.run(1)  # compiles
    solver = make_solver(algorithm, form.game, form)
    return solver.run, lambda: form.evaluate(solver.strategy()).exploitability


def open_spiel(spec: str) -> Runner:
    game = pyspiel.load_game(spiel_name(unseen.load(spec)))
    solver = pyspiel.CFRPlusSolver(game)

    def run(n: int) -> None:
        for _ in range(n):
            solver.evaluate_and_update_policy()

    return run, lambda: pyspiel.nash_conv(game, solver.average_policy())


def lite_efg(spec: str) -> Runner:
    game = pyspiel.load_game(spiel_name(unseen.load(spec)))
    with contextlib.redirect_stdout(io.StringIO()):
        env = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate", regenerate=False)
        LiteEFG.set_threads(1)
        graph = CFRplus.graph()
        env.set_graph(graph)

    def run(n: int) -> None:
        for _ in range(n):
            graph.update_graph(env)
            env.update_strategy(graph.current_strategy())

    return run, lambda: sum(env.exploitability(graph.current_strategy(), "linear-avg-iterate"))


def curve(runner: Runner, seconds: float) -> list[tuple[float, int, float]]:
    """CPU seconds, iterations and exploitability, as they grow."""
    run, evaluate = runner
    points, spent, done, n = [], 0.0, 0, 1
    while spent < seconds:
        began = time.process_time()
        run(n)
        spent += time.process_time() - began
        done += n
        points.append((spent, done, evaluate()))
        n = max(1, int(done * (GROWTH - 1)))
    return points


def main(seconds: float, out: Path) -> None:
    figure = new_figure(9.0, 3.6)
    for axes, (spec, title) in zip(figure.subplots(1, len(GAMES)), GAMES.items(), strict=True):
        runners = {
            "Unseen, CFR+": here(spec, "cfr+"), "Unseen, SAPCFR+": here(spec, "sapcfr+"), "LiteEFG, CFR+": lite_efg(spec),
            "OpenSpiel (C++), CFR+": open_spiel(spec),
        }  # fmt: skip
        for name, runner in runners.items():
            points = curve(runner, seconds)
            spent, done, last = points[-1]
            print(f"{spec:12} {name:24} {done / spent:12,.1f} iterations/s, {last:.2e} after {done:,}", flush=True)
            axes.plot([p[0] for p in points], [p[2] for p in points], linewidth=1.6, label=name)
        axes.set(xscale="log", yscale="log", xlabel="CPU seconds, one core", ylabel="exploitability (sum)", title=title)
        axes.title.set_fontsize(10)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    save_picture(figure, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("peers.png"))
    asked = parser.parse_args()
    main(asked.seconds, asked.out)

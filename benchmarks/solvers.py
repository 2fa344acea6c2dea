"""Solvers beside OpenSpiel's C++ and LiteEFG, and how fast each variant converges: `make bench`.

All on one thread. Ours and theirs take turns, and the best of several rounds counts, so a machine that is busy now and then does
both the same harm. LiteEFG is measured if it is installed (`pip install LiteEFG`). The slowest variants take all the time they are
given, some ten minutes. `--phantom` solves and evaluates Phantom Tic-Tac-Toe instead (some minutes), on all cores.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator

import pyspiel
from rich.console import Console
from rich.table import Table

import unseen
from unseen import SequenceForm
from unseen.bench import spiel_name
from unseen.solving.algorithms import make_solver

console = Console(width=130)
ROUNDS = 8
SECONDS = 0.3
COMPARED = (
    ("leduc_poker", "cfr+", 150), ("liars_dice", "cfr+", 100),
    ("leduc_poker", "outcome_sampling", 8), ("liars_dice", "outcome_sampling", 12),
    ("ii_goofspiel(cards=6)", "outcome_sampling", 12), ("phantom_ttt", "outcome_sampling", 12),
    ("leduc_poker", "external_sampling", 20), ("liars_dice", "external_sampling", 20),
    ("ii_goofspiel(cards=6)", "external_sampling", 20),
)  # fmt: skip
"""Game, algorithm, and the least ratio to aim for."""
GOALS = (("leduc_poker", 1e-6, 60), ("liars_dice", 1e-4, 60), ("ii_goofspiel(cards=6)", 1e-3, 300))
"""Game, exploitability (sum) to reach, and the most seconds to try."""
VARIANTS = ("cfr", "cfr+", "linear_cfr", "dcfr", "pcfr+", "sapcfr+")


def main() -> None:
    if "--phantom" in sys.argv:
        console.print(phantom())
        return
    console.print(compared())
    console.print(lite_efg())
    console.print(converged())


def rates(works: list[Callable[[int], None]]) -> list[float]:
    """Repetitions a second of each, the best of several rounds in which they take turns."""
    sizes = []
    for work in works:
        work(1)  # may compile
        n, took = 1, 0.0
        while took < SECONDS / 3:
            n *= 2
            began = time.perf_counter()
            work(n)
            took = time.perf_counter() - began
        sizes.append(n)
    best = [0.0] * len(works)
    for _ in range(ROUNDS):
        for k, work in enumerate(works):
            began = time.perf_counter()
            work(sizes[k])
            best[k] = max(best[k], sizes[k] / (time.perf_counter() - began))
    return best


def their_solver(name: str, game: object) -> Callable[[int], None]:
    """Iterations of OpenSpiel's solver in C++."""
    if name == "cfr+":
        step = pyspiel.CFRPlusSolver(game).evaluate_and_update_policy
    elif name == "outcome_sampling":
        step = pyspiel.OutcomeSamplingMCCFRSolver(game).run_iteration
    else:
        step = pyspiel.ExternalSamplingMCCFRSolver(game).run_iteration

    def run(n: int) -> None:
        for _ in range(n):
            step()

    return run


def compared() -> Table:
    """Iterations a second; OpenSpiel's samplers update both players in one, which takes two of ours."""
    table = Table("game", "algorithm", "iterations/s", "OpenSpiel", "times", "aim", title="beside OpenSpiel's C++")
    for spec, name, aim in COMPARED:
        game = unseen.load(spec)
        ours = make_solver(name, game, SequenceForm(game) if name == "cfr+" else None, seed=1)
        a, b = rates([ours.run, their_solver(name, pyspiel.load_game(spiel_name(game)))])
        a /= 1 if name == "cfr+" else 2
        table.add_row(spec, name, f"{a:,.0f}", f"{b:,.1f}", f"{a / b:,.1f}", str(aim))
    return table


def lite_efg() -> Table:
    """CFR+ beside LiteEFG's."""
    table = Table("game", "iterations/s", "LiteEFG", "times", "aim", title="CFR+ beside LiteEFG")
    try:
        import LiteEFG
        from LiteEFG.baselines import CFRplus
    except ImportError:
        table.title = "LiteEFG is not installed (pip install LiteEFG)"
        return table
    for spec in ("leduc_poker", "liars_dice"):
        game = unseen.load(spec)
        with contextlib.redirect_stdout(io.StringIO()):
            env = LiteEFG.OpenSpielEnv(pyspiel.load_game(spiel_name(game)), traverse_type="Enumerate", regenerate=False)
            graph = CFRplus.graph()
            env.set_graph(graph)

        def theirs(n: int, graph: object = graph, env: object = env) -> None:
            for _ in range(n):
                graph.update_graph(env)
                env.update_strategy(graph.current_strategy())

        a, b = rates([make_solver("cfr+", game, SequenceForm(game)).run, theirs])
        table.add_row(spec, f"{a:,.0f}", f"{b:,.1f}", f"{a / b:,.0f}", "1.5")
    return table


def converged() -> Table:
    """Seconds of solving until each variant is good enough, and where it was if it never was."""
    table = Table("game", "goal (sum)", *VARIANTS, title="seconds to converge (the exploitability reached, if the goal was not)")
    for spec, goal, most in GOALS:
        form = SequenceForm(spec)
        cells = []
        for name in VARIANTS:
            found = unseen.solve(form.game, name, until=goal, seconds=most, form=form)
            end = found.last
            is_good = end.exploitability is not None and end.exploitability <= goal
            cells.append(f"{end.seconds:.2f}" if is_good else f"{end.exploitability:.1e} after {most}")
        table.add_row(spec, f"{goal:.0e}", *cells)
    return table


def phantom() -> Table:
    """Phantom Tic-Tac-Toe: solved on the reduced form, and evaluated by streaming it, with and without its symmetries."""
    table = Table("what", "seconds", "result", title=f"phantom_ttt, {os.cpu_count()} cores")

    @contextlib.contextmanager
    def timed(what: str) -> Iterator[list[str]]:
        began, result = time.perf_counter(), []
        yield result
        table.add_row(what, f"{time.perf_counter() - began:.1f}", *result)

    def told(found: unseen.Evaluation) -> str:
        return f"value {found.value:.6f}, best responses {found.best_response}, exploitability {found.exploitability:.6f}"

    with timed("build the reduced form") as result:
        form = SequenceForm("phantom_ttt", reduced=True)
        result.append(f"{sum(form.infosets):,} sets, {form.nbytes / 1e6:,.0f} MB")
    for goal in (0.0001, 0.0047):
        with timed(f"solve below {goal} (dcfr)") as result:
            solved = unseen.solve(form.game, "dcfr", until=goal, form=form)
            result.append(f"{solved.last.iterations} iterations, exploitability {solved.last.exploitability:.6f}")
    del form
    for what, reduced in (("a symmetric profile", True), ("any profile", False)):
        with timed(f"find the information sets, for {what}") as result:
            form = SequenceForm("phantom_ttt", streamed=True, reduced=reduced)
            result.append(f"{sum(form.infosets):,} sets, {form.histories:,} histories")
        with timed(f"evaluate that strategy by streaming, as {what}") as result:
            result.append(told(form.evaluate(solved.strategy)))
    with timed("the same of a random profile") as result:
        result.append(told(form.evaluate(form.random(1))))
    return table


if __name__ == "__main__":
    main()

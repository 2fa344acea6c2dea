"""Searches beside OpenSpiel's C++, on one thread: `make bench`.

Targeted OOS against OpenSpiel's outcome sampling, simulations a second; ISMCTS against OpenSpiel's; searches over joint moves,
which OpenSpiel does not have, against what their paper printed. Ours and theirs take turns, and the best of several rounds counts.
Compiling is not counted, growing the tree is: each round begins with an empty one.
`--curves` draws exploitability against simulations for OOS with and without its variance reduced (some minutes); `--start` does
that for a single search at the start of the game (seconds); `--joint` has the searches over joint moves only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyspiel
from rich.console import Console
from rich.table import Table

from unseen import Position, SequenceForm, load, playouts
from unseen.arena.measures import measure
from unseen.arena.names import make_agent
from unseen.bench import spiel_name
from unseen.reproduce.smmcts_setup import RATES
from unseen.reproduce.smmcts_setup import agent as joint_agent

console = Console(width=130)
ROUNDS, SECONDS = 6, 0.5
SEARCH = 150_000
SEARCHES = (
    ("liars_dice", (2, 5), "oos(targeting=public)", 8), ("liars_dice", (2, 5), "oos(targeting=infoset)", 8),
    ("liars_dice", (2, 5, 3, 7), "oos(targeting=public)", 8), ("liars_dice", (2, 5, 3, 7), "oos(targeting=infoset)", 8),
    ("liars_dice", (2, 5, 3, 7), "vr_oos(targeting=public)", None),
    ("liars_dice", (2, 5, 0, 1, 2, 3, 4, 5), "oos(targeting=public)", None),  # each simulation is led through six bids
    ("ii_goofspiel(cards=6)", (2, 3, 1, 1), "oos(targeting=public)", 8),
    ("ii_goofspiel(cards=6)", (2, 3, 1, 1), "oos(targeting=infoset)", 8),
    ("leduc_poker", (0, 1), "ismcts", 5), ("leduc_poker", (0, 1, 1, 1, 2), "ismcts", 5),
)  # fmt: skip
"""Game, match history, agent, and the least ratio to aim for."""


def our_rate(game_name: str, history: tuple[int, ...], spec: str) -> Callable[[], float]:
    """Simulations a second of a search at a match history, from an empty tree."""
    position = Position(load(game_name), history)
    agent = make_agent(spec, position.game)
    agent.begin(position.game, position.player, 1)
    agent.searcher.aim(position.player, position.seen(position.player))

    def once() -> float:
        agent.searcher.drop()
        began = time.perf_counter()
        return agent.searcher.run_until(began + SECONDS) / (time.perf_counter() - began)

    return once


def their_rate(game_name: str, history: tuple[int, ...], spec: str) -> Callable[[], float]:
    """The same of OpenSpiel: an iteration of its outcome sampling is two simulations."""
    game = pyspiel.load_game(spiel_name(load(game_name)))
    if not spec.startswith("ismcts"):
        solver = pyspiel.OutcomeSamplingMCCFRSolver(game)

        def sample() -> float:
            began, n = time.perf_counter(), 20_000
            for _ in range(n):
                solver.run_iteration()
            return 2 * n / (time.perf_counter() - began)

        return sample
    state = game.new_initial_state()
    for action in history:
        state.apply_action(action)
    simulations = 200_000
    bot = pyspiel.ISMCTSBot(
        1, pyspiel.RandomRolloutEvaluator(1, 1), 2.0, simulations, -1, pyspiel.ISMCTSFinalPolicyType.NORMALIZED_VISIT_COUNT,
        False, False,
    )  # fmt: skip

    def search() -> float:
        began = time.perf_counter()
        bot.step(state)
        return simulations / (time.perf_counter() - began)

    return search


def joint_speeds() -> Table:
    """Simulations a second at the first move of PD-Goof(11), from an empty tree, beside Table 2 of the paper; and bare playouts."""
    table = Table("agent", "simulations/s", "the paper", "ratio", "aim", title="simulations a second in PD-Goof(11), one core")
    game = load("pd_goofspiel(cards=11)")
    history = (4,)
    playouts(game, 1000)
    best = 0.0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        playouts(game, 100_000)
        best = max(best, 1e5 / (time.perf_counter() - began))
    table.add_row("(random games)", f"{best:,.0f}", "-", "-", "-")
    for name, theirs in RATES.items():
        agent = make_agent(joint_agent(name, "PD", 11, SEARCH), game)
        agent.begin(game, 0, 1)
        agent.search_at(history, time.perf_counter())
        best = 0.0
        for _ in range(ROUNDS):
            agent.searcher.drop()
            began = time.perf_counter()
            agent.search_at(history, began)
            best = max(best, SEARCH / (time.perf_counter() - began))
        table.add_row(name, f"{best:,.0f}", f"{theirs:,}", f"{best / theirs:.1f}x", "10x")
    return table


def speeds() -> Table:
    table = Table(
        "game", "match history", "agent", "simulations/s", "OpenSpiel", "ratio", "aim", title="simulations a second, one core"
    )
    for game, history, spec, aim in SEARCHES:
        pair = our_rate(game, history, spec), their_rate(game, history, spec)
        best = [0.0, 0.0]
        for _ in range(ROUNDS):
            for k, rate in enumerate(pair):
                best[k] = max(best[k], rate())
        ratio = best[0] / best[1]
        table.add_row(
            game, str(list(history)), spec, f"{best[0]:,.0f}", f"{best[1]:,.0f}", f"{ratio:.1f}x", f"{aim}x" if aim else "-"
        )
    return table


def curves(path: Path) -> Table:
    """Full stitching with and without variance reduction, at equal simulations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    game, budgets, longest = "liars_dice(faces=4)", (2_000, 10_000, 50_000), 200_000
    agents = {
        "PST": "oos(targeting=public, simulations={})",
        "PST, baselines of sets": "oos(targeting=public, baseline=infoset, simulations={})",
        "PST, baselines of histories": "oos(targeting=public, baseline=history, simulations={})",
        "VR-PST": "vr_oos(targeting=public, negative=0, simulations={})",
        "IST": "oos(targeting=infoset, simulations={})",
        "VR-IST": "vr_oos(targeting=infoset, negative=0, simulations={})",
        "ISMCTS": "ismcts(simulations={})",
    }
    table = Table("", *(f"{n:,}" for n in (*budgets, longest)), title=f"exploitability (sum) in {game}, full stitching")
    figure, axes = pyplot.subplots(figsize=(7, 4.6), layout="constrained")
    for name, spec in agents.items():
        marks = (*budgets, longest) if name in ("PST", "VR-PST") else budgets
        found = [measure(game, spec.format(n), workers=2).evaluation.exploitability for n in marks]
        table.add_row(name, *(f"{x:.4f}" for x in found))
        axes.plot(marks, found, marker="o", label=name)
        figure.savefig(path, dpi=120)
    axes.set(
        xscale="log", yscale="log", xlabel="simulations a search", ylabel="exploitability (sum)", title=f"{game}, full stitching"
    )
    axes.grid(which="both", alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return table


def from_the_start() -> Table:
    """The strategy for the whole game that one search leaves which is led nowhere, as at the start of a match."""
    form, marks = SequenceForm("liars_dice"), (20_000, 100_000, 400_000, 1_000_000, 2_000_000, 5_000_000)
    table = Table("", *(f"{n:,}" for n in marks), title="exploitability (sum) in liars_dice, one search at the start")
    for spec in ("oos(targeting=none)", "vr_oos(targeting=none)"):
        agent, found = make_agent(spec, form.game), []
        agent.begin(form.game, 0, 1)
        for before, after in pairwise((0, *marks)):
            agent.searcher.run(after - before)
            behaviours = (tree.behaviour(agent.gathered(tree)) for tree in form.players)
            found.append(form.evaluate(form.strategy(*behaviours)).exploitability)
        table.add_row(spec, *(f"{x:.3f}" for x in found))
    return table


def main() -> None:
    if "--start" in sys.argv:
        console.print(from_the_start())
    elif "--curves" in sys.argv:
        console.print(curves(Path("docs/search_curves.png")))
    else:
        if "--joint" not in sys.argv:
            console.print(speeds())
        console.print(joint_speeds())


if __name__ == "__main__":
    main()

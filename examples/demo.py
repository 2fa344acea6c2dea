"""The demonstration behind `make demo`: four searching players in Liar's Dice, how exploitable each is, and how it fares."""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import unseen
from unseen import match, measure

GAME = "liars_dice"
PLAYERS = {
    "PST": ("oos(targeting=public, simulations={})", "0.414, 0.273"),
    "IST": ("oos(targeting=infoset, simulations={})", "0.648, 0.524"),
    "ISMCTS": ("ismcts(simulations={})", "0.808, 0.799"),
    "VR-PST": ("vr_oos(targeting=public, simulations={})", "-"),
}
"""The names of the paper, agents, and what the paper reports after 1 and 5 seconds a move."""
BUDGETS = (1_000, 10_000, 100_000)
MATCHES = 16
GAMES = 60
OUT = Path("demo")


def main() -> None:
    console, began = Console(), time.perf_counter()
    console.print(
        "Liar's Dice with a die each: 24,576 information sets. Four players decide online, by simulations: Online Outcome Sampling"
        " led to the public subgame (PST) or to the information set (IST), information set MCTS, and PST with its variance reduced."
        " Their strategies are put together from searches along the same random games (the aggregate method of the paper), and best"
        " responses to them are exact.\n"
    )
    with console.status("enumerating the game, and solving it for an opponent..."):
        form = unseen.SequenceForm(GAME)
        near = unseen.solve(GAME, "dcfr", until=0.001, form=form)
    OUT.mkdir(exist_ok=True)
    near.strategy.save(OUT / "near_equilibrium.strategy")

    table = Table("", *(f"{n:,}" for n in BUDGETS), "simulations/s", "paper, 1 s and 5 s*", box=SIMPLE)
    table.title = "exploitability (sum) after so many simulations a move"
    table.caption = "* by full stitching; seconds of 2014"
    curves = {}
    for name, (agent, paper) in PLAYERS.items():
        with console.status(f"{name}: compiling, searching along {MATCHES} games..."):
            found = [measure(GAME, agent.format(n), "aggregate", games=MATCHES, form=form) for n in BUDGETS]
        curves[name] = [m.evaluation.exploitability for m in found]
        table.add_row(name, *(f"{x:.3f}" for x in curves[name]), f"{found[-1].rate:,.0f}", paper)
    console.print(table)

    table = Table("", "games", "mean payoff", "95%", "win rate", "95%", box=SIMPLE)
    table.title = f"against a strategy within {near.last.exploitability:.4f} of equilibrium, {BUDGETS[1]:,} simulations a move"
    for name, (agent, _) in PLAYERS.items():
        with console.status(f"{name}: playing {GAMES} games..."):
            played = match(GAME, agent.format(BUDGETS[1]), str(OUT / "near_equilibrium.strategy"), GAMES)
        (low, high), rate = played.ci or (0.0, 0.0), played.rate
        table.add_row(
            name,
            str(GAMES),
            f"{played.mean:+.2f}",
            f"{low:+.2f} to {high:+.2f}",
            f"{rate[0]:.0%}",
            f"{rate[1]:.0%} to {rate[2]:.0%}",
        )
    console.print(table)
    draw(curves, OUT / "exploitability.png")
    console.print(
        f"{time.perf_counter() - began:.0f} seconds. The curves are drawn in {OUT / 'exploitability.png'}.\n"
        f'Next: unseen play {GAME} --against "oos(targeting=public, seconds=1)"\n'
        f'      unseen measure {GAME} "vr_oos(simulations=1000)" --method stitching'
    )


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """Exploitability against simulations, with the paper's numbers as marks at the right."""
    figure, axes = pyplot.subplots(figsize=(7, 4.6), layout="constrained")
    for colour, (name, values) in enumerate(curves.items()):
        axes.plot(BUDGETS, values, marker="o", color=f"C{colour}", label=name)
        for k, theirs in enumerate(PLAYERS[name][1].split(", ") if "," in PLAYERS[name][1] else ()):
            axes.plot(
                BUDGETS[-1] * (2, 4)[k], float(theirs), marker="x", color=f"C{colour}", linestyle="",
                label=f"{name}, the paper" if k == 0 else None,
            )  # fmt: skip
    axes.set_xticks([*BUDGETS, 2 * BUDGETS[-1], 4 * BUDGETS[-1]])
    axes.set(xscale="log", xlabel="simulations a move", ylabel="exploitability (sum)", ylim=(0, None))
    axes.set_xticks([*BUDGETS, 2 * BUDGETS[-1], 4 * BUDGETS[-1]], [*(f"{n:,}" for n in BUDGETS), "1 s", "5 s"])
    axes.minorticks_off()
    axes.set_title("Liar's Dice (1, 1): searching players, aggregate method", fontsize=11)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()

"""The demonstration behind `make demo`: a game of one's own, poker solved, what players can believe, searches that decide."""

from __future__ import annotations

import time
from pathlib import Path

from bluff import Bluff
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import unseen
from unseen.show.figures import save_picture
from unseen.testing import check_game

POKER = "leduc_poker"
SEARCHES = {
    "Online Outcome Sampling (PST)": "oos(targeting=public, simulations={})",
    "the same, variance reduced": "vr_oos(simulations={})",
    "information set MCTS": "ismcts(simulations={})",
}
BUDGETS = (100, 1_000, 10_000)
OUT = Path("demo")
console = Console()


def chapter(number: int, title: str) -> None:
    console.print(f"\n[bold]{number}. {title}[/bold]")


def a_game_of_ones_own() -> None:
    chapter(1, "A game is a Python class (examples/bluff.py); every rule is checked, then compiled.")
    with console.status("checking it, at every history, in plain Python and compiled..."):
        report = check_game(Bluff())
    found = unseen.solve_exactly(Bluff())
    losing = unseen.Position(Bluff(), [0])
    console.print(f"   {report.histories} histories, no faults. Its value is {found.value:.6f}, an exact equilibrium, certified:")
    console.print(f"   with the losing coin the first player raises, a bluff, with probability {found.strategy[losing][1]:.6f}.")


def poker_solved() -> tuple[unseen.SequenceForm, unseen.Solved]:
    chapter(2, "Poker, solved: Leduc, 936 information sets. Exploitability is what best responses can win, exactly.")
    with console.status("enumerating the game, and solving it..."):
        form = unseen.SequenceForm(POKER)
        solved = unseen.solve(POKER, "dcfr", until=0.001, form=form)
    points = [solved.points[k] for k in sorted({0, len(solved.points) // 3, 2 * len(solved.points) // 3, len(solved.points) - 1})]
    for point in points:
        bar = "█" * max(1, round(14 * (4.0 + _log10(point.exploitability or 1e-9)) / 4.7))
        console.print(f"   after {point.iterations:>6,} iterations {point.exploitability:9.5f}  {bar}")
    console.print(f"   in {solved.last.seconds:.2f} seconds; the curve is in {OUT / 'solved.png'}.")
    save_picture(solved.figure(), OUT / "solved.png")
    solved.strategy.save(OUT / "leduc.strategy")
    return form, solved


def _log10(x: float) -> float:
    from math import log10

    return max(log10(x), -3.9)


def what_can_be_believed() -> unseen.Position:
    chapter(3, "What a player can believe, with no code in the game: the second holds a jack, and the first has raised.")
    position = unseen.Position(POKER, [4, 0, 2])  # king, jack; raise
    belief = unseen.Belief.at(position)
    worlds, _ = belief.worlds()
    console.print(f"   it sees: {position.render(position.player)}")
    held = sorted({position.game.render(state, 0).split(",")[0] for state in worlds})
    console.print(f"   {belief.count} histories fit that; what the first player may see: {'; '.join(held)}")
    return position


def a_search_that_decides(position: unseen.Position, solved: unseen.Solved) -> None:
    chapter(4, "A search that has never seen the game decides there, by simulations, beside the equilibrium.")
    table = Table("", *position.action_names.values(), box=SIMPLE)
    for budget in (1_000, 300_000):
        agent = unseen.make_agent(f"vr_oos(simulations={budget})", position.game)
        agent.begin(position.game, position.player, seed=1)
        for percept in position.seen(position.player):
            agent.observe(percept)
        table.add_row(f"vr_oos, {budget:,} simulations", *(f"{p:.3f}" for p in agent.choose(position.actions).values()))
    table.add_row("the solved strategy", *(f"{p:.3f}" for p in solved.strategy[position].values()))
    console.print(table)


def searches_improve(form: unseen.SequenceForm, solved: unseen.Solved) -> None:
    chapter(5, "How exploitable a searching player is: a search at every information set, and exact best responses to that.")
    table = Table("exploitability (sum) after so many simulations a move", *(f"{n:,}" for n in BUDGETS), "a second", box=SIMPLE)
    uniform = form.evaluate(form.uniform()).exploitability
    table.add_row("choosing evenly", *[f"{uniform:.3f}"] * len(BUDGETS))
    curves = {}
    for name, agent in SEARCHES.items():
        with console.status(f"{name}: searching at all 936 information sets..."):
            found = [unseen.measure(POKER, agent.format(n), form=form) for n in BUDGETS]
        curves[name] = [m.exploitability for m in found]
        table.add_row(name, *(f"{x:.3f}" for x in curves[name]), f"{found[-1].rate:,.0f}")
    table.add_row("solved beforehand", *[f"{solved.exploitability:.3f}"] * len(BUDGETS))
    console.print(table)
    draw(curves, uniform, solved.exploitability or 0.0)


def draw(curves: dict[str, list[float]], uniform: float, solved: float) -> None:
    from unseen.show.figures import new_figure

    figure = new_figure(7.0, 4.6)
    axes = figure.subplots()
    for name, values in curves.items():
        axes.plot(BUDGETS, values, marker="o", label=name)
    for value, label in ((uniform, "choosing evenly"), (solved, "solved beforehand")):
        axes.axhline(value, color="black", linewidth=0.8, linestyle="--")
        axes.annotate(label, (BUDGETS[0], value), textcoords="offset points", xytext=(2, 4), fontsize=8)
    axes.set(xscale="log", xlabel="simulations a move", ylabel="exploitability (sum)", title="Leduc poker: searching players")
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, OUT / "searches.png")


def main() -> None:
    began = time.perf_counter()
    OUT.mkdir(exist_ok=True)
    a_game_of_ones_own()
    form, solved = poker_solved()
    a_search_that_decides(what_can_be_believed(), solved)
    searches_improve(form, solved)
    console.print(f"Pictures are in {OUT}/. That took {time.perf_counter() - began:.0f} seconds; the compiled code is kept. Next:")
    for line in (
        "unseen play leduc_poker --against demo/leduc.strategy",
        "unseen check examples/bluff.py:Bluff",
        "unseen match leduc_poker demo/leduc.strategy 'vr_oos(simulations=1000)' --games 100",
        "unseen games",
    ):
        console.print(f"   .venv/bin/{line}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()

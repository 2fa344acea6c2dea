"""The demonstration behind `make demo`: check, measure and exactly solve a few games, and draw an equilibrium."""

from __future__ import annotations

import time
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import unseen
from unseen.testing import find_faults

GAMES = (
    "biased_rps", "coordination", "kuhn_poker", "leduc_poker", "liars_dice",
    f"{Path(__file__).with_name('smuggler.py')}:Smuggler",
)  # fmt: skip
OUT = Path("demo")
UNIFORM = "* exploitability of uniform play: the sum of both best responses"


def main() -> None:
    console = Console()
    console.print(
        "Each game below is one plain Python class. It is checked against the protocol, enumerated in full, and solved exactly by"
        " linear programming. Best responses certify each value to within the number beside it.\n"
    )
    table = Table(
        "game", "check", "histories", "infosets", "uniform*", "value", "within", "s", caption=UNIFORM, box=SIMPLE, padding=0
    )
    leduc = None
    for name in GAMES:
        began = time.perf_counter()
        game = unseen.load(name)
        with console.status(f"{game.name}: compiling, checking, measuring, solving..."):
            report = find_faults(game, histories=1000, playouts=50)
            form = unseen.SequenceForm(game)
            uniform = form.evaluate(form.uniform())
            found = unseen.solve_exactly(form)
        if game.name == "leduc_poker":
            leduc = found.strategy
        table.add_row(
            game.name,
            "passed" if report.ok else "FAILED",
            f"{form.histories:,}",
            f"{sum(form.infosets):,}",
            f"{uniform.exploitability:.4f}",
            f"{found.value:+.6f}",
            f"{abs(found.gap):.0e}",
            f"{time.perf_counter() - began:.1f}",
        )
    console.print(table)

    form = unseen.SequenceForm("kuhn_poker")
    console.print("\nAn equilibrium of Kuhn poker:")
    console.print(unseen.solve_exactly(form).strategy.table())

    OUT.mkdir(exist_ok=True)
    picture = OUT / "leduc_equilibrium.png"
    assert leduc is not None
    leduc.draw(picture)
    leduc.save(OUT / "leduc.strategy")
    console.print(f"\nAn equilibrium of Leduc poker is drawn in {picture} and saved in {OUT / 'leduc.strategy'}.")
    console.print(f"Next: unseen exploitability leduc_poker --strategy {OUT / 'leduc.strategy'}")


if __name__ == "__main__":
    main()

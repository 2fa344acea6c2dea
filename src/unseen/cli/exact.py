"""Commands that are exact: equilibria, exploitability, strategies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unseen import loading
from unseen.cli.common import (
    AsJson,
    Debug,
    GameName,
    Memory,
    Picture,
    Reduced,
    StrategyName,
    Streamed,
    command,
    console_status,
    in_bytes,
    interruptible,
    read_strategy,
    show,
    show_result,
)

PANELS = 12


@command
def value(
    game: GameName,
    out: Annotated[Path | None, typer.Option(help="Save the equilibrium strategy to this file.")] = None,
    picture: Picture = None, memory: Memory = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Solve a game exactly by linear programming: its value to the first player and an equilibrium."""
    from unseen.exact.equilibrium import solve_exactly
    from unseen.exact.sequence_form import SequenceForm
    from unseen.show.figures import check_picture, save_picture

    loaded = loading.load(game)
    if picture is not None:
        check_picture(picture)
    form = SequenceForm(loaded, memory=in_bytes(memory))
    with console_status(f"solving the linear program of {loaded.name}"):
        found = interruptible(lambda: solve_exactly(form))
    if out is not None:
        found.strategy.save(out)
    if picture is not None:
        save_picture(found.figure(), picture)
    show_result(as_json, found, the_equilibrium_is_in=out, and_drawn_in=picture)


@command
def exploitability(
    game: GameName, strategy: StrategyName, streamed: Streamed = False, reduced: Reduced = False, memory: Memory = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """The exact exploitability of a strategy: both best-response values and their sum."""
    from dataclasses import replace

    from unseen.exact.sequence_form import SequenceForm

    loaded = loading.load(game)
    profile = read_strategy(strategy, loaded)
    found = SequenceForm(loaded, streamed, memory=in_bytes(memory), reduced=reduced).evaluate(profile)
    if strategy == "uniform":  # even everywhere is what it says
        found = replace(found, missing=0)
    show_result(as_json, found, the_strategy=strategy)


@command
def strategy(
    game: GameName, strategy: StrategyName = "uniform",
    rows: Annotated[int, typer.Option(min=1, help="Information sets to list.")] = 40,
    picture: Picture = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Show a strategy as a table, and draw it."""
    from unseen.show import figures, strategies

    loaded = loading.load(game)
    profile = read_strategy(strategy, loaded)
    if picture is not None:
        figures.check_picture(picture)
    every = strategies.situations(profile)
    if picture is not None:
        figures.save_picture(strategies.strategy_figure(profile, every, PANELS), picture)
    result = {
        "game": loaded.spec,
        "infosets": [
            {
                "player": p.player, "infoset": f"{p.infoset:016x}", "history": list(p.history), "sees": p.render(p.player),
                "actions": {str(a): name for a, name in p.action_names.items()},
                "probabilities": {str(a): q for a, q in profile[p].items()},
            }
            for p in strategies.first_positions(every, rows)
        ],
    }  # fmt: skip
    show(as_json, result, lambda: strategies.strategy_table(profile, every, rows))

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
    facts,
    interruptible,
    number,
    read_strategy,
    sequence_form,
    show,
)
from unseen.run.progress import ProgressBar

PANELS = 12


@command
def value(
    game: GameName,
    out: Annotated[Path | None, typer.Option(help="Save the equilibrium strategy to this file.")] = None,
    picture: Picture = None, memory: Memory = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Solve a game exactly by linear programming: its value to the first player and an equilibrium."""
    from unseen.exact.equilibrium import solve_exactly
    from unseen.show.figures import check_picture

    loaded = loading.load(game)
    if picture is not None:
        check_picture(picture)
    form = sequence_form(loaded, memory)
    with console_status(f"solving the linear program of {loaded.name}"):
        found = interruptible(lambda: solve_exactly(form))
    if out is not None:
        found.strategy.save(out)
    if picture is not None:
        found.strategy.draw(picture)
    best = found.evaluation.best_response
    result = {"game": loaded.spec, "value": found.value, "best_response": list(best), "exploitability": found.gap}
    rows = {
        "value to the first player": number(found.value),
        "certified to lie in": f"[{number(-best[1])}, {number(best[0])}]",
        "exploitability of the profile (sum)": number(found.gap),
    }
    if out is not None:
        rows["the equilibrium is in"] = str(out)
    if picture is not None:
        rows["and drawn in"] = str(picture)
    show(as_json, result, lambda: facts(loaded.spec, rows))


@command
def exploitability(
    game: GameName, strategy: StrategyName, streamed: Streamed = False, reduced: Reduced = False, memory: Memory = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """The exact exploitability of a strategy: both best-response values and their sum."""
    from unseen.exact.payoffs import StreamedPayoffs

    loaded = loading.load(game)
    profile = read_strategy(strategy, loaded)
    form = sequence_form(loaded, memory, streamed, reduced)
    with ProgressBar(f"evaluating {strategy}", "histories") as bar:
        if isinstance(form.payoffs, StreamedPayoffs):
            form.payoffs.progress = bar
        found = form.evaluate(profile)
    missing = 0 if strategy == "uniform" else found.missing
    result = {
        "game": loaded.spec, "best_response": list(found.best_response), "exploitability": found.exploitability,
        "value": found.value, "missing_infosets": missing,
    }  # fmt: skip
    rows = {
        "best response of the first player": number(found.best_response[0]),
        "best response of the second player": number(found.best_response[1]),
        "exploitability (sum of both)": number(found.exploitability),
        "value of the profile to the first player": number(found.value),
    }
    if missing:
        rows["information sets not in the file (taken as even)"] = f"{missing:,}"
    show(as_json, result, lambda: facts(f"{strategy} in {loaded.spec}", rows))


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
    with ProgressBar(f"walking {loaded.name}", "histories") as bar:
        every = strategies.situations(profile, bar)
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

"""Commands that are exact: equilibria, exploitability, strategies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unseen import loading
from unseen.cli.common import (
    AsJson,
    Debug,
    Force,
    GameName,
    Memory,
    Picture,
    Reduced,
    StrategyName,
    Streamed,
    Workers,
    command,
    console_status,
    in_bytes,
    interruptible,
    read_strategy,
    show,
    show_result,
)
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.run.files import check_outputs
from unseen.show.figures import PICTURE, check_picture, save_picture

PANELS = 12
WIDEST = 400
"""Games with more actions at a time are left to the linear program, unless asked otherwise."""
METHODS = ("induction", "lp")


@command
def value(
    game: GameName,
    out: Annotated[Path | None, typer.Option(help="Save the values of all states (.values), or the equilibrium strategy.")] = None,
    method: Annotated[str | None, typer.Option(help="induction or lp; otherwise what suits the game.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the values that are in the file of --out.")] = False,
    workers: Workers = None, picture: Picture = None, force: Force = False, memory: Memory = None, as_json: AsJson = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Solve a game exactly: its value and an equilibrium.

    A game whose players choose at the same time and know all else is solved state by state, backwards (induction); others, and any
    whose strategy is to be saved, by the linear program of the sequence form (lp).
    """
    from unseen.stacked import values
    from unseen.stacked.openness import what_is_hidden
    from unseen.tabular import strategy_file

    loaded = loading.load(game)
    if method not in (None, *METHODS):
        raise UnseenError(f"method is {method!r}, but must be one of {', '.join(METHODS)}.")
    if picture is not None:
        check_picture(picture, force)
    is_table = out is not None and out.suffix == ".values"
    if method is None and (out is None or is_table):
        method = "induction" if is_table or (loaded.width <= WIDEST and not what_is_hidden(loaded)) else "lp"
    check_outputs([(out, values.KIND if method == "induction" else strategy_file.KIND), (picture, PICTURE)], force)
    if method == "induction":
        _by_induction(loaded, out, resume, workers, picture, memory, as_json, force)
    else:
        if resume or workers is not None:
            raise UnseenError("resume and workers are for induction (--method induction); the linear program is solved at once.")
        _by_program(loaded, out, picture, memory, as_json, force)


def _by_induction(
    game: Game, out: Path | None, resume: bool, workers: int | None, picture: Path | None, memory: float | None, as_json: bool,
    force: bool,
) -> None:  # fmt: skip
    from unseen.stacked.values import backward_induction

    if resume and out is None:
        raise UnseenError("resume goes on from a file: name it with --out.")
    found = backward_induction(game, workers=workers, memory=in_bytes(memory), save=out, resume=resume, force=force)
    if picture is not None and not found.stopped:
        save_picture(found.figure(), picture, force)
    show_result(as_json, found, the_values_are_in=out, and_drawn_in=None if found.stopped else picture)


def _by_program(game: Game, out: Path | None, picture: Path | None, memory: float | None, as_json: bool, force: bool) -> None:
    from unseen.exact.equilibrium import solve_exactly
    from unseen.exact.ways import stored_form

    if out is not None and out.suffix == ".values":
        raise UnseenError(f"out is {str(out)!r}, but the linear program gives a strategy; name it otherwise than .values.")
    form = stored_form(game, memory=in_bytes(memory))
    with console_status(f"solving the linear program of {game.name}"):
        found = interruptible(lambda: solve_exactly(form))
    if out is not None:
        found.strategy.save(out, force)
    if picture is not None:
        save_picture(found.figure(), picture, force)
    show_result(as_json, found, the_equilibrium_is_in=out, and_drawn_in=picture)


@command
def exploitability(
    game: GameName, strategy: StrategyName, streamed: Streamed = None, reduced: Reduced = None, memory: Memory = None,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Compute the exact exploitability of a strategy.

    That is the sum of both best-response values. The sequence form is stored, streamed or reduced, as suits the game.
    """
    from dataclasses import replace

    from unseen.exact.ways import form_for

    loaded = loading.load(game)
    profile = read_strategy(strategy, loaded)
    form = form_for(loaded, [profile], streamed=streamed, reduced=reduced, memory=in_bytes(memory))
    found = form.evaluate(profile)
    if strategy == "uniform":  # uniform everywhere is what it says
        found = replace(found, missing=0)
    show_result(as_json, found, the_strategy=strategy)


@command
def strategy(
    game: GameName, strategy: StrategyName = "uniform",
    rows: Annotated[int, typer.Option(min=1, help="Information sets to list.")] = 40,
    picture: Picture = None, force: Force = False, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Show a strategy as a table, and draw it."""
    from unseen.show import figures, strategies

    loaded = loading.load(game)
    profile = read_strategy(strategy, loaded)
    if picture is not None:
        figures.check_picture(picture, force)
    every = strategies.situations(profile)
    if picture is not None:
        figures.save_picture(strategies.strategy_figure(profile, every, PANELS), picture, force)
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

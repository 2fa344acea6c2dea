"""Commands about games: list, size, faults, a random game, speed."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from unseen import loading
from unseen.cli.common import AsJson, Debug, GameName, Memory, Seed, Workers, command, console_status, in_bytes, show, show_result
from unseen.run.progress import ProgressBar


@command
def games(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the games that come with the library."""
    classes = {name: loading.registered(name) for name in loading.game_names()}
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "parameters": {n: p.default for n, p in cls.parameters.items()},
            "summary": (cls.__doc__ or "").strip().splitlines()[0],
        }
        for name, cls in classes.items()
    ]
    table = Table("game", "parameters", "what it is")
    for row in rows:
        table.add_row(row["name"], ", ".join(f"{k}={v}" for k, v in row["parameters"].items()), row["summary"])
    show(as_json, {"games": rows}, lambda: table)


@command
def info(
    game: GameName,
    full: Annotated[bool, typer.Option("--full", help="Walk the whole game, however long that takes.")] = False,
    workers: Workers = None, memory: Memory = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Count the histories and information sets of a game.

    A game with more than some billions of histories is estimated by random games instead, unless --full is given.
    """
    from unseen.exact.info import info as count
    from unseen.exact.info import too_long
    from unseen.exact.size import estimate_size

    loaded = loading.load(game)
    if not full and too_long(loaded) is not None:
        size = estimate_size(loaded)
        show_result(as_json, size, not_walked=f"that takes {size.walking_time}; --full does so anyway")
    else:
        show_result(as_json, count(loaded, full=True, workers=workers, memory=in_bytes(memory)))


@command
def check(
    game: GameName,
    histories: Annotated[int, typer.Option(min=1, help="Check up to this many histories in order of length.")] = 10_000,
    playouts: Annotated[int, typer.Option(min=0, help="Then play this many random games.")] = 200,
    seconds: Annotated[float, typer.Option(min=0.0, help="Then walk it in compiled code, indices checked, for so long.")] = 10.0,
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Check that a game keeps the protocol.

    The exit code is 1 if it does not.
    """
    from unseen.testing import find_faults

    loaded = loading.load(game)
    with ProgressBar(f"checking {loaded.name}", "histories") as bar:
        report = find_faults(loaded, histories, playouts, seed, seconds, bar)
    faults = [{"check": f.check, "message": str(f), "history": list(f.history), "details": f.details} for f in report.faults]
    result = {
        "game": loaded.spec, "ok": report.ok, "histories": report.histories, "exhaustive": report.exhaustive,
        "playouts": report.playouts, "max_length": report.longest, "faults": faults, "notes": report.notes,
        "surveyed": None if report.surveyed is None else {
            "histories": report.surveyed.histories, "complete": report.surveyed.is_complete, "random_games": report.surveyed.games,
        },
    }  # fmt: skip
    if as_json:
        print(json.dumps(result))
    else:
        extent = "all of them" if report.exhaustive and report.ok else "not all"
        extent += f"; {report.playouts} random games included" if report.playouts else ""
        print(f"{loaded.spec}: histories checked: {report.histories:,} ({extent}), the longest of {report.longest} moves.")
        if report.surveyed is not None:
            print(f"In compiled code, with indices checked: {seen_of(report.surveyed)}")
        for note in report.notes:
            print(f"note: {note}")
        for fault in report.faults:
            print(f"- {fault}" + f"\n{fault.details}" * bool(fault.details and (debug or fault.check != "compile")))
        print("No faults found." if report.ok else f"Faults found: {len(faults)}.")
    if not report.ok:
        raise typer.Exit(1)


@command
def playthrough(game: GameName, seed: Seed = 0, as_json: AsJson = False, debug: Debug = False) -> None:
    """Log a random game, move by move, as each player sees it."""
    from unseen.show import playthrough as logs

    log = logs.playthrough(loading.load(game), seed)
    print(json.dumps(log) if as_json else logs.as_text(log))


@command
def bench(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game to measure.")] = "liars_dice",
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Measure how fast a game runs here.

    OpenSpiel is measured beside it, if it is installed.
    """
    from unseen.bench import as_table
    from unseen.bench import bench as measure

    loaded = loading.load(game)
    with console_status(f"measuring {loaded.name}"):
        measured = measure(loaded, seed)
    result = {
        "game": loaded.spec,
        "measurements": [
            {"what": m.what, "unit": m.unit, "unseen": m.ours, "open_spiel": m.theirs, "ratio": m.ratio} for m in measured
        ],
    }
    show(as_json, result, lambda: as_table(loaded.spec, measured))


def seen_of(surveyed: Any) -> str:
    """Which part of a game a survey saw."""
    if surveyed.is_complete:
        return f"all {surveyed.histories:,} histories."
    random_games = f", and {surveyed.games:,} random games" if surveyed.games else ""
    return f"the first {surveyed.histories:,} histories in depth-first order{random_games}; not all of the game."

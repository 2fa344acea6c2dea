"""The command that learns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.cli.common import AsJson, ClusterAddress, Debug, GameName, Seed, Workers, command, place, show_result
from unseen.errors import UnseenError


@command
def learn(
    game: GameName,
    out: Annotated[Path, typer.Option(help="The folder for the network, the log, a picture and checkpoints.")],
    iterations: Annotated[int, typer.Option(min=1, help="Iterations in all: games of self-play, then steps of training.")] = 100,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out, with its settings.")] = False,
    simulations: Annotated[int | None, typer.Option(min=1, help="Simulations for each decision of self-play.")] = None,
    layers: Annotated[str | None, typer.Option(help="Sizes of the layers between input and output, such as 128-64.")] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another setting; may be given several times.")
    ] = None,
    evaluate_every: Annotated[int, typer.Option(min=0, help="Evaluate the bare network after so many iterations; 0: never.")] = 10,
    evaluation_games: Annotated[int, typer.Option(min=0, help="Games against random and against the teacher, each.")] = 200,
    exploitability: Annotated[
        bool | None, typer.Option(help="What the network can be exploited for, exactly; otherwise only where the game is small.")
    ] = None,
    snapshot_every: Annotated[int, typer.Option(min=0, help="Keep a copy of the network after so many iterations; 0: none.")] = 0,
    workers: Workers = None, cluster: ClusterAddress = None, seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Train a network that imitates a search (ExIt-OOS).

    The search plays its simulations out by the network. Ctrl-C keeps what was learnt; --resume goes on.
    """
    from unseen.learning import job

    asked: dict[str, Any] = {"simulations": simulations, "layers": layers}
    given = {name: value for name, value in asked.items() if value is not None} | read_changes(change or [])
    found = job.learn(
        game, out=out, iterations=iterations, resume=resume, seed=seed, workers=place(workers, cluster),
        evaluate_every=evaluate_every, evaluation_games=evaluation_games, exploitability=exploitability,
        snapshot_every=snapshot_every, **given,
    )  # fmt: skip
    show_result(as_json, found, the_network_is_in=out / job.NETWORK)
    if found.trouble:
        raise UnseenError(f"{found.trouble} What was written before is still there; --resume goes on from it.")


def read_changes(changes: list[str]) -> dict[str, Any]:
    """Settings by name, from `name=value`."""
    from unseen.learning.settings import Settings

    found: dict[str, Any] = {}
    for text in changes:
        name, equals, value = text.partition("=")
        if not equals or name not in Settings.parameters:
            raise UnseenError(f"--set is {text!r}, but must be NAME=VALUE; the names are: {', '.join(Settings.parameters)}.")
        kind, words = Settings.parameters[name].kind, {"true": True, "false": False}
        is_number = kind is int and not Settings.parameters[name].choices and re.fullmatch("-?[0-9]+", value)
        found[name] = words.get(value, value) if kind is bool else int(value) if is_number else value
    return found

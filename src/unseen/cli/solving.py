"""Commands that solve: algorithms, jobs, pictures of convergence, papers."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from unseen.cli.common import (
    AsJson,
    Debug,
    Force,
    GameName,
    Memory,
    Reduced,
    Seed,
    Streamed,
    command,
    in_bytes,
    show,
    show_result,
)
from unseen.errors import UnseenError
from unseen.show.results import number


def complete_algorithm(incomplete: str) -> list[str]:
    """What the name of an algorithm can go on to."""
    from unseen.solving.algorithms import ALGORITHMS

    return [name for name in ALGORITHMS if name.startswith(incomplete)]


@command
def algorithms(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the algorithms of `solve` and their options."""
    from unseen.solving.algorithms import ALGORITHMS

    table = Table("algorithm", "what it is", "an iteration", "options")
    for name, about in ALGORITHMS.items():
        options = ", ".join(f"{key}={str(option.default).lower()}" for key, option in about.options.items())
        table.add_row(name, about.text, about.iteration, options or "none")
    listed = {
        name: {"text": about.text, "source": about.source, "iteration": about.iteration, "needs_form": about.solver is None,
               "options": {key: {"default": str(option.default).lower(), "meaning": option.help}
                           for key, option in about.options.items()}}
        for name, about in ALGORITHMS.items()
    }  # fmt: skip
    show(as_json, {"algorithms": listed}, lambda: table)


@command
def solve(
    game: GameName,
    algorithm: Annotated[
        str, typer.Option(help="Such as cfr+, dcfr, 'outcome_sampling(epsilon=0.6)'.", autocompletion=complete_algorithm)
    ] = "dcfr",
    iterations: Annotated[int | None, typer.Option(help="Stop after so many iterations.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds of solving.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Stop after visiting so many histories.")] = None,
    until: Annotated[float | None, typer.Option(help="Stop when the exploitability (sum) is at most this.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the strategy to this file, checkpoints beside it meanwhile.")] = None,
    log: Annotated[Path | None, typer.Option(help="Write each evaluation to this file, as a line of JSON.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Keep checkpoints in this file, also the last one.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False,
    checkpoint_seconds: Annotated[float, typer.Option(min=0.01, help="Seconds between checkpoints.")] = 30.0,
    evaluate: Annotated[bool, typer.Option(help="Evaluate exactly on the way, which enumerates the game.")] = True,
    streamed: Streamed = None, reduced: Reduced = None, memory: Memory = None, force: Force = False, seed: Seed = 0,
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Solve a game as closely as asked, by regret minimisation.

    Ctrl-C keeps what there is.
    """
    from unseen.run.checkpoint import KIND as CHECKPOINT
    from unseen.run.files import check_outputs
    from unseen.solving import job
    from unseen.tabular.strategy_file import KIND as STRATEGY

    if resume and out is None and checkpoint is None:
        raise UnseenError("--resume needs --out, beside which the checkpoint is kept, or --checkpoint.")
    beside = None if out is None else out.parent / f"{out.name}.checkpoint"
    save = checkpoint or beside
    job.check(algorithm, {"iterations": iterations, "seconds": seconds, "nodes": nodes, "until": until}, evaluate, bool(reduced))
    check_outputs([(out, STRATEGY), (log, job.LOG), (save, CHECKPOINT)], force)
    if resume and save is not None and not save.exists():
        print(f"unseen: there is no checkpoint {save}, so this begins anew.", file=sys.stderr)
    found = job.solve(
        game, algorithm, iterations=iterations, seconds=seconds, nodes=nodes, until=until, seed=seed, streamed=streamed,
        reduced=reduced, memory=in_bytes(memory), evaluate=evaluate, log=log, save_every=checkpoint_seconds, resume=resume,
        save=save, force=force,
    )  # fmt: skip
    for words in filter(None, (found.note, found.trouble)):
        print(f"unseen: {words}", file=sys.stderr)
    if out is not None:
        found.strategy.save(out, force)
        if beside is not None and checkpoint is None and not found.stopped:
            beside.unlink(missing_ok=True)  # nobody asked for it, and there is nothing to go on with
    show_result(as_json, found, the_strategy_is_in=out)


@command
def plot(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs that `unseen solve --log` has written.")],
    out: Annotated[Path, typer.Option(help="The picture to write (.png, .svg or .pdf).")] = Path("convergence.png"),
    force: Force = False,
    against: Annotated[str, typer.Option(help="nodes, iterations, seconds, or all three.")] = "all",
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Draw how solvers converged, from their logs.

    Exploitability against work, on logarithmic axes, several runs in one picture.
    """
    from unseen.run.logs import AXES, read_log
    from unseen.show import convergence
    from unseen.show.figures import check_picture, save_picture

    if against not in ("all", *AXES):
        raise UnseenError(f"against is {against!r}, but must be one of all, {', '.join(AXES)}.")
    check_picture(out, force)
    runs = [read_log(log) for log in logs]
    save_picture(convergence.runs_figure(runs, tuple(AXES) if against == "all" else (against,)), out, force)
    ends: list[dict[str, Any]] = [
        {"game": run.game, "algorithm": run.algorithm, "seed": run.seed, **run.points[-1]} for run in runs
    ]
    table = Table("run", "iterations", "nodes", "seconds", "exploitability (sum)", title=f"drawn in {out}")
    for label, end in zip(convergence.labels(runs), ends, strict=True):
        table.add_row(label, f"{end['iterations']:,}", f"{end['nodes']:,}", f"{end['seconds']:.2f}", number(end["exploitability"]))
    show(as_json, {"picture": str(out), "runs": ends}, lambda: table)


@command
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="mccfr, oos, oos_matches, smmcts, ppp or exit_oos.")],
    out: Annotated[Path | None, typer.Option(help="The folder for the page, its picture and all runs: reproduced/PAPER.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller versions of the games, a few minutes.")] = False,
    nodes: Annotated[int | None, typer.Option(min=1000, help="mccfr: histories that each algorithm may visit.")] = None,
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Run a paper's experiments again, and write a page.

    The page has the paper's tables and figures, and says which of its claims held. Runs that are complete in the folder are not
    done again, so an experiment that was stopped goes on.
    """
    from unseen.reproduce import exit_oos, mccfr, oos, oos_matches, ppp, smmcts
    from unseen.reproduce.page import page_name

    searches = {module.__name__.rpartition(".")[2]: module.reproduce for module in (oos, oos_matches, smmcts, ppp, exit_oos)}
    if paper != "mccfr" and paper not in searches:
        raise UnseenError(f"paper is {paper!r}, but must be mccfr, {', '.join(searches)}.")
    if paper in searches and nodes is not None:
        raise UnseenError(f"--nodes is for mccfr, not for {paper}.")

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    out = out or Path("reproduced") / paper
    claims = searches[paper](out, quick, seed, say) if paper in searches else mccfr.reproduce(out, quick, nodes, seed, say)
    page = out / page_name(quick)
    table = Table("the paper says", "held", title=f"written to {page}")
    for claim in claims:
        table.add_row(claim.text, {True: "yes", False: "no", None: "not decided"}[claim.held])
    show(as_json, {"page": str(page), "claims": [dataclasses.asdict(claim) for claim in claims]}, lambda: table)

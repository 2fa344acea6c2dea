"""Commands that solve: algorithms, jobs, pictures of convergence, papers."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from unseen import loading
from unseen.cli.common import (
    AsJson,
    Debug,
    GameName,
    Memory,
    Reduced,
    Seed,
    Streamed,
    command,
    facts,
    number,
    per_player,
    sequence_form,
    show,
)
from unseen.errors import UnseenError
from unseen.run.progress import ProgressBar


@command
def algorithms(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the algorithms of `solve` with their options."""
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
    algorithm: Annotated[str, typer.Option(help="Such as cfr+, dcfr, 'outcome_sampling(epsilon=0.6)'.")] = "dcfr",
    iterations: Annotated[int | None, typer.Option(help="Stop after so many iterations.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds of solving.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Stop after visiting so many histories.")] = None,
    until: Annotated[float | None, typer.Option(help="Stop when the exploitability (sum) is at most this.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the strategy to this file, and checkpoints beside it.")] = None,
    log: Annotated[Path | None, typer.Option(help="Write each evaluation to this file, as a line of JSON.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of --out, if there is one.")] = False,
    checkpoint_seconds: Annotated[float, typer.Option(min=0.01, help="Seconds between checkpoints.")] = 30.0,
    evaluate: Annotated[bool, typer.Option(help="Evaluate exactly on the way, which enumerates the game.")] = True,
    streamed: Streamed = False, reduced: Reduced = False, memory: Memory = None, seed: Seed = 0, as_json: AsJson = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Solve a game by regret minimisation, as closely as asked for. Ctrl-C keeps what there is."""
    from unseen.run.files import check_file, write_atomically
    from unseen.solving import algorithms, job

    if resume and out is None:
        raise UnseenError("--resume needs --out: the checkpoint is kept beside that file.")
    job.check(algorithm, {"iterations": iterations, "seconds": seconds, "nodes": nodes, "until": until}, evaluate, reduced)
    for path in (out, log):
        if path is not None:
            check_file(path)
    loaded = loading.load(game)
    form = sequence_form(loaded, memory, streamed, reduced) if evaluate or algorithms.needs_form(algorithm) else None
    lines: list[str] = []
    trouble = ""
    with ProgressBar(f"{algorithm} on {loaded.name}", "iterations") as bar:

        def watch(point: job.Point) -> None:
            about = {"game": loaded.spec, "form": form.kind if form else None, "algorithm": algorithm, "seed": seed}
            lines.append(json.dumps(about | dataclasses.asdict(point)))
            nonlocal trouble
            try:
                if log is not None:
                    write_atomically(log, ["\n".join([*lines, ""]).encode()])
                trouble = ""
            except UnseenError as error:  # the work goes on, and the next line may find room again
                trouble = str(error)

        def tick(solver: Any, points: list[job.Point]) -> None:
            last = points[-1].exploitability if points else None
            bar(solver.iterations, f"exploitability (sum) {last:.3g}" if last is not None else "")

        found = job.solve(
            loaded, algorithm, iterations=iterations, seconds=seconds, nodes=nodes, until=until, seed=seed, form=form,
            evaluate=evaluate, watch=watch, tick=tick, save_every=checkpoint_seconds, resume=resume,
            save=None if out is None else out.with_name(out.name + ".checkpoint"),
        )  # fmt: skip
    for words in filter(None, (found.trouble, trouble)):
        print(f"unseen: {words}", file=sys.stderr)
    if out is not None:
        found.strategy.save(out)
    last = found.last
    result = {"game": loaded.spec, "algorithm": algorithm, **dataclasses.asdict(last), "stopped": found.stopped}
    rows = {
        "iterations": last.iterations,
        "seconds of solving": f"{last.seconds:.2f}",
        "nodes touched": last.nodes,
    }
    if last.best_response is not None and last.exploitability is not None and last.value is not None:
        rows["best responses"] = per_player(last.best_response, ".6g")
        rows["exploitability (sum of both)"] = number(last.exploitability)
        rows["value of the profile to the first player"] = number(last.value)
    if out is not None:
        rows["the strategy is in"] = str(out)
    show(as_json, result, lambda: facts(f"{algorithm} on {loaded.spec}" + " (stopped)" * found.stopped, rows))


@command
def plot(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs that `unseen solve --log` has written.")],
    out: Annotated[Path, typer.Option(help="The picture to write (.png, .svg or .pdf).")] = Path("convergence.png"),
    against: Annotated[str, typer.Option(help="nodes, iterations, seconds, or all three.")] = "all",
    as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Draw how solvers converged: exploitability against work, on logarithmic axes, several runs in one picture."""
    from unseen.run.logs import AXES, read_log
    from unseen.show import convergence
    from unseen.show.figures import check_picture, save_picture

    if against not in ("all", *AXES):
        raise UnseenError(f"against is {against!r}, but must be one of all, {', '.join(AXES)}.")
    check_picture(out)
    runs = [read_log(log) for log in logs]
    save_picture(convergence.runs_figure(runs, tuple(AXES) if against == "all" else (against,)), out)
    ends: list[dict[str, Any]] = [
        {"game": run.game, "algorithm": run.algorithm, "seed": run.seed, **run.points[-1]} for run in runs
    ]
    table = Table("run", "iterations", "nodes", "seconds", "exploitability (sum)", title=f"drawn in {out}")
    for label, end in zip(convergence.labels(runs), ends, strict=True):
        table.add_row(label, f"{end['iterations']:,}", f"{end['nodes']:,}", f"{end['seconds']:.2f}", number(end["exploitability"]))
    show(as_json, {"picture": str(out), "runs": ends}, lambda: table)


@command
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="mccfr or oos.")],
    out: Annotated[Path | None, typer.Option(help="The folder for the page, its picture and all runs: reproduced/PAPER.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller versions of the games, a few minutes.")] = False,
    nodes: Annotated[int | None, typer.Option(min=1000, help="mccfr: histories that each algorithm may visit.")] = None,
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Run a paper's experiments again and write a page: its tables and figures, and which claims held.

    Runs that are complete in the folder are not done again, so an experiment that was stopped goes on.
    """
    from unseen.reproduce import mccfr, oos
    from unseen.reproduce.page import page_name

    if paper not in ("mccfr", "oos"):
        raise UnseenError(f"paper is {paper!r}, but must be mccfr or oos.")
    if paper == "oos" and nodes is not None:
        raise UnseenError("--nodes is for mccfr; the searches of oos have fixed numbers of simulations.")

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    out = out or Path("reproduced") / paper
    claims = mccfr.reproduce(out, quick, nodes, seed, say) if paper == "mccfr" else oos.reproduce(out, quick, seed, say)
    page = out / page_name(quick)
    table = Table("the paper says", "held", title=f"written to {page}")
    for claim in claims:
        table.add_row(claim.text, {True: "yes", False: "no", None: "not tested"}[claim.held])
    show(as_json, {"page": str(page), "claims": [dataclasses.asdict(claim) for claim in claims]}, lambda: table)

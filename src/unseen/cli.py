"""The command line: `unseen COMMAND GAME`. Results go to standard output, progress and errors to standard error."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unseen import loading
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.progress import ProgressBar
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.exact.sequence_form import SequenceForm
    from unseen.strategy import Strategy

app = typer.Typer(
    help="Games of imperfect information: check, measure and solve them exactly.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip
console = Console()
INTERRUPTED = 130
PANELS = 12

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A name, name(parameter=value, ...), or path/to/file.py:ClassName.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
StrategyName = Annotated[str, typer.Option("--strategy", help="A strategy file, or 'uniform'.")]
Streamed = Annotated[bool, typer.Option("--streamed", help="Walk the game for each answer instead of storing its payoffs.")]
Reduced = Annotated[bool, typer.Option("--reduced", help="Leave out mirror images and settled endings; bundle last moves.")]
Memory = Annotated[float | None, typer.Option(min=0.001, help="Use at most so many gigabytes (otherwise 80% of the machine's).")]
Picture = Annotated[Path | None, typer.Option(help="Draw the strategy into this file (.png, .svg or .pdf).")]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def command(function: F) -> F:
    """Register a command whose errors are one sentence and exit code 2, and which Ctrl-C stops cleanly."""

    @app.command()
    @functools.wraps(function)
    def run(**options: Any) -> None:
        try:
            function(**options)
        except UnseenError as error:
            if options.get("debug"):
                raise
            print(f"unseen: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print("unseen: stopped.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if options.get("debug") or isinstance(error, typer.Exit):
                raise
            kind = type(error).__name__
            print(f"unseen: unexpected {kind}: {str(error).strip()}; run again with --debug to see where.", file=sys.stderr)
            raise typer.Exit(2) from None

    return function


def show(as_json: bool, result: dict[str, Any], for_people: Callable[[], Any]) -> None:
    """Print a result as JSON or for people."""
    if as_json:
        print(json.dumps(result))
    else:
        console.print(for_people())


def facts(title: str, rows: dict[str, Any]) -> Table:
    """A table of two columns."""
    table = Table(title=Text(title), show_header=False)
    for name, value in rows.items():
        table.add_row(Text(name), Text(f"{value:,}" if isinstance(value, int) else str(value)))
    return table


def number(x: float) -> str:
    """A number for people: rounding errors are shown as zero."""
    return "0" if abs(x) < 1e-12 else f"{x:.12g}"


def interruptible(work: Callable[[], T]) -> T:
    """Run something that does not listen to Ctrl-C in a thread of its own, so that Ctrl-C ends the command at once."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append((work(), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    result, error = done[0]
    if error is not None:
        raise error
    return cast(T, result)


def per_player(values: Any, form: str = ",") -> str:
    return " + ".join(f"{value:{form}}" for value in values)


def sequence_form(game: Game, memory: float | None, streamed: bool = False, reduced: bool = False) -> SequenceForm:
    from unseen.exact.sequence_form import SequenceForm

    with ProgressBar(f"walking {game.name}", "histories") as bar:
        return SequenceForm(game, streamed=streamed, reduced=reduced, progress=bar, memory=in_bytes(memory))


def in_bytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else int(min(gigabytes, 1e9) * 1e9)


def read_strategy(name: str, game: Game) -> Strategy:
    from unseen.strategy import Strategy

    if name == "uniform":
        return Strategy.uniform(game)
    if not Path(name).exists():
        raise UnseenError(f"strategy {name!r}: there is no such file, and it is not 'uniform'.")
    return Strategy.load(name, game)


def show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Games of imperfect information: check, measure and solve them exactly."""


@command
def games(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the games that come with the library."""
    classes = {name: loading.registered(name) for name in loading.names()}
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
def info(game: GameName, memory: Memory = None, as_json: AsJson = False, debug: Debug = False) -> None:
    """Count the histories and information sets of a game."""
    from unseen.enumeration import enumerate_game
    from unseen.exact.treeplex import treeplex

    loaded = loading.load(game)
    with ProgressBar(f"walking {loaded.name}", "histories") as bar:
        found = enumerate_game(loaded, progress=bar, memory=in_bytes(memory))
    result = {
        "game": loaded.spec,
        "histories": found.histories,
        "terminals": found.terminals,
        "infosets": list(found.infosets),
        "max_length": found.longest,
        "m_values": [treeplex(found, player).m_value() for player in (0, 1)],
        "bytes": found.nbytes,
        "peak_bytes": found.peak,
    }
    rows = {
        "histories (with the start and the ends)": found.histories,
        "terminal histories": found.terminals,
        "information sets": f"{sum(found.infosets):,} = {per_player(found.infosets)}",
        "longest history": found.longest,
        "M-values": per_player(result["m_values"], ",.1f"),
        "memory for this": f"{found.nbytes / 1e6:,.1f} MB, on the way at most {found.peak / 1e6:,.1f} MB",
    }
    show(as_json, result, lambda: facts(loaded.spec, rows))


@command
def check(
    game: GameName,
    histories: Annotated[int, typer.Option(min=1, help="Check up to this many histories in order of length.")] = 10_000,
    playouts: Annotated[int, typer.Option(min=0, help="Then play this many random games.")] = 200,
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Check that a game keeps the protocol; exit with code 1 if not."""
    from unseen.testing import find_faults

    loaded = loading.load(game)
    with ProgressBar(f"checking {loaded.name}", "histories") as bar:
        report = find_faults(loaded, histories, playouts, seed, bar)
    faults = [{"check": f.check, "message": str(f), "history": list(f.history), "details": f.details} for f in report.faults]
    result = {
        "game": loaded.spec, "ok": report.ok, "histories": report.histories, "exhaustive": report.exhaustive,
        "playouts": report.playouts, "max_length": report.longest, "faults": faults,
    }  # fmt: skip
    if as_json:
        print(json.dumps(result))
    else:
        extent = "all of them" if report.exhaustive and report.ok else "not all"
        extent += f"; {report.playouts} random games included" if report.playouts else ""
        print(f"{loaded.spec}: histories checked: {report.histories:,} ({extent}), the longest of {report.longest} moves.")
        for fault in report.faults:
            print(f"- {fault}" + f"\n{fault.details}" * bool(fault.details))
        print("No faults found." if report.ok else f"Faults found: {len(faults)}.")
    if not report.ok:
        raise typer.Exit(1)


@command
def playthrough(game: GameName, seed: Seed = 0, as_json: AsJson = False, debug: Debug = False) -> None:
    """Log one random game, move by move, with all that each player sees."""
    from unseen import playthrough as logs

    log = logs.playthrough(loading.load(game), seed)
    print(json.dumps(log) if as_json else logs.as_text(log))


@command
def value(
    game: GameName,
    out: Annotated[Path | None, typer.Option(help="Save the equilibrium strategy to this file.")] = None,
    picture: Picture = None, memory: Memory = None, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Solve a game exactly by linear programming: its value to the first player and an equilibrium."""
    from unseen.drawing import check_picture
    from unseen.exact.equilibrium import solve_exactly

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
def algorithms(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the algorithms of `solve` with their options."""
    from unseen.solving.algorithms import ALGORITHMS

    table = Table("algorithm", "what it is", "an iteration", "options")
    for name, about in ALGORITHMS.items():
        options = ", ".join(f"{key}={str(default).lower()}" for key, (default, _) in about.options.items())
        table.add_row(name, about.text, about.iteration, options or "none")
    listed = {
        name: {"text": about.text, "source": about.source, "iteration": about.iteration, "needs_form": about.needs_form,
               "options": {key: {"default": str(value).lower(), "meaning": text} for key, (value, text) in about.options.items()}}
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
    from unseen.files import check_file, write_atomically
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
    from unseen import convergence
    from unseen.drawing import check_picture

    if against not in ("all", *convergence.AXES):
        raise UnseenError(f"against is {against!r}, but must be one of all, {', '.join(convergence.AXES)}.")
    check_picture(out)
    runs = [convergence.read_log(log) for log in logs]
    convergence.draw_runs(runs, out, tuple(convergence.AXES) if against == "all" else (against,))
    ends: list[dict[str, Any]] = [
        {"game": run.game, "algorithm": run.algorithm, "seed": run.seed, **run.points[-1]} for run in runs
    ]
    table = Table("run", "iterations", "nodes", "seconds", "exploitability (sum)", title=f"drawn in {out}")
    for label, end in zip(convergence.labels(runs), ends, strict=True):
        table.add_row(label, f"{end['iterations']:,}", f"{end['nodes']:,}", f"{end['seconds']:.2f}", number(end["exploitability"]))
    show(as_json, {"picture": str(out), "runs": ends}, lambda: table)


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
    from unseen import drawing

    loaded = loading.load(game)
    profile = read_strategy(strategy, loaded)
    if picture is not None:
        drawing.check_picture(picture)
    with ProgressBar(f"walking {loaded.name}", "histories") as bar:
        every = drawing.situations(profile, bar)
    if picture is not None:
        drawing.draw_strategy(profile, every, picture, PANELS)
    result = {
        "game": loaded.spec,
        "infosets": [
            {
                "player": p.player, "infoset": f"{p.infoset:016x}", "history": list(p.history), "sees": p.render(p.player),
                "actions": {str(a): name for a, name in p.action_names.items()},
                "probabilities": {str(a): q for a, q in profile[p].items()},
            }
            for p in drawing.first_positions(every, rows)
        ],
    }  # fmt: skip
    show(as_json, result, lambda: drawing.strategy_table(profile, every, rows))


@command
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="mccfr.")],
    out: Annotated[Path, typer.Option(help="The folder for the page, its picture and the logs of all runs.")] = Path("reproduced"),
    quick: Annotated[bool, typer.Option("--quick", help="Smaller versions of the games, about two minutes.")] = False,
    nodes: Annotated[int | None, typer.Option(min=1000, help="Histories that each algorithm may visit in each game.")] = None,
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Run a paper's experiments again and write a page: its tables and figures, and which claims held.

    Runs that are complete in the folder are not done again, so an experiment that was stopped goes on.
    """
    from unseen.reproduce import mccfr

    if paper != "mccfr":
        raise UnseenError(f"paper is {paper!r}, but must be mccfr.")

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    claims = mccfr.reproduce(out, quick, nodes, seed, say)
    page = out / mccfr.page_name(quick)
    table = Table("the paper says", "held", title=f"written to {page}")
    for claim in claims:
        table.add_row(claim.text, {True: "yes", False: "no", None: "not tested"}[claim.held])
    show(as_json, {"page": str(page), "claims": [dataclasses.asdict(claim) for claim in claims]}, lambda: table)


@command
def bench(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game to measure.")] = "liars_dice",
    seed: Seed = 0, as_json: AsJson = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Measure the speed of a game here, beside OpenSpiel if it is installed."""
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


def console_status(text: str) -> Any:
    """A spinner on standard error while something runs."""
    return Console(stderr=True).status(f"{text}...")


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a card or die shows a question mark
    app()


if __name__ == "__main__":
    main()

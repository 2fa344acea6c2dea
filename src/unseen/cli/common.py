"""What all commands share: how one is registered, options, and how results are shown."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer
from rich.console import Console

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.show.results import Result, facts
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.tabular.strategy import Strategy

app = typer.Typer(
    help="Games of imperfect information: check them, solve them, search them, and measure it all exactly.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip
console = Console()
INTERRUPTED = 130

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A name, name(parameter=value, ...), or path/to/file.py:ClassName.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
StrategyName = Annotated[str, typer.Option("--strategy", help="A strategy file, or 'uniform'.")]
Streamed = Annotated[bool, typer.Option("--streamed", help="Walk the game for each answer instead of storing its payoffs.")]
Reduced = Annotated[bool, typer.Option("--reduced", help="Leave out mirror images and settled endings; bundle last moves.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes or threads to use (otherwise one a core); the result is the same.")
]
ClusterAddress = Annotated[
    str | None, typer.Option("--cluster", help="Run on a cluster of Ray: host and port of its head; local starts one here.")
]
Memory = Annotated[float | None, typer.Option(min=0.001, help="Use at most so many gigabytes (otherwise 80% of the machine's).")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that Unseen has not written, too.")]
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
            sys.stdout.flush()
        except UnseenError as error:
            if options.get("debug"):
                print(getattr(error, "details", ""), file=sys.stderr)
                raise
            print(f"unseen: {on_one_line(error)}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print("unseen: stopped.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except Exception as error:
            if options.get("debug") or isinstance(error, typer.Exit):
                raise
            kind = type(error).__name__
            print(f"unseen: unexpected {kind}: {on_one_line(error)}; run again with --debug to see where.", file=sys.stderr)
            raise typer.Exit(2) from None

    return function


def on_one_line(error: Exception) -> str:
    """What an error says, also where it repeats lines that somebody gave us."""
    return " ".join(line.strip() for line in str(error).splitlines())


def show(as_json: bool, result: dict[str, Any], for_people: Callable[[], Any]) -> None:
    """Print a result as JSON or for people."""
    if as_json:
        print(json.dumps(result))
    else:
        console.print(for_people())


def show_result(as_json: bool, result: Result, **more: Any) -> None:
    """The same for a result that shows itself, with `more` rows for people."""
    rows = {name.replace("_", " "): value for name, value in more.items() if value is not None}
    show(as_json, result.as_dict(), lambda: facts(result.title, result.rows() | rows))


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


def place(workers: int | None, cluster: str | None) -> Any:
    """Where work runs."""
    from unseen.run.cluster import Cluster

    if workers is not None and cluster is not None:
        raise UnseenError("give --workers or --cluster, not both.")
    return workers if cluster is None else Cluster(cluster)


def in_bytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else int(min(gigabytes, 1e9) * 1e9)


def read_strategy(name: str, game: Game) -> Strategy:
    from unseen.tabular.strategy import Strategy

    if name == "uniform":
        return Strategy.uniform(game)
    if not os.path.exists(name):
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
    """Games of imperfect information: check them, solve them, search them, and measure it all exactly."""


def console_status(text: str) -> Any:
    """A spinner on standard error while something runs."""
    return Console(stderr=True).status(f"{text}...")

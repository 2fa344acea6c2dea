"""What all commands share: how one is registered, options, and how results are shown."""

from __future__ import annotations

import functools
import glob
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer
from rich.console import Console
from typer.core import TyperGroup

from unseen import loading
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import game_names
from unseen.run.checked import advice, is_checked
from unseen.show.results import Result, facts
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.tabular.strategy import Strategy

GROUPS = {
    "Games": ("games", "info", "check", "playthrough", "bench"),
    "Solving": ("value", "solve", "algorithms", "exploitability", "strategy", "plot"),
    "Playing and searching": ("play", "match", "tournament", "agents", "measure", "extract", "compare"),
    "Learning": ("learn",),
    "Papers": ("reproduce",),
}
"""The commands as `unseen --help` lists them; a test sees to it that each is there."""


class Grouped(TyperGroup):
    """The command line: its help has the commands in groups, each with the whole first sentence of its text."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        every = [name for names in GROUPS.values() for name in names]
        for group, names in GROUPS.items():
            with formatter.section(group):
                texts = {name: inspect.cleandoc(self.commands[name].help or "") for name in names}
                rows = [(name.ljust(max(map(len, every))), first_sentence(text)) for name, text in texts.items()]
                formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """The first sentence of a docstring."""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."


app = typer.Typer(
    help="Games of imperfect information: check them, solve them, search them, and measure it all exactly.", cls=Grouped,
    no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip
console = Console()
INTERRUPTED = 130


def complete_game(incomplete: str) -> list[str]:
    """What the name of a game can go on to: those of the library, and files with games of one's own."""
    return [name for name in game_names() if name.startswith(incomplete)] or files(incomplete, ".py")


def files(incomplete: str, *endings: str) -> list[str]:
    """The folders, and the files with one of these `endings`, that a path can go on to."""
    paths = sorted(glob.glob(glob.escape(incomplete) + "*"))
    return [path + "/" * os.path.isdir(path) for path in paths if os.path.isdir(path) or path.endswith(endings)]


def complete_agent(incomplete: str) -> list[str]:
    """What the name of an agent can go on to: those of the library, and files of agents and strategies."""
    from unseen.arena.names import AGENTS

    return [name for name in AGENTS if name.startswith(incomplete)] or files(incomplete, ".py", ".strategy")


GameName = Annotated[
    str,
    typer.Argument(
        metavar="GAME", help="A name, name(parameter=value, ...), or path/to/file.py:ClassName.", autocompletion=complete_game
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
StrategyName = Annotated[str, typer.Option("--strategy", help="A strategy file, or 'uniform'.")]
Streamed = Annotated[
    bool | None,
    typer.Option("--streamed/--stored", help="Walk the game for each answer, or store its payoffs. Default: what fits the game."),
]
Reduced = Annotated[
    bool | None,
    typer.Option("--reduced/--whole", help="Leave out mirror images and settled endings, or nothing. Default: what fits the game."),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes or threads. Default: one per core; the result is the same.")]
ClusterAddress = Annotated[
    str | None, typer.Option("--cluster", help="Run on a cluster of Ray: host and port of its head; local starts one here.")
]
Memory = Annotated[float | None, typer.Option(min=0.001, help="Memory limit in gigabytes. Default: 80% of the machine's memory.")]
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
            before = len(loading.from_files)
            function(**options)
            sys.stdout.flush()
            note_unchecked(loading.from_files[before:])
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


def note_unchecked(games: Iterable[Game]) -> None:
    """Say of which of these games nobody knows that they are sound."""
    for spec, game in {game.spec: game for game in games}.items():
        if not is_checked(game):
            print(f"note: {spec} has not been checked, and faults may make results wrong: {advice(game)}.", file=sys.stderr)


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

"""Command lines made from the options of all commands, with values that fit, that do not, and that are absurd.

Whatever is asked for, a command ends with an exit code of its own (0, 1, 2 or 130) and, if it is refused, a sentence. It never ends
in a signal or a traceback, can be stopped by Ctrl-C, and changes no file that it was not told to write. Lines run in a child, which
has imported and compiled everything already. It says which line it begins, so that another goes on where it dies.

    python -m fuzz.commands --lines 10000 --seed 0
    python -m fuzz.commands --lines 100 --first 4200 --seed 0      # the lines 4,200 to 4,299 again, as a finding says
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import multiprocessing
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

LINES_A_FOLDER = 100
"""Lines that work in the same folder; the next ones get a new one, so that a line can be run again without all before it."""
LIMIT_SECONDS, GRACE_SECONDS, START_SECONDS = 8.0, 120.0, 240.0
"""A command that takes longer gets Ctrl-C; one that goes on long after that hangs. Compiling, which cannot be interrupted, takes
seconds."""
LONGEST_MESSAGE = 1000
TELL_EVERY = 250
MEMORY = 8 << 30
"""Bytes that the child may take, so that absurd numbers end in an error and not in the death of another process."""
WRONG = ("signals", "tracebacks", "unexpected errors", "other exit codes", "bad messages", "hangs", "files changed", "left-overs")

# Values -------------------------------------------------------------------------------------------------------------------------

ABSURD = (
    "", " ", "x", "-", "--", "é", "ß🂡", "\u202e", "a" * 2000, "🂡" * 500, "(", ")", "a(", "a(b", "a(b=)", "a(b=c,b=d)", "%s%n",
    "{0}", "[red]",
    "\x1b[31m", "\udcff", "..", "nan", "None", "null", "true", "0", "-1", "1e999", "9" * 400, "1/0", "a=b=c", "\n", "a\nb", "'",
    '"', "$HOME",
)  # fmt: skip
WHOLE = ("1", "2", "3", "7", "0", "-1", "007", "+2", "1_0", "٣", "1.5", "1e3", str(2**31), str(2**63), str(2**64), "-" + "9" * 30)
NUMBERS = ("0.1", "1", "0.5", "2", "0", "-0.0", "-1", "nan", "inf", "-inf", "1e-320", "1e-9", "1,5", "0x1p-3")
ENDLESS = ("999999999", str(10**18))
"""Options that make a command long: such a command gets Ctrl-C."""
SMUGGLER = Path(__file__).parent.parent / "examples" / "smuggler.py"
GAMES = (*["kuhn_poker"] * 8, *["goofspiel(cards=3)"] * 4, "xi", f"{SMUGGLER}:Smuggler")
"""Few, as kernels are compiled for each."""
NO_GAMES = (
    "kuhn_pokr", "kuhn_poker(cards=0)", "kuhn_poker(cards=99999999999999999999)", "kuhn_poker(card=3)", "kuhn_poker(cards=nan)",
    "kuhn_poker(",
    "goofspiel(cards=3,cards=3)", "goofspiel(order=x)", "own.py", "own.py:None", "own.py:Own(values=999)", "none.py:Own",
    "folder:Own",
    "foreign.txt:Own", "foreign.txt", "bad.py:Own", "pipe.py:Own", "link.py:Own", "ours.strategy", "xi()", "xi(())", "XI",
    "kuhn-poker",
)  # fmt: skip
FITTING = {
    "method": ("stitching", "aggregate", "root", "depth", "convergence", "loss", "induction", "lp"), "against": ("all", "nodes",
    "random"),
    "sprt": ("0,10", "10,0", "0", "nan,1", "0,0"), "anchor": ("random=0", "random=nan", "random", "=1"), "seat": ("first",
    "second", "both"),
    "paper": ("mccfr", "oos", "oos_matches", "smmcts", "ppp", "exit_oos"), "layers": ("4", "4-4", "0", "-", "4-"), "hints": ("",
    "random"),
    "change": ("games=2", "steps=1", "rate=nan", "games=-1", "steps=x", "nothing=1"), "strategy": ("uniform",),
    "cluster": ("127.0.0.1:1", ":1", "127.0.0.1:99999999", "a:b:c"), "depth": ("0", "1", "2"),
}  # fmt: skip
SMALL = {
    "check": ("--seconds", "0.02", "--histories", "50", "--playouts", "2"), "match": ("--games", "2", "--simulations", "5"),
    "measure": ("--games", "2", "--simulations", "5"), "compare": ("--simulations", "5"), "solve": ("--iterations", "5"),
    "tournament": ("--games", "2", "--simulations", "5", "--no-exploitability"), "play": ("--simulations", "5"),
    "learn": ("--iterations", "1", "--simulations", "3", "--evaluation-games", "0", "--set", "games=2", "--set", "steps=1",
    "--layers", "4"),
}  # fmt: skip
"""Options that keep a command short; later ones count."""
COSTLY = {"bench": 0.02, "reproduce": 0.04, "learn": 0.1, "tournament": 0.4, "games": 0.2, "algorithms": 0.2, "agents": 0.2}
"""How often commands that take seconds, or have nothing to choose, are drawn; others count 1."""
BUDGETS = ("iterations", "seconds", "nodes", "games", "simulations", "histories", "playouts", "evaluation_games", "limit", "every")
FOREIGN = {
    "foreign.txt": b"something precious\n",
    "foreign.png": b"\x89PNG\r\n\x1a\nsomething precious",
    "foreign.svg": b"<?xml version='1.0'?><svg/>",
    "foreign.pdf": b"%PDF-1.4 something precious",
    "foreign.log": b'{"game": "something precious"}\n',
    "foreign.strategy": b"unseen, something precious",
    "empty": b"",
    "bad.py": b"raise SystemExit(7)\n",
}
"""Files of others, which a command line may name."""
HIDDEN = {"canary": b"behind a link", "folder/precious": b"in a folder", "linked/precious": b"in a folder behind a link"}
"""Files that no command line names: none may change, not even with --force."""
OWN = """
from pathlib import Path
exec(Path({smuggler!r}).read_text().replace("class Smuggler", "class Own").replace("values", "size"))
"""


def make_folder(folder: Path) -> None:
    """A folder with files of others, files of ours, links, a pipe, and a game."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in (FOREIGN | HIDDEN).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, target in (("link", "canary"), ("link.png", "canary"), ("link.py", "canary"), ("dangling", "nowhere"), ("looped",
    "looped"),
                         ("linked_folder", "linked"), ("link.values", "canary")):  # fmt: skip
        (folder / name).symlink_to(target)
    for name in ("pipe", "pipe.png", "pipe.py"):
        os.mkfifo(folder / name)
    (folder / "own.py").write_text(SMUGGLER.read_text().replace("class Smuggler", "class Own"))
    from unseen import Strategy, backward_induction, match, solve

    Strategy.uniform("kuhn_poker").save(folder / "ours.strategy")
    Strategy.uniform("kuhn_poker").draw(folder / "ours.png")
    backward_induction("goofspiel(cards=3)", save=folder / "ours.values", progress=False)
    solve("kuhn_poker", iterations=3, log=folder / "ours.log", save=folder / "ours.checkpoint", progress=False)
    match("kuhn_poker", "random", "random", 2, out=folder / "ours.games", workers=1, progress=False)


PLACES = (
    *FOREIGN, "link", "link.png", "link.values", "dangling", "looped", "linked_folder", "pipe", "pipe.png", "folder", ".",
    "folder/.", "link/x",
    "ours.strategy", "ours.png", "ours.values", "ours.log", "ours.checkpoint", "ours.games", "own.py", "no/such/x.png", "",
    "x" * 300 + ".png",
)  # fmt: skip
"""Where a command may be told to write or read."""
NEW = ("new", "new.png", "new.svg", "new.pdf", "new.values", "new.strategy", "new_é", "new folder/", "new.txt")


def command_line(rng: random.Random, commands: dict[str, list[Any]]) -> list[str]:
    """One command line."""
    names = list(commands)
    name = rng.choices(names, [COSTLY.get(name, 1.0) for name in names])[0]
    wildness = rng.choice((0.02, 0.1, 0.4))
    line = [
        name,
        *(SMALL.get(name, ()) if rng.random() > 0.02 else ()),
        *(("--workers", "1") if has(commands[name], "workers") else ()),
    ]
    required, optional = [], []
    for parameter in commands[name]:
        if parameter.name == "debug" or (parameter.name == "exploitability" and rng.random() < 0.7):
            continue
        if parameter.param_type_name == "argument":
            count = 1 if parameter.nargs == 1 else rng.choice((1, 2, 2, 3))
            required += [(parameter, None)] * count if rng.random() > wildness / 3 else []
        elif parameter.required:
            optional += [(parameter, rng.choice(parameter.opts))] if rng.random() > wildness / 3 else []
        elif rng.random() < 0.25:
            optional += [(parameter, rng.choice(parameter.opts + parameter.secondary_opts))] * (2 if rng.random() < 0.05 else 1)
    for parameter, option in required + rng.sample(optional, len(optional)):
        if option is not None:
            line.append(option)
        if not getattr(parameter, "is_flag", False):
            text = value(rng, parameter, wildness)
            line.append(text if option is not None or not text.startswith("-") else f"./{text}")
    if rng.random() < wildness / 5:
        line.insert(rng.randrange(len(line) + 1), rng.choice(ABSURD))
    return line


def has(parameters: list[Any], name: str) -> bool:
    return any(parameter.name == name for parameter in parameters)


def kind_of(parameter: Any) -> str:
    """The kind of values that a parameter takes: int, float, path or text."""
    described = getattr(parameter, "type_descriptor", None)
    kind = getattr(described.annotation, "__name__", "text") if described is not None else parameter.type.name
    return {"int": "int", "integer": "int", "integer range": "int", "float": "float", "float range": "float", "Path": "path"}.get(
        kind, "text"
    )


def value(rng: random.Random, parameter: Any, wildness: float) -> str:
    """A value for a parameter."""
    name, kind = parameter.name, kind_of(parameter)
    if rng.random() < wildness / 2:
        return rng.choice((*ABSURD, *WHOLE, *NUMBERS, *PLACES))
    if name in ("game", "others"):
        return rng.choice(NO_GAMES) if rng.random() < wildness else rng.choice(GAMES)
    if name in ("agent", "agents", "first", "second", "against", "hints") and rng.random() < 0.95:
        return agent(rng, wildness)
    if name == "algorithm":
        return algorithm(rng, wildness)
    if name in BUDGETS and rng.random() < 0.003:
        return rng.choice(ENDLESS)
    if kind == "path" or name in ("strategy", "logs", "out", "values", "keep", "picture"):
        return rng.choice(NEW) if rng.random() < 0.4 else rng.choice(PLACES)
    if name in FITTING:
        return rng.choice(FITTING[name])
    if kind == "text":
        return rng.choice(ABSURD)
    if rng.random() > wildness:
        return rng.choice(("1", "2", "3")) if kind == "int" else rng.choice(("0.1", "0.5", "1"))
    pool = WHOLE if kind == "int" else NUMBERS
    if name in BUDGETS:  # nobody can tell whether a command that was asked for so much hangs
        pool = tuple(text for text in pool if len(text) < 9 and "e3" not in text and text != "inf")
    return rng.choice(pool)


def agent(rng: random.Random, wildness: float) -> str:
    """An agent, perhaps with options."""
    from unseen.arena.names import AGENTS

    name = rng.choice([*AGENTS, *["random", "ours.strategy"] * 8, "foreign.strategy", "own.py:Own"])
    if name not in AGENTS:
        return name
    return name + options(rng, {key: (option.default, option.allowed) for key, option in AGENTS[name].options.items()}, wildness)


def algorithm(rng: random.Random, wildness: float) -> str:
    """An algorithm of `solve`, perhaps with options."""
    from unseen.solving.algorithms import ALGORITHMS

    name = rng.choice(list(ALGORITHMS))
    return name + options(rng, {key: (option.default, "") for key, option in ALGORITHMS[name].options.items()}, wildness)


def options(rng: random.Random, known: dict[str, tuple[Any, str]], wildness: float) -> str:
    """Options of an agent or an algorithm, in brackets."""
    chosen = rng.sample(sorted(known), min(len(known), rng.choice((0, 0, 1, 2))))
    if not chosen:
        return ""
    parts = []
    for key in chosen:
        default, allowed = known[key]
        text = str(default).lower()
        if rng.random() < wildness:
            text = rng.choice((*ABSURD, *NUMBERS, *WHOLE))
        elif allowed.startswith("one of "):
            text = rng.choice(allowed.removeprefix("one of ").split(", "))
        elif key in ("simulations", "nodes", "worlds"):
            text = rng.choice(("1", "5", "20"))
        elif key == "seconds":
            text = rng.choice(("0", "0.01"))
        elif key in ("file", "playout"):
            text = rng.choice(PLACES)
        parts.append(f"{key}={text}")
    return f"({', '.join(parts)})"


# The child ----------------------------------------------------------------------------------------------------------------------


def commands_of(app: Any) -> dict[str, list[Any]]:
    """The parameters of each command, as typer knows them."""
    import typer

    return {name: command.params for name, command in typer.main.get_command(app).commands.items()}


def lines_of(seed: int, first: int, last: int, commands: dict[str, list[Any]]) -> list[list[str]]:
    """Command lines by number; each depends on the seed and its number alone."""
    return [command_line(random.Random(f"{seed} {number}"), commands) for number in range(first, last)]


def child(connection: Any, target: str, seed: int, first: int, last: int, folder: str) -> None:
    """Run some command lines, and say of each what came of it."""
    import faulthandler
    import resource

    faulthandler.enable()
    threading.Thread(target=end_with_parent, daemon=True).start()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if hasattr(os, "sched_setaffinity"):  # no command starts processes then
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    module, _, name = target.partition(":")
    main = getattr(importlib.import_module(module), name)
    from unseen.cli import app

    commands, place, clean = commands_of(app), Path(folder) / "w", Path(folder) / "clean"
    make_folder(clean)
    for number in range(first, last):
        if number == first or number % LINES_A_FOLDER == 0:
            os.chdir(folder)
            renew(clean, place)
            os.chdir(place)
        (line,) = lines_of(seed, number, number + 1, commands)
        if "learn" in line and importlib.util.find_spec("torch") is not None:
            importlib.import_module("torch")  # which cannot be imported again where Ctrl-C has come in between
        connection.send(("begin", number, line))
        outcome = run_line(main, line)
        connection.send(("end", number, *outcome, *harm(place, line)))
    connection.send(("over", last))


def end_with_parent() -> None:
    """Nobody is told any more what comes of the lines."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def renew(clean: Path, place: Path) -> None:
    """The folder as it was."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path in sorted(clean.rglob("*")):
        new = place / path.relative_to(clean)
        if path.is_symlink():
            new.symlink_to(path.readlink())
        elif path.is_dir():
            new.mkdir()
        elif path.is_file():
            shutil.copyfile(path, new)
        else:
            os.mkfifo(new)


def run_line(main: Callable[[], Any], line: list[str]) -> tuple[int | str, str]:
    """The exit code, or the exception, of a command line, and what it wrote on standard error."""
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["unseen", *line]
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"0\n1\n?\nh\nb\nx\n" * 3 + b"q\nq\n"))
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    errors = sys.stderr
    code: int | str = 0
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else repr(end.code)
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
    return code, errors.buffer.getvalue().decode(errors="replace")


def harm(place: Path, line: list[str]) -> tuple[list[str], list[str]]:
    """Which files changed that should not have, and which were left over."""
    may_change = {os.path.normpath(text) for text in line} if "--force" in line else set()
    changed = [name for name, content in (FOREIGN | HIDDEN).items() if name not in may_change and _content(place / name) != content]
    changed += [
        name
        for name in ("link", "link.png", "link.values", "dangling", "looped", "linked_folder")
        if not (place / name).is_symlink()
    ]
    changed += [name for name in ("pipe", "pipe.png", "pipe.py") if not (place / name).is_fifo()]
    changed += ["nowhere"] if (place / "nowhere").exists() else []
    changed += [name for name in ("folder", "linked") if (place / name).is_dir() and os.listdir(place / name) != ["precious"]]
    for name in changed:  # so that it is told once
        _mend(place, name)
    for name in may_change & set(FOREIGN):
        _mend(place, name)
    left = [str(path) for path in place.rglob(".unseen-*.tmp")]
    for name in left:
        os.unlink(name)
    return changed, left


def _content(path: Path) -> bytes:
    try:
        return b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
    except OSError:
        return b"(nothing)"


def _mend(place: Path, name: str) -> None:
    if name in FOREIGN | HIDDEN:
        with contextlib.suppress(OSError):
            (place / name).unlink()
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes((FOREIGN | HIDDEN)[name])


# The parent ---------------------------------------------------------------------------------------------------------------------


def verdict(code: int | str, errors: str) -> tuple[str, str] | None:
    """What was wrong with the end of a command, and in which words."""
    if isinstance(code, str):
        return "tracebacks", code
    if "Traceback (most recent" in errors:
        return "tracebacks", errors
    if "unexpected " in errors and "--debug" in errors:
        return "unexpected errors", errors
    if code not in (0, 1, 2, 130):
        return "other exit codes", str(code)
    if code == 2 and "Usage: " not in errors:
        said = [text for text in errors.strip().split("\n") if not text.startswith(("compiling", "waiting for"))]
        said = [text for text in said if "begins anew" not in text and "nothing was left to do" not in text]
        if len(said) != 1 or not said[0].startswith("unseen: ") or len(said[0]) > LONGEST_MESSAGE:
            return "bad messages", errors
    return None


class Fuzzer:
    """Runs command lines in children, and counts what goes wrong. `target` is the main program, `module:function`."""

    def __init__(self, seed: int, target: str = "unseen.cli:main", say: Callable[[str], None] = print) -> None:
        self.seed, self.target, self.say = seed, target, say
        self.tried, self.stopped, self.found, self.codes, self.slow = 0, 0, Counter[str](), Counter[str](), Counter[str]()
        self.spent: Counter[str] = Counter()

    def run(self, first: int, last: int, minutes: float = 1e9) -> dict[str, int]:
        """Run the lines from `first` to before `last`, as far as time allows."""
        until = time.monotonic() + 60.0 * minutes
        with tempfile.TemporaryDirectory(prefix="unseen-fuzz-") as folder:
            while first < last and time.monotonic() < until:
                first = self.run_child(first, last, until, folder)
        return {"tried": self.tried, **{what: self.found[what] for what in WRONG}}

    def run_child(self, first: int, last: int, until: float, folder: str) -> int:
        """Run lines in a child until it dies, all are done, or time is over. Returns the number of the next line."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=child, args=(theirs, self.target, self.seed, first, last, folder))
        process.start()
        theirs.close()
        number, line, following, began = first, list[str](), first, 0.0
        try:
            while time.monotonic() < until:
                limit = LIMIT_SECONDS if line else START_SECONDS
                if not ours.poll(limit):
                    self.stopped += 1
                    self.slow[line[0] if line else "starting"] += 1
                    os.kill(process.pid, signal.SIGINT)
                    if not ours.poll(GRACE_SECONDS):
                        self.note("hangs", number, line, f"{limit + GRACE_SECONDS:.0f} seconds")
                        self.tried += 1
                        return number + 1
                kind, number, *rest = ours.recv()
                following = number
                if kind == "over":
                    break
                if kind == "begin":
                    (line,), began = rest, time.monotonic()
                    continue
                code, errors, changed, left = rest
                self.tried, following = self.tried + 1, number + 1
                self.spent[line[0]] += time.monotonic() - began
                self.codes[str(code)[:40]] += 1
                if self.tried % TELL_EVERY == 0:
                    spent = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.spent.most_common(6))
                    print(f"{self.tried:,} command lines: {dict(self.found)}; {spent}", file=sys.stderr, flush=True)
                wrong = verdict(code, errors)
                if wrong is not None:
                    self.note(wrong[0], number, line, wrong[1])
                if changed:
                    self.note("files changed", number, line, ", ".join(changed))
                if left:
                    self.note("left-overs", number, line, ", ".join(left))
        except EOFError:
            process.join()
            is_signal = process.exitcode is None or process.exitcode < 0
            self.note("signals" if is_signal else "other exit codes", number, line, f"the process ended with {process.exitcode}")
            self.tried += 1
            return number + 1
        finally:
            process.kill()
            process.join()
            ours.close()
        return following

    def note(self, what: str, number: int, line: list[str], words: str) -> None:
        self.found[what] += 1
        shown = [text if len(text) < 60 else f"{text[:20]}...({len(text)})" for text in line]
        self.say(f"{what}, line {number}: unseen {shlex.join(shown)}\n    {words.strip()[-600:]}")


def run(minutes: float, seed: int) -> dict[str, int]:
    """As many lines as fit into the time."""
    return Fuzzer(seed).run(0, 10**9, minutes)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.commands", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began, fuzzer = time.monotonic(), Fuzzer(asked.seed, say=lambda text: print(text, flush=True))
    found = fuzzer.run(asked.first, asked.first + asked.lines)
    print(f"{found['tried']:,} command lines in {time.monotonic() - began:,.0f} s, seed {asked.seed}:")
    print(", ".join(f"{what} {found[what]}" for what in WRONG))
    print(f"exit codes: {dict(fuzzer.codes.most_common(12))}; stopped by Ctrl-C: {fuzzer.stopped} {dict(fuzzer.slow)}")
    return int(any(found[what] for what in WRONG))


if __name__ == "__main__":
    sys.exit(main())

"""Faulty games, taken through all commands: whatever a game does wrong, a command says so in a sentence.

`run(minutes, seed)` takes games and commands in an order drawn by the seed, each in a process of its own with a time limit, and
counts what must not happen: a signal, a traceback, a hang, and a number that a command gives, without a word, for a game that
`unseen check` refuses. Games whose compiled rules never return are left to the check, which has a limit of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pkgutil
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
SECONDS = 120
"""That a command may take, most of which is compiling."""
CACHE = "unseen-fuzz-games"
"""The folder, among temporary ones, where machine code is kept between runs: that of the library's games stays where it is."""
FIRST_FILES = ("faulty_games", "hidden_faults")
ODD = """
import numpy as np
from unseen import Game, TERMINAL
class Nested(Game):
    state = np.dtype([("moves", "i1"), ("inner", np.dtype([("a", "i1")]))])
    num_actions = 2
    max_length = 2
class Words(Game):
    state = np.dtype([("moves", "i1"), ("name", "U3")])
    num_actions = 2
    max_length = 2
class Taken(Game):
    state = np.dtype([("copy", "i1")])
    num_actions = 2
    max_length = 2
"""
COMMANDS = {
    "check": "check {game} --seconds 1 --histories 300 --playouts 20",
    "info": "info {game} --workers 1",
    "value": "value {game} --workers 1",
    "solve": "solve {game} --iterations 20",
    "solve, streamed": "solve {game} --iterations 3 --streamed --workers 1",
    "solve, reduced": "solve {game} --iterations 20 --reduced",
    "solve, vanilla_cfr": "solve {game} --algorithm vanilla_cfr --iterations 20",
    "solve, chance_sampling": "solve {game} --algorithm chance_sampling --iterations 2000 --no-evaluate",
    "solve, external_sampling": "solve {game} --algorithm external_sampling --iterations 2000 --no-evaluate",
    "solve, outcome_sampling": "solve {game} --algorithm outcome_sampling --iterations 20000 --no-evaluate",
    "solve, evaluated": "solve {game} --algorithm outcome_sampling --iterations 2000 --out a.strategy",
    "exploitability": "exploitability {game} --strategy uniform",
    "exploitability, reduced": "exploitability {game} --strategy uniform --reduced",
    "strategy": "strategy {game} --strategy uniform",
    "measure, oos": "measure {game} oos --simulations 200 --workers 1",
    "measure, aggregate": "measure {game} oos --method aggregate --games 4 --simulations 200 --workers 1",
    "measure, root": "measure {game} vr_oos --method root --simulations 20000 --workers 1",
    "measure, ismcts": "measure {game} ismcts --simulations 200 --workers 1",
    "measure, pimc": "measure {game} pimc --simulations 20 --workers 1",
    "measure, duct": "measure {game} duct --method root --simulations 2000 --workers 1",
    "match, oos": "match {game} oos random --games 40 --simulations 500 --workers 1",
    "match, public": "match {game} 'oos(targeting=public)' random --games 40 --simulations 500 --workers 1",
    "match, vr_oos": "match {game} vr_oos random --games 40 --simulations 500 --workers 1",
    "match, ismcts": "match {game} ismcts pimc --games 20 --simulations 200 --workers 1",
    "compare": "compare {game} ppp random --workers 1",
    "compare, games": "compare {game} pimc random --games 20 --workers 1",
    "extract": "extract {game} ppp --out b.strategy --workers 1",
    "learn": "learn {game} --out net --iterations 1 --simulations 50 --layers 4 --set games=3 --set steps=1 --workers 1",
    "play": "play {game} --against random --seed 1",
    "play, oos": "play {game} --against 'oos(simulations=200)' --seed 2",
    "playthrough": "playthrough {game} --seed 1",
    "tournament": "tournament {game} oos random --games 20 --simulations 200 --workers 1",
    "bench": "bench {game}",
}
"""What is run, each with the game in place of {game}; `play` is answered with moves."""
TALKS = ("play", "play, oos")
ANSWERS = b"?\n0\nb\n1\nh\n2\n0\n1\nx\n0\n1\n2\n0\n0\n0\n0\n0\n1\n1\nn\nq\n"
WATCHED = ("value", "solve", "exploitability", "measure", "match", "compare", "extract", "learn", "tournament", "info", "strategy")
"""Commands whose numbers must not stand alone for a game that a check refuses."""
FORTHRIGHT = "has not been checked"
"""What a command says of such a game."""


def all_games() -> list[str]:
    """The games, as a command names them."""
    sys.path.insert(0, str(TESTS))
    import faulty_games
    import hidden_faults

    deep = [f"{TESTS}/hidden_faults.py:Deep(fault={name})" for name in hidden_faults.FAULTS]
    plain = [f"{TESTS}/hidden_faults.py:{cls.__name__}" for cls in hidden_faults.PLAIN]
    known = [f"{TESTS}/faulty_games.py:{cls.__name__}" for cls in (*faulty_games.FAULTY, faulty_games.RarelyTooShort)]
    return [*deep, *plain, *known, *(f"odd.py:{name}" for name in ("Nested", "Words", "Taken"))]


def argv(command: str, game: str) -> list[str]:
    """The words of a command line."""
    words = [word.strip("'") for word in COMMANDS[command].split(" ")]
    return [game if word == "{game}" else word for word in words]


def outcome(command: str, game: str, folder: Path, seconds: float = SECONDS) -> tuple[str, str]:
    """Run a command as a child process of this one, which has the library in memory. Returns what came of it, and what it said."""
    out = folder / "said.txt"
    child = os.fork()
    if child == 0:
        _be_a_command(argv(command, game), command in TALKS, folder, out)
    end, status = time.monotonic() + seconds, None
    while status is None:
        done, raw = os.waitpid(child, os.WNOHANG)
        if done:
            status = raw
        elif time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hang", _said(out)
        else:
            time.sleep(0.01)
    said = _said(out)
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}", said
    if "Traceback (most recent call last)" in said or "unexpected " in said:
        return "traceback", said
    code = os.WEXITSTATUS(status)
    return ("number" if code == 0 else "refused" if code in (1, 2) else f"exit code {code}"), said


def _said(out: Path) -> str:
    return out.read_text(errors="replace") if out.exists() else ""


def _be_a_command(words: list[str], talks: bool, folder: Path, out: Path) -> None:
    """What the child does: the command, as the shell would start it. Never returns."""
    try:
        os.setsid()
        os.chdir(folder)
        with open(out, "wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        answers = folder / "answers.txt"
        answers.write_bytes(ANSWERS if talks else b"")
        with open(answers, "rb") as read:
            os.dup2(read.fileno(), 0)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        sys.argv = ["unseen", *words]
        from unseen.cli import main

        main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 70
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def cases(seed: int) -> Iterator[tuple[str, str]]:
    """All pairs of a game and a command, in an order drawn by a seed: first every game once, then the rest."""
    rng = random.Random(seed)
    games, commands = all_games(), list(COMMANDS)
    pairs = [(game, command) for game in games for command in commands]
    rng.shuffle(pairs)
    yield from pairs


def _import_all() -> None:
    """Import the library, so that no child need do it."""
    import unseen

    for module in pkgutil.walk_packages(unseen.__path__, "unseen."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # what is an extra
                importlib.import_module(module.name)


def search(minutes: float, seed: int, only: str = "") -> dict[str, object]:
    """Run cases until the time is over or there are none left; only those in which a pattern is found, as in `:Deep value`."""
    _import_all()
    end, found, counts, refused = time.monotonic() + 60.0 * minutes, [], Counter[str](), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for game, command in cases(seed):
            if time.monotonic() > end:
                break
            if not re.search(only, f"{game} {command}"):
                continue
            for old in folder.iterdir():
                if old.is_file():
                    old.unlink()
            (folder / "odd.py").write_text(ODD)
            what, said = outcome(command, game, folder)
            if what == "number" and command.split(",")[0] in WATCHED and FORTHRIGHT not in said:
                if game not in refused:
                    refused[game] = outcome("check", game, folder)[0] == "refused"
                what = "silent number" if refused[game] else what
            counts[what] += 1
            if what.startswith(("signal", "traceback", "hang", "silent", "exit")):
                found.append([what, command, game.removeprefix(f"{TESTS}/"), said[-600:]])
                print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return {"cases": sum(counts.values()), "counts": dict(counts), "found": found}


def run(minutes: float, seed: int, only: str = "") -> int:
    """Take faulty games through the commands for some minutes. Prints what was found; returns the number of failures."""
    cache = Path(tempfile.gettempdir()) / f"{CACHE}-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache), "PYTHONWARNINGS": "ignore"}
    words = [sys.executable, __file__, "--minutes", str(minutes), "--seed", str(seed), "--only", only]
    done = subprocess.run(words, stdout=subprocess.PIPE, env=environment, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"faulty games: {result['cases']:,} commands: " + ", ".join(f"{n:,} {what}" for what, n in result["counts"].items()))
    return len(result["found"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Take faulty games through all commands.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="A pattern, found in a game and a command: ':Exits value'.")
    options = parser.parse_args()
    print(json.dumps(search(options.minutes, options.seed, options.only)))

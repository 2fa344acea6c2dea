"""Files that are well-formed and absurd: nothing that is in a file may end in a signal, a traceback, a hang, or in code that runs.

Valid files of every kind are changed, header fields and arrays, and given the right checksum again; some are cut off or have bytes
flipped. Each is then read by every way in, in a process of its own, so that a signal is seen.

    python -m fuzz.files --files 20000
    python -m fuzz.files --minutes 60 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import io
import json
import os
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 6 * 10**9
SECONDS = 90.0
"""For one file read in one way; a machine may be busy."""
WARM_SECONDS = 600.0
"""For a valid file, whose kernels may have to be compiled."""
BATCH = 2000
MARK = "ran"
CANARY = "canary.py"
"""A file that leaves a mark when it is imported."""
NOTHING, LOADED, REFUSED = "begin", "loaded", "refused"
WRONG = ("signals", "tracebacks", "hangs", "code_run", "not_finite")
SOLVERS = (
    "dcfr", "pcfr+", "outcome_sampling", "outcome_sampling(averaging=lazy)", "external_sampling", "chance_sampling",
    "vanilla_cfr",
)  # fmt: skip
STACKED = "goofspiel(cards=3, payoff=point_difference)"
LEARNING = {
    "simulations": 20, "games": 2, "steps": 2, "batch": 8, "layers": "8", "reservoir": 20, "evaluate_every": 1,
    "evaluation_games": 2,
}  # fmt: skip


@dataclass
class Report:
    """What came of it."""

    files: int = 0
    loads: int = 0
    loaded: int = 0
    refused: int = 0
    signals: int = 0
    tracebacks: int = 0
    hangs: int = 0
    code_run: int = 0
    not_finite: int = 0
    seconds: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    """What went wrong, each with the file that shows it."""

    def counts(self) -> dict[str, int]:
        """How many files were tried, and how often something went wrong."""
        return {"tried": self.files} | {name: getattr(self, name) for name in WRONG}

    @property
    def is_good(self) -> bool:
        return not any(getattr(self, name) for name in WRONG)


# Changing files -------------------------------------------------------------------------------------------------------------------


def absurd(rng: np.random.Generator, old: Any = None) -> Any:
    """A value that nobody would write."""
    deep: Any = []
    for _ in range(60):
        deep = [deep]
    texts = [
        "", "x" * 2000, "\0", "../../x", "kuhn_poker", "random", "dcfr", "{}", "nan", f"{CANARY}:Evil", f"{CANARY}:Evil(b=1)",
        f"2, v={CANARY}:Evil(b=1", f"{CANARY}:Evil(b=1", f"net(file={CANARY})", f"oos(playout={CANARY})", "[" * 50, "é" * 300,
    ]  # fmt: skip
    numbers = [
        0, 1, -1, 2, 3, 7, 64, 255, 256, 1000, 2**16, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30,
        -(2**31),
        -(2**63), 10**400, 0.5, -0.0, 1e-300, 1e100, 1e308, -1e308, float("nan"), float("inf"), float("-inf"),
    ]  # fmt: skip
    others: list[Any] = [None, True, False, [], {}, [[]], {"a": 1}, [0] * 1000, deep, [1, "a", None], {CANARY: 1}]
    if isinstance(old, (int, float)) and not isinstance(old, bool) and rng.random() < 0.4:
        return [old + 1, old - 1, old * 2, -old, old * 10**9, old / 2, str(old)][rng.integers(7)]
    pool = [texts, numbers, others][rng.choice(3, p=[0.3, 0.5, 0.2])]
    return pool[rng.integers(len(pool))]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a JSON value, the value itself not among them."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inside:
        yield (*path, key)
        yield from places(below, (*path, key))


def change_json(value: Any, rng: np.random.Generator) -> Any:
    """The same with something in it replaced, left out, doubled or added."""
    value = copy.deepcopy(value)
    every = list(places(value))
    if not every or rng.random() < 0.02:
        return absurd(rng)
    top = [path for path in every if len(path) == 1]
    among = top if rng.random() < 0.5 else every  # a field is as likely as all that is in it
    path = among[rng.integers(len(among))]
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    what, last = rng.random(), path[-1]
    if what < 0.7:
        holder[last] = absurd(rng, holder[last])
    elif what < 0.8:
        del holder[last]
    elif isinstance(holder, dict):
        holder[str(absurd(rng))[:100]] = holder[last] if what < 0.9 else absurd(rng)
    else:
        holder.insert(last, copy.deepcopy(holder[last]) if what < 0.9 else absurd(rng))
    return value


def change_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array of the same type with absurd content, order or length."""
    array = array.copy()
    kind, flat = array.dtype, array.reshape(-1)
    limits = np.iinfo(kind) if kind.kind in "iu" else None
    numbers = [0, 1, -1, 2, 3, 100, 2**31 - 1, 2**31, 2**63 - 1, -(2**31)] if limits else [
        0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 2.0**53, 1e30, 1e99,
    ]  # fmt: skip
    if limits:
        numbers = [min(max(n, limits.min), limits.max) for n in [*numbers, limits.min, limits.max]]
    what = rng.integers(8)
    if len(flat) == 0 or what == 0:
        return np.concatenate([flat, flat[: rng.integers(1, 9)]]) if len(flat) and rng.random() < 0.5 else flat[: len(flat) // 2]
    if what <= 3:  # one place, or some
        at = rng.integers(len(flat), size=1 if what < 3 else rng.integers(1, 20))
        with np.errstate(over="ignore"):
            flat[at] = np.array(numbers[rng.integers(len(numbers))]).astype(kind)
    elif what == 4:
        bits = flat.view(np.uint8)
        bits[rng.integers(len(bits), size=rng.integers(1, 4))] ^= np.uint8(1 << rng.integers(8))
    elif what == 5:
        with np.errstate(over="ignore"):
            flat[:] = np.array(numbers[rng.integers(len(numbers))]).astype(kind)
    elif what == 6:
        i, j = rng.integers(len(flat), size=2)
        flat[i], flat[j] = flat[j], flat[i]
    else:
        flat[:] = rng.permutation(flat)
    return array


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes flipped, cut off or put in."""
    at, what = int(rng.integers(max(len(data), 1))), rng.integers(4)
    if what == 0:
        return data[:at]
    if what == 1:
        return data[:at] + rng.bytes(int(rng.integers(1, 40))) + data[at:]
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4) if changed else 0):
        changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
    return bytes(changed)


def change_sealed(data: bytes, rng: np.random.Generator) -> bytes:
    """Another header or other arrays, with the right checksum; now and then plain damage."""
    if rng.random() < 0.05:
        return damage(data, rng)
    magic, line, content = data.split(b"\n", 2)
    header, content = json.loads(line), content[:-32]
    arrays = arrays_of(header, content)
    for _ in range(rng.integers(1, 4)):
        what = rng.random()
        if what < 0.4 and isinstance(header, dict):
            header = change_json(header, rng)
        elif what < 0.93 and arrays:
            name = list(arrays)[rng.integers(len(arrays))]
            arrays[name] = change_array(arrays[name], rng)
            if isinstance(header, dict) and rng.random() < 0.9:
                relist(header, arrays)
        elif arrays:
            name = list(arrays)[rng.integers(len(arrays))]
            arrays[name] = np.frombuffer(damage(arrays[name].tobytes(), rng), np.uint8)
    body = magic + b"\n" + dumped(header) + b"\n" + b"".join(array.tobytes() for array in arrays.values())
    return sealed(damage(body, rng) if rng.random() < 0.03 else body)


def arrays_of(header: dict[str, Any], content: bytes) -> dict[str, np.ndarray]:
    """The arrays of a sealed file of any kind."""
    if "arrays" in header:
        layout = [(name, kind, int(np.prod(shape)), shape) for name, kind, shape in header["arrays"]]
    elif "cells" in header:
        sizes = [("keys", "<u8"), ("player", "|i1"), ("count", "<i4"), ("actions", "<i4"), ("probability", "<f8")]
        layout = [
            (name, kind, n := header["cells" if name in ("actions", "probability") else "infosets"], [n]) for name, kind in sizes
        ]
    else:
        layout = [("table", "<u8", len(content) // 8, [-1, header["words"]])]
    found, begin = {}, 0
    for name, kind, count, shape in layout:
        found[name] = np.frombuffer(content, kind, count, begin).reshape(shape).copy()
        begin += found[name].nbytes
    return found


def relist(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Let the header say what the arrays are, so that they get past the first check."""
    if isinstance(header.get("arrays"), list):
        header["arrays"] = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    elif "cells" in header and "keys" in arrays:
        header["infosets"], header["cells"] = len(arrays["keys"]), len(arrays["actions"])
    elif "entries" in header:
        header["entries"] = len(arrays["table"])


def change_network(data: bytes, rng: np.random.Generator) -> bytes:
    """Other words or tensors, with the right digest; now and then plain damage."""
    import safetensors.numpy

    from unseen.networks.file import digest

    if rng.random() < 0.1:
        return damage(data, rng)
    tensors = {name: array.copy() for name, array in safetensors.numpy.load(data).items()}
    length = int.from_bytes(data[:8], "little")
    words = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unseen"])
    for _ in range(rng.integers(1, 3)):
        name = list(tensors)[rng.integers(len(tensors))]
        what = rng.random()
        if what < 0.45:
            words = change_json(words, rng) if isinstance(words, dict) else words
        elif what < 0.8:
            changed = change_array(tensors[name], rng)
            tensors[name] = changed
        elif what < 0.85:
            tensors[name] = tensors[name].T.copy()
        elif what < 0.9:
            tensors[name] = tensors[name].astype([np.float64, np.int32, np.float16][rng.integers(3)])
        elif what < 0.95 and len(tensors) > 1:
            del tensors[name]
        else:
            tensors[f"layers.{rng.integers(9)}.weight"] = tensors[name]
    if isinstance(words, dict) and rng.random() < 0.9:
        words["sha256"] = digest(tensors)
    return bytes(safetensors.numpy.save(tensors, {"unseen": dumped(words).decode()}))


def change_lines(data: bytes, rng: np.random.Generator) -> bytes:
    """JSON, one value a line: one of them changed, left out, doubled or damaged."""
    if rng.random() < 0.05:
        return damage(data, rng)
    lines = data.splitlines()
    for _ in range(rng.integers(1, 3)):
        at, what = int(rng.integers(len(lines))), rng.random()
        if what < 0.8:
            with contextlib.suppress(ValueError, RecursionError):
                lines[at] = dumped(change_json(json.loads(lines[at]), rng))
        elif what < 0.87:
            lines.insert(at, lines[at])
        elif what < 0.94 and len(lines) > 1:
            del lines[at]
        else:
            lines[at] = [b"[" * 50_000, b"", b"null", b"{}", b"\xff\xfe", b"9" * 5000][rng.integers(6)]
    return b"\n".join([*lines, b""])


def change_text(data: bytes, rng: np.random.Generator) -> bytes:
    """One JSON value over several lines."""
    return damage(data, rng) if rng.random() < 0.1 else dumped(change_json(json.loads(data), rng))


# Ways in --------------------------------------------------------------------------------------------------------------------------

Numbers = Any
"""What a file led to: numbers that must be finite."""


def form_of(spec: str) -> Any:
    from unseen import SequenceForm

    if spec not in _FORMS:
        _FORMS[spec] = SequenceForm(spec, progress=False)
    return _FORMS[spec]


_FORMS: dict[str, Any] = {}


def strategy_alone(path: Path) -> Numbers:
    from unseen import Strategy

    found = Strategy.load(path)
    return found.probability


def strategy_in_game(path: Path) -> Numbers:
    from unseen import Strategy

    form = form_of("leduc_poker")
    found = form.evaluate(Strategy.load(path, form.game))
    return [*found.best_response, found.exploitability]


def strategy_as_agent(path: Path) -> Numbers:
    from unseen import match

    return match("leduc_poker", str(path), "random", 2, workers=1, progress=False).mean


def strategy_by_command(path: Path) -> Numbers:
    return command("strategy", "leduc_poker", "--strategy", str(path), "--json", "--rows", "3")


def network_alone(path: Path) -> Numbers:
    from unseen import Network

    found = Network.load(path)
    return found.outputs(np.ones((1, found.encoding.length), np.float32))


def network_in_game(path: Path) -> Numbers:
    from unseen import Network
    from unseen.networks.whole import network_strategy

    form = form_of("kuhn_poker")
    return form.evaluate(network_strategy(Network.load(path, form.game), progress=False)).exploitability


def network_as_agent(path: Path) -> Numbers:
    from unseen import match

    return match("kuhn_poker", f"net(file={path})", "random", 2, workers=1, progress=False).mean


def values_alone(path: Path) -> Numbers:
    from unseen import Values

    found = Values.load(path)
    return [found.seconds, found.gap, 0.0 if found.stopped else found.value]


def values_at(path: Path) -> Numbers:
    from unseen import Values

    found = Values.load(path, STACKED)
    answer = found.at((0,))
    return [answer.value, *answer.mixes[0].values(), *answer.mixes[1].values()]


def values_resumed(path: Path) -> Numbers:
    from unseen import backward_induction

    return backward_induction(STACKED, workers=1, save=path, resume=True, progress=False).value


def values_by_agent(path: Path) -> Numbers:
    from unseen import match

    return match(STACKED, f"optimal(file={path})", "random", 2, workers=1, progress=False).mean


def solver_resumed(algorithm: str, game: str, evaluate: bool) -> Callable[[Path], Numbers]:
    """A way that goes on with a checkpoint for some iterations."""

    def way(path: Path) -> Numbers:
        from unseen import solve

        form = form_of(game)
        found = solve(
            form.game, algorithm, iterations=140, seconds=5.0, save=path, resume=True, progress=False, evaluate=evaluate,
            form=form if evaluate or not is_sampler(algorithm) else None,
        )  # fmt: skip
        points = [x for p in found.points if p.best_response for x in (*p.best_response, p.exploitability, p.value, p.seconds)]
        return [*points, *found.strategy.probability.tolist()]

    return way


def is_sampler(algorithm: str) -> bool:
    return "sampling" in algorithm or algorithm == "vanilla_cfr"


def solve_by_command(path: Path) -> Numbers:
    out = path.with_suffix("")
    return command(
        "solve", "kuhn_poker", "--algorithm", "outcome_sampling", "--iterations", "140", "--out", str(out), "--resume", "--json"
    )


def measure_resumed(path: Path) -> Numbers:
    from unseen import measure

    found = measure("kuhn_poker", "random", save=path, resume=True, workers=1, progress=False, form=form_of("kuhn_poker"))
    return [found.exploitability, found.seconds]


def extract_resumed(path: Path) -> Numbers:
    from unseen import extract

    found = extract("kuhn_poker", "pimc", save=path, resume=True, workers=1, progress=False)
    return found.strategy.probability


def learning_resumed(path: Path) -> Numbers:
    from unseen import learn

    found = learn("kuhn_poker", out=path.parent, iterations=1, resume=True, workers=1, progress=False)
    return [x for i in found.iterations for x in (i.seconds, i.loss)]


def learning_log(path: Path) -> Numbers:
    from unseen.learning.job import learning_figure, read_log

    rows = read_log(path)
    learning_figure("kuhn_poker", rows)
    return [x for i in rows for x in (i.seconds, i.loss)]


def solve_log(path: Path) -> Numbers:
    from unseen.run.logs import read_log
    from unseen.show.convergence import runs_figure

    run = read_log(path)
    runs_figure([run])
    return [p["exploitability"] for p in run.points]


def record_resumed(path: Path) -> Numbers:
    from unseen import tournament

    played = tournament(
        "kuhn_poker", ["random", "random"], 8, out=path.parent, resume=True, workers=1, progress=False, exploitability=False
    )
    return [row["payoff"] for row in played.record.games]


def cell(path: Path) -> Numbers:
    from unseen.reproduce.cells import _read

    _read(path)
    return ()


def cache(path: Path) -> Numbers:
    from unseen.compiling.cache import ContentCacheFile

    reader = object.__new__(ContentCacheFile)
    reader._cache_path = str(path.parent)
    reader._read(path.name)
    return ()


def command(*arguments: str) -> Numbers:
    """A command line, in this process. What it did not expect is a traceback to us."""
    from unseen.cli.common import app

    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            app(list(arguments), standalone_mode=False)
        except SystemExit:
            pass
        except Exception as error:
            if type(error).__name__ != "Exit":
                raise
    if "unexpected" in errors.getvalue() or "Traceback" in errors.getvalue():
        raise RuntimeError(errors.getvalue().strip())
    return ()


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name in its folder, how one is made, how it is changed, the ways in, and how often it is taken."""

    file: str
    make: Callable[[Path], object]
    change: Callable[[bytes, np.random.Generator], bytes]
    ways: tuple[Callable[[Path], Numbers], ...]
    weight: float = 1.0


def make_strategy(path: Path) -> None:
    from unseen import Strategy

    Strategy.random("leduc_poker", 1, progress=False).save(path)


def make_network(path: Path) -> None:
    from unseen import Network
    from unseen.networks.encoding import Encoding

    encoding, rng = Encoding("kuhn_poker"), np.random.default_rng(0)
    sizes = [encoding.length, 6, 5, 2]
    Network(encoding, [(rng.normal(size=(m, n)), rng.normal(size=n)) for m, n in pairwise(sizes)]).save(path)


def make_values(path: Path) -> None:
    from unseen import backward_induction

    backward_induction(STACKED, workers=1, progress=False).save(path)


def make_solver_checkpoint(algorithm: str, game: str) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        from unseen import solve

        solve(form_of(game).game, algorithm, iterations=120, save=path, progress=False, form=form_of(game))

    return make


def make_measure(path: Path) -> None:
    from unseen import measure

    measure("kuhn_poker", "random", save=path, workers=1, progress=False, form=form_of("kuhn_poker"))


def make_extraction(path: Path) -> None:
    from unseen import extract

    extract("kuhn_poker", "pimc", save=path, workers=1, progress=False)


def make_learning(path: Path) -> None:
    from unseen import learn

    learn("kuhn_poker", out=path.parent, iterations=1, workers=1, progress=False, **LEARNING)  # type: ignore[arg-type]


def make_record(path: Path) -> None:
    from unseen import tournament

    tournament("kuhn_poker", ["random", "random"], 8, out=path.parent, workers=1, progress=False, exploitability=False)


def make_log(path: Path) -> None:
    from unseen import solve

    solve("kuhn_poker", "dcfr", iterations=200, log=path, progress=False, form=form_of("kuhn_poker"))


def make_cell(path: Path) -> None:
    path.write_text(json.dumps({"of": ["a", 1], "found": [1.0, {"b": None}]}))


def make_cache(path: Path) -> None:
    from unseen.compiling.cache import _checksum

    content = b"\x80\x05]\x94(K\x01K\x02e."
    path.write_bytes(_checksum(path.name, content) + content)


SOLVER_KINDS = {
    f"checkpoint of {algorithm} in {game}": Kind(
        "solver.checkpoint", make_solver_checkpoint(algorithm, game), change_sealed,
        (solver_resumed(algorithm, game, True), *([solver_resumed(algorithm, game, False)] if is_sampler(algorithm) else [])),
        2.0,
    )
    for game in ("kuhn_poker", "leduc_poker") for algorithm in SOLVERS
}  # fmt: skip
KINDS = {
    "strategy": Kind(
        "a.strategy", make_strategy, change_sealed,
        (strategy_alone, strategy_in_game, strategy_as_agent, strategy_by_command), 4.0,
    ),
    "network": Kind("n.safetensors", make_network, change_network, (network_alone, network_in_game, network_as_agent), 4.0),
    "values": Kind("v.values", make_values, change_sealed, (values_alone, values_at, values_resumed, values_by_agent), 4.0),
    **SOLVER_KINDS,
    "checkpoint by command": Kind(
        "s.checkpoint", make_solver_checkpoint("outcome_sampling", "kuhn_poker"), change_sealed, (solve_by_command,), 1.0,
    ),
    "checkpoint of a measure": Kind("m.checkpoint", make_measure, change_sealed, (measure_resumed,), 2.0),
    "checkpoint of an extraction": Kind("e.checkpoint", make_extraction, change_sealed, (extract_resumed,), 2.0),
    "checkpoint of learning": Kind("checkpoint", make_learning, change_sealed, (learning_resumed,), 2.0),
    "log of learning": Kind("log.jsonl", make_learning, change_lines, (learning_log,), 1.0),
    "log of a solver": Kind("solve.log", make_log, change_lines, (solve_log,), 2.0),
    "games of a tournament": Kind("games.jsonl", make_record, change_lines, (record_resumed,), 2.0),
    "settings of a tournament": Kind("tournament.json", make_record, change_text, (record_resumed,), 1.0),
    "cell of an experiment": Kind("cell.json", make_cell, change_text, (cell,), 0.5),
    "cache": Kind("cache.nbc", make_cache, damage, (cache,), 0.5),
}  # fmt: skip


# The process that reads -----------------------------------------------------------------------------------------------------------


def watch_imports() -> None:
    """Leave a mark where a file of a user's is about to be imported, whatever its name: no text in a file may lead there."""
    from unseen import UnseenError, loading
    from unseen.arena import names

    mark = Path.cwd() / MARK

    def caught(name: str, base: type, what: str) -> Any:
        mark.touch()
        raise UnseenError(f"{what} {name!r} would have been imported.")

    loading.class_in_file = names.class_in_file = caught


def read_all(manifest: Path) -> None:
    """Read the files that a manifest lists, one line of output before and after each."""
    from unseen import UnseenError

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch_imports()
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in manifest.read_text().splitlines():
        number, kind, way, path = json.loads(line)
        say.write(json.dumps([number, NOTHING, ""]) + "\n")
        try:
            numbers = np.asarray(list(np.ravel(np.asarray(KINDS[kind].ways[way](Path(path)), np.float64))), np.float64)
            result = (LOADED, "") if np.isfinite(numbers).all() else ("not_finite", str(numbers[:9]))
        except UnseenError as error:
            result = REFUSED, str(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            result = "tracebacks", f"{type(error).__name__}: {str(error)[:300]} ({Path(where.filename).name}:{where.lineno})"
        say.write(json.dumps([number, *result]) + "\n")


class Reader:
    """Hands files to processes that read them, and sees how those end."""

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder, self.report = folder, report

    def read(self, tasks: list[tuple[str, int, Path]], seconds: float = SECONDS) -> list[tuple[str, str]]:
        """What came of each file, read in one way."""
        results: list[tuple[str, str]] = []
        while len(results) < len(tasks):
            results += self._batch(tasks[len(results) :], seconds)
        return results

    def _batch(self, tasks: list[tuple[str, int, Path]], seconds: float) -> list[tuple[str, str]]:
        """The results of one process, up to the file that ended it."""
        manifest = self.folder / "manifest"
        manifest.write_text("".join(json.dumps([k, kind, way, str(path)]) + "\n" for k, (kind, way, path) in enumerate(tasks)))
        results: list[tuple[str, str]] = []
        errors = (self.folder / "errors").open("w+b")
        process = subprocess.Popen(
            [sys.executable, __file__, "--read", str(manifest)], stdout=subprocess.PIPE, stderr=errors, cwd=self.folder,
            env={**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert process.stdout is not None
        with process, errors:
            stream, rest = process.stdout.fileno(), b""
            while len(results) < len(tasks):
                if not select.select([stream], [], [], WARM_SECONDS if not results and not rest else seconds)[0]:
                    process.kill()
                    return [*results, ("hangs", f"no answer in {seconds:.0f} seconds")]
                got = os.read(stream, 1 << 16)
                if not got:
                    break
                *lines, rest = (rest + got).split(b"\n")
                for _, what, words in map(json.loads, lines):
                    if what != NOTHING:
                        results.append((what, words))
            if len(results) < len(tasks):
                process.wait()
                errors.seek(0)
                said = errors.read()[-300:].decode(errors="replace")
                results.append(("signals", f"ended with {process.returncode} {said}"))
        return results


# All of it ------------------------------------------------------------------------------------------------------------------------


def run(minutes: float, seed: int) -> dict[str, int]:
    """Change and read files of all kinds for so many minutes; how many that were, and how often something went wrong."""
    report = fuzz(minutes, seed)
    for line, count in Counter(report.found).most_common(60):
        print(f"{count} x {line}")
    return report.counts()


def fuzz(
    minutes: float = 10.0, seed: int = 0, files: int | None = None, kinds: tuple[str, ...] = tuple(KINDS), keep: Path | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:  # fmt: skip
    """Change and read files of these kinds for so many minutes, or until there were so many files; `keep` is a folder for what is
    found."""
    report, began, rng = Report(), time.monotonic(), np.random.default_rng(seed)
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="unseen-fuzz-", dir=in_memory) as name:
        folder = Path(name)
        (folder / CANARY).write_text(f"import pathlib\npathlib.Path({str(folder / MARK)!r}).touch()\n")
        seeds = make_seeds(folder, kinds)
        reader = Reader(folder, report)
        warm = [(kind, way, seeds[kind]) for kind in kinds for way in range(len(KINDS[kind].ways))]
        before = contents(folder / "seeds")
        for (kind, way, _), (what, words) in zip(warm, reader.read(warm, WARM_SECONDS), strict=True):
            if what != LOADED:  # what is right must be read; and so that all is compiled
                report.found.append(f"{kind}, way {way}: a valid file is {what}: {words}")
                report.tracebacks += 1
        restore(folder / "seeds", before)
        weights = np.array([KINDS[kind].weight for kind in kinds])
        while time.monotonic() - began < 60 * minutes and (files is None or report.files < files):
            count = BATCH if files is None else min(BATCH, files - report.files)
            tasks = []
            for k in range(count):
                kind = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
                report.kinds[kind] = report.kinds.get(kind, 0) + 1
                place = folder / "now" / str(k)
                shutil.copytree(seeds[kind].parent, place)
                path = place / KINDS[kind].file
                path.write_bytes(changed(KINDS[kind], path.read_bytes(), rng))
                tasks.append((kind, int(rng.integers(len(KINDS[kind].ways))), path))
            originals = [path.read_bytes() for *_, path in tasks]
            for (kind, way, path), data, (what, words) in zip(tasks, originals, reader.read(tasks), strict=True):
                report.loads += 1
                setattr(report, what, getattr(report, what) + 1)
                if what not in (LOADED, REFUSED):
                    report.found.append(f"{kind}, way {way}, {what}: {words}")
                    if keep is not None:
                        keep.mkdir(parents=True, exist_ok=True)
                        (keep / f"{len(report.found)}-{what}-{way}-{path.name}").write_bytes(data)
            if (folder / MARK).exists():
                report.code_run += 1
                (folder / MARK).unlink()
                report.found.append(f"code has run, in the files before number {report.files + count}")
            report.files += count
            shutil.rmtree(folder / "now")
            if say is not None:
                say(f"{report.files} files, {report.refused} refused, {report.loaded} read, {len(report.found)} found")
    report.seconds = time.monotonic() - began
    return report


def changed(kind: Kind, data: bytes, rng: np.random.Generator) -> bytes:
    """A file of this kind with something in it changed; if that has left nothing that can be changed further, only damaged."""
    try:
        return kind.change(data, rng)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
        return damage(data, rng)


def make_seeds(folder: Path, kinds: tuple[str, ...]) -> dict[str, Path]:
    """A valid file of each kind, in a folder of its own."""
    seeds, made = {}, dict[Any, Path]()
    for k, kind in enumerate(kinds):
        place, make = folder / "seeds" / str(k), KINDS[kind].make
        if make in made:
            shutil.copytree(made[make], place)
        else:
            place.mkdir(parents=True)
            make(place / KINDS[kind].file)
            made[make] = place
        seeds[kind] = place / KINDS[kind].file
    return seeds


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def restore(folder: Path, before: dict[Path, bytes]) -> None:
    shutil.rmtree(folder)
    for path, data in before.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--files", type=int)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="a folder for files that show something")
    options.add_argument("--kinds", nargs="*", default=list(KINDS))
    options.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.read is not None:
        read_all(given.read)
        return
    minutes = given.minutes if given.files is None else 1e9
    report = fuzz(
        minutes, given.seed, given.files, tuple(given.kinds), given.keep, lambda line: print(line, file=sys.stderr, flush=True)
    )
    for line, count in Counter(report.found).most_common(60):
        print(f"{count} x {line}")
    print(json.dumps({name: value for name, value in asdict(report).items() if name != "found"}))
    sys.exit(0 if report.is_good else 1)


if __name__ == "__main__":
    main()

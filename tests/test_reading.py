"""What is read from files: regular files only, plain JSON, and checkpoints that make sense, whatever their checksum says."""

from __future__ import annotations

import os

import numpy as np
import pytest
from helpers import run_cli

import unseen
from unseen import SequenceForm, Strategy, UnseenError, solve
from unseen.errors import shortened
from unseen.run import checkpoint
from unseen.run.reading import parse_json, read_bytes, reading
from unseen.solving.algorithms import make_solver
from unseen.tabular.table import SETS, WORDS, columns, set_field

NOT_REGULAR = "it cannot be read: it is not a regular file"


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_only_regular_files_are_read(pipe, tmp_path):
    for place, words in (
        (pipe, NOT_REGULAR), ("/dev/zero", NOT_REGULAR), (tmp_path, NOT_REGULAR), (tmp_path / "none", "No such file"),
        (tmp_path / ("x" * 300), "File name too long"), ("a\0b", "null character"),
    ):  # fmt: skip
        with pytest.raises(UnseenError, match=words), reading("file"):
            read_bytes(place)
    (tmp_path / "long").write_bytes(b"x" * 11)
    with pytest.raises(UnseenError, match="it has more than 10 bytes"):
        read_bytes(tmp_path / "long", 10)


@pytest.mark.parametrize("place", ["/dev/zero", "pipe", "x" * 300])
def test_no_command_waits_for_what_is_no_file(place, pipe, tmp_path):
    place = str(pipe) if place == "pipe" else place
    beside = str(tmp_path / "pipe.checkpoint")
    if not os.path.exists(beside):
        os.mkfifo(beside)
    for args in (
        ("exploitability", "kuhn_poker", "--strategy", place), ("match", "kuhn_poker", place, "random"),
        ("match", "kuhn_poker", f"net(file={place})", "random"), ("match", "coordination", f"optimal(file={place})", "random"),
        ("info", f"{place}.py:Game"), ("info", f"{place}:Game"), ("plot", place), ("match", "xi", f"{place}.py:Agent", "random"),
        ("solve", "xi", "--iterations", "3", "--resume", "--out", str(tmp_path / "pipe")),
        ("value", "coordination", "--resume", "--out", f"{place}.values"), ("learn", "xi", "--out", place, "--resume"),
    ):  # fmt: skip
        done = run_cli(*args)
        assert done.returncode == 2, args
        assert done.stderr.count("\n") == 1, done.stderr
        assert "unexpected" not in done.stderr


def test_json_from_a_file_is_plain():
    assert parse_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    for text in ("NaN", "[-Infinity]", "1e999", "[" * 100_000, "9" * 5000, b"\xff", "{"):
        with pytest.raises(ValueError):  # noqa: PT011
            parse_json(text)


def test_messages_are_short_whatever_they_echo():
    for value in ("x" * 2000, "a b " * 500, "it's " * 400, '"' * 3000, "\\" * 5000, [1] * 3):
        assert len(str(UnseenError(f"game {value!r} is unknown, as today's games' list 'x' says."))) < 400
    plain = "the players' 'a' and the game's {} isn't " + "long " * 300
    assert shortened(plain) == plain
    for args in (("info", "x" * 2000), ("info", "kuhn_poker(cards=" + "x y" * 700), ("match", "xi", "z" * 3000, "random"),
                 ("solve", "xi", "--iterations", "1", "--algorithm", "q" * 2000)):  # fmt: skip
        done = run_cli(*args)
        assert done.returncode == 2
        assert len(done.stderr) < 1000


def a_checkpoint(path, algorithm, iterations=200):
    """A checkpoint of a solver of Kuhn poker, as a header and arrays that can be written to."""
    solve("kuhn_poker", algorithm, iterations=iterations, save=path, evaluate=False, progress=False)
    game = unseen.load("kuhn_poker")
    layout = make_solver(algorithm, game, SequenceForm(game)).layout()
    header, arrays = checkpoint.read(path, game, {}, layout)
    return {name: value for name, value in header.items() if name not in ("game", "fingerprint", "arrays")}, {
        name: array.copy() for name, array in arrays.items()
    }


def refused(path, algorithm, header, arrays, words):
    """Going on with such a checkpoint, whose checksum is right, ends in one sentence."""
    checkpoint.write(path, unseen.load("kuhn_poker"), header, arrays)
    with pytest.raises(UnseenError, match=words) as error:
        solve("kuhn_poker", algorithm, iterations=400, save=path, resume=True, progress=False)
    assert str(error.value).startswith("checkpoint ")


def test_absurd_tables_are_refused(tmp_path):
    """Each of these ended in a signal, in a walk without an end, or in numbers that are none."""
    path = tmp_path / "c"
    header, good = a_checkpoint(path, "outcome_sampling(averaging=lazy)")
    solver = make_solver("outcome_sampling(averaging=lazy)", unseen.load("kuhn_poker"), None)
    solver.restore(good, header["iterations"], header["nodes"])
    block = int(columns(solver.table).block[-1])
    seen, before = (set_field(block, getattr(solver.keeps, name)) for name in ("weight_seen", "choice_before"))
    used = int(good["size"][WORDS])

    def words(at, value, kind=np.int64):
        changed = good["words"].copy()
        changed.view(kind)[at] = value
        return {"words": changed}

    def size(at, value):
        changed = good["size"].copy()
        changed[at] = value
        return {"size": changed}

    for change, what in (
        (size(SETS, 10**6), "is not one"), (size(SETS, -1), "is not one"), (size(SETS, 3), "is not one"),
        (size(WORDS, 2**62), "is not one"), (size(WORDS, used + 1), "is not one"), (size(2, 0), "is not one"),
        (size(3, 7), "is not one"),
        ({"player": good["player"][:0]}, "is not one"), ({"player": good["player"][:100]}, "is not one"),
        ({"player": good["player"] + 2}, "is not one"), ({"words": good["words"][:used]}, "is not one"),
        ({"words": good["words"][:0]}, "is not one"), (words(-1, 5), "is not one"),
        (words(2 * block + 2, 2**31 - 1, np.int32), "is not one"), (words(2 * block + 2, 0, np.int32), "is not one"),
        (words(2 * block + 3, 1, np.int32), "is not one"), (words(2 * (block + 4), 9, np.int32), "is not one"),
        (words(block, good["words"][columns(solver.table).block[0]]), "twice"), (words(block + 2, np.nan, np.float64), "cannot be"),
        (words(block + 2, np.inf, np.float64), "cannot be"), (words(seen, -1.0, np.float64), "cannot be"),
        (words(before, 10**9), "cannot be"), (words(before, -5), "cannot be"), (words(before, block + 5), "cannot be"),
        ({"size": good["size"][:3]}, "its array 'size'"), ({"size": good["size"].astype(np.float64)}, "its array 'size'"),
        ({"words": good["words"].reshape(2, -1)}, "its array 'words'"), ({"slots": good["player"]}, "does not hold what is needed"),
    ):  # fmt: skip
        refused(path, "outcome_sampling(averaging=lazy)", header, good | change, what)
    drawn, external = a_checkpoint(path, "external_sampling")
    solver = make_solver("external_sampling", unseen.load("kuhn_poker"), None)
    solver.restore(external, drawn["iterations"], drawn["nodes"])
    external["words"][columns(solver.table).block - 1 - solver.keeps.drawn] = 10**6
    refused(path, "external_sampling", drawn, external, "cannot be")


def test_actions_in_a_table_are_compared_with_the_game(tmp_path):
    """Rules do not look at what they are asked to play, so a set of another game's actions must not get that far."""
    path = tmp_path / "c"
    header, good = a_checkpoint(path, "outcome_sampling")
    solver = make_solver("outcome_sampling", unseen.load("kuhn_poker"), None)
    solver.restore(good, header["iterations"], header["nodes"])
    good["words"][columns(solver.table).block] += 1  # other keys: all is well, but for what the sets are
    checkpoint.write(path, solver.game, header, good)
    solve("kuhn_poker", "outcome_sampling", iterations=400, save=path, resume=True, progress=False)
    header, good = a_checkpoint(tmp_path / "d", "outcome_sampling")
    blocks = columns(solver.table).block
    assert (good["words"].view(np.int32)[2 * blocks + 2] == 2).all()
    solver.restore(good, header["iterations"], header["nodes"])
    solver.table.halves[2 * (blocks + 4)] = 1  # both actions the same, which only a comparison with the game shows
    with pytest.raises(UnseenError, match="if it is not the checkpoint that is wrong"):
        solver.run(100)


def test_absurd_sequence_solvers_are_refused(tmp_path):
    path = tmp_path / "c"
    header, good = a_checkpoint(path, "dcfr")
    for name, value in (
        ("regret0", np.nan),
        ("score1", np.inf),
        ("regret1", 1e200),
        ("plan0", 2.0),
        ("behaviour1", -1.0),
        ("average0", 7.0),
    ):
        changed = good[name].copy()
        changed[-1] = value
        refused(path, "dcfr", header, good | {name: changed}, "its numbers are not those of 200 iterations|its array")
    refused(path, "dcfr", header, good | {"average0": 0 * good["average0"]}, "not those of 200 iterations")
    refused(path, "dcfr", header, good | {"plan0": good["plan0"][:-1]}, "its array 'plan0'")
    for wrong in (
        {"iterations": -1}, {"iterations": 2**64}, {"iterations": 1.5}, {"nodes": None}, {"seconds": "1"}, {"seconds": -1.0},
        {"points": {}}, {"points": [{}]}, {"points": [None]}, {"points": [{**header["points"][-1], "iterations": 201}]},
        {"points": [{**header["points"][-1], "value": "x"}]}, {"points": [{**header["points"][-1], "exploitability": 1.0}]},
    ):  # fmt: skip
        refused(path, "dcfr", header | wrong, good, "does not say how far the solver had come")


def test_time_before_a_resume_does_not_set_the_pace(tmp_path):
    """A file that says that 10^15 iterations took no time had the next ones done without looking at the limits."""
    header, good = a_checkpoint(tmp_path / "c", "outcome_sampling")
    game = unseen.load("kuhn_poker")
    checkpoint.write(tmp_path / "c", game, header | {"iterations": 10**15, "seconds": 1e-9, "points": []}, good)
    found = solve(game, "outcome_sampling", seconds=0.3, save=tmp_path / "c", resume=True, progress=False)
    assert found.last.iterations < 10**15 + 10**9


def test_arrays_that_are_not_there_are_refused(tmp_path):
    path, game = tmp_path / "c", unseen.load("kuhn_poker")
    header, good = a_checkpoint(path, "dcfr")
    layout = checkpoint.like(good)
    for listed in (
        None, 5, [5], [["a"]], [["a", "<f8", [-1]]], [["a", "<f8", [2**53, 2**53]]], [["a", "|O", [1]]],
        [["a", "<f8", [0, 2**53]]], [["a", "<f8", [1] * 99]], [["a", "<f8", [1]]],
    ):  # fmt: skip
        checkpoint.write(path, game, header | {"arrays": listed}, good)
        with pytest.raises(UnseenError, match="does not list the arrays that it holds"):
            checkpoint.read(path, game, {}, layout)


def test_a_bound_on_memory_also_holds_for_algorithms_that_sample():
    with pytest.raises(UnseenError, match=r"takes more than 0.0002 GB of memory, its bound \(see --memory\); that was clear after"):
        solve("leduc_poker(ranks=6)", "outcome_sampling", iterations=20_000, evaluate=False, memory=200_000, progress=False)


def test_a_strategy_of_a_game_of_ones_own_needs_the_game(tmp_path):
    class Own(type(unseen.load("kuhn_poker"))):
        name = "own"

    Strategy.uniform(Own()).save(tmp_path / "s")
    with pytest.raises(UnseenError, match=r"not a game of the library; pass the game: Strategy.load\(path, game\)"):
        Strategy.load(tmp_path / "s")
    assert Strategy.load(tmp_path / "s", Own()).game == Own()

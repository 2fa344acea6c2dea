"""Compiled classes: the cache never runs stale code, errors name the rule, and plain Python agrees."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, run_process
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import event

from unseen import Game, RuleError, SequenceForm, enumerate_game, load, playouts, solve_exactly
from unseen.compiling import as_python, kernel, numba_type, piece
from unseen.compiling.bits import bit_count, nth_bit
from unseen.engine import extend_key
from unseen.enumeration.walk import walk
from unseen.games.goofspiel import Goofspiel, IIGoofspiel, PDGoofspiel
from unseen.games.kuhn_poker import KuhnPoker
from unseen.games.matrix_games import MatchingPennies

GUESS = """
import numpy as np
from unseen import PUBLIC, TERMINAL, Game
{imports}

class Guess(Game):
    state = np.dtype([("moves", "i1"), ("choice", "i1", (2,))])
    num_actions = 2
    max_length = 2

    def start(self, s):
        s.moves = 0
        s.choice[0] = 0
        s.choice[1] = 0

    def player(self, s):
        return TERMINAL if s.moves == 2 else s.moves

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def apply(self, s, a, tell):
        s.choice[s.moves] = a
        s.moves += 1
        {tell}

    def utility(self, s, who):
        u = {win} if s.choice[0] == s.choice[1] else 0.0
        return u if who == 0 else -u
"""


def value(file: Path, **env: str) -> float:
    done = run_process("value", f"{file}:Guess", "--json", **env)
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout)["value"])


def won(file: Path) -> float:
    """What the first player wins in random games, in a process of its own: the same games each time."""
    command = [sys.executable, "-c", "import sys, unseen; print(unseen.playouts(sys.argv[1], 100, seed=1).mean)", f"{file}:Guess"]
    return float(subprocess.run(command, capture_output=True, text=True, cwd=file.parent, check=True).stdout)


def test_an_edited_rule_is_what_runs(tmp_path):
    file = tmp_path / "guess.py"
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    file.write_text(GUESS.format(imports="", tell="pass", win="2.0"))
    assert value(file, **cache) == pytest.approx(1.0)
    before = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert before
    assert value(file, **cache) == pytest.approx(1.0)
    assert sorted((tmp_path / "cache").rglob("*.nbc")) == before, "the second run compiled again"
    file.write_text(GUESS.format(imports="", tell="pass", win="8.0"))
    assert value(file, **cache) == pytest.approx(4.0)
    file.write_text(GUESS.format(imports="", tell="tell[PUBLIC] = a + 1", win="8.0"))
    assert value(file, **cache) == pytest.approx(0.0)


@pytest.mark.parametrize(("imports", "win", "file", "before", "after"), [
    ("from stakes import STAKE", "STAKE", "stakes.py", "STAKE = 2.0", "STAKE = 6.0"),
    ("import stakes", "stakes.STAKE", "stakes.py", "STAKE = 2.0", "STAKE = 6.0"),
    ("from rules.stakes import STAKE", "STAKE", "rules/stakes.py", "STAKE = 2.0", "STAKE = 6.0"),
    ("STAKES = np.loadtxt('stakes.txt')", "STAKES[1]", "stakes.txt", "1 2", "1 6"),
])  # fmt: skip
def test_edited_numbers_beside_the_game_count(tmp_path, imports, win, file, before, after):
    (tmp_path / "rules").mkdir()
    game, beside = tmp_path / "guess.py", tmp_path / file
    game.write_text(GUESS.format(imports=imports, tell="pass", win=win))
    beside.write_text(before + "\n")
    first = won(game)
    beside.write_text(after + "\n")
    assert won(game) == pytest.approx(3 * first)


def test_classes_of_one_factory_have_their_own_code():
    def make(number: int, stake: float) -> type[Game]:
        class Made(MatchingPennies):
            num_actions = number
            win = stake

            def payoff(self, a, b):
                return self.win * scale if a == b else 0.0

        scale = 2.0
        return Made

    for number, stake in ((2, 1.0), (3, 1.0), (3, 9.0)):
        game = make(number, stake)()
        assert enumerate_game(game).histories == 1 + number + number**2
        assert solve_exactly(SequenceForm(game)).value == pytest.approx(2 * stake / number)
    assert numba_type(make(2, 1.0)) is numba_type(make(2, 1.0))


def test_a_file_edited_in_the_same_process(tmp_path):
    file, other = tmp_path / "guess.py", tmp_path / "other"
    other.mkdir()
    file.write_text(GUESS.format(imports="from stakes import STAKE", tell="pass", win="STAKE"))
    (other / "guess.py").write_text(file.read_text())
    (tmp_path / "stakes.py").write_text("STAKE = 2.0\n")
    (other / "stakes.py").write_text("STAKE = 4.0\n")
    values = [solve_exactly(SequenceForm(f"{path}:Guess")).value for path in (file, other / "guess.py")]
    assert values == pytest.approx([1.0, 2.0])
    file.write_text(GUESS.format(imports="", tell="pass", win="8.0"))
    assert solve_exactly(SequenceForm(f"{file}:Guess")).value == pytest.approx(4.0)


def test_an_edited_module_beside_the_game_counts_too(tmp_path):
    file, beside = tmp_path / "guess.py", tmp_path / "stakes.py"
    file.write_text(GUESS.format(imports="from stakes import stake", tell="pass", win="stake()"))
    beside.write_text("from unseen import piece\n\n@piece\ndef stake():\n    return 2.0\n")
    first = won(file)
    beside.write_text("from unseen import piece\n\n@piece\ndef stake():\n    return 6.0\n")
    assert won(file) == pytest.approx(3 * first)


def test_an_edited_kernel_of_ones_own_is_what_runs(tmp_path):
    file, beside = tmp_path / "mine.py", tmp_path / "other.py"

    def run() -> str:
        command = [sys.executable, "-c", "import mine; print(mine.f(1))"]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True).stdout.strip()

    for constant, factor, want in ((10, 2, "12"), (10, 2, "12"), (20, 2, "22"), (20, 3, "23")):
        beside.write_text(f"from unseen import piece\n\n@piece\ndef g(x):\n    return x * {factor}\n")
        file.write_text(f"from unseen import kernel\nfrom other import g\n\n@kernel\ndef f(x):\n    return g(x) + {constant}\n")
        assert run() == want


def test_processes_that_compile_at_once_do_not_mix_up_their_games(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    want = {"kuhn_poker": 58, "xi": 65, "coordination": 11}
    for _ in range(2):  # cold together, then from the cache
        command = [sys.executable, "-m", "unseen", "info", "--json"]
        running = {name: subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True, env=env) for name in want}
        for name, process in running.items():
            assert json.loads(process.communicate()[0])["histories"] == want[name]


def test_a_damaged_cache_file_is_compiled_anew(tmp_path):
    """Machine code with a flipped bit would end in a signal, and so would that of another kernel under this name."""
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run_process("info", "kuhn_poker", "--json", **env).returncode == 0
    files = sorted(tmp_path.rglob("*.nbc"))
    whole = [file.read_bytes() for file in files]
    assert len(whole) > 1
    for k, (file, data) in enumerate(zip(files, whole, strict=True)):
        flipped = data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
        file.write_bytes((flipped, whole[k - 1], data[:100])[k % 3])
    assert json.loads(run_process("info", "kuhn_poker", "--json", **env).stdout)["histories"] == 58
    assert [len(file.read_bytes()) > 100 for file in files] == [True] * len(files)


class Misspelt(KuhnPoker):
    def utility(self, s, who):
        if who == 0:
            return self.stakes * 1.0
        return 0.0


class MixedTypes(KuhnPoker):
    def player(self, s):
        return self.helper(s)

    def helper(self, s):
        who = (1, 2)
        if s.moves:
            who = "second"
        return who


class MisspeltField(KuhnPoker):
    def utility(self, s, who):
        return 1.0 if s.crad[0] else 2.0


class Listing(KuhnPoker):
    def player(self, s):
        moves = [s.moves, 1]
        return len(moves)


class Unmarked(KuhnPoker):
    def utility(self, s, who):
        return unmarked(s)


def unmarked(s):
    return 1.0


class Allocating(KuhnPoker):
    def actions(self, s, out):
        table = np.zeros(2)
        return len(table)


@pytest.mark.parametrize(("cls", "method", "line_text"), [
    (Misspelt, "utility", "self.stakes"), (MixedTypes, "helper", "return who"), (Allocating, "actions", "np.zeros(2)"),
    (MisspeltField, "utility", "s.crad"), (Listing, "player", "moves = [s.moves, 1]"), (Unmarked, "utility", "unmarked(s)"),
])  # fmt: skip
@pytest.mark.usefixtures("untried")
def test_an_error_names_class_method_and_line(cls, method, line_text):
    with pytest.raises(RuleError) as caught:
        enumerate_game(cls())
    (first,) = str(caught.value).splitlines()
    assert "Numba cannot compile it" not in first or cls is MixedTypes, "common mistakes are put in plain words"
    assert first.startswith(f"{cls.__name__}.{method}, line ")
    line = int(first.split("line ")[1].split(":")[0])
    assert line_text in Path(__file__).read_text().splitlines()[line - 1]
    assert caught.value.details, "the compiler's text is missing"


def test_classes_share_no_code():
    class Doubled(KuhnPoker):
        def utility(self, s, who):
            return 2.0 * (s.card[0] - s.card[1]) * (1 - 2 * who)

    assert playouts(Doubled(), 1000).mean != playouts(KuhnPoker(), 1000).mean


@kernel
def scaled(game, x):
    return twice(x) * game.cards + game.num_actions


@piece
def twice(x):
    return 2 * x


def test_parameters_and_class_constants_are_readable_in_kernels():
    assert scaled(KuhnPoker(cards=7), 3) == 2 * 3 * 7 + 2
    assert as_python(scaled)(KuhnPoker(cards=7), 3) == 2 * 3 * 7 + 2


def test_kernels_run_the_same_as_plain_python():
    assert counted_with(walk) == counted_with(as_python(walk))


def counted_with(walk):
    from unseen.enumeration.infosets import new_recall, new_sets
    from unseen.enumeration.walk import BEFORE_THE_START, COUNT, DEPTH, new_sink, new_stack

    game = load("kuhn_poker")
    recall, sets, counters = new_recall(), new_sets(), np.zeros(6, np.int64)
    counters[DEPTH] = BEFORE_THE_START
    arrays = (
        new_stack(game),
        recall,
        sets,
        new_sink(COUNT),
        None,
        counters,
        np.zeros(8, np.int64),
        np.zeros(3, np.int64),
    )
    status = walk(game, *arrays, np.zeros(0, np.int64), -1, 10**6)
    return status, counters.tolist(), recall.key[: recall.size[0]].tolist(), sets.actions.tolist()


def test_keys_of_plain_python_are_those_of_machine_code():
    @kernel
    def compiled(key, own, public, private):
        return extend_key(key, own, public, private)

    assert int(compiled(np.uint64(5), 1, 2, 3)) == int(as_python(extend_key)(np.uint64(5), 1, 2, 3))


def test_everything_runs_without_compilation():
    done = run_process("info", "kuhn_poker", "--json", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["histories"] == 58
    assert "compiling" not in done.stderr
    done = run_process("exploitability", "leduc_poker(ranks=2, suits=2)", "--strategy", "uniform", "--json", NUMBA_DISABLE_JIT="1")
    with_jit = run_process("exploitability", "leduc_poker(ranks=2, suits=2)", "--strategy", "uniform", "--json")
    assert json.loads(done.stdout)["exploitability"] == pytest.approx(json.loads(with_jit.stdout)["exploitability"], abs=1e-12)


def test_a_class_typed_at_a_prompt_works():
    source = (
        GUESS.format(imports="", tell="pass", win="2.0")
        + "\nfrom unseen import enumerate_game\nprint(enumerate_game(Guess()).histories)"
    )
    done = subprocess.run([sys.executable, "-"], input=source, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.strip() == "7", done.stderr


@pytest.mark.parametrize("name", ["width", "spec", "settings", "player", "origin"])
def test_parameters_cannot_hide_what_every_game_has(name):
    from unseen import UnseenError

    with pytest.raises(UnseenError, match=f"a parameter cannot be called '{name}'"):
        type("Hiding", (KuhnPoker,), {"__annotations__": {name: int}, name: 3})


def test_a_subclass_with_other_defaults_is_not_compiled_again():
    assert numba_type(PDGoofspiel) is numba_type(IIGoofspiel) is numba_type(Goofspiel)
    assert numba_type(Unlisted) is not numba_type(Goofspiel)
    assert playouts("pd_goofspiel(cards=3)", 100).largest > playouts("wl_goofspiel(cards=3)", 100).largest == 1.0


class Unlisted(Goofspiel):
    """Its actions have to be listed."""

    actions = Goofspiel.actions


def test_playouts_are_the_same_with_or_without_a_list_of_actions():
    assert Goofspiel.knows_bits
    assert not Unlisted.knows_bits
    assert playouts(Goofspiel(cards=5), 2000, seed=3) == playouts(Unlisted(cards=5), 2000, seed=3)


@kernel
def count_and_find(bits, places):
    for n in range(bit_count(bits)):
        places[n] = nth_bit(bits, n)
    return bit_count(bits)


@settings(deadline=None)  # the first one is compiled
@given(st.sets(st.integers(0, 62)))
def test_bits_are_counted_and_found(members):
    places = np.zeros(63, np.int64)
    count = count_and_find(sum(1 << a for a in members), places)
    assert places[:count].tolist() == sorted(members)


def test_unusual_constants():
    class Unusual(KuhnPoker):
        half = np.float64(0.5)

        def utility(self, s, who):
            return self.half if who == 0 else -self.half

    assert playouts(Unusual(), 10).mean == 0.5


def test_state_fields_must_be_usable():
    from unseen import UnseenError

    with pytest.raises(UnseenError, match="'round' cannot be used"):
        type("Bad", (Game,), {"state": np.dtype([("round", "i1")])})
    with pytest.raises(UnseenError, match="must hold numbers"):
        type("Bad", (Game,), {"state": np.dtype([("word", "U3")])})
    for field in (("values", "i1"), ("flags", "?", (2,))):
        with pytest.raises(UnseenError, match="cannot be used"):
            type("Bad", (Game,), {"state": np.dtype([field])})
    with pytest.raises(UnseenError, match="must be a NumPy record type"):
        type("Bad", (Game,), {"state": 3})


def test_ctrl_c_while_the_compiler_works_comes_when_that_is_done(capsys):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where tests run in the background
    event.start_event("numba:compiler_lock")
    event.start_event("numba:compiler_lock")
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    event.end_event("numba:compiler_lock")
    with pytest.raises(KeyboardInterrupt):
        event.end_event("numba:compiler_lock")
    assert capsys.readouterr().err.count("as soon as this is compiled") == 1
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_what_is_compiled_is_said_with_the_time_it_took_last(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "unseen").mkdir()
    notice = importlib.import_module("unseen.compiling.notice")  # the package has an object of that name
    args = (numba_type(KuhnPoker),)
    assert (
        notice.sentence(walk.__wrapped__, args) == "compiling the walk over all histories for KuhnPoker, which is kept on disk..."
    )
    notice.remember(notice.name_of(walk.__wrapped__), 2.3)
    assert notice.sentence(walk.__wrapped__, args).endswith("on disk (it took 2.3 s last time)...")
    (tmp_path / "unseen" / "compile_seconds.json").write_text('{"a": "b", "c": -1}')
    assert notice.known_seconds() == {}

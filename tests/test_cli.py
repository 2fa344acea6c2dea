"""The command line as people and programs use it."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import pytest
from helpers import ROOT, run_cli, run_process

from unseen import Strategy

SMUGGLER = "examples/smuggler.py:Smuggler"


def invoke(*args: str) -> dict:
    done = run_cli(*args, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_json_has_the_promised_names():
    info = invoke("info", "kuhn_poker")
    assert (info["histories"], info["terminals"], info["infosets"], info["max_length"]) == (58, 30, [6, 6], 5)
    assert info["m_values"] == pytest.approx([2 * 3**0.5, 6**0.5])
    assert invoke("value", "kuhn_poker")["value"] == pytest.approx(-1 / 18, abs=1e-9)
    found = invoke("exploitability", "kuhn_poker", "--strategy", "uniform")
    assert found["exploitability"] == pytest.approx(sum(found["best_response"]))
    assert invoke("exploitability", "kuhn_poker", "--strategy", "uniform", "--streamed")["exploitability"] == pytest.approx(
        found["exploitability"], abs=1e-12
    )
    assert {row["name"] for row in invoke("games")["games"]} >= {"kuhn_poker", "xx"}
    assert invoke("check", "xi")["ok"]
    assert invoke("playthrough", "xi", "--seed", "3") == invoke("playthrough", "xi", "--seed", "3")
    assert invoke("strategy", "xi", "--rows", "2")["infosets"][0]["probabilities"] == {"0": 0.5, "1": 0.5}
    assert {m["what"] for m in invoke("bench", "kuhn_poker")["measurements"]} >= {"random playouts", "enumeration, one thread"}


@pytest.mark.parametrize("args", [
    ("games",), ("info", "xi"), ("check", "xi"), ("playthrough", "xi"), ("value", "xi"), ("strategy", "xi"), ("bench", "xi"),
    ("exploitability", "xi", "--strategy", "uniform"), ("solve", "xi", "--iterations", "9"),
])  # fmt: skip
def test_every_command_speaks_to_people_too(args):
    done = run_cli(*args)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 80
    assert run_cli(args[0], "--help").returncode == 0


def test_solve_save_and_measure_a_game_of_ones_own(tmp_path):
    file, picture = tmp_path / "s.strategy", tmp_path / "s.png"
    assert invoke("check", SMUGGLER)["exhaustive"]
    assert invoke("info", f"{SMUGGLER}(values=6)")["infosets"] == [6, 6]
    value = invoke("value", SMUGGLER, "--out", str(file), "--picture", str(picture))
    assert picture.stat().st_size > 1000
    assert invoke("exploitability", SMUGGLER, "--strategy", str(file))["exploitability"] == pytest.approx(0.0, abs=1e-9)
    assert value["best_response"][0] == pytest.approx(value["value"], abs=1e-9)


def bad_inputs(folder):
    Strategy.random("xi").save(folder / "xi.strategy")
    data = (folder / "xi.strategy").read_bytes()
    (folder / "cut.strategy").write_bytes(data[:-9])
    (folder / "text.strategy").write_text("hello")
    (folder / "raises.py").write_text("1 / 0\n")
    (folder / "syntax.py").write_text("class :\n")
    (folder / "index.py").write_text((ROOT / "examples/smuggler.py").read_text().replace("out[k] = k", "out[k + 9] = k"))
    return [
        (("info", "kuhn_pokr"), "did you mean 'kuhn_poker'"),
        (("info", "kuhn_poker(cards=0)"), "cards is 0, but must be a whole number from 2"),
        (("exploitability", "kuhn_poker", "--strategy", str(folder / "none")), "there is no such file, and it is not 'uniform'"),
        (("exploitability", "xi", "--strategy", str(folder / "text.strategy")), "not a strategy file"),
        (("exploitability", "xi", "--strategy", str(folder / "cut.strategy")), "cut off or damaged"),
        (("exploitability", "kuhn_poker", "--strategy", str(folder / "xi.strategy")), "it is for xi, not for kuhn_poker"),
        (("info", f"{folder}/raises.py:Game"), "does not import: ZeroDivisionError"),
        (("info", f"{folder}/syntax.py:Game"), "does not import: SyntaxError"),
        (("info", f"{folder}/index.py:Smuggler"), "out has room for 4 actions"),
        (("value", "xi", "--out", f"{folder}/no/such/place"), "cannot write"),
        (("value", "xi", "--out", "x" * 300), "cannot write"),
        (("exploitability", "xi", "--strategy", "x" * 300), "there is no such file"),
        (("info", "x" * 300 + ".py:Game"), "there is no file"),
        (("value", "two\nlines"), "game 'two"),
        (("plot", "two\nlines"), "it cannot be read"),
        (("value", "xi", "--picture", f"{folder}/picture.txt"), "name a file that ends in .png"),
    ]


def test_bad_input_gets_one_sentence_and_code_2(tmp_path):
    for args, words in bad_inputs(tmp_path):
        done = run_cli(*args)
        assert done.returncode == 2, (args, done.stderr)
        message = re.sub(r"compiling.*\n", "", done.stderr)
        assert words in message
        assert "Traceback" not in message
        assert message.startswith("unseen: ")
        assert message.count("\n") == 1, message
        assert done.stdout == ""


def test_what_a_users_file_prints_is_not_a_result(tmp_path):
    file = tmp_path / "loud.py"
    file.write_text("print('hello')\n" + (ROOT / "examples/smuggler.py").read_text())
    done = run_cli("info", f"{file}:Smuggler", "--json")
    assert json.loads(done.stdout)["histories"] == 53
    file.write_text("import sys\nsys.exit(0)\n")
    done = run_cli("info", f"{file}:Smuggler", "--json")
    assert done.returncode == 2
    assert "does not import: SystemExit" in done.stderr


def test_a_game_behind_a_link_may_have_any_name(tmp_path):
    (tmp_path / "game").write_text((ROOT / "examples/smuggler.py").read_text())
    (tmp_path / "link.py").symlink_to(tmp_path / "game")
    assert invoke("playthrough", f"{tmp_path}/link.py:Smuggler")["game"] == f"{tmp_path}/link.py:Smuggler(values=4, apology=1)"


def test_ctrl_c_in_a_callback_is_not_lost():
    """Python drops exceptions that are raised there."""
    source = """
import signal, sys, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)
from unseen import cli
class Thing: pass
def app(**options):
    thing = Thing()
    kept = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    try:
        while True:
            pass
    except KeyboardInterrupt:
        sys.exit(130)
cli.app = app
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_terminal_without_the_characters():
    done = run_process("playthrough", "liars_dice", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


def test_debug_shows_the_traceback():
    done = run_process("info", "kuhn_pokr", "--debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_a_faulty_game_exits_with_code_1(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text((ROOT / "examples/smuggler.py").read_text().replace("return u if who == 0 else -u", "return u"))
    done = run_cli("check", f"{file}:Smuggler", "--json")
    assert done.returncode == 1
    assert "do not sum to zero" in json.loads(done.stdout)["faults"][0]["message"]


def test_json_is_alone_on_standard_output():
    done = run_cli("info", "one_card_poker", "--json")
    assert json.loads(done.stdout)["infosets"] == [1000, 1000]


INTERRUPTED = """
import os, signal
from unseen import cli
from unseen.run import progress
import sys
sys.stderr.isatty = lambda: True  # as if a person was watching
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored if the tests run in the background
progress.ProgressBar.__call__ = lambda self, done, note='': os.kill(os.getpid(), signal.SIGINT)
cli.main()
"""


def test_ctrl_c_stops_cleanly():
    """Interrupted in the middle of a walk, whatever the speed of the machine."""
    command = [sys.executable, "-c", INTERRUPTED, "info", "one_card_poker", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "stopped" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_help_has_every_command_in_a_group_in_whole_sentences():
    from unseen.cli import common

    listed = [name for names in common.GROUPS.values() for name in names]
    registered = [command.callback.__name__ for command in common.app.registered_commands]
    assert sorted(listed) == sorted(registered)
    done = run_process("--help", COLUMNS="80")
    assert "..." not in done.stdout.partition("Options")[2]
    assert all(f"\n{group}:\n" in done.stdout for group in common.GROUPS)
    assert max(map(len, done.stdout.splitlines())) <= 80
    for command in common.app.registered_commands:
        sentence = common.first_sentence(inspect.getdoc(command.callback))
        assert f"  {command.callback.__name__.ljust(14)}  {sentence}\n" in done.stdout, "one that fits on a line"


@pytest.mark.parametrize(("typed", "words"), [
    ("unseen inf", ["info"]),
    ("unseen info ku", ["kuhn_poker"]),
    ("unseen info examples/sm", ["examples/smuggler.py"]),
    ("unseen solve xi --algorithm out", ["outcome_sampling"]),
    ("unseen match xi vr", ["vr_oos"]),
])  # fmt: skip
def test_the_shell_completes(typed, words):
    done = run_process(_UNSEEN_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(typed.count(" ")))
    assert done.stdout.split() == words, done.stderr

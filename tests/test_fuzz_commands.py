"""The fuzzer of command lines: a short run of it, and that it notices what it is for."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from helpers import ROOT

sys.path.insert(0, str(ROOT))

from fuzz import commands
from unseen.cli import app


def test_every_bad_end_is_noticed():
    assert commands.verdict(0, "") is None
    assert commands.verdict(2, "unseen: agent is 'x', but must be another.\n") is None
    assert commands.verdict(130, "unseen: stopped.\n") is None
    for code, errors, what in (
        ("ZeroDivisionError: here", "", "tracebacks"), (0, "Traceback (most recent call last):\n", "tracebacks"),
        (7, "", "other exit codes"), (2, "what is wrong cannot be said", "bad messages"), (2, "", "bad messages"),
        (2, f"unseen: {'x' * 2000}.\n", "bad messages"), (2, "unseen: a\nunseen: b\n", "bad messages"),
        (2, "unseen: unexpected KeyError: 'x'; run again with --debug to see where.", "unexpected errors"),
    ):  # fmt: skip
        assert commands.verdict(code, errors)[0] == what


def test_every_harm_to_files_is_noticed(tmp_path):
    commands.make_folder(tmp_path / "clean")
    place = tmp_path / "place"

    def harm_of(deed, line=()):
        commands.renew(tmp_path / "clean", place)
        deed()
        return commands.harm(place, list(line))

    assert harm_of(lambda: None) == ([], [])
    assert harm_of(lambda: (place / "ours.png").write_text("ours")) == ([], [])
    assert harm_of(lambda: (place / "link").write_text("x"), ["--force", "link"]) == (["canary"], [])
    assert harm_of(lambda: (place / "dangling").write_text("x")) == (["nowhere"], [])
    assert harm_of(lambda: (place / "link.png").unlink()) == (["link.png"], [])
    assert harm_of(lambda: (place / "pipe").unlink()) == (["pipe"], [])
    assert harm_of(lambda: (place / "folder" / "x").write_text("x")) == (["folder"], [])
    assert harm_of(lambda: (place / "empty").write_text("x")) == (["empty"], [])
    assert harm_of(lambda: (place / "empty").write_text("x"), ["--force", "./empty"]) == ([], [])
    assert harm_of(lambda: (place / ".unseen-1.tmp").write_text("x")) == ([], [str(place / ".unseen-1.tmp")])


def misbehaves() -> None:
    """A main program that does something else each time; the first folder that is not renewed knows how often it was called."""
    turns = Path("../turns")
    turn = int(turns.read_text()) if turns.exists() else 0
    turns.write_text(str(turn + 1))
    if turn == 0:
        raise ZeroDivisionError
    if turn == 1:
        Path("link").write_text("through a link")
    if turn == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    while turn == 3:
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(60.0)
    if turn == 4:
        try:
            time.sleep(60.0)
        except KeyboardInterrupt:
            sys.exit(130)


def test_children_that_die_or_hang(monkeypatch):
    monkeypatch.setattr(commands, "LIMIT_SECONDS", 1.0)
    monkeypatch.setattr(commands, "GRACE_SECONDS", 5.0)
    said = []
    fuzzer = commands.Fuzzer(0, "test_fuzz_commands:misbehaves", say=said.append)
    found = fuzzer.run(0, 6)
    wrong = {what: count for what, count in found.items() if count and what != "tried"}
    assert wrong == {"tracebacks": 1, "files changed": 1, "signals": 1, "hangs": 1}
    assert found["tried"] == 6
    assert fuzzer.stopped == 2
    assert [text.split(",")[0] for text in said] == ["tracebacks", "files changed", "signals", "hangs"]


def test_lines_depend_on_the_seed_alone_and_try_every_option():
    known = commands.commands_of(app)
    lines = commands.lines_of(3, 0, 10_000, known)
    assert lines[100:110] == commands.lines_of(3, 100, 110, known)
    assert lines[:10] != commands.lines_of(4, 0, 10, known)
    used = {(line[0], word) for line in lines for word in line}
    for name, parameters in known.items():
        for parameter in parameters:
            if parameter.param_type_name == "option" and parameter.name != "debug":
                assert any((name, option) in used for option in parameter.opts), (name, parameter.name)


def test_a_short_run():
    said = []
    found = commands.Fuzzer(0, say=said.append).run(0, 40)
    assert found.pop("tried") == 40
    assert not any(found.values()), "\n".join(said)

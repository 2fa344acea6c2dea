"""No way into compiled code skips the trial games; a faulty game gets an error, never a signal, never a hang."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import faulty_games
import pytest
from helpers import ROOT

import unseen


def test_every_public_name_is_known():
    """A new one must be taken through the faulty games, or be said to take none."""
    entries = {name.split(",")[0] for name in faulty_games.ENTRIES}
    assert entries | faulty_games.NO_ENTRIES == set(unseen.__all__)
    assert not entries & faulty_games.NO_ENTRIES


@pytest.fixture(scope="module")
def rows():
    done = subprocess.run([sys.executable, Path(faulty_games.__file__)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_faulty_games_are_refused_everywhere(rows):
    seen = {(cls, name) for cls, name, _ in rows}
    assert seen >= {(cls.__name__, name) for cls in faulty_games.FAULTY for name in faulty_games.ENTRIES}
    assert seen >= {(f"Deep, {fault}", name) for fault in faulty_games.HIDDEN_FAULTS for name in faulty_games.HIDDEN}
    for cls, name, outcome in rows:
        assert outcome.startswith("refused: "), (cls, name, outcome)
        if cls.startswith("Deep"):
            words = ("broke the protocol", "at history", "in a rule, ", "a rule uses an index")
            assert any(word in outcome for word in words), (cls, name, outcome)
        elif cls == "RarelyTooShort":
            assert "broke the protocol" in outcome or "past max_length" in outcome, (name, outcome)
        else:
            assert "at history" in outcome, (cls, name, outcome)


def test_the_fuzzer_finds_no_command_that_takes_a_faulty_game(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "fuzz"))
    import games

    refused = "Exits|Raises|NoLength|SettledAtOnce|Mirrored|KnowsWhatItHides"
    assert games.run(5.0, 0, only=f":({refused}) (value|match, vr_oos|measure, oos|learn|extract)$") == 0
    assert "faulty games: 30 commands: 30 refused" in capsys.readouterr().out


def test_a_sound_game_is_taken_everywhere():
    for name, entry in faulty_games.ENTRIES.items():
        assert faulty_games.outcome(entry, unseen.load("kuhn_poker")) == "done", name

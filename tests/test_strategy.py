"""The strategy type and its files: what goes in comes out, and nothing else is let in."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers import TINY
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen import Position, SequenceForm, Strategy, StrategyFileError, UnseenError, load, solve_exactly
from unseen.games.matrix_games import MatchingPennies

WRITER = """
import sys
from unseen import Strategy
a, b = Strategy.random("liars_dice", 1), Strategy.random("liars_dice", 2)
print("ready", flush=True)
while True:
    a.save(sys.argv[1])
    b.save(sys.argv[1])
"""


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(TINY), st.integers(0, 10**9))
def test_save_then_load_is_identity(tmp_path_factory, spec, seed):
    strategy = Strategy.random(spec, seed)
    path = tmp_path_factory.mktemp("strategy") / "s"
    strategy.save(path)
    again = Strategy.load(path, spec)
    for name in ("keys", "player", "count", "actions", "probability"):
        assert np.array_equal(getattr(strategy, name), getattr(again, name))
    assert Strategy.load(path).game == strategy.game


def test_query_by_position():
    form = SequenceForm("kuhn_poker")
    strategy = solve_exactly(form).strategy
    with_king = Position(form.game, [2, 0, 0])  # second player, jack, after a pass
    assert strategy[with_king] == pytest.approx({0: 2 / 3, 1: 1 / 3})
    assert with_king in strategy
    assert Strategy.uniform("kuhn_poker")[with_king] == {0: 0.5, 1: 0.5}
    assert with_king not in Strategy.uniform("kuhn_poker")
    with pytest.raises(UnseenError, match="for kuhn_poker"):
        strategy[Position(load("xi"))]
    with pytest.raises(UnseenError, match="no information set"):
        strategy[Position(form.game)]


def test_from_a_function():
    strategy = Strategy.from_function("kuhn_poker", lambda p: {1: 1.0} if p.state.card[p.player] == 2 else {0: 3.0, 1: 1.0})
    game = strategy.game
    assert strategy[Position(game, [2, 0])] == {0: 0.0, 1: 1.0}
    assert strategy[Position(game, [1, 0])] == {0: 0.75, 1: 0.25}
    for wrong in ({7: 1.0}, {0: 0.0}, {0: -1.0, 1: 3.0}):
        with pytest.raises(UnseenError, match="the function gave the weights"):
            Strategy.from_function("kuhn_poker", lambda p, w=wrong: w)


def test_a_partial_strategy_is_even_elsewhere():
    form = SequenceForm("kuhn_poker")
    whole = form.random(1)
    half = Strategy(
        form.game, keys=whole.keys[:6], player=whole.player[:6], count=whole.count[:6],
        actions=whole.actions[:12], probability=whole.probability[:12],
    )  # fmt: skip
    found = form.evaluate(half)
    assert found.missing == 6
    assert found.best_response[1] == form.evaluate(whole).best_response[1]
    assert found.best_response[0] == form.evaluate(form.uniform()).best_response[0]


def test_nonsense_is_refused():
    good = Strategy.random("kuhn_poker")
    columns = {name: getattr(good, name).copy() for name in ("keys", "player", "count", "actions", "probability")}
    for name, change in (
        ("probability", lambda a: a * 2), ("probability", lambda a: -a), ("probability", lambda a: a * np.nan),
        ("count", lambda a: a[:-1]), ("keys", lambda a: a * 0), ("actions", lambda a: a[1:]),
    ):  # fmt: skip
        with pytest.raises(UnseenError):
            Strategy("kuhn_poker", **(columns | {name: change(columns[name])}))


def sealed(body):
    """A file with a checksum that says that nothing was changed."""
    return body + hashlib.sha256(body).digest()


def test_bad_files_are_refused(tmp_path):
    path = tmp_path / "kuhn.strategy"
    Strategy.random("kuhn_poker", 1).save(path)
    data = path.read_bytes()

    def refused(content: bytes, words: str, game: str = "kuhn_poker") -> None:
        path.write_bytes(content)
        with pytest.raises(StrategyFileError, match=words):
            Strategy.load(path, game)

    refused(b"hello", "not a strategy file")
    refused(b"", "not a strategy file")
    refused(data.replace(b"strategy 1", b"strategy 9"), "not a strategy file")
    refused(data[:-1], "cut off or damaged")
    refused(data[:40], "header is damaged")
    refused(data + b"x", "cut off or damaged")
    refused(data[:300] + bytes([data[300] ^ 1]) + data[301:], "checksum does not match")
    refused(sealed(data[:-32].replace(b'"cells": 24', b'"cells": -4')), "header is damaged")
    refused(sealed(data[:-32].replace(b'"cells": 24', b'"cells": 25')), "does not hold 12 information sets with 25 actions")
    refused(data, "it is for kuhn_poker.cards=3., not for kuhn_poker.cards=4.", "kuhn_poker(cards=4)")
    refused(data, "not for xi", "xi")
    with pytest.raises(StrategyFileError, match="cannot be read: No such file"):
        Strategy.load(tmp_path / "none")
    for wrong in (tmp_path / "no" / "such" / "folder", tmp_path, path / "x", tmp_path / ("x" * 300), "."):
        with pytest.raises(UnseenError, match="cannot write"):
            Strategy.random("kuhn_poker").save(wrong)
    assert {p.name for p in tmp_path.iterdir()} == {"kuhn.strategy"}


def test_hostile_headers_are_refused(tmp_path):
    path = tmp_path / "s"
    for header in (b"[" * 60_000, b'{"infosets": ' + b"9" * 4300 + b"}", b'{"game": 1}', b"null", b"{}" * 40_000, b'{"x": NaN}'):
        path.write_bytes(sealed(b"unseen-strategy 1\n" + header + b"\n"))
        with pytest.raises(StrategyFileError, match="header is damaged"):
            Strategy.load(path, "xi")


def test_actions_must_be_those_of_the_game():
    form = SequenceForm("biased_rps")
    good = {name: getattr(form.random(1), name) for name in ("keys", "player", "count", "actions", "probability")}
    for wrong in ({"actions": [1, 0, 2, 0, 1, 2]}, {"actions": [0, 1, 7, 0, 1, 2]}, {"actions": [-1, 0, 1, 0, 1, 2]}):
        with pytest.raises(UnseenError, match="must be numbers from 0 to 2, ascending at each set"):
            Strategy(form.game, **(good | wrong))
    with pytest.raises(UnseenError, match="neither 0 nor 1"):
        Strategy(form.game, **(good | {"player": [0, 7]}))
    other = Strategy(form.game, keys=good["keys"][:1], player=[0], count=[2], actions=[0, 2], probability=[0.5, 0.5])
    with pytest.raises(UnseenError, match="another number of actions"):
        form.evaluate(other)
    with pytest.raises(UnseenError, match=r"has the actions \[0, 2\] at an information set of biased_rps.* that has \[0, 1, 2\]"):
        other[Position(form.game)]


def test_words_of_a_game_are_not_markup():
    from rich.console import Console

    class Marked(MatchingPennies):
        def render(self, s, who):
            return "[x] [/] [o]"

    console = Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Strategy.uniform(Marked()).table())
    assert "[x] [/] [o]" in console.export_text()


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "s"
    Strategy.random("matching_pennies", 1).save(path)
    data = path.read_bytes()
    for k in range(len(data)):
        path.write_bytes(data[:k] + bytes([data[k] ^ 0x20]) + data[k + 1 :])
        with pytest.raises(StrategyFileError):
            Strategy.load(path, "matching_pennies")


def test_other_rules_of_the_same_name_are_refused(tmp_path):
    from unseen.games.kuhn_poker import KuhnPoker

    class Other(KuhnPoker):
        name = "kuhn_poker"

        def utility(self, s, who):
            return 2 * KuhnPoker.utility(self, s, who)

    Strategy.uniform("kuhn_poker").save(tmp_path / "s")
    with pytest.raises(StrategyFileError, match="with other rules"):
        Strategy.load(tmp_path / "s", Other())


def test_a_file_cannot_make_us_run_code(tmp_path, monkeypatch):
    script = tmp_path / "kuhn_poker(v=2.py"  # as what name and parameters are when they are joined and parsed
    script.write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    path, good = tmp_path / "s", tmp_path / "good"
    Strategy.uniform("kuhn_poker").save(good)
    monkeypatch.chdir(tmp_path)
    for old, new, words in (
        ('"kuhn_poker"', f'"{script}:Evil"', r"not a game of the library; pass the game: Strategy.load\(path, game\)"),
        ('{"cards": 3}', '{"v": "2.py:Evil(b=1"}', "the parameters of kuhn_poker are cards"),
        ('{"cards": 3}', '{"cards": "3, v=2.py:Evil(b=1"}', "must be a whole number"),
        ('{"cards": 3}', '{"cards": true}', "must be a whole number"),
        ('{"cards": 3}', '{"self": 3}', "the parameters of kuhn_poker are cards"),
        ('{"cards": 3}', '{"cards": [3]}', "header is damaged"),
    ):
        path.write_bytes(sealed(good.read_bytes()[:-32].replace(old.encode(), new.encode())))
        with pytest.raises(StrategyFileError, match=words):
            Strategy.load(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("attempt", range(4))
def test_a_killed_writer_leaves_a_whole_file(tmp_path, attempt):
    path = tmp_path / "s"
    Strategy.random("liars_dice", 1).save(path)
    allowed = {Strategy.random("liars_dice", seed).probability.tobytes() for seed in (1, 2)}
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(np.random.default_rng(attempt).uniform(0.0, 0.3))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert Strategy.load(path).probability.tobytes() in allowed


def test_table_and_picture(tmp_path):
    from rich.console import Console

    strategy = solve_exactly(SequenceForm("kuhn_poker")).strategy
    console = Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(strategy.table(rows=3))
    text = console.export_text()
    assert "cards J ?, moves: none" in text
    assert "the first 3 of 12 information sets" in text
    strategy.draw(tmp_path / "s.png")
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    for wrong in ("s.nonsense", "", "no-ending"):
        with pytest.raises(UnseenError, match="cannot write the picture"):
            strategy.draw(tmp_path / wrong)

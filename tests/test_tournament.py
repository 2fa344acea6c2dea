"""Tournaments: the same record however it was played, killed and resumed; what it says; wrong input."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from io import FileIO
from pathlib import Path

import numpy as np
import pytest
from helpers import run_cli
from scipy.optimize import linprog
from scipy.special import entr

import unseen
from unseen.arena.nash import nash_average
from unseen.arena.records import GAMES, SETTINGS, TIMES, as_line
from unseen.arena.standings import Standings, numbered
from unseen.arena.tournament import tournament
from unseen.errors import UnseenError
from unseen.run.workers import TRIES, run_all

AGENTS = ["random", "pimc", "random"]


def lines(folder):
    return (folder / GAMES).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A tournament that nothing has disturbed, and its folder."""
    folder = tmp_path_factory.mktemp("whole") / "t"
    return tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1), folder


def test_what_it_says(whole):
    result, folder = whole
    found = result.as_dict()
    assert found["agents"] == ["random", "pimc", "random #2"]
    assert found["played"] == 30
    assert {row["agent"] for row in found["ratings"]} == set(found["agents"])
    assert [row["rating"] for row in found["ratings"]] == sorted((row["rating"] for row in found["ratings"]), reverse=True)
    assert all(row["low"] < row["rating"] < row["high"] and row["games"] == 20 for row in found["ratings"])
    assert sum(row["nash_weight"] for row in found["ratings"]) == pytest.approx(1.0)
    assert len(found["pairs"]) == 6
    assert all(pair["win"] + pair["draw"] + pair["loss"] == pytest.approx(1.0) for pair in found["pairs"])
    page, html = (folder / "page.md").read_text(), (folder / "page.html").read_text()
    for words in ("random #2", "Likelihood", "Mean payoff", "ratings_0.png"):
        assert words in page
    assert "<table>" in html
    assert "data:image/png" in html
    assert "30 games" in repr(result)
    assert "pimc" in result._repr_html_()
    json.dumps(found)


def test_pairs_have_the_same_cards_and_numbers_replay(whole):
    result, _ = whole
    games = result.record.games
    assert [row["number"] for row in games] == list(range(30))
    for one, other in zip(games[::2], games[1::2], strict=True):
        assert one["history"][:2] == other["history"][:2]
        assert (one["first"], one["second"]) == (other["second"], other["first"])
    for number in (0, 7, 29):
        assert list(result.replay(number).history) == games[number]["history"]


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_change_nothing(whole, tmp_path, workers):
    tournament("kuhn_poker", AGENTS, 10, out=tmp_path / "t", seed=3, workers=workers)
    assert lines(tmp_path / "t") == lines(whole[1])


SLOW = '''
import os, time
from pathlib import Path
from unseen import Agent

class Slow(Agent):
    """Thinks for a while; the first time that it does, it writes down which process it is in."""
    name = "slow"

    def choose(self, actions):
        time.sleep(0.002)
        place = Path(__file__).with_name("process")
        if not place.exists():
            place.write_text(str(os.getpid()))
            time.sleep(0.5)
        return {a: 1 / len(actions) for a in actions}
'''


def begin(folder, *more):
    """A tournament with slow agents in a process of its own."""
    agent = folder / "slow.py"
    agent.write_text(SLOW)
    command = [
        sys.executable, "-m", "unseen", "tournament", "kuhn_poker", f"{agent}:Slow", "random", "--games", "200", "--seed", "3",
        "--workers", "2", "--out", str(folder / "t"), *more,
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    assert begin(folder).wait() == 0
    return lines(folder / "t")


def same_but_for_the_file(record):
    """The record without the name of the agent's file, which is in another folder each time."""
    of_file = ("first", "second", "check")
    return [{k: v for k, v in json.loads(line).items() if k not in of_file} for line in record.splitlines()]


def test_a_worker_that_is_killed_costs_time_only(slow, tmp_path):
    process = begin(tmp_path)
    place = tmp_path / "process"
    until = time.monotonic() + 60
    while not (place.exists() and place.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(int(place.read_text()), signal.SIGKILL)
    assert process.wait() == 0, process.stderr.read()
    assert same_but_for_the_file(lines(tmp_path / "t")) == same_but_for_the_file(slow)


def test_twenty_kills(slow, tmp_path):
    """Of all of it, at any moment; each time it is resumed, in the end it is the same."""
    rng, kills, process = random.Random(1), 0, begin(tmp_path)
    while kills < 20:
        before = len(lines(tmp_path / "t")) if (tmp_path / "t" / GAMES).exists() else 0
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:  # until something is played
            if (tmp_path / "t" / GAMES).exists() and len(lines(tmp_path / "t")) > before:
                break
            time.sleep(0.005)
        if process.poll() is not None:
            break
        time.sleep(rng.random() * 0.02)
        process.kill()
        process.wait()
        kills += 1
        process = begin(tmp_path, "--resume")
    assert process.wait() == 0, process.stderr.read()
    assert kills >= 5
    assert same_but_for_the_file(lines(tmp_path / "t")) == same_but_for_the_file(slow)


def test_two_processes_do_not_share_a_record(slow, tmp_path):
    process = begin(tmp_path)
    until = time.monotonic() + 60
    while time.monotonic() < until and not ((tmp_path / "t" / SETTINGS).exists() and lines(tmp_path / "t")):
        time.sleep(0.02)
    agents = f"{tmp_path / 'slow.py'}:Slow", "random"
    for more in ((), ("--resume",)):
        done = run_cli(
            "tournament", "kuhn_poker", *agents, "--games", "200", "--seed", "3", "--out", str(tmp_path / "t"), *more
        )  # fmt: skip
        assert done.returncode == 2
        assert "is being written by another process" in " ".join(done.stderr.split())
    assert process.wait() == 0, process.stderr.read()
    assert same_but_for_the_file(lines(tmp_path / "t")) == same_but_for_the_file(slow)


def test_the_folder_is_free_when_a_tournament_is_over(whole, tmp_path):
    def meddle(result):
        with pytest.raises(UnseenError, match="is being written by another process"):
            tournament("kuhn_poker", AGENTS, 10, out=tmp_path / "t", seed=3, workers=1, resume=True)
        raise UnseenError("enough")

    with pytest.raises(UnseenError, match="enough"):
        tournament("kuhn_poker", AGENTS, 10, out=tmp_path / "t", seed=3, workers=1, watch=meddle)
    tournament("kuhn_poker", AGENTS, 10, out=tmp_path / "t", seed=3, workers=1, resume=True)
    assert lines(tmp_path / "t") == lines(whole[1])


def edited(number, old, new):
    """What changes one line of a file."""
    return lambda rows: [row.replace(old, new) if k == number else row for k, row in enumerate(rows)]


DAMAGES = {
    "a changed payoff": (edited(4, b'"payoff": ', b'"payoff": 9, "was": '), "line 5 is not what was written"),
    "a changed payoff in the last line": (edited(11, b'"payoff": ', b'"payoff": 9, "was": '), "line 12 is not what was written"),
    "a lost byte": (edited(4, b'"first"', b'"irst"'), "line 5 is not what was written"),
    "a lost byte that leaves no JSON": (edited(4, b'"first"', b'first"'), "line 5 is not what was written"),
    "a lost space": (edited(4, b'": ', b'":'), "line 5 is not what was written"),
    "two lines in one": (edited(4, b"\n", b""), "line 5 is not what was written"),
    "a lost checksum": (lambda rows: [rows[0].split(b', "check"')[0] + b"}\n", *rows[1:]], "is of an older version"),
    "a doubled line": (lambda rows: rows[:5] + rows[4:], "line 6 is game 4 again"),
    "a missing line": (lambda rows: rows[:5] + rows[6:], "line 6 is game 6, not 5"),
    "two histories": (lambda rows: rows + rows[6:], "line 13 is game 6 again"),
    "zeros in the middle": (lambda rows: [*rows[:5], b"\0\0\n", *rows[5:]], "line 6 is not what was written"),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_said(tmp_path, damage, words):
    """And nothing is changed."""
    folder = tmp_path / "t"
    tournament("kuhn_poker", AGENTS, 4, out=folder, seed=3, workers=1)
    damaged = b"".join(damage(lines(folder).splitlines(keepends=True)))
    (folder / GAMES).write_bytes(damaged)
    with pytest.raises(UnseenError, match=words):
        tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1, resume=True)
    assert lines(folder) == damaged


def test_games_of_another_tournament_are_refused(whole, tmp_path):
    """Whole lines, with checksums."""
    folder, row = tmp_path / "t", json.loads(lines(whole[1]).splitlines()[0])
    tournament("kuhn_poker", AGENTS, 4, out=folder, seed=3, workers=1)
    rest = lines(folder).split(b"\n", 1)[1]
    another, damaged = "game 0 is not one of this tournament", "line 1 is not what was written"
    for change, words in (
        ({"first": "somebody"}, another), ({"first": "pimc", "second": "random"}, another), ({"game": 3}, another),
        ({"payoff": float("nan")}, damaged),
    ):  # fmt: skip
        line = as_line({name: x for name, x in (row | change).items() if name != "check"})
        (folder / GAMES).write_bytes(line + rest)
        with pytest.raises(UnseenError, match=words):
            tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1, resume=True)


def test_no_link_is_written_to(tmp_path):
    folder, mine = tmp_path / "t", tmp_path / "mine"
    mine.write_text("")
    folder.mkdir()
    (folder / GAMES).symlink_to(mine)
    with pytest.raises(UnseenError, match="is a link, but must be a file"):
        tournament("kuhn_poker", AGENTS, 4, out=folder, seed=3, workers=1)
    assert mine.read_text() == ""


@pytest.mark.parametrize("damage", [b'{"number": 20, "ga', b"\0\0\0\n", b"[1]\n"])
def test_a_line_that_is_not_whole_is_played_again(whole, tmp_path, damage):
    folder = tmp_path / "t"
    tournament("kuhn_poker", AGENTS, 6, out=folder, seed=3, workers=1)
    with (folder / GAMES).open("ab") as file:
        file.write(damage)
    (folder / TIMES).write_bytes((folder / TIMES).read_bytes()[:-5])
    found = tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1, resume=True)
    assert lines(folder) == lines(whole[1])
    assert len(found.record.times) == 30
    assert found.notes()["repaired"] == "the record was cut off after 16 games; 2 that were there are played again"
    assert found.as_dict()["repaired"] == found.notes()["repaired"]
    assert "the record was cut off after 16 games" in (folder / "page.md").read_text()
    assert not tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1, resume=True).record.repaired


@pytest.mark.parametrize("cut", [1, 30])
def test_a_last_line_that_was_cut_off_is_played_again(whole, tmp_path, cut):
    folder = tmp_path / "t"
    tournament("kuhn_poker", AGENTS, 6, out=folder, seed=3, workers=1)
    (folder / GAMES).write_bytes(lines(folder)[:-cut])
    found = tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1, resume=True)
    assert "cut off after 16 games" in found.record.repaired
    assert lines(folder) == lines(whole[1])


def test_a_full_disk_loses_nothing(whole, tmp_path, monkeypatch):
    folder, calls = tmp_path / "t", []

    class Full(FileIO):
        def write(self, data):
            if Path(self.name).name == GAMES:
                calls.append(data)
                if len(calls) == 4:
                    super().write(data[:100])
                    raise OSError(28, "No space left on device")
            return super().write(data)

    monkeypatch.setattr("unseen.arena.records.FileIO", Full)
    with pytest.raises(UnseenError, match="No space left"):
        tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1)
    monkeypatch.undo()
    tournament("kuhn_poker", AGENTS, 10, out=folder, seed=3, workers=1, resume=True)
    assert lines(folder) == lines(whole[1])


def test_ctrl_c_keeps_what_was_played(whole, tmp_path):
    def stop(result):
        if len(result.record.games) == 12:
            raise KeyboardInterrupt

    part = tournament("kuhn_poker", AGENTS, 10, out=tmp_path / "t", seed=3, workers=1, watch=stop)
    assert part.stopped
    assert part.as_dict()["played"] == 12
    assert "stopped" in (tmp_path / "t" / "page.md").read_text()
    rest = tournament("kuhn_poker", AGENTS, 10, out=tmp_path / "t", seed=3, workers=1, resume=True)
    assert not rest.stopped
    assert lines(tmp_path / "t") == lines(whole[1])


def test_a_gauntlet_and_several_games():
    found = tournament(["kuhn_poker", "leduc_poker"], AGENTS, 4, gauntlet=True, workers=1, anchor=("random", 100.0)).as_dict()
    assert found["played"] == 16
    assert list(found["by_game"]) == [unseen.load(name).spec for name in ("kuhn_poker", "leduc_poker")]
    assert {(pair["first"], pair["second"]) for pair in found["pairs"]} == {
        ("random", "pimc"), ("pimc", "random"), ("random", "random #2"), ("random #2", "random")
    }  # fmt: skip
    assert next(row for row in found["ratings"] if row["agent"] == "random")["rating"] == pytest.approx(100.0)
    assert all(abs(pair["mean"]) <= 1.0 for pair in found["pairs"])


def test_a_test_that_is_decided_stops_it():
    found = tournament("leduc_poker", ["solved(until=0.1)", "random"], 5000, workers=1, sprt=(-400.0, 400.0))
    assert found.sprt.accepted is not None
    assert len(found.record.games) < 5000
    assert found.as_dict()["sprt"]["accepted"] == found.sprt.accepted


def test_exploitability_beside_ratings(tmp_path):
    found = tournament("kuhn_poker", ["random", "solved"], 4, workers=1, exploitability=True, out=tmp_path / "t")
    exploited = {row["agent"]: row["exploitability"] for row in found.as_dict()["ratings"]}
    assert exploited["random"] == pytest.approx(11 / 12)
    assert exploited["solved"] < 0.01


def test_exploitability_comes_by_itself_only_where_it_is_cheap(monkeypatch):
    assert tournament("kuhn_poker", ["random", "solved"], 2, workers=1).exploitability[0].keys() == {"random", "solved"}
    assert not tournament("kuhn_poker", ["random", "solved"], 2, workers=1, exploitability=False).exploitability
    monkeypatch.setattr("unseen.arena.tournament.AFFORDABLE", 0.0)
    assert not any(tournament("kuhn_poker", ["random", "solved"], 2, workers=1).exploitability)
    monkeypatch.setattr("unseen.arena.tournament.SMALL", 10)
    assert not any(tournament("leduc_poker", ["random", "solved"], 2, workers=1).exploitability)


def test_an_agent_that_solves_the_game_does_it_once(monkeypatch):
    made, make = [], unseen.make_agent
    monkeypatch.setattr("unseen.arena.names.make_agent", lambda spec, game: made.append(spec) or make(spec, game))
    result = tournament("kuhn_poker", ["solved", "random", "solved(until=0.1)"], 2, workers=2, exploitability=False)
    assert made == ["solved", "solved(until=0.1)"]
    assert len(result.record.games) == 6


def test_a_cycle_shows_as_a_mix():
    """Rock, paper and scissors, and a fourth that loses to all."""
    wins = [(0, 2), (2, 1), (1, 0), (0, 3), (1, 3), (2, 3)]
    first, second = (np.array([pair[k] for pair in wins]) for k in (0, 1))
    rest = {"seconds": np.zeros((6, 2)), "moves": np.ones((6, 2), int), "simulations": np.zeros((6, 2), int)}
    found = Standings("rps", list("rpsx"), first, second, np.ones(6), np.arange(6), **rest)
    mix, against = found.nash
    assert mix == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])
    assert against == pytest.approx([0.0, 0.0, 0.0, -1.0])


def standings_of(payoffs):
    """Two agents that change seats; `payoffs` are those of the first named, in pairs."""
    games = len(payoffs)
    first = np.arange(games) % 2
    rest = {"seconds": np.zeros((games, 2)), "moves": np.ones((games, 2), int), "simulations": np.zeros((games, 2), int)}
    paid = np.array(payoffs) * (1 - 2 * first)
    return Standings("game", ["often", "much"], first, 1 - first, paid, np.arange(games) // 2, **rest)


def test_where_games_pay_more_or_less_ratings_are_by_payoffs():
    """Who wins three games of four, and loses more in the fourth, is second."""
    standings = standings_of([1.0, 1.0, 1.0, -5.0] * 10)
    found = standings.as_dict()
    assert found["rated_by"] == "payoffs"
    assert [row["agent"] for row in found["ratings"]] == ["much", "often"]
    assert found["ratings"][1]["rating"] == pytest.approx(-0.5)
    assert found["ratings"][1]["wins"] == pytest.approx(0.75)
    assert standings.rating_rows()[0][:4] == ["agent", "payoff (95%)", "games", "wins"]
    assert "+0.500 ± " in standings.rating_rows()[1][0][1]
    assert standings.rating_plot().axes[0].get_xlabel() == "payoff a game, 95% intervals"
    equal = standings_of([2.0, 2.0, 0.0, -2.0] * 10)
    assert equal.as_dict()["rated_by"] == "wins"
    assert equal.order == [0, 1]
    assert equal.rating_rows()[0][:4] == ["agent", "rating (95%)", "games", "mean"]
    assert equal.rating_plot().axes[0].get_xlabel() == "rating, 95% intervals"


def test_no_interval_of_a_page_has_no_width():
    """All pairs split, and all games won by who moves first."""
    standings = standings_of([1.0, -1.0] * 20)
    cells = [*standings.rating_rows()[1], *standings.cross_rows()[1]]
    assert not [cell for row in cells for cell in row if "± 0 " in f"{cell} " or "± 0.000" in cell]


def test_equal_agents_share_the_nash_average_equally():
    rps = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    assert nash_average(np.zeros((2, 2))) == pytest.approx([0.5, 0.5])
    beaten = np.array([[0.0, 0.0, 0.2], [0.0, 0.0, 0.1], [-0.2, -0.1, 0.0]])
    assert nash_average(beaten) == pytest.approx([0.5, 0.5, 0.0])
    copies = [0, 1, 2, 0, 0, 1]  # of rock and of paper
    assert nash_average(rps[np.ix_(copies, copies)]) == pytest.approx([1 / 9, 1 / 6, 1 / 3, 1 / 9, 1 / 9, 1 / 6])


def test_the_nash_average_has_the_largest_entropy_of_all_equilibria():
    """Games with ties and copies: nobody gains against it, and copies have the same share."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = rng.integers(2, 6)
        payoffs = np.triu(rng.integers(-1, 2, (n, n)), 1).astype(float)
        copies = np.append(np.arange(n), rng.integers(n, size=2))
        payoffs = (payoffs - payoffs.T)[np.ix_(copies, copies)]
        mix = nash_average(payoffs)
        assert mix.min() >= 0.0
        assert mix.sum() == pytest.approx(1.0)
        assert (payoffs @ mix).max() < 1e-8
        assert mix[n:] == pytest.approx(mix[copies[n:]], abs=1e-6)
        # Where entropy bends, a step to any other equilibrium loses some: that of a linear program with costs drawn at random.
        away = linprog(rng.normal(size=n + 2), payoffs, np.zeros(n + 2), np.ones((1, n + 2)), [1.0])
        assert entr(mix).sum() >= entr(0.99 * mix + 0.01 * away.x).sum() - 1e-9


def test_names_are_numbered():
    assert numbered(["a", "b", "a", "a"]) == ["a", "b", "a #2", "a #3"]


WRONG = [
    (("kuhn_poker", "random"), "at least two agents"),
    (("no_such_game", "random", "random"), "no_such_game"),
    (("kuhn_poker", "random", "nobody"), "nobody"),
    (("kuhn_poker", "random", "pimc", "--anchor", "nobody=3"), "the anchor is 'nobody'"),
    (("kuhn_poker", "random", "pimc", "--anchor", "random"), "--anchor is 'random'"),
    (("kuhn_poker", "random", "pimc", "--games", "3"), "games is 3, but must be even"),
    (("kuhn_poker", "random", "pimc", "--resume"), "--resume needs --out"),
    (("kuhn_poker", "random", "pimc", "random", "--sprt", "0,10"), "a question about two agents"),
]


def test_pairs_of_games_are_even():
    """Nothing is played that was not asked for."""
    for play in (
        lambda: tournament("kuhn_poker", AGENTS, 3),
        lambda: unseen.match("kuhn_poker", "random", "random", 3, paired=True),
    ):
        with pytest.raises(UnseenError, match="games is 3, but must be even: games come in pairs"):
            play()
    assert len(unseen.match("kuhn_poker", "random", "random", 3, workers=1).games) == 3


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, tuple) else None)
def test_bad_input(arguments, words, tmp_path):
    done = run_cli("tournament", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


def test_folders_of_others(whole, tmp_path):
    folder = tmp_path / "t"
    tournament("kuhn_poker", AGENTS, 4, out=folder, seed=3, workers=1)
    before = lines(folder)
    with pytest.raises(UnseenError, match="--resume goes on"):
        tournament("kuhn_poker", AGENTS, 4, out=folder, seed=3)
    with pytest.raises(UnseenError, match="belongs to another tournament: its seed is 3, not 4"):
        tournament("kuhn_poker", AGENTS, 4, out=folder, seed=4, resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    with pytest.raises(UnseenError, match="holds other files"):
        tournament("kuhn_poker", AGENTS, 4, out=tmp_path / "other")
    with pytest.raises(UnseenError, match="cannot write"):
        tournament("kuhn_poker", AGENTS, 4, out=tmp_path / "other" / "mine.txt")
    assert lines(folder) == before
    (folder / SETTINGS).write_text("{")
    with pytest.raises(UnseenError, match="damaged"):
        tournament("kuhn_poker", AGENTS, 4, out=folder, seed=3, resume=True)


class Deadly:
    """A job that ends its process at one task, every time."""

    def __call__(self, task):
        if task == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return task


def test_a_task_that_always_dies_is_reported():
    got = []
    with pytest.raises(UnseenError, match=f"ended before its work was done, {TRIES} times"):
        got += run_all(Deadly, (), range(8), 2)

"""What new users met: each of these once showed them something that it should not."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from faulty_games import Sound
from helpers import ROOT, run_cli

import unseen
from unseen import CHANCE, PUBLIC, TERMINAL, Game, Position, UnseenError, load
from unseen.agents import RandomAgent
from unseen.run.workers import can_travel, core_count
from unseen.testing import check_game, compiled_rules, find_faults

OWN_FILE = '''
import numpy as np
from unseen import Agent, Game, PUBLIC, TERMINAL


class Last(Agent):
    """Takes the last action."""

    def choose(self, actions):
        return {actions[-1]: 1.0}


class Demanding(Agent):
    def __init__(self, wish):
        self.wish = wish

    def choose(self, actions):
        return {actions[0]: 1.0}


class Pennies(Game):
    """Each shows a side."""

    state = np.dtype([("moves", "i1"), ("sides", "i1", (2,))])
    num_actions = 2
    max_length = 2

    def start(self, s):
        s.moves = 0
        s.sides[0] = 0
        s.sides[1] = 0

    def player(self, s):
        return TERMINAL if s.moves == 2 else s.moves

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def apply(self, s, a, tell):
        s.sides[s.moves] = a
        s.moves += 1

    def utility(self, s, who):
        return 1.0 if (s.sides[0] == s.sides[1]) == (who == 0) else -1.0


class Hasty(Pennies):
    def validate(self):
        return 1 / 0


class Misspelt(Pennies):
    def apply(self, s, a, tell):
        s.moves += 1
        if a > 5:
            s.side = a


class Listing(Pennies):
    def apply(self, s, a, tell):
        s.moves += 1
        both = [a, a]
        s.sides[0] = both[0]
'''


@pytest.fixture
def own_file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN_FILE)
    return path


def line_of(words):
    return next(k for k, line in enumerate(OWN_FILE.splitlines(), 1) if words in line)


def test_a_reader_that_has_seen_enough_ends_it_quietly():
    for command in ("games --json", "playthrough ii_goofspiel"):
        piped = f"{sys.executable} -m unseen {command} | head -c 10"
        done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, check=True, cwd=ROOT)
        assert len(done.stdout) == 10
        assert not done.stderr


def test_an_agent_of_ones_own_on_the_command_line(own_file):
    done = run_cli("match", "kuhn_poker", f"{own_file}:Last", "random", "--games", "4", "--json")
    assert done.returncode == 0, done.stderr
    assert unseen.make_agent(f"{own_file}:Demanding(wish=3)", "kuhn_poker").wish == 3
    for name, words in (
        (f"{own_file}:Demanding", "cannot be made"),
        (f"{own_file}:Pennies", "no agent class 'Pennies'; it has: Last"),
    ):
        with pytest.raises(unseen.UnseenError, match=words):
            unseen.make_agent(name, "kuhn_poker")


def test_results_of_a_game_that_was_not_checked_say_so(own_file):
    name = f"{own_file}:Pennies"
    for command in (("value", name), ("match", name, "random", "random", "--games", "2", "--workers", "1")):
        done = run_cli(*command, "--json")
        assert json.loads(done.stdout)
        assert f'note: {name} has not been checked, and faults may make results wrong: run `unseen check "{name}"`.' in done.stderr
    assert unseen.info(name).all_rows()["checked"] == f'no; run `unseen check "{name}"`'
    assert "checked" in unseen.solve_exactly(unseen.SequenceForm(name))._repr_html_()
    assert run_cli("check", name, "--histories", "2", "--seconds", "0").returncode == 0  # not all of it
    assert "has not been checked" in run_cli("info", name).stderr
    assert run_cli("check", name, "--seconds", "0").returncode == 0
    assert "checked" not in run_cli("info", name).stderr
    assert "checked" not in unseen.info(name).all_rows()
    own_file.write_text(OWN_FILE.replace("== (who == 0)", "!= (who == 0)"))
    assert "has not been checked" in run_cli("info", name).stderr
    assert "checked" not in run_cli("info", "kuhn_poker").stderr


def test_mistakes_in_a_game_are_shown_where_they_are(own_file):
    with pytest.raises(unseen.UnseenError, match=rf"validate\(\) raised ZeroDivisionError in .*own.py, line {line_of('1 / 0')}"):
        unseen.load(f"{own_file}:Hasty")
    for name, words in (("Misspelt", "s.side = a"), ("Listing", "both = [a, a]")):
        with pytest.raises(unseen.RuleError) as error:
            unseen.enumerate_game(f"{own_file}:{name}")
        assert f"line {line_of(words)}: " in str(error.value)
        assert "\n" not in str(error.value)


def test_what_is_missing_is_named_once():
    class NoOutcomes(Sound):
        def player(self, s):
            return CHANCE if s.moves == 0 else TERMINAL

    class Fraction(Sound):
        num_actions = 2.5

    assert [f.check for f in find_faults(NoOutcomes(), seconds=0).faults] == ["num_outcomes missing"]
    with pytest.raises(unseen.UnseenError, match=r"num_actions is 2\.5, but must be a whole number from 1 to 16,777,216"):
        Fraction()
    for name in ("num_actions", "max_length", "num_outcomes"):
        with pytest.raises(unseen.UnseenError, match=f"{name} is 2000000000, but must be"):
            type("Huge", (Sound,), {name: 2_000_000_000})()


def dealt_to_all(game, who=None):
    """The same game, in which what chance tells one player, or only player `who`, is told to the public."""
    base = type(game)

    class Leaky(base):
        def apply(self, s, a, tell):
            is_chance = self.player(s) == CHANCE
            base.apply(self, s, a, tell)
            for player in (0, 1):
                if is_chance and tell[player] and who in (None, player):
                    tell[PUBLIC], tell[player] = tell[player], 0

    return Leaky(**game.settings)


def notes_of(game, monkeypatch):
    """The notes of a check in plain Python: nothing is compiled."""
    monkeypatch.setattr(compiled_rules, "JIT_DISABLED", True)
    report = find_faults(game, histories=2500, playouts=5, seconds=0)
    assert report.ok
    return report.notes


SMUGGLER, BLUFF = (f"{ROOT / 'examples' / file}" for file in ("smuggler.py:Smuggler", "bluff.py:Bluff"))


@pytest.mark.parametrize(
    "spec",
    [
        SMUGGLER, BLUFF, "kuhn_poker", "kuhn_poker(cards=2)", "leduc_poker(ranks=2)", "liars_dice(faces=3)",
        "ii_goofspiel(cards=3, lowest=0)", "goofspiel(cards=3)", "coordination", "xi", "matching_pennies", "oshi_zumo(coins=3)",
    ],
)  # fmt: skip
def test_games_that_tell_what_they_should_get_no_note(spec, monkeypatch):
    assert notes_of(spec, monkeypatch) == []


@pytest.mark.parametrize(
    ("spec", "who", "told"),
    [
        ("kuhn_poker", None, "player 1 is told which outcome of chance comes at history [0] (deal J)"),
        ("kuhn_poker", 0, "player 2 is told which outcome of chance comes at history []"),
        ("leduc_poker(ranks=2)", 1, "player 1 is told which outcome of chance comes at history [0]"),
        ("liars_dice(faces=3)", 0, "player 2 is told which outcome of chance comes at history []"),
        (BLUFF, None, "player 2 is told which outcome of chance comes at history []"),
    ],
)
def test_a_deal_to_the_public_gets_a_note(spec, who, told, monkeypatch):
    notes = notes_of(dealt_to_all(load(spec), who), monkeypatch)
    assert any(note.startswith(told) for note in notes), notes


def test_a_game_that_hides_nothing_gets_a_note(monkeypatch):
    """Even if its render() shows everything to everybody, or is not there."""
    for game in (dealt_to_all(load("kuhn_poker")), dealt_to_all(load(BLUFF))):
        monkeypatch.setattr(type(game), "render", lambda self, s, who: None)
        (note,) = notes_of(game, monkeypatch)
        assert note.startswith("nothing is hidden")


def test_words_that_are_nearly_right():
    for args, words in (
        (("strategy", "a.strategy"), "GAME --strategy a.strategy"),
        (("solve", "kuhn_poker", "--algorithm", "cfrplus", "--iterations", "1"), "did you mean 'cfr+'?"),
    ):
        done = run_cli(*args)
        assert done.returncode == 2
        assert words in done.stderr


def test_a_job_that_is_done_already_says_so(tmp_path):
    args = ("solve", "kuhn_poker", "--iterations", "5", "--checkpoint", str(tmp_path / "k.checkpoint"), "--resume")
    assert "nothing was left to do" not in run_cli(*args).stderr
    assert "nothing was left to do: the checkpoint already has 5 iterations" in run_cli(*args).stderr


def test_a_field_of_single_precision_is_no_fault():
    class Thirds(Sound):
        state = np.dtype([("moves", "i1"), ("sums", "f4", (2,)), ("last", "i1")])

        def apply(self, s, a, tell):
            s.sums[s.moves % 2] += a / 3.0
            s.moves += 1
            tell[PUBLIC] = 1 + a

    check_game(Thirds(), seconds=0)


def test_a_name_serves_wherever_a_game_does():
    assert unseen.Position("kuhn_poker", [0, 1]).player == 0
    assert unseen.playouts("kuhn_poker", 10).games == 10
    assert unseen.enumerate_game("kuhn_poker").histories == unseen.info("kuhn_poker").enumeration.histories == 58
    assert len(unseen.fingerprint("kuhn_poker")) == 32
    assert unseen.make_agent("random", "kuhn_poker").name == "random"
    assert unseen.Belief("kuhn_poker", 0, [], None).count == 1


def test_cores_are_those_that_this_process_may_use():
    assert core_count() == len(os.sched_getaffinity(0))
    assert core_count(3) == 3


def test_objects_of_the_main_program_stay_in_it():
    assert can_travel((unseen.load("kuhn_poker"), ("random", "oos"), 0, None))
    RandomAgent.__module__, before = "__main__", RandomAgent.__module__
    try:
        assert not can_travel((RandomAgent(),))
    finally:
        RandomAgent.__module__ = before


SCRIPT = """
import unseen
found = unseen.match("kuhn_poker", "random", "random", games=6, workers=2)
print(len(found.games))
"""


def test_a_script_without_a_guard_may_use_several_processes(tmp_path):
    """Workers do not run the main program again."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["6"], done.stderr


# Results -------------------------------------------------------------------------------------------------------------------------


def test_results_show_themselves(tmp_path):
    solved = unseen.solve("kuhn_poker", iterations=50, log=tmp_path / "log.jsonl")
    results = [
        solved, unseen.solve_exactly("kuhn_poker"), unseen.info("kuhn_poker"), unseen.measure("kuhn_poker", "random"),
        unseen.match("kuhn_poker", "random", "random", games=4), unseen.SequenceForm("kuhn_poker").evaluate(solved.strategy),
    ]  # fmt: skip
    for result in results:
        assert "kuhn_poker" in repr(result)
        assert len(repr(result)) < 250
        assert result._repr_html_().startswith("<table>")
        assert result.as_dict()["game"] == "kuhn_poker(cards=3)"
    for result in (solved, results[1], results[3], results[5]):
        assert result.exploitability >= 0.0
    assert unseen.exploitability("kuhn_poker", solved.strategy) == pytest.approx(solved.exploitability)
    answer = unseen.best_response("kuhn_poker", 1, solved.strategy)
    assert unseen.SequenceForm("kuhn_poker").value(answer) == pytest.approx(-results[5].best_response[1])
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == len(solved.points)
    figures = [solved.figure(), results[1].figure(), results[3].figure(), results[4].figure()]
    assert all(type(figure).__name__ == "Figure" for figure in figures)
    assert set(dir(unseen)) == set(unseen.__all__)


def test_pictures_leave_the_backend_alone():
    source = (
        "import sys, unseen; unseen.solve_exactly('kuhn_poker').figure(); "
        "print('matplotlib.pyplot' in sys.modules, 'matplotlib.backends.backend_agg' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"


# The survey in compiled code ----------------------------------------------------------------------------------------------------


class Rare(Game):
    """Nine moves of four kinds; a fault of one's choice shows at one of 349,525 histories."""

    fault: int = 0
    state = np.dtype([("moves", "u1"), ("code", "i4"), ("hand", "i1", (4,)), ("few", "u1")])
    num_actions = 4
    num_outcomes = 4
    max_length = 9

    def start(self, s):
        s.moves = 0
        s.code = 0
        s.few = 0
        for k in range(4):
            s.hand[k] = 0

    def player(self, s):
        if self.fault == 1 and s.code == 43690:
            return 7
        if s.moves == 9:
            return TERMINAL
        return CHANCE if s.moves == 0 else s.moves % 2

    def actions(self, s, out):
        for k in range(4):
            out[k] = k
        if self.fault == 2 and s.code == 20000:
            out[3] = 2
        return 4

    def chance(self, s, a, n):
        return 0.25

    def apply(self, s, a, tell):
        s.code = s.code * 4 + a
        s.moves += 1
        tell[PUBLIC] = -3 if self.fault == 3 and s.code == 77777 else a + 1
        if self.fault == 4 and s.code == 77777:
            s.hand[s.moves + 60] = 1
        if self.fault == 8 and s.code % 4096 == 4095:  # once in thousands of histories
            s.few = 1 if s.few - s.moves < 0 else 2  # below zero, which unsigned numbers are not in compiled code
        if self.fault == 9 and s.code // (s.code - 77777) == 1:
            s.few = 1
        if self.fault == 10 and s.code == 77777:
            s.few = 300
        if self.fault == 11 and s.code == 77777 and 1 << 8 * s.moves == 1:
            s.few = 1
        while self.fault == 5 and s.code == 77777:
            s.hand[0] = 1 - s.hand[0]

    def utility(self, s, who):
        u = 1.0 if s.code % 3 == 0 else -1.0
        if self.fault == 6 and s.code == 88888:
            return u
        if self.fault == 7 and s.code == 88888:
            u = np.nan
        return u if who == 0 else -u


def code_of(history):
    code = 0
    for action in history:
        code = 4 * code + action
    return code


def test_rare_faults_are_found_and_named(monkeypatch):
    monkeypatch.setattr(unseen.testing.inspector, "STUCK_SECONDS", 1.0)
    monkeypatch.setattr(unseen.testing.survey, "STUCK_SECONDS", 1.0)
    sound = find_faults(Rare(), histories=500, playouts=5)
    assert sound.ok
    assert sound.surveyed.is_complete
    assert sound.surveyed.histories == 349_525
    for fault, check, code in (
        (1, "player invalid", 43690), (2, "action bound", 20000), (3, "token", 77777), (4, "index", 77777),
        (6, "not zero-sum", 88888), (7, "utility not finite", 88888), (5, "compiled endless", 77777),
        (8, "overflow", 4095), (9, "division by zero", 77777), (10, "overflow", 77777), (11, "overflow", 77777),
    ):  # fmt: skip
        report = find_faults(Rare(fault=fault), histories=500, playouts=5)
        assert [f.check for f in report.faults] == [check]
        assert code_of(report.faults[0].history) == code


def test_a_rule_that_never_returns_is_named(monkeypatch):
    class Endless(Sound):
        def actions(self, s, out):
            while s.moves == 2:
                out[0] = 0
            out[0] = 0
            return 1

    monkeypatch.setattr(unseen.testing.inspector, "STUCK_SECONDS", 1.0)
    (fault,) = find_faults(Endless(), seconds=0).faults
    assert fault.check == "actions endless"
    assert len(fault.history) == 2


def test_large_games_are_surveyed_in_part():
    report = find_faults("liars_dice(dice1=2, dice2=2)", histories=50, playouts=2, seconds=0.4)
    assert report.ok
    assert not report.surveyed.is_complete
    assert report.surveyed.histories > 10_000
    assert report.surveyed.games > 100


# From Python --------------------------------------------------------------------------------------------------------------------

KUHN = "kuhn_poker"
WRONG = [
    (lambda: unseen.match(KUHN, "random", "random", games="3"), "games is '3', but must be a whole number"),
    (lambda: unseen.match(KUHN, "random", 5), "second is 5, but must be a text or an Agent"),
    (lambda: unseen.match(KUHN, "random", "random", sprt=5), "sprt is 5, but must be two or more values"),
    (lambda: unseen.match(KUHN, "random", "random", workers="x"), "workers is 'x', but must be a whole number, a Cluster or None"),
    (lambda: unseen.tournament(KUHN, [RandomAgent(), "random"]), "must be a list of names"),
    (lambda: unseen.tournament(KUHN, "random"), "agents is 'random', but must be a list of names"),
    (lambda: unseen.compare(KUHN, [5]), "must be a list of names"),
    (lambda: unseen.measure(KUHN, None), "agent is None, but must be a text or an Agent"),
    (lambda: unseen.extract(KUHN, RandomAgent()), "but must be a text"),
    (lambda: unseen.exploitability(KUHN, "x.strategy"), "strategy is 'x.strategy', but must be a Strategy"),
    (lambda: unseen.best_response(KUHN, 2, unseen.Strategy(KUHN)), "player is 2, but must be 0 or 1"),
    (lambda: unseen.solve(KUHN, iterations="5"), "iterations is '5', but must be a whole number or None"),
    (lambda: unseen.solve(KUHN, until="x"), "until is 'x', but must be a number or None"),
    (lambda: unseen.solve(KUHN, 5, iterations=1), "algorithm is 5"),
    (lambda: unseen.solve_exactly(5), "game is 5"),
    (lambda: unseen.info(5), "game is 5"),
    (lambda: unseen.Belief(KUHN, 0, 5), "seen is 5, but must be a list"),
    (lambda: unseen.SequenceForm(KUHN, "x"), "streamed is 'x', but must be True or False"),
    (lambda: unseen.Strategy.load(5), "path is 5, but must be a text or a path"),
    (lambda: unseen.Strategy.from_function(KUHN, 5), "choose is 5, but must be a function"),
    (lambda: unseen.Strategy.from_function(KUHN, lambda position: {0: "x"}), "must be numbers for actions"),
    (lambda: unseen.Strategy(KUHN)["x"], "'x' is neither a position nor the key"),
    (lambda: unseen.Strategy(KUHN)[5], "5 is neither a position nor the key"),
    (lambda: Position(KUHN, 5), "history is 5, but must be a list of actions"),
    (lambda: unseen.Searcher(KUHN, "oos"), "rule is 'oos', but must be a Rule"),
    (lambda: unseen.Values.load(5), "path is 5"),
    (lambda: unseen.playouts(KUHN, 0), "games is 0, but must be at least 1"),
    (lambda: unseen.learn(KUHN, out=5), "out is 5, but must be a path or a text"),
    (lambda: unseen.convergence(KUHN, "oos", runs=1.5), "runs is 1.5"),
    (lambda: unseen.network_strategy(5), "network is 5, but must be a Network"),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(UnseenError) as told:
        call()
    assert words in str(told.value)


def test_plausible_arguments_are_taken(tmp_path):
    """A path as a text, numbers of NumPy, a class of games."""
    played = unseen.match(KUHN, "random", RandomAgent(), games=np.int64(2), out=str(tmp_path / "games.jsonl"))
    assert len(played.games) == len((tmp_path / "games.jsonl").read_text().splitlines()) == 2
    unseen.measure(KUHN, "random", "stitching", save=str(tmp_path / "kept"), workers=1)
    assert (tmp_path / "kept").exists()
    assert pickle.loads(pickle.dumps(unseen.match)) is unseen.match
    assert unseen.info(type(unseen.load(KUHN))).enumeration.histories == 58


def test_a_strategy_is_a_mapping_of_its_information_sets():
    strategy = unseen.Strategy.random(KUHN)
    keys = list(strategy)
    assert len(keys) == len(strategy) == 12
    assert all(sum(strategy[key].values()) == pytest.approx(1.0) for key in keys)
    position = Position(KUHN, [0, 1])
    assert position in strategy
    assert position.infoset in strategy
    assert strategy[position] == strategy[position.infoset]
    assert 7 not in strategy
    assert "x" not in strategy


class Odd(Rare):
    """<b>A game</b> whose words need care."""

    def describe_action(self, s, a):
        return f"<i>{a}</i>"

    def render(self, s, who):
        return "<script>" if who else "two\nlines & more"


class Tags(HTMLParser):
    """Checks that what is opened is closed, and notes which tags there are."""

    def __init__(self, text):
        super().__init__()
        self.open, self.known = [], set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.known.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_objects_show_themselves_in_notebooks():
    """Each says in a line what it is, and as HTML that is small, whole and escaped."""
    strategy, form = unseen.Strategy.random(KUHN), unseen.SequenceForm(KUHN)
    position = Position(KUHN, [0, 1, 1])
    shown = [
        position, Position(KUHN), Position(KUHN, [0, 1, 0, 0]), form.game, strategy, form, unseen.Strategy.uniform(KUHN),
        unseen.Belief.at(position), unseen.solve_exactly(form), Odd(), Position(Odd()), unseen.estimate_size(KUHN, 100),
    ]  # fmt: skip
    for each in shown:
        assert len(repr(each)) < 250
        assert Tags(each._repr_html_()).known <= {"table", "caption", "tr", "td", "pre"}
        assert len(each._repr_html_()) < 2500
    assert repr(position) == "<Position kuhn_poker(cards=3): 0 1 1, player 2 to move>"
    assert repr(strategy) == "<Strategy for kuhn_poker(cards=3): 12 information sets, 6 of player 1 and 6 of player 2>"
    assert repr(shown[7]) == "<Belief of player 2 in kuhn_poker(cards=3): 2 histories>"
    assert repr(form) == "<SequenceForm of kuhn_poker(cards=3): 6 + 6 information sets, stored>"
    assert "call" in position._repr_html_()
    assert "-1 +1" in shown[2]._repr_html_()
    assert "&lt;i&gt;0" in shown[10]._repr_html_()


def test_a_fault_does_not_hide_a_position():
    class Faulty(Odd):
        def render(self, s, who):
            return 1 // 0

    assert "ZeroDivisionError" in Position(Faulty())._repr_html_()

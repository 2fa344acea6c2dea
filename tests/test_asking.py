"""A user's agent that raises, answers nonsense, sleeps or prints: an error that names it or the right number, in every command."""

from __future__ import annotations

import json
import random
import re
import signal
import textwrap
import time
from fractions import Fraction

import numpy as np
import pytest
from helpers import run_cli

import unseen
from unseen import AgentFault, Percept, Position, SequenceForm, Strategy, load, match, measure
from unseen.agents import RandomAgent, StrategyAgent
from unseen.arena import asking
from unseen.arena.asking import Asked, consistent_history
from unseen.arena.comparison import compare
from unseen.arena.extraction import extract
from unseen.arena.human import HumanAgent
from unseen.arena.referee import play
from unseen.arena.tournament import tournament
from unseen.position import random_walk
from unseen.run import ticks

KUHN = "kuhn_poker"
GUESTS = textwrap.dedent('''
    """Agents of a user's own: one that is honest, and others that are not."""
    import sys
    import time
    from unseen import Agent, load
    from unseen.search.agents import SearchAgent, make_oos, OOS
    from unseen.options import read_all


    def answer(how, actions):
        print("a word")
        even = dict.fromkeys(actions, 1.0 / len(actions))
        if how == "raise":
            raise ZeroDivisionError("lost")
        if how == "exit":
            sys.exit(0)
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "asleep":
            time.sleep(1000.0)
        if how == "slow":
            time.sleep(0.05)
        return {
            "nan": dict.fromkeys(actions, float("nan")), "empty": {}, "negative": {actions[0]: 2.0, actions[1]: -1.0},
            "illegal": {99: 1.0}, "nothing": None, "half": {actions[0]: 0.5}, "words": dict.fromkeys(actions, "0.5"),
        }.get(how, even)


    class Guest(Agent):
        def __init__(self, how="well", where="choose", p=0.5):
            self.how, self.where, self.p = how, where, p
            self.at("make")

        def at(self, where):
            if where == self.where:
                answer(self.how, [0, 1])

        def begin(self, *args):
            super().begin(*args)
            self.at("begin")

        def observe(self, percept):
            super().observe(percept)
            self.at("observe")

        def choose(self, actions):
            if self.how == "well":
                return {actions[0]: self.p, actions[1]: 1 - self.p}
            return answer(self.how if self.where == "choose" else "well", actions)


    class Teacher(SearchAgent):
        """One that can teach a network."""

        def __init__(self, how="well", p=0.5, simulations=0):
            game = load("kuhn_poker")
            pattern = make_oos(game, "teacher", read_all("teacher", OOS, {}, "option")).pattern
            super().__init__(pattern, "teacher", simulations=simulations)
            self.how, self.p = how, p

        def choose(self, actions):
            if self.how == "well":
                return {actions[0]: self.p, actions[1]: 1 - self.p}
            return answer(self.how, actions)
''')
COMMANDS = ("match", "tournament", "measure", "extract", "compare", "learn")


@pytest.fixture
def guests(tmp_path):
    """The path of a file with agents."""
    file = tmp_path / "guests.py"
    file.write_text(GUESTS)
    return file


def arguments(command, agent, folder, workers=1):
    """A command line with an agent in it."""
    more = {
        "match": [agent, "random", "--games", "4"], "tournament": [agent, "random", "--games", "4", "--no-exploitability"],
        "measure": [agent], "extract": [agent, "--out", f"{folder}/guest.strategy", "--seed", "0"],
        "compare": [agent, "random", "--seed", "0"],
        "learn": ["--out", f"{folder}/learnt", "--set", f"expert={agent}", "--simulations", "5", "--iterations", "1",
                  "--evaluation-games", "4", "--set", "games=2", "--set", "steps=1", "--layers", "4"],
    }[command]  # fmt: skip
    return [command, KUHN, *more, "--workers", str(workers), "--json"]


def named(command, guests, options):
    """What names the agent, and what that agent is called in the command's errors."""
    if command != "learn":
        return (f"{guests}:Guest({options})",) * 2
    name = f"{guests}:Teacher({options})"
    return name, f"{name[:-1]}, simulations=5)"


@pytest.mark.parametrize(("how", "words"), [
    ("raise", "raised ZeroDivisionError: lost"), ("exit", "raised SystemExit: 0"), ("interrupt", "raised KeyboardInterrupt"),
    ("nan", "gave action 0 the probability nan"), ("empty", "gave no action a probability"),
    ("negative", "gave action 1 the probability -1.0"), ("illegal", "gave a probability to 99, which is not among the legal"),
    ("nothing", "answered None, which is not a probability for each action"), ("half", "probabilities that sum to 0.5, not to 1"),
    ("words", "gave action 0 the probability '0.5'"),
])  # fmt: skip
@pytest.mark.parametrize("command", COMMANDS)
def test_an_agent_at_fault_is_named_with_the_history_and_there_is_no_number(command, how, words, guests, tmp_path):
    name, shown = named(command, guests, f"how={how}")
    done = run_cli(*arguments(command, name, tmp_path))
    said = [line for line in done.stderr.splitlines() if line != "a word" and not line.startswith("compiling")]
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert len(said) == 1, said
    assert said[0].startswith(f"unseen: agent {shown!r}, player ")
    assert words in said[0]
    assert re.search(r"at (history|a history such as) \[\d(, \d)*\] \(deal [JQK], ", said[0])


def number_in(command, result, folder):
    """What a command has found out about an agent, from what it printed and wrote."""
    if command == "extract":
        return unseen.exploitability(KUHN, Strategy.load(folder / "guest.strategy"))
    if command == "learn":
        return result["last"]["against_random"] + result["last"]["against_teacher"]
    if command in ("tournament", "compare"):
        return [pair["mean"] for pair in result["pairs"] if (pair["first"], pair["second"]) != ("random", "random")]
    return result["mean" if command == "match" else "exploitability"]


def right_number(command, folder):
    """The same of an agent that chooses uniformly."""
    if command == "learn":
        net = f"net(file={folder}/learnt/network.safetensors)"
        return [*match(KUHN, net, "random", 4, seed=1, workers=1).rate] * 2
    if command == "match":
        return match(KUHN, "random", "random", 4, workers=1).mean
    if command == "tournament":
        found = tournament(KUHN, ["random", "random"], 4, workers=1, exploitability=False)
        return [pair["mean"] for pair in found.as_dict()["pairs"]]
    if command == "compare":
        return [compare(KUHN, ["random"]).pairs[0].mean] * 3
    return unseen.exploitability(KUHN, Strategy.uniform(KUHN))


@pytest.mark.parametrize("options", ["p=0.5", "how=aloud", "how=slow"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_honest_agent_gets_the_right_number(command, options, guests, tmp_path, monkeypatch):
    """With p=0.5, which arrives as a number, it is `random`; so is one that prints, and one that sleeps for a while."""
    monkeypatch.setattr(ticks, "SECONDS", 0.01)
    monkeypatch.setattr(asking, "PATIENCE", 0.0)
    done = run_cli(*arguments(command, named(command, guests, options)[0], tmp_path))
    assert done.returncode == 0, done.stderr
    assert number_in(command, json.loads(done.stdout), tmp_path) == pytest.approx(right_number(command, tmp_path), abs=1e-9)
    assert options != "how=slow" or re.search(r"has been thinking for \d+ s, at .*history.* \[", done.stderr)
    assert (options != "p=0.5") == ("a word" in done.stderr)


@pytest.mark.parametrize("command", ["match", "tournament"])
def test_an_agent_that_sleeps_is_woken_at_its_limit(command, guests, tmp_path, monkeypatch):
    monkeypatch.setattr(ticks, "SECONDS", 0.01)
    monkeypatch.setattr(asking, "OVERRUN", 0.0)
    done = run_cli(*arguments(command, f"{guests}:Guest(how=asleep)", tmp_path), "--limit", "0.1")
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.search(r"player 1, had not answered after \d+\.\d s; a move may take 0\.1 s, at history \[\d, \d\] ", done.stderr)


@pytest.mark.parametrize("command", ["match", "tournament"])
def test_forfeits_stand_in_the_table(command, guests, tmp_path):
    """Where they are asked for: how many, by whom, and the first one; under any name, and with workers."""
    name = f"{guests}:Guest(how=raise)"
    asked_for = arguments(command, name, tmp_path, workers=2)
    result = json.loads(run_cli(*asked_for, "--forfeits").stdout)
    counts = result["forfeits"] if command == "match" else [row["forfeits"] for row in result["ratings"]][::-1]
    assert counts[0] == len(result["faults"]) > 0
    assert counts[1] == 0
    assert result["faults"][0].startswith(f"agent {name!r}, player 1, raised ZeroDivisionError: lost, at history [")
    table = "".join(run_cli(*asked_for[:-1], "--forfeits").stdout.split())
    assert "raisedZeroDivisionError:lost" in table
    assert f"{counts[0]}:agent" in table


@pytest.mark.parametrize("where", ["make", "begin", "observe"])
@pytest.mark.parametrize("command", ["match", "measure", "extract"])
def test_faults_at_other_moments(command, where, guests, tmp_path):
    for how, words in (("raise", "raised ZeroDivisionError: lost"), ("exit", "raised SystemExit: 0")):
        name = f"{guests}:Guest(how={how}, where={where})"
        done = run_cli(*arguments(command, name, tmp_path))
        assert done.returncode == 2
        assert done.stdout == ""
        assert f"agent {name!r}{' cannot be made: it' if where == 'make' else ', player 1,'} {words}" in done.stderr
        assert where == "make" or re.search(r"at (history|a history such as) \[", done.stderr)


def test_the_traceback_travels_with_the_fault(guests):
    for workers in (1, 2):
        with pytest.raises(AgentFault) as caught:
            match(KUHN, f"{guests}:Guest(how=raise)", "random", games=2, workers=workers)
        assert 'raise ZeroDivisionError("lost")' in caught.value.details
        assert caught.value.fault.history == (0, 1)
        assert caught.value.fault.seat == 0


def test_a_tournament_that_a_fault_has_ended_goes_on_with_forfeits(guests, tmp_path):
    agents, folder = [f"{guests}:Guest(how=raise)", "random"], tmp_path / "played"
    with pytest.raises(AgentFault):
        tournament(KUHN, agents, 4, out=folder, workers=1, exploitability=False)
    found = tournament(KUHN, agents, 4, out=folder, workers=1, exploitability=False, resume=True, forfeits=True)
    assert len(found.record.games) == 4
    assert found.forfeited(found.record.games)[0] > 0


# What an agent may answer ---------------------------------------------------------------------------------------------------------


class Says(RandomAgent):
    """Answers what it was told to answer."""

    name = "says"

    def __init__(self, **answers):
        self.answers = answers

    def choose(self, actions):
        return self.answers.get("choose", super().choose(actions))

    def gathered(self, tree):
        return self.answers["gathered"]

    def plan(self, trees):
        return self.answers["plan"]

    def whole(self, walked=None, progress=None):
        return self.answers.get("whole")

    def fork(self, seed):
        return self.answers.get("fork", super().fork(seed))

    @property
    def question(self):
        return self.answers.get("question")

    @property
    def simulations_made(self):
        return self.answers.get("simulations_made", 0)


def begun(agent):
    found = Asked(agent)
    found.begin(load(KUHN), 0, 0)
    return found


def test_numbers_of_any_kind_are_probabilities():
    half = np.float32(0.5)
    found = begun(Says(choose={np.int64(0): half, 1: Fraction(1, 2)})).choose([0, 1])
    assert found == {0: 0.5, 1: 0.5}
    assert {type(x) for pair in found.items() for x in pair} == {int, float}


def test_whatever_else_it_answers_is_looked_at():
    tree = SequenceForm(KUHN).players[0]
    for name, answer, arguments, words in (
        ("gathered", np.ones(3), (tree,), "which are not 13 numbers"), ("gathered", "much", (tree,), "raised ValueError"),
        ("gathered", np.full(13, np.nan), (tree,), "which are not 13 numbers"), ("plan", 3, ([tree],), "not an array for each"),
        ("whole", {}, (), "returned {} from whole, which is not a strategy"),
        ("fork", None, (1,), "from fork, which is not an agent"),
    ):  # fmt: skip
        with pytest.raises(AgentFault, match=re.escape(words)):
            getattr(begun(Says(**{name: answer})), name)(*arguments)
    for name, answer in (("question", "what?"), ("simulations_made", -1), ("simulations_made", "many")):
        with pytest.raises(AgentFault, match=f"{answer}.*which is not"):
            getattr(begun(Says(**{name: answer})), name)
    with pytest.raises(unseen.UnseenError, match="xi, not for kuhn"):
        begun(Says(whole=Strategy.uniform("xi"))).whole()


def test_a_refusal_is_no_fault():
    with pytest.raises(unseen.UnseenError) as caught:
        match(KUHN, StrategyAgent(Strategy.uniform("xi"), "mine"), "random", games=2, forfeits=True)
    assert str(caught.value).startswith("agent 'mine': ")
    assert not isinstance(caught.value, AgentFault)


class Passes(StrategyAgent):
    """Says that it is what it is derived from, and is not."""

    def choose(self, actions):
        return {actions[0]: 1.0}


def test_a_class_that_chooses_anew_is_not_taken_for_what_it_is_derived_from(tmp_path):
    file = tmp_path / "derived.py"
    file.write_text("from unseen.agents import RandomAgent\nclass Passes(RandomAgent):\n    def choose(self, actions):\n"
                    "        return {actions[0]: 1.0}\n")  # fmt: skip
    right = measure(KUHN, Passes(Strategy.uniform(KUHN))).exploitability
    assert unseen.exploitability(KUHN, extract(KUHN, f"{file}:Passes", seed=0).strategy) == pytest.approx(right)
    assert begun(Passes(Strategy.uniform(KUHN))).whole() is None
    with pytest.raises(unseen.UnseenError, match="draws random numbers"):
        extract(KUHN, f"{file}:Passes")
    pair = compare(KUHN, [f"{file}:Passes", "random"], seed=0).pairs[0]
    assert (pair.mean, pair.win) == (0.0, 0.5)  # both pass: the higher card gets 1


def test_one_agent_in_both_seats_has_two_memories():
    """Each holds the card of its seat alone."""

    class Looks(RandomAgent):
        def choose(self, actions):
            assert sum(percept.private > 0 for percept in self.seen) == 1
            return super().choose(actions)

    agent = Looks()
    assert len(match(KUHN, agent, agent, games=4).games) == 4


# Ctrl-C, people, and where it was --------------------------------------------------------------------------------------------


class Interrupted(RandomAgent):
    """Somebody presses Ctrl-C while it thinks."""

    def choose(self, actions):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_is_nobodys_fault():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored if the tests run in the background
    try:
        assert match(KUHN, Interrupted(), "random", games=4).stopped
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_person_may_speak_and_gets_no_hint_from_an_adviser_at_fault(capsys):
    said, answers = [], iter(["h", "0", "0", "0"])

    def ask(prompt):
        print(prompt)
        return next(answers)

    human = HumanAgent(ask, said.append, adviser=Says(choose={}))
    play(load(KUHN), (human, RandomAgent()), 1)
    assert any(line.startswith("there is no hint: agent 'says', player 1, gave no action a probability") for line in said)
    assert "you are player 1> " in capsys.readouterr().out


class Slow(RandomAgent):
    def choose(self, actions):
        time.sleep(0.05)
        return super().choose(actions)


def test_a_person_does_not_read_what_the_other_player_holds(capsys, monkeypatch):
    monkeypatch.setattr(ticks, "SECONDS", 0.01)
    monkeypatch.setattr(asking, "PATIENCE", 0.0)
    play(load(KUHN), (HumanAgent(lambda prompt: "0", str), Slow()), 1)
    assert re.search(r"agent 'random', player 2, has been thinking for \d+ s\.\n", capsys.readouterr().err)


def test_a_history_is_found_that_is_consistent_with_what_was_seen():
    for game in ("kuhn_poker", "leduc_poker", "liars_dice(faces=3)", "phantom_ttt"):
        rng = random.Random(1)
        for position in random_walk(load(game), rng):
            if position.player in (0, 1):
                found = consistent_history(position.game, position.player, position.seen(position.player))
                assert Position(game, found).seen(position.player) == position.seen(position.player)
    assert consistent_history(load(KUHN), 0, [Percept(0, 9, 9)]) is None
    agent = begun(Says(choose={}))
    agent.observe(Percept(0, 9, 9))
    with pytest.raises(AgentFault, match=re.escape("when it had seen the percepts '0/9/9'.")):
        agent.choose([0, 1])

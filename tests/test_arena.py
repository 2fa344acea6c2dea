"""Agents, the referee, matches and measures: fair, repeatable, and hard to break."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import ROOT, Urn, run_cli

import unseen
from unseen import Position, SequenceForm, Strategy, load
from unseen.agents import Agent, Budget, Choice, RandomAgent, StrategyAgent
from unseen.arena import measures, referee
from unseen.arena.human import HumanAgent, Left, thoughts
from unseen.arena.matches import agresti_coull, match, replay
from unseen.arena.measures import measure
from unseen.arena.names import AGENTS, make_agent
from unseen.arena.referee import play
from unseen.enumeration.whole import example_histories
from unseen.exact.treeplex import treeplex
from unseen.reproduce import oos, oos_matches
from unseen.search import agents as search_agents
from unseen.search import searcher
from unseen.solving import job as solving_job

KUHN = "kuhn_poker"


# The referee -----------------------------------------------------------------------------------------------------------------


class Clock:
    """Goes on by `tick` whenever it is looked at."""

    def __init__(self, tick):
        self.now, self.tick = 0.0, tick

    def perf_counter(self):
        self.now += self.tick
        return self.now


class Faulty(RandomAgent):
    """Does something wrong at its first turn."""

    clock = Clock(0.0)

    def __init__(self, how):
        self.how, self.name = how, f"faulty-{how}"

    def begin(self, game, seat, seed, budget=None):
        if self.how == "begin":
            raise RuntimeError("not ready")
        super().begin(game, seat, seed, budget)

    def observe(self, percept):
        if self.how == "observe":
            raise RuntimeError("what is this?")
        super().observe(percept)

    def act(self, actions):
        even = dict.fromkeys(actions, 1.0 / len(actions))
        first = actions[0]
        if self.how == "raise":
            raise KeyError("lost")
        if self.how == "slow":
            self.clock.now += 0.05
        return {
            "illegal": Choice(99, even), "nonsense": "fold", "short": Choice(first, {first: 0.5}),
            "negative": Choice(first, {first: 2.0, actions[1]: -1.0}), "nan": Choice(first, {first: float("nan")}),
            "foreign": Choice(first, {99: 1.0}), "impossible": Choice(first, {actions[1]: 1.0}),
        }.get(self.how, Choice(first, even))  # fmt: skip


@pytest.mark.parametrize(("how", "words"), [
    ("raise", "raised KeyError: 'lost'"), ("illegal", "chose 99, which is not among the legal actions [0, 1]"),
    ("nonsense", "returned 'fold', which is not an action"), ("short", "sum to 0.5, not to 1"),
    ("negative", "gave action 1 the probability -1.0, which is not a number from 0 to 1"), ("nan", "action 0 the probability nan"),
    ("foreign", "gave a probability to 99, which is not among the legal actions [0, 1]"),
    ("impossible", "to which it had given no probability"),
    ("slow", "s for a move, which may take 0.01 s"), ("begin", "raised RuntimeError: not ready"), ("observe", "what is this?"),
])  # fmt: skip
def test_faults_are_named_and_forfeit_the_game_if_that_is_asked_for(how, words, monkeypatch):
    """By name, seat and history. Then the game is lost with the largest payoff, and the match goes on."""
    monkeypatch.setattr(referee, "time", Faulty.clock)
    with pytest.raises(unseen.AgentFault, match=re.escape(words)):
        match(KUHN, Faulty(how), RandomAgent(), games=6, limit=0.01)
    found = match(KUHN, Faulty(how), RandomAgent(), games=6, limit=0.01, forfeits=True)
    assert len(found.games) == 6
    at_fault = [played for played in found.games if played.fault]
    assert at_fault
    for k, played in enumerate(found.games):
        if played.fault:
            assert played.fault.agent == f"faulty-{how}"
            assert played.fault.seat == k % 2
            assert played.payoffs[k % 2] == -2.0  # the largest payoff of Kuhn poker
            assert words in str(played.fault)
            assert f"player {k % 2 + 1}" in str(played.fault)
            assert str(list(played.history)) in str(played.fault)
    count = found.as_dict()["forfeits"][0]
    assert count == len(at_fault)
    assert found.rows()["games forfeited by the first"].startswith(f"{count}: agent 'faulty-{how}', player 1, ")
    assert found.rows()["games forfeited by the second"] == "0"


class Broken(load(KUHN).__class__):
    """Kuhn poker with a rule that does not work at the end."""

    def utility(self, s, who):
        raise ZeroDivisionError


def test_a_fault_of_the_game_is_not_the_agents():
    with pytest.raises(unseen.GameFault, match="utility raised ZeroDivisionError"):
        match(Broken(), "random", "random", games=3)


class Deadly(RandomAgent):
    """Kills its process."""

    name = "deadly"

    def choose(self, actions):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_an_error_not_a_wait():
    with pytest.raises(unseen.UnseenError, match="a worker process ended"):
        match(KUHN, Deadly(), "random", games=8, workers=2)


def test_the_referee_tells_agents_what_they_may_know():
    class Watcher(RandomAgent):
        def __init__(self):
            self.matches = []

        def begin(self, game, seat, seed, budget=None):
            super().begin(game, seat, seed, budget)
            self.matches.append(self.seen)

    watchers = Watcher(), Watcher()
    for seed in range(20):
        played = play(load("leduc_poker"), watchers, seed)
        position = Position(load("leduc_poker"), played.history)
        assert position.utilities == played.payoffs
        for seat in (0, 1):
            assert tuple(watchers[seat].matches[-1]) == position.seen(seat)


def test_no_agent_sees_what_is_hidden():
    """Another history that fits the same percepts, the same seed: the same distributions, for every agent in every game."""
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, ROOT / "tests/leaks.py"], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) >= 12 * 7


# Names -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "words"), [
    ("oso", "agent 'oso' is unknown; did you mean 'oos'?"),
    ("oos(delta=2)", "parameter delta is 2.0, but must be a number from 0 to 1"),
    ("oos(targeting=private)", "must be one of none, infoset, public"), ("oos(speed=3)", "there is no option 'speed'"),
    ("ismcts(simulations=-1)", "must be a whole number, at least 0"),
    ("oos(simulations=5, seconds=1)", "simulations or seconds, not both"),
    ("oos(delta=", "is a bracket missing"), ("missing.strategy", "there is no such strategy file"),
    ("oos(delta=much)", "must be a number"),
])  # fmt: skip
def test_wrong_names_are_refused(spec, words):
    with pytest.raises(unseen.UnseenError) as error:
        make_agent(spec, load(KUHN))
    assert words in str(error.value)


def test_a_strategy_file_and_a_solved_game_are_agents(tmp_path):
    form = SequenceForm(KUHN)
    file = tmp_path / "kuhn.strategy"
    unseen.solve_exactly(form).strategy.save(file)
    for spec in (str(file), "solved(until=0.0001)"):
        found = measure(KUHN, spec)
        assert found.evaluation.exploitability < 1e-3
    with pytest.raises(unseen.UnseenError, match="leduc"):
        make_agent(str(file), load("leduc_poker"))


# Matches ----------------------------------------------------------------------------------------------------------------------


def read_records(path):
    """The games in a file of results."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_intervals():
    rate, low, high = agresti_coull(50, 100)
    assert (rate, low, high) == pytest.approx((0.5, 0.4038315, 0.5961685), abs=1e-6)
    assert agresti_coull(0, 10)[1] == 0.0
    found = match(KUHN, "random", "random", games=400, seed=1)
    payoffs = np.array(found.payoffs)
    margin = 1.965927 * payoffs.std(ddof=1) / sqrt(400)  # Student's t with 399 degrees of freedom
    assert sum(found.ci) / 2.0 == pytest.approx(found.mean)
    assert margin < found.ci[1] - found.mean < 1.005 * margin  # as if there were two games more, so that it is never 0
    assert found.wins + found.draws + found.losses == 400


def test_a_match_is_fair_and_a_better_player_wins():
    exact = StrategyAgent(unseen.solve_exactly(SequenceForm("liars_dice(faces=3)")).strategy)
    found = match("liars_dice(faces=3)", exact, "random", games=600, seed=2)
    assert found.ci[0] > 0.2
    same = match("liars_dice(faces=3)", exact, exact, games=600, seed=2)
    assert abs(same.mean) < 2.0 * (same.ci[1] - same.mean)  # four standard errors


def test_workers_change_nothing(tmp_path):
    """A match of a thousand short games, one seed: the same with one worker and with two."""
    results = []
    for workers in (1, 2):
        out = tmp_path / f"{workers}.jsonl"
        found = match(KUHN, "oos(simulations=30)", "ismcts(simulations=30)", games=1000, seed=7, workers=workers, out=out)
        results.append([(p.history, p.payoffs, [t.probabilities for t in p.turns]) for p in found.games])
        assert [tuple(row["history"]) for row in read_records(out)] == [p.history for p in found.games]
    assert results[0] == results[1]
    again = replay(KUHN, "oos(simulations=30)", "ismcts(simulations=30)", 417, seed=7)
    assert again.history == results[0][417][0]


def test_a_budget_is_for_agents_that_do_not_say():
    game = load(KUHN)
    for spec, budget, made in (("oos", Budget(70), 70), ("oos(simulations=40)", Budget(70), 40), ("oos", None, 100_000)):
        agent = make_agent(spec, game)
        agent.begin(game, 0, 1, budget)
        agent.observe(unseen.Percept(0, 0, 1))
        agent.choose([0, 1])
        assert agent.simulations_made == made
    agent = make_agent("oos(seconds=0.2)", game)
    agent.begin(game, 0, 1)
    agent.observe(unseen.Percept(0, 0, 1))
    began = time.perf_counter()
    agent.choose([0, 1])
    assert time.perf_counter() - began >= 0.2
    assert agent.simulations_made > 1


class Fresh(load(KUHN).__class__):
    """Kuhn poker, not yet compiled."""


def test_all_is_compiled_before_the_first_move():
    """So that compiling costs no agent the time of a move."""
    game = Fresh()
    agent = make_agent("vr_oos(simulations=50)", game)
    agent.begin(game, 0, 1)
    modules = [module for name, module in sys.modules.items() if name.startswith("unseen.")]
    kernels = {f.dispatcher for module in modules for f in vars(module).values() if hasattr(f, "dispatcher")}
    before = {kernel: len(kernel.overloads) for kernel in kernels}
    agent.observe(unseen.Percept(0, 0, 1))
    agent.choose([0, 1])
    assert {kernel: len(kernel.overloads) for kernel in kernels} == before


def test_the_time_of_a_move_includes_that_of_the_belief(monkeypatch):
    game = load(KUHN)
    agent = make_agent("oos(seconds=5)", game)
    agent.begin(game, 0, 1)
    agent.observe(unseen.Percept(0, 0, 1))
    clock = Clock(1.0)
    for module in (search_agents, searcher):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(agent.searcher, "aim", lambda *args: setattr(clock, "now", 10.0))
    agent.choose([0, 1])
    assert agent.simulations_made == 1


def test_a_solution_that_was_stopped_is_not_kept(monkeypatch):
    game = load("kuhn_poker(cards=4)")
    with monkeypatch.context() as patched:
        patched.setattr(solving_job, "solve", lambda *args, **options: SimpleNamespace(stopped=True))
        with pytest.raises(KeyboardInterrupt):
            make_agent("solved", game)
    assert measure(game, "solved").evaluation.exploitability <= 0.001


def test_ctrl_c_keeps_the_games(tmp_path):
    out = tmp_path / "games.jsonl"
    command = [sys.executable, "-m", "unseen", "match", KUHN, "oos(simulations=3000)", "random", "--games", "1000000",
               "--workers", "2", "--out", str(out), "--json"]  # fmt: skip

    def heed():  # Ctrl-C is ignored if the tests run in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    while not out.exists() or len(out.read_text().splitlines()) < 20:
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    result = json.loads(text)
    assert result["stopped"]
    assert result["games"] == len(list(read_records(out))) >= 20


# Measures ---------------------------------------------------------------------------------------------------------------------


def test_stitching_a_strategy_gives_it_back():
    form = SequenceForm("leduc_poker")
    strategy = form.random(3)
    found = measure("leduc_poker", StrategyAgent(strategy), form=form)
    assert found.searches == 936
    assert found.evaluation.exploitability == pytest.approx(form.evaluate(strategy).exploitability, abs=1e-12)
    assert measure("leduc_poker", "random", form=form).evaluation.exploitability == pytest.approx(
        form.evaluate(form.uniform()).exploitability, abs=1e-12
    )


class Diary(RandomAgent):
    """Writes down where it was asked, and what it remembered of earlier searches in the same line of play."""

    def __init__(self, log):
        self.log, self.memory = log, ()

    def begin(self, game, seat, seed, budget=None):
        super().begin(game, seat, seed, budget)
        self.memory = ()

    def choose(self, actions):
        self.log.append((self.seat, tuple(self.seen), self.memory))
        self.memory = (*self.memory, tuple(self.seen))
        return super().choose(actions)


def test_stitching_passes_memory_from_parents_to_children_only():
    """At each set the agent remembers its searches at exactly the player's earlier sets."""
    log = []
    measure("leduc_poker", Diary(log))
    want = {}
    for position in (Position(load("leduc_poker"), h) for h in example_histories(load("leduc_poker"))[1]):
        player = position.player
        earlier = [Position(position.game, position.history[:n]) for n in range(len(position.history))]
        want[player, position.seen(player)] = tuple(p.seen(player) for p in earlier if p.player == player)
    assert {(seat, seen): memory for seat, seen, memory in log} == want


@pytest.mark.parametrize("method", ["stitching", "aggregate"])
def test_a_measure_can_be_stopped_and_resumed(tmp_path, method):
    """And does not depend on the number of workers."""
    agent, file = "oos(targeting=public, simulations=300)", tmp_path / "measure"
    whole = measure(KUHN, agent, method, games=30, seed=3)
    done = 0

    def stop(parts, tasks, simulations):
        nonlocal done
        done += 1
        if done == 5:
            raise KeyboardInterrupt

    part = measure(KUHN, agent, method, games=30, seed=3, save=file, watch=stop)
    assert not part.is_complete
    assert part.searches < whole.searches
    rest = measure(KUHN, agent, method, games=30, seed=3, save=file, resume=True, workers=2)
    assert rest.searches == whole.searches
    assert rest.simulations == whole.simulations
    assert rest.evaluation == whole.evaluation
    with pytest.raises(unseen.UnseenError, match="seed 3"):
        measure(KUHN, agent, method, games=30, seed=4, save=file, resume=True)


def test_a_measure_stopped_before_its_first_search(monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(measures, "run_all", stop)
    found = measure(KUHN, "oos(simulations=300)")
    assert (found.searches, found.per_search, found.rate, found.is_complete) == (0, 0.0, 0.0, False)


def test_aggregation_adds_what_the_paper_says():
    """All of what the first search gathers; of later ones what concerns sets that can still be reached."""
    game = load(KUHN)
    job = measures.Aggregation(game, "oos(targeting=public, simulations=200)", 5, None, unseen.enumerate_game(game))
    found = job(3)
    chance_seed, *agent_seeds = measures.seeds(5, 3)
    *_, end = unseen.position.random_walk(game, random.Random(chance_seed))
    examples = [Position(game, history) for history in example_histories(game)[1]]
    for player in (0, 1):
        tree = treeplex(job.found, player)
        agent = make_agent("oos(targeting=public, simulations=200)", game)
        agent.begin(game, player, agent_seeds[player])
        total, before, turns = np.zeros(tree.sequences), np.zeros(tree.sequences), 0
        for n in range(len(end.history)):
            position = Position(game, end.history[:n])
            if position.player != player:
                continue
            for percept in position.seen(player)[len(agent.seen) :]:
                agent.observe(percept)
            agent.choose(position.actions)
            gained = agent.gathered(tree) - before
            before = agent.gathered(tree)
            for j in range(tree.infosets):
                other = next(p for p in examples if p.player == player and p.infoset == int(tree.keys[j]))
                is_below = other.seen(player)[: len(position.seen(player))] == position.seen(player)
                if turns == 0 or is_below:
                    cells = slice(tree.first[j], tree.first[j] + tree.count[j])
                    total[cells] += gained[cells]
            turns += 1
        mine = np.zeros(tree.sequences)
        mine[found.places[player]] = found.amounts[player]
        assert mine == pytest.approx(total, abs=1e-12)


def test_only_searches_can_be_aggregated():
    with pytest.raises(unseen.UnseenError, match="does not search"):
        measure(KUHN, "random", "aggregate", games=2)
    with pytest.raises(unseen.UnseenError, match="method is 'guess', but must be one of stitching, aggregate"):
        measure(KUHN, "random", "guess")


# People and commands ------------------------------------------------------------------------------------------------------------


def test_a_person_plays():
    said, answers = [], iter(["?", "b", "fly", "bet", "0", "1", "1"])
    human = HumanAgent(lambda prompt: next(answers), said.append)
    played = play(load(KUHN), (human, RandomAgent()), 1)
    text = "\n".join(said)
    assert "histories are consistent with what you have seen" in text
    assert "'fly' is not an action; the actions are 0, 1" in text
    assert "50.0%" in text
    assert all("/" not in line.split(",")[0] for line in thoughts(load(KUHN), played, 1))
    turns = [turn for turn in played.turns if turn.seat == 1]
    assert len(thoughts(load(KUHN), played, 1)) == len(turns) > 0
    assert all("0.500" in line for line in thoughts(load(KUHN), played, 1))  # the other player is random
    leaving = HumanAgent(lambda prompt: "q", said.append)
    with pytest.raises(Left):
        play(load(KUHN), (leaving, RandomAgent()), 1)


def test_a_person_is_told_what_chance_makes_likely():
    """Nine red balls of ten."""
    said, answers = [], iter(["b", "0"])
    play(Urn(), (HumanAgent(lambda prompt: next(answers), said.append), RandomAgent()), 1)
    assert "2 histories are consistent" in "\n".join(said)
    assert [line.split()[0] for line in said if "%" in line] == ["90.0%", "10.0%"]


def test_commands(tmp_path):
    listed = json.loads(run_cli("agents", "--json").stdout)["agents"]
    assert set(listed) == set(AGENTS)
    result = json.loads(run_cli("match", KUHN, "oos(simulations=50)", "random", "--games", "20", "--workers", "1", "--json").stdout)
    assert result["games"] == 20 == result["wins"] + result["draws"] + result["losses"]
    assert result["ci"][0] <= result["mean"] <= result["ci"][1]
    single = run_cli("match", KUHN, "random", "random", "--games", "1", "--json").stdout
    assert json.loads(single, parse_constant=pytest.fail)["ci"] is None
    file = tmp_path / "kuhn.strategy"
    done = run_cli("measure", KUHN, "oos(simulations=50)", "--workers", "1", "--out", str(file), "--json")
    result = json.loads(done.stdout)
    form = SequenceForm(KUHN)
    assert form.evaluate(Strategy.load(file)).exploitability == pytest.approx(result["exploitability"], abs=1e-12)
    assert sum(result["best_response"]) == pytest.approx(result["exploitability"])
    assert result["simulations"] == 12 * 50
    for wrong, words in (
        (("match", KUHN, "oos", "rndom"), "agent 'rndom' is unknown; did you mean 'random'?"),
        (("measure", KUHN, "oos", "--resume"), "--resume needs --keep"),
        (("measure", KUHN, "oos", "--method", "guess"), "method is 'guess'"),
        (("match", KUHN, "oos", "random", "--simulations", "5", "--seconds", "1"), "not both"),
        (("match", KUHN, "oos", "random", "--out", str(tmp_path / "no" / "x")), "cannot write"),
        (("measure", KUHN, "random", "--out", "/dev/null"), "cannot write /dev/null"),
        (("match", KUHN, "x" * 300, "random"), "is unknown. The agents are: random"),
        (("play", KUHN, "--seat", "third"), "must be first, second or both"),
    ):
        done = run_cli(*wrong)
        assert done.returncode == 2, done
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_playing_at_the_terminal():
    done = subprocess.run([sys.executable, "-m", "unseen", "play", KUHN, "--against", "random", "--seat", "first"],
                          input="b\n0\n1\n1\nd\nq\n", capture_output=True, text=True, cwd=ROOT, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "you are player 1" in done.stdout
    assert "You leave with" in done.stdout


def test_agents_are_agents():
    for name, kind in ((name, kind) for name, kind in AGENTS.items() if not kind.needs):
        assert isinstance(make_agent(name, KUHN if "kuhn_poker" in kind.games else "goofspiel(cards=3)"), Agent)


def test_workers_end_with_the_process_that_started_them(tmp_path):
    """Killed in the middle of a match, it leaves nothing running."""
    command = [sys.executable, "-m", "unseen", "match", KUHN, "oos(seconds=0.05)", "random", "--games", "10000", "--workers", "2",
               "--out", str(tmp_path / "games")]  # fmt: skip
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "games").exists() or not (tmp_path / "games").stat().st_size:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    with pytest.raises(ProcessLookupError):  # noqa: PT012
        for _ in range(200):
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def test_the_paper_is_reproduced(tmp_path, monkeypatch):
    """In games of a few histories: the page has its table, figure and claims, and nothing is done twice."""
    small = {"dice": KUHN, "goofspiel": "ii_goofspiel(cards=3)", "larger": KUHN, "stitched": (30, 60), "aggregated": (90, 2)}
    monkeypatch.setattr(oos, "QUICK", replace(oos.QUICK, **small, times=(30, 60), games=2, matches=2, larger_games=2))
    arguments = ("reproduce", "oos", "--quick", "--out", str(tmp_path), "--json")
    done = run_cli(*arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    page = (tmp_path / "quick.md").read_text()
    assert (tmp_path / "figure2_quick.png").exists()
    for words in (
        "| PST | stitched | 30 |",
        "| VR-PST | aggregated | 90 |",
        "0.203 + 0.211 = 0.414 (1 s)",
        "win rate of OOS against ISMCTS",
        "PST (delta = 0.8) wins 256 of 500",
    ):
        assert words in page
    assert len(result["claims"]) == 11
    cell = tmp_path / "cells" / "quick_seed0_stitched_IST_0.json"
    other = json.loads(cell.read_text())
    other["of"][1] = other["of"][1].replace("30", "20")
    cell.write_text(json.dumps(other))
    again = run_cli(*arguments)
    assert json.loads(again.stdout) == result
    assert "stitched IST 0" in again.stderr  # what was made with other arguments is made anew
    assert "stitched PST" not in again.stderr


def test_the_papers_matches_are_played(tmp_path, monkeypatch):
    """In Kuhn poker, a few games: a page with rates, claims, and nothing played twice."""
    panel = oos_matches.Panel(
        "Kuhn", "kuhn_poker", 0.9, oos_matches._pairs("IST", "PST"), {10: 8, 20: 6}, (("1 s", 0.5), ("2 s", 2.0))
    )
    monkeypatch.setattr(oos_matches, "FULL", oos_matches.Scale((panel,), batches=2))
    said, again = [], []
    claims = oos_matches.reproduce(tmp_path, say=said.append, workers=1)
    assert [claim.text for claim in claims] == [
        f"Kuhn: OOS wins {x} of games against ISMCTS ({y})" for x, y in (("50.0%", "1 s"), ("200.0%", "2 s"))
    ]
    assert claims[1].held is False
    assert len(said) == 2 * 2 * 3
    page = (tmp_path / "page.md").read_text()
    assert "| Kuhn | IST | ISMCTS | 10 | 16 |" in page
    assert "did not hold" in page
    assert oos_matches.reproduce(tmp_path, say=again.append, workers=1) == claims
    assert not again

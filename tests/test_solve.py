"""Solvers: the pieces alone, iteration by iteration against OpenSpiel and a plain recursion, samplers by enumeration."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from math import inf

import numpy as np
import pyspiel
import pytest
from enumerating import CopiedStates, Script, exact_regrets, plans_by_cell, scripted, scripted_object
from helpers import run_cli
from spiel import spiel_infosets

import unseen
from unseen import Position, SequenceForm
from unseen.compiling import as_python
from unseen.solving import outcome, traversal
from unseen.solving.algorithms import make_solver, names
from unseen.solving.job import solve
from unseen.solving.minimisers import MINIMISERS, Minimiser
from unseen.solving.solvers import OutcomeSampling
from unseen.tabular.regret_matching import fill_behaviour
from unseen.tabular.table import columns, copied, set_field, shares_strategy

SAMPLERS = ("outcome_sampling", "external_sampling", "chance_sampling")

REGRETS, AVERAGES = 0, 1


# The pieces ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scores", "behaviour"), [
    ([3.0, 1.0, -5.0], [0.75, 0.25, 0.0]), ([-1.0, -2.0, 0.0], [1 / 3] * 3), ([0.0, 2.0, 0.0], [0.0, 1.0, 0.0]),
])  # fmt: skip
def test_regret_matching(scores, behaviour):
    found = np.full(5, 9.0)
    as_python(fill_behaviour)(np.array([7.0, *scores, 7.0]), found, 1, 3)
    assert found.tolist() == pytest.approx([9.0, *behaviour, 9.0])


def test_discounts_and_weights():
    dcfr = Minimiser(**MINIMISERS["dcfr"])
    assert dcfr.discount(5, 1.5) == pytest.approx(8.0 / 9.0)
    assert dcfr.discount(5, 0.0) == 0.5
    assert dcfr.discount(1, 1.5) == 0.0
    assert dcfr.discount(5, inf) == 1.0
    assert dcfr.weight(3) == 9.0
    assert dcfr.add(2.0, 1.0, 0.5, 0.1) == 2.0
    assert dcfr.add(-2.0, 1.0, 0.5, 0.1) == pytest.approx(0.8)
    assert Minimiser(floor=True).add(1.0, -3.0, 1.0, 1.0) == 0.0


# The sequence form --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "solver"), [("cfr", pyspiel.CFRSolver), ("cfr+", pyspiel.CFRPlusSolver)])
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_each_iteration_is_open_spiels(game, name, solver):
    ours, spiel = make_solver(name, unseen.load(game), SequenceForm(game)), pyspiel.load_game(game)
    theirs, strings = solver(spiel), spiel_infosets(unseen.load(game), spiel)
    for _ in range(12):
        ours.run(1)
        theirs.evaluate_and_update_policy()
        policy, strategy = theirs.tabular_average_policy(), ours.strategy()
        for j, key in enumerate(strategy.keys.tolist()):
            cells = slice(strategy.first[j], strategy.first[j] + strategy.count[j])
            want = dict(policy.get_state_policy(strings[key]))
            assert strategy.probability[cells].tolist() == pytest.approx(
                [want[a] for a in strategy.actions[cells].tolist()], abs=1e-9
            )


class Recursion:
    """Counterfactual regret minimisation as one would write it on paper, with players updated in turn."""

    def __init__(self, game):
        self.game = game
        self.regret = defaultdict(lambda: defaultdict(float))
        self.sums = defaultdict(lambda: defaultdict(float))
        self.behaviour = {}

    def at(self, position):
        actions = position.actions
        return self.behaviour.get(position.infoset, dict.fromkeys(actions, 1.0 / len(actions)))

    def iterate(self):
        for player in (0, 1):
            self.walk(Position(self.game), player, 1.0, 1.0)
            for infoset, regret in self.regret.items():
                total = sum(max(r, 0.0) for r in regret.values())
                self.behaviour[infoset] = {a: max(r, 0.0) / total if total > 0 else 1.0 / len(regret) for a, r in regret.items()}

    def walk(self, position, player, mine, others):
        if position.is_terminal:
            return position.utilities[player]
        if position.is_chance:
            pairs = zip(position.actions, position.chance_probabilities, strict=True)
            return sum(p * self.walk(position.child(a), player, mine, others * p) for a, p in pairs)
        behaviour = self.at(position)
        if position.player != player:
            return sum(p * self.walk(position.child(a), player, mine, others * p) for a, p in behaviour.items())
        values = {a: self.walk(position.child(a), player, mine * p, others) for a, p in behaviour.items()}
        expected = sum(behaviour[a] * v for a, v in values.items())
        for a, v in values.items():
            self.regret[position.infoset][a] += others * (v - expected)
            self.sums[position.infoset][a] += mine * behaviour[a]
        return expected


@pytest.mark.parametrize("spec", ["kuhn_poker", "liars_dice(dice1=1, dice2=2, faces=2)", "ii_goofspiel(cards=3)"])
def test_cfr_is_the_plain_recursion(spec):
    game = unseen.load(spec)
    plain, solver = Recursion(game), make_solver("cfr", game, SequenceForm(game))
    for _ in range(4):
        plain.iterate()
        solver.run(1)
        strategy = solver.strategy()
        for j, key in enumerate(strategy.keys.tolist()):
            sums = plain.sums[key]
            for c in range(strategy.first[j], strategy.first[j] + strategy.count[j]):
                want = sums[strategy.actions[c]] / sum(sums.values()) if sum(sums.values()) else 1.0 / strategy.count[j]
                assert strategy.probability[c] == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("name", MINIMISERS)
@pytest.mark.parametrize("alternating", ["true", "false"])
def test_the_family_converges_and_none_stalls(name, alternating):
    form = SequenceForm("leduc_poker")
    solver = make_solver(f"{name}(alternating={alternating})", form.game, form)
    found = []
    for _ in range(3):
        solver.run(300)
        found.append(solver.evaluate(form).exploitability)
    assert found[0] > found[1] > found[2] > 0.0
    assert found[2] < 0.2


def test_the_best_variants_solve_leduc_and_liars_dice():
    for spec, name, iterations, bound in (("leduc_poker", "sapcfr+", 20_000, 1e-6), ("liars_dice", "dcfr", 2_500, 1e-4)):
        form = SequenceForm(spec)
        solver = make_solver(name, form.game, form)
        solver.run(iterations)
        assert solver.evaluate(form).exploitability < bound


@pytest.mark.parametrize("name", ["cfr", "pcfr+", "dcfr(alternating=false)"])
def test_streamed_payoffs_lead_to_the_same_strategy(name):
    stored, streamed = (make_solver(name, unseen.load("kuhn_poker"), SequenceForm("kuhn_poker", streamed=s)) for s in (False, True))
    for solver in (stored, streamed):
        solver.run(20)
    np.testing.assert_allclose(stored.strategy().probability, streamed.strategy().probability, atol=1e-12)


# Sampling -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_converge(name):
    form = SequenceForm("kuhn_poker")
    solver = make_solver(name, form.game, form, seed=3)
    solver.run(200_000)
    assert solver.evaluate(form).exploitability < 0.02
    assert len(solver.strategy()) == 12


@pytest.mark.parametrize("name", names())
def test_a_solver_goes_on_from_its_arrays_as_if_nothing_had_happened(name):
    form = SequenceForm("leduc_poker")
    whole, first, second = (make_solver(name, form.game, form, seed=5) for _ in range(3))
    whole.run(700)
    first.run(301)
    second.restore({key: array.copy() for key, array in first.arrays().items()}, first.iterations, first.nodes)
    second.run(399)
    a, b = whole.strategy(), second.strategy()
    np.testing.assert_array_equal(a.keys, b.keys)
    np.testing.assert_array_equal(a.probability, b.probability)


@pytest.mark.parametrize(("spec", "words"), [
    ("cfr++", "did you mean 'cfr+'"), ("zzz", "The algorithms are: cfr, cfr+"), ("cfr(gama=1)", "there is no option 'gama'"),
    ("outcome_sampling(epsilon=0)", "epsilon is 0.0, but must be a number above 0 and up to 1"),
    ("cfr+(alternating=3)", "must be true or false"),
    ("dcfr(alpha=big)", "alpha is 'big', but must be a number"),
    ("dcfr(gamma=400)", "gamma is 400.0, but must be a number from -20 to 20"), ("cfr(prediction=inf)", "prediction is inf"),
    ("outcome_sampling(epsilon=true)", "epsilon is True"), ("outcome_sampling(averaging=late)", "must be one of stochastic, lazy"),
    ("cfr(", "is a bracket missing"),
])  # fmt: skip
def test_wrong_algorithms_are_refused_in_one_sentence(spec, words):
    form = SequenceForm("kuhn_poker")
    with pytest.raises(unseen.UnseenError) as error:
        make_solver(spec, form.game, form)
    assert words in str(error.value)


def matched(regret):
    """Regret matching, in plain words."""
    positive = np.maximum(regret, 0.0)
    return (positive / positive.sum() if positive.sum() > 0 else np.full(len(regret), 1 / len(regret))).tolist()


class SamplerScript(Script):
    """Makes the choices of the offline samplers."""

    def draw(self, regret, total, rng):
        return self.choose(matched(regret))

    def explore(self, regret, total, epsilon, rng):
        behaviour = matched(regret)
        return self.choose([epsilon / len(behaviour) + (1.0 - epsilon) * p for p in behaviour])


def expected_updates(solver, player):
    """What one simulation or traversal for `player` adds to regrets and averages, over all executions, by (set, action)."""
    content = columns(solver.table)
    script, total, weight = SamplerScript(), np.zeros((2, len(content.action))), 0.0
    is_outcome = isinstance(solver, OutcomeSampling)
    run, keeps = scripted(outcome.run if is_outcome else traversal.run, script), scripted_object(solver.keeps, script)
    while True:
        table = copied(solver.table)
        states = CopiedStates(solver.game.new_state() for _ in range(solver.game.max_length + 1))
        with np.errstate(over="ignore"):
            if is_outcome:
                run(
                    solver.game, states, keeps, table, solver.path, *solver.scratch, None, solver.epsilon, player, player + 1
                )  # fmt: skip
            else:
                cursor = traversal.new_cursor(player)
                stack = solver.stack._replace(states=states)
                run(solver.game, stack, keeps, table, *solver.scratch, None, solver.sampling, cursor, np.zeros(1), player + 1)
        learnt = [table.floats[places] - solver.table.floats[places] for places in map(content.places, (REGRETS, AVERAGES))]
        total += script.likelihood * np.array(learnt)
        weight += script.likelihood
        if not script.next():
            assert weight == pytest.approx(1.0, abs=1e-12)
            return total


def prepared(name, spec, seed):
    """A sampler that has met every information set, with random regrets there."""
    form = SequenceForm(spec)
    solver = make_solver(name, form.game, form, seed=1)
    for _ in range(40):
        solver.run(100)
        solver.table.floats[columns(solver.table).places(REGRETS)] = 0.0  # behave evenly, so that everything is met
    content = columns(solver.table)
    assert len(content.key) == sum(form.infosets)
    solver.table.floats[content.places(REGRETS)] = np.random.default_rng(seed).normal(size=len(content.action))
    solver.table.floats[content.places(AVERAGES)] = 0.0
    if not isinstance(solver, OutcomeSampling):
        solver.table.ints[as_python(set_field)(content.block, solver.keeps.traversal)] = 0  # no traversal has come by
    return form, solver


@pytest.mark.parametrize("spec", ["kuhn_poker", "ii_goofspiel(cards=2)", "goofspiel(cards=2)", "liars_dice(faces=2)"])
@pytest.mark.parametrize("name", ["outcome_sampling", "outcome_sampling(epsilon=1)", "external_sampling", "chance_sampling"])
def test_sampled_regrets_are_exact_on_average(name, spec):
    """Lemma 1 of the MCCFR paper: the expectation over all samples is the counterfactual regret; and averages follow the plan."""
    ratios = []
    for seed in (1, 2):
        form, solver = prepared(name, spec, seed)
        strategy, content = shares_strategy(form.game, solver.table, REGRETS), columns(solver.table)
        owners = np.repeat(np.arange(len(content.key)), content.n_actions)
        cells = [(int(content.key[j]), int(content.action[c]), int(solver.table.player[j]), c) for c, j in enumerate(owners)]
        ratios.append({})
        for player in (0, 1):
            regrets, averages = expected_updates(solver, player)
            exact, plan = exact_regrets(form, strategy, player), plans_by_cell(form, strategy, 1 - player)
            for key, action, owner, c in cells:
                if owner == player:
                    assert regrets[c] == pytest.approx(exact[key, action], abs=1e-9)
                    assert averages[c] == 0.0
                else:
                    assert regrets[c] == 0.0
                    if plan[key, action] > 1e-12:
                        ratios[-1].setdefault(key, []).append(averages[c] / plan[key, action])
                    else:
                        assert averages[c] == pytest.approx(0.0, abs=1e-12)
    for key in ratios[0].keys() & ratios[1].keys():  # the same for all actions, and whatever the behaviour is
        assert ratios[0][key] + ratios[1][key] == pytest.approx(
            [ratios[0][key][0]] * len(ratios[0][key] + ratios[1][key]), abs=1e-9
        )


# Jobs ---------------------------------------------------------------------------------------------------------------------------


def test_a_job_stops_when_it_should():
    few = solve("kuhn_poker", "cfr+", iterations=37)
    assert few.last.iterations == 37
    assert few.last.exploitability == pytest.approx(SequenceForm("kuhn_poker").evaluate(few.strategy).exploitability, abs=1e-12)
    good = solve("kuhn_poker", "dcfr", until=1e-3)
    assert good.last.exploitability <= 1e-3 < good.points[-2].exploitability
    assert [p.iterations for p in good.points] == sorted({p.iterations for p in good.points})
    assert solve("kuhn_poker", "external_sampling", seconds=0.05).last.seconds >= 0.05


@pytest.mark.parametrize(("arguments", "words"), [
    ({}, "say when to stop"), ({"iterations": 0}, "iterations is 0, but must be more than 0"), ({"until": -1.0}, "until is -1.0"),
])  # fmt: skip
def test_jobs_need_a_limit(arguments, words):
    with pytest.raises(unseen.UnseenError, match=words):
        solve("kuhn_poker", "cfr", **arguments)


def test_checkpoints_of_others_are_refused(tmp_path):
    file = tmp_path / "c"
    solve("kuhn_poker", "cfr", iterations=5, save=file)
    for game, algorithm, seed, words in (
        ("kuhn_poker(cards=4)", "cfr", 0, "it is of game"), ("kuhn_poker", "cfr+", 0, "it is of algorithm 'cfr', not 'cfr+'"),
        ("kuhn_poker", "cfr", 1, "it is of seed 0, not 1"),
    ):  # fmt: skip
        with pytest.raises(unseen.UnseenError, match=re.escape(words)):
            solve(game, algorithm, iterations=9, seed=seed, save=file, resume=True)
    with pytest.raises(unseen.UnseenError, match="it is of form 'whole', not 'reduced'"):
        solve("kuhn_poker", "cfr", iterations=9, save=file, resume=True, reduced=True)
    assert solve("kuhn_poker", "cfr", iterations=9, save=file, resume=True).last.iterations == 9
    data = file.read_bytes()
    for damaged, words in ((data[:-7], "checksum"), (data[:200] + b"x" + data[201:], "checksum"), (b"hello", "not a checkpoint")):
        file.write_bytes(damaged)
        with pytest.raises(unseen.UnseenError, match=words):
            solve("kuhn_poker", "cfr", iterations=9, save=file, resume=True)


KILLS = 3


@pytest.mark.parametrize("algorithm", ["external_sampling", "dcfr"])
def test_a_killed_job_goes_on_and_ends_the_same(tmp_path, algorithm):
    iterations = {"external_sampling": "2500000", "dcfr": "60000"}[algorithm]
    command = [sys.executable, "-m", "unseen", "solve", "leduc_poker", "--algorithm", algorithm, "--iterations", iterations,
               "--seed", "4", "--checkpoint-seconds", "0.05", "--resume", "--json", "--out"]  # fmt: skip
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    rng = random.Random(1)
    kills = 0
    for _ in range(KILLS):
        process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        checkpoint = tmp_path / "killed.checkpoint"
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns != before):
            time.sleep(0.01)
        time.sleep(rng.random() * 0.2)
        kills += process.poll() is None
        process.kill()
        process.wait()
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    assert kills == KILLS
    assert killed.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("algorithm", ["outcome_sampling(averaging=lazy)", "external_sampling", "cfr"])
def test_a_job_that_ctrl_c_stopped_goes_on_and_ends_the_same(tmp_path, algorithm):
    whole = solve("kuhn_poker", algorithm, iterations=3000)
    for limit in (100, 1000):

        def press_ctrl_c(point, limit=limit):
            if point.iterations > limit:
                signal.raise_signal(signal.SIGINT)

        stopped = solve("kuhn_poker", algorithm, iterations=3000, save=tmp_path / "c", resume=True, watch=press_ctrl_c)
        assert stopped.stopped
        assert limit < stopped.last.iterations < 3000
    ended = solve("kuhn_poker", algorithm, iterations=3000, save=tmp_path / "c", resume=True)
    assert ended.last.iterations == 3000
    np.testing.assert_array_equal(ended.strategy.probability, whole.strategy.probability)


def test_solve_on_the_command_line(tmp_path):
    out, log = tmp_path / "s", tmp_path / "log"
    done = run_cli("solve", "kuhn_poker", "--algorithm", "cfr+", "--until", "0.001", "--out", str(out), "--log", str(log), "--json")
    result = json.loads(done.stdout)
    assert {"iterations", "seconds", "nodes", "best_response", "exploitability"} <= set(result)
    assert result["exploitability"] == pytest.approx(sum(result["best_response"]))
    assert result["exploitability"] <= 0.001
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert rows[-1]["exploitability"] == result["exploitability"]
    assert SequenceForm("kuhn_poker").evaluate(unseen.Strategy.load(out)).exploitability == pytest.approx(result["exploitability"])
    for arguments, words in (
        (("--algorithm", "cfrr", "--iterations", "3"), "did you mean 'cfr'"), ((), "say when to stop"),
        (("--iterations", "3", "--resume"), "--resume needs --out"),
    ):  # fmt: skip
        wrong = run_cli("solve", "kuhn_poker", *arguments)
        assert wrong.returncode == 2
        assert words in wrong.stderr
        assert "Traceback" not in wrong.stderr

"""The MCCFR paper's claims as tests: pruning, averaging, the bounds of its theorems, online learning."""

from __future__ import annotations

import random

import numpy as np
import pytest

import unseen
from unseen import PUBLIC, TERMINAL, OnlineLearner, SequenceForm
from unseen.games.matrix_games import MatchingPennies
from unseen.solving.algorithms import make_solver
from unseen.tabular.table import columns, shares_strategy

REGRETS, AVERAGES = 0, 1


def behaviours_now(form, solver):
    """Both players' behaviours by regret matching, shapes (q0,) and (q1,); even at sets not met yet."""
    return form.behaviours(shares_strategy(form.game, solver.table, REGRETS))[:2]


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "ii_goofspiel(cards=3)"])
def test_vanilla_cfr_on_the_game_is_cfr_on_the_sequence_form(spec):
    form = SequenceForm(spec)
    walked, exact = make_solver("vanilla_cfr(pruning=false)", form.game, None), make_solver("cfr", form.game, form)
    for _ in range(12):
        walked.run(2)
        exact.run(1)
        for mine, side in zip(behaviours_now(form, walked), exact.sides, strict=True):
            np.testing.assert_allclose(mine, side.behaviour, atol=1e-9)
    first, second = (tree.plan(b) for tree, b in zip(form.players, form.behaviours(walked.strategy())[:2], strict=True))
    np.testing.assert_allclose(second, exact.plans()[1], atol=1e-9)
    exact.run(1)  # the first player's average is taken when the second one answers: it has iterations 2 to 13, not 1 to 12
    late = exact.sides[0].average - form.players[0].plan(form.players[0].uniform())
    np.testing.assert_allclose(first, late / late[0], atol=1e-9)
    assert walked.nodes == 24 * form.histories
    a, b = walked.evaluate(form), form.evaluate(walked.strategy())  # two ways to read the table
    assert a.best_response == pytest.approx(b.best_response, abs=1e-12)


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "ii_goofspiel", "liars_dice(faces=3)"])
def test_pruning_changes_nothing_but_the_work(spec):
    game = unseen.load(spec)
    pruned, whole = make_solver("vanilla_cfr", game, None), make_solver("vanilla_cfr(pruning=false)", game, None)
    for _ in range(5):
        pruned.run(20)
        whole.run(20)
        a, b = pruned.strategy(), whole.strategy()
        np.testing.assert_array_equal(a.keys, b.keys)
        np.testing.assert_allclose(a.probability, b.probability, atol=1e-12)
    assert pruned.nodes < whole.nodes


@pytest.mark.parametrize("spec", ["kuhn_poker", "ii_goofspiel(cards=3)", "leduc_poker"])
def test_lazy_averages_are_exact(spec):
    """They are those of all iterations' own reach times behaviour, at every set that was met, with no sampling error."""
    form = SequenceForm(spec)
    solver = make_solver("outcome_sampling(averaging=lazy)", form.game, form, seed=3)
    sums = [np.zeros(tree.sequences) for tree in form.players]
    place = {int(key): (p, j) for p, tree in enumerate(form.players) for j, key in enumerate(tree.keys)}
    for _ in range(300):
        for total, tree, behaviour in zip(sums, form.players, behaviours_now(form, solver), strict=True):
            total += tree.plan(behaviour)
        solver.run(1)
    table, content = solver.averaged(), columns(solver.table)
    starts = np.cumsum(content.n_actions) - content.n_actions
    for j, key in enumerate(content.key):
        player, at = place[int(key)]
        first, n = form.players[player].first[at], content.n_actions[j]
        average = table.floats[content.places(AVERAGES)[starts[j] : starts[j] + n]]
        np.testing.assert_allclose(average, sums[player][first : first + n], atol=1e-9)
    assert len(content.key) > 5


def test_long_games_do_not_leave_the_range_of_numbers():
    """The probability of a whole game of 2,000 even choices is no number, that of one player's is not needed as such."""

    class Long(MatchingPennies):
        max_length = 600
        simultaneous = False
        state = np.dtype([("moves", "i2")])

        def start(self, s):
            s.moves = 0

        def player(self, s):
            return TERMINAL if s.moves >= 600 else s.moves % 2

        def actions(self, s, out):
            for k in range(2):
                out[k] = k
            return 2

        def apply(self, s, a, tell):
            s.moves += 1
            tell[PUBLIC] = 1 + a

        def utility(self, s, who):
            return 1.0 - 2.0 * who

    solver = make_solver("outcome_sampling", Long(), None)
    solver.run(4)
    assert np.isfinite(solver.strategy().probability).all()


def bound(form, player, iterations, confidence=1.0):
    """Theorem 3 with the largest number of actions, or Theorem 4 if `confidence` is its factor."""
    return confidence * SPREADS[form.game.name] * form.m_values[player] * np.sqrt(form.players[player].count.max() / iterations)


SPREADS = {"kuhn_poker": 4.0, "leduc_poker": 26.0, "ii_goofspiel": 2.0}
"""The largest payoff less the smallest."""


def regrets(form, plans, values, iterations):
    """Average overall regret of both players: what the best fixed strategy would have got more (Section 2.1)."""
    found = []
    for player in (0, 1):
        best, _ = form.players[player].best_response(form.payoffs.against(player, plans[1 - player] / iterations))
        found.append(best - values[player] / iterations)
    return found


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "ii_goofspiel(cards=4)"])
def test_theorem_3_bounds_the_regret_of_vanilla_cfr(spec):
    form = SequenceForm(spec)
    solver = make_solver("cfr(alternating=false)", form.game, form)
    plans, value = [np.zeros(tree.sequences) for tree in form.players], 0.0
    for t in range(1, 401):
        now = [side.plan.copy() for side in solver.sides]
        value += now[0] @ form.payoffs.against(0, now[1])
        plans = [total + plan for total, plan in zip(plans, now, strict=True)]
        solver.run(1)
        if t in (1, 10, 50, 400):
            for player, regret in enumerate(regrets(form, plans, (value, -value), t)):
                assert -1e-9 < regret <= bound(form, player, t)


@pytest.mark.parametrize("spec", ["kuhn_poker", "ii_goofspiel(cards=3)"])
def test_theorem_4_bounds_the_regret_of_external_sampling(spec):
    form = SequenceForm(spec)
    for seed in range(10):
        solver = make_solver("external_sampling", form.game, form, seed)
        plans, values = [np.zeros(tree.sequences) for tree in form.players], [0.0, 0.0]
        for t in range(1, 151):
            for player in (0, 1):  # what each player regrets is measured where its own traversals find the other
                now = [tree.plan(b) for tree, b in zip(form.players, behaviours_now(form, solver), strict=True)]
                plans[1 - player] += now[1 - player]
                values[player] += now[player] @ form.payoffs.against(player, now[1 - player])
                solver.run(1)
            if t in (1, 10, 150):
                for player, regret in enumerate(regrets(form, plans, values, t)):
                    assert regret <= bound(form, player, t, confidence=1.0 + np.sqrt(2.0 / 0.05))


@pytest.mark.parametrize("player", [0, 1])
def test_online_learning_against_a_fixed_opponent(player):
    """The average regret over all games falls, and ends small."""
    form = SequenceForm("kuhn_poker")
    opponent = form.random(5)
    best, _ = form.best_response(player, opponent)
    learner, rng = OnlineLearner(exploration=0.1, seed=1), random.Random(2)
    tree, theirs = form.players[player], form.players[1 - player].plan(form.behaviours(opponent)[1 - player])
    value = form.payoffs.against(player, theirs)
    average, checked = [], (2000, 30000)
    got = 0.0
    for game in range(1, checked[-1] + 1):
        position = unseen.Position(form.game)
        while not position.is_terminal:
            if position.player == player:
                action = learner.act(position.infoset, position.actions)
            elif position.is_chance:
                action = rng.choices(position.actions, position.chance_probabilities)[0]
            else:
                action = rng.choices(*zip(*opponent[position].items(), strict=True))[0]
            position.apply(action)
        learner.end(position.utilities[player])
        if game % 100 == 0:
            behaviour = [1.0]
            for j, key in enumerate(tree.keys):
                behaviour.extend(learner.behaviour(int(key), tree.actions[tree.first[j] : tree.first[j] + tree.count[j]]))
            got += 100 * (tree.plan(np.array(behaviour)) @ value)
        if game in checked:
            average.append(best - got / game)
    assert learner.games == checked[-1]
    assert average[1] < average[0] / 2
    assert average[1] < 0.03
    with pytest.raises(unseen.UnseenError, match=r"exploration is 0, but must be above 0"):
        OnlineLearner(exploration=0)

"""Exact values against independent oracles: OpenSpiel, Gambit, brute force, and the papers."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyspiel
import pytest
from helpers import ROOT, TINY, all_positions
from hypothesis import given, settings
from hypothesis import strategies as st
from spiel import SPIEL_NAMES, spiel_infosets, spiel_policy

from unseen import Position, SequenceForm, Strategy, UnseenError, solve_exactly

PROFILES = {"liars_dice": 2}  # where OpenSpiel takes seconds for each; 20 of other games


def expected_value(position: Position, strategy: Strategy) -> float:
    """Player 0's expected payoff, by plain recursion."""
    if position.is_terminal:
        return position.utilities[0]
    if position.is_chance:
        chances = zip(position.actions, position.chance_probabilities, strict=True)
    else:
        chances = strategy[position].items()
    return sum(p * expected_value(position.child(a), strategy) for a, p in chances)


@pytest.mark.parametrize("name", SPIEL_NAMES)
def test_exploitability_is_twice_open_spiels(name):
    form, spiel = SequenceForm(name), pyspiel.load_game(SPIEL_NAMES[name])
    names = spiel_infosets(form.game, spiel)
    for seed in range(PROFILES.get(name, 20)):
        strategy = form.random(seed)
        ours, theirs = form.evaluate(strategy), pyspiel.exploitability(spiel, spiel_policy(strategy, names))
        assert ours.exploitability == pytest.approx(2 * theirs, abs=1e-9)


@pytest.mark.parametrize(("name", "value"), [
    ("kuhn_poker", Fraction(-1, 18)), ("coordination", 1), ("xx", 1), ("xi", 0), ("matching_pennies", 0), ("biased_rps", 0),
])  # fmt: skip
def test_values_that_are_known(name, value):
    found = solve_exactly(SequenceForm(name))
    assert found.value == pytest.approx(float(value), abs=1e-9)
    assert abs(found.exploitability) < 1e-9


@pytest.mark.parametrize(("spec", "value"), json.loads((ROOT / "tests" / "gambit_values.json").read_text())["values"].items())
def test_values_against_gambit(spec, value):
    """Gambit's are rational numbers; gambit_values.py makes them."""
    assert solve_exactly(SequenceForm(spec)).value == pytest.approx(float(Fraction(value)), abs=1e-9)


@pytest.mark.parametrize(("name", "about"), [("leduc_poker", -0.0856), ("liars_dice", None)])
def test_equilibria_of_the_large_games_judged_by_open_spiel(name, about):
    form, spiel = SequenceForm(name), pyspiel.load_game(SPIEL_NAMES[name])
    found = solve_exactly(form)
    policy = spiel_policy(found.strategy, spiel_infosets(form.game, spiel))
    assert pyspiel.nash_conv(spiel, policy) == pytest.approx(0.0, abs=1e-9)
    value = pyspiel.expected_returns(spiel.new_initial_state(), [policy, policy], -1, False)[0]
    assert found.value == pytest.approx(value, abs=1e-9)
    if about is not None:
        assert found.value == pytest.approx(about, abs=5e-5)


def test_the_mixture_at_i_is_the_only_one():
    """`coordination`: (1/3, 2/3) at I, and any other mixture is exploitable."""
    form = SequenceForm("coordination")
    found = solve_exactly(form)
    at_i = Position(form.game, [1, 0])
    assert found.strategy[at_i] == pytest.approx({0: 1 / 3, 1: 2 / 3}, abs=1e-9)
    assert found.strategy[Position(form.game, [0])] == pytest.approx({0: 0.5, 1: 0.5}, abs=1e-9)
    for left in np.linspace(0.0, 1.0, 31):
        mixed = Strategy.from_function(form.game, lambda p, x=left: {0: x, 1: 1 - x} if p.player == 1 else {0: 0.5, 1: 0.5})
        excess = form.evaluate(mixed).best_response[0] - 1.0
        assert (excess < 1e-9) == (abs(left - 1 / 3) < 1e-9)
    uniform = form.best_response(1, Strategy.from_function(form.game, lambda p: {0: 1.0}))
    assert uniform[0] == pytest.approx(-0.5), "always left is held to 1/2, as the paper says"


def test_biased_rps_equilibrium():
    form = SequenceForm("biased_rps")
    assert list(solve_exactly(form).strategy[Position(form.game)].values()) == pytest.approx([1 / 16, 10 / 16, 5 / 16])


def test_table_1_of_the_ppp_paper():
    """Average payoffs of random players (RAND) and of fixed ones in XX and XI."""
    for name, rand in (("xx", 0.5), ("xi", -0.5)):
        form = SequenceForm(name)
        assert form.value(form.uniform()) == pytest.approx(rand)


@pytest.mark.parametrize("spec", TINY)
def test_value_and_best_response_against_recursion(spec):
    form = SequenceForm(spec)
    for seed in range(3):
        strategy = form.random(seed)
        assert form.value(strategy) == pytest.approx(expected_value(Position(form.game), strategy), abs=1e-12)
        for player in (0, 1):
            value, profile = form.best_response(player, strategy)
            sign = 1 if player == 0 else -1
            assert sign * expected_value(Position(form.game), profile) == pytest.approx(value, abs=1e-12)
            assert value >= sign * form.value(strategy) - 1e-12


@pytest.mark.parametrize("spec", [*TINY, "leduc_poker", "one_card_poker(cards=30)"])
def test_streamed_payoffs_give_the_same_numbers(spec):
    stored, streamed = SequenceForm(spec), SequenceForm(spec, streamed=True)
    assert stored.infosets == streamed.infosets
    for strategy in (stored.uniform(), stored.random(1), stored.best_response(0, stored.random(2))[1]):
        a, b = stored.evaluate(strategy), streamed.evaluate(strategy)
        assert a.best_response == pytest.approx(b.best_response, abs=1e-12)
        assert a.value == pytest.approx(b.value, abs=1e-12)
        assert stored.best_response(1, strategy)[0] == pytest.approx(streamed.best_response(1, strategy)[0], abs=1e-12)


def test_streaming_keeps_no_payoffs():
    stored, streamed = SequenceForm("one_card_poker"), SequenceForm("one_card_poker", streamed=True)
    assert streamed.payoffs.nbytes < 1_000_000 < stored.payoffs.nbytes
    with pytest.raises(UnseenError, match="needs all payoffs stored"):
        solve_exactly(streamed)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TINY), st.integers(0, 10**9))
def test_laws_of_exploitability(spec, seed):
    form = SequenceForm(spec)
    found = form.evaluate(form.random(seed))
    assert found.exploitability >= -1e-12
    assert found.best_response[0] >= found.value - 1e-12
    assert found.best_response[1] >= -found.value - 1e-12


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(TINY), st.integers(0, 10**9))
def test_plans_and_behaviours_are_two_views_of_one_thing(spec, seed):
    form = SequenceForm(spec)
    for tree, behaviour in zip(form.players, form.behaviours(form.random(seed))[:2], strict=True):
        plan = tree.plan(behaviour)
        sums = np.bincount(tree.infoset_of, plan[1:], tree.infosets)
        assert sums == pytest.approx(plan[tree.parent])
        assert tree.behaviour(plan) == pytest.approx(behaviour)


def test_m_values_by_hand():
    form = SequenceForm("kuhn_poker")
    # Player 0: 3 sets with no own action yet, 3 after a pass. Player 1: 6 sets with no own action.
    assert form.m_values == pytest.approx((2 * 3**0.5, 6**0.5))
    liars = SequenceForm("liars_dice(faces=2)")
    by_sequence: dict[tuple[int, tuple[int, ...]], set[int]] = {}
    for p in all_positions(liars.game):
        if p.player >= 0:
            own = tuple(percept.own for percept in p.seen(p.player) if percept.own)
            by_sequence.setdefault((p.player, own), set()).add(p.infoset)
    for player in (0, 1):
        want = sum(len(sets) ** 0.5 for (who, _), sets in by_sequence.items() if who == player)
        assert liars.m_values[player] == pytest.approx(want)

"""The search loop: unbiased by enumeration of every simulation, led where it should be, and bounded in memory."""

from __future__ import annotations

import types
from collections import Counter, defaultdict

import numpy as np
import pytest
from enumerating import CopiedStates, Script, exact_regrets, plans_by_cell, scripted
from helpers import all_positions

import unseen
from unseen import PUBLIC, Position, SequenceForm, Strategy, load
from unseen.search import loop
from unseen.search.rules import PER_HISTORY, PER_INFOSET, Exp3, Outcome, RegretMatching, UpperConfidence
from unseen.search.searcher import Searcher, table_bytes
from unseen.solving.table import as_arrays, columns, from_arrays

GAMES = ("kuhn_poker", "ii_goofspiel(cards=3)", "liars_dice(faces=2)", "coordination")


class SearchScript(Script):
    """Makes the choices of the search loop."""

    def coin(self, chance, rng):
        return self.choose([chance, 1.0 - chance]) == 0

    def pick(self, chances, n, total, rng):
        return self.choose([float(p) / total for p in chances[:n]])


class EvenPlayout:
    """The uniform playout policy, by a script."""

    def __init__(self, script):
        self.script = script

    def draw(self, game, s, out, n, rng):
        return self.script.choose([1.0 / n] * n)


def with_full_tree(spec, rule, targeting, seed=1):
    """A search that has met every set (and history, for its baselines), with random regrets and baselines there."""
    game = load(spec)
    searcher = Searcher(game, rule, "none", seed=seed)
    for _ in range(60):
        searcher.run(100)
        for table in (searcher.table, searcher.worths):
            table.real[columns(table).regret] = 0.0  # behave evenly, so that everything is met
    searcher.targeting = targeting
    rng = np.random.default_rng(seed)
    for table in (searcher.table, searcher.worths):
        content = columns(table)
        table.real[content.regret] = rng.normal(size=len(content.action))
        table.real[content.average] = 0.0
    content = columns(searcher.table)
    cells = content.average + np.repeat(content.n_actions, content.n_actions)
    searcher.table.real[cells] = rng.normal(size=len(cells))  # baselines of sets
    return searcher


def profile(searcher):
    """The behaviour that the regrets stand for: regret matching with an even part."""
    content = columns(searcher.table)
    positive = np.maximum(searcher.table.real[content.regret], 0.0)
    first = np.cumsum(content.n_actions) - content.n_actions
    total, n = (np.repeat(x, content.n_actions) for x in (np.add.reduceat(positive, first), content.n_actions))
    greedy = np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / n)
    gamma = searcher.rule.gamma
    return Strategy(
        searcher.game, keys=content.key, player=searcher.table.player[: len(first)], count=content.n_actions,
        actions=content.action, probability=gamma / n + (1 - gamma) * greedy,
    )  # fmt: skip


def expected_updates(searcher, player):
    """What a simulation for `player` adds to regrets and averages, over all that there are; and how likely it ends where."""
    content = columns(searcher.table)
    script, total, ends = SearchScript(), np.zeros((2, len(content.action))), Counter()
    rule = searcher.rule
    for name in ("arrive", "spread", "learn"):
        setattr(rule, name, types.MethodType(scripted(getattr(type(rule), name), script), rule))
    run = scripted(loop.run, script)
    while True:
        table, worths = (from_arrays(as_arrays(t)) for t in (searcher.table, searcher.worths))
        states = CopiedStates(searcher.game.new_state() for _ in range(2))
        notes = np.array([0.0, 1.0, 1.0])
        with np.errstate(over="ignore"):
            run(searcher.game, rule, EvenPlayout(script), searcher.target, states, False, table, worths, searcher.path,
                searcher.desk, notes, None, player, player + 1)  # fmt: skip
        learnt = [table.real[places] - searcher.table.real[places] for places in (content.regret, content.average)]
        total += script.likelihood * np.array(learnt)
        ends[str(states[0])] += script.likelihood
        if not script.next():
            assert sum(ends.values()) == pytest.approx(1.0, abs=1e-12)
            return total


def chance_reach(game):
    """The probability that chance alone allows of each information set, added up over its histories."""
    found = defaultdict(float)
    stack = [(Position(game), 1.0)]
    while stack:
        position, reach = stack.pop()
        if position.player >= 0:
            found[position.infoset] += reach
        chances = position.chance_probabilities if position.is_chance else [1.0] * len(position.actions)
        stack += [(position.child(a), reach * p) for a, p in zip(position.actions, chances, strict=True)]
    return found


def targets(game, targeting):
    """One position for each different target."""
    found = {}
    for position in all_positions(game):
        if position.player >= 0:
            seen = position.seen(position.player if targeting == "infoset" else PUBLIC)
            found.setdefault((position.player if targeting == "infoset" else PUBLIC, seen), position)
    return list(found.values())


def assert_unbiased(searcher, form, position, is_capped=False):
    """Theorem 1's premise: expected updates are the counterfactual regrets, and the own plan times what chance allows."""
    searcher.aim(position.player, position.seen(position.player))
    if is_capped:  # as if the belief had been too large for a trellis
        searcher.target = searcher.target._replace(is_exact=False)
    content, strategy, chances = columns(searcher.table), profile(searcher), chance_reach(searcher.game)
    assert len(content.key) == sum(form.infosets)
    owners = np.repeat(np.arange(len(content.key)), content.n_actions)
    for player in (0, 1):
        regrets, averages = expected_updates(searcher, player)
        exact, plan = exact_regrets(form, strategy, player), plans_by_cell(form, strategy, 1 - player)
        for c, j in enumerate(owners):
            cell = int(content.key[j]), int(content.action[c])
            if searcher.table.player[j] == player:
                assert regrets[c] == pytest.approx(exact[cell], abs=1e-9)
                assert averages[c] == 0.0
            else:
                assert regrets[c] == 0.0
                assert averages[c] == pytest.approx(plan[cell] * chances[cell[0]], abs=1e-9)


@pytest.mark.parametrize("is_capped", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("targeting", ["infoset", "public"])
@pytest.mark.parametrize("spec", GAMES)
def test_updates_are_exact_on_average(spec, targeting, delta, is_capped):
    """For every match history, with the trellis and without it (the capped belief)."""
    form = SequenceForm(spec)
    searcher = with_full_tree(spec, Outcome(delta=delta), targeting)
    for position in targets(form.game, targeting):
        assert_unbiased(searcher, form, position, is_capped)


@pytest.mark.parametrize("baseline", [PER_INFOSET, PER_HISTORY])
@pytest.mark.parametrize("targeting", ["infoset", "public"])
@pytest.mark.parametrize("spec", GAMES)
def test_baselines_leave_updates_exact_on_average(spec, targeting, baseline):
    form = SequenceForm(spec)
    searcher = with_full_tree(spec, Outcome(delta=0.5, baseline=baseline, gamma=0.1), targeting)
    for position in targets(form.game, targeting)[:12]:
        assert_unbiased(searcher, form, position)

"""Search with simultaneous moves: each rule against a plain transcription of the paper's equations, choice by choice."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from helpers import all_positions, run_cli
from scipy.stats import chisquare

import unseen
from unseen import Position, Searcher, UnseenError, load
from unseen.compiling import as_python, kernel
from unseen.game import PUBLIC, TERMINAL
from unseen.reproduce import smmcts, smmcts_page
from unseen.search.joint_rules import (
    FILLINGS,
    DecoupledUCT,
    FillingRule,
    JointExp3,
    JointOutcomeSampling,
    JointRegretMatching,
    OutcomeSamplingPlus,
    exponential,
    shuffled,
)
from unseen.search.root import at_histories
from unseen.search.tree import joint_key
from unseen.tabular.table import find, kept_of_both, n_actions, n_second
from unseen.testing import check_game

GAME = "goofspiel(cards=3, payoff=point_difference)"
AGENTS = ("duct", "exp3", "rm", "sm_oos", "oos_plus")


class Node:
    """What the paper keeps of a state: vectors for each player, a matrix for both."""

    def __init__(self, n, m):
        self.counts, self.rewards, self.regrets, self.averages = (tuple(np.zeros(k) for k in (n, m)) for _ in range(4))
        self.sums, self.visits = np.zeros((n, m)), np.zeros((n, m))

    @property
    def means(self):
        return np.where(self.visits > 0, self.sums / np.maximum(self.visits, 1), 0.0)

    def sigma(self, i):
        """Equation 5."""
        positive = np.maximum(self.regrets[i], 0.0)
        return positive / positive.sum() if positive.sum() > 0 else np.full(len(positive), 1 / len(positive))


def even(p, gamma):
    return (1 - gamma) * p + gamma / len(p)


class PlainUCT:
    fields = ("rewards", "counts")

    def chances(self, rule, node, explorer):
        return [self.bounds(rule, node.rewards[i], node.counts[i]) for i in (0, 1)]

    def bounds(self, rule, rewards, counts):
        """Equation 2."""
        if (counts == 0).any():
            best = counts == 0
        else:
            values = [x / n + rule.exploration * sqrt(log(counts.sum()) / n) for x, n in zip(rewards, counts, strict=True)]
            best = np.array(values) >= max(values) - 1e-12
        return best / best.sum()

    def update(self, rule, node, choice, explorer, u, chances):
        for i, a in enumerate(choice[:2]):
            node.rewards[i][a] += u[i]
            node.counts[i][a] += 1
        return u


class PlainExp3:
    fields = ("", "counts", "rewards")

    def chances(self, rule, node, explorer):
        """Equation 3."""
        found = []
        for x in node.rewards:
            eta = rule.gamma / len(x)
            weights = np.array([exp(eta * (each - x.max())) for each in x])
            found.append(even(weights / weights.sum(), rule.gamma))
        return found

    def update(self, rule, node, choice, explorer, u, chances):
        for i, a in enumerate(choice[:2]):
            node.rewards[i][a] += u[i] / chances[i][a]
            node.counts[i][a] += 1
        return u


class PlainRM:
    fields = ("regrets", "averages")

    def chances(self, rule, node, explorer):
        return [even(node.sigma(i), rule.gamma) for i in (0, 1)]

    def update(self, rule, node, choice, explorer, u, chances):
        a1, a2 = choice[:2]
        for i in (0, 1):
            node.averages[i][:] += node.sigma(i)
        reward = node.means
        reward[a1, a2] = u[0]
        node.regrets[0][:] += reward[:, a2] - u[0]
        node.regrets[1][:] += u[0] - reward[a1]
        return u


class PlainOosPlus:
    fields = ("regrets", "averages")

    def chances(self, rule, node, explorer):
        return [even(node.sigma(i), rule.gamma if i == explorer else 0.0) for i in (0, 1)]

    def update(self, rule, node, choice, explorer, u, chances):
        a1, a2, pi = choice
        j = 1 - explorer
        node.averages[j][:] += node.sigma(j) / pi
        x = node.means
        x[a1, a2] = u[0]
        x = x if explorer == 0 else -x.T
        v = x @ node.sigma(j)
        node.regrets[explorer][:] += (v - node.sigma(explorer) @ v) / pi
        return u


class PlainOos:
    """The standard version: actions that were not sampled have the value 0 (M. Lanctot's thesis, Chapter 4)."""

    fields = ("regrets", "averages")
    chances = PlainOosPlus.chances

    def update(self, rule, node, choice, explorer, u, chances):
        i, j, pi = explorer, 1 - explorer, choice[2]
        node.averages[j][:] += node.sigma(j) / pi
        v = np.zeros(len(node.regrets[i]))
        v[choice[i]] = u[i] / chances[i][choice[i]]
        here = node.sigma(i) @ v
        node.regrets[i][:] += (v - here) / pi
        return (here, 0.0) if i == 0 else (0.0, here)


def payoffs_of(rule, payoff):
    """u of both players, as the paper pays them: 0, 1/2 and 1 in win-loss games, the difference of the points in others."""
    if rule.settings["transform"] == "wins":
        return {-1.0: (0.0, 1.0), 0.0: (0.5, 0.5), 1.0: (1.0, 0.0)}[payoff]
    return payoff, -payoff


@pytest.mark.parametrize(
    ("rule", "plain"),
    [
        (DecoupledUCT(exploration=9.0), PlainUCT()),
        (DecoupledUCT(filling="none", exploration=0.4, transform="wins"), PlainUCT()),
        (JointExp3(gamma=0.01), PlainExp3()),
        (JointExp3(filling="lines", gamma=0.05), PlainExp3()),
        (JointExp3(transform="wins"), PlainExp3()),
        (JointRegretMatching(), PlainRM()),
        (JointRegretMatching(transform="wins"), PlainRM()),
        (JointOutcomeSampling(), PlainOos()),
        (JointOutcomeSampling(transform="wins"), PlainOos()),
        (OutcomeSamplingPlus(transform="wins"), PlainOosPlus()),
        (OutcomeSamplingPlus(filling="none", gamma=0.3), PlainOosPlus()),
    ],
)
def test_rules_do_what_the_paper_says(rule, plain):
    game = "goofspiel(cards=3)" if rule.settings["transform"] == "wins" else GAME
    searcher, nodes = Searcher(game, rule, targeting="none", seed=3), {}
    for t in range(600):
        searcher.run(1)
        explorer, u, path, pi = t % 2, payoffs_of(rule, float(searcher.flights.flight.value[0])), [], 1.0
        for choice in searcher.flights.choices[0][: searcher.flights.flight.depth[0]]:
            w = int(choice.node)
            halves = searcher.learnt.table.halves
            m = as_python(n_second)(halves, w)
            node = nodes.setdefault(w, Node(as_python(n_actions)(halves, w) - m, m))
            chances = plain.chances(rule, node, explorer)
            is_filled = isinstance(rule, FillingRule) and node.visits.min() == 0.0 and FILLINGS[rule.filling] == "pairs"
            path.append((node, (int(choice.taken), int(choice.second), pi), chances))
            if is_filled and not isinstance(rule, JointExp3):  # nobody chooses, and nothing depends on the probabilities
                assert node.visits[choice.taken, choice.second] == 0.0
                break
            assert choice.drawn == pytest.approx(chances[0][choice.taken])
            assert choice.drawn_second == pytest.approx(chances[1][choice.second])
            pi *= chances[explorer][choice.taken if explorer == 0 else choice.second]
        for node, choice, chances in reversed(path):
            node_u, u = u, plain.update(rule, node, choice, explorer, u, chances)
            node.sums[choice[:2]] += node_u[0]
            node.visits[choice[:2]] += 1
    floats = searcher.learnt.table.floats
    for w, node in nodes.items():
        for field, name in enumerate(plain.fields):
            both = as_python(kept_of_both)(floats, w, *node.sums.shape, field)
            for i in (0, 1) if name else ():
                assert both[i] == pytest.approx(getattr(node, name)[i], rel=1e-9, abs=1e-9)
    assert len(nodes) > 20


@kernel
def learn_once(rule, memory, choices, then, value):
    """A simulation in which player 0 explores learns at its first choice."""
    rule.learn(memory, choices[0], then, 0, value)


def test_the_example_of_figure_3():
    """The last node of a trajectory of OOS+: e was taken against f, and the matrix has 1/5, 6/10 and 7/10 elsewhere."""
    rule, u1, own = OutcomeSamplingPlus(), 0.8, 0.3
    searcher = Searcher("matching_pennies", rule, targeting="none", seed=0)
    searcher.run(4)
    table = searcher.learnt.table
    w = int(searcher.flights.choices[0][0].node)
    regrets, averages = (as_python(kept_of_both)(table.floats, w, 2, 2, field) for field in (0, 1))
    regrets[0][:], regrets[1][:] = (3.0, 1.0), (1.0, 4.0)
    first = w + 2 + 2 * 4 + 2  # the head, two fields of four actions, and the list of actions
    table.floats[first : first + 8] = [0.0, 1 / 5, 6 / 10, 7 / 10, 1.0, 5.0, 10.0, 10.0]
    choice = searcher.flights.choices[0][0]
    choice.taken, choice.second, choice.own = 0, 0, own
    before = averages[0].copy(), averages[1].copy()
    learn_once(rule, searcher.learnt, searcher.flights.choices[0], searcher.flights.then[0, 0], u1)
    v_e, v_other = 0.2 * u1 + 0.8 / 5, 0.2 * 6 / 10 + 0.8 * 7 / 10
    v_sigma = 0.75 * v_e + 0.25 * v_other
    assert regrets[0] == pytest.approx([3.0 + (v_e - v_sigma) / own, 1.0 + (v_other - v_sigma) / own])
    assert regrets[1] == pytest.approx([1.0, 4.0])
    assert np.array_equal(averages[0], before[0])
    assert np.array_equal(averages[1], before[1])
    assert table.floats[first : first + 8] == pytest.approx([u1 / 2, 1 / 5, 6 / 10, 7 / 10, 2.0, 5.0, 10.0, 10.0])


@pytest.mark.parametrize("filling", FILLINGS)
def test_pairs_are_tried_first(filling):
    searcher = Searcher("goofspiel(cards=5, order=ascending)", JointRegretMatching(filling=filling), targeting="none", seed=1)
    root = []
    for _ in range(25):
        searcher.run(1)
        choice = searcher.flights.choices[0][0]
        root.append((int(choice.taken), int(choice.second)))
        if filling == "pairs":
            assert searcher.flights.flight.depth[0] == 1
    if filling == "pairs":
        assert len(set(root)) == 25
    if filling == "lines":
        assert {a for a, _ in root[:5]} == {b for _, b in root[:5]} == set(range(5))
    if filling != "pairs":
        searcher.run(2000)
        assert searcher.learnt.table.size[0] > 25


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 16, 25, 169])
def test_pairs_come_in_a_random_order(n):
    """A permutation for each key; every pair comes first, and last, as often as any other."""
    rng = np.random.default_rng(n)
    with np.errstate(over="ignore"):
        orders = np.array([[as_python(shuffled)(k, n, key) for k in (0, n - 1)] for key in rng.integers(0, 2**63, 400, np.uint64)])
        assert sorted(as_python(shuffled)(k, n, np.uint64(n)) for k in range(n)) == list(range(n))
    for place in (0, 1):
        counts = np.bincount(orders[:, place], minlength=n)
        assert n == 1 or chisquare(counts).pvalue > 1e-4


def test_first_tries_depend_on_the_seed():
    """Not on the node: two searches of one game begin differently."""
    orders = set()
    for seed in range(6):
        searcher, tried = Searcher("goofspiel(cards=3, order=ascending)", JointRegretMatching(), targeting="none", seed=seed), []
        for _ in range(9):
            searcher.run(1)
            tried.append((int(searcher.flights.choices[0][0].taken), int(searcher.flights.choices[0][0].second)))
        orders.add(tuple(tried))
    assert len(orders) == 6


def test_exp3_keeps_its_weights_where_rewards_are_large_and_negative():
    """Sums of rewards far below 0, whose exponentials are no numbers any more: the weights are made anew."""
    searcher = Searcher("goofspiel(cards=3, payoff=point_difference)", JointExp3(scale=0.01, gamma=0.3), targeting="none", seed=1)
    searcher.run(3000)
    table, rule = searcher.learnt.table, searcher.rule
    w = int(searcher.flights.choices[0][0].node)
    weights, rewards = (as_python(kept_of_both)(table.floats, w, 3, 3, field) for field in (rule.weights, rule.rewards))
    assert max(np.abs(both).max() for both in rewards) > 1e4
    chances = np.zeros(3)
    for i in (0, 1):
        as_python(exponential)(weights[i], rewards[i], rule.gamma, chances)
        exact = np.exp(0.1 * (rewards[i] - rewards[i].max()))
        assert chances == pytest.approx(0.1 + 0.7 * exact / exact.sum())


def test_who_mixes():
    """Biased rock-paper-scissors: all but DUCT come near the equilibrium; DUCT(max) plays one action, and loses."""
    uniform = unseen.exploitability("biased_rps", unseen.Strategy.uniform("biased_rps"))
    found = {
        spec: unseen.measure("biased_rps", spec, workers=1, seed=3, budget=unseen.Budget(40_000)).exploitability
        for spec in ("exp3", "rm", "sm_oos", "oos_plus", "duct(final=max)")
    }
    assert found.pop("duct(final=max)") > uniform
    assert max(found.values()) < 0.6 * uniform
    assert found["rm"] < 0.1 * uniform


@pytest.mark.parametrize("name", AGENTS)
def test_agents_play_better_than_chance(name):
    found = unseen.match("goofspiel(cards=5, payoff=point_difference)", f"{name}(simulations=2000)", "random", games=60, workers=1)
    assert found.mean > 0.5


def test_agents_refuse_what_they_cannot_see(tmp_path):
    for spec in ("duct", "optimal", f"optimal(file={tmp_path / 'none.values'})"):  # also in workers: a sentence, no traceback
        with pytest.raises(UnseenError, match=r"do not choose at the same time|cannot be read"):
            unseen.match("kuhn_poker", spec, "random", games=4, workers=2)
    with pytest.raises(UnseenError, match=r"a search over joint moves is for games .* nobody is told which of the moves"):
        unseen.make_agent("rm", "ii_goofspiel")
    with pytest.raises(UnseenError, match="do not choose at the same time"):
        unseen.make_agent("duct", "kuhn_poker")
    with pytest.raises(UnseenError, match="nothing to aggregate"):
        unseen.measure("goofspiel(cards=3)", "rm(simulations=50)", method="aggregate", workers=1, games=2)


def test_a_search_begins_where_the_game_stands():
    """Nothing is learnt of other parts of the game, and both seats of a match find their node."""
    game = load(GAME)
    history = (1, 2, 0, 0)
    searcher = Searcher(game, JointRegretMatching(), targeting="none", seed=1)
    searcher.begin_at(at_histories(game, [history]))
    searcher.run(500)
    position = Position(game, history)
    keys = {(p.key(0), p.key(1)) for p in all_positions(game) if p.player == 0 and p.history[: len(history)] == history}
    assert searcher.learnt.table.size[0] <= len(keys)
    with np.errstate(over="ignore"):
        key = as_python(joint_key)(np.uint64(position.key(0)), np.uint64(position.key(1)))
        assert as_python(find)(searcher.learnt.table, key) > 0
    for seat in (0, 1):
        assert searcher.recommended(position, seat).sum() == pytest.approx(1.0)
    assert searcher.recommended(Position(game, (0,)), 1) == pytest.approx(np.full(3, 1 / 3))
    assert position.seen(PUBLIC)


@pytest.mark.parametrize("name", ["rm", "exp3", "oos_plus", "oos"])
def test_a_search_at_the_start_plans_the_whole_game(name):
    """Section 4.3: what a search from the root recommends everywhere gets better with the simulations."""
    few, many = (
        unseen.measure("goofspiel(cards=3)", f"{name}(simulations={n})", method="root", workers=1, seed=1) for n in (50, 30_000)
    )
    assert (few.searches, few.simulations, many.simulations) == (1, 50, 30_000)
    assert many.exploitability < 0.25 * few.exploitability
    with pytest.raises(UnseenError, match="no plan for the whole game"):
        unseen.measure("goofspiel(cards=3)", "random", method="root", workers=1)


def depth_by_hand(searcher, values, position, d, follower):
    """Section 4.3, written out: W_d in player 0's payoffs, when `follower` follows the search."""
    if position.is_terminal:
        return position.utilities[0]
    if d == 0:
        return values.at(position).value
    if position.is_chance:
        chances = zip(position.actions, position.chance_probabilities, strict=True)
        return sum(p * depth_by_hand(searcher, values, position.child(a), d - 1, follower) for a, p in chances)
    second = position.child(position.actions[0]).actions
    worth = np.array([
        [depth_by_hand(searcher, values, position.child(a).child(b), d - 1, follower) for b in second] for a in position.actions
    ])  # fmt: skip
    mix = searcher.recommended(position, follower)
    return (mix @ worth).min() if follower == 0 else (worth @ mix).max()


@pytest.mark.parametrize(
    "rule",
    [
        JointRegretMatching(share=True),
        JointExp3(scale=6.0, transform="wins"),
        DecoupledUCT(scale=6.0, transform="wins", final="max"),
    ],
)
def test_what_a_plan_can_lose(rule):
    """Depth-limited exploitability against the formula written out; to the end, it is the exploitability of the strategy."""
    game = load(GAME)
    values = unseen.backward_induction(game)
    searcher = Searcher(game, rule, targeting="none", seed=2)
    searcher.run(700)
    for history in ((), (1,)):
        for d in range(8):
            expected = [depth_by_hand(searcher, values, Position(game, history), d, follower) for follower in (0, 1)]
            assert searcher.worst_case(history, d, values) == pytest.approx(expected, abs=1e-9)
    form = unseen.SequenceForm(game)
    found = searcher.recommendations(form.players)
    strategy = form.strategy(*(tree.behaviour(sums) for tree, sums in zip(form.players, found, strict=True)))
    low, high = searcher.worst_case()
    assert form.evaluate(strategy).best_response == pytest.approx((high, -low), abs=1e-9)
    with pytest.raises(UnseenError, match="depth is -1, but must be at least 0"):
        searcher.worst_case((), -1, values)
    with pytest.raises(UnseenError, match="a joint move is being made"):
        searcher.worst_case((1, 2))


def test_equal_states_can_be_one_node():
    """The same two rounds in either order lead to one state, and with `share` to one node, which has the simulations of both."""
    game = load("goofspiel(cards=4, payoff=point_difference)")
    one, other = Position(game, (0, 3, 2, 1, 2, 1, 3)), Position(game, (1, 2, 1, 0, 3, 2, 3))
    assert one.state.values() == other.state.values()
    for share in (False, True):
        searcher = Searcher(game, JointRegretMatching(share=share, gamma=0.5), targeting="none", seed=2)
        searcher.begin_at(at_histories(game, [one.history]))
        searcher.run(500)
        known = [np.ptp(searcher.recommended(position, 0)) > 0 for position in (one, other)]
        assert known == [True, share]


def test_exploration_can_fade():
    """A node that has been visited t times explores with gamma t^-fading."""
    searcher = Searcher("biased_rps", JointRegretMatching(gamma=0.4, fading=0.25, filling="none"), targeting="none", seed=2)
    searcher.run(1)
    choice = searcher.flights.choices[0][0]
    for t in range(1, 50):
        positive = np.maximum(as_python(kept_of_both)(searcher.learnt.table.floats, int(choice.node), 3, 3, 0)[0], 0.0)
        sigma = positive / positive.sum() if positive.sum() > 0.0 else np.full(3, 1 / 3)
        searcher.run(1)
        gamma = 0.4 * t**-0.25
        assert choice.drawn == pytest.approx(gamma / 3 + (1 - gamma) * sigma[choice.taken])


def test_plans_are_measured_in_workers_and_resumed(tmp_path):
    spec, budget = "goofspiel(cards=3, payoff=point_difference)", unseen.Budget(300)
    one = unseen.depth_limited(spec, "rm", 2, searches=4, workers=1, budget=budget, save=tmp_path / "kept")
    two = unseen.depth_limited(spec, "rm", 2, searches=4, workers=2, budget=budget)
    again = unseen.depth_limited(spec, "rm", 2, searches=4, workers=1, budget=budget, save=tmp_path / "kept", resume=True)
    assert (one.losses == two.losses).all()
    assert again.as_dict() == one.as_dict()
    assert one.losses.shape == (1, 3, 4, 2)
    assert (one.losses > -1e-12).all()
    assert one.as_dict()["searches"] == 12
    curve = unseen.convergence(spec, "rm(share=true)", runs=2, simulations=3000, every=1000, workers=1)
    assert curve.exploitability.shape == (2, 3)
    assert curve.mean[-1] < curve.mean[0]
    assert (curve.below(np.inf) == 1.0).all()
    with pytest.raises(UnseenError, match="does not search by simulations"):
        unseen.depth_limited(spec, "random", 2, searches=1, workers=1)
    with pytest.raises(UnseenError, match="depth is -1, but must be a whole number, at least 0"):
        unseen.depth_limited(spec, "rm", (2, -1))
    with pytest.raises(UnseenError, match="every is 9, but must be at most simulations, 5"):
        unseen.convergence(spec, "rm", simulations=5, every=9)


def test_luck_is_taken_out_of_losses():
    """The sum of V* - p A q over a game has the mean of what is lost: all games of an even mix and an equilibrium."""
    game = load("goofspiel(cards=3, payoff=point_difference)")
    values = unseen.backward_induction(game)

    def walk(position, chance, history_loss):
        """The mean, over all that can happen, of the payoff and of the summed loss."""
        if position.is_terminal:
            return chance * np.array([-position.utilities[0], history_loss])
        if position.is_chance:
            outcomes = zip(position.actions, position.chance_probabilities, strict=True)
            return sum(walk(position.child(a), chance * p, history_loss) for a, p in outcomes)
        answer = values.at(position)
        n = len(position.actions)
        here = answer.value - np.full(n, 1 / n) @ answer.payoffs @ np.array(list(answer.mixes[1].values()))
        return sum(
            walk(position.child(a).child(b), chance / n * p, history_loss + here)
            for a in position.actions for b, p in answer.mixes[1].items() if p > 0.0
        )  # fmt: skip

    lost, expected = walk(Position(game), 1.0, 0.0)
    assert lost == pytest.approx(expected, abs=1e-9)
    found = unseen.expected_loss(game, "random", games=400, values=values, workers=1)
    assert abs(found.mean - expected) < 2 * found.margin
    assert found.margin < 0.5 * found.as_dict()["payoff_margin"]
    assert unseen.expected_loss(game, "optimal", games=4, values=values, workers=1).mean == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(UnseenError, match="games is 3, but must be an even number"):
        unseen.expected_loss(game, "random", games=3)


def test_pairs_of_games_have_the_same_prizes():
    match = unseen.match("goofspiel(cards=4)", "random", "random", 6, workers=1, paired=True)
    prizes = [game.history[::3] for game in match.games]
    assert prizes[::2] == prizes[1::2]
    assert len(set(prizes)) > 1
    assert match.games[0].history != match.games[1].history
    again = unseen.replay("goofspiel(cards=4)", "random", "random", 3, paired=True)
    assert again.history == match.games[3].history


def test_the_paper_is_reproduced(tmp_path, monkeypatch):
    """In smaller games: the page has both tables, the figure and the claims, and nothing is done twice."""
    games = {"WL": "goofspiel(cards=3)", "PD": GAME}
    small = {"table_1": games, "games": 2, "table_2": GAME, "cards_2": 3, "searches": 2, "figure_4": games, "runs": 2}
    monkeypatch.setattr(smmcts, "QUICK", replace(smmcts.QUICK, **small, simulations=0.001, iterations=200, every=100))
    arguments = ("reproduce", "smmcts", "--quick", "--out", str(tmp_path), "--json")
    done = run_cli(*arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    page = (tmp_path / "quick.md").read_text()
    assert (tmp_path / "figure4_quick.png").exists()
    assert {claim["held"] for claim in result["claims"]} == {None}  # so small a game says nothing of the paper's
    for words in ("(80.9)", "(-1.71)", "| RM | ", "(138,284)", "ties within 0.01", "expected loss", "(12.87)"):
        assert words in page
    assert len(result["claims"]) == 14
    again = run_cli(*arguments)
    assert json.loads(again.stdout) == result
    assert again.stderr.strip() == ""


def test_what_intervals_decide():
    estimate, above, below = smmcts_page.estimate, smmcts_page.above, smmcts_page.below
    found = estimate([1.0, 3.0, 2.0, 4.0], per=2)
    assert (found.mean, found.n) == (2.5, 4)
    assert found.margin == pytest.approx(12.706 * 0.5, rel=1e-3)  # Student's t with one degree of freedom
    sure, unsure = smmcts_page.Estimate(1.0, 0.5, 9), smmcts_page.Estimate(0.2, 0.5, 9)
    assert (above(sure), above(unsure), above(sure, 2.0)) == (True, None, False)
    assert (below(unsure, sure), below(sure, unsure), below(sure, smmcts_page.Estimate(3.0, 0.1, 9))) == (True, False, True)
    assert smmcts_page.all_of([True, None]) is None
    assert smmcts_page.all_of([True, None, False]) is False


class OneWay(unseen.Game):
    """Three rounds; in the second the first player has one action and the second three, and a large lead cannot be lost.

    `reduced` forgets what the first player chose first, but only before the second round: whoever comes to the third without being
    reduced still has it, in a state that no walk over reduced states has seen.
    """

    state = np.dtype([("turn", "i1"), ("first", "i1"), ("second", "i1"), ("lead", "i1"), ("scar", "i1")])
    num_actions = 3
    max_length = 6
    simultaneous = True

    def start(self, s):
        s.turn = 0
        s.first = -1
        s.second = -1
        s.lead = 0
        s.scar = 0

    def player(self, s):
        return TERMINAL if s.turn == 3 else 0 if s.first < 0 else 1

    def actions(self, s, out):
        n = 1 if s.turn == 1 and s.first < 0 else 2 if s.turn == 0 else 3
        for k in range(n):
            out[k] = k
        return n

    def apply(self, s, a, tell):
        if s.first < 0:
            s.first = a
        else:
            tell[PUBLIC] = 1 + s.first * 3 + a
            s.lead += 2 * (s.turn == 0) * (s.first > a) + (s.turn > 0) * ((s.first + a) % 2 - (a == 2))
            if s.turn == 0:
                s.scar = s.first
            s.turn += 1
            s.first = -1

    def utility(self, s, who):
        won = min(max(s.lead, -1), 1)
        return float(won if who == 0 else -won)

    def settled(self, s):
        return s.lead >= 4

    def reduced(self, s):
        if s.turn == 1:
            s.scar = 0
        return 0.0, 1.0


def test_games_of_other_shapes():
    """Unequal numbers of actions, a settled ending, and a state that only comes about if nothing was reduced on the way."""
    game = OneWay()
    check_game(game)
    reference, values = (unseen.backward_induction(game, workers=1) for _ in range(2))
    searcher = Searcher(game, JointRegretMatching(), targeting="none", seed=2)
    searcher.run(300)
    for d in range(4):
        expected = [depth_by_hand(searcher, reference, Position(game), d, follower) for follower in (0, 1)]
        assert searcher.worst_case((), d, values) == pytest.approx(expected, abs=1e-9)
        assert (values.added > 0) == (d >= 2)  # a state was missing, and is there now
    for position in all_positions(game):
        if position.player == 0:
            payoffs = reference.at(position).payoffs
            for i, a in enumerate(position.actions):
                after = [reference.at(position.child(a).child(b)).value for b in position.child(a).actions]
                assert payoffs[i] == pytest.approx(after, abs=1e-9)


def test_values_of_another_game_are_refused():
    game, other = load(GAME), unseen.backward_induction("goofspiel(cards=3)")
    searcher = Searcher(game, JointRegretMatching(), targeting="none", seed=2)
    searcher.run(10)
    with pytest.raises(UnseenError, match="the values are those of goofspiel"):
        searcher.worst_case((), 2, other)
    other.stopped = True
    with pytest.raises(UnseenError, match="not complete"):
        unseen.expected_loss("goofspiel(cards=3)", "random", games=2, values=other)
    with pytest.raises(UnseenError, match="is not one over joint moves"):
        Searcher(game, unseen.rules.OnlineOutcomeSampling()).worst_case()


def test_the_command_line_of_measures(tmp_path):
    """What does not go together is refused in a sentence, before anything is done; a file that is no checkpoint is left alone."""
    run_cli("value", GAME, "--out", str(tmp_path / "g.values"))
    held = (tmp_path / "g.values").read_bytes()
    few = (GAME, "rm(simulations=50)")
    for wrong, said in (
        (("--method", "depth"), "needs --depth"),
        (("--method", "depth", "--depth", "-1"), "depth is -1"),
        (("--method", "root", "--depth", "2"), "--depth is for --method depth, not for root"),
        (("--every", "7"), "--every is for --method convergence, not for extraction or stitching"),
        (("--method", "loss", "--games", "3"), "must be an even number"),
        (("--method", "loss", "--out", "x"), "makes none"),
        (("--method", "loss", "--games", "2", "--keep", str(tmp_path / "g.values")), "not a checkpoint of Unseen; name another."),
        (("--method", "convergence"), "by `simulations` alone"),
        (("--method", "convergence", "--seconds", "1"), "not --seconds"),
        (("--method", "loss", "--values", str(tmp_path / "none.values")), "cannot be read"),
    ):
        done = run_cli("measure", *few, *wrong, "--workers", "1")
        assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    assert (tmp_path / "g.values").read_bytes() == held
    assert run_cli("measure", "goofspiel(cards=9)", "random", "--method", "depth", "--depth", "2").returncode == 2  # at once
    for right in (("depth", "--depth", "2"), ("loss",)):
        done = run_cli("measure", *few, "--method", *right, "--games", "2", "--values", str(tmp_path / "g.values"), "--workers",
                       "1", "--json")  # fmt: skip
        assert json.loads(done.stdout)["method"] == right[0]
        assert "Infinity" not in done.stdout
    done = run_cli("match", GAME, "random", "random", "--games", "4", "--paired", "--workers", "1", "--json")
    assert json.loads(done.stdout)["paired"] is True

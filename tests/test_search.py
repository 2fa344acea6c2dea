"""The search loop: unbiased by enumeration of every simulation, led where it should be, and bounded in memory."""

from __future__ import annotations

import types
from collections import Counter, defaultdict

import numpy as np
import pytest
from enumerating import CopiedStates, Script, exact_regrets, plans_by_cell, scripted
from helpers import all_positions
from scipy.stats import chisquare

import unseen
from unseen import CHANCE, PUBLIC, TERMINAL, Game, Position, SequenceForm, Strategy, load, parameter
from unseen.compiling import Compiled, as_python
from unseen.search import loop
from unseen.search.aim import edge_to_world
from unseen.search.rules import PER_HISTORY, PER_INFOSET, Exp3, Outcome, RegretMatching, UpperConfidence
from unseen.search.searcher import Searcher, table_bytes
from unseen.tabular.table import as_arrays, columns, from_arrays


class Silent(Game):
    """A coin that nobody sees says who may guess: the first player one of two sides, or the second one of four."""

    state = np.dtype([("coin", "i1"), ("guess", "i1")])
    num_actions = 4
    num_outcomes = 2
    max_length = 2

    def start(self, s):
        s.coin = -1
        s.guess = -1

    def player(self, s):
        if s.coin < 0:
            return CHANCE
        return s.coin if s.guess < 0 else TERMINAL

    def actions(self, s, out):
        n = 2 if s.coin <= 0 else 4
        for k in range(n):
            out[k] = k
        return n

    def apply(self, s, a, tell):
        if s.coin < 0:
            s.coin = a
        else:
            s.guess = a

    def utility(self, s, who):
        u = float(s.guess + 1) if s.coin == 0 else -float(s.guess + 1)
        return u if who == 0 else -u


class Long(Game):
    """The first player makes hidden moves, again and again; one of each is right. Then the second guesses, and so on."""

    rounds: int = parameter(600, minimum=1, maximum=2000)
    told: int = parameter(0, minimum=0, maximum=1)
    state = np.dtype([("moves", "i4"), ("score", "i4")])
    num_actions = 2

    @property
    def max_length(self):
        return 2 * self.rounds

    def start(self, s):
        s.moves = 0
        s.score = 0

    def player(self, s):
        return TERMINAL if s.moves == 2 * self.rounds else s.moves % 2

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def apply(self, s, a, tell):
        s.score += a if s.moves % 2 == 0 else -a
        s.moves += 1
        tell[PUBLIC] = self.told * (1 + a)

    def utility(self, s, who):
        u = float(s.score) / self.rounds
        return u if who == 0 else -u


class TooLong(Long):
    """Goes on for longer than it says, but only rarely."""

    max_length = 20

    def player(self, s):
        return TERMINAL if s.moves >= (2000 if s.score >= 7 and s.moves >= 20 else 20) else s.moves % 2


GAMES = ("kuhn_poker", "ii_goofspiel(cards=3)", "liars_dice(faces=2)", "coordination")


class SearchScript(Script):
    """Makes the choices of the search loop."""

    def coin(self, chance, rng):
        return self.choose([chance, 1.0 - chance]) == 0

    def pick(self, chances, n, total, rng):
        return self.choose([float(p) / total for p in chances[:n]])

    def pick_edge(self, chances, places, total, rng):
        return self.choose([float(chances[k]) / total for k in places])


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
@pytest.mark.parametrize("spec", [*GAMES, "silent"])
def test_baselines_leave_updates_exact_on_average(spec, targeting, baseline):
    form = SequenceForm(Silent() if spec == "silent" else spec)
    searcher = with_full_tree(form.game, Outcome(delta=0.5, baseline=baseline, gamma=0.1), targeting)
    for position in targets(form.game, targeting)[:12]:
        assert_unbiased(searcher, form, position)


# Where simulations go --------------------------------------------------------------------------------------------------------


def test_worlds_of_ismcts_are_uniform():
    """Every history of the information set is equally often the beginning of a simulation."""
    game = load("ii_goofspiel(cards=5)")
    position = Position(game, [0, 1, 1, 2])  # lost twice, with the lowest cards
    searcher = Searcher(game, UpperConfidence(), "infoset", seed=4)
    searcher.aim(0, position.seen(0))
    draw, counts = as_python(edge_to_world), Counter()
    for _ in range(4000):
        path, node = [], 0
        while not searcher.target.ends[node]:
            edge = draw(searcher.target, node, searcher.rng)
            path.append(int(searcher.target.action[edge]))
            node = searcher.target.child[edge]
        counts[tuple(path)] += 1
    assert set(counts) == set(unseen.Belief.at(position).histories())
    assert len(counts) > 3
    assert chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.parametrize(("targeting", "is_capped"), [("infoset", False), ("public", False), ("infoset", True)])
def test_with_delta_one_every_simulation_is_on_target(targeting, is_capped):
    """Then sets that cannot come before or after the target are never added to the tree."""
    game = load("liars_dice(faces=3)")
    position = Position(game, [0, 1, 2, 3])
    searcher = Searcher(game, Outcome(delta=1.0), targeting, seed=1)
    searcher.aim(0, position.seen(0))
    searcher.target = searcher.target._replace(is_exact=not is_capped)
    searcher.run(5000)
    on_target = set()
    for other in all_positions(game):
        if other.player >= 0:
            shorter, longer = sorted((other.seen(PUBLIC), position.seen(PUBLIC)), key=len)
            is_near = longer[: len(shorter)] == shorter
            is_mine = targeting == "public" or other.history[:1] == (0,)
            if is_near and is_mine:
                on_target.add(other.infoset)
    assert set(columns(searcher.table).key.tolist()) <= on_target
    assert position.infoset in columns(searcher.table).key.tolist()


def test_the_trap_of_figure_1():
    """From I, OOS finds the equilibrium (1/3, 2/3); ISMCTS, which searches from I alone, mixes evenly."""
    game = load("coordination")
    position = Position(game, [1, 0])  # chance went right; what the first player did is hidden
    assert position.player == 1
    left = {}
    for name, rule, targeting in (
        ("IST", Outcome(), "infoset"), ("PST", Outcome(), "public"),
        ("VR", Outcome(gamma=0.0, baseline=PER_HISTORY, is_lazy=True, is_floored=True, power=1.0), "infoset"),
        ("ISMCTS", UpperConfidence(), "infoset"),
    ):  # fmt: skip
        searcher = Searcher(game, rule, targeting, seed=2)
        searcher.aim(1, position.seen(1))
        searcher.run(2_000_000)
        left[name] = searcher.behaviour(1, position.seen(1), 2)[0]
    for name in ("IST", "PST", "VR"):
        assert left[name] == pytest.approx(1 / 3, abs=0.03), left
    assert left["ISMCTS"] == pytest.approx(1 / 2, abs=0.06)


# The tree ---------------------------------------------------------------------------------------------------------------------


def test_a_simulation_adds_at_most_one_set():
    searcher = Searcher(load("leduc_poker"), Outcome(), "none", seed=1)
    for t in range(200):
        before = int(searcher.table.size[0])
        searcher.run(1)
        assert searcher.table.size[0] - before <= 1
        assert t > 0 or searcher.table.size[0] == 1


def test_memory_is_bounded_and_play_goes_on():
    game = load("ii_goofspiel(cards=8)")
    position = Position(game, [3, 3, 2, 4])
    for rule in (Outcome(), Outcome(baseline=PER_HISTORY), UpperConfidence()):
        searcher = Searcher(game, rule, "infoset", seed=1, memory=1.0)
        searcher.aim(0, position.seen(0))
        searcher.run(60_000)
        assert not searcher.may_grow
        assert table_bytes(searcher.table) + table_bytes(searcher.worths) <= 1e6
        sets = int(searcher.table.size[0])
        searcher.run(20_000)
        assert searcher.table.size[0] == sets
        behaviour = searcher.behaviour(0, position.seen(0), 6)
        assert behaviour.sum() == pytest.approx(1.0)
        assert behaviour.max() > 0.2


def test_a_search_repeats_and_a_fork_goes_its_own_way():
    game = load("leduc_poker")
    one, two = (Searcher(game, Outcome(), "none", seed=7) for _ in range(2))
    one.run(3000)
    for _ in range(30):
        two.run(100)
    assert as_arrays(one.table)["words"].tobytes()[:5000] == as_arrays(two.table)["words"].tobytes()[:5000]
    fork = one.fork(8)
    fork.run(1000)
    two.run(1000)
    one.run(1000)
    assert np.array_equal(one.table.real[:500], two.table.real[:500], equal_nan=True)
    assert not np.array_equal(one.table.real[:500], fork.table.real[:500], equal_nan=True)


def test_lazy_averages_are_those_of_all_behaviours():
    """Added up when simulations come by, or after each simulation: the same."""
    game = load("kuhn_poker")
    searcher = Searcher(game, Outcome(is_lazy=True, delta=0.5), "infoset", seed=3)
    watched = Searcher(game, Outcome(is_lazy=True, delta=0.5), "infoset", seed=3)
    position = Position(game, [1, 2])
    for s in (searcher, watched):
        s.aim(0, position.seen(0))
    searcher.run(500)
    for _ in range(500):
        watched.run(1)
        watched.catch_up()
    searcher.catch_up()
    content = columns(searcher.table)
    assert searcher.table.real[content.average] == pytest.approx(watched.table.real[content.average], rel=1e-9)


def test_the_running_ratio_is_that_of_exit_oos():
    """The mean of s1 / s2 is the likelihood ratio of led and other simulations: about delta / P(target) once it has settled."""
    game = load("liars_dice")
    searcher = Searcher(game, Outcome(is_running=True, delta=1.0, epsilon=1.0, gamma=1.0), "infoset", seed=3)
    position = Position(game, [4, 2])
    searcher.aim(0, position.seen(0))
    searcher.run(3000)
    assert searcher.notes[2] == pytest.approx(6.0, rel=1e-6)  # the die of the first player is forced: 1 instead of 1/6


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker"])
@pytest.mark.parametrize("options", [{}, {"baseline": PER_INFOSET}, {"baseline": PER_HISTORY, "is_lazy": True}])
def test_search_from_the_start_converges(spec, options):
    """With the root of the number of simulations: ten times as many, about a third of the exploitability."""
    form = SequenceForm(spec)
    searcher, found = Searcher(form.game, Outcome(gamma=0.0, **options), "none", seed=1), []
    for more in (100_000, 900_000):
        searcher.run(more)
        behaviours = [t.behaviour(searcher.sums(t.keys, t.first, t.sequences)) for t in form.players]
        found.append(form.evaluate(form.strategy(*behaviours)).exploitability)
    assert found[1] < 0.5 * found[0]


def plain(rule):
    """A rule whose methods run as plain Python."""
    for name in ("arrive", "spread", "learn", "reward"):
        if hasattr(rule, name):
            setattr(rule, name, types.MethodType(as_python(getattr(type(rule), name)), rule))
    return rule


def test_bandits_by_their_formulas():
    """One set with three actions, from known sums and visits."""
    searcher = Searcher(load("liars_dice(faces=2)"), UpperConfidence(), "none", seed=1)
    searcher.run(1)
    table, chances = searcher.table, np.zeros(4)
    content = columns(table)
    w, n = int(content.block[0]), int(content.n_actions[0])
    sums, visits = np.array([3.0, -2.0, 1.0, 0.5])[:n], np.array([10.0, 2.0, 5.0, 4.0])[:n]

    def put():
        table.real[content.regret[:n]], table.real[content.average[:n]] = sums, visits

    put()
    with np.errstate(over="ignore"):
        for c in (0.1, 2.0):
            plain(UpperConfidence(c)).spread(table, w, 0.0, True, n, chances)
            bounds = sums / visits + c * np.sqrt(np.log(visits.sum()) / visits)
            assert chances[:n].tolist() == np.eye(n)[bounds.argmax()].tolist()
        total = np.maximum(sums, 0).sum()
        plain(RegretMatching(0.2)).spread(table, w, total, True, n, chances)
        assert chances[:n] == pytest.approx(0.2 / n + 0.8 * np.maximum(sums, 0) / total)
        plain(Exp3(0.2, 4.0)).spread(table, w, total, True, n, chances)
        weights = np.exp(0.2 / n * sums)
        assert chances[:n] == pytest.approx(0.2 / n + 0.8 * weights / weights.sum())
        taken = np.eye(n)[1]
        for rule, want in (
            (UpperConfidence(), sums + 0.7 * taken), (RegretMatching(), sums - 0.7 + taken * 0.7 / 0.25),
            (Exp3(0.1, 4.0), sums + taken * 0.5 * (1 + 0.7 / 4.0) / 0.25),
        ):  # fmt: skip
            put()
            plain(rule).reward(table, w, 1, 0.7, 0.25)
            assert table.real[content.regret[:n]] == pytest.approx(want)


def test_later_simulations_count_more_if_asked():
    """With power 1 the average of a set that is always reached is the sum of t times its behaviour in simulation t."""
    game = load("matching_pennies")
    for is_lazy in (False, True):
        searcher = Searcher(game, Outcome(power=1.0, is_lazy=is_lazy, epsilon=1.0), "none", seed=5)
        want = np.zeros(2)
        searcher.run(2)  # both players' sets are met
        searcher.catch_up()
        content = columns(searcher.table)
        mine = content.average[:2] if searcher.table.player[0] == 0 else content.average[2:]
        regrets = content.regret[:2] if searcher.table.player[0] == 0 else content.regret[2:]
        start = searcher.table.real[mine].copy()
        for t in range(3, 40):
            positive = np.maximum(searcher.table.real[regrets], 0.0)
            behaviour = positive / positive.sum() if positive.sum() > 0 else np.full(2, 0.5)
            if is_lazy or t % 2 == 0:  # sampled averages are added when the other player is updated
                want += t * (0.005 + 0.99 * behaviour)
            searcher.run(1)
        searcher.catch_up()
        assert searcher.table.real[mine] - start == pytest.approx(want)


class FirstAction(Compiled):
    """A playout policy that always plays the first legal action."""

    def draw(self, game, s, out, n, rng):
        return 0


def test_playouts_can_be_replaced():
    """The value of an action that the tree ends with is that of the policy: in this game the second player then plays 0."""
    game = Long(rounds=1, told=1)
    for seed in range(30):
        searcher = Searcher(game, Outcome(baseline=PER_INFOSET, step=1.0), "none", seed=seed, playout=FirstAction())
        searcher.run(1)  # the first player's set is added; the playout is the second one's move
        content = columns(searcher.table)
        assert len(content.key) == 1
        values = searcher.table.real[content.average + content.n_actions[0]].tolist()
        assert values in ([0.0, 0.0], [0.0, 1.0])  # of the action that was drawn: 0 or 1, less nothing


def test_deep_games_keep_their_numbers():
    """Hundreds of moves: weights are bounded, and beliefs of more than 2^1000 histories are drawn evenly."""
    game = Long(rounds=600, told=1)
    for rule in (Outcome(), Outcome(gamma=0.0, baseline=PER_HISTORY, is_lazy=True)):
        searcher = Searcher(game, rule, "infoset", seed=1)
        searcher.run(5000)
        assert np.isfinite(searcher.table.real[columns(searcher.table).regret]).all()
    hidden = Long(rounds=1100)
    position = Position(hidden, [0, 1] * 1100 + [])
    belief = unseen.Belief(hidden, 1, position.seen(1)[:-1], 1)
    assert belief.count.bit_length() > 1000
    ones = [sum(h[::2]) / len(h[::2]) for h in belief.sample_histories(20, seed=1)]
    assert all(0.4 < share < 0.6 for share in ones)
    assert len({h[-4:] for h in belief.sample_histories(40, seed=2)}) > 3


def test_a_game_that_is_too_long_is_a_fault_not_a_crash():
    searcher = Searcher(TooLong(), Outcome(), "none", seed=1)
    with pytest.raises(unseen.GameFault, match="broke the protocol"):
        searcher.run(10_000)


def test_without_leading_the_running_ratio_stays_one():
    searcher = Searcher(load("liars_dice"), Outcome(is_running=True, delta=0.0), "infoset", seed=1)
    position = Position(searcher.game, [4, 2])
    searcher.aim(0, position.seen(0))
    searcher.run(1000)
    assert searcher.notes[2] == 1.0


@pytest.mark.parametrize("rule", [UpperConfidence(0.3), RegretMatching(), Exp3()])
def test_bandits_find_the_better_arm(rule):
    """A player who sees that it holds the best card raises it: Kuhn's king calls a bet."""
    game = load("kuhn_poker")
    position = Position(game, [0, 2, 1])
    searcher = Searcher(game, rule, "infoset", seed=1)
    searcher.aim(1, position.seen(1))
    searcher.run(20_000)
    assert searcher.behaviour(1, position.seen(1), 2)[1] > 0.9


def test_what_is_not_possible_is_refused():
    game = load("kuhn_poker")
    with pytest.raises(unseen.UnseenError, match="targeting is 'all', but must be one of none, infoset, public"):
        Searcher(game, Outcome(), "all")
    with pytest.raises(unseen.UnseenError, match="no history fits"):
        Searcher(game, Outcome()).aim(0, [unseen.Percept(5, 5, 5)])

"""The search loop: unbiased by enumeration of every simulation, led where it should be, and bounded in memory."""

from __future__ import annotations

import random
import types
from collections import Counter, defaultdict

import numpy as np
import pytest
from enumerating import CopiedStates, Script, exact_regrets, plain_records, plans_by_cell, scripted, scripted_object
from helpers import Urn, Urns, all_positions
from scipy.stats import chisquare

import unseen
from unseen import CHANCE, PUBLIC, TERMINAL, Game, Position, SequenceForm, Strategy, load, parameter
from unseen.compiling import as_python
from unseen.engine import random_state as unseen_random_state
from unseen.search import loop
from unseen.search.aim import edge_to_world, no_aim
from unseen.search.flights import ANSWERED, IDLE, WAITING, Memory, new_flights, new_totals
from unseen.search.joint_rules import JointOutcomeSampling, JointRegretMatching
from unseen.search.leaf import OutsidePolicy, StrategyPlayout
from unseen.search.root import at_histories, at_public_state, draw_root
from unseen.search.rules import Exp3, HistoryBaselines, OnlineOutcomeSampling, RegretMatching, UpperConfidence
from unseen.search.searcher import TARGETINGS, Searcher
from unseen.search.tree import joint_key
from unseen.tabular.averaging import catch_up_all
from unseen.tabular.table import HEAD, NOWHERE, as_arrays, columns, copied, fill_table, grown, table_bytes


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

    def pick(self, chances, first, n, total, rng):
        return self.choose([float(p) / total for p in chances[first : first + n]])

    def pick_edge(self, chances, indices, total, rng):
        return self.choose([float(chances[k]) / total for k in indices])

    def random_index(self, n, rng):
        return self.choose([1.0 / n] * n)

    def draw_root(self, root, rng):
        return self.choose(np.diff([0.0, *(r.until for r in root)]).tolist())


def with_full_tree(spec, rule, targeting, seed=1, **options):
    """A search that has met every set (and history, for its baselines), with random regrets and baselines there."""
    game = load(spec)
    searcher = Searcher(game, rule, targeting="none", seed=seed, **options)
    for _ in range(60):
        searcher.run(100)
        for table in searcher.learnt[:2]:
            table.floats[columns(table).places(0)] = 0.0  # behave evenly, so that everything is met
    searcher.targeting = TARGETINGS.index(targeting)
    rng = np.random.default_rng(seed)
    table, of_histories = searcher.learnt[:2]
    content = columns(table)
    for field in range(len(rule.for_action)):
        table.floats[content.places(field)] = rng.normal(size=len(content.action))
    table.floats[content.places(rule.played)] = 0.0
    places = columns(of_histories).places(HistoryBaselines.baselines)
    of_histories.floats[places] = rng.normal(size=len(places))
    return searcher


def profile(searcher, table=None):
    """The behaviour that the regrets stand for: regret matching with an even part."""
    table, rule = searcher.learnt.table if table is None else table, searcher.rule
    content = columns(table)
    positive = np.maximum(table.floats[content.places(rule.regrets)], 0.0)
    first = np.cumsum(content.n_actions) - content.n_actions
    total, n = (np.repeat(x, content.n_actions) for x in (np.add.reduceat(positive, first), content.n_actions))
    greedy = np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / n)
    return Strategy(
        searcher.game, keys=content.key, player=table.player[: len(first)], count=content.n_actions,
        actions=content.action, probability=rule.gamma / n + (1 - rule.gamma) * greedy,
    )  # fmt: skip


class Scripted:
    """A search whose simulations are run as plain Python, one execution after the other."""

    def __init__(self, searcher, in_flight=1):
        self.searcher, self.script, game = searcher, SearchScript(), searcher.game
        self.run = scripted(loop.run, self.script)
        self.tree, self.rule, self.leaf = (scripted_object(o, self.script) for o in (searcher.tree, searcher.rule, searcher.leaf))
        starts = CopiedStates(game.new_state() for _ in searcher.roots.states)
        for state, record in zip(starts, searcher.roots.states, strict=True):
            for name in state.__slots__:
                value = getattr(record, name)
                setattr(state, name, np.array(value, np.int64) if np.ndim(value) else value.item())
        self.roots = searcher.roots._replace(states=starts, root=plain_records(searcher.roots.root))
        self.blank = new_flights(game, in_flight, searcher.leaf.needs_percepts)
        self.work = searcher.work._replace(spare=CopiedStates([game.new_state()]))
        self.in_flight = in_flight

    def use(self, script):
        """Let another script make the choices."""
        self.script = script
        self.run = scripted(loop.run, script)
        self.tree, self.rule, self.leaf = (scripted_object(o, script) for o in (self.tree, self.rule, self.leaf))

    def fly(self, f, t):
        """Advance flight `f` alone: it begins simulation `t` if it is idle."""
        flights = self.flights.flight
        held = [(flight, flight.status) for k, flight in enumerate(flights) if k != f]
        for flight, _ in held:
            flight.status = WAITING
        self.simulate(t, t + 1 if flights[f].status == IDLE else t)
        for flight, status in held:
            flight.status = status

    def begin(self):
        """Everything as it was before the first simulation."""
        game, learnt = self.searcher.game, self.searcher.learnt
        tables = (copied(table) for table in learnt[:2])
        self.memory = Memory(*tables, plain_records(new_totals()))
        self.flights = self.blank._replace(
            states=CopiedStates(game.new_state() for _ in range(self.in_flight)), flight=plain_records(self.blank.flight),
            choices=plain_records(self.blank.choices),
        )  # fmt: skip

    def simulate(self, t, end):
        """Simulations `t` to `end` - 1, as far as they come."""
        with np.errstate(over="ignore"):
            return self.run(
                self.searcher.game, self.tree, self.rule, self.leaf, self.searcher.target, self.roots, False, self.memory,
                self.searcher.known, self.flights, self.work, t, end,
            )  # fmt: skip

    def gained(self, content):
        """What has been added to regrets and averages, shape (2, c)."""
        rule, before = self.searcher.rule, self.searcher.learnt.table.floats
        places = [content.places(field) for field in (rule.regrets, rule.played)]
        return np.array([self.memory.table.floats[at] - before[at] for at in places])


def expected_updates(searcher, player, mean_ratio=1.0):
    """What a simulation for `player` adds to regrets and averages, over all that there are, shape (2, c).

    `mean_ratio` is the running mean of s1 / s2 before it.
    """
    content, plain = columns(searcher.learnt.table), Scripted(searcher)
    total, likelihood = np.zeros((2, len(content.action))), 0.0
    while True:
        plain.begin()
        plain.memory.totals[0].ratio = mean_ratio
        plain.simulate(player, player + 1)
        total += plain.script.likelihood * plain.gained(content)
        likelihood += plain.script.likelihood
        if not plain.script.next():
            assert likelihood == pytest.approx(1.0, abs=1e-12)
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
    content, strategy, chances = columns(searcher.learnt.table), profile(searcher), chance_reach(searcher.game)
    assert len(content.key) == sum(form.infosets)
    owners = np.repeat(np.arange(len(content.key)), content.n_actions)
    for player in (0, 1):
        regrets, averages = expected_updates(searcher, player)
        exact, plan = exact_regrets(form, strategy, player), plans_by_cell(form, strategy, 1 - player)
        for c, j in enumerate(owners):
            cell = int(content.key[j]), int(content.action[c])
            if searcher.learnt.table.player[j] == player:
                assert regrets[c] == pytest.approx(exact[cell], abs=1e-9)
                assert averages[c] == 0.0
            else:
                assert regrets[c] == 0.0
                assert averages[c] == pytest.approx(plan[cell] * chances[cell[0]], abs=1e-9)


@pytest.mark.parametrize(("delta", "is_capped"), [(0.0, False), (0.5, False), (0.9, False), (0.9, True)])
@pytest.mark.parametrize("targeting", ["infoset", "public"])
@pytest.mark.parametrize("spec", GAMES)
def test_updates_are_exact_on_average(spec, targeting, delta, is_capped):
    """For every match history, with the trellis and without it (the capped belief); if nothing is led, they are all the same."""
    form = SequenceForm(spec)
    searcher = with_full_tree(spec, OnlineOutcomeSampling(delta=delta), targeting)
    for position in targets(form.game, targeting)[: None if delta else 2]:
        assert_unbiased(searcher, form, position, is_capped)


@pytest.mark.parametrize("targeting", ["infoset", "public"])
@pytest.mark.parametrize("spec", GAMES)
def test_scaled_weights_are_exact_on_average_but_for_their_scale(spec, targeting):
    """ExIt-OOS: whatever the running mean of s1 / s2 was before a simulation, all its updates are those of OOS over that number."""
    form = SequenceForm(spec)
    searcher = with_full_tree(spec, OnlineOutcomeSampling(delta=0.9, weighting="scaled"), targeting)
    strategy = profile(searcher)
    for position in targets(form.game, targeting)[::3]:
        searcher.aim(position.player, position.seen(position.player))
        for player in (0, 1):
            updates = expected_updates(searcher, player, mean_ratio=2.5)
            assert_expected(updates, searcher, form, strategy, player, times=1 / 2.5)


@pytest.mark.parametrize("baseline", ["infoset", "history"])
@pytest.mark.parametrize("targeting", ["infoset", "public"])
@pytest.mark.parametrize("spec", [*GAMES, "silent"])
def test_baselines_leave_updates_exact_on_average(spec, targeting, baseline):
    form = SequenceForm(Silent() if spec == "silent" else spec)
    searcher = with_full_tree(form.game, OnlineOutcomeSampling(delta=0.5, baseline=baseline, gamma=0.1), targeting)
    for position in targets(form.game, targeting)[:12]:
        assert_unbiased(searcher, form, position)


def closed_sets(game, wanted):
    """The first `wanted` information sets that no history comes to from outside of them."""
    passed = defaultdict(set)
    for position in all_positions(game):
        if position.player >= 0:
            on_the_way = Position(game)
            passed[position.infoset]  # it may be a first set
            for action in position.history:
                if on_the_way.player >= 0:
                    passed[position.infoset].add(on_the_way.infoset)
                on_the_way.apply(action)
    kept: list[int] = []
    while len(kept) < wanted:
        kept.append(next(key for key, before in passed.items() if key not in kept and before <= set(kept)))
    return kept


def partial(searcher, wanted):
    """The same search with a few sets of its tree only, from which simulations are played out when they leave them."""
    table, rule = searcher.learnt.table, searcher.rule
    content = columns(table)
    kept = np.flatnonzero(np.isin(content.key, np.array(closed_sets(searcher.game, wanted), np.uint64)))
    cells = np.isin(np.repeat(np.arange(len(content.key)), content.n_actions), kept)
    count = content.n_actions[kept]
    small = grown(rule.new_table(), wanted, int(count.sum()))
    first = np.cumsum(count) - count
    fill_table(small, content.key[kept], table.player[kept], first, count, content.action[cells], np.zeros(cells.sum()))
    for field in range(len(rule.for_action)):
        small.floats[columns(small).places(field)] = table.floats[content.places(field)[cells]]
    searcher.learnt = searcher.learnt._replace(table=small)
    searcher.may_grow = False
    return searcher


def with_playout(searcher, strategy):
    """What a search plays: its tree, and the strategy of its playouts elsewhere."""
    inside = profile(searcher)
    outside = ~np.isin(strategy.keys, inside.keys)
    cells = np.repeat(outside, strategy.count)
    parts = ((inside.keys, strategy.keys[outside]), (inside.player, strategy.player[outside]),
             (inside.count, strategy.count[outside]), (inside.actions, strategy.actions[cells]),
             (inside.probability, strategy.probability[cells]))  # fmt: skip
    names = ("keys", "player", "count", "actions", "probability")
    return Strategy(searcher.game, **{name: np.concatenate(part) for name, part in zip(names, parts, strict=True)})


def assert_expected(updates, searcher, form, strategy, player, times=1.0):
    """Updates of simulations for `player`, shape (2, c), are the regrets and plans of a strategy, wherever the tree is."""
    content, chances = columns(searcher.learnt.table), chance_reach(searcher.game)
    owners = np.repeat(np.arange(len(content.key)), content.n_actions)
    exact, plan = exact_regrets(form, strategy, player), plans_by_cell(form, strategy, 1 - player)
    for c, j in enumerate(owners):
        cell = int(content.key[j]), int(content.action[c])
        is_mine = searcher.learnt.table.player[j] == player
        want = (exact[cell], 0.0) if is_mine else (0.0, plan[cell] * chances[cell[0]])
        assert updates[:, c] == pytest.approx(np.multiply(times, want), abs=1e-9)


@pytest.mark.parametrize("spec", ["kuhn_poker", "ii_goofspiel(cards=3)"])
@pytest.mark.parametrize("targeting", ["infoset", "public"])
def test_playouts_of_a_strategy_are_exact_on_average(spec, targeting):
    """A tree of a few sets, and a tabular strategy beyond it: the updates are those of the two together."""
    form = SequenceForm(spec)
    strategy = form.random(seed=5)
    searcher = partial(with_full_tree(spec, OnlineOutcomeSampling(delta=0.5), targeting, leaf=StrategyPlayout(strategy)), 4)
    together = with_playout(searcher, strategy)
    for position in targets(form.game, targeting)[::5]:
        searcher.aim(position.player, position.seen(position.player))
        for player in (0, 1):
            assert_expected(expected_updates(searcher, player), searcher, form, together, player)


class Pilot(SearchScript):
    """Makes the choices of several simulations in flight: those of one by its own script, those of the others at random."""

    def __init__(self, enumerated, seed):
        super().__init__()
        self.enumerated, self.flying, self.seed = enumerated, 0, seed

    def again(self):
        self.others = [random.Random(10 * self.seed + f) for f in range(3)]

    def choose(self, chances):
        if self.flying == self.enumerated:
            return super().choose(chances)
        return self.others[self.flying].choices(range(len(chances)), chances)[0]


@pytest.mark.parametrize("spec", ["kuhn_poker", "goofspiel(cards=3, order=descending)"])
@pytest.mark.parametrize("baseline", ["none", "history"])
def test_simulations_in_flight_are_exact_on_average(spec, baseline):
    """Three in the air, answered in any order: whatever the others do, each adds on average what it would have added alone."""
    form = SequenceForm(spec)
    strategy = form.random(seed=5)

    def answer(questions):
        rows = [
            strategy.at(int(key), actions[:n].tolist())
            for key, n, actions in zip(questions.keys, questions.n_actions, questions.actions, strict=True)
        ]
        return np.array([[*row.values(), *[0.0] * (form.game.width - len(row))] for row in rows])

    rule = OnlineOutcomeSampling(delta=0.5, baseline=baseline)
    searcher = partial(with_full_tree(spec, rule, "none", leaf=OutsidePolicy(answer, in_flight=3)), 3)
    together, content = with_playout(searcher, strategy), columns(searcher.learnt.table)
    for seed, order in enumerate([(0, 1, 2), (2, 1, 0), (1, 2, 0)]):
        for enumerated in range(3):
            updates = updates_in_flight(searcher, strategy, content, order, enumerated, seed)
            assert_expected(updates, searcher, form, together, enumerated & 1)


def updates_in_flight(searcher, strategy, content, order, enumerated, seed):
    """What one of three simulations adds on average, over all that it may do, the others doing the same each time."""
    plain, total = Scripted(searcher, 3), np.zeros((2, len(content.action)))
    pilot = Pilot(enumerated, seed)
    plain.use(pilot)
    while True:
        plain.begin()
        pilot.again()
        own = np.zeros_like(total)

        def go_on(f, t, own=own):
            pilot.flying, before = f, plain.gained(content)
            plain.fly(f, t)
            own += (plain.gained(content) - before) * (f == enumerated)

        for f in range(3):
            go_on(f, f)
        waiting = [f for f in order if plain.flights.flight[f].status == WAITING]
        while waiting:
            for f in list(waiting):
                flight = plain.flights.flight[f]
                key = flight.key0 if flight.player == 0 else flight.key1
                n = searcher.game.actions(plain.flights.states[f], plain.work.out)
                plain.flights.answer[f, :n] = list(strategy.at(int(key), plain.work.out[:n].tolist()).values())
                flight.status = ANSWERED
                go_on(f, 3)
                if flight.status != WAITING:
                    waiting.remove(f)
        total += pilot.likelihood * own
        if not pilot.next():
            return total


def test_lazy_averages_are_exact_in_flight():
    """Each simulation counts with the behaviour of the moment in which it begins, though others learn while it is in the air."""
    form = SequenceForm("kuhn_poker")
    searcher = Searcher(
        form.game,
        OnlineOutcomeSampling(averaging="lazy"),
        leaf=OutsidePolicy(lambda questions: questions.actions * 0.0 + 1.0, 3),
        seed=3,
    )
    searcher.run(300)
    searcher.catch_up()
    plain, rng, exact = Scripted(partial_lazily(searcher, 5), 3), random.Random(1), defaultdict(float)
    pilot = Pilot(-1, 4)
    plain.use(pilot)
    plain.begin()
    pilot.again()
    content = columns(plain.memory.table)
    t = 0
    while t < 200 or any(flight.status != IDLE for flight in plain.flights.flight):
        f = rng.randrange(3)
        flight, pilot.flying = plain.flights.flight[f], f
        if flight.status == IDLE:
            if t == 200:
                continue
            for player in (0, 1):
                for cell, reach in plans_by_cell(form, profile(searcher, plain.memory.table), player).items():
                    exact[cell] += reach
        else:
            plain.flights.answer[f] = 0.5
            flight.status = ANSWERED
        plain.fly(f, t)
        t += flight.status != IDLE and flight.number == t
        t = max(t, max(flight.number for flight in plain.flights.flight) + 1)
    with np.errstate(over="ignore"):
        scripted(catch_up_all, pilot)(searcher.rule, plain.memory.table, searcher.rule.gamma, plain.memory.totals[0].weight)
    cells = zip(np.repeat(content.key, content.n_actions).tolist(), content.action.tolist(), strict=True)
    assert plain.gained(content)[1] == pytest.approx([exact[cell] for cell in cells], rel=1e-9)


def partial_lazily(searcher, wanted):
    """A few sets of a search whose averages are added up lazily, as if nothing had been added up yet."""
    partial(searcher, wanted)
    table, rule = searcher.learnt.table, searcher.rule
    table.floats[columns(table).places(rule.averages)] = 0.0
    content = columns(table)
    owner = {int(key): (int(block), int(n)) for key, block, n in zip(content.key, content.block, content.n_actions, strict=True)}
    for position in all_positions(searcher.game):
        if position.player >= 0 and position.infoset in owner:
            before, on_the_way = NOWHERE, Position(searcher.game)
            for action in position.history:
                if on_the_way.player == position.player:
                    block, n = owner[on_the_way.infoset]
                    before = block + HEAD + rule.averages * n + (n + 1) // 2 + on_the_way.actions.index(action)
                on_the_way.apply(action)
            table.ints[owner[position.infoset][0] - 1 - rule.choice_before] = before
    return searcher


# Joint nodes -------------------------------------------------------------------------------------------------------------------


def joint_sets(game):
    """The keys of both players' sets at each joint node, by the node's own key."""
    found = {}
    with np.errstate(over="ignore"):
        for position in all_positions(game):
            if position.player == 0:
                keys = np.uint64(position.key(0)), np.uint64(position.key(1))
                found[int(as_python(joint_key)(*keys))] = tuple(map(int, keys))
    return found


@pytest.mark.parametrize("spec", ["biased_rps", "goofspiel(cards=3)"])
def test_joint_nodes_are_exact_on_average(spec):
    """Outcome sampling at joint nodes: expected updates are the counterfactual regrets and plans of both players' sets."""
    form = SequenceForm(spec)
    searcher = Searcher(form.game, JointOutcomeSampling(gamma=0.3), targeting="none", seed=1)
    for _ in range(60):
        searcher.run(100)
        table = searcher.learnt.table
        table.floats[columns(table).places(0)] = 0.0
    table, sets, rng = searcher.learnt.table, joint_sets(form.game), np.random.default_rng(2)
    content = columns(table)
    assert set(content.key.tolist()) == set(sets)
    second = table.halves[2 * content.block + 3]
    regrets, averages = (content.places(field) for field in (searcher.rule.regrets, searcher.rule.averages))
    table.floats[regrets], table.floats[averages] = rng.normal(size=len(regrets)), 0.0
    cells, probability, reach, chances = [], [], [], chance_reach(form.game)
    first = 0
    for key, n, m in zip(content.key.tolist(), content.n_actions.tolist(), second.tolist(), strict=True):
        for player, count in ((0, n - m), (1, m)):
            positive = np.maximum(table.floats[regrets[first : first + count]], 0.0)
            even = positive / positive.sum() if positive.sum() > 0 else np.full(count, 1 / count)
            probability += even.tolist()
            cells += [(player, sets[key][player], int(a)) for a in content.action[first : first + count]]
            reach += [chances[sets[key][0]]] * count  # of the node: the second player's set has a history for each first action
            first += count
    owners = list(dict.fromkeys((player, key) for player, key, _ in cells))
    strategy = Strategy(
        form.game, keys=[key for _, key in owners], player=[player for player, _ in owners], count=[sum(cell[:2] == owner for cell
        in cells) for owner in owners], actions=[a for *_, a in cells], probability=probability,
    )  # fmt: skip
    for player in (0, 1):
        updates = expected_updates(searcher, player)
        exact, plan = exact_regrets(form, strategy, player), plans_by_cell(form, strategy, 1 - player)
        for c, (owner, key, action) in enumerate(cells):
            want = (exact[key, action], 0.0) if owner == player else (0.0, plan[key, action] * reach[c])
            assert updates[:, c] == pytest.approx(want, abs=1e-9)


def test_a_joint_matrix_by_hand():
    """Regret matching on the matrix of means (Section 3.3), update by update, in biased rock-paper-scissors."""
    searcher = Searcher("biased_rps", JointRegretMatching(filling="none"), targeting="none", seed=4)
    regrets, averages, sums, visits = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    payoff = np.array([[Position(searcher.game, [a, b]).utilities[0] for b in range(3)] for a in range(3)])
    for _ in range(300):
        before = visits.copy()
        for p in range(2):
            positive = np.maximum(regrets[p], 0.0)
            averages[p] += positive / positive.sum() if positive.sum() > 0 else 1 / 3
        searcher.run(1)
        table = searcher.learnt.table
        content = columns(table)
        assert len(content.key) == 1  # a node is added as a whole
        floats = table.floats[content.block[0] + HEAD :]
        matrix = floats[2 * 6 + 3 :][:18].reshape(2, 3, 3)
        (row,), (column,) = np.nonzero(matrix[1] - before)
        u = payoff[row, column]
        means = np.where(visits > 0, sums / np.maximum(visits, 1), 0.0)
        regrets[0] += np.where(np.arange(3) == row, u, means[:, column]) - u
        regrets[1] += -np.where(np.arange(3) == column, u, means[row]) + u
        sums[row, column] += u
        visits[row, column] += 1
        assert floats[:6].reshape(2, 3) == pytest.approx(regrets)
        assert table.floats[content.places(1)].reshape(2, 3) == pytest.approx(averages)
        assert matrix[0] == pytest.approx(np.where(visits > 0, sums / np.maximum(visits, 1), 0.0))


def test_joint_nodes_need_simultaneous_moves():
    with pytest.raises(unseen.UnseenError, match="do not choose at the same time"):
        Searcher("kuhn_poker", JointOutcomeSampling())


# Roots ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [OnlineOutcomeSampling(delta=1.0), JointOutcomeSampling()])
def test_a_root_in_mid_game_is_as_being_led_there(rule):
    """Where only chance is on the way: the statistics below are those of simulations that are led there without cost."""
    game = load("goofspiel(cards=3)")
    form = SequenceForm(game)
    position = Position(game, [1])
    assert position.player == 0
    led = with_full_tree(game, OnlineOutcomeSampling(delta=1.0), "public")
    led.aim(0, position.seen(0))
    roots = at_public_state(game, position.seen(PUBLIC))
    assert roots.root.weight0 == pytest.approx(1 / 3)
    for player in (0, 1):
        want = expected_updates(led, player)
        led_there, led.target = led.target, no_aim()
        start, led.roots = led.roots, roots
        assert expected_updates(led, player) == pytest.approx(want, abs=1e-9)
        led.target, led.roots = led_there, start
    below = Searcher(game, rule, seed=1)
    below.begin_at(roots)
    below.run(500)
    assert 0 < below.learnt.table.size[0] < sum(form.infosets) / 2


def test_a_list_of_histories_is_drawn_by_weight():
    game = load("kuhn_poker")
    roots = at_histories(game, [(0, 1), (2, 1), (1, 2)], [0.5, 0.25, 0.25])
    draw, rng = as_python(draw_root), unseen_random_state(3)
    with np.errstate(over="ignore"):
        counts = Counter(int(draw(roots.root, rng)) for _ in range(2000))
    assert chisquare([counts[0], counts[1], counts[2]], [1000, 500, 500]).pvalue > 1e-4
    assert roots.root.weight0 == pytest.approx(1.0)
    assert roots.root.key0[0] == Position(game, (0, 1)).key(0)
    with pytest.raises(unseen.UnseenError, match="must be 1 numbers above 0"):
        at_histories(game, [(0, 1)], [-1.0])
    with pytest.raises(unseen.UnseenError, match="no history"):
        at_histories(game, [])


# Where simulations go --------------------------------------------------------------------------------------------------------


def test_worlds_of_ismcts_are_uniform():
    """Nothing is left to chance: every history of the information set is equally often the beginning of a simulation."""
    game = load("ii_goofspiel(cards=5)")
    position = Position(game, [0, 1, 1, 2])  # lost twice, with the lowest cards
    searcher = Searcher(game, UpperConfidence(), targeting="infoset", seed=4)
    searcher.aim(0, position.seen(0))
    draw, counts = as_python(edge_to_world), Counter()
    for _ in range(4000):
        path, node = [], 0
        while not searcher.target.ends[node]:
            edge = draw(searcher.target.first, searcher.target.shares, node, searcher.work.rng)
            path.append(int(searcher.target.action[edge]))
            node = searcher.target.child[edge]
        counts[tuple(path)] += 1
    assert set(counts) == set(unseen.Belief.at(position).histories())
    assert len(counts) > 3
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_worlds_of_ismcts_are_as_likely_as_chance_makes_them():
    game = Urns()
    searcher = Searcher(game, UpperConfidence(), targeting="infoset", seed=4)
    searcher.aim(0, ())
    histories = list(unseen.Belief(game, 0, (), 0).histories())
    chances = np.zeros(len(histories))
    for k, history in enumerate(histories):
        position, chances[k] = Position(game), 1.0
        for a in history:
            chances[k] *= position.chance_probabilities[position.actions.index(a)] if position.is_chance else 1.0
            position.apply(a)
    counts, target, draw = Counter(), searcher.target, as_python(edge_to_world)
    for _ in range(20_000):
        path, node = [], 0
        while not target.ends[node]:
            edge = draw(target.first, target.shares, node, searcher.work.rng)
            path.append(int(target.action[edge]))
            node = target.child[edge]
        counts[tuple(path)] += 1
    drawn = unseen.Belief(game, 0, (), 0).sample_histories(20_000, seed=3, weights="chance")
    for found in (counts, Counter(drawn)):
        assert chisquare([found[history] for history in histories], 20_000 * chances / chances.sum()).pvalue > 1e-4


@pytest.mark.parametrize("is_capped", [False, True])
def test_ismcts_bets_on_what_is_likely(is_capped):
    """Nine red balls of ten, with a trellis and without: blue would be the better bet if both were equally likely."""
    game = Urn()
    searcher = Searcher(game, UpperConfidence(), targeting="infoset", seed=1)
    searcher.aim(0, ())
    searcher.target = searcher.target._replace(is_exact=not is_capped)
    searcher.run(20_000)
    red = searcher.behaviour(0, (), 2)[0]
    assert 1.12 * (1.0 - red) < 0.02  # its exploitability


@pytest.mark.parametrize(("targeting", "is_capped"), [("infoset", False), ("public", False), ("infoset", True)])
def test_with_delta_one_every_simulation_is_on_target(targeting, is_capped):
    """Then sets that cannot come before or after the target are never added to the tree."""
    game = load("liars_dice(faces=3)")
    position = Position(game, [0, 1, 2, 3])
    searcher = Searcher(game, OnlineOutcomeSampling(delta=1.0), targeting=targeting, seed=1)
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
    assert set(columns(searcher.learnt.table).key.tolist()) <= on_target
    assert position.infoset in columns(searcher.learnt.table).key.tolist()


def test_the_trap_of_figure_1():
    """From I, OOS finds the equilibrium (1/3, 2/3); ISMCTS, which searches from I alone, mixes evenly."""
    game = load("coordination")
    position = Position(game, [1, 0])  # chance went right; what the first player did is hidden
    assert position.player == 1
    left = {}
    for name, rule, targeting in (
        ("IST", OnlineOutcomeSampling(), "infoset"), ("PST", OnlineOutcomeSampling(), "public"),
        ("ExIt-OOS", OnlineOutcomeSampling(weighting="scaled"), "infoset"),
        ("VR", OnlineOutcomeSampling(gamma=0.0, baseline="history", averaging="lazy", negative=0.98, power=1.0), "infoset"),
        ("ISMCTS", UpperConfidence(), "infoset"),
    ):  # fmt: skip
        searcher = Searcher(game, rule, targeting=targeting, seed=2)
        searcher.aim(1, position.seen(1))
        searcher.run(2_000_000)
        left[name] = searcher.behaviour(1, position.seen(1), 2)[0]
    for name in ("IST", "PST", "ExIt-OOS", "VR"):
        assert left[name] == pytest.approx(1 / 3, abs=0.03), left
    assert left["ISMCTS"] == pytest.approx(1 / 2, abs=0.06)


# The tree ---------------------------------------------------------------------------------------------------------------------


def test_a_simulation_adds_at_most_one_set():
    searcher = Searcher(load("leduc_poker"), OnlineOutcomeSampling(), targeting="none", seed=1)
    for t in range(200):
        before = int(searcher.learnt.table.size[0])
        searcher.run(1)
        assert searcher.learnt.table.size[0] - before <= 1
        assert t > 0 or searcher.learnt.table.size[0] == 1


def test_memory_is_bounded_and_play_goes_on():
    game = load("ii_goofspiel(cards=8)")
    position = Position(game, [3, 3, 2, 4])
    for rule in (OnlineOutcomeSampling(), OnlineOutcomeSampling(baseline="history"), UpperConfidence()):
        searcher = Searcher(game, rule, targeting="infoset", seed=1, memory=1.0)
        searcher.aim(0, position.seen(0))
        searcher.run(60_000)
        assert not searcher.may_grow
        assert table_bytes(searcher.learnt.table) + table_bytes(searcher.learnt.baselines) <= 1e6
        sets = int(searcher.learnt.table.size[0])
        searcher.run(20_000)
        assert searcher.learnt.table.size[0] == sets
        behaviour = searcher.behaviour(0, position.seen(0), 6)
        assert behaviour.sum() == pytest.approx(1.0)
        assert behaviour.max() > 0.2


def test_a_search_repeats_and_a_fork_goes_its_own_way():
    game = load("leduc_poker")
    one, two = (Searcher(game, OnlineOutcomeSampling(), targeting="none", seed=7) for _ in range(2))
    one.run(3000)
    for _ in range(30):
        two.run(100)
    assert as_arrays(one.learnt.table)["words"].tobytes()[:5000] == as_arrays(two.learnt.table)["words"].tobytes()[:5000]
    fork = one.fork(8)
    fork.run(1000)
    two.run(1000)
    one.run(1000)
    assert np.array_equal(one.learnt.table.floats[:500], two.learnt.table.floats[:500], equal_nan=True)
    assert not np.array_equal(one.learnt.table.floats[:500], fork.learnt.table.floats[:500], equal_nan=True)


def grown_averages(searcher, form, simulate, iterations):
    """What lazy averaging added in so many simulations, by cell, beside the exact sum of plans that were played meanwhile."""
    rule, table = searcher.rule, searcher.learnt.table
    searcher.catch_up()
    places, content = columns(table).places(rule.averages), columns(table)
    assert len(content.key) == sum(form.infosets)  # the tree is complete, so nothing is added to it
    before, exact = table.floats[places].copy(), defaultdict(float)
    for _ in range(iterations):
        strategy = profile(searcher)
        for player in (0, 1):
            for cell, reach in plans_by_cell(form, strategy, player).items():
                exact[cell] += reach
        simulate()
    searcher.catch_up()
    cells = list(zip(np.repeat(content.key, content.n_actions).tolist(), content.action.tolist(), strict=True))
    return searcher.learnt.table.floats[places] - before, np.array([exact[cell] for cell in cells])


def test_lazy_averages_are_the_sums_of_plans():
    """Each simulation's behaviour counts with its player's own reach probability, at every set, visited or not."""
    form = SequenceForm("kuhn_poker")
    searcher = Searcher(form.game, OnlineOutcomeSampling(averaging="lazy", delta=0.5), targeting="infoset", seed=3)
    searcher.run(2000)
    searcher.aim(0, Position(form.game, [1, 2]).seen(0))
    found, exact = grown_averages(searcher, form, lambda: searcher.run(1), 200)
    assert exact.min() > 0.0
    assert found == pytest.approx(exact, rel=1e-9)


def test_scaled_weights_converge_in_kuhn_poker():
    """The second player, with a queen and facing a bet, calls with probability 1/3 in any equilibrium (Kuhn 1950).

    The scale is noisy, so this takes longer than with exact weights (which are at 0.35).
    """
    position, calls = Position("kuhn_poker", [0, 1, 1]), []
    for seed in range(3):
        searcher = Searcher(position.game, OnlineOutcomeSampling(weighting="scaled"), targeting="infoset", seed=seed)
        searcher.aim(1, position.seen(1))
        searcher.run(2_000_000)
        calls.append(searcher.behaviour(1, position.seen(1), 2)[1])
    assert np.mean(calls) == pytest.approx(1 / 3, abs=0.06)


def test_the_running_ratio_is_that_of_exit_oos():
    """The mean of s1 / s2 is the likelihood ratio of led and other simulations: about delta / P(target) once it has settled."""
    game = load("liars_dice")
    searcher = Searcher(
        game, OnlineOutcomeSampling(weighting="scaled", delta=1.0, epsilon=1.0, gamma=1.0), targeting="infoset", seed=3
    )
    position = Position(game, [4, 2])
    searcher.aim(0, position.seen(0))
    searcher.run(3000)
    assert searcher.learnt.totals.ratio[0] == pytest.approx(
        6.0, rel=1e-6
    )  # the die of the first player is forced: 1 instead of 1/6


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker"])
@pytest.mark.parametrize("options", [{}, {"baseline": "infoset"}, {"baseline": "history", "averaging": "lazy"}])
def test_search_from_the_start_converges(spec, options):
    """With the root of the number of simulations: ten times as many, about a third of the exploitability."""
    form = SequenceForm(spec)
    searcher, found = Searcher(form.game, OnlineOutcomeSampling(gamma=0.0, **options), targeting="none", seed=1), []
    for more in (100_000, 900_000):
        searcher.run(more)
        behaviours = [t.behaviour(searcher.sums(t.keys, t.first, t.sequences)) for t in form.players]
        found.append(form.evaluate(form.strategy(*behaviours)).exploitability)
    assert found[1] < 0.5 * found[0]


def plain(rule):
    """A rule whose methods run as plain Python."""
    return scripted_object(rule, SearchScript())


def test_bandits_by_their_formulas():
    """One set with some actions, from known sums and visits."""
    searcher = Searcher(load("liars_dice(faces=2)"), UpperConfidence(), targeting="none", seed=1)
    searcher.run(1)
    memory, chances = searcher.learnt, np.zeros(4)
    content, floats = columns(memory.table), memory.table.floats
    w, n = int(content.block[0]), int(content.n_actions[0])
    at, visited = content.places(0)[:n], content.places(1)[:n]
    sums, visits = np.array([3.0, -2.0, 1.0, 0.5])[:n], np.array([10.0, 2.0, 5.0, 4.0])[:n]
    floats[at], floats[visited] = sums, visits

    def chosen(rule):
        plain(rule).choose(memory, w, n, True, False, 0, 1.0, chances)
        return chances[:n]

    for c in (0.1, 2.0):
        bounds = sums / visits + c * np.sqrt(np.log(visits.sum()) / visits)
        assert chosen(UpperConfidence(exploration=c)).tolist() == np.eye(n)[bounds.argmax()].tolist()
    positive = np.maximum(sums, 0)
    assert chosen(RegretMatching(gamma=0.2)) == pytest.approx(0.2 / n + 0.8 * positive / positive.sum())
    weights = np.exp(0.2 / n * sums)
    assert chosen(Exp3(gamma=0.2, scale=4.0)) == pytest.approx(0.2 / n + 0.8 * weights / weights.sum())
    taken = np.eye(n)[1]
    for rule, want in (
        (UpperConfidence(), sums + 0.7 * taken), (RegretMatching(), sums - 0.7 + taken * 0.7 / 0.25),
        (Exp3(scale=4.0), sums + taken * 0.5 * (1 + 0.7 / 4.0) / 0.25),
    ):  # fmt: skip
        floats[at], floats[visited] = sums, visits
        choice = types.SimpleNamespace(node=w, taken=1, player=1, drawn=0.25)
        assert plain(rule).learn(memory, choice, None, 0, -0.7) == -0.7
        assert floats[at] == pytest.approx(want)
        assert floats[visited] == pytest.approx(visits + taken)


def test_later_simulations_count_more_if_asked():
    """With power 1 the average of a set that is always reached is the sum of t times its behaviour in simulation t."""
    game = load("matching_pennies")
    for averaging in ("stochastic", "lazy"):
        searcher = Searcher(game, OnlineOutcomeSampling(power=1.0, averaging=averaging, epsilon=1.0), targeting="none", seed=5)
        want = np.zeros(2)
        searcher.run(2)  # both players' sets are met
        searcher.catch_up()
        content = columns(searcher.learnt.table)
        own = slice(0, 2) if searcher.learnt.table.player[0] == 0 else slice(2, 4)
        regrets, mine = content.places(searcher.rule.regrets)[own], content.places(searcher.rule.averages)[own]
        start = searcher.learnt.table.floats[mine].copy()
        for t in range(3, 40):
            positive = np.maximum(searcher.learnt.table.floats[regrets], 0.0)
            behaviour = positive / positive.sum() if positive.sum() > 0 else np.full(2, 0.5)
            if averaging == "lazy" or t % 2 == 0:  # sampled averages are added when the other player is updated
                want += t * (0.005 + 0.99 * behaviour)
            searcher.run(1)
        searcher.catch_up()
        assert searcher.learnt.table.floats[mine] - start == pytest.approx(want)


def test_a_target_that_takes_too_long_is_sampled():
    """The time to find out where the play can be is part of a move's: what is not done by then is done percept by percept."""
    game = load("leduc_poker")
    position = Position(game, [4, 1, 2])
    searcher = Searcher(game, OnlineOutcomeSampling(), targeting="infoset", seed=1)
    for until, is_exact in ((0.0, False), (np.inf, True)):
        searcher.aim(1, position.seen(1), until)
        assert searcher.target.is_exact == is_exact
        searcher.run(2000)
    agent = unseen.make_agent("oos(seconds=1e-6)", game)
    agent.begin(game, 1, seed=1)
    for percept in position.seen(1):
        agent.observe(percept)
    agent.choose(position.actions)
    assert not agent.searcher.target.is_exact
    assert agent.searcher.simulations >= 1


def test_deep_games_keep_their_numbers():
    """Hundreds of moves: weights are bounded, and beliefs of more than 2^1000 histories are drawn evenly."""
    game = Long(rounds=600, told=1)
    for rule in (OnlineOutcomeSampling(), OnlineOutcomeSampling(gamma=0.0, baseline="history", averaging="lazy")):
        searcher = Searcher(game, rule, targeting="infoset", seed=1)
        searcher.run(5000)
        assert np.isfinite(searcher.learnt.table.floats[columns(searcher.learnt.table).places(0)]).all()
    hidden = Long(rounds=1100)
    position = Position(hidden, [0, 1] * 1100 + [])
    belief = unseen.Belief(hidden, 1, position.seen(1)[:-1], 1)
    assert belief.count.bit_length() > 1000
    ones = [sum(h[::2]) / len(h[::2]) for h in belief.sample_histories(20, seed=1)]
    assert all(0.4 < share < 0.6 for share in ones)
    assert len({h[-4:] for h in belief.sample_histories(40, seed=2)}) > 3


def test_a_game_that_is_too_long_is_a_fault_not_a_crash():
    searcher = Searcher(TooLong(), OnlineOutcomeSampling(), targeting="none", seed=1)
    with pytest.raises(unseen.GameFault, match="broke the protocol"):
        searcher.run(10_000)


def test_without_leading_the_running_ratio_stays_one():
    searcher = Searcher(load("liars_dice"), OnlineOutcomeSampling(weighting="scaled", delta=0.0), targeting="infoset", seed=1)
    position = Position(searcher.game, [4, 2])
    searcher.aim(0, position.seen(0))
    searcher.run(1000)
    assert searcher.learnt.totals.ratio[0] == 1.0


@pytest.mark.parametrize("rule", [UpperConfidence(exploration=0.3), RegretMatching(), Exp3()])
def test_bandits_find_the_better_arm(rule):
    """A player who sees that it holds the best card raises it: Kuhn's king calls a bet."""
    game = load("kuhn_poker")
    position = Position(game, [0, 2, 1])
    searcher = Searcher(game, rule, targeting="infoset", seed=1)
    searcher.aim(1, position.seen(1))
    searcher.run(20_000)
    assert searcher.behaviour(1, position.seen(1), 2)[1] > 0.9


def test_what_is_not_possible_is_refused():
    game = load("kuhn_poker")
    with pytest.raises(unseen.UnseenError, match="parameter targeting is 'all', but must be one of none, infoset, public"):
        Searcher(game, OnlineOutcomeSampling(), targeting="all")
    with pytest.raises(unseen.UnseenError, match="no history fits"):
        Searcher(game, OnlineOutcomeSampling()).aim(0, [unseen.Percept(5, 5, 5)])

"""Games as if nothing were hidden: minimax, error allowing minimax and vectors against plain recursions; worlds; the agents."""

from __future__ import annotations

import contextlib
import json
import random
from fractions import Fraction
from functools import cache
from itertools import permutations
from statistics import fmean, mean

import numpy as np
import pytest
from helpers import Urn, Urns, all_positions, run_cli
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from unseen import CHANCE, TERMINAL, Belief, Game, Percept, Position, UnseenError, Worlds, compare, extract, load, make_agent
from unseen import parameter as parameter
from unseen.arena import referee
from unseen.arena.extraction import PER_TASK, Asking
from unseen.arena.human import HumanAgent, Left
from unseen.errors import BeliefTooLarge, GameFault
from unseen.exact.sequence_form import SequenceForm
from unseen.games.phantom_ttt import PhantomTTT
from unseen.games.schnapsen import Schnapsen
from unseen.perfect import solver as solving
from unseen.perfect import table
from unseen.perfect.minimax import ALL, BY_STATE, EXPECTED, SHUFFLED, Minimax
from unseen.perfect.mixing import by_regret, by_worlds, near, softmax
from unseen.perfect.solver import Solver
from unseen.perfect.vectors import PayoffReduction, VectorMinimax, VectorSolver
from unseen.position import _TRIED, random_walk
from unseen.reproduce import ppp, ppp_page

FIGURE_3 = {"centre": (0.759, 0.0, 0.938), "corner": (0.124, -0.625, 0.3), "edge": (-0.136, -0.875, 0.038)}


class Bush(Game):
    """A tree that grows from a number: who moves, how many actions there are and what the ends pay are drawn from it.

    In the beginning chance chooses one of some worlds, which nobody sees; afterwards everything is seen. An action may be missing
    in some of the worlds.
    """

    seed: int = parameter(0, minimum=0, maximum=10**6)
    worlds: int = parameter(3, minimum=1, maximum=3)
    luck: bool = parameter(False)
    lame: bool = parameter(False)
    scale: int = parameter(0, minimum=0, maximum=3)
    state = np.dtype([("node", "i8"), ("depth", "i8"), ("world", "i8")])
    num_actions = 3
    num_outcomes = 3
    max_length = 6

    def draw(self, s, what, n):
        """A number below n, for a node and perhaps its world."""
        x = (s.node * 7919 + self.seed * 104729 + what * 1299709 + 12345) & 0xFFFFFFFF
        for _ in range(3):
            x = (x ^ (x >> 15)) * 0x2C1B3C6D & 0xFFFFFFFF
            x = (x ^ (x >> 12)) * 0x297A2D39 & 0xFFFFFFFF
        return (x >> 16) % n

    def start(self, s):
        s.node = 0
        s.depth = 0
        s.world = -1

    def player(self, s):
        if s.depth == 0:
            return CHANCE
        if s.depth == self.max_length or (s.depth > 3 and self.draw(s, 1, 4) == 0):
            return TERMINAL
        if self.luck and self.draw(s, 2, 4) == 0:
            return CHANCE
        return 0 if s.depth == 1 else self.draw(s, 3, 2)

    def actions(self, s, out):
        if s.depth == 0:
            for k in range(self.worlds):
                out[k] = k
            return self.worlds
        n, many = 0, 2 + self.draw(s, 4, 2)
        for k in range(many):
            if not (self.lame and k > 0 and self.draw(s, 10 * k + s.world + 20, 3) == 0):
                out[n] = k
                n += 1
        return n

    def apply(self, s, a, tell):
        if s.depth == 0:
            s.world = a
        else:
            s.node = (s.node * 4 + a + 1) & 0xFFFFFF
            tell[2] = 1 + a
        s.depth += 1

    def chance(self, s, a, n):
        return 1.0 / n if s.depth == 0 else (a + 1.0) / (n * (n + 1) / 2) if not self.lame else 1.0 / n

    def utility(self, s, who):
        x = float(self.draw(s, 5 + s.world, 5) - 2)
        if self.scale == 1:
            x /= 7.0
        elif self.scale == 2:
            x += 17_000_000.0
        elif self.scale == 3:
            x *= 1e8
        return x if who == 0 else -x


def states_of(game, positions):
    """Plain states as an array of records."""
    states = game.new_states(len(positions))
    for k, position in enumerate(positions):
        position.state.write(states[k : k + 1])
    return states


def values_of(game, positions, who, **options):
    """(m, p, a) of each action at each position, as the solver has it: a list of dictionaries."""
    solver, rows = Solver(game, Minimax(**options), who, 1.0), []
    for state, position in zip(states_of(game, positions), positions, strict=True):
        world = np.array([state], state.dtype).view(np.recarray)
        found, n = solver.evaluate(world, np.zeros(1, np.uint64), np.array(position.actions))
        assert n == 1
        rows.append({a: tuple(found.values[0, i]) for i, a in enumerate(position.actions)})
    return rows


def triple(position, who, left, child=Position.child):
    """Error allowing minimax by its definition, with errors in `left` moves: no table, nothing cut off."""
    if position.is_terminal:
        return position.utilities[who], 0.0, 0.0
    below = [triple(child(position, a), who, left if position.is_chance else max(left - 1, 0)) for a in position.actions]
    if position.is_chance:
        m, p, pa = (sum(c * x for c, x in zip(position.chance_probabilities, column, strict=True)) for column in (
            [m for m, _, _ in below], [p for _, p, _ in below], [p * a for _, p, a in below],
        ))  # fmt: skip
        return m, p, pa / p if p else 0.0
    if position.player == who:
        return max(below, key=lambda v: tuple(round(x, 9) for x in v))
    m = min(v[0] for v in below)
    if left == 0:
        return m, 0.0, 0.0
    is_error = [v[0] > m + 1e-9 for v in below]
    p = mean(1.0 if wrong else v[1] for wrong, v in zip(is_error, below, strict=True))
    gains = [v[0] - m if wrong else v[2] for wrong, v in zip(is_error, below, strict=True) if wrong or v[1] > 0.0]
    return m, p, min(gains, default=0.0)


@pytest.mark.parametrize("luck", [False, True])
@given(
    seed=st.integers(0, 10**6), errors=st.sampled_from([0, 1, 2, 3, ALL]), who=st.integers(0, 1), scale=st.integers(0, 3)
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_triples_are_those_of_the_definition_on_random_trees(luck, seed, errors, who, scale):
    """With payoffs that are whole, that are not, and that are so large that small differences are lost in them."""
    position = Position(Bush(seed=seed, luck=luck, scale=scale * (1 - luck)), [1])
    found = values_of(position.game, [position], who, errors=errors)[0]
    for a, value in found.items():
        assert value == pytest.approx(triple(position.child(a), who, errors), abs=1e-9)


def test_a_search_that_was_given_up_leaves_nothing_behind(monkeypatch):
    """Also with a table that grows often, and generations that come round again."""
    monkeypatch.setattr(table, "FEWEST_SLOTS", 16)
    rng, solver = random.Random(4), Solver(PhantomTTT(), Minimax(), 0, 1.0)
    world, want = states_of(solver.game, [Position("phantom_ttt")]), values_of(PhantomTTT(), [Position("phantom_ttt")], 0)[0]
    for k in range(600):
        solver.forget()
        monkeypatch.setattr(solving, "NODES_PER_CALL", rng.choice([1, 50, 10**6]) if k > 550 else 10**6)
        two = np.repeat(world, 2).view(np.recarray)
        solver.evaluate(two, np.zeros(2, np.uint64), np.arange(9), nodes=rng.randrange(1, 3000))
        if k % 50 == 0 or k > 550:
            found, _ = solver.evaluate(world, np.zeros(1, np.uint64), np.arange(9))
            assert found.values[0].tolist() == [list(want[a]) for a in range(9)]


def test_one_world_is_always_finished():
    """Also where there are no more, and no time."""
    start = Position("phantom_ttt")
    for name in ("pimc(seconds=0.00001)", "ppp(seconds=0.00001)"):
        assert len(at_turn(name, start).choose(start.actions)) in (4, 9)


LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)


def is_won(marks):
    return any(marks & line == line for line in LINES)


def boards_after(x, o):
    """The boards after each move on a board of Tic-Tac-Toe, by square; none at the end."""
    if is_won(x) or is_won(o):
        return {}
    free = [k for k in range(9) if not (x | o) >> k & 1]
    return {k: (x | 1 << k, o) if x.bit_count() == o.bit_count() else (x, o | 1 << k) for k in free}


@cache
def board_triple(x, o, who):
    """Error allowing minimax on a board, for player `who`."""
    below = [board_triple(*board, who) for board in boards_after(x, o).values()]
    if not below:
        return (is_won(x) - is_won(o)) * (1 - 2 * who), 0.0, 0.0
    if (x.bit_count() > o.bit_count()) == who:
        return max(below)
    m = min(v[0] for v in below)
    gains = [v[0] - m if v[0] > m else v[2] for v in below if v[0] > m or v[1] > 0]
    return m, mean(1.0 if v[0] > m else v[1] for v in below), min(gains, default=0.0)


def test_all_of_tic_tac_toe():
    game, boards, todo = PhantomTTT(), {(0, 0)}, [(0, 0)]
    solvers = {(who, errors): Solver(game, Minimax(errors=errors), who, 4.0) for who in (0, 1) for errors in (0, ALL)}
    while todo:
        x, o = todo.pop()
        states, after = game.new_states(1), boards_after(x, o)
        game.start(states[0])
        states[0].marks[:], states[0].turn = (x, o), x.bit_count() > o.bit_count()
        game.lay_open(states[0])
        for (who, errors), solver in solvers.items() if after else ():
            found, _ = solver.evaluate(states, np.zeros(1, np.uint64), np.array(list(after)))
            for numbers, board in zip(found.values[0], after.values(), strict=True):
                m, p, a = board_triple(*board, who)
                assert numbers.tolist() == pytest.approx([m, p, a] if errors else [m, 0.0, 0.0], abs=1e-9)
        todo += set(after.values()) - boards
        boards |= set(after.values())
    assert len(boards) == 5478


@pytest.mark.parametrize("spec", ["leduc_poker", "liars_dice(faces=3)", "schnapsen(suits=2, ranks=3, hand=2, target=20)"])
def test_alpha_beta_is_expectimax(spec):
    """With all cards open, at every history of a player: the chance of outcomes to come counts."""
    game = load(spec)

    @cache
    def value(history, who):
        position = Position(game, history)
        if position.is_terminal:
            return position.utilities[who]
        below = [value((*history, a), who) for a in position.actions]
        if position.is_chance:
            return sum(p * v for p, v in zip(position.chance_probabilities, below, strict=True))
        return max(below) if position.player == who else min(below)

    positions = [p.copy() for p in all_positions(game) if p.player >= 0][::7]
    for who in (0, 1):
        for position, found in zip(positions, values_of(game, positions, who, fixes_chance=EXPECTED), strict=True):
            for a, (m, _, _) in found.items():
                assert m == pytest.approx(value((*position.history, a), who), abs=1e-9)


def test_what_a_game_knows_of_its_payoffs_changes_no_value():
    class Unbounded(Schnapsen):
        def most(self, s, who):
            return 9.0

    spec = {"suits": 2, "ranks": 4, "hand": 2, "target": 24}
    games = [Schnapsen(**spec), Unbounded(**spec)]
    rng = random.Random(5)
    walks = [[p.copy() for p in random_walk(games[0], rng)] for _ in range(12)]
    positions = [p for walk in walks for p in walk if p.player >= 0]
    for errors in (0, 2, ALL):
        found = [values_of(game, positions, 0, errors=errors) for game in games]
        for one, other in zip(*found, strict=True):
            assert all(one[a] == pytest.approx(other[a], abs=1e-9) for a in one)


# Chance that is fixed in advance ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixes_chance", [BY_STATE, SHUFFLED])
def test_fixed_chance_has_its_probabilities(fixes_chance):
    """Over many seeds, what a world is worth is what it is worth on average; a seed fixes it."""
    game = load("leduc_poker")
    position = Position(game, [0, 3, 1])  # then a call, and the public card is turned up
    state = states_of(game, [position])
    solver = Solver(game, Minimax(fixes_chance=fixes_chance), 1, 1.0)
    worlds, seeds = np.repeat(state, 4000).view(np.recarray), np.arange(1, 4001).astype(np.uint64)
    found, _ = solver.evaluate(worlds, seeds, np.array([1]))
    again, _ = solver.evaluate(worlds, seeds, np.array([1]))
    assert np.array_equal(found.values, again.values)
    cards = [triple(position.child(1).child(card), 1, 0)[0] for card in position.child(1).actions]
    want = {v: cards.count(v) / len(cards) for v in cards}
    values, counts = np.unique(found.values[:, 0, 0], return_counts=True)
    assert set(values) == set(want)
    assert chisquare(counts, [4000 * want[v] for v in values]).pvalue > 1e-4


def test_a_shuffled_pack_keeps_its_order():
    """The next card does not depend on what was played in between: the same cards come whichever way they are come to."""
    game = load("schnapsen(suits=2, ranks=4, hand=2, target=60)")
    rng = random.Random(1)
    position = next(p.copy() for p in random_walk(game, rng) if p.player == 0 and len(p.history) == 5)
    solver = Solver(game, Minimax(fixes_chance=SHUFFLED), 0, 1.0)
    state = states_of(game, [position])
    seeds = np.arange(1, 41).astype(np.uint64)
    found, _ = solver.evaluate(np.repeat(state, 40).view(np.recarray), seeds, np.array(position.actions))

    def best(p, order):
        if p.is_terminal:
            return p.utilities[0]
        if p.is_chance:
            return best(p.child(next(card for card in order if card in p.actions)), order)
        below = [best(p.child(a), order) for a in p.actions]
        return max(below) if p.player == 0 else min(below)

    hidden = [card for card in range(8) if game.hidden(position.state) >> card & 1]
    possible = {tuple(best(position.child(a), order) for a in position.actions) for order in permutations(hidden)}
    assert {tuple(row) for row in found.values[:, :, 0]} <= possible


# Vectors over worlds ---------------------------------------------------------------------------------------------------------


def plain_vectors(worlds, who, caps, reduces, skips, weights):
    """Vector minimax by its definition: `worlds`, {number: position}; returns {number: value}."""
    over = {w: min(p.utilities[who], caps[w]) for w, p in worlds.items() if p.is_terminal}
    worlds = {w: p for w, p in worlds.items() if not p.is_terminal}
    if not worlds:
        return over
    movers = {p.player for p in worlds.values()}
    if len(movers) > 1:
        parts = [
            plain_vectors({w: p for w, p in worlds.items() if p.player == m}, who, caps, reduces, skips, weights) for m in movers
        ]
        return over | {w: v for part in parts for w, v in part.items()}
    mover = movers.pop()
    if reduces and mover == 1 - who:
        caps = {w: min(caps[w], triple(worlds[w], who, 0)[0]) if w in worlds else caps[w] for w in caps}

    def after(a):
        return plain_vectors({w: p.child(a) for w, p in worlds.items() if a in p.actions}, who, caps, reduces, skips, weights)

    actions = sorted({a for p in worlds.values() for a in p.actions})
    found = {a: after(a) for a in actions}
    if mover == who:
        for a in actions:
            rest = {w: p for w, p in worlds.items() if a not in p.actions}
            if rest and not skips:
                found[a] |= plain_vectors(rest, who, caps, reduces, skips, weights)
        means = {a: fmean(v.values(), weights=[weights[w] for w in v]) for a, v in found.items() if v}
        best = [found[a] for a in means if means[a] > max(means.values()) - 1e-9]
        mixed = {w: [v[w] for v in best if w in v] for w in worlds}
        return over | {w: mean(v) for w, v in mixed.items() if v}
    result = {}
    for w, p in worlds.items():
        chances = p.chance_probabilities if p.is_chance else p.actions
        below = [(found[a][w], c) for a, c in zip(p.actions, chances, strict=True) if w in found[a]]
        if below:
            result[w] = sum(v * c for v, c in below) if mover == CHANCE else min(v for v, _ in below)
    return over | result


@pytest.mark.parametrize("kind", [VectorMinimax, PayoffReduction])
@given(seed=st.integers(0, 10**6), skips=st.booleans(), lame=st.booleans(), luck=st.booleans(), likely=st.booleans())
@settings(max_examples=40, deadline=None)
def test_vectors_are_those_of_the_definition(kind, seed, skips, lame, luck, likely):
    game = Bush(seed=seed, luck=luck and not skips, lame=lame)
    _TRIED.add(game)  # an action that is missing in some worlds is against the protocol, and yet has a definition
    worlds = {w: Position(game, [w]) for w in range(3)}
    if any(p.player != 0 for p in worlds.values()):
        return
    actions = sorted({a for p in worlds.values() for a in p.actions})
    solver = VectorSolver(game, kind(skips_missing=skips), 0, 0.05)
    states, seeds, weights = states_of(game, list(worlds.values())), np.zeros(3, np.uint64), [1.0, 1.0, 1.0]
    found, _ = solver.evaluate(states, seeds, np.array(actions))
    if likely:  # what was remembered of worlds that count alike is not taken for this
        weights = [1.0, 0.2, 0.05]
        found, _ = solver.evaluate(states, seeds, np.array(actions), weights=np.array(weights))
    for i, a in enumerate(actions):
        there = {w: p.child(a) for w, p in worlds.items() if a in p.actions}
        want = plain_vectors(there, 0, dict.fromkeys(range(3), np.inf), kind is PayoffReduction, skips, weights)
        for w in range(3):
            assert bool(found.legal[w, i]) == (w in there)
            if w in want:
                assert found.values[w, i, 0] == pytest.approx(want[w], abs=1e-9)
            elif w in there:
                assert np.isnan(found.values[w, i, 0])


@pytest.mark.parametrize("fixes_chance", [BY_STATE, SHUFFLED])
def test_vectors_of_one_world_are_minimax(fixes_chance):
    """With chance fixed by a seed; and what was found for one seed is not taken for another."""
    game = load("leduc_poker")
    position = Position(game, [0, 3, 1])
    state = states_of(game, [position])
    plain, *others = (
        solver(game, kind(fixes_chance=fixes_chance), 1, 1.0)
        for solver, kind in ((Solver, Minimax), (VectorSolver, VectorMinimax), (VectorSolver, PayoffReduction))
    )
    for seed in range(1, 60):
        seeds = np.array([seed << 20], np.uint64)
        want, _ = plain.evaluate(state, seeds, np.array(position.actions))
        for solver in others:
            solver.forget()
            found, _ = solver.evaluate(state, seeds, np.array(position.actions))
            assert found.values[:, :, 0].tolist() == want.values[:, :, 0].tolist()


# Worlds ------------------------------------------------------------------------------------------------------------------------


def weights_by_state(game, states, weights):
    return dict(zip([s.tobytes()[: game.state.itemsize] for s in states], weights, strict=True))


def chance_of(game, history):
    """The probability of the outcomes of chance in a history, these outcomes, and the state it leads to."""
    position, chance, outcomes = Position(game), 1.0, []
    for a in history:
        if position.is_chance:
            chance *= position.chance_probabilities[position.actions.index(a)]
            outcomes += [a] if len(position.actions) > 1 else []
        position.apply(a)
    return chance, tuple(outcomes), states_of(game, [position])[0].tobytes()


def check_weights(belief, by_histories, by_chance):
    """Weights of states against the definition: over all histories, and over all sequences of chance outcomes."""
    sums: dict[bytes, float] = {}
    sequences: dict[bytes, dict[tuple[int, ...], float]] = {}
    for history in belief.histories():
        chance, outcomes, state = chance_of(belief.game, history)
        sums[state] = sums.get(state, 0.0) + chance
        each = sequences.setdefault(state, {})
        each[outcomes] = max(each.get(outcomes, 0.0), chance)
    assert by_histories == pytest.approx(sums)
    likely = {state: sum(each.values()) for state, each in sequences.items()}
    assert by_chance == pytest.approx({state: p / max(likely.values()) for state, p in likely.items()})
    posterior = weights_by_state(belief.game, belief.worlds()[0], belief.posterior())
    assert posterior == pytest.approx({state: p / sum(likely.values()) for state, p in likely.items()})
    return sums, likely


@pytest.mark.parametrize(
    "spec", ["kuhn_poker", "leduc_poker", "liars_dice(faces=3)", "phantom_ttt", "schnapsen(suits=2, ranks=4, hand=2, target=24)"]
)
def test_worlds_are_those_of_the_trellis(spec):
    game, rng, kinds = load(spec), random.Random(2), ("once", "histories", "chance")
    starts = {(who, weighs): Worlds(game, who, weighs) for who in (0, 1) for weighs in kinds}
    positions = [p.copy() for _ in range(6) for p in random_walk(game, rng) if p.player >= 0]
    for position in positions:
        who, belief = position.player, Belief.at(position)
        turns = [starts[who, weighs].after_all(position.seen(who)).closed_turn for weighs in kinds]
        once, histories, chances = (weights_by_state(game, turn.states, turn.weights) for turn in turns)
        assert once == dict.fromkeys(weights_by_state(game, *belief.worlds()), 1.0)
        if belief.count <= 300:
            check_weights(belief, histories, chances)
        if spec == "phantom_ttt":
            assert chances == once  # nothing is left to chance
        if spec.startswith("schnapsen"):
            assert chances == once  # all hands are equally likely


@pytest.mark.parametrize("cap", [1_000_000, 20])
def test_orders_of_moves_do_not_count(cap):
    """Two balls of unequal colours come in two orders, which count; two boxes are opened in two orders, which do not."""
    game = Urns()
    position = Position(game, [0, 1, 2, 0, 1])
    belief = Belief.at(position)
    turns = [Worlds(game, 0, weighs, cap=cap, seed=1).after_all(position.seen(0)).turn for weighs in ("histories", "chance")]
    if cap == 20:  # too many sequences to tell apart: a part of the 36 states is drawn
        assert all(0 < len(turn.states) < 36 for turn in turns)
        return
    found = [weights_by_state(game, turn.states, turn.weights) for turn in turns]
    sums, likely = check_weights(belief, *found)
    assert len(likely) == 6 * 3 * 2
    assert sums == pytest.approx({state: 2 * p for state, p in likely.items()})
    drawn = belief.sample_worlds(20_000, seed=1, weights="chance")
    counts = [sum(state.tobytes() == other.tobytes() for other in drawn) for state in belief.worlds()[0]]
    assert chisquare(counts, 20_000 * belief.posterior()).pvalue > 1e-4


def test_sequences_that_are_too_many_are_not_told_apart():
    """Of 50 entries, states with their sequences, there is room for the 36 states: then orders of moves count, all alike here."""
    game = Urns()
    turns = [Worlds(game, 0, "chance", cap=cap).turn for cap in (1_000_000, 200, 150)]
    for turn in turns[1:]:
        assert turn.weights.tolist() == turns[0].weights.tolist()
    with pytest.raises(BeliefTooLarge):
        Worlds(game, 0, "chance", cap=30)


@pytest.mark.parametrize("name", ["pimc", "ppp", "pvp", "vmm", "prm"])
def test_worlds_count_what_chance_gives_them(name):
    """Nine red balls of ten: to those who count worlds alike, blue seems the better bet."""
    form = SequenceForm(Urn())
    for options, lost in (("", 0.0), ("(weights=histories)", 0.0), ("(weights=once)", 1.12)):
        found = extract(form.game, name + options, workers=1)
        assert form.evaluate(found.strategy).exploitability == pytest.approx(lost)
    assert form.evaluate(form.uniform()).exploitability == pytest.approx(0.56)


def test_likely_worlds_are_looked_at_first():
    """A priority sample: of 36 worlds some are looked at, and estimates are right on average."""
    game = Urns()
    truth = make_agent("pimc", game)
    truth.begin(game, 0, 1)
    turn = truth.believed.turn
    assert len(turn.states) == 36
    numbers, totals, seen = np.arange(36.0), np.zeros(2), np.zeros(36)
    agent = make_agent("pimc(worlds=5)", game)
    for seed in range(4000):
        agent.begin(game, 0, seed)
        drawn = agent.draw(turn)
        assert len(drawn.order) == 5
        weights = np.maximum(turn.weights[drawn.order], drawn.least[5])
        totals += weights.sum(), weights @ numbers[drawn.order]
        seen[drawn.order] += 1
    assert totals / 4000 == pytest.approx([turn.weights.sum(), turn.weights @ numbers], rel=0.03)
    assert np.corrcoef(seen, turn.weights)[0, 1] > 0.9


class Lopsided(Bush):
    """One of its outcomes has no chance at all."""

    def chance(self, s, a, n):
        return 0.0 if a == 0 else 1.0 / (n - 1)


class Rare(Bush):
    """Offers an action far out of bounds, where trial games do not come."""

    def actions(self, s, out):
        n = 2 + self.draw(s, 4, 2) if s.depth else self.worlds
        for k in range(n):
            out[k] = k
        if s.depth == 3 and s.node % 2 == 1:
            out[n - 1] = 200_000_000
        return n


def test_outcomes_without_a_chance():
    worlds = Worlds(Lopsided(luck=True), 0, "chance")
    assert sorted(worlds.closed_turn.weights) == [0.0, 1.0, 1.0]


def test_rare_faults_are_refused():
    """Actions that no game of this size has would be written past the end of arrays."""
    game = Rare(seed=3)
    game.is_tried = True  # as if trial games had shown nothing
    for name in ("ppp", "vmm"):
        agent = make_agent(name, game)
        agent.begin(game, 0, 0)
        with pytest.raises(GameFault, match="breaks its rules"):
            agent.explain()


def test_what_contradicts_itself_leaves_no_world():
    worlds = Worlds(load("kuhn_poker"), 0).after(Percept(0, 0, 1)).after(Percept(0, 0, 2))
    assert not len(worlds.turn.states)


@pytest.mark.parametrize(("arguments", "words"), [((2,), "viewer is 2"), ((0, "evenly"), "weighs is 'evenly'")])
def test_bad_worlds(arguments, words):
    with pytest.raises(UnseenError, match=words):
        Worlds(load("kuhn_poker"), *arguments)


def test_worlds_are_drawn_evenly():
    """Those that a player looks at in a small Schnapsen, of which there are more than it has time for."""
    game, rng = load("schnapsen(suits=2, ranks=4, hand=2, target=24)"), random.Random(4)
    position = next(p.copy() for p in random_walk(game, rng) if p.player == 0)
    agent = make_agent("pimc(worlds=3)", game)
    counts = np.zeros((3, len(Belief.at(position).worlds()[0])))
    for seed in range(1500):
        agent.begin(game, 0, seed)
        for percept in position.seen(0):
            agent.observe(percept)
        order, seeds, least = agent.draw(agent.believed.turn)
        assert len(set(order.tolist())) == len(set(seeds.tolist())) == 3
        assert (least >= 1.0).all()  # so all of them count alike
        for place, world in enumerate(order):
            counts[place, world] += 1
    assert counts.shape[1] == 10
    for row in counts:
        assert chisquare(row).pvalue > 1e-4


@pytest.mark.parametrize(
    ("spec", "weighs", "cap"), [("schnapsen", "once", 30), ("phantom_ttt", "histories", 50), ("schnapsen", "histories", 30)]
)
def test_a_sample_of_worlds_has_their_weights_on_average(spec, weighs, cap):
    """Where there are too many to list: over many seeds each has the weight that it has in the list."""
    game = load("schnapsen(suits=2, ranks=4, hand=2)") if spec == "schnapsen" else load(spec)
    position = next(p.copy() for p in random_walk(game, random.Random(4)) if p.player == 1 and len(p.history) > 4)
    seen, seeds = position.seen(1), 1500
    exact = Worlds(game, 1, weighs).after_all(seen).turn
    place = {state.tobytes(): k for k, state in enumerate(exact.states)}
    found = np.zeros((seeds, len(place)))
    for seed in range(seeds):
        worlds = Worlds(game, 1, weighs, cap=cap, seed=seed).after_all(seen)
        assert worlds.is_sample
        for state, weight in zip(worlds.turn.states, worlds.turn.weights, strict=True):
            found[seed, place[state.tobytes()]] = weight
    error = (found.mean(axis=0) - exact.weights) / (found.std(axis=0) / np.sqrt(seeds))
    assert np.abs(error).max() < 4.5
    with pytest.raises(BeliefTooLarge):
        Worlds(game, 1, weighs, cap=cap).after_all(seen)
    again = [Worlds(game, 1, weighs, cap=cap, seed=3).after_all(seen).turn.text for _ in range(2)]
    assert again[0] == again[1]


class Digits(Game):
    """Chance draws four digits below twenty; the second player is told nothing at first, and then the first three of them."""

    state = np.dtype([("digits", "i8"), ("steps", "i8")])
    num_actions = 20
    num_outcomes = 20
    max_length = 9

    def start(self, s):
        s.digits = 0
        s.steps = 0

    def player(self, s):
        return CHANCE if s.steps < 5 else 1 if s.steps == 5 else 0 if s.steps < 8 else TERMINAL

    def actions(self, s, out):
        n = 20 if s.steps < 4 else 2
        for k in range(n):
            out[k] = k
        return n

    def apply(self, s, a, tell):
        if s.steps < 4:
            s.digits = 20 * s.digits + a
        elif s.steps == 4:
            tell[1] = 1 + s.digits // 20
        else:
            tell[2] = 1 + a
        s.steps += 1

    def utility(self, s, who):
        return float(s.digits % 2) * (1 - 2 * who)


def test_samples_that_run_dry():
    """160,000 states, of which all but 20 are soon ruled out: what is drawn is possible, and an agent with none left goes on."""
    game = Digits()
    position = Position(game, [3, 1, 4, 1, 0])
    seen, empty, total = position.seen(1), 0, 0.0
    for seed in range(60):
        worlds = Worlds(game, 1, "once", cap=40_000, seed=seed).after_all(seen)
        assert worlds.is_sample
        assert all(state.digits // 20 == 3 * 400 + 1 * 20 + 4 for state in worlds.turn.states)
        empty += not worlds.count
        total += worlds.turn.weights.sum()
    assert 0 < empty < 60
    assert 5.0 < total / 60 < 80.0  # 40 histories fit, as chance has two ways to tell
    agent = make_agent("pimc", game)
    agent.begin(game, 1, 1)
    agent.believed = Worlds(game, 1, cap=40_000, seed=1)
    agent.start = lambda seed: Worlds(game, 1, cap=400, seed=seed)
    for percept in seen:
        agent.observe(percept)
    assert sum(agent.choose([0, 1]).values()) == pytest.approx(1.0)


def test_halving_more_than_once():
    """One percept after which there are far more states than may be kept."""

    class Fan(Digits):
        def apply(self, s, a, tell):
            if s.steps < 4:
                s.digits = 20 * s.digits + a
                tell[1] = 1
            elif s.steps == 4:
                tell[1] = 1
            else:
                tell[2] = 1 + a
            s.steps += 1

    game = Fan()
    seen = Position(game, [3, 1, 4, 1, 0]).seen(1)
    totals = []
    for seed in range(40):
        worlds = Worlds(game, 1, "once", cap=120, seed=seed).after_all(seen)
        assert worlds.is_sample
        assert worlds.count > 0
        assert all(0 <= state.digits < 160_000 and state.steps == 5 for state in worlds.turn.states)
        assert (worlds.turn.weights > 0.0).all()
        totals.append(worlds.turn.weights.sum())
    assert np.mean(totals) == pytest.approx(320_000, rel=0.2)


# Agents ------------------------------------------------------------------------------------------------------------------------


def at_turn(name, position):
    """An agent that has come to its turn at a position."""
    agent = make_agent(name, position.game)
    agent.begin(position.game, position.player, 1)
    for percept in position.seen(position.player):
        agent.observe(percept)
    return agent


def test_figure_3():
    """The first move of O in Phantom Tic-Tac-Toe, to the printed digits."""
    found = at_turn("ppp", Position("phantom_ttt", [4])).explain()
    assert found.worlds == found.looked_at == 9
    for square in range(9):
        where = "centre" if square == 4 else "corner" if square % 2 == 0 else "edge"
        numbers = [found.columns[name][square] for name in ("pp", "ap", "tp")]
        assert np.round(numbers, 3).tolist() == pytest.approx(FIGURE_3[where], abs=1e-12)
        assert round(found.columns["k"][square], 2) == 0.19
    assert found.chances.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert found.as_dict()["actions"][4]["probability"] == 1.0
    assert "O b2" in found.summary


def test_the_paper_is_reproduced(tmp_path, monkeypatch):
    """Table 1 and Figure 3 as they are; the tables about Phantom Tic-Tac-Toe, which take minutes, with XI in its place."""
    monkeypatch.setattr(ppp, "GAME", "xi")
    for module in (ppp, ppp_page):
        monkeypatch.setattr(module, "SCHNAPSEN", [("random", "random", 1.0)])
    said: list[str] = []
    claims = ppp.reproduce(tmp_path, quick=True, say=said.append, workers=1)
    assert [claim.text for claim in claims[:3]] == ["Table 1, XX", "Table 1, XI", "Figure 3"]
    assert all(claim.held for claim in claims[:3])
    assert len(claims) == 15
    page = (tmp_path / "quick.md").read_text()
    for words in (
        "0.7594, 0.0000, 0.9381, 0.1905",
        "## Table 5",
        "readings tried",
        "Other values of k",
        "random - random | 2 deals",
    ):
        assert words in page
    done = len(said)
    assert ppp.reproduce(tmp_path, quick=True, say=said.append, workers=1) == claims
    assert len(said) == done  # nothing is done again


def test_a_general_estimate_of_knowledge_decides_as_the_game_s_own():
    """In Phantom Tic-Tac-Toe: at the openings, and along random games."""
    rng = random.Random(3)
    for _ in range(3):
        for position in random_walk(PhantomTTT(), rng):
            if position.player >= 0 and len(position.history) < 7:
                own, general = (at_turn(f"ppp(knowledge={k})", position).choose(position.actions) for k in ("rule", "belief"))
                assert own == pytest.approx(general)


def test_knowledge_by_beliefs():
    """In Kuhn poker what the opponent was told, its card and a bet or pass, leaves it 2 of 12 states."""
    xs = at_turn("ppp(knowledge=belief)", Position("phantom_ttt", [4])).explain()
    assert 0.1 < xs.columns["k"][0] < 1.0
    kuhn = at_turn("ppp(knowledge=belief)", Position("kuhn_poker", [0, 1])).explain()
    assert kuhn.columns["k"][0] == pytest.approx(1.0 - np.log(2) / np.log(12))


def test_presumed_values_are_presumed_payoffs_in_one_round():
    rng = random.Random(6)
    game = load("schnapsen(suits=2, ranks=4, hand=2, target=24)")
    positions = [p.copy() for p in random_walk(game, rng) if p.player >= 0]
    for position in positions:
        assert at_turn("ppp", position).choose(position.actions) == at_turn("pvp", position).choose(position.actions)


def test_a_match_is_looked_at_to_the_end_of_the_deal():
    """Payoffs are game points for `ppp`, and chances to win the match for `pvp`."""
    game = load("schnapsen(suits=2, ranks=3, hand=1, target=20, match=3)")
    position = next(p.copy() for p in random_walk(game, random.Random(1)) if p.player >= 0)
    payoffs, values = (at_turn(f"{name}(errors=0)", position).explain() for name in ("ppp", "pvp"))
    assert np.abs(values.columns["av"]).max() <= 1.0
    assert np.abs(payoffs.columns["ap"]).max() > np.abs(values.columns["av"]).max()


def test_ways_to_mix():
    presumed, weights = np.array([[1.0, 0.0, np.nan], [-1.0, 0.0, 2.0]]), np.array([1.0, 3.0])
    soft = softmax(presumed, weights, 0.5)
    assert soft == pytest.approx(np.exp(np.array([-0.5, 0.0, 2.0]) / 0.5) / np.exp(np.array([-0.5, 0.0, 2.0]) / 0.5).sum())
    assert near(presumed, weights, 2.0).tolist() == [0.0, 0.5, 0.5]
    assert by_worlds(presumed, weights, 0.0).tolist() == [0.25, 0.0, 0.75]
    pennies = np.array([[1.0, -1.0], [-2.0, 2.0]])
    assert by_regret(pennies, np.ones(2), 0.0) == pytest.approx([0.5, 0.5], abs=0.02)


def test_it_mixes_in_one_seat_only():
    first, second = Position("phantom_ttt"), Position("phantom_ttt", [4])
    names = ["ppp", "ppp(mixing=near, temperature=2, mixes_as=second)"]
    assert at_turn(names[0], first).choose(range(9)) == at_turn(names[1], first).choose(range(9))
    assert at_turn(names[1], second).choose(range(9)) == pytest.approx(dict.fromkeys(range(9), 1 / 9))


def test_what_is_hidden_changes_no_choice():
    """In Phantom Tic-Tac-Toe, too large for the test of all agents (`leaks.py`): two boards that O cannot tell apart."""
    boards = Position("phantom_ttt", [0, 4, 8]), Position("phantom_ttt", [0, 4, 5])
    for name in ("pimc", "ppp", "ppp(knowledge=belief)", "vmm", "prm", "pimc(worlds=2)"):
        one, other = (at_turn(name, board).choose(board.actions) for board in boards)
        assert one == other


def hinted(adviser):
    """What is said to a person who asks for a hint, plays, and leaves."""
    answers, said, kuhn = iter(["h", "0", "q"]), [], load("kuhn_poker")
    you = HumanAgent(lambda _: next(answers, "q"), said.append, adviser, lambda found: said.append(found.summary))
    with contextlib.suppress(Left):
        for seed in range(9):
            referee.play(kuhn, (you, make_agent("random", kuhn)), seed)
    return "\n".join(map(str, said))


def test_hints():
    """What goes wrong with a hint does not cost the game."""
    kuhn = load("kuhn_poker")
    assert {"pass", "bet"} & set(hinted(make_agent("ppp", kuhn)).split())
    assert "pass 0.500" in hinted(make_agent("random", kuhn))
    assert "there is no hint: pimc was made for" in hinted(make_agent("pimc", load("leduc_poker")))
    assert "nobody to ask" in hinted(None)


def test_explanations_need_a_turn():
    agent = make_agent("pimc", load("kuhn_poker"))
    agent.begin(load("kuhn_poker"), 0, 1)
    with pytest.raises(UnseenError, match="it is not its turn"):
        agent.explain()


WRONG = [
    (("match", "goofspiel", "pimc", "random"), "players move in turn"),
    (("match", "kuhn_poker", "pimc(worlds=0)", "random"), "worlds is 0"),
    (("match", "kuhn_poker", "ppp(knowledge=2)", "random"), "knowledge is 2"),
    (("match", "kuhn_poker", "ppp(knowledge=maybe)", "random"), "rule, belief, or a number from 0 to 1"),
    (("extract", "kuhn_poker", "oos(simulations=10)", "--out", "x.strategy"), "draws random numbers"),
    (("extract", "phantom_ttt", "pimc(worlds=3)", "--out", "x.strategy"), "its strategy depends on a seed"),
    (("compare", "kuhn_poker", "random", "random"), "each named once"),
    (("compare", "kuhn_poker", "oos", "random", "--simulations", "10"), "for games that are played"),
    (("extract", "kuhn_poker", "pimc", "--out", "x.strategy", "--resume"), "--resume needs --keep"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, tuple) else None)
def test_bad_input(arguments, words, tmp_path):
    done = run_cli(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


def test_whole_strategies_and_exact_comparisons(tmp_path):
    """From the command line: an extracted strategy is what the agent plays, and exact numbers are those that games tend to."""

    def run(*arguments):
        done = run_cli(*arguments, "--workers", "1", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert run("extract", "leduc_poker", "ppp", "--out", "ppp.strategy")["infosets"] == 936
    found = run("compare", "leduc_poker", "ppp.strategy", "ppp", "random")["pairs"]
    pairs = {(p["first"], p["second"]): p for p in found}
    assert pairs["ppp.strategy", "random"]["mean"] == pytest.approx(pairs["ppp", "random"]["mean"], abs=1e-12)
    assert all(p["win"] + p["draw"] + p["loss"] == pytest.approx(1.0) for p in found)
    for p in run("compare", "leduc_poker", "ppp.strategy", "random", "--games", "2000", "--seed", "3")["pairs"]:
        exact, wide = pairs[p["first"], p["second"]], p["ci"][1] - p["ci"][0]
        assert p["ci"][0] - wide < exact["mean"] < p["ci"][1] + wide
        assert p["win"] == pytest.approx(exact["win"], abs=0.06)


def test_exact_comparison_against_a_walk():
    """Two strategies in Kuhn poker, by walking all histories."""
    found = compare("kuhn_poker", ["pimc", "ppp"], workers=1)
    agents = {name: make_agent(name, load("kuhn_poker")) for name in ("pimc", "ppp")}

    def expected(position, names, of):
        if position.is_terminal:
            return of(position.utilities[0])
        if position.is_chance:
            chances = dict(zip(position.actions, position.chance_probabilities, strict=True))
        else:
            agent = agents[names[position.player]]
            agent.begin(position.game, position.player, 0)
            for percept in position.seen(position.player):
                agent.observe(percept)
            chances = agent.choose(position.actions)
        return sum(p * expected(position.child(a), names, of) for a, p in chances.items())

    for pair in found.pairs:
        names = pair.first, pair.second
        assert pair.mean == pytest.approx(expected(Position("kuhn_poker"), names, float), abs=1e-12)
        assert pair.win == pytest.approx(expected(Position("kuhn_poker"), names, lambda u: float(u > 0)), abs=1e-12)
        assert pair.loss == pytest.approx(expected(Position("kuhn_poker"), names, lambda u: float(u < 0)), abs=1e-12)


def test_an_extraction_that_was_stopped_goes_on(tmp_path, monkeypatch):
    whole, ask, calls = extract("leduc_poker", "pimc", workers=1), Asking.__call__, []

    def interrupted(self, task):
        calls.append(task)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return ask(self, task)

    monkeypatch.setattr(Asking, "__call__", interrupted)
    part = extract("leduc_poker", "pimc", workers=1, save=tmp_path / "kept")
    assert not part.is_complete
    again = extract("leduc_poker", "pimc", workers=1, save=tmp_path / "kept", resume=True)
    assert again.is_complete
    assert len(calls) == 1 + -(-whole.asked // PER_TASK)  # the stopped task was asked twice
    for name in ("keys", "actions", "probability"):
        assert np.array_equal(getattr(again.strategy, name), getattr(whole.strategy, name))


def test_an_agent_that_samples_is_extracted_with_a_seed():
    """It is certain where few worlds fit, but not everywhere: then it is asked at every information set."""
    found = extract("xx", "pimc(worlds=2)", seed=1, workers=1)
    assert found.is_complete
    with pytest.raises(UnseenError, match="depends on a seed"):
        extract("xx", "pimc(worlds=2)", workers=1)


def test_table_5():
    """The exploitability of both agents in Phantom Tic-Tac-Toe, as the paper prints it."""
    form = SequenceForm("phantom_ttt", streamed=True, reduced=True)
    for agent, exploited in (("ppp", 0.3750), ("pimc", 0.5648)):
        found = extract(form.game, agent, workers=1)
        assert found.asked == 5863
        assert round(form.evaluate(found.strategy).exploitability, 4) == exploited


# Schnapsen ---------------------------------------------------------------------------------------------------------------------

RANDOM_PLAY = {
    (2, 3, 1, 20): Fraction(-3, 2), (2, 3, 2, 20): Fraction(17, 180), (2, 3, 2, 12): Fraction(8, 135),
    (2, 3, 1, 6): Fraction(-73, 180), (2, 4, 1, 13): Fraction(-4831, 5040),
}  # fmt: skip
"""What the first player gets if both play at random, by a program that was written apart from this one, from the rules alone."""


@pytest.mark.parametrize(("variant", "payoff"), RANDOM_PLAY.items())
def test_schnapsen_played_at_random(variant, payoff):
    game = Schnapsen(**dict(zip(("suits", "ranks", "hand", "target"), variant, strict=True)))

    def expected(position):
        if position.is_terminal:
            return position.utilities[0]
        n = len(position.actions)
        chances = position.chance_probabilities if position.is_chance else [1 / n] * n
        return sum(p * expected(position.child(a)) for a, p in zip(position.actions, chances, strict=True))

    assert expected(Position(game)) == pytest.approx(float(payoff), abs=1e-9)


def test_a_match_of_schnapsen_goes_on_until_somebody_has_enough():
    game, rng = load("schnapsen(match=7)"), random.Random(1)
    for position in random_walk(game, rng):
        score = position.state.score.tolist()
        if game.between_rounds(position.state):
            assert max(score) < 7
            assert position.state.leads in (0, 1)
    assert max(score) >= 7
    assert position.utilities[int(np.argmax(score))] == 1.0


def test_a_hand_of_schnapsen_is_dealt_evenly():
    """Whatever the order in which its cards come."""
    game = load("schnapsen(suits=2, ranks=4, hand=2)")
    hands: dict[int, float] = {}

    def deal(position, p):
        if game.dealt_to(position.state) != 0:
            hands[int(position.state.cards[0])] = hands.get(int(position.state.cards[0]), 0.0) + p
            return
        for a, chance in zip(position.actions, position.chance_probabilities, strict=True):
            deal(position.child(a), p * chance)

    deal(Position(game), 1.0)
    assert len(hands) == 28
    assert list(hands.values()) == pytest.approx([1 / 28] * 28)


def test_names_of_hands():
    game = Schnapsen()
    position = next(p for p in random_walk(game, random.Random(1)) if p.player >= 0)
    text = position.render(position.player)
    assert "your cards" in text
    assert "lies open under 9 cards" in text
    assert all(any(mark in name for mark in "♠♥♦♣") or name == "close" for name in position.action_names.values())


def test_explanations_name_what_is_legal():
    """Rules that run as plain Python must not be handed the small integers of compiled states."""
    game, rng = load("schnapsen"), random.Random(2)
    for position in random_walk(game, rng):
        if position.player >= 0 and bin(position.state.gone).count("1") > 7:
            found = at_turn("pimc(nodes=1)", position).explain()
            assert found.actions == position.action_names
            assert np.isfinite(found.columns["ap"]).all()

"""The trellis lists exactly the histories that brute force finds, and draws them uniformly."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from helpers import TINY, all_positions
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from unseen import PUBLIC, Belief, BeliefTooLarge, Percept, Position, UnseenError, load
from unseen.belief.belief import count_histories
from unseen.belief.trellis import Trellis, share_by_chance


@pytest.mark.parametrize("spec", TINY)
def test_lists_what_brute_force_finds(spec):
    game = load(spec)
    positions = list(all_positions(game))
    for viewer in (0, 1, PUBLIC):
        groups = defaultdict(list)
        for position in positions:
            groups[position.seen(viewer)].append(position)
        for seen, group in groups.items():
            for to_move in (None, 0, 1):
                want = [p for p in group if to_move in (None, p.player)]
                belief = Belief(game, viewer, seen, to_move)
                assert list(belief.histories()) == sorted(p.history for p in want)
                assert belief.count == len(want)
                worlds, counts = belief.worlds()
                by_state = Counter(tuple(map(str, p.state.values().items())) for p in want)
                assert sorted(counts) == sorted(by_state.values())
                assert len(worlds) == len(by_state)


@pytest.mark.parametrize("spec", TINY[:8])
def test_actions_on_target_are_those_with_a_way_to_the_end(spec):
    game = load(spec)
    positions = list(all_positions(game))
    rng = random.Random(1)
    for target in rng.sample([p for p in positions if p.player >= 0], 2):
        for viewer in (target.player, PUBLIC):
            belief = Belief.at(target, viewer)
            ends = set(belief.histories())
            for position in positions:
                inside = any(position.history[:n] in ends for n in range(len(position.history) + 1))
                want = [
                    a
                    for a in position.actions
                    if inside or any(h[: len(position.history) + 1] == (*position.history, a) for h in ends)
                ]
                assert belief.on_target(position) == want


def test_histories_and_worlds_are_drawn_uniformly():
    game = load("liars_dice(dice1=2, dice2=2, faces=3)")
    position = Position(game, [0, 1, 2, 2, 3, 4])
    belief = Belief.at(position)
    histories = list(belief.histories())
    assert len(histories) == 2 * 9
    drawn = Counter(belief.sample_histories(18_000, seed=3))
    assert set(drawn) == set(histories)
    assert chisquare([drawn[h] for h in histories]).pvalue > 1e-3
    worlds, counts = belief.worlds()
    assert len(worlds) == 6
    assert sorted(counts) == [2, 2, 2, 4, 4, 4]
    drawn = Counter(w.tobytes() for w in belief.sample_worlds(6_000, seed=4))
    assert chisquare([drawn[w.tobytes()] for w in worlds]).pvalue > 1e-3
    assert belief.sample_histories(5, seed=9) == belief.sample_histories(5, seed=9)
    # Two different dice come in two orders.
    posterior = belief.posterior()
    assert posterior == pytest.approx(np.array(counts) / 18)
    drawn = Counter(w.tobytes() for w in belief.sample_worlds(6_000, seed=4, weights="chance"))
    assert chisquare([drawn[w.tobytes()] for w in worlds], 6_000 * posterior).pvalue > 1e-3
    for sample in (belief.sample_histories, belief.sample_worlds):
        with pytest.raises(UnseenError, match="weights is 'luck', but must be one of once, chance"):
            sample(1, weights="luck")


@pytest.mark.parametrize("spec", TINY)
def test_the_posterior_is_that_of_chance(spec):
    """Brute force: for each world the sequences of chance outcomes that lead to it, each once, by their probability."""
    game = load(spec)
    groups = defaultdict(list)
    for position in all_positions(game):
        if position.player >= 0:
            groups[position.player, position.seen(position.player)].append(position)
    for (player, seen), group in groups.items():
        likely: dict[bytes, dict[tuple[int, ...], float]] = defaultdict(dict)
        for position in group:
            chance, outcomes, before = 1.0, [], Position(game)
            for action in position.history:
                if before.is_chance:
                    chance *= before.chance_probabilities[before.actions.index(action)]
                    outcomes.append(action)
                before.apply(action)
            state = game.new_states(1)
            position.state.write(state)
            likely[state.tobytes()][tuple(outcomes)] = chance
        total = sum(p for each in likely.values() for p in each.values())
        belief = Belief(game, player, seen, player)
        found = {state.tobytes(): p for state, p in zip(belief.worlds()[0], belief.posterior(), strict=True)}
        assert found == pytest.approx({state: sum(each.values()) / total for state, each in likely.items()})


def test_long_games_have_shares_in_numbers_of_any_size():
    """A ladder of 2,000 steps: each edge of two is taken by its share, however small the probability of the whole way is."""
    n = 2000
    first = np.append(np.arange(0, 2 * (n - 1) + 1, 2), 2 * (n - 1))
    child, chances = np.repeat(np.arange(1, n), 2), np.tile([1e-3, 3e-3], n - 1)
    ends = np.zeros(n, np.bool_)
    ends[-1] = True
    shares = np.zeros(len(child))
    share_by_chance(first, child, ends, chances, np.zeros(n), np.zeros(n, np.int64), shares)
    assert shares == pytest.approx(np.tile([0.25, 0.75], n - 1))
    share_by_chance(first, child, ends, np.ones(len(child)), np.zeros(n), np.zeros(n, np.int64), shares)
    assert (shares == 0.5).all()


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(("leduc_poker", "liars_dice", "kuhn_poker(cards=20)")), st.integers(0, 10**6))
def test_drawn_histories_reproduce_what_was_seen(spec, seed):
    rng = random.Random(seed)
    position = Position(load(spec))
    while not position.is_terminal and (position.player < 0 or rng.random() < 0.8):
        position.apply(rng.choice(position.actions))
    for viewer in (0, 1, PUBLIC):
        belief = Belief.at(position, viewer)
        assert belief.count > 0
        for history in belief.sample_histories(3, seed):
            assert Position(position.game, history).seen(viewer) == position.seen(viewer)


@pytest.mark.parametrize("viewer", [0, 1, PUBLIC])
def test_without_a_trellis_every_walk_has_a_known_probability(viewer):
    game = load("liars_dice(dice1=1, dice2=2, faces=2)")
    target = Position(game, [0, 1, 1, 2, 3])
    to_move = viewer if target.player == viewer else None
    exact, capped = (Belief(game, viewer, target.seen(viewer), to_move, cap) for cap in (1000, 1))
    assert exact.exact
    assert not capped.exact
    for ask in (lambda: capped.count, lambda: list(capped.histories()), capped.worlds, lambda: capped.sample_histories(1)):
        with pytest.raises(BeliefTooLarge, match="raise the cap"):
            ask()
    reached, stuck = {}, 0.0
    todo = [(Position(game), 1.0)]
    while todo:
        position, p = todo.pop()
        if capped._is_end(position):
            reached[position.history] = p
            continue
        moves = capped.on_target(position)
        stuck += 0.0 if moves else p
        todo += [(position.child(a), p / len(moves)) for a in moves]
    assert sum(reached.values()) + stuck == pytest.approx(1.0, abs=1e-12)
    first_ends = {h for h in exact.histories() if not any(h[:n] in reached for n in range(len(h)))}
    assert set(reached) == first_ends
    rng = random.Random(0)
    for _ in range(20):
        history, p, fits = capped.try_history(rng)
        assert p == pytest.approx(reached[history]) if fits else history not in reached
        assert exact.try_history(rng)[2], "with a trellis no walk gets stuck"


def test_past_the_target_every_action_is_on_it():
    target = Position(load("kuhn_poker"), [0, 1])
    for cap in (1000, 1):
        belief = Belief.at(target, cap=cap)
        assert belief.exact == (cap > 1)
        for position in (target, target.child(0), Position(target.game, [0, 2, 1])):
            assert belief.on_target(position) == [0, 1]


def test_counts_beyond_64_bits_are_exact():
    n = 200  # a ladder of nodes with two edges to the next: 2^199 ways
    first = np.append(np.arange(0, 2 * (n - 1) + 1, 2), 2 * (n - 1))
    child = np.repeat(np.arange(1, n), 2)
    ends = np.zeros(n, np.bool_)
    ends[-1] = True
    blank = np.zeros(n, np.int64)
    ways, completions = count_histories(Trellis(blank, blank, ends, first, child * 0, child))
    assert ways[-1] == completions[0] == 2 ** (n - 1)


def test_what_nobody_can_have_seen():
    belief = Belief(load("kuhn_poker"), 0, [Percept(0, 0, 99)])
    assert belief.count == 0
    assert list(belief.histories()) == []
    assert belief.on_target(Position(belief.game)) == []
    with pytest.raises(UnseenError, match="nothing to draw from"):
        belief.sample_histories(1)
    with pytest.raises(UnseenError, match="viewer is 7"):
        Belief(load("kuhn_poker"), 7, [])


def test_large_beliefs_grow_their_tables():
    game = load("kuhn_poker(cards=300)")
    belief = Belief(game, PUBLIC, Position(game, [0, 1, 0]).seen(PUBLIC))
    assert belief.count == 300 * 299
    assert not Belief(game, PUBLIC, Position(game, [0, 1, 0]).seen(PUBLIC), cap=10_000).exact

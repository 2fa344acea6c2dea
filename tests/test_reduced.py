"""Reduced forms: settled endings, mirror images and bundles leave values, best responses and regrets as they are."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import unseen
from unseen import CHANCE, TERMINAL, Game, SequenceForm, UnseenError, parameter
from unseen.games.phantom_ttt import FINAL, OPEN, PhantomTTT, has_line
from unseen.testing import check_game, find_faults

SMALL = ("kuhn_poker", "leduc_poker", "ii_goofspiel", "liars_dice(dice1=1, dice2=2, faces=2)", "wl_goofspiel(cards=3)",
         "coordination", "oshi_zumo(coins=4)", "blotto(soldiers=4)")  # fmt: skip


class Endgame(PhantomTTT):
    """Phantom tic-tac-toe from the fifth mark on."""

    def start(self, s):
        s.marks[0], s.marks[1] = 0b000010001, 0b100000010
        s.bumped[0], s.bumped[1] = 0, 0
        s.turn = 0
        s.winner = -1

    def symmetries(self):
        return [list(range(9))]


class Centre(PhantomTTT):
    """Phantom tic-tac-toe after a first mark in the centre that both know, up to the fifth, with payoffs that squares decide."""

    def start(self, s):
        s.marks[0], s.marks[1] = 0b000010000, 0
        s.bumped[0], s.bumped[1] = 0, 0b000010000
        s.turn = 1
        s.winner = -1

    def player(self, s):
        marks = 0
        for square in range(9):
            marks += (s.marks[0] | s.marks[1]) >> square & 1
        return TERMINAL if marks >= 5 else s.turn

    def utility(self, s, who):
        corners = 0o505 & s.marks[0]
        total = 0.0
        for square in range(9):
            total += corners >> square & 1
        for edge in (0o007, 0o700, 0o111, 0o444):
            total -= 0.3 if s.marks[1] & edge == 0 else 0.0
        return total if who == 0 else -total

    def settled(self, s):
        return False


def assert_same(one, other, strategy):
    a, b = one.evaluate(strategy), other.evaluate(strategy)
    assert a.best_response == pytest.approx(b.best_response, abs=1e-12)
    assert a.value == pytest.approx(b.value, abs=1e-12)


@pytest.mark.parametrize("spec", SMALL)
def test_bundles_change_nothing(spec):
    whole, reduced = SequenceForm(spec), SequenceForm(spec, reduced=True)
    knows_endings = type(whole.game).settled is not Game.settled
    assert (min(whole.infosets) > max(reduced.infosets)) if knows_endings else (reduced.infosets == whole.infosets)
    for strategy in (whole.uniform(), whole.random(1), whole.best_response(0, whole.random(2))[1]):
        assert_same(whole, reduced, strategy)


@pytest.mark.parametrize("options", [{"streamed": True}, {"reduced": True}, {"streamed": True, "reduced": True}])
def test_settled_endings_change_nothing(options):
    whole, shorter = SequenceForm(Endgame()), SequenceForm(Endgame(), **options)
    assert shorter.histories < whole.histories / 5
    for seed in (1, 2):
        assert_same(whole, shorter, whole.random(seed))
    a, b = (unseen.solve(Endgame(), "dcfr", iterations=25, form=form).last for form in (whole, shorter))
    assert a.best_response == pytest.approx(b.best_response, abs=1e-9)


@pytest.mark.parametrize("streamed", [False, True])
def test_mirror_images_change_nothing(streamed):
    game = Centre()
    check_game(game, seconds=0)
    whole, reduced = SequenceForm(game), SequenceForm(game, streamed=streamed, reduced=True)
    assert 7.5 < whole.histories / reduced.histories <= 8.0
    for seed in (1, 2, 3):
        strategy = reduced.random(seed)
        assert sorted(strategy.keys) == sorted(np.concatenate([tree.keys for tree in whole.players]))
        assert_same(whole, reduced, strategy)
        again = reduced.strategy(*reduced.behaviours(strategy)[:2])
        np.testing.assert_allclose(again.probability, strategy.probability, atol=1e-15)
    solved = unseen.solve(game, "dcfr", iterations=200, form=reduced)
    assert whole.evaluate(solved.strategy).exploitability == pytest.approx(solved.last.exploitability, abs=1e-12)
    assert solved.last.exploitability < 1e-4
    with pytest.raises(UnseenError, match="does not respect the game's symmetries"):
        reduced.evaluate(whole.random(1))


class Luck(Game):
    """Three boxes that are all alike: the first player hides something, chance says how much it is worth, the other looks twice."""

    state = np.dtype([("moves", "i1"), ("box", "i1"), ("worth", "i1"), ("found", "i1"), ("last", "i1")])
    num_actions, num_outcomes, max_length = 3, 2, 4
    uneven: bool = parameter(False, help="whether chance knows one box from another, so that they are not alike")

    def start(self, s):
        s.moves, s.box, s.worth, s.found, s.last = 0, 0, 0, 0, -1

    def player(self, s):
        return TERMINAL if s.moves == 4 else CHANCE if s.moves == 1 else 0 if s.moves == 0 else 1

    def actions(self, s, out):
        n = 2 if s.moves == 1 else 3
        for k in range(n):
            out[k] = k
        return n

    def chance(self, s, a, n):
        likely = 0.6 if self.uneven and s.box == 2 else 0.3
        return likely if a == 1 else 1.0 - likely

    def apply(self, s, a, tell):
        if s.moves == 0:
            s.box = a
        elif s.moves == 1:
            s.worth = 1 + a
            tell[0] = 1 + a
        else:
            s.found += a == s.box and a != s.last
            s.last = a
            tell[1] = 1 + (a == s.box)
        s.moves += 1

    def utility(self, s, who):
        payoff = s.worth * (1.0 - 2.0 * s.found)
        return payoff if who == 0 else -payoff

    def symmetries(self):
        return [list(image) for image in permutations(range(3))]


@pytest.mark.parametrize("streamed", [False, True])
def test_mirror_images_of_games_with_chance(streamed):
    check_game(Luck(), seconds=0)
    whole, reduced = SequenceForm(Luck()), SequenceForm(Luck(), streamed=streamed, reduced=True)
    for seed in (1, 2, 3):
        assert_same(whole, reduced, reduced.random(seed))
    equilibrium = unseen.solve_exactly(whole).value
    solved = unseen.solve(Luck(), "dcfr", iterations=500, form=reduced)
    assert whole.evaluate(solved.strategy).value == pytest.approx(equilibrium, abs=1e-3)
    faults = find_faults(Luck(uneven=True), seconds=0).faults
    assert ["chance has other probabilities" in str(fault) for fault in faults] == [True]


def test_a_game_without_decisions_can_be_reduced():
    class Nothing(Luck):
        def player(self, s):
            return TERMINAL

        def utility(self, s, who):
            return 0.0

    assert SequenceForm(Nothing(), reduced=True).evaluate(SequenceForm(Nothing()).uniform()).exploitability == 0.0


def test_the_table_of_final_payoffs():
    """Against a search of all ways to finish, from boards that can come up."""

    def outcomes(x, o):
        if has_line(x) or has_line(o):
            return {1 if has_line(x) else -1}
        free = [1 << k for k in range(9) if not (x | o) >> k & 1]
        if not free:
            return {0}
        x_moves = x.bit_count() == o.bit_count()
        return set().union(*(outcomes(x | f, o) if x_moves else outcomes(x, o | f) for f in free))

    rng = np.random.default_rng(0)
    for _ in range(300):
        order = rng.permutation(9)[: rng.integers(3, 10)]
        x, o = (int(sum(1 << k for k in order[first::2])) for first in (0, 1))
        if not has_line(x) or not has_line(o):
            found = outcomes(x, o)
            assert FINAL[x, o] == (found.pop() if len(found) == 1 else OPEN)


def test_symmetries_must_be_a_group():
    class Wrong(Centre):
        def symmetries(self):
            return [list(range(9)), [1, 2, 3, 4, 5, 6, 7, 8, 0]]

    with pytest.raises(UnseenError, match="is not a group of renamings"):
        SequenceForm(Wrong(), reduced=True)

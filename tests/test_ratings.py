"""Ratings and sequential tests on simulated results, whose truth is known."""

from __future__ import annotations

import choix
import numpy as np
import pytest
from scipy.optimize import minimize

from unseen.arena.intervals import payoff_margin, plus_minus, signed
from unseen.arena.ratings import PER_UNIT, rate, rate_payoffs
from unseen.arena.sprt import BOUND, ERROR, SCORES, SPRT, constrained
from unseen.errors import UnseenError

NAMES = list("abcdef")
STRENGTH = np.array([0.0, 50.0, -80.0, 120.0, 200.0, -290.0])


def results(rng, games, advantage=0.0, drawn=-np.inf, strength=STRENGTH):
    """Games between random pairs: who moves first, who second, and 1, 0 or -1."""
    first = rng.integers(len(strength), size=games)
    second = (first + rng.integers(1, len(strength), size=games)) % len(strength)
    apart = (strength[first] - strength[second] + advantage) / PER_UNIT
    weights = np.exp(np.stack([-apart / 2, np.full(games, drawn), apart / 2]))
    chances = np.cumsum(weights / weights.sum(axis=0), axis=0)
    return first, second, (rng.random(games) > chances[:2]).sum(axis=0) - 1


def test_ratings_are_those_of_another_library():
    """Without draws and seats."""
    first, second, score = results(np.random.default_rng(1), 2000)
    won = [(a, b) if x > 0 else (b, a) for a, b, x in zip(first, second, score, strict=True)]
    theirs = choix.ilsr_pairwise(6, won, max_iter=10_000, tol=1e-12)
    assert rate(NAMES, first, second, score, seats=False).rating / PER_UNIT == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_intervals_cover_the_truth():
    """Of ratings, and of the advantage of the first seat: in 90 to 99% of 500 tournaments of 2,000 games."""
    rng, inside, seat = np.random.default_rng(2), [], []
    for _ in range(500):
        found = rate(NAMES, *results(rng, 2000, advantage=40.0, drawn=-0.3))
        truth = STRENGTH - STRENGTH.mean()
        inside.append((found.low < truth) & (truth < found.high))
        seat.append(abs(found.advantage - 40.0) < 1.96 * found.advantage_error)
    assert np.mean(inside, axis=0).min() >= 0.90
    assert np.mean(inside, axis=0).max() <= 0.99
    assert 0.90 <= np.mean(seat) <= 0.99


def test_intervals_of_games_that_come_in_pairs():
    """Two games with the same result are one: with groups the interval is wider by the root of two, and covers."""
    rng, wide, narrow = np.random.default_rng(3), [], []
    truth = STRENGTH - STRENGTH.mean()
    for _ in range(200):
        first, second, score = (np.repeat(x, 2) for x in results(rng, 1000))
        grouped = rate(NAMES, first, second, score, groups=np.arange(2000) // 2)
        alone = rate(NAMES, first, second, score)
        assert grouped.error == pytest.approx(np.sqrt(2.0) * alone.error, rel=2e-2)  # but for what the prior adds
        wide.append((grouped.low < truth) & (truth < grouped.high))
        narrow.append((alone.low < truth) & (truth < alone.high))
    assert 0.90 <= np.mean(wide) <= 0.99
    assert np.mean(narrow) < 0.90


PAIRS = np.array([(1, -1), (-1, 1), (0, 0), (1, 1), (-1, -1), (1, 0)])
"""What both games of a pair can be for the first agent: split in three ways, won, lost, half won."""
MOSTLY_SPLIT = {
    "equal agents": [[0.45, 0.45, 0, 0.05, 0.05, 0]],
    "one wins 60% of the rest": [[0.45, 0.45, 0, 0.06, 0.04, 0]],
    "one wins all of the rest": [[0.45, 0.45, 0, 0.1, 0, 0]],
    "half of the split pairs are drawn": [[0.225, 0.225, 0.45, 0.07, 0.03, 0]],
    "all of the split pairs are drawn": [[0, 0, 0.9, 0.06, 0.04, 0]],
    "one wins a game and draws the other": [[0.45, 0.45, 0, 0, 0, 0.1]],
    "moving first wins": [[0.8, 0.1, 0, 0.06, 0.04, 0]],
    "three agents": [[0.45, 0.45, 0, 0.08, 0.02, 0], [0.45, 0.45, 0, 0.1, 0, 0], [0.4, 0.4, 0.1, 0.05, 0.05, 0]],
}  # fmt: skip
"""How likely each of these is in each match-up."""


def round_robin(counts):
    """Names, who moves first and second, scores, and numbers of pairs, of games with `counts`, (m, 6), of `PAIRS`."""
    n = {1: 2, 3: 3}[len(counts)]
    first, second = (np.repeat(side, np.sum(counts, axis=1)) for side in np.triu_indices(n, 1))
    score = np.concatenate([np.repeat(PAIRS, each, axis=0) for each in counts]) * [1, -1]
    seats = np.stack([first, second], axis=1)
    return NAMES[:n], seats.ravel(), seats[:, ::-1].ravel(), score.ravel(), np.arange(len(first)).repeat(2)


@pytest.mark.parametrize("chances", MOSTLY_SPLIT.values(), ids=MOSTLY_SPLIT.keys())
def test_intervals_of_few_pairs_most_of_which_are_split(chances):
    """20 pairs for any two agents, 90% of them split: at least 93% of 1,000 tournaments, and none says that it knows exactly."""
    rng = np.random.default_rng(7)
    truth = rate(*round_robin(np.rint(np.array(chances) * 1000).astype(int))[:4]).rating
    drawn = np.stack([rng.multinomial(20, each, size=1000) for each in chances], axis=1)
    inside, times = [], []
    for counts, many in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True):  # each result once
        *games, pairs = round_robin(counts)
        found = rate(*games, groups=pairs)
        inside.append((found.low < truth) & (truth < found.high))
        times.append(many)
        assert found.half.min() > 1.0
        assert found.advantage_error > 1.0
    assert (np.array(times) @ np.array(inside) / 1000).min() >= 0.93


def test_an_anchor():
    first, second, score = results(np.random.default_rng(4), 500)
    free, tied = rate(NAMES, first, second, score), rate(NAMES, first, second, score, anchor=("c", 1500.0))
    assert tied.rating - 1500.0 == pytest.approx(free.rating - free.rating[2])
    assert tied.error[2] == pytest.approx(0.0, abs=1e-6)
    assert tied.superiority == pytest.approx(free.superiority, abs=1e-9)
    assert tied.superiority + tied.superiority.T == pytest.approx(np.ones((6, 6)))


@pytest.mark.parametrize("score", [[1, 1, 1, 1], [0, 0, 0, 0], [1, -1, 1, -1]])
def test_ratings_without_end_are_held_back(score):
    found = rate(["a", "b"], [0, 0, 1, 1], [1, 1, 0, 0], np.array(score) * [1, 1, -1, -1])
    assert np.isfinite(found.rating).all()
    assert found.is_held == (-1 not in score)
    assert np.sign(np.round(found.rating[0], 6)) == np.sign(sum(score))


# Where some games pay more than others -------------------------------------------------------------------------------------------

STAKES = np.array([(1, -1), (-1, 1), (2, -2), (2, 1), (-1, -1), (4, 4), (-3, 1)])
"""What both games of a pair can pay the agent of the lower number."""


def test_a_rating_by_payoffs_is_the_mean_payoff_against_each_opponent():
    """Opponents count alike, however many games there were against them."""
    first, second = [0, 1, 0, 1, 0, 2, 1, 2], [1, 0, 1, 0, 2, 0, 2, 1]
    payoff = np.array([3.0, -1.0, 2.0, 2.0, -5.0, 1.0, 1.0, 0.0])
    found = rate_payoffs(NAMES[:3], first, second, payoff, groups=np.arange(8) // 2)
    a, b, c = (3 + 1 + 2 - 2) / 4, (-5 - 1) / 2, (1 - 0) / 2
    assert found.rating == pytest.approx([(a + b) / 2, (c - a) / 2, (-b - c) / 2])
    assert found.advantage == pytest.approx(((3 - 1 + 2 + 2) / 4 + (-5 + 1) / 2 + 1 / 2) / 3)
    assert list(found.games) == [6, 6, 4]
    tied = rate_payoffs(NAMES[:3], first, second, payoff, groups=np.arange(8) // 2, anchor=("b", 10.0))
    assert tied.rating == pytest.approx(found.rating - found.rating[1] + 10.0)
    assert tied.half[1] == 0.0
    assert tied.superiority == pytest.approx(found.superiority)
    assert (tied.text(1), found.text(0)) == ("+10.000 (anchor)", f"-1.000 ± {found.half[0]:.3f}")


@pytest.mark.parametrize("pairs", [2, 5, 20])
@pytest.mark.parametrize("split", [0.3, 0.9, 1.0])
def test_intervals_of_payoffs(pairs, split):
    """Of three agents: at least 93% of 1,000 tournaments, and none says that it knows exactly."""
    rng, inside = np.random.default_rng(8), []
    rest = np.array([[4, 3, 1, 2], [2, 3, 3, 2], [1, 3, 0, 6]]) / 10
    chances = np.column_stack([np.full((3, 3), split / 3), (1 - split) * rest])
    worth = chances @ STAKES.mean(axis=1)
    truth = np.array([worth[0] + worth[1], worth[2] - worth[0], -worth[1] - worth[2]]) / 2
    lower, higher = (np.repeat(side, pairs) for side in np.triu_indices(3, 1))
    first, second = np.stack([lower, higher], axis=1).ravel(), np.stack([higher, lower], axis=1).ravel()
    for _ in range(1000):
        drawn = (rng.random((3, pairs, 1)) > chances.cumsum(axis=1)[:, None, :-1]).sum(axis=2).ravel()
        found = rate_payoffs(NAMES[:3], first, second, (STAKES[drawn] * [1, -1]).ravel(), groups=np.arange(len(first)) // 2)
        inside.append((found.low < truth) & (truth < found.high))
        assert found.half.min() > 0.0
        assert found.advantage_error > 0.0
    assert np.mean(inside, axis=0).min() >= 0.93


def test_nothing_is_known_exactly():
    """Games that all paid the same have an interval, and so has one pair."""
    always = rate_payoffs(["a", "b"], [0, 1] * 20, [1, 0] * 20, [3.0, -3.0] * 20, groups=np.arange(40) // 2)
    assert always.rating == pytest.approx([3.0, -3.0])
    assert 0.1 < always.half[0] < 1.0
    assert rate_payoffs(["a", "b"], [0, 1], [1, 0], [0.0, 0.0], groups=[0, 0]).half[0] > 0.5
    assert payoff_margin([2.0] * 20, 2.0) > 0.1
    assert np.isinf(payoff_margin([2.0], 2.0))


def test_numbers_are_shown_with_a_sign_and_an_interval_that_is_not_zero():
    assert signed(-0.2, 12.3, 0) == "+0 ± 12"
    assert signed(12.34, 0.04, 0) == "+12.34 ± 0.04"
    assert signed(-0.0004, np.inf, 3) == "+0.000"
    assert plus_minus(-0.0, 0.1) == "0 ± 0.1 (95%)"


def test_what_cannot_be_rated():
    with pytest.raises(UnseenError, match="at least two agents and one game"):
        rate(["a", "b"], [], [], [])
    with pytest.raises(UnseenError, match="the anchor is 'z'"):
        rate(["a", "b"], [0], [1], [1], anchor=("z", 0.0))


# Sequential tests ----------------------------------------------------------------------------------------------------------------


def test_the_likeliest_distribution_with_a_mean():
    share = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    ours = constrained(share, 0.55)
    limits = [{"type": "eq", "fun": lambda p: p.sum() - 1.0}, {"type": "eq", "fun": lambda p: p @ SCORES - 0.55}]
    theirs = minimize(lambda p: -share @ np.log(p), share, constraints=limits, bounds=[(1e-6, 1.0)] * 5, tol=1e-12)
    assert ours == pytest.approx(theirs.x, abs=1e-5)
    assert ours.sum() == pytest.approx(1.0)
    assert ours @ SCORES == pytest.approx(0.55)


@pytest.mark.parametrize("truth", [0.0, 60.0])
def test_error_rates(truth):
    """Simulated pairs with draws, whose games depend on each other: the wrong end is taken about as often as designed."""
    rng, wrong, runs, test = np.random.default_rng(5), 0, 400, SPRT(0.0, 60.0)
    start = np.array([0.12, 0.18, 0.4, 0.18, 0.12])
    chances = constrained(start, 1.0 / (1.0 + 10.0 ** (-truth / 400.0)))
    for _ in range(runs):
        counts = np.zeros(5, np.int64)
        while (accepted := SPRT(test.least, test.most, tuple(counts)).accepted) is None:
            counts += rng.multinomial(4, chances)
        wrong += accepted != truth
    assert wrong / runs < ERROR + 3.0 * np.sqrt(ERROR * (1.0 - ERROR) / runs)
    assert wrong > 0  # it is a test, not an oracle


def test_counting_pairs():
    found = SPRT(0.0, 10.0).after([1, 1, 0.5, 0, 0, 0, 1, 0, 1])
    assert found.pairs == (1, 1, 1, 0, 1)
    assert SPRT(0.0, 10.0).ratio == 0.0
    assert SPRT(0.0, 100.0, (0, 0, 10, 0, 200)).accepted == 100.0
    assert SPRT(0.0, 100.0, (200, 0, 10, 0, 0)).accepted == 0.0
    assert abs(found.ratio) < BOUND
    assert "open between +0 and +10" in str(found)


@pytest.mark.parametrize("text", ["10", "10,0", "a,b", "0,nan", "0,9999"])
def test_wrong_questions(text):
    with pytest.raises(UnseenError, match="sprt is"):
        SPRT.parse(text)

"""Ratings and sequential tests on simulated results, whose truth is known."""

from __future__ import annotations

import choix
import numpy as np
import pytest
from scipy.optimize import minimize

from unseen.arena.ratings import PER_UNIT, rate
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
        assert grouped.error == pytest.approx(np.sqrt(2.0) * alone.error, rel=1e-2)
        wide.append((grouped.low < truth) & (truth < grouped.high))
        narrow.append((alone.low < truth) & (truth < alone.high))
    assert 0.90 <= np.mean(wide) <= 0.99
    assert np.mean(narrow) < 0.90


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

"""Open games of simultaneous moves, state by state: against the linear program, by count, and through files."""

from __future__ import annotations

import hashlib
import json
from math import comb, factorial

import numpy as np
import pytest
from helpers import run_cli
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import unseen
from unseen import Game, GameFault, Position, UnseenError, Values, backward_induction, load, parameter
from unseen.compiling import kernel
from unseen.compiling.memory import CLAIMED
from unseen.game import CHANCE, PUBLIC, TERMINAL
from unseen.games.goofspiel import Goofspiel
from unseen.run.progress import InterruptsHeld
from unseen.stacked import job
from unseen.stacked.openness import what_is_hidden
from unseen.stacked.simplex import new_simplex, solve_matrix
from unseen.stacked.table import folding, refolded, whole_bytes
from unseen.testing import find_faults

PD3, PD4, PD5 = (f"goofspiel(cards={n}, payoff=point_difference)" for n in (3, 4, 5))
WL3, WL4, WL6 = (f"goofspiel(cards={n})" for n in (3, 4, 6))


# One matrix game ------------------------------------------------------------------------------------------------------------


@kernel
def solve_one(payoff, n, m, simplex):
    return solve_matrix(payoff, m, n, m, simplex)


def by_program(payoff):
    """The value of a matrix game by HiGHS: the most v such that the mix x gets at least v against every column."""
    n, m = payoff.shape
    found = linprog(
        [*np.zeros(n), -1.0], A_ub=np.column_stack([-payoff.T, np.ones(m)]), b_ub=np.zeros(m), A_eq=[[1.0] * n + [0.0]], b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )  # fmt: skip
    return -found.fun


def nearly_tied(rng):
    """A matrix with rows and columns that are equal but for a little."""
    n = rng.integers(2, 10)
    payoff = rng.integers(-6, 7, (n, n)) + rng.integers(-3, 4, (n, n)) * 10.0 ** -rng.integers(6, 11)
    i, j = rng.integers(0, n, 2)
    payoff[i], payoff[:, j] = payoff[j], payoff[:, i]
    return payoff + rng.integers(-1, 2, (n, n)) * 10.0 ** -rng.integers(7, 10)


def test_matrices_with_rows_that_are_nearly_equal():
    """A pivot on what is nearly nothing would leave whole points open."""
    rng, simplex, worst = np.random.default_rng(5), new_simplex(9), []
    for _ in range(20_000):
        payoff = nearly_tied(rng)
        worst.append(solve_one(payoff.ravel(), len(payoff), len(payoff), simplex)[1])
    assert np.mean(np.array(worst) > 1e-10) < 1e-3
    assert max(worst) < 1e-8


def check_matrix(payoff):
    n, m = payoff.shape
    simplex = new_simplex(max(n, m))
    value, gap = solve_one(payoff.ravel().astype(float), n, m, simplex)
    x, y = simplex.row_mix[:n], simplex.column_mix[:m]
    scale = max(1.0, np.abs(payoff).max())
    assert gap <= 1e-9 * scale
    assert min(x.min(), y.min()) >= 0.0
    assert x.sum() == pytest.approx(1.0)
    assert y.sum() == pytest.approx(1.0)
    assert (x @ payoff).min() >= value - 1e-9 * scale
    assert (payoff @ y).max() <= value + 1e-9 * scale


@settings(max_examples=300, deadline=None)
@given(st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(-3, 3))))
def test_matrix_games_with_ties_are_solved(payoff):
    check_matrix(payoff)


def test_matrix_games_of_all_sizes_are_solved():
    rng = np.random.default_rng(1)
    for n, m in [(1, 7), (7, 1), (2, 2), (3, 4), (4, 3), (7, 8), (8, 8), (11, 12), (12, 12), (16, 15), (40, 30)]:
        payoff = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4)
        check_matrix(payoff)
        value, _ = solve_one(payoff.ravel(), n, m, new_simplex(max(n, m)))
        assert value == pytest.approx(by_program(payoff), rel=1e-7)
        check_matrix(payoff - payoff.T if n == m else np.ones((n, m)))
        check_matrix(np.round(payoff))
        check_matrix(payoff + 1e-9 * rng.normal(size=(n, m)))


def test_a_game_in_which_the_simplex_method_can_cycle():
    """Beale's example as a part of a matrix game: many ties, and tiny numbers beside large ones."""
    payoff = np.array([[0.25, -8.0, -1.0, 9.0, 0.0], [0.5, -12.0, -0.5, 3.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0] * 5])
    check_matrix(payoff)
    check_matrix(np.tile(payoff, (3, 3)))
    check_matrix(np.diag([1e-6, 1.0, 1e3, 1.0]))


# Whole games ----------------------------------------------------------------------------------------------------------------


class Later(Goofspiel):
    """Goofspiel that begins after some moves: the digits of `opening` to the base 8 are 1 + each move, the last one first."""

    opening: int = parameter(0, minimum=0)
    state = np.dtype([*((n, Goofspiel.state[n]) for n in Goofspiel.state.names), ("told", "i8", (3,))])

    def start(self, s):
        full = (1 << self.cards) - 1
        s.hand[0] = full
        s.hand[1] = full
        s.prizes = full
        s.prize = -1
        s.bid = -1
        s.lead = 0
        left = self.opening
        while left > 0:
            self.apply(s, (left & 7) - 1, s.told)
            left >>= 3
        for who in range(3):
            s.told[who] = 0

    def render(self, s, who):
        return None


def joint_positions(game):
    """A position of each state at which both choose or chance turns up a prize."""
    stack, seen = [Position(game)], {}
    while stack:
        position = stack.pop()
        key = str(position.state)
        if position.is_terminal or key in seen:
            continue
        if position.player != 1:
            seen[key] = position
        stack += [position.child(a) for a in position.actions]
    return list(seen.values())


@pytest.mark.parametrize("spec", [PD3, WL3, PD4, WL4])
def test_values_are_those_of_the_linear_program_at_every_state(spec):
    game = load(spec)
    values = backward_induction(game, workers=1)
    positions = joint_positions(game)
    assert len(positions) > 60
    few = positions if game.cards == 3 else positions[:: max(1, len(positions) // 25)]
    for position in few:
        opening = sum((a + 1) << 3 * k for k, a in enumerate(position.history))
        later = Later(cards=game.cards, payoff=game.settings["payoff"], opening=opening)
        assert values.at(position).value == pytest.approx(unseen.solve_exactly(later).value, abs=1e-9), position


@pytest.mark.parametrize(
    "spec",
    ["oshi_zumo(coins=4, size=1)", "oshi_zumo(coins=6)", "oshi_zumo(coins=3, min_bid=0, horizon=3)", "blotto", "biased_rps",
     "goofspiel(cards=4, order=descending)", "goofspiel(cards=3, lowest=0)"],
)  # fmt: skip
def test_values_of_other_games_are_those_of_the_linear_program(spec):
    found = backward_induction(spec, workers=1)
    assert found.value == pytest.approx(unseen.solve_exactly(spec).value, abs=1e-9)
    assert found.error < 1e-9


def equilibrium_strategy(game, values):
    def choose(position):
        return values.at(position).mixes[position.player]

    return unseen.Strategy.from_function(game, choose)


@pytest.mark.parametrize("spec", [PD3, "oshi_zumo"])
def test_the_mixes_together_cannot_be_exploited(spec):
    game = load(spec)
    strategy = equilibrium_strategy(game, backward_induction(game, workers=1))
    assert unseen.exploitability(game, strategy) < 1e-9


def states_of(n):
    """REFERENCE: order types of two hands of k cards, times sets of k prizes; with players exchanged, about half of them."""

    def types(k):
        return sum(factorial(2 * k - t) // (factorial(t) * factorial(k - t) ** 2) for t in range(max(0, 2 * k - n), k + 1))

    return sum(comb(n, k) * (types(k) + 1) // 2 for k in range(n + 1))


@pytest.mark.parametrize("n", [1, 3, 4, 5, 7])
def test_states_are_as_many_as_the_formula_says(n):
    found = backward_induction(f"goofspiel(cards={n}, payoff=point_difference)", workers=1)
    assert found.states == states_of(n) - 1  # the end of the game is not solved
    assert found.value == pytest.approx(0.0, abs=1e-12)


def test_two_values_that_were_computed_independently():
    values = backward_induction(PD5, workers=1)
    # prizes 2 and 4 are gone to the first player, who has {1, 2, 4} against {2, 3, 5}: 6 points ahead
    history = [1, 2, 0, 3, 4, 3]
    assert values.at(history).value - 6.0 == pytest.approx(-4.46537055971, abs=1e-10)
    # prize 5 is gone to the second player, who has {1, 2, 3, 4} against {2, 3, 4, 5}
    assert values.at([4, 0, 4]).value + 5.0 == pytest.approx(5.12528501745, abs=1e-10)


def test_a_position_in_the_midst_of_a_joint_move_is_worth_what_it_was():
    values = backward_induction(PD3, workers=1)
    before = values.at([1])
    assert values.at([1, 2]) == before
    assert values.at(Position(PD3, [1, 2, 0, 0, 0, 1, 2, 1, 2])).value == Position(PD3, [1, 2, 0, 0, 0, 1, 2, 1, 2]).utilities[0]
    assert values.at([1, 2, 0]).mixes == ({}, {})
    with pytest.raises(UnseenError, match="the values are those of"):
        values.at(Position(WL3))


# Threads, stops and files -----------------------------------------------------------------------------------------------------


def test_threads_change_nothing():
    alone, together = backward_induction(WL6, workers=1), backward_induction(WL6, workers=3)
    assert (alone.value, alone.states, alone.matrix_games) == (together.value, together.states, together.matrix_games)
    rows = [v.slots[v.slots[:, -1] != 0] for v in (alone, together)]
    assert np.array_equal(*(each[np.argsort(each[:, 0])] for each in rows))


@pytest.mark.parametrize("by_walk", [False, True])
def test_what_was_stopped_is_taken_up_again(tmp_path, monkeypatch, by_walk):
    """Round by round, also if it was begun by a walk."""
    path = tmp_path / "some.values"
    if by_walk:
        monkeypatch.setattr(Goofspiel, "chance_fields", ())
    monkeypatch.setattr("unseen.stacked.job.FIRST_GAMES", 200)
    monkeypatch.setattr("unseen.stacked.job.SECONDS_A_CALL", 0.0)

    def stop(states):
        if states > 100:
            interrupts[0].count = 1

    interrupts = []
    enter = InterruptsHeld.__enter__
    monkeypatch.setattr(InterruptsHeld, "__enter__", lambda self: interrupts.append(self) or enter(self))
    stopped = backward_induction(PD5, workers=1, save=path, progress=stop)
    assert stopped.stopped
    assert stopped.as_dict()["value"] is None
    kept = Values.load(path, PD5)
    assert kept.entries == stopped.entries > 100
    with pytest.raises(UnseenError, match="not complete"):
        kept.at(())
    monkeypatch.undo()
    whole = backward_induction(PD5, workers=2, save=path, resume=True)
    assert not whole.stopped
    assert whole.states == states_of(5) - 1
    assert whole.matrix_games == backward_induction(PD5, workers=1).matrix_games
    again = Values.load(path)
    assert again.at(()) == whole.at(())
    assert again.as_dict() == whole.as_dict()


def resealed(data, old=b"", new=b""):
    """A file that was changed, with a checksum that says that it was not."""
    body = data[:-32].replace(old, new, 1) if old else data[:-32]
    return body + hashlib.sha256(body).digest()


def nothing_in(data):
    """A file that says that it is complete, and has no state."""
    magic, line, _ = data.split(b"\n", 2)
    return magic + b"\n" + json.dumps(json.loads(line) | {"entries": 0}).encode() + b"\n" + bytes(32)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path, broken = tmp_path / "good.values", tmp_path / "broken.values"
    backward_induction(PD3, workers=1).save(path)
    data = path.read_bytes()
    for bad, what in (
        (b"something else", "it is not one"),
        (data[:-1], "cut off or damaged"),
        (data[:-40] + bytes([data[-40] ^ 1]) + data[-39:], "cut off or damaged"),
        (data.replace(b'"words": 2', b'"words": 3'), "cut off or damaged"),
        (resealed(data, b'"gap": ', b'"gap": 1e999, "x": '), "cut off or damaged"),
        (resealed(data, b'"games": ', b'"games": -'), "cut off or damaged"),
        (resealed(data[:-40] + CLAIMED.tobytes() + data[-32:]), "cut off or damaged"),
        (resealed(data, b'"game": "goofspiel', b'"game": "evil.py:Evil'), "not a game of the library"),
        (resealed(data, b'"cards": 3', b'"cards": "3, v=evil.py:Evil(b=1"'), "must be a whole number"),
        (resealed(data, b'"gap": ', b'"gap": -'), "cut off or damaged"),
        (resealed(data[:-40] + np.float64(1e300).tobytes() + data[-32:]), "cut off or damaged"),
        (resealed(nothing_in(data)), "says that all states are in it, but they are not"),
        (data.split(b"\n")[0] + b"\nnot json\n", "cut off or damaged"),
    ):
        broken.write_bytes(bad)
        with pytest.raises(UnseenError, match=what):
            Values.load(broken)
    with pytest.raises(UnseenError, match=r"it is for goofspiel.*point.*not for goofspiel.*win_loss"):
        Values.load(path, WL3)
    with pytest.raises(UnseenError, match="cannot be read"):
        Values.load(tmp_path / "none.values")


def test_too_little_memory_is_said(tmp_path):
    path = tmp_path / "some.values"
    with pytest.raises(UnseenError, match="see --memory"):
        backward_induction(WL6, memory=400_000, workers=1, save=path)
    with pytest.raises(UnseenError, match="see --memory"):
        backward_induction(WL6, memory=300_000, workers=1, save=path, resume=True)
    kept = Values.load(path, WL6)  # what was solved is not lost
    assert kept.stopped
    assert kept.entries > 500
    with pytest.raises(UnseenError, match="values in its file are not complete"):
        unseen.make_agent(f"optimal(file={path})", WL6)
    with pytest.raises(UnseenError, match="see --memory"):
        backward_induction(WL6, memory=1000, workers=1)


def test_keys_are_made_anew_when_other_bits_turn_up():
    first, few, many = (np.array(words, np.uint64) for words in ([5, 7], [0xFF, 0xFF], [0xFFFF, 0xFF00FF]))
    states = first ^ np.array([[1, 2], [3, 0], [0, 9]], np.uint64)
    old, new = folding(first, few), folding(first, many)

    def key(fold, state):
        second = int(state[1] ^ first[1])
        return int(state[0] ^ first[0]) ^ ((second << int(fold.turn) | second >> (64 - int(fold.turn))) & (2**64 - 1))

    table = np.array([[key(old, s), 10 + k] for k, s in enumerate(states)] + [[0, 0]], np.uint64)
    assert refolded(table, old, new, 2).tolist() == [[key(new, s), 10 + k] for k, s in enumerate(states)]
    assert refolded(table, old, None, 2).tolist() == [[*map(int, s), 10 + k] for k, s in enumerate(states)]


def test_words_are_laid_over_one_another():
    constant = np.array([5, 7], np.uint64)
    fold = folding(constant, np.array([0xFFFF_FFFF_FFFF, 0xFF], np.uint64))
    assert fold.turn == 48
    assert folding(constant, np.array([2**64 - 1, 0xFF], np.uint64)) is None
    assert folding(np.zeros(3, np.uint64), np.zeros(3, np.uint64)) is None
    assert whole_bytes(np.array([0x1_0010], np.uint64)).tolist() == [0xFF_00FF]


SOUND, PRIVATE, OTHER_CHOICES, ENDLESS, NO_NUMBER, TOO_MANY, EARLY, TWICE, READS = range(9)


class Wide(Game):
    """Two rounds of a game whose state is three words; perhaps with a fault."""

    fault: int = 0
    state = np.dtype([("bid", "i8"), ("total", "i8"), ("rounds", "i8")])
    num_actions, max_length, simultaneous = 3, 4, True

    def start(self, s):
        s.bid = -1
        s.total = 0
        s.rounds = 0

    def player(self, s):
        is_over = s.rounds == 2 and not (self.fault == ENDLESS and s.total == 2)
        return 1 if s.bid >= 0 else TERMINAL if is_over else 0

    def actions(self, s, out):
        n = 2 if self.fault == OTHER_CHOICES and s.bid == 2 and s.total == 2 else 3
        for a in range(n):
            out[a] = a
        return 4000 if self.fault == TOO_MANY and s.bid == 1 and s.total == 2 else n

    def apply(self, s, a, tell):
        if s.bid < 0:
            s.bid = a
            if self.fault == EARLY:
                tell[PUBLIC] = 10 + a
            return
        if self.fault == TWICE and s.total == 0 and a == 2:
            s.total = 1
            return
        if self.fault == READS:
            s.total += tell[PUBLIC]  # nothing has been told yet, so it is 0
        tell[PUBLIC] = 1 + 3 * s.bid + a
        if self.fault == PRIVATE:
            tell[1] = 1 + s.bid
        s.total += (s.bid * 2 + a) % 3 * (1 + s.rounds)
        s.bid = -1
        s.rounds = min(s.rounds + 1, 2)

    def utility(self, s, who):
        return (float(s.total - 3) if self.fault != NO_NUMBER or s.total != 2 else np.nan) * (1 - 2 * who)


def test_states_of_many_words_are_their_own_keys():
    game = Wide()
    found = backward_induction(game, workers=2)
    assert found.slots.shape[1] == 4
    assert found.value == pytest.approx(unseen.solve_exactly(game).value, abs=1e-9)
    assert backward_induction(Wide(fault=READS), workers=1).value == found.value


class Odd(Wide):
    """Reduces in some states only; has a field of single precision; ends with chance."""

    state = np.dtype([("bid", "i1"), ("rounds", "i1"), ("total", "f4")])
    max_length, num_outcomes = 5, 2

    def player(self, s):
        return 1 if s.bid >= 0 else 0 if s.rounds < 2 else CHANCE if s.rounds == 2 else TERMINAL

    def actions(self, s, out):
        n = 2 if s.rounds == 2 else 3
        for a in range(n):
            out[a] = a
        return n

    def apply(self, s, a, tell):
        if s.rounds == 2:
            tell[PUBLIC] = 1 + a
            s.total += 0.3 * a
            s.rounds = 3
        elif s.bid < 0:
            s.bid = a
        else:
            tell[PUBLIC] = 1 + 3 * s.bid + a
            s.total += (s.bid * 2 + a) % 3 * 0.1
            s.bid = -1
            s.rounds += 1

    def utility(self, s, who):
        return float(s.total) * (1 - 2 * who)

    def reduced(self, s):
        decided = 0.0
        if s.rounds == 1:
            decided = float(s.total)
            s.total = 0.0
        return decided, 1.0


def test_a_start_with_players_exchanged_keeps_its_own_mixes():
    """`reduced` would exchange the players, since the second has the better hand; at the start itself each keeps its own mix."""
    history = [0, 2, 0, 1]
    later = Later(cards=3, payoff="point_difference", opening=sum((a + 1) << 3 * k for k, a in enumerate(history)))
    want, found = backward_induction(PD3, workers=1).at(history), backward_induction(later, workers=1).at(())
    assert found.value == pytest.approx(want.value, abs=1e-9)
    assert found.mixes == want.mixes
    assert list(want.mixes[0].values()) != list(want.mixes[1].values())


def test_games_with_odd_states_are_solved_and_searched():
    game = Odd()
    found = backward_induction(game, workers=1)
    assert found.value == pytest.approx(unseen.solve_exactly(game).value, abs=1e-6)
    for position in joint_positions(game):
        found.at(position)
    assert unseen.match(game, "rm(simulations=100)", "duct(simulations=100)", games=4, workers=1).faults == []


# What is refused ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("kuhn_poker", "do not choose at the same time"),
        ("ii_goofspiel", "nobody is told which of the moves"),
        ("goofspiel(bids_seen=False)", "nobody is told which of the moves"),
    ],
)
def test_games_that_hide_something_are_refused(spec, why):
    with pytest.raises(UnseenError, match=why):
        backward_induction(spec)


def test_faulty_games_get_an_error(monkeypatch):
    assert "in private" in what_is_hidden(Wide(fault=PRIVATE))
    assert "before its own" in what_is_hidden(Wide(fault=EARLY))
    assert "not those of player 1 and then of player 2" in what_is_hidden(Wide(fault=TWICE))
    monkeypatch.setattr("unseen.stacked.values.check_open", lambda game, what: None)  # as if no random game had shown it
    monkeypatch.setattr(Game, "trial", None)
    with pytest.raises(GameFault, match="not the same whatever the other does"):
        backward_induction(Wide(fault=OTHER_CHOICES), workers=1)
    with pytest.raises(GameFault, match="more than num_actions"):
        backward_induction(Wide(fault=TOO_MANY), workers=1)
    with pytest.raises(GameFault, match="not 0 and then 1"):
        backward_induction(Wide(fault=TWICE), workers=1)
    with pytest.raises(GameFault, match="not finite"):
        backward_induction(Wide(fault=NO_NUMBER), workers=1)
    with pytest.raises(GameFault, match="past max_length"):
        backward_induction(Wide(fault=ENDLESS), workers=1)


class Forgetful(Goofspiel):
    """Says that the points so far do not matter."""

    def reduced(self, s):
        s.lead = 0
        return 0.0, 1.0


class Exchanged(Goofspiel):
    """Exchanges the hands, and forgets that the points change sides."""

    def reduced(self, s):
        first = s.hand[0]
        s.hand[0] = s.hand[1]
        s.hand[1] = first
        return 0.0, -1.0


class Wordy(Goofspiel):
    """Returns too little."""

    def reduced(self, s):
        return 0.0


@pytest.mark.parametrize(
    ("cls", "what"), [(Forgetful, "another future"), (Exchanged, "another future"), (Wordy, "must return what")]
)
def test_check_holds_games_to_what_they_say_is_the_same(cls, what):
    report = find_faults(cls(cards=3), histories=300, playouts=20, seconds=0.0)
    assert any("reduced() " in fault.message and what in fault.message for fault in report.faults), report.faults


class Lettered(Goofspiel):
    """Says that chance has a field which the state has not."""

    chance_fields = ("letters",)


class Scored(Goofspiel):
    """For a win or a loss the points stay in the state, where they go by the prize."""

    chance_fields = ("prizes",)


class Handed(Goofspiel):
    """Gives a player's hand to chance."""

    payoff = "point_difference"
    chance_fields = ("hand",)


@pytest.mark.parametrize(
    ("cls", "what"),
    [(Lettered, "the state's fields are"), (Scored, "the game is over after the round, or not"), (Handed, "the actions are")],
)
def test_check_holds_games_to_what_they_say_is_chance_s_own(cls, what):
    report = find_faults(cls(cards=3), histories=300, playouts=20, seconds=0.0)
    assert any("chance_fields " in fault.message and what in fault.message for fault in report.faults), report.faults


# Round by round -----------------------------------------------------------------------------------------------------------------


def entries(values):
    """The table, in an order of its own."""
    rows = values.slots[values.slots[:, -1] != 0]
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("workers", [1, 2])
def test_rounds_find_what_a_walk_finds(monkeypatch, workers):
    monkeypatch.setattr(job, "ROUNDS_FROM", 0)
    by_rounds = backward_induction(PD5, workers=workers)
    monkeypatch.setattr(Goofspiel, "chance_fields", ())
    by_walk = backward_induction(PD5, workers=workers)
    assert np.array_equal(entries(by_rounds), entries(by_walk))  # to the last bit
    assert by_rounds.as_dict() | {"seconds": 0} == by_walk.as_dict() | {"seconds": 0}


def test_games_without_rounds_are_walked(monkeypatch):
    monkeypatch.setattr(job, "ROUNDS_FROM", 0)
    whole = backward_induction(WL3, workers=1)
    monkeypatch.setattr(Goofspiel, "chance_fields", ("prizes",))  # some are settled early
    assert np.array_equal(entries(backward_induction(WL3, workers=1)), entries(whole))
    monkeypatch.undo()
    with pytest.raises(UnseenError, match="but the state's fields are"):
        backward_induction(Lettered(cards=3), workers=1)


# People -----------------------------------------------------------------------------------------------------------------------


def test_the_command(tmp_path):
    path, picture = tmp_path / "a.values", tmp_path / "a.png"
    done = run_cli("value", PD4, "--out", str(path), "--picture", str(picture), "--workers", "1", "--json")
    found = json.loads(done.stdout)
    assert found["states"] == states_of(4) - 1
    assert found["value"] == pytest.approx(0.0, abs=1e-12)
    assert {"matrix_games", "seconds", "error", "stopped"} <= set(found)
    assert picture.stat().st_size > 5000
    assert json.loads(run_cli("value", PD4, "--out", str(path), "--resume", "--json").stdout)["states"] == found["states"]
    assert "different states" in run_cli("value", PD3).stdout
    by_lp = run_cli("value", PD3, "--out", str(tmp_path / "a.strategy"), "--json")
    assert "exploitability" in json.loads(by_lp.stdout)
    for args, what in (
        (("kuhn_poker", "--method", "induction"), "do not choose at the same time"),
        ((PD3, "--method", "other"), "must be one of induction, lp"),
        ((PD3, "--method", "lp", "--out", "b.values"), "gives a strategy"),
        (("kuhn_poker", "--out", "a.values"), "do not choose at the same time"),
        (("kuhn_poker", "--resume"), "are for induction"),
        ((PD3, "--resume"), "name it with --out"),
        ((PD3, "--out", "no/such/folder/a.values"), "cannot write"),
    ):
        done = run_cli("value", *args, cwd=tmp_path)
        assert done.returncode == 2, args
        assert what in done.stderr, (args, done.stderr)


def test_the_agent_plays_the_equilibrium(tmp_path):
    path = tmp_path / "a.values"
    backward_induction(PD3, workers=1).save(path)
    for spec in ("optimal", f"optimal(file={path})"):
        assert unseen.measure(PD3, spec, workers=1).exploitability < 1e-9
    with pytest.raises(UnseenError, match=r"not for goofspiel.*win_loss"):
        unseen.make_agent(f"optimal(file={path})", WL3)
    with pytest.raises(UnseenError, match="here nobody is told"):
        unseen.make_agent("optimal", "ii_goofspiel")


def test_pictures_of_other_positions():
    values = backward_induction("biased_rps", workers=1)
    assert values.figure().axes[0].get_title() in ("both players", "player 1")
    values = backward_induction(PD3, workers=1)
    assert values.figure([0, 0, 1]).axes[0].get_yticklabels()
    with pytest.raises(UnseenError, match="nobody has anything to choose"):
        values.figure([0, 0, 0, 1, 1, 1, 2, 2, 2])

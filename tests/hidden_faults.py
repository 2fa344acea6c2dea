"""Games with faults that trial games do not come to, and games that are wrong in other ways than those of `faulty_games`.

`Deep` has one fault of many, at one state in a thousand, so that all of them are compiled once.
"""

from __future__ import annotations

import time

import numpy as np

from unseen import CHANCE, PUBLIC, TERMINAL, Game, parameter, piece

FAULTS = (
    "none", "other_actions", "fewer_actions", "no_actions", "negative_count", "huge_count", "action_too_large", "huge_action",
    "negative_action", "descending", "player_seven", "player_minus_three", "negative_token", "huge_token", "endless_game", "nan",
    "infinite", "not_zero_sum", "overflow", "underflow", "unsigned_difference", "division_by_zero", "whole_division_by_zero",
    "shift", "past_the_array", "settled", "chance_sum", "chance_nan", "reads_tell", "huge_payoff",
    "array_overflow", "fraction", "piece_overflow", "piece_past_the_array",
)  # fmt: skip
"""What can be wrong with `Deep`. All but the first are refused by a check, and "huge_payoff", which is allowed."""
SOUND = ("none", "huge_payoff")
NUMBER = {name: k for k, name in enumerate(FAULTS)}
(
    NONE, OTHER_ACTIONS, FEWER_ACTIONS, NO_ACTIONS, NEGATIVE_COUNT, HUGE_COUNT, ACTION_TOO_LARGE, HUGE_ACTION,
    NEGATIVE_ACTION, DESCENDING, PLAYER_SEVEN, PLAYER_MINUS_THREE, NEGATIVE_TOKEN, HUGE_TOKEN, ENDLESS_GAME, NAN,
    INFINITE, NOT_ZERO_SUM, OVERFLOW, UNDERFLOW, UNSIGNED_DIFFERENCE, DIVISION_BY_ZERO, WHOLE_DIVISION_BY_ZERO,
    SHIFT, PAST_THE_ARRAY, SETTLED, CHANCE_SUM, CHANCE_NAN, READS_TELL, HUGE_PAYOFF,
    ARRAY_OVERFLOW, FRACTION, PIECE_OVERFLOW, PIECE_PAST_THE_ARRAY,
) = range(len(FAULTS))  # fmt: skip


@piece
def put(s, number):
    s.small = number


@piece
def put_far(s, k):
    s.sums[k] = 1


class Deep(Game):
    """Chance deals one of twelve cards, which nobody sees; then each player in turn has three numbers to choose from."""

    fault: int = parameter("none", choices=FAULTS)
    state = np.dtype([
        ("moves", "u1"), ("card", "i1"), ("sums", "i1", (2,)), ("twos", "i1"), ("small", "i1"), ("few", "u1"), ("back", "i1"),
    ])  # fmt: skip
    num_actions = 3
    num_outcomes = 12
    max_length = 7

    def start(self, s):
        s.moves = 0
        s.card = 0
        s.sums[0] = 0
        s.sums[1] = 0
        s.twos = 0
        s.small = 0
        s.few = 0
        s.back = 0

    def here(self, s):
        """Whether this is the state in which something is wrong: chance has dealt 5, and four times 2 was chosen."""
        return s.moves == 5 and s.card == 5 and s.twos == 4

    def after(self, s):
        """Whether the game is over and it was the one."""
        return s.moves == 7 and s.back == 1

    def player(self, s):
        if self.here(s):
            if self.fault == PLAYER_SEVEN:
                return 7
            if self.fault == PLAYER_MINUS_THREE:
                return -3
            if self.fault in (CHANCE_SUM, CHANCE_NAN):
                return CHANCE
        if s.moves == 7 and not (self.fault == ENDLESS_GAME and s.back == 1):
            return TERMINAL
        return CHANCE if s.moves == 0 else s.moves % 2

    def actions(self, s, out):
        n = 12 if s.moves == 0 else 3
        for k in range(n):
            out[k] = k
        if self.here(s):
            if self.fault == OTHER_ACTIONS:
                for k in range(12):
                    out[k] = k
                return 12
            if self.fault == FEWER_ACTIONS:
                return 1
            if self.fault == NO_ACTIONS:
                return 0
            if self.fault == NEGATIVE_COUNT:
                return -2_000_000_000
            if self.fault == HUGE_COUNT:
                return 2_000_000_000
            if self.fault == ACTION_TOO_LARGE:
                out[2] = 11
            if self.fault == HUGE_ACTION:
                out[2] = 1 << 40
            if self.fault == NEGATIVE_ACTION:
                out[0] = -(1 << 40)
            if self.fault == DESCENDING:
                out[0] = 2
                out[2] = 0
        return n

    def chance(self, s, a, n):
        if s.moves == 0:
            return 1.0 / 12.0
        return 0.5 if self.fault == CHANCE_SUM else np.nan

    def apply(self, s, a, tell):
        is_here = self.here(s)
        if s.moves == 0:
            s.card = a
        elif a >= 0 and a <= 2:
            s.sums[s.moves % 2] += a
            s.twos += a == 2
            tell[PUBLIC] = 1 + a
        if self.fault != ENDLESS_GAME or s.moves < 7:
            s.moves += 1
        if is_here:
            s.back = 1
            self.go_wrong(s, a, tell)

    def go_wrong(self, s, a, tell):
        """What may be wrong with a move from there."""
        if self.fault == NEGATIVE_TOKEN:
            tell[PUBLIC] = -5_000_000_000
        if self.fault == HUGE_TOKEN:
            tell[0] = 1 << 62
        if self.fault == OVERFLOW:
            s.small = 100 + 20 * s.twos
        if self.fault == UNDERFLOW:
            s.few = a - 3
        if self.fault == UNSIGNED_DIFFERENCE and s.few - s.moves < 0:
            s.small = 1
        if self.fault == DIVISION_BY_ZERO and 1.0 / s.few > 2.0:
            s.small = 1
        if self.fault == WHOLE_DIVISION_BY_ZERO and s.moves // s.few == 0:
            s.small = 1
        if self.fault == SHIFT and 1 << 11 * s.moves > 5:
            s.small = 1
        if self.fault == PAST_THE_ARRAY:
            s.sums[s.moves * 1000] = 1
        if self.fault == ARRAY_OVERFLOW:
            s.sums[1] -= 140
        if self.fault == FRACTION:
            s.small = 0.25 * s.moves
        if self.fault == PIECE_OVERFLOW:
            put(s, 45 * s.twos)
        if self.fault == PIECE_PAST_THE_ARRAY:
            put_far(s, 100 * s.moves)
        if self.fault == READS_TELL:
            tell[PUBLIC] += 1 << 31

    def settled(self, s):
        return self.fault == SETTLED and s.moves == 6 and s.back == 1

    def utility(self, s, who):
        u = float(s.sums[0] - s.sums[1]) * (1.0 if s.card % 2 else 0.5)
        if self.after(s):
            if self.fault == NAN:
                return np.nan
            if self.fault == INFINITE:
                u = np.inf
            if self.fault == NOT_ZERO_SUM:
                return u + 1.0
            if self.fault == HUGE_PAYOFF:
                u = 1e300
        return u if who == 0 else -u


class Small(Game):
    """One move each; the base of what follows."""

    state = np.dtype([("moves", "i1"), ("first", "i1"), ("total", "i2")])
    num_actions = 2
    max_length = 2

    def start(self, s):
        s.moves = 0
        s.first = 0
        s.total = 0

    def player(self, s):
        return TERMINAL if s.moves == 2 else s.moves

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def apply(self, s, a, tell):
        if s.moves == 0:
            s.first = a
        s.total += (s.first == a) * (s.moves == 1)
        s.moves += 1

    def utility(self, s, who):
        u = 2.0 * s.total - 1.0
        return u if who == 0 else -u


class Raises(Small):
    def apply(self, s, a, tell):
        raise ValueError("no")


class Exits(Small):
    def apply(self, s, a, tell):
        raise SystemExit(0)


class Allocates(Small):
    def apply(self, s, a, tell):
        both = [s.first, a]
        s.first = both[1]
        s.moves += 1


class Prints(Small):
    def apply(self, s, a, tell):
        print("moved")
        s.moves += 1


class Sleeps(Small):
    def apply(self, s, a, tell):
        time.sleep(0.001)
        s.moves += 1


class Recursive(Small):
    def depth(self, n):
        return 1 + self.depth(n - 1) if n > 0 else 0

    def utility(self, s, who):
        return float(self.depth(5) - 5)


class Bottomless(Small):
    def depth(self, n):
        return 1 + self.depth(n + 1)

    def utility(self, s, who):
        return float(self.depth(5))


class Random(Small):
    def apply(self, s, a, tell):
        s.total += np.random.randint(0, 5)
        s.moves += 1


class StartsDirty(Small):
    def start(self, s):
        s.moves = 0


class EmptyState(Small):
    state = np.dtype([])


class NoOutcomes(Small):
    def player(self, s):
        return TERMINAL if s.moves == 2 else CHANCE


class WrongOutcomes(Small):
    num_outcomes = 1

    def player(self, s):
        return TERMINAL if s.moves == 2 else CHANCE


class NoLength(Small):
    max_length = 0


class NegativeActions(Small):
    num_actions = -3


class WordActions(Small):
    num_actions = "two"


class HugeLength(Small):
    max_length = 1 << 62


class NotSimultaneous(Small):
    simultaneous = True

    def apply(self, s, a, tell):
        s.moves += 1
        tell[PUBLIC] = 1 + a


class OtherOrder(Small):
    simultaneous = True

    def player(self, s):
        return TERMINAL if s.moves == 2 else 1 - s.moves


class Mirrored(Small):
    """Its symmetry is none: the first player's zero is worth more."""

    def utility(self, s, who):
        u = 2.0 * s.total - 1.0 + (1.0 if s.first == 0 else 0.0)
        return u if who == 0 else -u

    def symmetries(self):
        return [[0, 1], [1, 0]]


class BadMirror(Small):
    def symmetries(self):
        return [[0, 1], [0, 7]]


class SettledAtOnce(Small):
    def settled(self, s):
        return s.moves == 1


class BadBits(Small):
    def bits(self, s):
        return -1


class BadRollout(Small):
    def rollout(self, s, out, n, u):
        return 1_000_000_000


class BadEncoding(Small):
    encoding_size = 2

    def encode(self, s, who, out):
        out[5] = np.nan


class BadReduced(Small):
    simultaneous = True

    def reduced(self, s):
        return np.nan, 7.0


class KnowsWhatItHides(Small):
    """What can be done depends on the other's hidden move."""

    num_actions = 9

    def actions(self, s, out):
        n = 9 if s.moves == 1 and s.first == 1 else 2
        for k in range(n):
            out[k] = k
        return n


PLAIN = (
    Raises, Exits, Allocates, Prints, Sleeps, Recursive, Bottomless, Random, StartsDirty, EmptyState, NoOutcomes, WrongOutcomes,
    NoLength, NegativeActions, WordActions, HugeLength, NotSimultaneous, OtherOrder, Mirrored, BadMirror, SettledAtOnce,
    BadBits, BadRollout, BadEncoding, BadReduced, KnowsWhatItHides,
)  # fmt: skip
"""Those that are wrong everywhere."""

"""The conformance kit finds planted faults, names them, and names the shortest history at which they show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import unseen
from unseen import CHANCE, PUBLIC, TERMINAL, GameFault
from unseen.games.kuhn_poker import BET, PASS, KuhnPoker
from unseen.games.matrix_games import MatchingPennies
from unseen.testing import check_game, find_faults

ticks = itertools.count()


class StartLeavesAFieldUnset(KuhnPoker):
    def start(self, s):
        s.card[0] = -1
        s.card[1] = -1
        s.dealt = 0
        s.moves = 0
        s.over = 0


class PlayerChangesTheState(KuhnPoker):
    def player(self, s):
        if s.over:
            return TERMINAL
        if s.dealt < 2:
            return CHANCE
        who = s.moves % 2
        if s.moves == 1:
            s.bets = 1
        return who


class ApplyIsRandom(KuhnPoker):
    def apply(self, s, a, tell):
        KuhnPoker.apply(self, s, a, tell)
        if s.moves == 1:
            tell[PUBLIC] = 1 + next(ticks)


class ActionsDescend(KuhnPoker):
    def actions(self, s, out):
        if s.dealt == 2:
            out[0] = BET
            out[1] = PASS
            return 2
        out[0] = 0 if s.card[0] != 0 else 1
        out[1] = 2 if s.card[0] != 2 else 1
        return 2


class ActionsRepeat(KuhnPoker):
    def actions(self, s, out):
        out[0] = 0
        out[1] = 0
        return 2


class ActionTooLarge(KuhnPoker):
    def actions(self, s, out):
        out[0] = 0
        out[1] = 5 if s.moves == 1 else 1
        return 2


class NoActions(KuhnPoker):
    def actions(self, s, out):
        if s.moves == 2:
            return 0
        out[0] = 0
        out[1] = 1
        return 2


class CountsMoreThanItWrites(KuhnPoker):
    def actions(self, s, out):
        out[0] = 0
        return 2


class WritesPastTheEnd(KuhnPoker):
    num_actions = 2
    num_outcomes = 2

    def actions(self, s, out):
        for k in range(3):
            out[k] = k
        return 3


class ChanceSumsToLess(KuhnPoker):
    def chance(self, s, a, n):
        return 0.9 / n if s.dealt == 1 else 1.0 / n


class ChanceIsNegative(KuhnPoker):
    def chance(self, s, a, n):
        return -1.0 if a == 0 else 2.0 / (n - 1)


class ActionsDependOnTheHiddenCard(KuhnPoker):
    def actions(self, s, out):
        if s.dealt < 2:
            out[0] = 0
            out[1] = 1
            return 2
        out[0] = PASS
        if s.card[1] == 0 and s.moves == 0:
            return 1
        out[1] = BET
        return 2


class RenderingShowsTheHiddenCard(KuhnPoker):
    def render(self, s, who):
        return f"cards {s.card}"


class RenderingTellsTheOnlookers(KuhnPoker):
    def render(self, s, who):
        return super().render(s, who) if who != PUBLIC else f"cards {s.card}"


class NeverEnds(KuhnPoker):
    def apply(self, s, a, tell):
        if s.dealt < 2:
            s.dealt += 1
        else:
            s.moves += 1


class UtilityIsNotANumber(KuhnPoker):
    def utility(self, s, who):
        return np.nan if s.bets == 3 else 0.0


class NotZeroSum(KuhnPoker):
    def utility(self, s, who):
        return 1.0


class TellsBetweenTheHalves(MatchingPennies):
    def apply(self, s, a, tell):
        s.choice[s.moves] = a
        s.moves += 1
        tell[PUBLIC] = a + 1


class SecondPlayerFirst(MatchingPennies):
    def player(self, s):
        return TERMINAL if s.moves == 2 else 1 - s.moves


class FieldOverflows(KuhnPoker):
    state = np.dtype([("card", "i2", (2,)), ("dealt", "i1"), ("moves", "i1"), ("bets", "i1"), ("over", "i1"), ("pot", "i1")])

    def start(self, s):
        s.card[0] = -1
        s.card[1] = -1
        s.dealt = 0
        s.moves = 0
        s.bets = 0
        s.over = 0
        s.pot = 100

    def apply(self, s, a, tell):
        s.pot += 10
        if s.dealt < 2:
            s.card[s.dealt] = a
            tell[s.dealt] = a + 1
            s.dealt += 1
        else:
            s.over = 1


class TokenIsNegative(KuhnPoker):
    def apply(self, s, a, tell):
        if s.dealt < 2:
            tell[s.dealt] = -1
            s.card[s.dealt] = a
            s.dealt += 1
        else:
            s.over = 1


class PlayerThree(KuhnPoker):
    def player(self, s):
        return 3 if s.dealt == 2 else CHANCE


class DividesByZero(KuhnPoker):
    def utility(self, s, who):
        return 1.0 / s.moves if s.moves < 3 else float([][who])


class DoesNotCompile(KuhnPoker):
    def utility(self, s, who):
        return self.no_such_thing


class ForgotToReturn(KuhnPoker):
    def player(self, s):  # noqa: RET503
        if s.dealt < 2:
            return CHANCE


class RenderChangesTheState(KuhnPoker):
    def render(self, s, who):
        s.moves += 1
        return "?"


class SettledTooSoon(KuhnPoker):
    def settled(self, s):
        return s.moves == 1


class SymmetryThatIsNone(KuhnPoker):
    def symmetries(self):
        return [[0, 1], [1, 0]]


class SymmetriesAreNoGroup(KuhnPoker):
    def symmetries(self):
        return [[0, 1], [0, 0]]


class StartDiffers(KuhnPoker):
    chips = 3
    state = np.dtype([("card", "i2", (2,)), ("dealt", "i1"), ("moves", "i1"), ("bets", "i1"), ("over", "i1"), ("chips", "i1")])

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.__dict__["chips"] = 7

    def start(self, s):
        s.card[0] = -1
        s.card[1] = -1
        s.dealt = 0
        s.moves = 0
        s.bets = 0
        s.over = 0
        s.chips = self.chips


class ChanceDiffers(KuhnPoker):
    bias = 0.5

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.__dict__["bias"] = 0.9

    def chance(self, s, a, n):
        if s.dealt == 1:
            return self.bias if a == 2 or (a == 1 and s.card[0] == 2) else 1.0 - self.bias
        return 1.0 / n


class BitsForgetOne(KuhnPoker):
    def bits(self, s):
        return 1 if s.moves == 1 else 3 if s.dealt == 2 else 7 - (1 << s.card[0] if s.dealt else 0)


class LaysOpenTooMuch(KuhnPoker):
    def lay_open(self, s):
        if s.moves == 1:
            s.bets = 2


class MostIsTooLittle(KuhnPoker):
    def most(self, s, who):
        return 1.0


class AheadOfEachOther(KuhnPoker):
    def between_rounds(self, s):
        return False

    def ahead(self, s, who):
        return 1.0


PLANTED = [
    (MostIsTooLittle, "most", "player 2 can get 1 at most, but it gets 2", 4),
    (AheadOfEachOther, "ahead", "ahead() says [1.0, 1.0] of the two players", 4),
    (LaysOpenTooMuch, "lay_open", "lay_open() writes", 3),
    (BitsForgetOne, "bits", "bits() returns 0b1, but the actions are [0, 1]", 3),
    (StartLeavesAFieldUnset, "start incomplete", "does not set field 'bets'", 0),
    (PlayerChangesTheState, "player changes the state", "player() changes the state", 3),
    (ApplyIsRandom, "apply not deterministic", "apply() does not do the same twice", 3),
    (ActionsDescend, "action order", "must be distinct and ascending", 2),
    (ActionsRepeat, "action order", "offers [0, 0]", 0),
    (ActionTooLarge, "action bound", "offers 5; actions must be from 0 to num_actions - 1 = 1", 3),
    (NoActions, "number of actions", "returns 0", 4),
    (CountsMoreThanItWrites, "action bound", "does not write all the actions it counts", 0),
    (WritesPastTheEnd, "actions raises", "IndexError", 0),
    (ChanceSumsToLess, "chance sum", "sum to 0.9", 1),
    (ChanceIsNegative, "chance positive", "must all be positive", 0),
    (ActionsDependOnTheHiddenCard, "infoset list of actions", "has seen the same as at", 2),
    (RenderingShowsTheHiddenCard, "infoset rendering", "player 2 has seen the same as at [] (the start), but the rendering", 1),
    (RenderingTellsTheOnlookers, "infoset rendering", "the public has seen the same as at", 1),
    (NeverEnds, "too long", "not over after max_length = 5 moves", 5),
    (UtilityIsNotANumber, "utility not finite", "must be finite", 4),
    (NotZeroSum, "not zero-sum", "do not sum to zero", 4),
    (TellsBetweenTheHalves, "simultaneous tokens", "between the two halves", 1),
    (SecondPlayerFirst, "simultaneous order", "not 0 and then 1", 0),
    (FieldOverflows, "field pot", "does not fit its type int8", 3),
    (TokenIsNegative, "token", "tokens must be whole numbers from 0", 1),
    (PlayerThree, "player invalid", "returns 3", 2),
    (DividesByZero, "utility raises", "IndexError", 5),
    (ForgotToReturn, "player type", "player() returned None, but must return a whole number", 2),
    (RenderChangesTheState, "render changes the state", "render() changes the state", 0),
    (SettledTooSoon, "settled", "but they are", 4),
    (SymmetryThatIsNone, "symmetries", "renamed by [1, 0] the players are told something else", 3),
    (SymmetriesAreNoGroup, "symmetries", "is not a group of renamings", 0),
    (StartDiffers, "field chips", "after start() field 'chips' is 7 or 3", 0),
    (ChanceDiffers, "compiled chance", "the probabilities of chance are", 1),
    (DoesNotCompile, "compile", "DoesNotCompile.utility, line", 0),
    (DoesNotCompile, "compile", "Unknown attribute 'no_such_thing'", 0),
]


@pytest.mark.parametrize(("cls", "check", "words", "length"), PLANTED, ids=lambda v: getattr(v, "__name__", None))
def test_planted_fault(cls, check, words, length):
    report = find_faults(cls(), histories=300, playouts=0, seconds=0)
    faults = {fault.check: fault for fault in report.faults}
    assert check in faults, f"found only {[str(f) for f in report.faults]}"
    fault = faults[check]
    assert words in str(fault) + fault.details
    assert cls.__name__ in str(fault)
    assert len(fault.history) == length
    assert str(list(fault.history)) in str(fault) or check == "compile"
    with pytest.raises(GameFault, match=cls.__name__):
        check_game(cls(), histories=300, playouts=0, seconds=0)


def test_at_least_ten_kinds_are_planted():
    assert len({check for _, check, _, _ in PLANTED}) >= 10


def test_deep_faults_are_found_by_random_games():
    class WrongAtTheEnd(KuhnPoker):
        def utility(self, s, who):
            return 1.0

    report = find_faults(WrongAtTheEnd(cards=50), histories=60, playouts=20)
    assert not report.exhaustive
    assert [fault.check for fault in report.faults] == ["not zero-sum"]


def test_missing_rules_are_named():
    class Empty(unseen.Game):
        state = np.dtype([("x", "i1")])
        num_actions = 1
        max_length = 1

    messages = [str(fault) for fault in find_faults(Empty()).faults]
    for rule in ("start", "player", "actions", "apply", "utility"):
        assert any(f"does not define {rule}()" in message for message in messages)


@pytest.mark.usefixtures("untried")
def test_enumeration_names_the_history_of_a_fault_too():
    with pytest.raises(GameFault, match=r"other actions at an earlier history, at history \[0, 1\]"):
        unseen.enumerate_game(ActionsDependOnTheHiddenCard())
    with pytest.raises(GameFault, match="past max_length"):
        unseen.enumerate_game(NeverEnds())
    with pytest.raises(GameFault, match="do not sum to one, at history"):
        unseen.enumerate_game(ChanceSumsToLess())


def test_floats_that_differ_in_the_last_bit_are_no_fault():
    class Powers(KuhnPoker):
        state = np.dtype(
            [("card", "i2", (2,)), ("dealt", "i1"), ("moves", "i1"), ("bets", "i1"), ("over", "i1"), ("x", "f4"), ("h", "u8")]
        )

        def start(self, s):
            s.card[0] = -1
            s.card[1] = -1
            s.dealt = 0
            s.moves = 0
            s.bets = 0
            s.over = 0
            s.x = 0.1
            s.h = 0

        def apply(self, s, a, tell):
            if s.dealt < 2:
                s.card[s.dealt] = a
                tell[s.dealt] = a + 1
                s.dealt += 1
            else:
                s.over = 1
                s.x = 0.3

        def utility(self, s, who):
            u = (0.1 * (s.card[0] + 2)) ** 5
            return u if who == 0 else -u

    check_game(Powers(), seconds=0)


def test_wide_games_do_not_fill_the_memory():
    report = find_faults("one_card_poker(cards=1000)", histories=2000, playouts=2, seconds=0)
    assert report.ok
    assert not report.exhaustive
    assert report.histories < 2100


@pytest.mark.usefixtures("untried")
def test_games_that_break_the_protocol_do_not_run_wild():
    class Forever(KuhnPoker):
        def apply(self, s, a, tell):
            if s.dealt < 2:
                s.dealt += 1

    class TooMany(KuhnPoker):
        def actions(self, s, out):
            out[0] = 0
            out[1] = 1
            return 2_000_000 if s.dealt == 2 else 2

    class HugeToken(KuhnPoker):
        def apply(self, s, a, tell):
            s.dealt += 1
            tell[0] = 3_000_000_000

    for cls, words in ((Forever, "not over after max_length"), (TooMany, "must offer from 1 to"), (HugeToken, "tokens must be")):
        with pytest.raises(GameFault, match=words):
            unseen.fingerprint(cls())
    for cls, words in ((Forever, "past max_length"), (TooMany, "offers none, or more"), (HugeToken, "tells a token")):
        with pytest.raises(GameFault, match=words):
            unseen.enumerate_game(cls())
    for cls in (Forever, TooMany):
        with pytest.raises(GameFault, match="broke the protocol"):
            unseen.playouts(cls(), 3)
    with pytest.raises(GameFault, match="offers actions that are not ascending"):
        unseen.enumerate_game(ActionsRepeat())
    with pytest.raises(GameFault, match="that sum to zero, at history"):
        unseen.SequenceForm(NotZeroSum())
    with pytest.raises(GameFault, match="past max_length"):
        unseen.Belief(Forever(), PUBLIC, [])
    with pytest.raises(GameFault, match="actions"):
        unseen.Belief(TooMany(), PUBLIC, [unseen.Percept(0, 1, 0)])
    with pytest.raises(GameFault, match="not finite numbers that sum to zero, at history"):
        unseen.SequenceForm(UtilityIsNotANumber())


@pytest.mark.parametrize("cls", [
    NotZeroSum, ActionsDescend, ActionTooLarge, WritesPastTheEnd, FieldOverflows, TokenIsNegative, ForgotToReturn, ChanceSumsToLess,
    NeverEnds, UtilityIsNotANumber, DividesByZero,
])  # fmt: skip
def test_what_is_plainly_wrong_never_reaches_machine_code(cls):
    for use in (
        unseen.SequenceForm,
        unseen.enumerate_game,
        lambda g: unseen.playouts(g, 1),
        lambda g: unseen.Belief(g, PUBLIC, []),
    ):
        with pytest.raises(GameFault, match=cls.__name__):
            use(cls())


def test_tokens_must_be_whole():
    class Fraction(KuhnPoker):
        def apply(self, s, a, tell):
            KuhnPoker.apply(self, s, a, tell)
            tell[0] = a + 0.5

    assert "tells [0.5, 0, 0]" in next(str(f) for f in find_faults(Fraction()).faults if f.check == "token")


def test_games_without_decisions_and_without_moves():
    class Luck(KuhnPoker):
        def player(self, s):
            return CHANCE if s.dealt < 2 else TERMINAL

        def utility(self, s, who):
            return (1.0 if s.card[0] > s.card[1] else -1.0) * (1 - 2 * who)

    class Over(KuhnPoker):
        def player(self, s):
            return TERMINAL

        def utility(self, s, who):
            return 1.0 - 2 * who

    for cls, value, histories in ((Luck, 0.0, 10), (Over, 1.0, 1)):
        check_game(cls(), seconds=0)
        assert unseen.enumerate_game(cls()).histories == histories
        assert unseen.solve_exactly(unseen.SequenceForm(cls())).value == pytest.approx(value)
        streamed = unseen.SequenceForm(cls(), streamed=True)
        assert streamed.value(unseen.Strategy.uniform(cls())) == pytest.approx(value)
        assert len(unseen.Strategy.from_function(cls(), lambda p: {0: 1.0})) == 0


def test_a_good_game_passes():
    report = check_game("kuhn_poker")
    assert report.exhaustive
    assert report.histories == 58

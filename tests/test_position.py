"""Stepping by hand, names for games, and text that can be read back."""

from __future__ import annotations

import random

import numpy as np
import pytest
from helpers import TINY
from hypothesis import given, settings
from hypothesis import strategies as st

import unseen
from unseen import PUBLIC, Game, GameFault, Percept, Position, UnseenError, fingerprint, load, parameter
from unseen.games.kuhn_poker import KuhnPoker
from unseen.loading import parse


def test_a_game_step_by_step():
    position = Position(load("kuhn_poker"))
    assert position.is_chance
    assert position.actions == [0, 1, 2]
    assert position.chance_probabilities == pytest.approx([1 / 3] * 3)
    position.apply(1).apply(2)
    assert position.player == 0
    assert position.action_names == {0: "pass", 1: "bet"}
    assert position.seen(0) == (Percept(0, 0, 2),)
    assert position.seen(1) == (Percept(0, 0, 3),)
    assert position.seen(PUBLIC) == ()
    after = position.child(1)
    assert position.history == (1, 2)
    assert after.seen(0) == (Percept(0, 0, 2), Percept(2, 2, 0))
    assert after.seen(1) == (Percept(0, 0, 3), Percept(0, 2, 0))
    assert after.action_names == {0: "fold", 1: "call"}
    assert after.render(1) == "cards ? K, moves: bet"
    end = after.child(1)
    assert end.is_terminal
    assert end.actions == []
    assert end.utilities == (-2.0, 2.0)


def test_wrong_questions_get_sentences():
    position = Position(load("kuhn_poker"))
    for ask, words in (
        (lambda: position.apply(9), "action 9 is not legal; the legal actions are: 0, 1, 2"),
        (lambda: position.utilities, "the game is not over"),
        (lambda: position.infoset, "no player is to move"),
        (lambda: Position(load("kuhn_poker"), [0, 1]).chance_probabilities, "not chance's move"),
        (lambda: Position.from_text("kuhn_poker: 0 x"), "action numbers"),
    ):
        with pytest.raises(UnseenError, match=words):
            ask()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TINY), st.integers(0, 10**9))
def test_text_and_copies(spec, seed):
    rng = random.Random(seed)
    position = Position(load(spec))
    while not position.is_terminal and rng.random() < 0.9:
        position.apply(rng.choice(position.actions))
    for other in (Position.from_text(str(position)), position.copy(), Position(position.game, position.history)):
        assert other.history == position.history
        assert other.player == position.player
        assert other.state.values() == position.state.values()
        assert [other.seen(who) for who in (0, 1, PUBLIC)] == [position.seen(who) for who in (0, 1, PUBLIC)]
    if not position.is_terminal:
        copy = position.copy()
        copy.apply(copy.actions[0])
        assert position.history == copy.history[:-1]
        assert position.state.values() == Position(position.game, position.history).state.values()


def test_an_exception_in_a_rule_names_the_history():
    class Broken(KuhnPoker):
        def apply(self, s, a, tell):
            if s.dealt == 2:
                raise RuntimeError("oh")
            KuhnPoker.apply(self, s, a, tell)

    with pytest.raises(
        GameFault, match=r"Broken.apply raised RuntimeError in line \d+: oh, at history \[0, 1\] \(deal J, deal Q\)"
    ):
        Position(Broken(), [0, 1, 0])


def test_a_misspelt_field_is_an_error():
    with pytest.raises(AttributeError, match="bet"):
        load("kuhn_poker").new_state().bet = 1


def test_fingerprints_follow_behaviour():
    class SameRules(KuhnPoker):
        name = "kuhn_poker"

    class OtherRules(KuhnPoker):
        name = "kuhn_poker"

        def utility(self, s, who):
            return 3 * KuhnPoker.utility(self, s, who)

    assert fingerprint(KuhnPoker()) == fingerprint(SameRules())
    assert fingerprint(KuhnPoker()) != fingerprint(OtherRules())
    assert fingerprint(KuhnPoker()) != fingerprint(KuhnPoker(cards=4))


def test_loading_by_name():
    assert load("kuhn_poker") == load("kuhn_poker(cards=3)") == load("kuhn_poker( cards = 3 )") != load("kuhn_poker(cards=4)")
    assert load("leduc_poker(suits_seen=False)") == load("leduc_poker(suits_seen=0)")
    for name in unseen.game_names():
        game = load(name)
        assert load(game.spec) == game
        assert load(game) is game


@pytest.mark.parametrize(("spec", "words"), [
    ("kuhn_pokr", "unknown; did you mean 'kuhn_poker'"),
    ("zzzzz", "the games are: biased_rps"),
    ("kuhn_poker(card=3)", "no parameter 'card'; the parameters are: cards .default 3."),
    ("xi(a=1)", "the parameters are: none"),
    ("kuhn_poker(cards=1)", "cards is 1, but must be a whole number from 2 to 5000"),
    ("kuhn_poker(cards=2.5)", "cards is 2.5, but must be"),
    ("kuhn_poker(cards=three)", "cards is 'three', but must be"),
    ("kuhn_poker(cards=True)", "cards is True, but must be"),
    ("leduc_poker(suits_seen=2)", "suits_seen is 2, but must be true or false"),
    ("kuhn_poker(3)", "'3' is not of the form parameter=value"),
    ("kuhn_poker(cards=3", "is a bracket missing"),
    ("kuhn_poker(cards=99999999999999999999999)", "cards is .99999999999999999999999., but must be"),
    ("kuhn_poker(cards=3, cards=4)", "given twice"),
    ("no/such/file.py:Game", "there is no file no/such/file.py"),
    ("examples/smuggler.py", "say which class"),
    ("examples/smuggler.py:Nobody", "no game class 'Nobody'; it has: Smuggler"),
])  # fmt: skip
def test_wrong_names_get_sentences(spec, words, monkeypatch):
    from helpers import ROOT

    monkeypatch.chdir(ROOT)
    with pytest.raises(UnseenError, match=words):
        load(spec)


def test_numbers_arrive_as_numbers_and_what_is_in_quotes_as_a_word():
    assert parse("x(a=0.5, b=-.5, c=1e-3, d=2.)")[1] == {"a": 0.5, "b": -0.5, "c": 0.001, "d": 2.0}
    assert parse("x(a=a.1, b=1.2.3, c=inf, d=1e999, e=1e)")[1] == {"a": "a.1", "b": "1.2.3", "c": "inf", "d": "1e999", "e": "1e"}
    assert parse("""x(a='0.5', b="c, d=e", f=Bob's, g=)""")[1] == {"a": "0.5", "b": "c, d=e", "f": "Bob's", "g": ""}


def test_nothing_in_a_name_is_evaluated():
    assert parse("x(a=__import__('os').getpid())")[1] == {"a": "__import__('os').getpid()"}


def test_parameters_need_their_bounds_and_defaults():
    class Sized(KuhnPoker):
        low: int = parameter(5, minimum=5)
        high: int = parameter(5, maximum=5)
        free: int = 7
        flag: bool = False

    assert Sized().settings == {"cards": 3, "low": 5, "high": 5, "free": 7, "flag": False}
    for wrong, words in (
        ({"low": 4}, "at least 5"),
        ({"high": 6}, "at most 5"),
        ({"free": "x"}, "a whole number"),
        ({"flag": 7}, "true or false"),
    ):
        with pytest.raises(UnseenError, match=words):
            Sized(**wrong)


def test_subclasses_may_change_a_default():
    class Kuhn4(KuhnPoker):
        cards = 4

    assert Kuhn4().settings == {"cards": 4}
    assert Kuhn4(cards=5).cards == 5
    with pytest.raises(UnseenError, match="from 2 to 5000"):
        Kuhn4(cards=1)


def test_slips_of_the_hand_get_sentences():
    form = unseen.SequenceForm("kuhn_poker")
    assert unseen.SequenceForm(KuhnPoker).game == form.game
    assert unseen.solve_exactly("kuhn_poker").value == pytest.approx(-1 / 18)
    start = Position(form.game)
    for ask, words in (
        (lambda: Position(7), "game is 7"),
        (lambda: load(7), "game is 7"),
        (lambda: form.evaluate("uniform"), "strategy is 'uniform', but must be a Strategy"),
        (lambda: form.best_response(2, form.uniform()), "player is 2, but must be 0 or 1"),
        (lambda: unseen.Belief.at(start), "no player is to move; say whose belief"),
        (lambda: unseen.Belief.at(start, 5), "who is 5"),
        (lambda: unseen.Strategy.from_function(form.game, lambda p: None), "the function returned None"),
    ):
        with pytest.raises(UnseenError, match=words):
            ask()


def test_positions_cannot_be_changed_from_outside():
    position = Position(load("kuhn_poker"))
    position.actions.append(99)
    assert position.actions == [0, 1, 2]
    with pytest.raises(UnseenError, match="who is -1"):
        position.seen(position.player)


def test_a_path_with_brackets(tmp_path):
    from helpers import ROOT

    file = tmp_path / "my game (1).py"
    file.write_text((ROOT / "examples/smuggler.py").read_text())
    assert load(f"{file}:Smuggler(values=5)").settings["values"] == 5


def test_a_class_without_the_necessary_says_so():
    class Nothing(Game):
        state = np.dtype([("x", "i1")])

    with pytest.raises(UnseenError, match="Nothing: the class does not define num_actions"):
        Nothing()


def test_random_playouts():
    found = unseen.playouts(load("kuhn_poker"), 50_000, seed=1)
    assert found.mean == pytest.approx(0.125, abs=5 * found.standard_error)
    assert found == unseen.playouts(load("kuhn_poker"), 50_000, seed=1)
    assert found != unseen.playouts(load("kuhn_poker"), 50_000, seed=2)
    assert found.longest == 5


def test_unequal_chance_is_drawn_by_its_probabilities():
    class Loaded(KuhnPoker):
        def chance(self, s, a, n):
            if s.dealt == 0:
                return 0.8 if a == 2 else 0.1
            return 1.0 / n

        def utility(self, s, who):
            return (1.0 if s.card[0] == 2 else 0.0) * (1 - 2 * who)

    assert unseen.playouts(Loaded(), 50_000).mean == pytest.approx(0.8, abs=0.01)
    assert unseen.SequenceForm(Loaded()).value(unseen.Strategy.uniform(Loaded())) == pytest.approx(0.8)

"""The games that OpenSpiel has too: the same moves, the same payoffs, the same information sets."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyspiel
import pytest
from helpers import all_positions
from spiel import spiel_infosets

import unseen
from unseen import Game, Position
from unseen.bench import spiel_name
from unseen.enumeration.infosets import new_recall, new_sets
from unseen.enumeration.walk import COUNT, new_sink
from unseen.enumeration.walker import Walker
from unseen.enumeration.whole import bottom_histories

GOOFSPIELS = [
    f"goofspiel(cards={cards}, order={order}, bids_seen={seen}, payoff={payoff})"
    for cards, order, seen, payoff in [
        (13, "shuffled", True, "win_loss"), (6, "shuffled", False, "point_difference"), (5, "ascending", True, "point_difference"),
        (7, "ascending", False, "win_loss"), (4, "descending", True, "win_loss"), (5, "descending", False, "point_difference"),
    ]
]  # fmt: skip
PLAYED = [
    "kuhn_poker", "leduc_poker", "liars_dice", "liars_dice(dice1=2, dice2=2)", "liars_dice(dice1=3, dice2=3, faces=4)",
    *GOOFSPIELS, "ii_goofspiel(cards=6)", "wl_goofspiel(cards=5)", "pd_goofspiel(cards=5)", "phantom_ttt",
    "phantom_ttt(abrupt=True)", "latent_ttt", "oshi_zumo", "oshi_zumo(coins=50, size=3, min_bid=0, horizon=40)",
    "oshi_zumo(coins=9, size=1, min_bid=2, horizon=12, alesia=True)", "blotto", "blotto(soldiers=7, fields=4)",
    "blotto(soldiers=5, fields=2)",
]  # fmt: skip
GAMES = 300
ENUMERATED = [
    "kuhn_poker", "leduc_poker", "liars_dice(faces=3)", "liars_dice(dice1=2, dice2=2, faces=2)", "ii_goofspiel",
    "wl_goofspiel(cards=3)", "goofspiel(cards=3, bids_seen=False)", "goofspiel(cards=4, order=descending)", "oshi_zumo(coins=5)",
    "blotto(soldiers=4)",
]  # fmt: skip


def spiel_game(game: Game) -> pyspiel.Game:
    return pyspiel.load_game(spiel_name(game))


class SamePartition:
    """Sees to it that each of our information sets is one of OpenSpiel's and the other way round.

    OpenSpiel's players forget the order of open bids in Goofspiel and of all bids in Oshi-Zumo. Ours forget nothing, so there
    several of our sets may be one of OpenSpiel's.
    """

    def __init__(self, game: Game) -> None:
        self.forgetful = game.name == "oshi_zumo" or game.settings.get("bids_seen", False)
        self.ours: dict[str, int] = {}
        self.theirs: dict[int, str] = {}

    def note(self, position: Position, state: pyspiel.State) -> None:
        said = f"{position.player} {state.information_state_string()}"
        assert self.theirs.setdefault(position.infoset, said) == said
        assert self.forgetful or self.ours.setdefault(said, position.infoset) == position.infoset


def play(game: Game, rng: random.Random) -> Iterator[tuple[Position, pyspiel.State]]:
    """Every position of a random game, ours and theirs."""
    position, state = Position(game), spiel_game(game).new_initial_state()
    yield position, state
    while not position.is_terminal:
        action = rng.choice(position.actions)
        if not state.is_terminal():
            state.apply_action(action)
        else:  # OpenSpiel's Goofspiel plays the last cards by itself
            assert len(position.actions) == 1
        position.apply(action)
        yield position, state


@pytest.mark.parametrize("spec", PLAYED)
def test_same_moves_and_payoffs_in_random_games(spec):
    game, rng = unseen.load(spec), random.Random(5)
    pays_half = "goofspiel" in game.name and game.settings["payoff"] == "point_difference"  # OpenSpiel does
    partition = SamePartition(game)
    for _ in range(GAMES):
        for position, state in play(game, rng):
            if position.is_terminal:
                assert state.is_terminal()
                assert [u / 2 if pays_half else u for u in position.utilities] == list(state.returns())
            elif not state.is_terminal():
                assert position.player == state.current_player()
                assert position.actions == state.legal_actions()
                if position.is_chance:
                    chances = dict(zip(position.actions, position.chance_probabilities, strict=True))
                    assert chances == pytest.approx(dict(state.chance_outcomes()))
                else:
                    partition.note(position, state)


@pytest.mark.parametrize("spec", ENUMERATED)
def test_same_information_sets(spec):
    game = unseen.load(spec)
    spiel, partition = spiel_game(game), SamePartition(game)
    for position in all_positions(game):
        state = spiel.new_initial_state()
        for action in position.history:
            if not state.is_terminal():
                state.apply_action(action)
        if position.player >= 0 and not state.is_terminal():
            partition.note(position, state)


def test_all_liars_dice_information_sets_have_names_of_their_own():
    """294,883 histories are too many to walk in Python; one for each of the 24,576 information sets is not."""
    game = unseen.load("liars_dice")
    names = spiel_infosets(game, spiel_game(game))
    assert len(set(names.values())) == len(names) == 24_576


@pytest.mark.parametrize("spec", [
    "phantom_ttt", "phantom_ttt(abrupt=True)", "latent_ttt", "ii_goofspiel(cards=7)", "liars_dice(dice1=2, dice2=2)",
])  # fmt: skip
def test_as_many_histories_of_each_length(spec):
    """For games that are too large to walk to the end in Python: every history of up to four moves."""
    game = unseen.load(spec)
    states = [spiel_game(game).new_initial_state()]
    for length in range(1, 5):
        states = [child for state in states for child in children(state)]
        walker = Walker(game, new_recall(), new_sets(), new_sink(COUNT))
        ours = bottom_histories(walker, length)
        assert ours == [state.history() for state in states]
        names = {(state.current_player(), state.information_state_string()) for state in states if not state.is_chance_node()}
        assert len(names) == len({Position(game, h).infoset for h in ours if Position(game, h).player >= 0})


def children(state: pyspiel.State) -> list[pyspiel.State]:
    return [state.child(action) for action in state.legal_actions()]

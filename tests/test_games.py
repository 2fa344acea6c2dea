"""Every registered game has pinned counts, a golden playthrough, a page, and keeps the protocol; some are OpenSpiel's."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyspiel
import pytest
from helpers import ROOT, SPIEL_NAMES, all_positions, spiel_infosets

import unseen
from unseen import Position, enumerate_game
from unseen.enumeration import example_histories
from unseen.playthrough import as_text, playthrough
from unseen.testing import check_game

HERE = Path(__file__).parent
COUNTS = json.loads((HERE / "counts.json").read_text())


def test_every_game_has_its_papers():
    for name in unseen.names():
        assert name in COUNTS, f"{name} has no pinned counts"
        assert (HERE / "playthroughs" / f"{name}.txt").exists(), f"{name} has no playthrough"
        assert (ROOT / "docs" / "games" / f"{name}.md").exists(), f"{name} has no page"
        doc = unseen.load(name).__doc__ or ""
        for part in ("Rules:", "Players see:", "Payoffs:"):
            assert part in doc, f"{name}: its docstring does not say {part}"


@pytest.mark.parametrize("spec", COUNTS)
def test_counts(spec):
    found = enumerate_game(unseen.load(spec))
    want = COUNTS[spec]
    assert found.histories == want["histories"]
    assert found.terminals == want["terminals"]
    assert list(found.infosets) == want["infosets"]
    assert found.longest == want["max_length"] == unseen.load(spec).max_length


def test_tiny_counts_agree_with_a_walk_in_python():
    for spec in ("kuhn_poker", "xi", "liars_dice(dice1=2, dice2=1, faces=2)"):
        game = unseen.load(spec)
        positions = list(all_positions(game))
        found = enumerate_game(game)
        assert found.histories == len(positions)
        assert found.terminals == sum(p.is_terminal for p in positions)
        assert set(found.keys.tolist()) == {p.infoset for p in positions if p.player >= 0}
        histories = {(p.player, p.seen(p.player)) for p in positions if p.player >= 0}
        assert sum(found.infosets) == len(histories)


@pytest.mark.parametrize("name", unseen.names())
def test_playthrough(name):
    golden = (HERE / "playthroughs" / f"{name}.txt").read_text()
    assert as_text(playthrough(unseen.load(name), seed=1)) + "\n" == golden


@pytest.mark.parametrize(
    "spec",
    [*unseen.names(), "leduc_poker(suits_seen=False)", "leduc_poker(ranks=4, suits=1)", "kuhn_poker(cards=2)",
     "liars_dice(dice1=2, dice2=1, faces=3)", "liars_dice(dice1=5, dice2=5, faces=10)"],
)  # fmt: skip
def test_keeps_the_protocol(spec):
    report = check_game(spec, histories=1500, playouts=30)
    assert report.histories > 0


@pytest.mark.parametrize("name", SPIEL_NAMES)
def test_same_moves_and_payoffs_as_open_spiel(name):
    game, spiel = unseen.load(name), pyspiel.load_game(SPIEL_NAMES[name])
    rng = random.Random(5)
    for _ in range(300):
        position, state = Position(game), spiel.new_initial_state()
        while not position.is_terminal:
            assert not state.is_terminal()
            assert position.actions == state.legal_actions()
            assert position.player == state.current_player()
            if position.is_chance:
                assert dict(zip(position.actions, position.chance_probabilities, strict=True)) == pytest.approx(
                    dict(state.chance_outcomes())
                )
            action = rng.choice(position.actions)
            position.apply(action)
            state.apply_action(action)
        assert state.is_terminal()
        assert position.utilities == tuple(state.returns())


@pytest.mark.parametrize("name", SPIEL_NAMES)
def test_same_information_sets_as_open_spiel(name):
    game, spiel = unseen.load(name), pyspiel.load_game(SPIEL_NAMES[name])
    strings = spiel_infosets(game, spiel)
    assert len(set(strings.values())) == len(strings)
    if name == "liars_dice":  # 294,883 histories are too many to walk in Python; a sample of them must agree
        rng = random.Random(2)
        histories = rng.sample(example_histories(game)[1], 300)
        positions = [Position(game, [*h[:1], rng.randrange(6), *h[2:]]) for h in histories]
    else:
        positions = [p for p in all_positions(game) if p.player >= 0]
    for position in positions:
        state = spiel.new_initial_state()
        for action in position.history:
            state.apply_action(action)
        assert strings[position.infoset] == state.information_state_string()


def test_one_card_poker_m_values():
    from unseen.exact.treeplex import treeplex

    found = enumerate_game(unseen.load("one_card_poker"))
    assert [round(treeplex(found, player).m_value()) for player in (0, 1)] == [45, 32]


def test_leduc_needs_three_cards():
    with pytest.raises(unseen.UnseenError, match="fewer than 3 cards"):
        unseen.load("leduc_poker(ranks=2, suits=1)")

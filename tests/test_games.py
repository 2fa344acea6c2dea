"""Every registered game has pinned counts, a golden playthrough, a page, and keeps the protocol; some are OpenSpiel's."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, all_positions

import unseen
from unseen import enumerate_game
from unseen.show.playthrough import as_text, playthrough
from unseen.testing import check_game

HERE = Path(__file__).parent
COUNTS = json.loads((HERE / "counts.json").read_text())


def test_every_game_has_its_papers():
    for name in unseen.game_names():
        assert any(spec.partition("(")[0] == name for spec in COUNTS), f"{name} has no pinned counts"
        assert (HERE / "playthroughs" / f"{name}.txt").exists(), f"{name} has no playthrough"
        assert (ROOT / "docs" / "games" / f"{name}.md").exists(), f"{name} has no page"
        doc = unseen.load(name).__doc__ or ""
        for part in ("Rules:", "Players see:", "Payoffs:"):
            assert part in doc, f"{name}: its docstring does not say {part}"


@pytest.mark.parametrize("spec", [spec for spec, row in COUNTS.items() if not row.get("long")])
def test_counts(spec):
    """Those marked as long are walked by `make counts`."""
    found = enumerate_game(unseen.load(spec))
    want = COUNTS[spec]
    assert found.histories == want["histories"]
    assert found.terminals == want["terminals"]
    assert list(found.infosets) == want["infosets"]
    assert found.longest == want["max_length"] == unseen.load(spec).max_length


@pytest.mark.parametrize("spec", [spec for spec, row in COUNTS.items() if row["histories"] < 30_000])
def test_small_counts_agree_with_a_walk_in_python(spec):
    game = unseen.load(spec)
    positions = list(all_positions(game))
    found = enumerate_game(game)
    assert found.histories == len(positions)
    assert found.terminals == sum(p.is_terminal for p in positions)
    assert set(found.keys.tolist()) == {p.infoset for p in positions if p.player >= 0}
    assert sum(found.infosets) == len({(p.player, p.seen(p.player)) for p in positions if p.player >= 0})


@pytest.mark.parametrize("name", unseen.game_names())
def test_playthrough(name):
    golden = (HERE / "playthroughs" / f"{name}.txt").read_text()
    assert as_text(playthrough(unseen.load(name), seed=1)) + "\n" == golden


def mentioned_specs() -> list[str]:
    """Every game with parameters that the docs, the README or the pinned counts speak of."""
    texts = [path.read_text() for path in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md")]
    found = re.findall(rf"\b((?:{'|'.join(unseen.game_names())})\([a-z_0-9]+=[^)]*\))", "\n".join(texts))
    return sorted({unseen.load(spec).spec for spec in [*unseen.game_names(), *found, *COUNTS]})


@pytest.mark.parametrize(
    "spec",
    [*mentioned_specs(), "leduc_poker(ranks=4, suits=1)", "kuhn_poker(cards=2)",
     "liars_dice(dice1=5, dice2=5, faces=10, rounds=True)", "princess_and_monster(rows=1, columns=2)",
     "princess_and_monster(rows=10, columns=10, horizon=100)", "blotto(soldiers=20, fields=3)",
     "oshi_zumo(coins=100, size=20, horizon=1000, min_bid=0)", "goofspiel(cards=13, bids_seen=False, payoff=point_difference)",
     "goofspiel(cards=1)", "pd_goofspiel(cards=13, lowest=0, order=descending)"],
)  # fmt: skip
def test_keeps_the_protocol(spec):
    report = check_game(spec, histories=1000, playouts=30, seconds=0)
    assert report.histories > 0


@pytest.mark.parametrize(("spec", "words"), [
    ("goofspiel(cards=0)", "cards is 0, but must be a whole number from 1 to 13"),
    ("ii_goofspiel(cards=14)", "cards is 14, but must be a whole number from 1 to 13"),
    ("goofspiel(order=sideways)", "order is 'sideways', but must be one of ascending, descending, shuffled"),
    ("goofspiel(order=1)", "order is 1, but must be one of"),
    ("goofspiel(payoff=true)", "payoff is True, but must be one of win_loss, point_difference"),
    ("princess_and_monster(rows=1, columns=1)", "must have at least 2 squares"),
    ("princess_and_monster(horizon=2)", "horizon is 2, but must be a whole number from 3 to 100"),
    ("blotto(soldiers=100, fields=5)", "but there may be at most 20,000"),
    ("oshi_zumo(coins=0)", "coins is 0, but must be a whole number from 1 to 100"),
    ("liars_dice(faces=11)", "faces is 11, but must be a whole number from 2 to 10"),
    ("phantom_ttt(abrupt=2)", "abrupt is 2, but must be true or false"),
    ("leduc_poker(ranks=2, suits=1)", "fewer than 3 cards"),
])  # fmt: skip
def test_illegal_parameters_are_refused_with_their_bounds(spec, words):
    with pytest.raises(unseen.UnseenError, match=re.escape(words)):
        unseen.load(spec)


def test_words_as_parameters():
    game = unseen.load("goofspiel(cards=3, order=descending, payoff=point_difference)")
    assert (game.order, game.payoff) == (1, 1)
    assert game.settings["order"] == "descending"
    assert unseen.load(game.spec) == game != unseen.load("goofspiel(cards=3, payoff=point_difference)")
    short = unseen.load("ii_goofspiel(cards=3)")
    assert short.settings == {"cards": 3, "order": "ascending", "bids_seen": False, "payoff": "win_loss", "lowest": 1}
    assert unseen.load("pd_goofspiel").settings == unseen.load("goofspiel(payoff=point_difference)").settings


def test_strategy_files_of_games_with_words(tmp_path):
    uniform = unseen.Strategy.random("ii_goofspiel(cards=3)", seed=1)
    uniform.save(tmp_path / "s")
    assert unseen.Strategy.load(tmp_path / "s").game == unseen.load("ii_goofspiel(cards=3)")
    with pytest.raises(unseen.UnseenError):
        unseen.Strategy.load(tmp_path / "s", "ii_goofspiel(cards=3, order=descending)")


def m_values(spec):
    from unseen.exact.treeplex import treeplex

    found = enumerate_game(unseen.load(spec))
    return [round(treeplex(found, player).m_value()) for player in (0, 1)]


def test_one_card_poker_m_values():
    assert m_values("one_card_poker") == [45, 32]


def test_ii_goofspiel_m_values_by_brute_force():
    """The M-value of the definition, from all orders of cards: what the paper prints for 7 cards does not follow from it."""

    def by_definition(cards):
        total = 0.0
        for length in range(cards):
            orders = list(permutations(range(cards), length))
            results = ({tuple(np.sign(np.subtract(mine, theirs))) for theirs in orders} for mine in orders)
            total += sum(len(r) ** 0.5 for r in results)
        return total

    for cards in (2, 3, 4):
        assert m_values(f"ii_goofspiel(cards={cards})") == [round(by_definition(cards))] * 2


@pytest.mark.parametrize("spec", ["ii_goofspiel", "oshi_zumo", "blotto", "pd_goofspiel(cards=3)"])
def test_symmetric_games_are_worth_nothing_to_uniform_players(spec):
    form = unseen.SequenceForm(spec)
    assert form.value(form.uniform()) == pytest.approx(0.0, abs=1e-12)


def test_a_subclass_may_not_give_a_default_that_is_not_allowed():
    with pytest.raises(unseen.UnseenError, match="order is 'sideways', but must be one of"):
        type("Sideways", (type(unseen.load("goofspiel")),), {"order": "sideways"})


def test_the_princess_is_paid_for_each_free_move():
    game = unseen.load("princess_and_monster(rows=1, columns=2, horizon=6)")
    caught_at_once = unseen.Position(game, [0, 1, 3])  # she walks into the monster
    assert caught_at_once.utilities == (0.0, 0.0)
    caught_later = unseen.Position(game, [0, 1, 2, 2, 2, 1])  # she stays twice, the monster once, then it comes
    assert caught_later.utilities == (3.0, -3.0)
    assert unseen.Position(game, [0, 1, 2, 2, 2, 2]).utilities == (4.0, -4.0)
    assert not unseen.Position(game, [0, 0]).is_terminal


def test_liars_dice_in_rounds():
    game = unseen.load("liars_dice(dice1=3, dice2=2, faces=6, rounds=True)")

    def after(*bids, dice=(0, 0, 1, 2, 3)):
        return unseen.Position(game, [*dice, *bids, game.call()])

    def bid(quantity, face):
        return (quantity - 1) * 6 + face - 1

    wrong_caller = after(bid(2, 1))  # two ones are there: the second player was wrong to call and loses a die
    assert wrong_caller.state.dice.tolist() == [3, 1]
    assert [wrong_caller.child(0).child(0).child(0).child(0).player, wrong_caller.player] == [1, -1]
    assert after(bid(3, 1)).state.dice.tolist() == [2, 2]  # one is missing
    assert after(bid(4, 1)).state.dice.tolist() == [1, 2]  # two are missing
    assert after(bid(5, 1)).utilities == (-1.0, 1.0)  # three are missing: the bidder has no dice left
    assert after(bid(5, 6), dice=(5, 0, 0, 0, 0)).utilities == (-1.0, 1.0)  # four are missing, but it has only three
    assert after(bid(5, 1), dice=(5, 0, 0, 5, 0)).state.dice.tolist() == [3, 1]  # wild ones count

"""Enumeration: exact information sets, colliding keys noticed, room made as needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers import TINY, all_positions

from unseen import GameFault, Position, SequenceForm, UnseenError, enumerate_game, load
from unseen.enumeration import walker, whole
from unseen.enumeration.walker import check_keys
from unseen.enumeration.whole import example_histories
from unseen.exact import payoffs
from unseen.games.kuhn_poker import KuhnPoker


def test_colliding_keys_are_noticed():
    found = enumerate_game(load("kuhn_poker"))
    found.recall.key[found.sets.node[3]] = found.recall.key[found.sets.node[7]]
    with pytest.raises(GameFault, match="share a 64-bit key"):
        check_keys(found)


WEAK = """
import numpy as np
import unseen.enumeration.infosets as infosets
from unseen import GameFault, enumerate_game, load
from unseen.enumeration.whole import Walker
from unseen.enumeration.walk import COUNT, new_sink

infosets.extend_key = lambda key, own, public, private: np.uint64(7)
game = load("kuhn_poker")
walker = Walker(game, infosets.new_recall(), infosets.new_sets(), new_sink(COUNT))
walker.run()
print(walker.sets.sizes[0])
try:
    enumerate_game(game)
except GameFault as fault:
    print(fault)
"""


def test_information_sets_are_exact_even_if_every_key_is_the_same():
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", WEAK], capture_output=True, text=True, env=env, check=False)
    assert done.stdout.startswith("12\n"), done.stderr
    assert "share a 64-bit key" in done.stdout


@pytest.mark.parametrize("spec", TINY)
def test_keys_and_examples(spec):
    game = load(spec)
    found, histories = example_histories(game)
    assert [Position(game, h).infoset for h in histories] == found.keys.tolist()
    assert [Position(game, h).player for h in histories] == found.sets.player.tolist()
    assert set(found.keys.tolist()) == {p.infoset for p in all_positions(game) if p.player >= 0}


def test_parents_come_first_and_lead_to_their_children():
    game = load("leduc_poker")
    found, histories = example_histories(game)
    for j, history in enumerate(histories):
        position = Position(game, history)
        own = [(k, a) for k, a in enumerate(history) if Position(game, history[:k]).player == position.player]
        if not own:
            assert found.sets.parent[j] == 0
            continue
        k, action = own[-1]
        before = Position(game, history[:k])
        parent = int(np.flatnonzero(found.keys == np.uint64(before.infoset))[0])
        assert parent < j
        assert found.sets.parent[j] == found.sets.first[parent] + before.actions.index(action)


def test_memory_follows_information_sets_not_histories():
    small, large = (enumerate_game(load(f"one_card_poker(cards={n})")) for n in (100, 400))
    assert large.histories > 15 * small.histories
    assert large.nbytes < 6 * small.nbytes


def test_progress_is_reported():
    seen = []
    enumerate_game(load("one_card_poker"), progress=seen.append)
    assert seen[-1] == 2_246_001
    assert len(seen) >= 2


@pytest.fixture
def split(monkeypatch):
    """Let small games be walked in parts as if they were large."""
    monkeypatch.setattr(walker, "HISTORIES_PER_CALL", 20)
    monkeypatch.setattr(whole, "NODES_PER_HISTORY", 10.0)
    for module in (whole, payoffs):
        monkeypatch.setattr(module, "LARGE", 20)
        monkeypatch.setattr(module, "PARTS_PER_WORKER", 3)
    monkeypatch.setattr(payoffs, "core_count", lambda workers: 3)


SPLIT = ("kuhn_poker", "leduc_poker", "ii_goofspiel", "liars_dice(dice1=1, dice2=2, faces=2)", "wl_goofspiel(cards=3)",
         "oshi_zumo(coins=4)", "princess_and_monster(rows=2, columns=2, horizon=6)")  # fmt: skip


@pytest.mark.parametrize("spec", SPLIT)
@pytest.mark.parametrize("workers", [2, 5])
def test_walking_in_parts_gives_the_same_to_the_last_bit(split, spec, workers):
    game = load(spec)
    one, many = (enumerate_game(game, store=True, workers=n) for n in (1, workers))
    assert (one.histories, one.terminals, one.longest) == (many.histories, many.terminals, many.longest)
    nodes = one.recall.size[0]
    for a, b in zip(one.recall, many.recall, strict=True):
        if len(a) != len(one.recall.slots):
            np.testing.assert_array_equal(a[:nodes], b[:nodes])
    for a, b in zip((*one.sets, *one.sink[1:-1]), (*many.sets, *many.sink[1:-1]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("spec", SPLIT)
def test_streaming_in_parts_gives_the_same_numbers(split, spec):
    stored, streamed = SequenceForm(spec), SequenceForm(spec, streamed=True)
    assert streamed.payoffs.workers == 3
    for strategy in (stored.uniform(), stored.random(3), stored.best_response(1, stored.random(4))[1]):
        a, b = stored.evaluate(strategy), streamed.evaluate(strategy)
        assert a.best_response == pytest.approx(b.best_response, abs=1e-12)
        assert a.value == pytest.approx(b.value, abs=1e-12)


def test_progress_of_parts_ends_with_the_number_of_histories(split):
    seen = []
    enumerate_game(load("leduc_poker"), progress=seen.append, workers=3)
    assert seen[-1] == 9457


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_is_bounded(split, workers):
    game = load("liars_dice")
    free = enumerate_game(game, workers=workers)
    assert free.nbytes <= free.peak < 20_000_000
    with pytest.raises(UnseenError, match=r"more than 0.001 GB of memory, its bound .*; that was clear after [\d,]+ histories"):
        enumerate_game(game, workers=workers, memory=1_000_000)
    enough = free.peak if workers == 1 else 3 * free.peak  # how many parts are held at a time is a matter of chance
    assert enumerate_game(game, workers=workers, memory=enough).histories == free.histories


def test_progress_of_streaming_ends_with_the_number_of_histories(split):
    seen = []
    form = SequenceForm("leduc_poker", streamed=True, progress=seen.append)
    seen.clear()
    form.evaluate(form.uniform())
    assert seen == sorted(seen)
    assert seen[-1] == 9457


@pytest.mark.parametrize(("arguments", "words"), [
    ({"workers": 0}, "workers is 0, but must be a whole number, at least 1"), ({"workers": "2"}, "workers is '2', but must be"),
    ({"workers": 1.5}, "workers is 1.5, but must be"), ({"memory": -5}, "memory is -5, but must be a number of bytes above 0"),
])  # fmt: skip
def test_wrong_arguments(arguments, words):
    with pytest.raises(UnseenError, match=re.escape(words)):
        enumerate_game(load("kuhn_poker"), **arguments)


class Inconsistent(KuhnPoker):
    """The second player may not bet with a king if the first has a jack, which it does not know."""

    def actions(self, s, out):
        if s.dealt < 2:
            n = 0
            for card in range(3):
                if card != s.card[0]:
                    out[n] = card
                    n += 1
            return n
        out[0] = 0
        out[1] = 1
        return 1 if s.moves == 1 and s.card[0] == 1 and s.card[1] == 2 else 2


def test_a_fault_that_shows_only_between_parts_is_named(split, untried):
    with pytest.raises(GameFault, match=r"offered other actions at an earlier history, at history \[1, 2, 0\]"):
        enumerate_game(Inconsistent(), workers=2)

"""Enumeration: exact information sets, colliding keys noticed, room made as needed."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers import TINY, all_positions

from unseen import GameFault, Position, enumerate_game, load
from unseen.enumeration import check_keys, example_histories


def test_colliding_keys_are_noticed():
    found = enumerate_game(load("kuhn_poker"))
    found.recall.key[found.sets.node[3]] = found.recall.key[found.sets.node[7]]
    with pytest.raises(GameFault, match="share a 64-bit key"):
        check_keys(found)


WEAK = """
import numpy as np
import unseen.infosets as infosets
from unseen import GameFault, enumerate_game, load
from unseen.enumeration import Walker, new_sink, COUNT

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

"""The keys of what both players have seen, kept along a history."""

from __future__ import annotations

from unseen.compiling import piece
from unseen.engine import extend_key, own_part, root_key
from unseen.game import PUBLIC


@piece
def root_keys(keys):
    """Nobody has seen anything, in row 0 of `keys`, shape (depths, 2)."""
    keys[0, 0] = root_key(0)
    keys[0, 1] = root_key(1)


@piece
def extend_both(keys, depth, mover, a, tell):
    """Row `depth + 1` of `keys`, after `mover` played `a` and the game told what is in `tell`."""
    for viewer in range(2):
        own = own_part(viewer, mover, a)
        is_silent = own == 0 and tell[PUBLIC] == 0 and tell[viewer] == 0
        key = keys[depth, viewer]
        keys[depth + 1, viewer] = key if is_silent else extend_key(key, own, tell[PUBLIC], tell[viewer])

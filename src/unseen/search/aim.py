"""Leading simulations to where the play is: which moves keep a simulation on the *target*, i.e. on the way to a history that fits.

The target of information set targeting is what the searching player has seen; that of public subgame targeting, what everybody has
(M. Lanctot, V. Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo counterfactual regret
minimization", 2014). The trellis of the belief engine knows which moves stay on it. If there is no trellis because it would be too
large, percepts are compared as they come, and a simulation that finds no move on target goes on without one; how likely each
simulation was is known in either case.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.belief.belief import DEFAULT_CAP, Belief
from unseen.belief.trellis import ANYONE, draw_edge, is_end, match_percept
from unseen.compiling import piece
from unseen.engine import own_part, private_part, step
from unseen.errors import UnseenError
from unseen.game import PUBLIC, Game
from unseen.position import Percept

FREE = -1
"""In place of a node: the target has been reached, or there is none; every move will do."""
LOST = -2
"""In place of a node: the target cannot be reached any more."""
NO_PERCEPTS = np.zeros((0, 3), np.int64)


class Aim(NamedTuple):
    """A target for the search loop: `n` nodes of a trellis, `e` edges. Without one, a node is how many percepts fit so far."""

    first: NDArray[np.int64]  # (n + 1,) where the edges of each node begin
    action: NDArray[np.int64]  # (e,)
    action_index: NDArray[np.int64]  # (e,) the index of the action among the legal ones
    child: NDArray[np.int64]  # (e,)
    ends: NDArray[np.bool_]  # (n,) whether the target is reached there
    shares: NDArray[
        np.float64
    ]  # (e,) the part of the target's histories at its node that go on by an edge, by what chance gives them
    percepts: NDArray[np.int64]  # (t, 3) what the viewer has seen
    viewer: int
    to_move: int
    is_exact: bool
    is_active: bool


def no_aim() -> Aim:
    """No target: simulations go where they like."""
    none = np.zeros(0, np.int64)
    return Aim(np.zeros(1, np.int64), none, none, none, np.zeros(0, np.bool_), np.zeros(0), NO_PERCEPTS, 0, ANYONE, True, False)


def aim_at(game: Game, viewer: int, seen: Iterable[Percept], cap: int = DEFAULT_CAP, until: float = inf) -> Aim:
    """The histories that fit what a player has seen and at which it moves; or, for PUBLIC, that fit what everybody has seen.

    Without a trellis if that is larger than `cap` or not done by the time `until`.
    """
    to_move = None if viewer == PUBLIC else viewer
    belief = Belief(game, viewer, seen, to_move, cap, shortest=True, until=until)
    percepts = np.array(belief.seen, np.int64).reshape(-1, 3)
    mover = ANYONE if to_move is None else to_move
    if not belief.exact:
        return no_aim()._replace(percepts=percepts, viewer=viewer, to_move=mover, is_exact=False, is_active=True)
    if not belief.count:
        raise UnseenError(f"{game.spec}: no history fits what player {viewer} has seen, so there is nothing to search.")
    trellis = belief.trellis
    return Aim(
        trellis.first, trellis.action, belief.action_index, trellis.child, trellis.ends, belief.chance_shares, percepts, viewer,
        mover, True, True,
    )  # fmt: skip


@piece
def arrived(game, s, node, aim):
    """The node that a simulation is at, or FREE if the target is reached there."""
    if aim.is_exact:
        return FREE if aim.ends[node] else node
    return FREE if is_end(game, s, node, len(aim.percepts), aim.to_move) else node


@piece
def has_others(aim, node, n):
    """Whether the target has actions at a node that are not among the `n` of its information set, so that the game is broken."""
    return aim.is_exact and aim.first[node] < aim.first[node + 1] and aim.action_index[aim.first[node + 1] - 1] >= n


@piece
def edges(game, s, p, node, aim, work, n):
    """The moves that stay on target, as indices among the `n` in `work.out`, and the nodes that they lead to."""
    if aim.is_exact:
        first, last = aim.first[node], aim.first[node + 1]
        return aim.action_index[first:last], aim.child[first:last]
    found = 0
    for k in range(n):
        work.spare[0] = s
        step(game, work.spare[0], work.out[k], work.tell)
        own, private = own_part(aim.viewer, p, work.out[k]), private_part(aim.viewer, work.tell)
        t = match_percept(aim.percepts, node, own, work.tell[PUBLIC], private)
        if t >= 0:
            work.pairs[found] = k
            work.pairs[len(work.out) + found] = t
            found += 1
    return work.pairs[:found], work.pairs[len(work.out) : len(work.out) + found]


@piece
def edge_to_world(first, shares, node, rng):
    """An edge of a node of the trellis, drawn so that histories of the target are as likely as chance makes them."""
    return min(draw_edge(first[node], first[node + 1], shares, rng), first[node + 1] - 1)

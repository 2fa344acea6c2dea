"""Where simulations begin, and with what weight: at the start of the game, at histories of a list, or where a belief says.

A root is a history with two numbers. The first is how likely it is drawn. The second, one for each player, is what updates of
that player's regrets are multiplied with: the probability with which chance and the other player come there, over that of drawing
it. At the start of the game both are 1. A search that begins at all histories of a public state, so weighted, learns there what
one from the start of the game would learn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.belief.belief import DEFAULT_CAP, Belief
from unseen.compiling import piece
from unseen.engine import is_proper, next_key, pick, random, random_index, step
from unseen.errors import UnseenError
from unseen.game import CHANCE, PUBLIC, Game
from unseen.position import Percept, Position
from unseen.search.aim import FREE, arrived, edge_to_world, edges
from unseen.search.flights import Records, records
from unseen.tabular.strategy import Strategy

ROOT = np.dtype([
    ("key0", "u8"),  # of what each player has seen
    ("key1", "u8"),
    ("seen0", "i8"),  # how many percepts that is
    ("seen1", "i8"),
    ("until", "f8"),  # the probability of drawing this root or one before it
    ("weight0", "f8"),  # of updates for each player
    ("weight1", "f8"),
])  # fmt: skip


class Roots(NamedTuple):
    """Histories at which simulations begin: `r` of them."""

    states: NDArray[Any]  # (r,) of the game
    root: Records  # (r,) ROOT
    seen: NDArray[np.int64]  # (r, 2, l, 3) percepts of each player


def at_start(game: Game) -> Roots:
    """The start of the game."""
    return at_histories(game, [()])


def at_histories(game: Game, histories: Iterable[Sequence[int]], weights: ArrayLike | None = None) -> Roots:
    """A list of histories, drawn in proportion to their weights (by default all alike, and 1 together).

    `weights` has shape (r,), or (r, 2): for each player the probability with which chance and its opponent come there.
    """
    positions = [Position(game, history) for history in histories]
    if not positions:
        raise UnseenError(f"{game.spec}: there is no history to begin at.")
    count = len(positions)
    given = np.full(count, 1.0 / count) if weights is None else np.asarray(weights, float)
    if given.ndim == 1:
        given = np.repeat(given[:, None], 2, axis=1)
    drawn = given.sum(axis=1)
    if given.shape != (count, 2) or not (given >= 0.0).all() or not (drawn > 0.0).all() or not np.isfinite(given).all():
        raise UnseenError(f"weights are {weights!r}, but must be {count} numbers above 0, or as many pairs of them.")
    drawn /= drawn.sum()
    states, root = game.new_states(count), records(ROOT, count)
    seen = np.zeros((count, 2, game.max_length, 3), np.int64)
    for r, position in enumerate(positions):
        position.state.write(states[r : r + 1])
        for player in (0, 1):
            percepts = position.seen(player)
            seen[r, player, : len(percepts)] = np.array(percepts, np.int64).reshape(-1, 3)
            root[f"key{player}"][r] = position.key(player)
            root[f"seen{player}"][r] = len(percepts)
            root[f"weight{player}"][r] = given[r, player] / drawn[r]
    root.until = np.cumsum(drawn)
    return Roots(states, root, seen)


def at_public_state(game: Game, seen: Iterable[Percept], strategy: Strategy | None = None, cap: int = DEFAULT_CAP) -> Roots:
    """All histories that fit what everybody has seen, weighted by reach probabilities under a strategy (by default, the even one).

    Those that only go on, in silence, from one that fits are left out.
    """
    strategy = strategy or Strategy.uniform(game)
    histories, weights = [], []
    for history in Belief(game, PUBLIC, seen, cap=cap, shortest=True).histories():
        weight = np.ones(2)
        position = Position(game)
        for action in history:
            if position.is_chance:
                weight *= position.chance_probabilities[position.actions.index(action)]
            else:
                weight[1 - position.player] *= strategy[position][action]
            position.apply(action)
        if weight.any():
            histories.append(history)
            weights.append(weight)
    return at_histories(game, histories, np.array(weights).reshape(-1, 2))


@piece
def draw_root(root, rng):
    """The index of a root, drawn by its probability."""
    u = random(rng)
    r = 0
    while r < len(root) - 1 and u >= root[r].until:
        r += 1
    return r


@piece
def begin(game, rule, leaf, aim, roots, flights, f, work):
    """Put flight `f` at a root. Returns whether it has come to where it may learn: those that jump to a world can get stuck."""
    r = draw_root(roots.root, work.rng) if len(roots.root) > 1 else 0
    flights.states[f] = roots.states[r]
    root, flight = roots.root[r], flights.flight[f]
    flight.key0 = root.key0
    flight.key1 = root.key1
    flight.steps = 0
    flight.own = 1.0 / (root.weight0 if flight.number & 1 == 0 else root.weight1)
    flight.node = FREE
    leaf.has_seen(flight, flights.seen[f], root, roots.seen[r])
    if aim.is_active:
        flight.node = arrived(game, flights.states[f], 0, aim)
        return rule.go_ahead(game, leaf, aim, flights, f, work)
    return True


@piece
def jump(game, leaf, aim, flights, f, work):
    """Play on to a history of the target, each drawn in proportion to the probability of its chance outcomes if there is a trellis.

    Without one, players' moves on target are equally likely, and outcomes on target as likely as chance makes them. Returns False
    if stuck.
    """
    s, flight = flights.states[f], flights.flight[f]
    node = flight.node
    while node >= 0:
        if flight.steps == flights.choices.shape[1]:
            return False
        p = game.player(s)
        if aim.is_exact:
            e = edge_to_world(aim.first, aim.shares, node, work.rng)
            a, node = aim.action[e], aim.child[e]
        else:
            n = game.actions(s, work.out)
            if not is_proper(work.out, n):
                return False
            indices, children = edges(game, s, p, node, aim, work, n)
            if len(indices) == 0:
                return False
            if p == CHANCE and not game.uniform_chance:
                total = 0.0
                for k in range(len(indices)):
                    work.chances[k] = game.chance(s, work.out[indices[k]], n)
                    total += work.chances[k]
                e = pick(work.chances, 0, len(indices), total, work.rng)
            else:
                e = random_index(len(indices), work.rng)
            a, node = work.out[indices[e]], children[e]
        move(game, leaf, s, flight, flights.seen[f], p, a, work.tell)
        node = arrived(game, s, node, aim)
    flight.node = FREE
    return True


@piece
def move(game, leaf, s, flight, seen, p, a, tell):
    """Let `p` play `a`, and both players see what they see of it."""
    step(game, s, a, tell)
    flight.steps += 1
    flight.key0 = next_key(flight.key0, 0, p, a, tell)
    flight.key1 = next_key(flight.key1, 1, p, a, tell)
    leaf.saw(flight, seen, p, a, tell)

"""Stepping a game in compiled code: what players are told, the keys of information sets, random numbers, playouts.

A *percept* is what one step of the game tells one viewer: (own, public, private), where `own` is 1 + the action if the viewer
made the move and 0 otherwise. A viewer's action-observation history is the sequence of its percepts that are not (0, 0, 0);
its 64-bit key is the fold of `extend_key` over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.errors import GameFault
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game

GAMES_PER_CALL = 100_000


@piece
def mix(x):
    """A bijection on 64-bit numbers in which each input bit changes half of the output bits (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@piece
def root_key(viewer):
    """The key of having seen nothing; players 0 and 1 and the public have different ones."""
    return mix(np.uint64(viewer + 1))


@piece
def extend_key(key, own, public, private):
    """The key of a history that goes on with one more percept."""
    return mix(
        key
        + np.uint64(own) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(public) * np.uint64(0xD1B54A32D192ED03)
        + np.uint64(private) * np.uint64(0x8CB92BA72F3D8DD7)
    )


@piece
def own_part(viewer, mover, a):
    """The first part of the percept that `viewer` has of `mover` playing `a`."""
    return a + 1 if viewer == mover else 0


@piece
def private_part(viewer, tell):
    """The last part of a percept: the public gets no private token."""
    return tell[viewer] if viewer != PUBLIC else 0


@piece
def next_key(key, viewer, mover, a, tell):
    """The key of what `viewer` has seen, after `mover` played `a` and the game told what is in `tell`. Silence changes nothing."""
    own = own_part(viewer, mover, a)
    if own == 0 and tell[PUBLIC] == 0 and tell[viewer] == 0:
        return key
    return extend_key(key, own, tell[PUBLIC], tell[viewer])


@piece
def step(game, s, a, tell):
    """Play `a` in `s`; `tell` holds what the game says about it."""
    tell[0] = 0
    tell[1] = 0
    tell[PUBLIC] = 0
    game.apply(s, a, tell)


@piece
def random(rng):
    """A number in [0, 1) from the SplitMix64 generator whose state is `rng[0]`."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    return (mix(rng[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@piece
def sample_chance(game, s, out, n, rng):
    """The place in `out` of a chance outcome, drawn by its probability."""
    if game.uniform_chance:
        return int(random(rng) * n)
    u = random(rng)
    for k in range(n - 1):
        u -= game.chance(s, out[k], n)
        if u < 0.0:
            return k
    return n - 1


@kernel
def play_randomly(game, states, out, tell, n_games, max_length, rng, totals):
    """`n_games` playouts with uniformly random players; `totals` gets payoffs, squares, lengths, the longest, the largest.

    Returns False if a game broke the protocol: it went on past `max_length`, or did not offer a proper number of actions.
    """
    s = states[0]
    for _ in range(n_games):
        game.start(s)
        length = 0
        p = game.player(s)
        while p != TERMINAL:
            n = game.actions(s, out)
            if n <= 0 or n > len(out) or length == max_length:
                return False
            k = sample_chance(game, s, out, n, rng) if p == CHANCE else int(random(rng) * n)
            step(game, s, out[k], tell)
            length += 1
            p = game.player(s)
        u = game.utility(s, 0)
        totals[4] = max(totals[4], abs(u))
        totals[0] += u
        totals[1] += u * u
        totals[2] += length
        totals[3] = max(totals[3], length)
    return True


def random_state(seed: int) -> NDArray[np.uint64]:
    """A generator for kernels, from a seed of any size."""
    return np.random.SeedSequence(seed).generate_state(2).view(np.uint64)


@dataclass(frozen=True)
class Playouts:
    """What uniformly random play looks like: number of games, player 0's mean payoff with its standard error, lengths."""

    games: int
    mean: float
    standard_error: float
    mean_length: float
    longest: int
    largest: float
    """The largest payoff, of either player."""


def playouts(game: Game, games: int, seed: int = 0) -> Playouts:
    """Play `games` games with uniformly random players."""
    from unseen.position import try_out  # positions need this module's keys

    try_out(game)
    totals, rng, states, arrays = np.zeros(5), random_state(seed), game.new_states(1), scratch(game)
    for done in range(0, games, GAMES_PER_CALL):  # so that Ctrl-C is noticed in between
        if not play_randomly(game, states, *arrays, min(GAMES_PER_CALL, games - done), game.max_length, rng, totals):
            raise GameFault(f"{game.spec}: a random game broke the protocol; `unseen check` says where.")
    mean = totals[0] / games
    variance = max(totals[1] / games - mean * mean, 0.0)
    return Playouts(games, mean, sqrt(variance / max(games - 1, 1)), totals[2] / games, int(totals[3]), float(totals[4]))


@lru_cache(maxsize=64)
def largest_payoff(game: Game) -> float:
    """The largest payoff of either player in a thousand random games; at least a little."""
    return max(playouts(game, 1000).largest, 1e-9)


def scratch(game: Game) -> tuple[NDArray[Any], NDArray[Any]]:
    """`out` and `tell`: the arrays that `actions` and `apply` write to."""
    return np.zeros(game.width, np.int64), np.zeros(3, np.int64)

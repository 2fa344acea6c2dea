"""What uniformly random play of a game looks like, from many games in compiled code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from unseen.compiling import kernel
from unseen.engine import random_action, random_state, scratch, step
from unseen.errors import GameFault, UnseenError
from unseen.game import TERMINAL, Game
from unseen.loading import load

GAMES_PER_CALL = 100_000


@kernel
def play_randomly(game, states, out, tell, n_games, max_length, rng, totals):
    """`n_games` playouts with uniformly random players; `totals`, shape (6,), gets payoffs, squares, lengths, the longest, the
    largest payoff and the smallest that is not 0.

    Returns False if a game broke the protocol: it went on past `max_length`, or did not offer a proper number of actions.
    """
    s = states[0]
    for _ in range(n_games):
        game.start(s)
        length = 0
        p = game.player(s)
        while p != TERMINAL:
            a = random_action(game, s, p, out, rng)
            if a < 0 or length == max_length:
                return False
            step(game, s, a, tell)
            length += 1
            p = game.player(s)
        u = game.utility(s, 0)
        totals[4] = max(totals[4], abs(u))
        if u != 0.0:
            totals[5] = min(totals[5], abs(u))
        totals[0] += u
        totals[1] += u * u
        totals[2] += length
        totals[3] = max(totals[3], length)
    return True


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
    smallest: float
    """The smallest payoff that is not 0, of either player; infinite if there is none."""


def playouts(game: Game | str, games: int, seed: int = 0) -> Playouts:
    """Play `games` games with uniformly random players, by `seed`. `game` is a game, or what names one."""
    game = load(game)
    if games < 1:
        raise UnseenError(f"games is {games}, but must be at least 1.")
    totals, rng, states, arrays = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf]), random_state(seed), game.new_states(1), scratch(game)
    for done in range(0, games, GAMES_PER_CALL):  # so that Ctrl-C is noticed in between
        if not play_randomly(game, states, *arrays, min(GAMES_PER_CALL, games - done), game.max_length, rng, totals):
            raise GameFault(f"{game.spec}: a random game broke the protocol; `unseen check` says where.")
    mean = totals[0] / games
    variance = max(totals[1] / games - mean * mean, 0.0)
    return Playouts(games, mean, sqrt(variance / max(games - 1, 1)), totals[2] / games, int(totals[3]), *map(float, totals[4:]))


@lru_cache(maxsize=64)
def sampled(game: Game) -> Playouts:
    """A thousand random games."""
    return playouts(game, 1000)


def largest_payoff(game: Game) -> float:
    """The largest payoff of either player in a thousand random games; at least a little."""
    return max(sampled(game).largest, 1e-9)


def is_won_or_lost(game: Game) -> bool:
    """Whether a game pays one size only, or nothing for a draw, by a thousand random games."""
    return sampled(game).smallest in (sampled(game).largest, np.inf)

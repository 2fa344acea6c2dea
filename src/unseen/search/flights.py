"""Simulations under way: where each stands, and the choices that it made at nodes of the tree.

Most searches have one simulation in the air at a time. If the leaf has to wait for an answer from outside, many are, and each
goes on when its answer has come. All that a simulation needs to go on is here, and none of it changes when others learn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.engine import own_part, whole_states
from unseen.game import PUBLIC, Game
from unseen.tabular.table import Table

IDLE, IN_THE_AIR, WAITING, ANSWERED = range(4)
"""What a flight is doing: nothing; simulating; waiting for an answer from outside; it has got one."""

FLIGHT = np.dtype([
    ("status", "i8"),
    ("number", "i8"),  # of the simulation; even ones update player 0
    ("key0", "u8"),  # of what each player has seen
    ("key1", "u8"),
    ("seen0", "i8"),  # how many percepts that is, if the leaf asks for them
    ("seen1", "i8"),
    ("player", "i8"),  # to move, while it waits
    ("steps", "i8"),  # moves since the root
    ("node", "i8"),  # at the root: of the trellis, FREE, or how many percepts fit
    ("own", "f8"),  # at the root: 1 over the weight of its updates, times the running mean of s1 / s2 if that scales them
    ("ratio", "f8"),  # s1 / s2 at the end
    ("g", "f8"),  # delta s1 / s2 + 1 - delta at the end
    ("depth", "i8"),  # how many choices it made
    ("value", "f8"),  # the payoff to player 0, or the answer that stands for it
])  # fmt: skip
CHOICE = np.dtype([
    ("player", "i8"),  # whose it was
    ("node", "i8"),  # its place in the table
    ("taken", "i8"),  # the index of the action; at a joint node, of player 0's, and the second of player 1's
    ("second", "i8"),
    ("drawn", "f8"),  # the probability of drawing it, if not led
    ("drawn_second", "f8"),
    ("chosen", "f8"),  # the probability that its player's behaviour gave to it
    ("chosen_second", "f8"),
    ("own", "f8"),  # the probability of drawing the update player's earlier choices, if not led
    ("before", "f8"),  # delta s1 / s2 + 1 - delta before the choice
    ("after", "f8"),  # and after it
    ("baseline", "i8"),  # where the baselines of the history's actions begin, or NOWHERE
    ("expected", "f8"),  # what the baselines expected of the behaviour
])  # fmt: skip
TOTALS = np.dtype([
    ("weight", "f8"),  # what all simulations so far count in averages
    ("now", "f8"),  # what this one counts
    ("ratio", "f8"),  # the running mean of s1 / s2, by which ExIt-OOS divides all weights
])  # fmt: skip


Records = Any
"""Arrays of records, whose fields are attributes."""


class Flights(NamedTuple):
    """`f` simulations, each with up to `l` choices; `w` is the most actions that a history can offer."""

    states: NDArray[Any]  # (f,) of the game: the history at which it stands
    words: NDArray[np.uint64]  # (f, k) the same memory
    flight: Records  # (f,) FLIGHT
    choices: Records  # (f, l) CHOICE
    then: NDArray[np.float64]  # (f, l, w) the baselines of the actions at each choice, as they were when it was made
    answer: NDArray[np.float64]  # (f, w) the probabilities of the legal actions, from outside
    seen: NDArray[np.int64]  # (f, 2, l, 3) percepts of each player, if the leaf asks for them


class Work(NamedTuple):
    """Arrays to write on while simulating, and the source of random numbers."""

    out: NDArray[np.int64]  # (w,) actions
    pairs: NDArray[np.int64]  # (2 w,) two lists: moves that stay on target and where they lead, or both players' actions
    tell: NDArray[np.int64]  # (3,) tokens
    chances: NDArray[np.float64]  # (2 w,) probabilities of actions
    spare: NDArray[Any]  # (1,) a state
    rng: NDArray[np.uint64]  # (1,)


class Memory(NamedTuple):
    """What a search has learnt."""

    table: Table
    baselines: Table  # of histories
    totals: Records  # (1,) TOTALS


def records(dtype: np.dtype[Any], *shape: int) -> Records:
    """Records whose fields are attributes."""
    return np.zeros(shape, dtype).view(np.recarray)


def new_flights(game: Game, flights: int, keeps_percepts: bool) -> Flights:
    """Flights that are all idle."""
    f, length = flights, game.max_length
    seen = np.zeros((f, 2, length if keeps_percepts else 0, 3), np.int64)
    then, answer = np.zeros((f, length, game.width)), np.zeros((f, game.width))
    return Flights(*whole_states(game, f), records(FLIGHT, f), records(CHOICE, f, length), then, answer, seen)


def new_work(game: Game, rng: NDArray[np.uint64]) -> Work:
    w = game.width
    out, pairs, tell = np.zeros(w, np.int64), np.zeros(2 * w, np.int64), np.zeros(3, np.int64)
    return Work(out, pairs, tell, np.zeros(2 * w), game.new_states(1), rng)


def new_totals() -> Records:
    totals = records(TOTALS, 1)
    totals.now, totals.ratio = 1.0, 1.0
    return totals


@piece
def note_percepts(flight, seen, mover, a, tell):
    """Add what both players saw of a step to what they have `seen`, shape (2, l, 3)."""
    for viewer in range(2):
        own = own_part(viewer, mover, a)
        if own != 0 or tell[PUBLIC] != 0 or tell[viewer] != 0:
            at = flight.seen0 if viewer == 0 else flight.seen1
            seen[viewer, at, 0] = own
            seen[viewer, at, 1] = tell[PUBLIC]
            seen[viewer, at, 2] = tell[viewer]
            if viewer == 0:
                flight.seen0 = at + 1
            else:
                flight.seen1 = at + 1

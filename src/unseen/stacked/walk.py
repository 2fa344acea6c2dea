"""Games that are matrix games stacked on one another, by backward induction over states.

If both players know all but the move that is being made at the same time, a state is worth what the matrix game of its joint
moves is worth, with the worth of the next states as payoffs; chance is averaged. Depth first, each state is solved once, after all
that can follow it; a table remembers its worth. The game may say which states are the same but for what is decided already
(`Game.reduced`), and which are over but for the playing (`Game.settled`).

Several threads walk at once, from different ends, and share the table: where one comes to what another has solved, it is done.
Which of them solves a state makes no difference, since its worth is computed from the same numbers in the same order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import step, whole_states
from unseen.game import CHANCE, TERMINAL, Game
from unseen.stacked.simplex import Simplex, new_simplex, solve_matrix
from unseen.stacked.table import Folding, Words, find, folded, hash_of, remember

DONE, PAUSED, FULL, MET_OTHERS, TOO_LONG, BAD_COUNT, BAD_TURN, BAD_UTILITY, UNEVEN = range(9)
FAULTS = {
    TOO_LONG: "the game goes on past max_length",
    BAD_COUNT: "actions() offers none, or more than num_actions or num_outcomes allow, or not the same whatever the other does",
    BAD_UTILITY: "the utilities, the probabilities of chance or what reduced() returns are not finite numbers",
    UNEVEN: "the fields that chance_fields names do not go with the rest of the state (see unseen check)",
    BAD_TURN: "the game is marked simultaneous, but its moves are not 0 and then 1",
}
NOT_YET = -1

FRAME = np.dtype([
    ("outcomes", "i8"),  # how many of chance, or 1 if the players choose
    ("outcome", "i8"),  # how many of them are done
    ("rows", "i8"),  # of the matrix game after the present outcome
    ("columns", "i8"),
    ("cells", "i8"),  # how many next states are to be looked up
    ("cell", "i8"),  # how many of them are done
])  # fmt: skip


class Frames(NamedTuple):
    """The states being solved, each a next state of the one before: `d` at most, with `c` joint moves and outcomes at most."""

    frame: NDArray[Any]  # (d,) FRAME
    states: NDArray[Any]  # (d,)
    outcomes: NDArray[np.int64]  # (d, w)
    worth: NDArray[np.float64]  # (d, w) of each outcome that is done, times its probability
    payoff: NDArray[np.float64]  # (d, c) what is known of each matrix
    place: NDArray[np.int64]  # (d, c) where in the matrix each next state belongs
    sign: NDArray[np.float64]  # (d, c) what its worth is multiplied with
    next: NDArray[Any]  # (d * c,) the next states, reduced
    words: Words  # (d * c, k) the same as words
    keys: Words  # (d * c, p) their keys, one word each if they are folded
    own: NDArray[np.int64]  # (d,) the place among all keys of that of each state, which is a next state of the one before
    met: Words  # (2,) bits that are not what they were taken for
    hash: NDArray[np.int64]  # (d, c) of each
    depth: NDArray[np.int64]  # (1,) of the last frame
    between: NDArray[Any]  # (2,) states after chance's and after the first player's move
    tell: NDArray[np.int64]  # (3,)
    out: NDArray[np.int64]  # (2, w) actions of each player
    is_last_first: NDArray[np.int64]  # (1,) from which end this thread begins
    counts: NDArray[np.int64]  # (3,) STATES entered and their GAMES; TOUCHED: what was read ahead, so that reading is not left out
    gap: NDArray[np.float64]  # (1,) the most that the mixes of a matrix game leave open
    simplex: Simplex


STATES, GAMES, TOUCHED = range(3)


def new_frames(game: Game, fold: Folding | None, is_last_first: bool = False) -> Frames:
    """Room for the states that are solved one inside the other, as deep as the game can get."""
    d, w = game.max_length + 1, game.width
    c = w * w
    following, words = whole_states(game, d * c)
    return Frames(
        np.zeros(d, FRAME).view(np.recarray), whole_states(game, d)[0], np.zeros((d, w), np.int64), np.zeros((d, w)),
        np.zeros((d, c)), np.zeros((d, c), np.int64), np.zeros((d, c)), following, words,
        words if fold is None else np.zeros((d * c, 1), np.uint64),
        np.zeros(d, np.int64), np.zeros(2, np.uint64), np.zeros((d, c), np.int64), np.zeros(1, np.int64),
        whole_states(game, 2)[0], np.zeros(3, np.int64), np.zeros((2, w), np.int64), np.array([int(is_last_first)]),
        np.zeros(3, np.int64), np.zeros(1), new_simplex(w),
    )  # fmt: skip


def first_words(game: Game) -> Words:
    """The first state as words, (k,)."""
    state, words = whole_states(game, 1)
    replay(game, np.zeros(0, np.int64), state, np.zeros(3, np.int64))
    first: Words = words[0]
    return first


# The walk -------------------------------------------------------------------------------------------------------------------


@kernel
def replay(game, history, states, tell):
    """Write the state that a history leads to, as compiled rules compute it."""
    s = states[0]
    game.start(s)
    for k in range(len(history)):
        step(game, s, history[k], tell)


@kernel
def begin(game, frames):
    """Begin with the state that is in the first frame."""
    frames.depth[0] = 0
    return open_frame(game, frames, 0)


@piece
def open_frame(game, frames, d):
    """Begin with the state of frame `d`."""
    frame, s = frames.frame[d], frames.states[d]
    frame.outcome = 0
    frame.outcomes = game.actions(s, frames.outcomes[d]) if game.player(s) == CHANCE else 1
    frame.cells = NOT_YET
    return DONE if 1 <= frame.outcomes <= frames.outcomes.shape[1] else BAD_COUNT


@kernel
def solve_states(game, frames, fold, table, room, games):
    """Go on until the first frame is done, so many matrix games have been solved or so many states entered. Returns why it ends."""
    room += frames.counts[STATES]
    while games > 0:
        d = frames.depth[0]
        frame = frames.frame[d]
        if frame.outcome == frame.outcomes:
            if frames.counts[STATES] == room:
                return FULL
            worth = 0.0
            for x in range(frame.outcomes):
                worth += frames.worth[d, x]
            if d == 0:
                frames.worth[0, 0] = worth
                return DONE
            if remember(table, frames.keys, frames.own[d], worth, fold):
                frames.counts[STATES] += 1
                frames.counts[GAMES] += frame.outcomes
            frames.depth[0] = d - 1
            continue
        x = frame.outcomes - 1 - frame.outcome if frames.is_last_first[0] else frame.outcome
        if frame.cells == NOT_YET:
            status = expand(game, frames, d, x)
            if status != DONE:
                return status
            if touch(frames, fold, table, d):
                return MET_OTHERS
        missing = look_up(frames, fold, table, d)
        if missing >= 0:
            if d + 1 == len(frames.frame):
                return TOO_LONG
            frames.states[d + 1] = frames.next[missing]
            frames.own[d + 1] = missing
            frames.depth[0] = d + 1
            status = open_frame(game, frames, d + 1)
            if status != DONE:
                return status
            continue
        frames.worth[d, x] = worth_of_outcome(game, frames, d, x)
        if not np.isfinite(frames.worth[d, x]):
            return BAD_UTILITY
        games -= 1
        frame.outcome += 1
        frame.cells = NOT_YET
    return PAUSED


@kernel
def enter(game, frames, fold, table, value):
    """Enter that the first of the next states is worth `value`, if there is a rest to be worth something."""
    decided, sign, is_open = arrive(game, frames.next[0])
    frames.frame[0].cells = is_open
    if touch(frames, fold, table, 0):
        return MET_OTHERS
    if is_open and remember(table, frames.keys, 0, (value - decided) * sign, fold):
        frames.counts[STATES] += 1
    return DONE


@piece
def worth_of_outcome(game, frames, d, x):
    """Solve the matrix game after outcome `x` of chance, now that all payoffs are known."""
    frame = frames.frame[d]
    worth, gap = solve_matrix(frames.payoff[d], frames.out.shape[1], frame.rows, frame.columns, frames.simplex)
    frames.gap[0] = max(frames.gap[0], gap)
    if frame.outcomes == 1:
        return worth
    return worth * game.chance(frames.states[d], frames.outcomes[d, x], frame.outcomes)


@piece
def expand(game, frames, d, x):
    """Play the outcome `x` of chance, if there is any, and then all joint moves."""
    frame, width = frames.frame[d], frames.out.shape[1]
    frames.between[0] = frames.states[d]
    s, after, out, tell = frames.between[0], frames.between[1], frames.out, frames.tell
    if game.player(s) == CHANCE:
        step(game, s, frames.outcomes[d, x], tell)
    if game.player(s) == 1:
        return BAD_TURN
    c0 = d * frames.sign.shape[1]
    following, payoff, sign, place = frames.next[c0 : c0 + width * width], frames.payoff[d], frames.sign[d], frames.place[d]
    frame.cell = 0
    n, m, cells = 1, 1, 0
    if game.player(s) != 0 or game.settled(s):  # chance once more, or the end: one cell, with nothing to choose
        following[0] = s
        payoff[0], sign[0], cells = arrive(game, following[0])
        place[0] = 0
    else:
        n = game.actions(s, out[0])
        if n < 1 or n > width:
            return BAD_COUNT
        for i in range(n):
            frames.between[1] = s
            step(game, after, out[0, i], tell)
            if game.player(after) != 1:
                return BAD_TURN
            count = game.actions(after, out[1])
            if count < 1 or count > width or (i > 0 and count != m):
                return BAD_COUNT
            m = count
            for j in range(m):
                following[cells] = after
                step(game, following[cells], out[1, j], tell)
                payoff[i * width + j], sign[cells], is_open = arrive(game, following[cells])
                place[cells] = i * width + j
                cells += is_open
    frame.rows = n
    frame.columns = m
    frame.cells = cells
    return DONE


@piece
def arrive(game, s):
    """What is decided at a next state, what the rest is multiplied with, and 1 if there is a rest. The state is reduced."""
    if game.player(s) == TERMINAL or game.settled(s):
        return game.utility(s, 0), 0.0, 0
    decided, sign = game.reduced(s)
    return decided, sign, 1


@piece
def touch(frames, fold, table, d):
    """Compute the keys of all next states, and read where they are looked for: memory answers many such questions at once.

    Returns whether there are bits that the folding takes for constant.
    """
    c0 = d * frames.sign.shape[1]
    cells, mask, seen, others0, others1 = frames.frame[d].cells, table.shape[0] - 1, np.uint64(0), np.uint64(0), np.uint64(0)
    hashes, words, keys = frames.hash[d], frames.words[c0 : c0 + cells], frames.keys[c0 : c0 + cells]
    for c in range(cells):
        if fold is not None:
            keys[c, 0], other0, other1 = folded(words, c, fold)
            others0 |= other0
            others1 |= other1
        hashes[c] = hash_of(keys, c, fold)
    for c in range(cells):
        seen ^= table[hashes[c] & mask, 0]
    frames.counts[TOUCHED] = np.int64(seen)
    frames.met[0] |= others0
    frames.met[1] |= others1
    return others0 | others1 != 0


@piece
def look_up(frames, fold, table, d):
    """Add what the next states are worth to the payoffs. Returns the first that is not known, or -1."""
    frame, c0 = frames.frame[d], d * frames.sign.shape[1]
    cells, is_last_first = frame.cells, frames.is_last_first[0]
    payoff, sign, place = frames.payoff[d], frames.sign[d], frames.place[d]
    hashes, keys = frames.hash[d], frames.keys[c0 : c0 + cells]
    for k in range(frame.cell, cells):
        c = cells - 1 - k if is_last_first else k
        _, bits = find(table, keys, c, hashes[c], fold)
        if bits == 0:
            frame.cell = k
            return c0 + c
        payoff[place[c]] += sign[c] * np.uint64(bits).view(np.float64)
    frame.cell = cells
    return -1

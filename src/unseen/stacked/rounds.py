"""Games whose states are pairs: what chance has left, and what the players have left. Solved for all pairs, round by round.

A game may name the fields of its state that belong to chance (`Game.chance_fields`). A state in which a round begins is then a
*stack*, these fields, and a *hand*, all others. An outcome takes a stack to the next whatever the hand, a joint move a hand to
the next whatever the stack, and what is won goes by hand, outcome and move. So the next hands are computed once for all stacks, and
what they are worth is read in order, where `walk` computes each next state and looks it up. What is found goes to the same table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import whole_states
from unseen.errors import GameFault, UnseenError
from unseen.game import CHANCE, Game
from unseen.stacked.simplex import solve_matrix
from unseen.stacked.table import Folding, Words, find, folded, hash_of, remember
from unseen.stacked.walk import BAD_UTILITY, DONE, FAULTS, GAMES, STATES, UNEVEN, Frames, expand, new_frames, open_frame

NONE = -1


class UnevenError(Exception):
    """Not every round is an outcome of chance and then a joint move, or not all games have as many: they can only be walked."""


class Parts(NamedTuple):
    """The hands or the stacks with which a round can begin: `n` of them, with `c` ways to go on, joint moves or outcomes."""

    words: Words  # (n, k) as a state, in which the bits of the other part are 0
    next: NDArray[np.int64]  # (n, c) which one the next round begins with, -1 if there is none
    outcomes: NDArray[np.int64]  # (n, w) of stacks: the outcome that each way is, -1 after them


class Layer(NamedTuple):
    """A round: it begins with any of these hands and any of these stacks."""

    hands: Parts
    stacks: Parts
    example: NDArray[np.int64]  # (o, 2) for each outcome, a stack that has it and which of its ways it is; -1 if there is none

    @property
    def states(self) -> int:
        return len(self.hands.words) * len(self.stacks.words)


class Work(NamedTuple):
    """What a thread writes on, besides its frames."""

    state: NDArray[Any]  # (1,)
    words: Words  # (1, k) the same
    key: Words  # (1, p) of the state
    won: NDArray[np.float64]  # (o, c) by each outcome and joint move
    rest: NDArray[np.float64]  # (t, c) the worth of what follows each joint move, with each stack of the next round


def new_work(game: Game, layers: list[Layer], fold: Folding | None) -> Work:
    """Room for all rounds of a game."""
    state, words = whole_states(game, 1)
    key = words if fold is None else np.zeros((1, 1), np.uint64)
    most, cells = max(len(layer.stacks.words) for layer in layers), game.width**2
    return Work(state, words, key, np.zeros((game.num_outcomes, cells)), np.zeros((most, cells)))


class Rounds:
    """How far the rounds of a game have been solved, from the last on. The first is left: its state is not reduced."""

    def __init__(self, game: Game, first: Words) -> None:
        self.layers = find_layers(game, first)
        self.depth, self.values = len(self.layers), np.zeros((0, 0))
        self.hands_a_call = 1
        self.go_up()

    def go_up(self) -> None:
        """To the round before."""
        self.depth -= 1
        self.hand, self.below, self.layer = 0, self.values, self.layers[self.depth]
        self.values = np.zeros((len(self.layer.hands.words), len(self.layer.stacks.words)))

    def go_on(self, hand: int) -> None:
        """All hands before this one are solved."""
        self.hand = hand
        if hand == len(self.values) and not self.is_done:
            self.go_up()

    @property
    def is_done(self) -> bool:
        return self.depth == 0

    @property
    def states(self) -> int:
        return sum(layer.states for layer in self.layers[1:])

    @property
    def nbytes(self) -> int:
        """What the values of two rounds take at most."""
        counts = [layer.states for layer in self.layers]
        return 8 * max(map(sum, zip(counts, [*counts[1:], 0], strict=True)))

    @property
    def varying(self) -> Words:
        """Which bits, (k,), are not the same in all states."""
        found: Words = np.zeros_like(self.layer.hands.words[0])
        for words in ([layer.hands.words for layer in self.layers], [layer.stacks.words for layer in self.layers]):
            found |= np.bitwise_or.reduce(np.concatenate(words)) & ~np.bitwise_and.reduce(np.concatenate(words))
        return found


def find_layers(game: Game, first: Words) -> list[Layer]:
    """All rounds of a game that begins with the state `first`, (k,); the first one first."""
    fields = list(game.state.names or ())
    if not set(game.chance_fields) <= set(fields):
        raise UnseenError(f"{game.spec}: chance_fields is {game.chance_fields}, but the state's fields are {fields}.")
    state, words = whole_states(game, 1)
    for name in game.chance_fields:
        state[name] = np.array(-1).astype(state.dtype[name].base)
    of_chance, frames, layers = words[0].copy(), new_frames(game, None), []
    hands, stacks = first[None] & ~of_chance, first[None] & of_chance
    while len(hands) and len(stacks):
        moves, next_hands = _go_on(game, frames, hands, stacks[0], ~of_chance, False)
        draws, next_stacks = _go_on(game, frames, stacks, hands[0], of_chance, True)
        example = np.full((game.num_outcomes, 2), NONE)
        for stack, way in np.argwhere(draws.outcomes != NONE):
            example[draws.outcomes[stack, way]] = stack, way
        layers.append(Layer(moves, draws, example))
        if len(layers) > game.max_length or (len(next_hands) > 0) != (len(next_stacks) > 0):
            raise UnevenError
        hands, stacks = next_hands, next_stacks
    return layers


def _go_on(game: Game, frames: Frames, parts: Words, other: Words, kept: Words, are_stacks: bool) -> tuple[Parts, Words]:
    """The ways to go on from all hands or stacks of a round, and those with which the next begins."""
    ways = game.width if are_stacks else game.width**2
    found = Parts(parts, np.full((len(parts), ways), NONE), np.full((len(parts), game.width), NONE))
    following = np.zeros((len(parts), ways, parts.shape[1]), np.uint64)
    status = go_on(game, frames, *whole_states(game, 1), found, other, are_stacks, following)
    if status == UNEVEN:
        raise UnevenError
    if status != DONE:
        raise GameFault(f"{type(game).__name__}: {FAULTS[status]}.")
    leads_on = found.next != NONE
    if not leads_on.any():
        return found, parts[:0]
    rows = np.ascontiguousarray(following[leads_on] & kept)
    _, first, number = np.unique(rows.view(f"V{rows.shape[1] * 8}").ravel(), return_index=True, return_inverse=True)
    found.next[leads_on] = number
    return found, rows[first]


@piece
def put_together(words, hands, h, stacks, s):
    """Write the state with hand `h` and stack `s`."""
    for p in range(words.shape[1]):
        words[0, p] = hands[h, p] | stacks[s, p]


@piece
def play(game, frames, state, way):
    """Play outcome number `way`, and then all joint moves, from a state in which a round begins."""
    if game.player(state[0]) != CHANCE:
        return UNEVEN
    frames.states[0] = state[0]
    status = open_frame(game, frames, 0)
    return expand(game, frames, 0, way) if status == DONE else status


@kernel
def go_on(game, frames, state, words, parts, other, are_stacks, following):
    """Write the next state for each way to go on: from stacks by each outcome, from hands by each joint move."""
    leads_on = 0
    for n in range(len(parts.words)):
        for p in range(words.shape[1]):
            words[0, p] = parts.words[n, p] | other[p]
        way, ways = 0, 1
        while way < ways:
            status = play(game, frames, state, way)
            if status != DONE:
                return status
            frame = frames.frame[0]
            if frame.cells == 0:
                leads_on |= 1
            elif frame.cells == frame.rows * frame.columns:
                leads_on |= 2
            else:
                return UNEVEN
            if are_stacks:
                ways = frame.outcomes
                parts.outcomes[n, way] = frames.outcomes[0, way]
            for c in range(min(frame.cells, 1) if are_stacks else frame.cells):
                k = way if are_stacks else frames.place[0, c]
                parts.next[n, k] = 0
                for p in range(words.shape[1]):
                    following[n, k, p] = frames.words[c, p]
            way += 1
    return DONE if leads_on < 3 else UNEVEN


@kernel
def solve_hands(game, frames, fold, table, layer, below, first, last, work, values):
    """Solve all states with the hands from `first` to `last`; `below`, (h', s'), and `values`, (h, s): what each is worth."""
    hands, stacks, width = layer.hands, layer.stacks, frames.out.shape[1]
    for h in range(first, last):
        status = win(game, frames, layer, h, work)
        if status != DONE:
            return status
        rows, columns = frames.frame[0].rows, frames.frame[0].columns
        for c in range(frames.frame[0].cells):
            k = frames.place[0, c]
            for t in range(below.shape[1]):
                work.rest[t, k] = frames.sign[0, c] * below[hands.next[h, k], t]
        for s in range(len(stacks.words)):
            put_together(work.words, hands.words, h, stacks.words, s)
            if fold is not None:
                work.key[0, 0], _, _ = folded(work.words, 0, fold)
            _, bits = find(table, work.key, 0, hash_of(work.key, 0, fold), fold)
            if bits != 0:
                values[h, s] = np.uint64(bits).view(np.float64)
                continue
            n, worth = 0, 0.0
            while n < stacks.outcomes.shape[1] and stacks.outcomes[s, n] != NONE:
                n += 1
            for x in range(n):
                outcome, t = stacks.outcomes[s, x], stacks.next[s, x]
                for i in range(rows):
                    for k in range(i * width, i * width + columns):
                        frames.payoff[0, k] = work.won[outcome, k] + (work.rest[t, k] if t != NONE else 0.0)
                value, gap = solve_matrix(frames.payoff[0], width, rows, columns, frames.simplex)
                frames.gap[0] = max(frames.gap[0], gap)
                worth += value * game.chance(work.state[0], outcome, n)
            if not np.isfinite(worth):
                return BAD_UTILITY
            values[h, s] = worth
            if remember(table, work.key, 0, worth, fold):
                frames.counts[STATES] += 1
                frames.counts[GAMES] += n
    return DONE


@piece
def win(game, frames, layer, h, work):
    """Write what is won with hand `h` by each outcome and joint move. The frame then tells of the last outcome."""
    for outcome in range(len(layer.example)):
        s, way = layer.example[outcome]
        if s != NONE:
            put_together(work.words, layer.hands.words, h, layer.stacks.words, s)
            status = play(game, frames, work.state, way)
            if status != DONE:
                return status
            for k in range(work.won.shape[1]):
                work.won[outcome, k] = frames.payoff[0, k]
    return DONE

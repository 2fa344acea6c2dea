"""Walking every history of a game, depth first, in compiled code.

One kernel serves all purposes, chosen by the sink it is given: count histories; store the payoff of every terminal (to build
the sequence form); add each terminal's payoff to the counterfactual values of given plans (to evaluate without storing
anything); or keep one history as an example of each information set.

The kernel keeps its stack in arrays and returns to Python every so often, so Python can show progress, make room and stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import own_part, scratch, step
from unseen.errors import GameFault
from unseen.game import CHANCE, MAX_TOKEN, PUBLIC, TERMINAL, Game
from unseen.infosets import Recall, Sets, extended, grown, has_room, infoset_at, new_recall, new_sets, next_node, trimmed
from unseen.position import history_text, try_out

Progress = Callable[[int], None]
"""Called with the number of histories visited so far."""

COUNT, STORE, STREAM, EXAMPLES = 0, 1, 2, 3
HISTORIES, TERMINALS, LONGEST, DEPTH, STORED = range(5)
DONE, PAUSED, NO_ROOM, TOO_LONG, BAD_COUNT, OTHER_ACTIONS, BAD_CHANCE, BAD_PLAYER, BAD_TOKEN, BAD_UTILITY, BAD_ACTION = range(11)
FAULTS = {
    TOO_LONG: "the game goes on past max_length",
    BAD_COUNT: "actions() offers none, or more than num_actions or num_outcomes allow",
    OTHER_ACTIONS: "this information set offered other actions at an earlier history",
    BAD_CHANCE: "the probabilities of chance do not sum to one",
    BAD_PLAYER: "player() is not 0, 1, CHANCE or TERMINAL",
    BAD_TOKEN: f"apply() tells a token that is not from 0 to {MAX_TOKEN}",
    BAD_UTILITY: "the utilities are not finite numbers that sum to zero",
    BAD_ACTION: "actions() offers actions that are not ascending, or not below num_actions or num_outcomes",
}
NOT_STARTED = -2
HISTORIES_PER_CALL = 2_000_000


class Stack(NamedTuple):
    """The history being walked: for each depth its state, actions and where the players stand in their trees."""

    states: NDArray[Any]  # (max_length + 2,) records
    actions: NDArray[np.int64]  # (max_length + 2, width)
    n_actions: NDArray[np.int64]  # (max_length + 2,)
    next: NDArray[np.int64]  # (max_length + 2,) the place in `actions` of the next one to try
    player: NDArray[np.int64]  # (max_length + 2,)
    infoset: NDArray[np.int64]  # (max_length + 2,)
    node: NDArray[np.int64]  # (max_length + 2, 2) each player's node in `Recall`
    sequence: NDArray[np.int64]  # (max_length + 2, 2) each player's last sequence
    reach: NDArray[np.float64]  # (max_length + 2,) the probability of chance's moves


class Sink(NamedTuple):
    """What is kept of the histories that are met."""

    mode: int
    row: NDArray[np.int64]  # STORE: (terminals,) sequence of player 0
    column: NDArray[np.int64]  # STORE: (terminals,) sequence of player 1
    payoff: NDArray[np.float64]  # STORE: (terminals,) payoff of player 0 times chance's reach
    plan0: NDArray[np.float64]  # STREAM: (sequences of 0,)
    plan1: NDArray[np.float64]  # STREAM: (sequences of 1,)
    value0: NDArray[np.float64]  # STREAM: (sequences of 0,) sums of payoff of 0 times plan1
    value1: NDArray[np.float64]  # STREAM: (sequences of 1,) sums of payoff of 1 times plan0
    example: NDArray[np.int64]  # EXAMPLES: actions, example after example
    length: NDArray[np.int64]  # EXAMPLES: (j,) the length of each example


def new_sink(mode: int, **arrays: NDArray[Any]) -> Sink:
    """A sink with the arrays its mode needs."""
    whole = ("row", "column", "example", "length")
    blanks = {name: np.zeros(1, np.int64 if name in whole else np.float64) for name in Sink._fields[1:]}
    return Sink(mode, **(blanks | arrays))


def new_stack(game: Game) -> Stack:
    depths = game.max_length + 2
    return Stack(
        game.new_states(depths), np.zeros((depths, game.width), np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64), np.zeros(depths, np.int64), np.zeros(depths, np.int64),
        np.zeros((depths, 2), np.int64), np.zeros((depths, 2), np.int64), np.ones(depths),
    )  # fmt: skip


@piece
def arrive(game, stack, depth, recall, sets, out):
    """List the actions of the history at `depth` and find its information set. Returns DONE or a fault."""
    s = stack.states[depth]
    p = stack.player[depth]
    n = game.actions(s, out)
    if n <= 0 or n > len(out):
        return BAD_COUNT
    least = 0
    for k in range(n):
        if out[k] < least or out[k] >= len(out):
            return BAD_ACTION
        least = out[k] + 1
        stack.actions[depth, k] = out[k]
    stack.n_actions[depth] = n
    stack.next[depth] = 0
    if p == CHANCE:
        if not game.uniform_chance:
            total = 0.0
            for k in range(n):
                total += game.chance(s, out[k], n)
            if not abs(total - 1.0) < 1e-9:
                return BAD_CHANCE
    elif p == 0 or p == 1:
        j = infoset_at(recall, sets, stack.node[depth, p], p, stack.sequence[depth, p], out, n)
        if j < 0:
            return OTHER_ACTIONS
        stack.infoset[depth] = j
    else:
        return BAD_PLAYER
    return DONE


@piece
def settle(game, s, stack, depth, sink, counters):
    """Pass on the terminal that was just reached. Returns DONE or a fault."""
    counters[TERMINALS] += 1
    if sink.mode == COUNT or sink.mode == EXAMPLES:
        return DONE
    row = stack.sequence[depth, 0]
    column = stack.sequence[depth, 1]
    payoff = stack.reach[depth] * game.utility(s, 0)
    if not np.isfinite(payoff):
        return BAD_UTILITY
    if sink.mode == STORE:
        if not abs(game.utility(s, 0) + game.utility(s, 1)) < 1e-9:
            return BAD_UTILITY
        k = counters[STORED]
        sink.row[k] = row
        sink.column[k] = column
        sink.payoff[k] = payoff
        counters[STORED] += 1
    else:
        sink.value0[row] += payoff * sink.plan1[column]
        sink.value1[column] -= payoff * sink.plan0[row]
    return DONE


@piece
def tokens_fit(tell):
    """Whether every token is in range."""
    return 0 <= tell[0] <= MAX_TOKEN and 0 <= tell[1] <= MAX_TOKEN and 0 <= tell[PUBLIC] <= MAX_TOKEN


@piece
def descend(game, stack, depth, tell, sets):
    """Make the next move of the history at `depth`: the new history, one deeper, is on the stack except for its nodes."""
    k = stack.next[depth]
    a = stack.actions[depth, k]
    p = stack.player[depth]
    stack.next[depth] = k + 1
    stack.states[depth + 1] = stack.states[depth]
    s = stack.states[depth + 1]
    stack.sequence[depth + 1, 0] = stack.sequence[depth, 0]
    stack.sequence[depth + 1, 1] = stack.sequence[depth, 1]
    stack.reach[depth + 1] = stack.reach[depth]
    if p == CHANCE:
        stack.reach[depth + 1] *= game.chance(stack.states[depth], a, stack.n_actions[depth])
    else:
        stack.sequence[depth + 1, p] = sets.first[stack.infoset[depth]] + k
    step(game, s, a, tell)
    return a


@piece
def is_pruned(stack, depth, sink):
    """Whether neither player's plan comes here, so nothing below can count."""
    return sink.mode == STREAM and sink.plan0[stack.sequence[depth, 0]] == 0.0 and sink.plan1[stack.sequence[depth, 1]] == 0.0


@piece
def keep_example(stack, depth, sink, counters):
    """Keep the history at `depth` if its information set has none yet."""
    j = stack.infoset[depth]
    if sink.length[j] < 0:
        sink.length[j] = depth
        for d in range(depth):
            sink.example[counters[STORED]] = stack.actions[d, stack.next[d] - 1]
            counters[STORED] += 1


@piece
def sink_has_room(sink, sets, stored, deepest):
    """Whether one more terminal or example fits in any case."""
    if sink.mode == STORE:
        return stored < len(sink.row)
    return sink.mode != EXAMPLES or (stored + deepest <= len(sink.example) and sets.sizes[0] < len(sink.length))


@kernel
def walk(game, stack, recall, sets, sink, counters, out, tell, budget):
    """Go on with the walk for up to `budget` more histories. Returns DONE, PAUSED, NO_ROOM or a fault."""
    depth = counters[DEPTH]
    deepest = len(stack.n_actions) - 2
    pause = counters[HISTORIES] + budget
    width = stack.actions.shape[1]
    status = DONE
    if depth == NOT_STARTED:
        depth = 0
        game.start(stack.states[0])
        stack.player[0] = game.player(stack.states[0])
        counters[HISTORIES] = 1
        stack.node[0, 0] = 0
        stack.node[0, 1] = 1
        if stack.player[0] == TERMINAL:
            depth = -1
            status = settle(game, stack.states[0], stack, 0, sink, counters)
        else:
            status = arrive(game, stack, 0, recall, sets, out)
            if sink.mode == EXAMPLES and stack.player[0] >= 0:
                keep_example(stack, 0, sink, counters)
    while depth >= 0 and status == DONE:
        if stack.next[depth] == stack.n_actions[depth]:
            depth -= 1
            continue
        if counters[HISTORIES] >= pause:
            status = PAUSED
            break
        if not has_room(recall, sets, width) or not sink_has_room(sink, sets, counters[STORED], deepest):
            status = NO_ROOM
            break
        a = descend(game, stack, depth, tell, sets)
        mover = stack.player[depth]
        below = depth + 1
        s = stack.states[below]
        p = game.player(s)
        stack.player[below] = p
        counters[HISTORIES] += 1
        counters[LONGEST] = max(counters[LONGEST], below)
        if p == TERMINAL:
            status = settle(game, s, stack, below, sink, counters)
            if status != DONE:
                depth = below
            continue
        if not tokens_fit(tell):
            depth = below
            status = BAD_TOKEN
            break
        if below >= deepest:
            depth = below
            status = TOO_LONG
            break
        if is_pruned(stack, below, sink):
            continue
        for viewer in range(2):
            stack.node[below, viewer] = next_node(
                recall, stack.node[depth, viewer], own_part(viewer, mover, a), tell[PUBLIC], tell[viewer]
            )
        depth = below
        status = arrive(game, stack, depth, recall, sets, out)
        if sink.mode == EXAMPLES and p >= 0:
            keep_example(stack, depth, sink, counters)
    counters[DEPTH] = depth
    return status


@dataclass
class Enumeration:
    """All that was met on a walk over every history: counts, the tree of what players saw, the information sets."""

    game: Game
    histories: int
    terminals: int
    longest: int
    recall: Recall
    sets: Sets
    sink: Sink

    @property
    def infosets(self) -> tuple[int, int]:
        """The number of information sets of each player."""
        second = int(np.count_nonzero(self.sets.player))
        return len(self.sets.player) - second, second

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The 64-bit key of each information set, shape (j,)."""
        return self.recall.key[self.sets.node]

    @property
    def nbytes(self) -> int:
        """Bytes held by trees, sets and stored payoffs."""
        return sum(array.nbytes for part in (self.recall, self.sets, self.sink[1:]) for array in part)


def enumerate_game(game: Game, store: bool = False, progress: Progress | None = None) -> Enumeration:
    """Walk every history of `game`; with `store`, keep the payoff of every terminal."""
    walker = Walker(game, new_recall(), new_sets(), new_sink(STORE if store else COUNT))
    walker.run(progress)
    return walker.result()


def example_histories(game: Game, progress: Progress | None = None) -> tuple[Enumeration, list[list[int]]]:
    """Walk every history of `game`; the second part is one history in each information set."""
    sink = new_sink(EXAMPLES, length=np.full(1, -1, np.int64), example=np.zeros(game.max_length + 2, np.int64))
    walker = Walker(game, new_recall(), new_sets(), sink)
    walker.run(progress)
    found = walker.result()
    ends = np.cumsum(walker.sink.length[: len(found.sets.player)])
    starts = np.concatenate([[0], ends])
    return found, [walker.sink.example[a:b].tolist() for a, b in zip(starts, ends, strict=False)]


class Walker:
    """The Python side of `walk`: makes room, reports progress, names faults."""

    def __init__(self, game: Game, recall: Recall, sets: Sets, sink: Sink) -> None:
        try_out(game)
        self.game, self.recall, self.sets, self.sink = game, recall, sets, sink
        self.stack = new_stack(game)
        self.counters = np.zeros(5, np.int64)
        self.counters[DEPTH] = NOT_STARTED
        self.scratch = scratch(game)

    def run(self, progress: Progress | None = None) -> None:
        """Walk to the end."""
        status = PAUSED
        while status != DONE:
            status = walk(
                self.game, self.stack, self.recall, self.sets, self.sink, self.counters, *self.scratch, HISTORIES_PER_CALL
            )
            if status == NO_ROOM:
                self.make_room()
            elif status not in (DONE, PAUSED):
                raise GameFault(f"{type(self.game).__name__}: {FAULTS[status]}, at history {self.history()}.")
            if progress is not None:
                progress(int(self.counters[HISTORIES]))

    def history(self) -> str:
        depth = int(self.counters[DEPTH])
        played = [int(self.stack.actions[d, self.stack.next[d] - 1]) for d in range(depth)]
        return history_text(self.game, played)

    def make_room(self) -> None:
        self.recall, self.sets = grown(self.recall, self.sets, self.game.width)
        stored, sink = int(self.counters[STORED]), self.sink
        if sink.mode == STORE and stored >= len(sink.row):
            length = max(4096, 2 * stored)
            self.sink = sink._replace(
                row=extended(sink.row, length), column=extended(sink.column, length), payoff=extended(sink.payoff, length)
            )
        elif sink.mode == EXAMPLES:
            example, lengths = sink.example, np.full(len(self.sets.player) + 1, -1, np.int64)
            lengths[: len(sink.length)] = sink.length
            if stored + self.game.max_length > len(example):
                example = extended(example, 2 * len(example))
            self.sink = sink._replace(example=example, length=lengths)

    def result(self) -> Enumeration:
        """What was found on the whole walk."""
        counters, sink = self.counters, self.sink
        if sink.mode == STORE:
            n = int(counters[STORED])
            sink = sink._replace(row=sink.row[:n], column=sink.column[:n], payoff=sink.payoff[:n])
        found = Enumeration(
            self.game, int(counters[HISTORIES]), int(counters[TERMINALS]), int(counters[LONGEST]),
            self.recall, trimmed(self.sets), sink,
        )  # fmt: skip
        check_keys(found)
        return found


def check_keys(found: Enumeration) -> None:
    """Raise if two information sets share a 64-bit key."""
    keys = np.sort(found.keys)
    twice = keys[:-1][keys[:-1] == keys[1:]]
    if len(twice):
        raise GameFault(
            f"{found.game.name}: {len(twice)} pairs of information sets share a 64-bit key (the first is {int(twice[0]):#018x}); "
            "tables keyed by information set would mix them up."
        )

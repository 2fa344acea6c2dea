"""The walk over every history of a game, depth first, in compiled code.

One kernel serves all purposes, chosen by the sink it is given: count histories; store the payoff of every terminal (to build
the sequence form), or of bundles of them; add each terminal's payoff to the counterfactual values of given plans (to evaluate
without storing anything); or keep one history as an example of each information set.

The kernel keeps its stack in arrays and returns to Python every so often, so Python can show progress, make room and stop; see
`enumeration`. It can begin at any history and keep to those that go on from there.

A walk with a `reduction` leaves out what something else stands for (see `symmetry`) and can bundle what it stores. Without, that
argument is None, and none of this is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import mix, own_part, step
from unseen.enumeration.bundles import Bundles, bundle_of, bundles_fit, new_bundles
from unseen.enumeration.infosets import INFOSETS, SEQUENCES, has_room, infoset_at, next_node
from unseen.enumeration.symmetry import everything, size, still, turn
from unseen.game import CHANCE, MAX_TOKEN, PUBLIC, TERMINAL, Game

COUNT, STORE, STREAM, EXAMPLES, BUNDLE = range(5)
HISTORIES, TERMINALS, LONGEST, DEPTH, STORED, ENTERED, SETTLED = range(7)
BEFORE_THE_START = -1
DONE, LEAF, PAUSED, AT_BOTTOM, NO_ROOM = range(5)
TOO_LONG, BAD_COUNT, OTHER_ACTIONS, BAD_CHANCE, BAD_PLAYER, BAD_TOKEN, BAD_UTILITY, BAD_ACTION, NOT_SETTLED = range(5, 14)
FAULTS = {
    TOO_LONG: "the game goes on past max_length",
    BAD_COUNT: "actions() offers none, or more than num_actions or num_outcomes allow",
    OTHER_ACTIONS: "this information set offered other actions at an earlier history",
    BAD_CHANCE: "the probabilities of chance do not sum to one",
    BAD_PLAYER: "player() is not 0, 1, CHANCE or TERMINAL",
    BAD_TOKEN: f"apply() tells a token that is not from 0 to {MAX_TOKEN}",
    BAD_UTILITY: "the utilities are not finite numbers that sum to zero",
    BAD_ACTION: "actions() offers actions that are not ascending, or not below num_actions or num_outcomes",
    NOT_SETTLED: "settled() says that the payoffs are settled, but one of the games that go on from there ends otherwise",
}
ALWAYS, SOMETIMES = 4096, 16
"""At so many settled histories of a user's game, and then at every so many, it is played on."""


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
    chance_reach: NDArray[np.float64]  # (max_length + 2,) chance's reach probability, times the histories that this stands for
    place: NDArray[np.int64]  # (max_length + 2, width) the place of each action among those of the information set
    copies: NDArray[np.int64]  # (max_length + 2, width) how many actions each of `actions` stands for
    orientation: NDArray[np.int64]  # (max_length + 2, 2) by symmetry: how each player turns the board
    stored: NDArray[np.int64]  # (max_length + 2,) BUNDLE: how many entries there were before the history
    deciders: NDArray[np.int64]  # (max_length + 2,) BUNDLE: who decides anything from the history on, as bits
    stabiliser: NDArray[np.int64]  # (max_length + 2, 3) the symmetries that change nothing of what a player did, of the history
    bounds: NDArray[np.int64]  # (2,) what actions, and outcomes, are below


class Sink(NamedTuple):
    """What is kept of the histories that are met."""

    mode: int
    row: NDArray[np.int32]  # STORE: (terminals,) sequence of player 0; BUNDLE: (entries,) sequence or bundle
    column: NDArray[np.int32]  # STORE: (terminals,) sequence of player 1; BUNDLE: (entries,) sequence or bundle
    payoff: NDArray[np.float64]  # STORE, BUNDLE: payoff of player 0 times chance's reach
    plan0: NDArray[np.float64]  # STREAM: (sequences of 0,)
    plan1: NDArray[np.float64]  # STREAM: (sequences of 1,)
    value0: NDArray[np.float64]  # STREAM: (sequences of 0,) sums of payoff of 0 times plan1
    value1: NDArray[np.float64]  # STREAM: (sequences of 1,) sums of payoff of 1 times plan0
    example: NDArray[np.int64]  # EXAMPLES: actions, example after example
    length: NDArray[np.int64]  # EXAMPLES: (j,) the length of each example
    bundles: Bundles  # BUNDLE


SINK_ARRAYS = tuple(name for name in Sink._fields if name not in ("mode", "bundles"))


def new_sink(mode: int, **arrays: NDArray[Any]) -> Sink:
    """A sink with the arrays its mode needs."""
    kinds = {"row": np.int32, "column": np.int32, "example": np.int64, "length": np.int64}
    blanks: dict[str, Any] = {name: np.zeros(1, kinds.get(name, np.float64)) for name in SINK_ARRAYS}
    return Sink(mode, **(blanks | arrays), bundles=new_bundles())


def new_stack(game: Game) -> Stack:
    depths = game.max_length + 2
    return Stack(
        game.new_states(depths), np.zeros((depths, game.width), np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64), np.zeros(depths, np.int64), np.zeros(depths, np.int64),
        np.zeros((depths, 2), np.int64), np.zeros((depths, 2), np.int64), np.ones(depths),
        np.zeros((depths, game.width), np.int64), np.zeros((depths, game.width), np.int64),
        np.zeros((depths, 2), np.int64), np.zeros(depths, np.int64), np.zeros(depths, np.int64), np.zeros((depths, 3), np.int64),
        np.array([game.num_actions, game.num_outcomes]),
    )  # fmt: skip


@piece
def fold(stack, depth, reduction, p, out, n):
    """Keep one action of each orbit; `out` becomes the actions of the set as its player turns them. Returns how many these are."""
    kept = 0
    classes = 0
    for k in range(n):
        a = out[k]
        if turn(reduction, stack.stabiliser[depth, 2], a) != 0:
            continue
        fixed = still(reduction, stack.stabiliser[depth, 2], a)
        stack.actions[depth, kept] = a
        stack.copies[depth, kept] = size(stack.stabiliser[depth, 2]) // size(fixed)
        kept += 1
    stack.n_actions[depth] = kept
    for k in range(kept):
        own = turned(stack, depth, reduction, p, stack.actions[depth, k])
        at = classes
        while at > 0 and out[at - 1] > own:
            at -= 1
        if at > 0 and out[at - 1] == own:
            continue
        for later in range(classes, at, -1):
            out[later] = out[later - 1]
        out[at] = own
        classes += 1
    for k in range(kept):
        own = turned(stack, depth, reduction, p, stack.actions[depth, k])
        stack.place[depth, k] = 0
        while out[stack.place[depth, k]] != own:
            stack.place[depth, k] += 1
    return classes


@piece
def turned(stack, depth, reduction, p, a):
    """The action `a` as player `p` sees it who has turned the board."""
    own = reduction.image[stack.orientation[depth, p], a]
    return reduction.image[turn(reduction, stack.stabiliser[depth, p], own), own]


@piece
def arrive(game, stack, depth, recall, sets, reduction, out):
    """List the actions of the history at `depth` and find its information set. Returns DONE or a fault."""
    s = stack.states[depth]
    p = stack.player[depth]
    n = game.actions(s, out)
    if n <= 0 or n > len(out):
        return BAD_COUNT
    least, bound = 0, stack.bounds[1 if p == CHANCE else 0]
    for k in range(n):
        if out[k] < least or out[k] >= bound:
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
        if reduction is not None and len(reduction.image) > 1:
            n = fold(stack, depth, reduction, p, out, n)
        j = infoset_at(recall, sets, stack.node[depth, p], p, stack.sequence[depth, p], out, n)
        if j < 0:
            return OTHER_ACTIONS
        stack.infoset[depth] = j
    else:
        return BAD_PLAYER
    return DONE


@piece
def record_end(game, s, stack, depth, sink, counters):
    """Pass on the terminal that was just reached. Returns DONE or a fault."""
    counters[TERMINALS] += 1
    if sink.mode == COUNT or sink.mode == EXAMPLES:
        return DONE
    row = stack.sequence[depth, 0]
    column = stack.sequence[depth, 1]
    payoff = stack.chance_reach[depth] * game.utility(s, 0)
    if not np.isfinite(payoff):
        return BAD_UTILITY
    if sink.mode == BUNDLE and payoff == 0.0:
        return DONE
    if sink.mode == STORE or sink.mode == BUNDLE:
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
def turn_on(stack, depth, reduction, a):
    """Carry what symmetries there are over to the next depth, after action `a`. Returns the action as its player sees it."""
    p = stack.player[depth]
    for viewer in range(2):
        stack.orientation[depth + 1, viewer] = stack.orientation[depth, viewer]
        stack.stabiliser[depth + 1, viewer] = stack.stabiliser[depth, viewer]
    stack.stabiliser[depth + 1, 2] = stack.stabiliser[depth, 2]
    if p == CHANCE:
        return a
    stack.chance_reach[depth + 1] *= stack.copies[depth, stack.next[depth] - 1]
    stack.stabiliser[depth + 1, 2] = still(reduction, stack.stabiliser[depth, 2], a)
    own = reduction.image[stack.orientation[depth, p], a]
    g = turn(reduction, stack.stabiliser[depth, p], own)
    own = reduction.image[g, own]
    stack.orientation[depth + 1, p] = reduction.compose[g, stack.orientation[depth, p]]
    stack.stabiliser[depth + 1, p] = still(reduction, stack.stabiliser[depth, p], own)
    return own


@piece
def descend(game, stack, depth, tell, sets, reduction):
    """Make the next move of the history at `depth`: the new history, one deeper, is on the stack except for its nodes.

    Returns the action, as its player sees it.
    """
    k = stack.next[depth]
    a = stack.actions[depth, k]
    p = stack.player[depth]
    stack.next[depth] = k + 1
    stack.states[depth + 1] = stack.states[depth]
    s = stack.states[depth + 1]
    stack.sequence[depth + 1, 0] = stack.sequence[depth, 0]
    stack.sequence[depth + 1, 1] = stack.sequence[depth, 1]
    stack.chance_reach[depth + 1] = stack.chance_reach[depth]
    if p == CHANCE:
        stack.chance_reach[depth + 1] *= game.chance(stack.states[depth], a, stack.n_actions[depth])
    else:
        stack.sequence[depth + 1, p] = sets.first[stack.infoset[depth]] + k
        if reduction is not None and len(reduction.image) > 1:
            stack.sequence[depth + 1, p] = sets.first[stack.infoset[depth]] + stack.place[depth, k]
    step(game, s, a, tell)
    if reduction is not None and len(reduction.image) > 1:
        return turn_on(stack, depth, reduction, a)
    return a


@piece
def is_pruned(stack, depth, sink):
    """Whether neither player's plan comes here, so nothing below can count."""
    return sink.mode == STREAM and sink.plan0[stack.sequence[depth, 0]] == 0.0 and sink.plan1[stack.sequence[depth, 1]] == 0.0


@piece
def keep_example(stack, depth, reduction, sink, counters):
    """Keep the history at `depth`, as its player has turned the board, if its information set has none yet."""
    j = stack.infoset[depth]
    if sink.length[j] < 0:
        sink.length[j] = depth
        for d in range(depth):
            a = stack.actions[d, stack.next[d] - 1]
            if reduction is not None and stack.player[d] != CHANCE:
                a = reduction.image[stack.orientation[depth, stack.player[depth]], a]
            sink.example[counters[STORED]] = a
            counters[STORED] += 1


@piece
def sink_has_room(sink, sets, stored, deepest):
    """Whether one more terminal or example fits in any case."""
    if sink.mode == STORE or sink.mode == BUNDLE:
        return stored < len(sink.row)
    return sink.mode != EXAMPLES or (stored + deepest <= len(sink.example) and sets.sizes[INFOSETS] < len(sink.length))


@piece
def wrap_up(stack, depth, sink, counters):
    """All that follows the history at `depth` is stored: bundle it if only one player decides there."""
    if stack.player[depth] >= 0:
        stack.deciders[depth] |= 1 << stack.player[depth]
    start, end = stack.stored[depth], counters[STORED]
    if 1 <= stack.deciders[depth] <= 2 and end - start > 1:
        decider = stack.deciders[depth] - 1
        for k in range(start, end):
            sink.payoff[k] /= stack.chance_reach[depth]
        members = sink.row if decider == 0 else sink.column
        b = bundle_of(sink.bundles, decider, members, sink.payoff, start, end)
        members[start] = -1 - sink.bundles.number[b]
        sink.payoff[start] = stack.chance_reach[depth]
        counters[STORED] = start + 1
    if depth > 0:
        stack.deciders[depth - 1] |= stack.deciders[depth]


@piece
def begin(game, stack, reduction):
    """Put the empty history on the stack."""
    game.start(stack.states[0])
    stack.sequence[0, 0] = 0
    stack.sequence[0, 1] = 0
    stack.node[0, 0] = 0
    stack.node[0, 1] = 1
    stack.chance_reach[0] = 1.0
    if reduction is not None:
        for viewer in range(2):
            stack.orientation[0, viewer] = 0
            stack.stabiliser[0, viewer] = everything(reduction)
        stack.stabiliser[0, 2] = everything(reduction)
    return -1


@piece
def is_settled(game, stack, depth, counters, out, tell):
    """Whether one of the games that go on from a settled history ends as the game says. Games of the library are trusted."""
    if not game.checks_indices:
        return True
    counters[SETTLED] += 1
    if counters[SETTLED] > ALWAYS and counters[SETTLED] % SOMETIMES != 0:
        return True
    s = stack.states[depth + 1]
    stack.states[depth + 1] = stack.states[depth]
    for length in range(depth, len(stack.n_actions) - 1):
        if game.player(s) == TERMINAL:
            break
        n = game.actions(s, out)
        if n <= 0 or n > len(out):
            return False
        step(game, s, out[np.int64(mix(np.uint64(counters[SETTLED] + length)) % np.uint64(n))], tell)
    here, there = game.utility(stack.states[depth], 0), game.utility(s, 0)
    return game.player(s) == TERMINAL and abs(here - there) <= 1e-9 * max(1.0, abs(here))


@piece
def advance(game, stack, depth, recall, sets, sink, reduction, counters, out, tell):
    """Make the next move of the history at `depth`, or begin if that is -1.

    Returns DONE, LEAF if there is nothing to walk after it, or a fault.
    """
    a = descend(game, stack, depth, tell, sets, reduction) if depth >= 0 else begin(game, stack, reduction)
    below = depth + 1
    s = stack.states[below]
    p = game.player(s)
    stack.player[below] = p
    counters[HISTORIES] += 1
    counters[LONGEST] = max(counters[LONGEST], below)
    is_end = p == TERMINAL
    if reduction is not None:
        is_end = is_end or (reduction.stops_settled and game.settled(s))
        if is_end and p != TERMINAL and not is_settled(game, stack, below, counters, out, tell):
            return NOT_SETTLED
    if is_end:
        status = record_end(game, s, stack, below, sink, counters)
        return LEAF if status == DONE else status
    if below >= len(stack.n_actions) - 2:
        return TOO_LONG
    if is_pruned(stack, below, sink):
        return LEAF
    if depth >= 0:
        if not tokens_fit(tell):
            return BAD_TOKEN
        for viewer in range(2):
            stack.node[below, viewer] = next_node(
                recall, stack.node[depth, viewer], own_part(viewer, stack.player[depth], a), tell[PUBLIC], tell[viewer]
            )
    if reduction is not None:
        stack.stored[below] = counters[STORED]
        stack.deciders[below] = 0
    status = arrive(game, stack, below, recall, sets, reduction, out)
    if sink.mode == STREAM and (sets.sizes[SEQUENCES] > len(sink.plan0) or sets.sizes[SEQUENCES + 1] > len(sink.plan1)):
        return OTHER_ACTIONS  # a set that was not there when the plans were made
    if sink.mode == EXAMPLES and p >= 0:
        keep_example(stack, below, reduction, sink, counters)
    return status


@piece
def is_roomy(stack, recall, sets, sink, counters):
    """Whether one more history fits in any case."""
    return has_room(recall, sets, stack.actions.shape[1]) and sink_has_room(sink, sets, counters[STORED], len(stack.n_actions) - 2)


@kernel
def walk(game, stack, recall, sets, sink, reduction, counters, out, tell, prefix, bottom, budget):
    """Go on with the walk from the history `prefix` to the end of the game's last history, for up to `budget` more histories.

    Returns DONE, PAUSED, NO_ROOM, a fault, or AT_BOTTOM whenever it has come to a history of length `bottom`.
    """
    depth = counters[DEPTH]
    pause = counters[HISTORIES] + budget
    status = DONE
    while (depth >= 0 or counters[HISTORIES] == 0) and status == DONE:
        if depth >= 0 and stack.next[depth] == stack.n_actions[depth]:
            if reduction is not None:
                if sink.mode == BUNDLE and not bundles_fit(sink.bundles, counters[STORED] - stack.stored[depth]):
                    status = NO_ROOM
                    break
                if sink.mode == BUNDLE:
                    wrap_up(stack, depth, sink, counters)
            depth -= 1
            continue
        if counters[HISTORIES] >= pause:
            status = PAUSED
            break
        if not is_roomy(stack, recall, sets, sink, counters):
            status = NO_ROOM
            break
        if 0 <= depth < len(prefix) and counters[ENTERED] == 0:
            while stack.next[depth] < stack.n_actions[depth] and stack.actions[depth, stack.next[depth]] != prefix[depth]:
                stack.next[depth] += 1
            if stack.next[depth] == stack.n_actions[depth]:
                status = OTHER_ACTIONS
                break
        status = advance(game, stack, depth, recall, sets, sink, reduction, counters, out, tell)
        if status == LEAF:
            status = DONE
            continue
        depth += 1
        if depth == len(prefix):
            counters[ENTERED] = 1
        if status == DONE and depth == bottom:
            status = AT_BOTTOM
    counters[DEPTH] = depth
    return status

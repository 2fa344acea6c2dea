"""External and chance sampling: walk all that the update player can do, and sample the rest.

M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009),
Section 3, which also describes chance-sampled CFR. In a traversal for player i every action of i is tried. External
sampling draws one action at each of the opponent's information sets, the same wherever the traversal meets the set; chance
sampling tries all of them, weighted. Both draw one outcome at each chance node. Regrets are added at i's sets, the average
behaviour at the opponent's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import next_key, root_key, sample_chance, step
from unseen.game import CHANCE, TERMINAL, Game
from unseen.solving.table import behave, draw, find, fits

TRAVERSAL, DEPTH, IS_DOWN, NODES = range(4)


class Stack(NamedTuple):
    """The history that a traversal stands at, by depth."""

    states: NDArray[Any]  # (max_length + 1,) records
    keys: NDArray[np.uint64]  # (max_length + 1, 2) of what each player has seen
    player: NDArray[np.int64]  # (max_length + 1,)
    infoset: NDArray[np.int64]  # (max_length + 1,)
    n_actions: NDArray[np.int64]  # (max_length + 1,)
    actions: NDArray[np.int64]  # (max_length + 1, width)
    taken: NDArray[np.int64]  # (max_length + 1,) the place of the action that leads on
    behaviour: NDArray[np.float64]  # (max_length + 1, width)
    value: NDArray[np.float64]  # (max_length + 1, width) of each action to the update player
    reach: NDArray[np.float64]  # (max_length + 1,) the opponent's probability of coming here, where it is not sampled


def new_cursor(first: int = 0) -> NDArray[np.int64]:
    """Before the traversal with number `first`, on the way down."""
    return np.array([first, -1, 1, 0])


def new_stack(game: Game) -> Stack:
    depths = game.max_length + 1
    return Stack(
        game.new_states(depths), np.zeros((depths, 2), np.uint64), np.zeros(depths, np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64), np.zeros((depths, game.width), np.int64), np.zeros(depths, np.int64),
        np.zeros((depths, game.width)), np.zeros((depths, game.width)), np.ones(depths),
    )  # fmt: skip


@piece
def arrive(game, stack, d, i, sample_opponent, table, out, t, rng):
    """At a history that goes on: list its actions and choose the first to follow."""
    s = stack.states[d]
    p = stack.player[d]
    n = game.actions(s, out)
    stack.n_actions[d] = n
    for k in range(n):
        stack.actions[d, k] = out[k]
    if p == CHANCE:
        stack.taken[d] = sample_chance(game, s, out, n, rng)
        return
    j = find(table, stack.keys[d, p], p, out, n)
    stack.infoset[d] = j
    stack.taken[d] = 0
    cell = table.cell[j]
    if table.stamp[j] == t:  # met before: what was decided then holds, whatever has been learnt since
        for k in range(n):
            stack.behaviour[d, k] = table.current[cell + k]
    else:
        table.stamp[j] = t
        behave(table, j, stack.behaviour, d)
        for k in range(n):
            table.current[cell + k] = stack.behaviour[d, k]
        if p != i:
            for k in range(n):
                table.average[cell + k] += stack.reach[d] * stack.behaviour[d, k]
            if sample_opponent:
                table.choice[j] = draw(stack.behaviour, d, n, rng)
    if p != i and sample_opponent:
        stack.taken[d] = table.choice[j]


@piece
def descend(game, stack, d, i, sample_opponent, tell):
    """Follow the chosen action."""
    k = stack.taken[d]
    a = stack.actions[d, k]
    p = stack.player[d]
    stack.states[d + 1] = stack.states[d]
    s = stack.states[d + 1]
    step(game, s, a, tell)
    for viewer in range(2):
        stack.keys[d + 1, viewer] = next_key(stack.keys[d, viewer], viewer, p, a, tell)
    stack.reach[d + 1] = stack.reach[d]
    if p == 1 - i and not sample_opponent:
        stack.reach[d + 1] *= stack.behaviour[d, k]


@piece
def finish(stack, d, i, table):
    """All actions at depth `d` have values: the value of the history; regrets if it is the update player's."""
    n = stack.n_actions[d]
    expected = 0.0
    for k in range(n):
        expected += stack.behaviour[d, k] * stack.value[d, k]
    if stack.player[d] == i:
        cell = table.cell[stack.infoset[d]]
        for k in range(n):
            table.regret[cell + k] += stack.reach[d] * (stack.value[d, k] - expected)
    return expected


@kernel
def run(game, stack, table, out, tell, rng, sample_opponent, cursor, value, end):
    """Traversals for the players in turn, from where `cursor` and `value` say, until number `end` is reached.

    Returns False if it stopped because another information set might not find room in the table; it can go on from there.
    """
    width = stack.actions.shape[1]
    d = cursor[DEPTH]
    while cursor[TRAVERSAL] < end:
        t = cursor[TRAVERSAL]
        i = t & 1
        if d < 0:
            if cursor[IS_DOWN] == 0:  # the traversal is complete
                cursor[TRAVERSAL] += 1
                cursor[IS_DOWN] = 1
                continue
            game.start(stack.states[0])
            stack.keys[0, 0] = root_key(0)
            stack.keys[0, 1] = root_key(1)
            stack.reach[0] = 1.0
            d = 0
        if cursor[IS_DOWN] == 1:
            if not fits(table, 1, width):
                cursor[DEPTH] = d
                return False
            cursor[NODES] += 1
            stack.player[d] = game.player(stack.states[d])
            if stack.player[d] == TERMINAL:
                value[0] = game.utility(stack.states[d], i)
                cursor[IS_DOWN] = 0
                d -= 1
                continue
            arrive(game, stack, d, i, sample_opponent, table, out, t, rng)
        else:
            p = stack.player[d]
            if p == CHANCE or (p != i and sample_opponent):
                d -= 1
                continue
            stack.value[d, stack.taken[d]] = value[0]
            stack.taken[d] += 1
            if stack.taken[d] == stack.n_actions[d]:
                value[0] = finish(stack, d, i, table)
                d -= 1
                continue
        descend(game, stack, d, i, sample_opponent, tell)
        cursor[IS_DOWN] = 1
        d += 1
    cursor[DEPTH] = d
    return True

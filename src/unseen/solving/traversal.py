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
from unseen.solving.table import CURRENT, REGRET, draw, fits, mass, meet, place, probability, remember

TRAVERSAL, DEPTH, IS_DOWN, NODES = range(4)


class Stack(NamedTuple):
    """The history that a traversal stands at, by depth."""

    states: NDArray[Any]  # (max_length + 1,) records
    keys: NDArray[np.uint64]  # (max_length + 1, 2) of what each player has seen
    player: NDArray[np.int64]  # (max_length + 1,)
    infoset: NDArray[np.int64]  # (max_length + 1,)
    taken: NDArray[np.int64]  # (max_length + 1,) the place of the action that leads on; at chance nodes the outcome itself
    value: NDArray[np.float64]  # (max_length + 1, width) of each action to the update player
    reach: NDArray[np.float64]  # (max_length + 1,) the opponent's probability of coming here, where it is not sampled


def new_cursor(first: int = 0) -> NDArray[np.int64]:
    """Before the traversal with number `first`, on the way down."""
    return np.array([first, -1, 1, 0])


def new_stack(game: Game) -> Stack:
    depths = game.max_length + 1
    return Stack(
        game.new_states(depths), np.zeros((depths, 2), np.uint64), np.zeros(depths, np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros((depths, game.width)), np.ones(depths),
    )  # fmt: skip


@piece
def arrive(game, stack, d, i, sample_opponent, table, out, t, rng):
    """At a history that goes on: find its information set and choose the first action to follow."""
    s = stack.states[d]
    p = stack.player[d]
    if p == CHANCE:
        n = game.actions(s, out)
        stack.taken[d] = out[sample_chance(game, s, out, n, rng)]
        return
    j = meet(game, s, p, stack.keys[d, p], table, out)
    infoset = table.sets[j]
    stack.infoset[d] = j
    stack.taken[d] = 0
    if p == i and sample_opponent:
        return
    if infoset.stamp != t:  # else it was met before: what was decided then holds, whatever has been learnt since
        infoset.stamp = t
        total = mass(table, infoset)
        if p != i:
            remember(table, infoset, total, stack.reach[d])
        if sample_opponent:
            infoset.choice = draw(table, infoset, total, rng)
        else:
            current = place(infoset, CURRENT)
            for k in range(infoset.n_actions):
                table.values[current + k] = probability(table, infoset, total, k)
    if sample_opponent:
        stack.taken[d] = infoset.choice


@piece
def descend(game, stack, d, i, sample_opponent, table, tell):
    """Follow the chosen action. Returns whose move it is then."""
    k = stack.taken[d]
    p = stack.player[d]
    infoset = table.sets[stack.infoset[d]]
    a = k if p == CHANCE else table.action[infoset.cell + k]
    stack.states[d + 1] = stack.states[d]
    s = stack.states[d + 1]
    step(game, s, a, tell)
    mover = game.player(s)
    stack.player[d + 1] = mover
    if mover != TERMINAL:
        for viewer in range(2):
            stack.keys[d + 1, viewer] = next_key(stack.keys[d, viewer], viewer, p, a, tell)
        stack.reach[d + 1] = stack.reach[d]
        if p == 1 - i and not sample_opponent:
            stack.reach[d + 1] *= table.values[place(infoset, CURRENT) + k]
    return mover


@piece
def finish(stack, d, i, sample_opponent, table):
    """All actions at depth `d` have values: the value of the history; regrets if it is the update player's."""
    infoset = table.sets[stack.infoset[d]]
    n = infoset.n_actions
    # External sampling comes to a set of the update player only once: its regrets are still those that the behaviour comes from.
    weights = place(infoset, REGRET if sample_opponent else CURRENT)
    total, expected, plain = 0.0, 0.0, 0.0
    for k in range(n):
        weight = max(table.values[weights + k], 0.0)
        total += weight
        expected += weight * stack.value[d, k]
        plain += stack.value[d, k]
    expected = expected / total if total > 0.0 else plain / n
    if stack.player[d] == i:
        regret = place(infoset, REGRET)
        for k in range(n):
            table.values[regret + k] += stack.reach[d] * (stack.value[d, k] - expected)
    return expected


@piece
def begin(game, stack):
    """Put the empty history on the stack."""
    game.start(stack.states[0])
    stack.player[0] = game.player(stack.states[0])
    stack.keys[0, 0] = root_key(0)
    stack.keys[0, 1] = root_key(1)
    stack.reach[0] = 1.0


@kernel
def run(game, stack, table, out, tell, rng, sample_opponent, cursor, value, end):
    """Traversals for the players in turn, from where `cursor` and `value` say, until number `end` is reached.

    Returns False if it stopped because another information set might not find room in the table; it can go on from there.
    """
    t, d, is_down, nodes = cursor[TRAVERSAL], cursor[DEPTH], cursor[IS_DOWN] == 1, cursor[NODES]
    v = value[0]  # on the way up: what the history below `d` is worth
    is_roomy = True
    while t < end and is_roomy:
        i = t & 1
        if d < 0 and not is_down:  # the traversal is complete
            t += 1
            is_down = True
            continue
        if d < 0:
            begin(game, stack)
            nodes += 1
            if stack.player[0] == TERMINAL:
                is_down = False
                continue
            d = 0
        p = stack.player[d]
        if is_down:
            if not fits(table, 1, len(out)):
                is_roomy = False
                continue
            arrive(game, stack, d, i, sample_opponent, table, out, t, rng)
        else:
            if p == CHANCE or (p != i and sample_opponent):
                d -= 1
                continue
            stack.value[d, stack.taken[d]] = v
            stack.taken[d] += 1
            if stack.taken[d] == table.sets[stack.infoset[d]].n_actions:
                v = finish(stack, d, i, sample_opponent, table)
                d -= 1
                continue
        nodes += 1
        is_down = descend(game, stack, d, i, sample_opponent, table, tell) != TERMINAL
        if is_down:
            d += 1
        else:
            v = game.utility(stack.states[d + 1], i)
    cursor[TRAVERSAL] = t
    cursor[DEPTH] = d
    cursor[IS_DOWN] = is_down
    cursor[NODES] = nodes
    value[0] = v
    return is_roomy

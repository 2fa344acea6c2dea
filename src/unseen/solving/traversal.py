"""Vanilla CFR, chance sampling and external sampling: walk all that the update player can do, and sample some of the rest.

M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009),
Sections 2 and 3. In a traversal for player i every action of i is tried. External sampling draws one action at each of the
opponent's information sets, the same wherever the traversal meets the set; chance sampling tries all of them, weighted. Both
draw one outcome at each chance node; vanilla CFR tries all of these, too. It may prune: leave out what the opponent's behaviour
never does, which changes nothing (Section 5). Regrets are added at i's sets, the average behaviour at the opponent's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import next_key, root_key, sample_chance, step
from unseen.game import CHANCE, TERMINAL, Game
from unseen.tabular.table import actions, choice, current, draw, fits, mark, mass, meet, n_actions, probability, regrets, remember

TRAVERSAL, DEPTH, IS_DOWN, NODES = range(4)


class Plan(NamedTuple):
    """What a traversal leaves out."""

    samples_chance: bool
    samples_opponent: bool
    prunes: bool


class Stack(NamedTuple):
    """The history that a traversal stands at, by depth."""

    states: NDArray[Any]  # (max_length + 1,) records
    keys: NDArray[np.uint64]  # (max_length + 1, 2) of what each player has seen
    player: NDArray[np.int64]  # (max_length + 1,)
    infoset: NDArray[np.int64]  # (max_length + 1,) its place in the table
    taken: NDArray[np.int64]  # (max_length + 1,) the place of the action that leads on
    outcomes: NDArray[np.int64]  # (max_length + 1, width) of chance
    n_outcomes: NDArray[np.int64]  # (max_length + 1,)
    value: NDArray[np.float64]  # (max_length + 1, width) of each action to the update player
    reach: NDArray[np.float64]  # (max_length + 1,) the opponent's probability of coming here, where it is not sampled
    luck: NDArray[np.float64]  # (max_length + 1,) the same of chance


def new_cursor(first: int = 0) -> NDArray[np.int64]:
    """Before the traversal with number `first`, on the way down."""
    return np.array([first, -1, 1, 0])


def new_stack(game: Game) -> Stack:
    depths = game.max_length + 1
    return Stack(
        game.new_states(depths), np.zeros((depths, 2), np.uint64), np.zeros(depths, np.int64), np.zeros(depths, np.int64),
        np.zeros(depths, np.int64), np.zeros((depths, game.width), np.int64), np.zeros(depths, np.int64),
        np.zeros((depths, game.width)), np.ones(depths), np.ones(depths),
    )  # fmt: skip


@piece
def is_sampled(plan, p, i):
    """Whether one move of `p` stands for all, in a traversal for player `i`."""
    return plan.samples_chance if p == CHANCE else plan.samples_opponent and p != i


@piece
def arrive(game, stack, d, i, plan, table, out, t, rng):
    """At a history that goes on: find its information set and choose the first action to follow."""
    s = stack.states[d]
    p = stack.player[d]
    stack.taken[d] = 0
    if p == CHANCE:
        n = game.actions(s, out)
        stack.n_outcomes[d] = n
        if plan.samples_chance:
            stack.outcomes[d, 0] = out[sample_chance(game, s, out, n, rng)]
        else:
            for k in range(n):
                stack.outcomes[d, k] = out[k]
        return
    w = meet(game, s, p, stack.keys[d, p], table, out)
    stack.infoset[d] = w
    if p == i and plan.samples_opponent:
        return
    if table.whole[mark(w)] != t + 1:  # else it was met before: what was decided then holds, whatever has been learnt since
        table.whole[mark(w)] = t + 1
        total = mass(table, w)
        if p != i:
            remember(table, w, total, stack.reach[d])
        if plan.samples_opponent:
            table.half[choice(w)] = draw(table, w, total, rng)
        else:
            for k in range(n_actions(table, w)):
                table.real[current(table, w) + k] = probability(table, w, total, k)
    if plan.samples_opponent:
        stack.taken[d] = table.half[choice(w)]


@piece
def descend(game, stack, d, i, plan, table, tell):
    """Follow the chosen action. Returns whose move it is then."""
    k = stack.taken[d]
    p = stack.player[d]
    w = stack.infoset[d]
    a = stack.outcomes[d, k] if p == CHANCE else np.int64(table.half[actions(table, w) + k])
    stack.states[d + 1] = stack.states[d]
    s = stack.states[d + 1]
    step(game, s, a, tell)
    mover = game.player(s)
    stack.player[d + 1] = mover
    if mover != TERMINAL:
        for viewer in range(2):
            stack.keys[d + 1, viewer] = next_key(stack.keys[d, viewer], viewer, p, a, tell)
        stack.reach[d + 1] = stack.reach[d]
        stack.luck[d + 1] = stack.luck[d]
        if p == 1 - i and not plan.samples_opponent:
            stack.reach[d + 1] *= table.real[current(table, w) + k]
        elif p == CHANCE and not plan.samples_chance:
            stack.luck[d + 1] *= game.chance(stack.states[d], a, stack.n_outcomes[d])
    return mover


@piece
def is_over(stack, d, table):
    """Whether all actions at depth `d` have been followed."""
    n = stack.n_outcomes[d] if stack.player[d] == CHANCE else n_actions(table, stack.infoset[d])
    return stack.taken[d] == n


@piece
def is_pruned(stack, d, i, plan, table):
    """Whether the next action is one that the opponent never takes."""
    if not plan.prunes or stack.player[d] != 1 - i:
        return False
    return table.real[current(table, stack.infoset[d]) + stack.taken[d]] == 0.0


@piece
def average_outcome(game, stack, d):
    """The value of a chance node from those of its outcomes."""
    expected = 0.0
    for k in range(stack.n_outcomes[d]):
        expected += game.chance(stack.states[d], stack.outcomes[d, k], stack.n_outcomes[d]) * stack.value[d, k]
    return expected


@piece
def finish(stack, d, i, plan, table):
    """All actions at depth `d` have values: the value of the history; regrets if it is the update player's."""
    w = stack.infoset[d]
    n = n_actions(table, w)
    regret, value = table.real[regrets(w) : regrets(w) + n], stack.value[d]
    expected = 0.0
    if plan.samples_opponent:  # comes to a set of the update player only once: its regrets are still those of the behaviour
        total = mass(table, w)
        for k in range(n):
            expected += (max(regret[k], 0.0) if total > 0.0 else 1.0) * value[k]
        expected /= total if total > 0.0 else n
    else:
        for k in range(n):
            expected += table.real[current(table, w) + k] * value[k]
    if stack.player[d] == i:
        counterfactual = stack.reach[d] * stack.luck[d]
        for k in range(n):
            regret[k] += counterfactual * (value[k] - expected)
    return expected


@piece
def begin(game, stack):
    """Put the empty history on the stack."""
    game.start(stack.states[0])
    stack.player[0] = game.player(stack.states[0])
    stack.keys[0, 0] = root_key(0)
    stack.keys[0, 1] = root_key(1)
    stack.reach[0] = 1.0
    stack.luck[0] = 1.0


@kernel
def run(game, stack, table, out, tell, rng, plan, cursor, value, end):
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
            arrive(game, stack, d, i, plan, table, out, t, rng)
        else:
            if is_sampled(plan, p, i):
                d -= 1
                continue
            stack.value[d, stack.taken[d]] = v
            stack.taken[d] += 1
            if is_over(stack, d, table):
                v = average_outcome(game, stack, d) if p == CHANCE else finish(stack, d, i, plan, table)
                d -= 1
                continue
        if is_pruned(stack, d, i, plan, table):
            v = 0.0
            is_down = False
            continue
        nodes += 1
        is_down = descend(game, stack, d, i, plan, table, tell) != TERMINAL
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

"""Vanilla CFR, chance sampling and external sampling: walk all that the update player can do, and sample some of the rest.

M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009),
Sections 2 and 3. In a traversal for player i every action of i is tried. External sampling draws one action at each of the
opponent's information sets, the same wherever the traversal meets the set; chance sampling tries all of them, weighted. Both
draw one outcome at each chance node; vanilla CFR tries all of these, too. It may prune: leave out what the opponent's behaviour
never does, which changes nothing (Section 5). Regrets are added at i's sets, the average behaviour at the opponent's.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import is_mover, next_key, root_key, sample_chance, step
from unseen.game import CHANCE, TERMINAL, Game
from unseen.tabular.regret_matching import add_behaviour, draw, positive_sum, probability
from unseen.tabular.table import (
    NOWHERE,
    Columns,
    Keeps,
    Table,
    actions,
    cells,
    find_or_add,
    fits,
    kept,
    most_words,
    n_actions,
    set_field,
)

TRAVERSAL, DEPTH, IS_DOWN, NODES = range(4)
DONE, NO_ROOM, BROKEN = 0, 1, -9
"""How a run ended; BROKEN also stands in place of whose move it is."""


class WalkKeeps(Keeps):
    """What is kept of a set where all of the opponent's actions are tried: the last traversal that came there, and its behaviour
    then."""

    samples_opponent: ClassVar[bool] = False
    for_set = ("traversal",)
    for_action = ("regrets", "averages", "behaviour")

    def decide(self, table, w, n, total, rng):
        """Write down what holds for the rest of this traversal, whatever is learnt: the behaviour."""
        regret, behaviour = kept(table.floats, w, n, self.regrets), kept(table.floats, w, n, self.behaviour)
        for k in range(n):
            behaviour[k] = probability(regret, total, k)

    def first_taken(self, table, w):
        """The index of the first action to follow."""
        return 0

    def share(self, table, w, k):
        """The weight of the opponent's action `k` in what a traversal finds: its probability."""
        return table.floats[cells(w, n_actions(table.halves, w), self.behaviour) + k]

    def expected(self, table, w, n, value):
        """What the behaviour at a set expects, if its actions have these values, shape (w,)."""
        behaviour, expected = kept(table.floats, w, n, self.behaviour), 0.0
        for k in range(n):
            expected += behaviour[k] * value[k]
        return expected


class ExternalKeeps(Keeps):
    """What is kept of a set where one of the opponent's actions is drawn: the last traversal that came there, and what it drew."""

    samples_opponent: ClassVar[bool] = True
    for_set = ("traversal", "drawn")
    for_action = ("regrets", "averages")

    def is_sound(self, table: Table, content: Columns) -> bool:
        """What was drawn must be the index of an action."""
        drawn = content.of_sets(table.ints, self.drawn)
        return Keeps.is_sound(self, table, content) and bool(((drawn >= 0) & (drawn < content.n_actions)).all())

    def decide(self, table, w, n, total, rng):
        table.ints[set_field(w, self.drawn)] = draw(kept(table.floats, w, n, self.regrets), total, rng)

    def first_taken(self, table, w):
        return table.ints[set_field(w, self.drawn)]

    def share(self, table, w, k):
        """That of the one that was drawn."""
        return 1.0

    def expected(self, table, w, n, value):
        """A set of the update player is met only once: its regrets are still those of the behaviour."""
        regret, expected = kept(table.floats, w, n, self.regrets), 0.0
        total = positive_sum(regret)
        for k in range(n):
            expected += (max(regret[k], 0.0) if total > 0.0 else 1.0) * value[k]
        return expected / (total if total > 0.0 else n)


class Sampling(NamedTuple):
    """What else a traversal leaves out."""

    samples_chance: bool
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
    opponent_reach: NDArray[np.float64]  # (max_length + 1,) the opponent's reach probability, where it is not sampled
    chance_reach: NDArray[np.float64]  # (max_length + 1,) the same of chance


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
def is_sampled(sampling, keeps, p, i):
    """Whether one move of `p` stands for all, in a traversal for player `i`."""
    return sampling.samples_chance if p == CHANCE else keeps.samples_opponent and p != i


@piece
def arrive(game, stack, d, i, sampling, keeps, table, out, t, rng):
    """At a history that goes on: find its information set and choose the first action to follow. Returns whether there is one."""
    s = stack.states[d]
    p = stack.player[d]
    stack.taken[d] = 0
    if p == CHANCE:
        n = game.actions(s, out)
        if n <= 0 or n > len(out):
            return False
        stack.n_outcomes[d] = n
        if sampling.samples_chance:
            stack.outcomes[d, 0] = out[sample_chance(game, s, out, n, rng)]
        else:
            for k in range(n):
                stack.outcomes[d, k] = out[k]
        return True
    w = find_or_add(game, s, p, stack.keys[d, p], table, out, t)
    stack.infoset[d] = w
    if w == NOWHERE:
        return False
    if p == i and keeps.samples_opponent:
        return True
    met = set_field(w, keeps.traversal)
    if table.ints[met] != t + 1:  # else it was met before: what was decided then holds, whatever has been learnt since
        table.ints[met] = t + 1
        n = n_actions(table.halves, w)
        regret = kept(table.floats, w, n, keeps.regrets)
        total = positive_sum(regret)
        if p != i:
            add_behaviour(regret, total, 0.0, kept(table.floats, w, n, keeps.averages), stack.opponent_reach[d])
        keeps.decide(table, w, n, total, rng)
    stack.taken[d] = keeps.first_taken(table, w)
    return True


@piece
def descend(game, stack, d, i, sampling, keeps, table, tell):
    """Follow the chosen action. Returns whose move it is then, or BROKEN."""
    k = stack.taken[d]
    p = stack.player[d]
    w = stack.infoset[d]
    a = stack.outcomes[d, k] if p == CHANCE else np.int64(table.halves[actions(w, n_actions(table.halves, w)) + k])
    stack.states[d + 1] = stack.states[d]
    s = stack.states[d + 1]
    step(game, s, a, tell)
    mover = game.player(s)
    stack.player[d + 1] = mover
    if mover != TERMINAL:
        if d + 2 == len(stack.player) or not is_mover(mover):
            return BROKEN
        for viewer in range(2):
            stack.keys[d + 1, viewer] = next_key(stack.keys[d, viewer], viewer, p, a, tell)
        stack.opponent_reach[d + 1] = stack.opponent_reach[d]
        stack.chance_reach[d + 1] = stack.chance_reach[d]
        if p == 1 - i:
            stack.opponent_reach[d + 1] *= keeps.share(table, w, k)
        elif p == CHANCE and not sampling.samples_chance:
            stack.chance_reach[d + 1] *= game.chance(stack.states[d], a, stack.n_outcomes[d])
    return mover


@piece
def is_over(stack, d, table):
    """Whether all actions at depth `d` have been followed."""
    n = stack.n_outcomes[d] if stack.player[d] == CHANCE else n_actions(table.halves, stack.infoset[d])
    return stack.taken[d] == n


@piece
def is_pruned(stack, d, i, sampling, keeps, table):
    """Whether the next action is one that the opponent never takes."""
    return sampling.prunes and stack.player[d] == 1 - i and keeps.share(table, stack.infoset[d], stack.taken[d]) == 0.0


@piece
def average_outcome(game, stack, d):
    """The value of a chance node from those of its outcomes."""
    expected = 0.0
    for k in range(stack.n_outcomes[d]):
        expected += game.chance(stack.states[d], stack.outcomes[d, k], stack.n_outcomes[d]) * stack.value[d, k]
    return expected


@piece
def finish(stack, d, i, keeps, table):
    """All actions at depth `d` have values: the value of the history; regrets if it is the update player's."""
    w, value = stack.infoset[d], stack.value[d]
    n = n_actions(table.halves, w)
    expected = keeps.expected(table, w, n, value)
    if stack.player[d] == i:
        regret, counterfactual = kept(table.floats, w, n, keeps.regrets), stack.opponent_reach[d] * stack.chance_reach[d]
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
    stack.opponent_reach[0] = 1.0
    stack.chance_reach[0] = 1.0


@kernel
def run(game, stack, keeps, table, out, tell, rng, sampling, cursor, value, end):
    """Traversals for the players in turn, from where `cursor` and `value` say, until number `end` is reached.

    Returns DONE, NO_ROOM if it stopped because another information set might not find room in the table (it can go on from there),
    or BROKEN if a game went on past `max_length` or offered no action.
    """
    t, d, is_down, nodes = cursor[TRAVERSAL], cursor[DEPTH], cursor[IS_DOWN] == 1, cursor[NODES]
    v = value[0]  # on the way up: what the history below `d` is worth
    status, words = DONE, most_words(table.size, 1, len(out), 0)
    while t < end and status == DONE:
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
            if not is_mover(stack.player[0]):
                status = BROKEN
                continue
            d = 0
        p = stack.player[d]
        if is_down:
            if not fits(table, 1, words):
                status = NO_ROOM
                continue
            if not arrive(game, stack, d, i, sampling, keeps, table, out, t, rng):
                status = BROKEN
                continue
        else:
            if is_sampled(sampling, keeps, p, i):
                d -= 1
                continue
            stack.value[d, stack.taken[d]] = v
            stack.taken[d] += 1
            if is_over(stack, d, table):
                v = average_outcome(game, stack, d) if p == CHANCE else finish(stack, d, i, keeps, table)
                d -= 1
                continue
        if is_pruned(stack, d, i, sampling, keeps, table):
            v = 0.0
            is_down = False
            continue
        nodes += 1
        mover = descend(game, stack, d, i, sampling, keeps, table, tell)
        is_down = mover != TERMINAL
        if mover == BROKEN:
            status = BROKEN
        elif is_down:
            d += 1
        else:
            v = game.utility(stack.states[d + 1], i)
    cursor[TRAVERSAL] = t
    cursor[DEPTH] = d
    cursor[IS_DOWN] = is_down
    cursor[NODES] = nodes
    value[0] = v
    return status

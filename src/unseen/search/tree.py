"""The part of a simulation that is inside the tree: choices are made where there is something to learn, until it leaves the tree.

In a `SetTree` a node is an information set, and a simulation adds at most one. Lines are those of Algorithm 1 of M. Lanctot, V.
Lisý and M. Bowling, "Search in imperfect information games using online Monte Carlo counterfactual regret minimization" (2014).

In a `JointTree`, for games with simultaneous moves in which nothing else is hidden, a node is the situation of both players:
their sets and every pair of actions are one block of the table, added as a whole, and both choices are made at once. Lines are
those of Algorithm 1 of M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with applications
to Goofspiel" (2013).

Two probabilities of a simulation are kept: s1, with which it would have been drawn if led to the target, and s2, if not. Only the
ratio s1 / s2 is needed (see `rules.OnlineOutcomeSampling`). The first paper's line 6 hands the tail x through chance nodes
unchanged, which misses the factor by which equation 2 weighs them; here chance cancels as it should.
"""

from __future__ import annotations

import numpy as np

from unseen.compiling import Compiled, piece
from unseen.engine import coin, is_mover, is_proper, mix, next_key, pick, random, random_action, sample_chance, state_key, step
from unseen.game import CHANCE, TERMINAL
from unseen.search.aim import FREE, LOST, arrived, edges, has_others
from unseen.search.joint_rules import NOTHING
from unseen.search.root import move
from unseen.search.rules import PER_HISTORY
from unseen.tabular.table import (
    NOWHERE,
    actions,
    add,
    agrees,
    cells,
    find,
    fits,
    most_words,
    n_actions,
    n_second,
    slot_of,
)

TINY, HUGE = 1e-250, 1e250
"""Bounds of probabilities and their ratios, so that in very deep games weights stay numbers."""


@piece
def pick_edge(chances, indices, total, rng):
    """The same among the edges of a node, which lead to some of the actions."""
    u = random(rng) * total
    for e in range(len(indices) - 1):
        u -= chances[indices[e]]
        if u < 0.0:
            return e
    return len(indices) - 1


@piece
def draw_action(game, s, p, node, is_led, aim, n, work):
    """Line 8 (and 5): draw an action by `work.chances`, among those on target if the simulation is led.

    Returns its index, its probability if not led, the factor by which being led makes it likelier (0 if that would never choose
    it), and the next node. Where nothing can stay on target, being led makes no difference from there on.
    """
    if node < 0:
        k = pick(work.chances, 0, n, 1.0, work.rng)
        return k, work.chances[k], 1.0, node
    indices, children = edges(game, s, p, node, aim, work, n)
    total = 0.0
    for e in range(len(indices)):
        total += work.chances[indices[e]]
    if total <= 0.0:
        k = pick(work.chances, 0, n, 1.0, work.rng)
        return k, work.chances[k], 1.0, FREE
    if is_led:
        e = pick_edge(work.chances, indices, total, work.rng)
        return indices[e], work.chances[indices[e]], 1.0 / total, children[e]
    k = pick(work.chances, 0, n, 1.0, work.rng)
    for e in range(len(indices)):
        if indices[e] == k:
            return k, work.chances[k], 1.0 / total, children[e]
    return k, work.chances[k], 0.0, LOST


@piece
def mixture(delta, ratio):
    """delta s1 / s2 + 1 - delta, by which weights are divided."""
    return delta * ratio + 1.0 - delta


class SetTree(Compiled):
    """A tree of information sets."""

    def has_room(self, rule, table, baselines, length, width):
        """Whether one more simulation finds room in any case."""
        return fits(table, 1, most_words(table.size, 1, width, 0)) and (
            rule.baseline != PER_HISTORY or fits(baselines, length, most_words(baselines.size, length, length * width, 0))
        )

    def descend(self, game, rule, leaf, known, aim, may_grow, memory, flights, f, work):
        """Lines 2 to 17: choose and step until flight `f` has added a set, or is beyond the tree. Returns False if the game is
        broken."""
        s, flight, choices, table = flights.states[f], flights.flight[f], flights.choices[f], memory.table
        i, node, own = flight.number & 1, flight.node, flight.own
        key0, key1 = flight.key0, flight.key1
        delta = rule.delta if node >= 0 else 0.0
        is_led = delta > 0.0 and coin(delta, work.rng)
        before0, before1 = NOWHERE, NOWHERE  # where the average of each player's last choice is
        ratio, g = 1.0, 1.0
        depth, steps = 0, flight.steps
        is_inside = True
        p = game.player(s)
        while is_inside and p != TERMINAL:
            if steps == len(choices):
                return False
            if p == CHANCE:
                n = game.actions(s, work.out)
                if n <= 0 or n > len(work.out):
                    return False
                if node < 0:
                    k = sample_chance(game, s, work.out, n, work.rng)
                else:
                    if has_others(aim, node, n):
                        return False
                    for k in range(n):
                        work.chances[k] = game.chance(s, work.out[k], n)
                    k, _, factor, node = draw_action(game, s, p, node, is_led, aim, n, work)
                    ratio = min(ratio * factor, HUGE)
                a = work.out[k]
            else:
                key = key0 if p == 0 else key1
                w = find(table, key)
                is_inside = w != NOWHERE
                if not is_inside:
                    if not may_grow:
                        break
                    n = game.actions(s, work.out)
                    if not is_mover(p) or not is_proper(work.out, n):
                        return False
                    w = add(table, slot_of(table.slots, table.ints, key), key, p, work.out, n, 0)
                    leaf.begin_set(game, s, rule, known, table, w, p, key, flight, flights.seen[f], work.out, n)
                elif not agrees(game, s, p, table, w, work.out, flight.number):
                    return False
                n = n_actions(table.halves, w)
                total = rule.choose(
                    memory, w, n, p == i, not is_inside, before0 if p == 0 else before1, 1.0 / (own * g), work.chances
                )
                listed = actions(w, n)
                if node >= 0 and has_others(aim, node, n):
                    return False
                if node >= 0 and not aim.is_exact:
                    for k in range(n):
                        work.out[k] = table.halves[listed + k]
                k, drawn, factor, node = draw_action(game, s, p, node, is_led, aim, n, work)
                ratio = min(ratio * factor, HUGE)
                choice = choices[depth]
                choice.player = p
                choice.node = w
                choice.taken = k
                choice.drawn = drawn
                choice.own = own
                choice.before = g
                choice.after = mixture(delta, ratio)
                choice.baseline = rule.find_baselines(game, s, p, key0, key1, may_grow, memory, w, work.out)
                rule.drew(memory, choice, flights.then[f, depth], n, total)
                depth += 1
                if p == i:
                    own = max(own * drawn, TINY)
                a = np.int64(table.halves[listed + k])
                here = cells(w, n, rule.played) + k
                before0, before1 = (here, before1) if p == 0 else (before0, here)
            step(game, s, a, work.tell)
            steps += 1
            key0, key1 = next_key(key0, 0, p, a, work.tell), next_key(key1, 1, p, a, work.tell)
            leaf.saw(flight, flights.seen[f], p, a, work.tell)
            p = game.player(s)
            if node >= 0:
                node = arrived(game, s, node, aim)
            g = mixture(delta, ratio)
        flight.key0 = key0
        flight.key1 = key1
        flight.steps = steps
        flight.depth = depth
        flight.ratio = ratio
        flight.g = g
        return True


class JointTree(Compiled):
    """A tree of the situations of a game in which both players choose at once and nothing else is hidden."""

    def has_room(self, rule, table, baselines, length, width):
        return fits(table, 1, most_words(table.size, 1, 2 * width, width * width))

    def descend(self, game, rule, leaf, known, aim, may_grow, memory, flights, f, work):
        """Lines 2 to 19: chance is sampled (3 to 8); where a node is missing it is added (5, 11); if it has pairs of actions to try
        first, one of them is, and that is all (9 to 12); otherwise both players choose (16)."""
        s, flight, choices, table = flights.states[f], flights.flight[f], flights.choices[f], memory.table
        i, own, depth = flight.number & 1, flight.own, 0
        is_inside = True
        p = game.player(s)
        while is_inside and p != TERMINAL:
            if flight.steps + (1 if p == CHANCE else 2) > len(choices) or p == 1 or not is_mover(p):
                return False
            if p == CHANCE:
                a = random_action(game, s, p, work.out, work.rng)
                if a < 0:
                    return False
                move(game, leaf, s, flight, flights.seen[f], p, a, work.tell)
                p = game.player(s)
                continue
            key = state_key(flights.words, f) if rule.share else joint_key(flight.key0, flight.key1)
            w = find(table, key)
            is_inside = w != NOWHERE
            if not is_inside:
                if not may_grow:
                    break
                w = expand(game, s, key, table, work)
                if w == NOWHERE:
                    return False
            both, m = n_actions(table.halves, w), n_second(table.halves, w)
            n = both - m
            pair = rule.fill(memory, w, n, m, work.rng)
            rule.choose(memory, w, n, m, i, 1.0 / own, pair != NOTHING, work.chances)
            if pair == NOTHING:
                first, second = pick(work.chances, 0, n, 1.0, work.rng), pick(work.chances, n, m, 1.0, work.rng)
            else:
                first, second = pair // m, pair % m
                is_inside = False
            choice = choices[depth]
            choice.node = w
            choice.taken = first
            choice.second = second
            choice.drawn = work.chances[first]
            choice.drawn_second = work.chances[n + second]
            choice.own = own
            rule.drew(memory, choice, flights.then[f, depth], n, m)
            own = max(own * (choice.drawn if i == 0 else choice.drawn_second), TINY)
            depth += 1
            listed = actions(w, both)
            move(game, leaf, s, flight, flights.seen[f], 0, np.int64(table.halves[listed + first]), work.tell)
            if game.player(s) != 1:
                return False
            move(game, leaf, s, flight, flights.seen[f], 1, np.int64(table.halves[listed + n + second]), work.tell)
            p = game.player(s)
        flight.depth = depth
        flight.ratio = 1.0
        flight.g = 1.0
        return True


@piece
def joint_key(key0, key1):
    """The key of a joint node: what both players have seen."""
    return mix(key0 + mix(key1))


@piece
def expand(game, s, key, table, work):
    """Add the joint node of the history `s`, whole. Returns NOWHERE if the game is broken.

    The second player's actions are those after any of the first: it does not know which.
    """
    work.spare[0] = s
    n = game.actions(s, work.out)
    if not is_proper(work.out, n):
        return np.int64(NOWHERE)
    for k in range(n):
        work.pairs[k] = work.out[k]
    step(game, work.spare[0], work.out[0], work.tell)
    if game.player(work.spare[0]) != 1:
        return np.int64(NOWHERE)
    m = game.actions(work.spare[0], work.out)
    if not is_proper(work.out, m):
        return np.int64(NOWHERE)
    for k in range(m):
        work.pairs[n + k] = work.out[k]
    return add(table, slot_of(table.slots, table.ints, key), key, 0, work.pairs, n + m, m)

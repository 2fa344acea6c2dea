"""The one search loop: simulations that go down a tree of information sets, add one, play out, and learn on the way back.

What differs between searches is plugged in: the *rule* (what an information set does, `rules.py`), the *aim* (where the match is,
`aim.py`) and the *playout* (how a simulation ends where the tree does). Lines are those of Algorithm 1 of M. Lanctot, V. Lisý and
M. Bowling, "Search in imperfect information games using online Monte Carlo counterfactual regret minimization" (2014).

Two probabilities of a simulation are kept: s1, with which it would have been drawn if led to the target, and s2, if not. Only the
ratio s1 / s2 is needed (see `rules.Outcome`). The paper's line 6 hands the tail x through chance nodes unchanged, which misses
the factor by which equation 2 weighs them; here chance cancels as it should.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import Compiled, kernel, piece
from unseen.engine import mix, next_key, random, root_key, sample_chance, step
from unseen.game import CHANCE, TERMINAL, Game
from unseen.search.aim import FREE, LOST, arrived, edge_to_world, edges
from unseen.search.rules import NOW, PER_HISTORY, RATIO, WEIGHT
from unseen.tabular.table import NOWHERE, actions, averages, current, fits, mass, meet, n_actions, regrets, slot_of

STUCK, BROKEN = -1, -2
"""In place of a depth: the simulation found no way to the target, and taught nothing; the game broke the protocol."""
TINY, HUGE = 1e-250, 1e250
"""Bounds of probabilities and their ratios, so that in very deep games weights stay numbers."""


class Path(NamedTuple):
    """The choices of a simulation at sets of the tree, in order."""

    player: NDArray[np.int64]  # (max_length,)
    infoset: NDArray[np.int64]  # (max_length,) its place in the table
    taken: NDArray[np.int64]  # (max_length,) the place of the action among those of the set
    total: NDArray[np.float64]  # (max_length,) the mass of the set's regrets
    drawn: NDArray[np.float64]  # (max_length,) the probability of the action, if not led
    reach: NDArray[np.float64]  # (max_length,) that of the update player's own earlier choices, if not led
    before: NDArray[np.float64]  # (max_length,) delta s1 / s2 + 1 - delta before the choice
    after: NDArray[np.float64]  # (max_length,) and after it
    worth: NDArray[np.int64]  # (max_length,) where the baselines of the history's actions begin, or NOWHERE


class Desk(NamedTuple):
    """Arrays to write on while simulating."""

    out: NDArray[np.int64]  # (width,) actions
    tell: NDArray[np.int64]  # (3,) tokens
    chances: NDArray[np.float64]  # (width,) probabilities of actions
    places: NDArray[np.int64]  # (width,) those that stay on target
    children: NDArray[np.int64]  # (width,) where they lead


class UniformPlayout(Compiled):
    """The playout policy that chooses evenly. Another one has a `draw` of its own."""

    def draw(self, game, s, out, n, rng):
        """The place of an action among the `n` in `out`."""
        return int(random(rng) * n)


def new_path(length: int) -> Path:
    whole = [np.zeros(length, np.int64) for _ in range(4)]
    real = [np.zeros(length) for _ in range(5)]
    return Path(whole[0], whole[1], whole[2], real[0], real[1], real[2], real[3], real[4], whole[3])


def new_desk(game: Game) -> Desk:
    out, places, children = (np.zeros(game.width, np.int64) for _ in range(3))
    return Desk(out, np.zeros(3, np.int64), np.zeros(game.width), places, children)


@piece
def coin(chance, rng):
    """Whether something of this probability happens."""
    return random(rng) < chance


@piece
def pick(chances, n, total, rng):
    """A place among `n`, drawn by weights that sum to `total`."""
    u = random(rng) * total
    last = 0
    for k in range(n):
        if chances[k] > 0.0:
            last = k
            u -= chances[k]
            if u < 0.0:
                return k
    return last


@piece
def pick_edge(chances, places, total, rng):
    """The same among the edges of a node, which lead to some of the places."""
    u = random(rng) * total
    for e in range(len(places) - 1):
        u -= chances[places[e]]
        if u < 0.0:
            return e
    return len(places) - 1


@piece
def draw_action(game, states, p, node, is_led, aim, n, desk, rng):
    """Line 8 (and 5): draw an action by `desk.chances`, among those on target if the simulation is led.

    Returns its place, its probability if not led, the factor by which being led makes it likelier (0 if that would never choose
    it), and the next node. Where nothing can stay on target, being led makes no difference from there on.
    """
    if node < 0:
        k = pick(desk.chances, n, 1.0, rng)
        return k, desk.chances[k], 1.0, node
    places, children = edges(game, states, p, node, aim, desk, n)
    total = 0.0
    for e in range(len(places)):
        total += desk.chances[places[e]]
    if total <= 0.0:
        k = pick(desk.chances, n, 1.0, rng)
        return k, desk.chances[k], 1.0, FREE
    if is_led:
        e = pick_edge(desk.chances, places, total, rng)
        return places[e], desk.chances[places[e]], 1.0 / total, children[e]
    k = pick(desk.chances, n, 1.0, rng)
    for e in range(len(places)):
        if places[e] == k:
            return k, desk.chances[k], 1.0 / total, children[e]
    return k, desk.chances[k], 0.0, LOST


@piece
def mixture(rule, delta, ratio):
    """delta s1 / s2 + 1 - delta, by which weights are divided; not if they are divided by a running mean instead."""
    return 1.0 if rule.is_running else delta * ratio + 1.0 - delta


@piece
def find_or_add(game, s, p, key, may_grow, table, out):
    """Lines 7, 9 and 10: the set with this key and whether it is new; NOWHERE if it would be, and there is no room."""
    w = np.int64(table.slots[slot_of(table, key)])
    if w != NOWHERE:
        return w, False
    return (meet(game, s, p, key, table, out) if may_grow else np.int64(NOWHERE)), True


@piece
def copy_actions(table, w, n, out):
    for k in range(n):
        out[k] = table.half[actions(table, w) + k]


@piece
def write_down(path, depth, p, w, taken, total, drawn, reach, before, after):
    """A choice of the simulation."""
    path.player[depth] = p
    path.infoset[depth] = w
    path.taken[depth] = taken
    path.total[depth] = total
    path.drawn[depth] = drawn
    path.reach[depth] = reach
    path.before[depth] = before
    path.after[depth] = after
    path.worth[depth] = NOWHERE


@piece
def worths_of(game, s, p, key0, key1, may_grow, table, w, worths, out):
    """Where the baselines of a history's actions begin, at first those of its set; NOWHERE if there is no room for any.

    The history is known by what both players have seen and whose turn it is, which need not follow from that.
    """
    key = mix(key0 + mix(key1 + np.uint64(p)))
    known = worths.size[0]
    if not may_grow and worths.slots[slot_of(worths, key)] == NOWHERE:
        return np.int64(NOWHERE)
    block = meet(game, s, p, key, worths, out)
    if worths.size[0] > known:
        for k in range(n_actions(table, w)):
            worths.real[regrets(block) + k] = table.real[current(table, w) + k]
    return regrets(block)


@piece
def has_room(rule, table, worths, length, width):
    """Whether one more simulation finds room in any case."""
    return fits(table, 1, width) and (rule.baseline != PER_HISTORY or fits(worths, length, length * width))


@piece
def go_to_world(game, states, aim, node, desk, rng):
    """One step of a simulation that begins at a history of the target: its action and the next node, LOST if it is stuck."""
    if aim.is_exact:
        e = edge_to_world(aim, node, rng)
        return aim.action[e], aim.child[e]
    n = game.actions(states[0], desk.out)
    places, children = edges(game, states, game.player(states[0]), node, aim, desk, n)
    if len(places) == 0:
        return 0, LOST
    e = int(random(rng) * len(places))
    return desk.out[places[e]], children[e]


@piece
def descend(game, rule, playout, aim, states, i, may_grow, table, worths, path, desk, notes, rng):
    """Lines 2 to 17: draw one simulation. Returns the choices on the path, s1 / s2 at its end, and delta s1 / s2 + 1 - delta."""
    s = states[0]
    game.start(s)
    node = arrived(game, s, 0, aim) if aim.is_active else FREE
    delta = rule.delta if node >= 0 else 0.0
    is_led = delta > 0.0 and coin(delta, rng)
    key0, key1 = root_key(0), root_key(1)
    before0, before1 = NOWHERE, NOWHERE  # where the average of each player's last choice is
    reach, ratio, g = 1.0, 1.0, 1.0
    depth = 0
    is_inside = True
    steps = 0
    p = game.player(s)
    while is_inside and p != TERMINAL:
        if steps == len(path.player):
            return BROKEN, 0.0, 0.0
        if rule.jumps and node >= 0:
            a, node = go_to_world(game, states, aim, node, desk, rng)
            if node == LOST:
                return STUCK, 0.0, 0.0
        elif p == CHANCE:
            n = game.actions(s, desk.out)
            if node < 0:
                k = sample_chance(game, s, desk.out, n, rng)
            else:
                for k in range(n):
                    desk.chances[k] = game.chance(s, desk.out[k], n)
                k, _, factor, node = draw_action(game, states, p, node, is_led, aim, n, desk, rng)
                ratio = min(ratio * factor, HUGE)
            a = desk.out[k]
        else:
            w, is_new = find_or_add(game, s, p, key0 if p == 0 else key1, may_grow, table, desk.out)
            is_inside = not is_new
            if w == NOWHERE:
                break
            n, total = n_actions(table, w), mass(table, w)
            rule.arrive(table, w, total, before0 if p == 0 else before1, is_new, notes)
            rule.spread(table, w, total, p == i, n, desk.chances)
            if node >= 0 and not aim.is_exact:
                copy_actions(table, w, n, desk.out)
            k, drawn, factor, node = draw_action(game, states, p, node, is_led, aim, n, desk, rng)
            ratio = min(ratio * factor, HUGE)
            write_down(path, depth, p, w, k, total, drawn, reach, g, mixture(rule, delta, ratio))
            if rule.baseline == PER_HISTORY:
                path.worth[depth] = worths_of(game, s, p, key0, key1, may_grow, table, w, worths, desk.out)
            depth += 1
            if p == i:
                reach = max(reach * drawn, TINY)
            a = np.int64(table.half[actions(table, w) + k])
            here = averages(table, w) + k
            before0, before1 = (here, before1) if p == 0 else (before0, here)
        step(game, s, a, desk.tell)
        steps += 1
        key0, key1 = next_key(key0, 0, p, a, desk.tell), next_key(key1, 1, p, a, desk.tell)
        p = game.player(s)
        if node >= 0:
            node = arrived(game, s, node, aim)
        g = mixture(rule, delta, ratio)
    while p != TERMINAL:
        n = game.actions(s, desk.out)
        if n <= 0 or steps == len(path.player):
            return BROKEN, 0.0, 0.0
        k = sample_chance(game, s, desk.out, n, rng) if p == CHANCE else playout.draw(game, s, desk.out, n, rng)
        step(game, s, desk.out[k], desk.tell)
        steps += 1
        p = game.player(s)
    return depth, ratio, g


@kernel
def run(game, rule, playout, aim, states, may_grow, table, worths, path, desk, notes, rng, begin, end):
    """Simulations `begin` to `end` - 1, updating the players in turn. Returns the next one: earlier if a set might find no room.

    Returns BROKEN if a game went on past `max_length`, or offered no action.
    """
    for t in range(begin, end):
        if may_grow and not has_room(rule, table, worths, len(path.player), len(desk.out)):
            return t
        i = t & 1
        notes[NOW] = float(t + 1) ** rule.power if rule.power != 0.0 else 1.0
        notes[WEIGHT] += notes[NOW]
        depth, ratio, g = descend(game, rule, playout, aim, states, i, may_grow, table, worths, path, desk, notes, rng)
        if depth == BROKEN:
            return BROKEN
        if rule.is_running and rule.delta > 0.0:  # its mean is at least 1, its estimate might not be
            notes[RATIO] = max(1.0, notes[RATIO] + (1.0 - rule.decay) * (ratio - notes[RATIO]))
        value = game.utility(states[0], 0) / g if depth > 0 else 0.0
        for d in range(depth - 1, -1, -1):
            value = rule.learn(table, worths, path, d, i, value, notes)
    return end

"""Outcome sampling: one play of the game a simulation, and regrets only along it.

M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009), Section
3. The update player explores: with probability epsilon it draws evenly, otherwise from its behaviour; the others
follow theirs. Regrets are added at the update player's sets (equation 10).

The average strategy weights each iteration's behaviour at a set by its player's own probability of coming there. A simulation sees
few sets, so there are two ways. *Stochastic*: at the opponent's sets, add the behaviour over the probability that the sample came
there; right on average. *Lazy*: a set's behaviour changes only when a simulation comes there, and then its player's earlier sets
were visited, too. So the weight that has gathered since the last visit is known exactly: the growth, meanwhile, of the average of
the choice that leads here. That needs no importance weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import next_key, random, root_key, sample_chance, step
from unseen.game import CHANCE, TERMINAL
from unseen.tabular.table import (
    NOWHERE,
    actions,
    averages,
    block_size,
    choice,
    draw,
    fits,
    mark,
    mass,
    meet,
    n_actions,
    probability,
    regrets,
    remember,
)  # fmt: skip


class Path(NamedTuple):
    """The choices of the simulation, in order."""

    player: NDArray[np.int64]  # (max_length,)
    infoset: NDArray[np.int64]  # (max_length,) its place in the table
    taken: NDArray[np.int64]  # (max_length,) the place of the action among those of the set
    probability: NDArray[np.float64]  # (max_length,) that its player's behaviour gave to the action


def new_path(length: int) -> Path:
    return Path(np.zeros(length, np.int64), np.zeros(length, np.int64), np.zeros(length, np.int64), np.zeros(length))


@piece
def explore(table, w, total, epsilon, rng):
    """An action drawn evenly with probability epsilon, otherwise by the behaviour."""
    return int(random(rng) * n_actions(table, w)) if random(rng) < epsilon else draw(table, w, total, rng)


@piece
def catch_up(table, w, total, before, games):
    """Lazy averaging: the behaviour has not changed since the weight of the choice `before` was what the mark says."""
    weight = table.real[before] if before != NOWHERE else games
    remember(table, w, total, weight - table.real[mark(w)])
    table.real[mark(w)] = weight
    table.half[choice(w)] = before


@kernel
def catch_up_all(table, games):
    """The same at all sets, each after those that come before it, so that the averages are those of all games."""
    w = 1
    for _ in range(table.size[0]):
        catch_up(table, w, mass(table, w), table.half[choice(w)], games)
        w += block_size(n_actions(table, w))


@piece
def simulate(game, s, i, epsilon, is_lazy, t, table, path, out, tell, rng):
    """Play game number `t` to update player `i`.

    Returns the number of choices on the path, that of histories visited, and the probability of drawing the choices of `i`. Those
    of the opponent and of chance are drawn as they are made, so they cancel in equation 10.
    """
    game.start(s)
    key0, key1 = root_key(0), root_key(1)
    sampled = 1.0
    choice0, choice1 = NOWHERE, NOWHERE  # where the average of each player's last choice is; used if lazy
    depth = 0
    nodes = 1
    p = game.player(s)
    while p != TERMINAL:
        if p == CHANCE:
            n = game.actions(s, out)
            a = out[sample_chance(game, s, out, n, rng)]
        else:
            w = meet(game, s, p, key0 if p == 0 else key1, table, out)
            total = mass(table, w)
            if is_lazy:
                catch_up(table, w, total, choice0 if p == 0 else choice1, t + 1.0)
            if p == i:
                k = explore(table, w, total, epsilon, rng)
                chosen = probability(table, w, total, k)
                sampled *= epsilon / n_actions(table, w) + (1.0 - epsilon) * chosen
            else:
                if not is_lazy:
                    remember(table, w, total, 1.0 / sampled)
                k = draw(table, w, total, rng)
                chosen = probability(table, w, total, k)
            path.player[depth] = p
            path.infoset[depth] = w
            path.taken[depth] = k
            path.probability[depth] = chosen
            depth += 1
            a = table.half[actions(table, w) + k]
            if is_lazy:
                here = averages(table, w) + k
                choice0, choice1 = (here, choice1) if p == 0 else (choice0, here)
        step(game, s, a, tell)
        nodes += 1
        key0, key1 = next_key(key0, 0, p, a, tell), next_key(key1, 1, p, a, tell)
        p = game.player(s)
    return depth, nodes, sampled


@piece
def learn(table, path, depth, i, utility, sampled):
    """Walk back along the path and add the regrets of player `i` (equation 10)."""
    scale = utility / sampled
    tail = 1.0  # the probability that player i's behaviour goes from here to the end
    for d in range(depth - 1, -1, -1):
        if path.player[d] != i:
            continue
        w = path.infoset[d]
        regret = table.real[regrets(w) : regrets(w) + n_actions(table, w)]
        after = tail
        tail *= path.probability[d]
        for k in range(len(regret)):
            regret[k] -= scale * tail
        regret[path.taken[d]] += scale * after


@kernel
def run(game, states, table, path, out, tell, rng, epsilon, is_lazy, begin, end):
    """Simulations `begin` to `end` - 1, updating the players in turn. Returns the next simulation and the histories visited.

    Stops early if a simulation might not find room in the table.
    """
    s = states[0]
    length, width = len(path.taken), len(out)
    nodes = 0
    for t in range(begin, end):
        if not fits(table, length, length * width):
            return t, nodes
        i = t & 1
        depth, visited, sampled = simulate(game, s, i, epsilon, is_lazy, t, table, path, out, tell, rng)
        nodes += visited
        learn(table, path, depth, i, game.utility(s, i), sampled)
    return end, nodes

"""Outcome sampling: one play of the game a simulation, and regrets only along it.

M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009), Section
3. The update player explores: with probability epsilon it draws evenly, otherwise from its behaviour; the others
follow theirs. Regrets are added at the update player's sets (equation 10).

The average strategy weights each iteration's behaviour at a set by its player's own probability of coming there. A simulation sees
few sets, so there are two ways. *Stochastic*: at the opponent's sets, add the behaviour over the probability that the sample came
there; right on average. *Lazy*: exactly, when a simulation comes by (see `tabular.averaging`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import coin, is_mover, next_key, random_index, root_key, sample_chance, step
from unseen.game import CHANCE, TERMINAL
from unseen.run.reading import LARGEST
from unseen.tabular.averaging import arrive
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
)

BROKEN = -1
"""In place of a number of choices: the game went on past `max_length`, or offered no action."""


class StochasticAverages(Keeps):
    """What is kept of a set if averages are added up when the other player is updated."""

    for_action = ("regrets", "averages")

    def come_to(self, table, w, total, before, iterations):
        """A simulation has come to set `w`, by a choice of its player whose average is at `before`."""

    def follow(self, table, w, n, total, own_sampled):
        """The opponent of the update player, whose choices were drawn with this probability, follows its behaviour at set `w`."""
        regret, average = kept(table.floats, w, n, self.regrets), kept(table.floats, w, n, self.averages)
        add_behaviour(regret, total, 0.0, average, 1.0 / own_sampled)


class LazyAverages(Keeps):
    """What is kept of a set if averages are brought up to date when a simulation comes by."""

    for_set = ("weight_seen", "choice_before")
    for_action = ("regrets", "averages")

    def is_sound(self, table: Table, content: Columns) -> bool:
        """Where weight comes from must be the average of a choice at an earlier set, as it is caught up with in this order."""
        before, weight = content.of_sets(table.ints, self.choice_before), content.of_sets(table.floats, self.weight_seen)
        is_choice = np.isin(before, content.places(self.averages)) & (before < content.block)
        has_weight = bool(((weight >= 0.0) & (weight <= LARGEST)).all())
        return Keeps.is_sound(self, table, content) and has_weight and bool((is_choice | (before == NOWHERE)).all())

    def come_to(self, table, w, total, before, iterations):
        arrive(self, table, w, total, 0.0, before, iterations, False)

    def follow(self, table, w, n, total, own_sampled):
        """There is nothing to add."""


class Path(NamedTuple):
    """The choices of the simulation, in order."""

    player: NDArray[np.int64]  # (max_length,)
    infoset: NDArray[np.int64]  # (max_length,) its place in the table
    taken: NDArray[np.int64]  # (max_length,) the place of the action among those of the set
    probability: NDArray[np.float64]  # (max_length,) that its player's behaviour gave to the action


def new_path(length: int) -> Path:
    return Path(np.zeros(length, np.int64), np.zeros(length, np.int64), np.zeros(length, np.int64), np.zeros(length))


@piece
def explore(regret, total, epsilon, rng):
    """An action drawn evenly with probability epsilon, otherwise by the behaviour."""
    return random_index(len(regret), rng) if coin(epsilon, rng) else draw(regret, total, rng)


@piece
def simulate(game, s, i, epsilon, t, keeps, table, path, out, tell, rng):
    """Play game number `t` to update player `i`.

    Returns the number of choices on the path, that of histories visited, and the probability of drawing the choices of `i`. Those
    of the opponent and of chance are drawn as they are made, so they cancel in equation 10.
    """
    game.start(s)
    key0, key1 = root_key(0), root_key(1)
    own_sampled = 1.0
    choice0, choice1 = NOWHERE, NOWHERE  # where the average of each player's last choice is
    depth = 0
    nodes = 1
    p = game.player(s)
    while p != TERMINAL:
        if nodes > len(path.player) or not is_mover(p):
            return BROKEN, nodes, 0.0
        if p == CHANCE:
            n = game.actions(s, out)
            if n <= 0 or n > len(out):
                return BROKEN, nodes, 0.0
            a = out[sample_chance(game, s, out, n, rng)]
        else:
            w = find_or_add(game, s, p, key0 if p == 0 else key1, table, out, t)
            if w == NOWHERE:
                return BROKEN, nodes, 0.0
            n = n_actions(table.halves, w)
            regret = kept(table.floats, w, n, keeps.regrets)
            total = positive_sum(regret)
            keeps.come_to(table, w, total, choice0 if p == 0 else choice1, t + 1.0)
            if p == i:
                k = explore(regret, total, epsilon, rng)
                chosen = probability(regret, total, k)
                own_sampled *= epsilon / n + (1.0 - epsilon) * chosen
            else:
                keeps.follow(table, w, n, total, own_sampled)
                k = draw(regret, total, rng)
                chosen = probability(regret, total, k)
            path.player[depth] = p
            path.infoset[depth] = w
            path.taken[depth] = k
            path.probability[depth] = chosen
            depth += 1
            a = np.int64(table.halves[actions(w, n) + k])
            here = cells(w, n, keeps.averages) + k
            choice0, choice1 = (here, choice1) if p == 0 else (choice0, here)
        step(game, s, a, tell)
        nodes += 1
        key0, key1 = next_key(key0, 0, p, a, tell), next_key(key1, 1, p, a, tell)
        p = game.player(s)
    return depth, nodes, own_sampled


@piece
def learn(keeps, table, path, depth, i, utility, own_sampled):
    """Walk back along the path and add the regrets of player `i` (equation 10)."""
    scale = utility / own_sampled
    tail = 1.0  # the probability that player i's behaviour goes from here to the end
    for d in range(depth - 1, -1, -1):
        if path.player[d] != i:
            continue
        w = path.infoset[d]
        regret = kept(table.floats, w, n_actions(table.halves, w), keeps.regrets)
        after = tail
        tail *= path.probability[d]
        for k in range(len(regret)):
            regret[k] -= scale * tail
        regret[path.taken[d]] += scale * after


@kernel
def run(game, states, keeps, table, path, out, tell, rng, epsilon, begin, end):
    """Simulations `begin` to `end` - 1, updating the players in turn. Returns the next simulation and the histories visited.

    Stops early if a simulation might not find room in the table. BROKEN instead of the next simulation: the game broke the
    protocol.
    """
    s = states[0]
    length, nodes = len(path.taken), 0
    words = most_words(table.size, length, length * len(out), 0)
    for t in range(begin, end):
        if not fits(table, length, words):
            return t, nodes
        i = t & 1
        depth, visited, own_sampled = simulate(game, s, i, epsilon, t, keeps, table, path, out, tell, rng)
        nodes += visited
        if depth == BROKEN:
            return BROKEN, nodes
        learn(keeps, table, path, depth, i, game.utility(s, i), own_sampled)
    return end, nodes

"""What a joint node does in a search of a game with simultaneous moves: both players choose at once, and learn from the pair.

M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with applications to Goofspiel" (2013).
Fields of actions hold player 0's actions, then player 1's; fields of pairs a matrix whose rows are player 0's actions.

Payoffs become rewards in one place, `JointRule.utility`, as in the paper: 0, 1/2 and 1 where games are won, drawn or lost, and the
payoffs themselves where points are paid. Some rules are not indifferent to such a shift: Exp3, and outcome sampling.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import ClassVar

import numpy as np

from unseen.compiling import piece
from unseen.compiling.memory import fetch
from unseen.engine import mix, random_bits
from unseen.options import parameter
from unseen.search.rules import Rule
from unseen.tabular.regret_matching import add_behaviour, mixing, positive_sum, probability
from unseen.tabular.table import joint_cells, kept_of_both, n_actions, n_second, set_field

FILLINGS = ("pairs", "lines", "none")
PAIRS, LINES, NO_FILLING = range(3)
FINALS = ("mix", "max")
MIX, MAX = range(2)
TRANSFORMS = ("payoffs", "wins")
PAYOFFS, WINS = range(2)
NOTHING = -1
ROUNDING = 1e-12
LARGE = 1e100
SMALL = 1e-100
"""Exponentials that sum to more than LARGE, or are smaller than SMALL, are made anew."""
ROUNDS = 4
"""Of the network that puts pairs in order."""


@piece
def explore(regret, total, gamma, chances):
    """Write regret matching with an even part `gamma`, for these regrets, shape (n,), to `chances`."""
    n = len(regret)
    even, greedy = mixing(total, n, 0.0)
    for k in range(n):
        chances[k] = gamma / n + (1.0 - gamma) * (even + greedy * max(regret[k], 0.0))


@piece
def sizes(halves, w):
    """How many actions each player has at a joint node."""
    m = n_second(halves, w)
    return n_actions(halves, w) - m, m


@piece
def pairs(floats, w, n, m, field):
    """A field of the pairs of actions, shape (n * m,), of a node that keeps two fields of each action."""
    first = joint_cells(w, n + m, m, 2, field)
    return floats[first : first + n * m]


@piece
def in_proportion(weights, chances):
    """Write weights, shape (n,), as probabilities to `chances`; even ones if they are all 0."""
    total, n = 0.0, len(weights)
    for k in range(n):
        total += weights[k]
    for k in range(n):
        chances[k] = weights[k] / total if total > 0.0 else 1.0 / n


@piece
def shuffled(place, n, key):
    """The element at this `place` of a permutation of `n`, one for each `key`.

    A Feistel network (M. Luby and C. Rackoff, 1988) permutes the least power of 4 that is not smaller; what falls outside is sent
    through again.
    """
    bits = 1
    while 1 << (2 * bits) < n:
        bits += 1
    mask = (1 << bits) - 1
    while True:
        left, right = place >> bits, place & mask
        for stage in range(ROUNDS):
            noise = np.int64(mix(key + np.uint64(ROUNDS * right + stage)) >> np.uint64(40))
            left, right = right, left ^ (noise & mask)
        place = left << bits | right
        if place < n:
            return place


class JointRule(Rule):
    """What all rules of joint nodes have. A node has `n` actions of player 0 and `m` of player 1, and two fields of each."""

    for_action: ClassVar[tuple[str, ...]] = ("regrets", "averages")
    plays = "averages"
    transform: int = parameter(
        "payoffs", choices=TRANSFORMS, help="what is learnt from: payoffs over scale, or these as 0, 1/2 and 1 (lost, drawn, won)"
    )
    scale: float = parameter(1.0, above=0.0, help="the payoff that counts as 1, or as a win")
    share: bool = parameter(False, help="whether a state is one node whichever way it was come to; otherwise, every history is")

    def utility(self, value, i):
        """Player 0's reward for a payoff of `value` to it. Player 1's is `total` less that."""
        return self.scaled(value) + 0.5 * self.total()

    def scaled(self, value):
        """A payoff over `scale`; half of that, where a win and a loss are one reward apart."""
        return (0.5 if self.transform == WINS else 1.0) * value / self.scale

    def total(self):
        """The sum of both players' rewards."""
        return 1.0 if self.transform == WINS else 0.0

    def fill(self, memory, w, n, m, rng):
        """A pair of actions that is to be tried first, as its place in the matrix, or NOTHING."""
        return NOTHING

    def choose(self, memory, w, n, m, i, weight, is_filled, chances):
        """Write the probabilities of both players' actions to `chances`, (n + m,); not needed where the pair `is_filled` in.

        The simulation updates player `i`, and `weight` is 1 over the probability of its choices so far.
        """

    def drew(self, memory, choice, then, n, m):
        """Both choices have been drawn."""

    def advise(self, kept, played, chances):
        """Write what a player should do in the end to `chances`, given the first field of its actions and the one that is played,
        shape (n,) each: in proportion to the latter, evenly if that is nothing."""
        in_proportion(played, chances)


class FillingRule(JointRule):
    """Rules whose nodes try the pairs of actions in the beginning, before anything is chosen."""

    for_set = ("tried", "order")
    filling: int = parameter(
        "pairs", choices=FILLINGS,
        help="what is tried before anything is chosen: every pair of actions (Algorithm 1), every action, or nothing",
    )  # fmt: skip

    def fill(self, memory, w, n, m, rng):
        """Lines 9 and 10: one of the pairs that have not been tried, or one with a row and a column that have not been.

        They come in a random order, for which the node keeps a key: so it is enough to count them.
        """
        ints = memory.table.ints
        count = 0 if self.filling == NO_FILLING else n * m if self.filling == PAIRS else max(n, m)
        tried = ints[set_field(w, self.tried)]
        if tried >= count:
            return NOTHING
        if tried == 0:
            ints[set_field(w, self.order)] = np.int64(random_bits(rng))
        ints[set_field(w, self.tried)] = tried + 1
        key = np.uint64(ints[set_field(w, self.order)])
        if self.filling == PAIRS:
            return shuffled(tried, n * m, key)
        return shuffled(tried % n, n, key) * m + shuffled(tried % m, m, mix(key))


class MatrixRule(FillingRule):
    """Rules that keep what every pair of actions got: X / n and n of the child, in Algorithm 1. A mean of nothing is 0."""

    for_joint = ("means", "pair_visits")

    def drew(self, memory, choice, then, n, m):
        """The matrix will be read after the playout, by which time it can be near."""
        means = pairs(memory.table.floats, choice.node, n, m, self.means)
        for k in range(0, n * m, 8):
            fetch(means, k)
        fetch(pairs(memory.table.floats, choice.node, n, m, self.pair_visits), choice.taken * m + choice.second)

    def note(self, floats, w, n, m, at, value):
        """The pair at this place of the matrix got `value`."""
        means, visits = pairs(floats, w, n, m, self.means), pairs(floats, w, n, m, self.pair_visits)
        visits[at] += 1.0
        means[at] += (value - means[at]) / visits[at]


class DecoupledUCT(FillingRule):
    """Decoupled UCT (Section 3.1): each player takes its action with the largest upper confidence bound, equation 2."""

    for_action = ("rewards", "visits")
    plays = "visits"
    exploration: float = parameter(1.5, minimum=0.0, help="the constant C of equation 2")
    tie: float = parameter(0.0, minimum=0.0, help="bounds that are closer than this to the best are chosen from evenly")
    final: int = parameter("mix", choices=FINALS, help="the move: drawn by visit counts, or the one with the largest mean")

    def choose(self, memory, w, n, m, i, weight, is_filled, chances):
        if is_filled:
            return
        rewards = kept_of_both(memory.table.floats, w, n, m, self.rewards)
        visits = kept_of_both(memory.table.floats, w, n, m, self.visits)
        upper_bounds(rewards[0], visits[0], self.exploration, self.tie, chances)
        upper_bounds(rewards[1], visits[1], self.exploration, self.tie, chances[n:])

    def learn(self, memory, choice, then, i, value):
        """Rewards and visits of both actions."""
        floats, w, row, column = memory.table.floats, choice.node, choice.taken, choice.second
        n, m = sizes(memory.table.halves, w)
        rewards, visits = kept_of_both(floats, w, n, m, self.rewards), kept_of_both(floats, w, n, m, self.visits)
        rewards[0][row] += value
        rewards[1][column] += self.total() - value
        visits[0][row] += 1.0
        visits[1][column] += 1.0
        return value

    def advise(self, kept, played, chances):
        """By visit counts, or evenly among the actions with the largest mean."""
        in_proportion(played, chances)
        if self.final == MAX:
            best = -np.inf
            for k in range(len(kept)):
                if played[k] > 0.0:
                    best = max(best, kept[k] / played[k])
            if best > -np.inf:
                for k in range(len(kept)):
                    chances[k] = 1.0 if played[k] > 0.0 and kept[k] / played[k] == best else 0.0
                in_proportion(chances, chances)


@piece
def upper_bounds(rewards, visits, exploration, tie, chances):
    """Even chances for the actions with the largest upper confidence bound; for those never tried, if there are any."""
    n, untried, total = len(rewards), 0, 0.0
    for k in range(n):
        untried += visits[k] == 0.0
        total += visits[k]
    best = np.inf
    if untried == 0:
        best, logarithm = -np.inf, log(total)
        for k in range(n):
            share = 1.0 / visits[k]
            chances[k] = rewards[k] * share + exploration * sqrt(logarithm * share)
        for k in range(n):
            best = chances[k] if chances[k] > best else best
    count = 0
    for k in range(n):
        is_best = chances[k] >= best - max(tie, ROUNDING) if untried == 0 else visits[k] == 0.0
        chances[k] = 1.0 if is_best else 0.0
        count += is_best
    for k in range(n):
        chances[k] /= count


class JointExp3(FillingRule):
    """Exp3 for each player (Section 3.2), equation 3; what was tried only to explore is taken out in the end, equation 4."""

    for_action = ("weights", "visits", "rewards")
    plays = "visits"
    gamma: float = parameter(
        0.2, above=0.0, maximum=1.0,
        help="the probability of a uniform choice; over the number of actions, it is also the rate of learning (eta)",
    )  # fmt: skip

    def choose(self, memory, w, n, m, i, weight, is_filled, chances):
        """Also for a pair that is filled in: what it gets is divided by its probability."""
        weights = kept_of_both(memory.table.floats, w, n, m, self.weights)
        rewards = kept_of_both(memory.table.floats, w, n, m, self.rewards)
        exponential(weights[0], rewards[0], self.gamma, chances)
        exponential(weights[1], rewards[1], self.gamma, chances[n:])

    def learn(self, memory, choice, then, i, value):
        """Rewards over the probabilities of choosing these actions, and visits."""
        floats, w, row, column = memory.table.floats, choice.node, choice.taken, choice.second
        n, m = sizes(memory.table.halves, w)
        weights, visits = kept_of_both(floats, w, n, m, self.weights), kept_of_both(floats, w, n, m, self.visits)
        rewards = kept_of_both(floats, w, n, m, self.rewards)
        first, second = value / choice.drawn, (self.total() - value) / choice.drawn_second
        rewards[0][row] += first
        rewards[1][column] += second
        reweigh(weights[0], row, self.gamma / n * first)
        reweigh(weights[1], column, self.gamma / m * second)
        visits[0][row] += 1.0
        visits[1][column] += 1.0
        return value

    def advise(self, kept, played, chances):
        """By visit counts, less those that exploration explains (equation 4)."""
        total, n = 0.0, len(played)
        for k in range(n):
            total += played[k]
        for k in range(n):
            chances[k] = max(0.0, played[k] - self.gamma / n * total)
        in_proportion(chances, chances)


@piece
def reweigh(weights, k, growth):
    """The reward of action `k` has grown, eta times the sum by `growth`. Weights too small to be exact are made anew later."""
    weights[k] *= exp(growth)
    if weights[k] < SMALL:
        for each in range(len(weights)):
            weights[each] = 0.0


@piece
def exponential(weights, rewards, gamma, chances):
    """Equation 3 for one player's sums of rewards, shape (n,).

    The exponentials are kept as `weights`, up to a common factor. They are made anew at a new node, where they are 0, and before
    they become too large or too small.
    """
    n, most, total = len(rewards), -np.inf, 0.0
    eta = gamma / n
    for k in range(n):
        total += weights[k]
    if not SMALL < total < LARGE:
        for k in range(n):
            most = max(most, rewards[k])
        total = 0.0
        for k in range(n):
            weights[k] = exp(eta * (rewards[k] - most))
            total += weights[k]
    for k in range(n):
        chances[k] = gamma / n + (1.0 - gamma) / total * weights[k]


class JointOutcomeSampling(JointRule):
    """Outcome sampling at joint nodes (Section 3.4, the standard version): unbiased estimates of counterfactual regrets.

    Nothing is filled in first: what is drawn otherwise than its probability says would not be unbiased.
    """

    gamma: float = parameter(
        0.5, minimum=0.0, maximum=1.0, help="the probability of an even choice, for the player that is updated"
    )

    def utility(self, value, i):
        """The update player's reward, for player 1 with its sign changed."""
        shift = 0.5 * self.total()
        return self.scaled(value) + (shift if i == 0 else -shift)

    def drew(self, memory, choice, then, n, m):
        """Both choices have been drawn: the behaviours' own probabilities of them."""
        first, second = kept_of_both(memory.table.floats, choice.node, n, m, self.regrets)
        choice.chosen = probability(first, positive_sum(first), choice.taken)
        choice.chosen_second = probability(second, positive_sum(second), choice.second)

    def choose(self, memory, w, n, m, i, weight, is_filled, chances):
        """The update player `i` explores; the other follows its behaviour, which is added, `weight` times, to its average."""
        first, second = kept_of_both(memory.table.floats, w, n, m, self.regrets)
        averages = kept_of_both(memory.table.floats, w, n, m, self.averages)
        total, total_second = positive_sum(first), positive_sum(second)
        if not is_filled:
            explore(first, total, self.gamma if i == 0 else 0.0, chances)
            explore(second, total_second, self.gamma if i == 1 else 0.0, chances[n:])
        if i == 0:
            add_behaviour(second, total_second, 0.0, averages[1], weight)
        else:
            add_behaviour(first, total, 0.0, averages[0], weight)

    def learn(self, memory, choice, then, i, value):
        """Regrets of the update player; returns the estimate of what the node is worth to player 0 under both behaviours."""
        n, m = sizes(memory.table.halves, choice.node)
        regret, second = kept_of_both(memory.table.floats, choice.node, n, m, self.regrets)
        taken, drawn, chosen, signed = choice.taken, choice.drawn, choice.chosen, value
        if i == 1:
            regret, taken, drawn, chosen, signed = second, choice.second, choice.drawn_second, choice.chosen_second, -value
        of_action = signed / drawn
        here = chosen * of_action
        weight = 1.0 / choice.own
        for k in range(len(regret)):
            regret[k] -= weight * here
        regret[taken] += weight * of_action
        return here if i == 0 else -here


class JointRegretMatching(MatrixRule):
    """Regret matching on the matrix of mean rewards (Section 3.3)."""

    gamma: float = parameter(0.025, minimum=0.0, maximum=1.0, help="the probability of an even choice")
    fading: float = parameter(
        0.0, minimum=0.0, maximum=1.0, help="at a node that has been visited t times, it is gamma times t to the power of -fading"
    )

    def choose(self, memory, w, n, m, i, weight, is_filled, chances):
        """Both explore, and both behaviours are added to their averages."""
        first, second = kept_of_both(memory.table.floats, w, n, m, self.regrets)
        averages = kept_of_both(memory.table.floats, w, n, m, self.averages)
        total, total_second, gamma = positive_sum(first), positive_sum(second), self.gamma
        if not is_filled:
            if self.fading > 0.0:  # a visit adds 1 to the average
                gamma *= max(1.0, round(positive_sum(averages[0]))) ** -self.fading
            explore(first, total, gamma, chances)
            explore(second, total_second, gamma, chances[n:])
        add_behaviour(first, total, 0.0, averages[0], 1.0)
        add_behaviour(second, total_second, 0.0, averages[1], 1.0)

    def learn(self, memory, choice, then, i, value):
        """What each action would have got against the other's, by the matrix, less what was got; then the matrix learns."""
        floats, w, row, column = memory.table.floats, choice.node, choice.taken, choice.second
        n, m = sizes(memory.table.halves, w)
        first, second = kept_of_both(floats, w, n, m, self.regrets)
        means, of_row, of_column = pairs(floats, w, n, m, self.means), first[row], second[column]
        for k in range(n):
            first[k] += means[k * m + column] - value
        for k in range(m):
            second[k] -= means[row * m + k] - value
        first[row] = of_row  # what was done is not regretted
        second[column] = of_column
        self.note(floats, w, n, m, row * m + column, value)
        return value


class OutcomeSamplingPlus(MatrixRule):
    """OOS+ (Section 3.4): outcome sampling in which pairs that were not drawn count with their mean rewards, not as nothing."""

    gamma: float = parameter(
        0.55, minimum=0.0, maximum=1.0, help="the probability of an even choice, for the player that is updated"
    )

    choose = JointOutcomeSampling.choose

    def learn(self, memory, choice, then, i, value):
        """v[a] for each action of the exploring player, their mean under its behaviour, and the regrets; then the matrix learns.

        Behaviours are those of now: with one simulation at a time nothing has changed them since they were drawn from.
        """
        floats, w, row, column = memory.table.floats, choice.node, choice.taken, choice.second
        n, m = sizes(memory.table.halves, w)
        first, second = kept_of_both(floats, w, n, m, self.regrets)
        means, drawn = pairs(floats, w, n, m, self.means), row * m + column
        mine, other, across, along, sign = (first, second, m, 1, 1.0) if i == 0 else (second, first, 1, m, -1.0)
        taken, against = (row, column) if i == 0 else (column, row)
        total, total_other = positive_sum(mine), positive_sum(other)
        for a in range(len(mine)):
            then[a] = 0.0
        for b in range(len(other)):
            chance = probability(other, total_other, b) * sign
            if chance != 0.0:
                for a in range(len(mine)):
                    then[a] += chance * means[a * across + b * along]
        then[taken] += probability(other, total_other, against) * sign * (value - means[drawn])
        expected = 0.0
        for a in range(len(mine)):
            expected += probability(mine, total, a) * then[a]
        for a in range(len(mine)):
            mine[a] += (then[a] - expected) / choice.own
        self.note(floats, w, n, m, drawn, value)
        return value

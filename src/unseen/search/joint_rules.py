"""What a joint node does in a search of a game with simultaneous moves: both players choose at once, and learn from the pair.

M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with applications to Goofspiel" (2013).
Fields of actions hold player 0's actions, then player 1's; fields of pairs a matrix whose rows are player 0's actions.
"""

from __future__ import annotations

from unseen.compiling import piece
from unseen.options import parameter
from unseen.search.rules import Rule
from unseen.tabular.regret_matching import add_behaviour, mixing, positive_sum, probability
from unseen.tabular.table import joint_cells, kept_of_both, n_actions, n_second


@piece
def explore(regret, total, gamma, chances):
    """Write regret matching with an even part `gamma`, for these regrets, shape (n,), to `chances`."""
    n = len(regret)
    even, greedy = mixing(total, n, 0.0)
    for k in range(n):
        chances[k] = gamma / n + (1.0 - gamma) * (even + greedy * max(regret[k], 0.0))


class JointRule(Rule):
    """What all rules of joint nodes have. A node has `n` actions of player 0 and `m` of player 1."""

    for_action = ("regrets", "averages")
    plays = "averages"
    gamma: float = parameter(0.1, minimum=0.0, maximum=1.0, help="the probability of an even choice")

    def drew(self, memory, choice, then, n, m):
        """Both choices have been drawn: the behaviours' own probabilities of them."""
        first, second = kept_of_both(memory.table.floats, choice.node, n, m, self.regrets)
        choice.chosen = probability(first, positive_sum(first), choice.taken)
        choice.chosen_second = probability(second, positive_sum(second), choice.second)


class JointOutcomeSampling(JointRule):
    """Outcome sampling at joint nodes (Section 3.4, the standard version): unbiased estimates of counterfactual regrets."""

    def choose(self, memory, w, n, m, i, weight, chances):
        """The update player `i` explores; the other follows its behaviour, which is added, `weight` times, to its average."""
        first, second = kept_of_both(memory.table.floats, w, n, m, self.regrets)
        averages = kept_of_both(memory.table.floats, w, n, m, self.averages)
        total, total_second = positive_sum(first), positive_sum(second)
        explore(first, total, self.gamma if i == 0 else 0.0, chances)
        explore(second, total_second, self.gamma if i == 1 else 0.0, chances[n:])
        if i == 0:
            add_behaviour(second, total_second, 0.0, averages[1], weight)
        else:
            add_behaviour(first, total, 0.0, averages[0], weight)

    def learn(self, memory, choice, then, i, value):
        """Regrets of the update player; returns the estimate of what the node is worth to player 0 under both behaviours."""
        m = n_second(memory.table.halves, choice.node)
        n = n_actions(memory.table.halves, choice.node) - m
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


class JointRegretMatching(JointRule):
    """Regret matching on the matrix of mean rewards (Section 3.3)."""

    for_joint = ("reward_sums", "visits")
    gamma = 0.025

    def choose(self, memory, w, n, m, i, weight, chances):
        """Both explore, and both behaviours are added to their averages."""
        first, second = kept_of_both(memory.table.floats, w, n, m, self.regrets)
        averages = kept_of_both(memory.table.floats, w, n, m, self.averages)
        total, total_second = positive_sum(first), positive_sum(second)
        explore(first, total, self.gamma, chances)
        explore(second, total_second, self.gamma, chances[n:])
        add_behaviour(first, total, 0.0, averages[0], 1.0)
        add_behaviour(second, total_second, 0.0, averages[1], 1.0)

    def learn(self, memory, choice, then, i, value):
        """What each action would have got against the other's, by the matrix, less what was got; then the matrix learns."""
        floats, halves, w = memory.table.floats, memory.table.halves, choice.node
        both, m = n_actions(halves, w), n_second(halves, w)
        n, row, column = both - m, choice.taken, choice.second
        first, second = kept_of_both(floats, w, n, m, self.regrets)
        sums, visits = joint_cells(w, both, m, 2, self.reward_sums), joint_cells(w, both, m, 2, self.visits)
        for k in range(n):
            if k != row:
                first[k] += mean(floats, sums, visits, k * m + column) - value
        for k in range(m):
            if k != column:
                second[k] -= mean(floats, sums, visits, row * m + k) - value
        floats[sums + row * m + column] += value
        floats[visits + row * m + column] += 1.0
        return value


@piece
def mean(floats, sums, visits, at):
    """The mean reward of a pair of actions; 0 if it was never tried."""
    return floats[sums + at] / floats[visits + at] if floats[visits + at] > 0.0 else 0.0

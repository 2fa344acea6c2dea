"""What an information set does in a search: how it spreads its next choice, and what it learns from a simulation.

A rule is a small compiled class; the search loop is specialised on it. `spread` writes the probabilities with which the actions
are to be tried; `arrive` is called on the way down, `learn` on the way back, from the last choice to the first. All numbers of a
set are in one block of the table: regrets (or sums of rewards), averages (what is played in the end, not yet normalised) and, where
solvers keep the current behaviour, baselines.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import ClassVar

from unseen.compiling import Compiled, piece
from unseen.tabular.table import NOWHERE, averages, choice, current, mark, n_actions, regrets

NO_BASELINE, PER_INFOSET, PER_HISTORY = 0, 1, 2
"""Baselines: none; for each action of a set; for each action of a history, beginning with that of its set."""
WEIGHT, NOW, RATIO = 0, 1, 2
"""Places in the notes of a search: what all simulations so far count in averages, what this one does; the estimate of s1 / s2."""


@piece
def matching(total, n, gamma):
    """Regret matching that explores, at a set of `n` actions whose positive regrets sum to `total`: even with probability `gamma`.

    Returns e and f such that an action with regret r has probability e + f max(r, 0).
    """
    return (gamma / n, (1.0 - gamma) / total) if total > 0.0 else (1.0 / n, 0.0)


@piece
def follow(values, at, value, step):
    """Move a running mean towards a value."""
    values[at] += step * (value - values[at])


class Rule(Compiled):
    """What all rules have."""

    jumps: ClassVar[bool] = False
    """Whether simulations begin at a history of the target and learn nothing on the way there; otherwise, at the start."""
    baseline: int = NO_BASELINE

    def arrive(self, table, w, total, before, is_new, notes):
        """A simulation comes to a set, by a choice of its player whose average is at `before`."""


class Outcome(Rule):
    """Online Outcome Sampling: M. Lanctot, V. Lisý and M. Bowling (2014), Algorithm 1; with baselines, M. Schmid et al., "Variance
    reduction in Monte Carlo counterfactual regret minimization" (2019).

    With q(h) = delta s1(h) + (1 - delta) s2(h) the probability that a simulation passes h, the regret update at a set of the update
    player i is pi_-i(h) / q(h) times (u(h, a) - u(h)), where u estimates the value below: u(h, a) = b(a) for actions that were not
    drawn and b(a) + (u(ha) - b(a)) q(h) / q(ha) for the one that was. Without baselines b = 0, which is Algorithm 1.

    Chance and the opponent are drawn as they play unless a simulation is led, so their probabilities cancel but for the factor
    g(h) = delta s1(h) / s2(h) + 1 - delta, which the path holds.
    """

    compiled_fields: ClassVar[dict[str, type]] = {
        "epsilon": float, "gamma": float, "delta": float, "is_lazy": bool, "baseline": int, "step": float, "is_floored": bool,
        "power": float, "is_running": bool, "decay": float,
    }  # fmt: skip

    def __init__(
        self, epsilon: float = 0.4, gamma: float = 0.01, delta: float = 0.9, is_lazy: bool = False, baseline: int = NO_BASELINE,
        step: float = 0.1, is_floored: bool = False, power: float = 0.0, is_running: bool = False, decay: float = 0.99,
    ) -> None:  # fmt: skip
        self.epsilon, self.gamma, self.delta = epsilon, gamma, delta
        self.is_lazy = is_lazy
        """Whether averages are added up by what is known of the player's own probabilities instead of sampled ones."""
        self.baseline, self.step = baseline, step
        self.is_floored = is_floored
        """Whether regrets below zero become zero (regret matching+)."""
        self.power = power
        """Simulation t counts t^power in the average."""
        self.is_running, self.decay = is_running, decay
        """ExIt-OOS: divide by a running mean of s1 / s2 instead of what this sample's probability asks for."""

    def arrive(self, table, w, total, before, is_new, notes):
        """Lazy averaging: the behaviour has been the same since the weight of the choice `before` was what the mark says."""
        if not self.is_lazy:
            return
        weight = table.real[before] if before != NOWHERE else notes[WEIGHT]
        if not is_new:
            n, average, regret, more = n_actions(table, w), averages(table, w), regrets(w), weight - table.real[mark(w)]
            even, greedy = matching(total, n, self.gamma)
            for k in range(n):
                table.real[average + k] += more * (even + greedy * max(table.real[regret + k], 0.0))
        table.real[mark(w)] = weight
        table.half[choice(w)] = before

    def spread(self, table, w, total, is_mine, n, chances):
        """The sampling distribution of the paper: the update player explores, the other follows its behaviour."""
        explore = self.epsilon if is_mine else 0.0
        even, greedy = matching(total, n, self.gamma)
        even, greedy = explore / n + (1.0 - explore) * even, (1.0 - explore) * greedy
        regret = regrets(w)
        for k in range(n):
            chances[k] = even + greedy * max(table.real[regret + k], 0.0)

    def learn(self, table, worths, path, d, i, value, notes):
        """Lines 18 to 29. `value` is the estimate for player 0 of what followed, over g there; returns it for this history."""
        w, taken, total, player = path.infoset[d], path.taken[d], path.total[d], path.player[d]
        n, g, regret, average = n_actions(table, w), path.before[d], regrets(w), averages(table, w)
        even, greedy = matching(total, n, self.gamma)
        known, first = (worths.real, path.worth[d]) if path.worth[d] != NOWHERE else (table.real, current(table, w))
        below = value * path.after[d]
        correction, here = below, 0.0
        if self.baseline != NO_BASELINE:
            correction -= known[first + taken]
            for k in range(n):
                here += (even + greedy * max(table.real[regret + k], 0.0)) * known[first + k]
        correction *= g / (path.drawn[d] * path.after[d])
        here += (even + greedy * max(table.real[regret + taken], 0.0)) * correction
        weight = 1.0 / (path.reach[d] * g * notes[RATIO])
        if player == i:
            signed = weight if player == 0 else -weight
            for k in range(n):
                table.real[regret + k] += signed * ((known[first + k] if self.baseline != NO_BASELINE else 0.0) - here)
            table.real[regret + taken] += signed * correction
            if self.is_floored:
                for k in range(n):
                    table.real[regret + k] = max(table.real[regret + k], 0.0)
        elif not self.is_lazy:
            weight *= notes[NOW]
            for k in range(n):
                table.real[average + k] += weight * (even + greedy * max(table.real[regret + k], 0.0))
        if self.baseline != NO_BASELINE:
            follow(table.real, current(table, w) + taken, below, self.step)
        if path.worth[d] != NOWHERE:
            visits = averages(worths, first - regrets(0)) + taken  # of the same block
            worths.real[visits] += 1.0
            follow(known, first + taken, below, max(self.step, 1.0 / worths.real[visits]))
        return here / g


class Bandit(Rule):
    """Information set Monte Carlo tree search with several observers: a bandit at each set, and every visit counts the same.

    P. Cowling, E. Powley and D. Whitehouse, "Information set Monte Carlo tree search" (2012).
    """

    jumps = True
    delta: ClassVar[float] = 1.0
    is_running: ClassVar[bool] = False
    decay: ClassVar[float] = 1.0
    power: ClassVar[float] = 0.0

    def reward(self, table, w, taken, reward, drawn):
        """What the bandit learns from the reward of the action that it had drawn with this probability."""
        raise NotImplementedError

    def learn(self, table, worths, path, d, i, value, notes):
        """Tell the bandit its reward, and count the visit."""
        w, taken = path.infoset[d], path.taken[d]
        self.reward(table, w, taken, value if path.player[d] == 0 else -value, path.drawn[d])
        table.real[averages(table, w) + taken] += 1.0
        return value


class UpperConfidence(Bandit):
    """UCB1: the action with the largest mean reward plus C sqrt(ln N / n); actions never tried come first."""

    compiled_fields: ClassVar[dict[str, type]] = {"exploration": float}

    def __init__(self, exploration: float = 2.0) -> None:
        self.exploration = exploration

    def spread(self, table, w, total, is_mine, n, chances):
        visits, rewards = averages(table, w), regrets(w)
        untried, all_visits = 0, 0.0
        for k in range(n):
            chances[k] = 0.0
            all_visits += table.real[visits + k]
            untried += table.real[visits + k] == 0.0
        if untried > 0:
            for k in range(n):
                chances[k] = 1.0 / untried if table.real[visits + k] == 0.0 else 0.0
            return
        best, most, logarithm = 0, -1e300, log(all_visits)
        for k in range(n):
            count = table.real[visits + k]
            bound = table.real[rewards + k] / count + self.exploration * sqrt(logarithm / count)
            if bound > most:
                best, most = k, bound
        chances[best] = 1.0

    def reward(self, table, w, taken, reward, drawn):
        table.real[regrets(w) + taken] += reward


class RegretMatching(Bandit):
    """Regret matching from sampled rewards: the one drawn counts reward / probability, the others nothing."""

    compiled_fields: ClassVar[dict[str, type]] = {"gamma": float}

    def __init__(self, gamma: float = 0.1) -> None:
        self.gamma = gamma

    def spread(self, table, w, total, is_mine, n, chances):
        even, greedy = matching(total, n, self.gamma)
        for k in range(n):
            chances[k] = even + greedy * max(table.real[regrets(w) + k], 0.0)

    def reward(self, table, w, taken, reward, drawn):
        for k in range(n_actions(table, w)):
            table.real[regrets(w) + k] -= reward
        table.real[regrets(w) + taken] += reward / drawn


class Exp3(Bandit):
    """Exp3: in proportion to the exponential of the summed rewards, which are scaled to [0, 1] and divided by their probability.

    As in M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games" (2013), equation 3.
    """

    compiled_fields: ClassVar[dict[str, type]] = {"gamma": float, "scale": float}

    def __init__(self, gamma: float = 0.1, scale: float = 1.0) -> None:
        self.gamma, self.scale = gamma, scale
        """How much to explore; the largest payoff there is."""

    def spread(self, table, w, total, is_mine, n, chances):
        rewards, most, mass = regrets(w), -1e300, 0.0
        for k in range(n):
            most = max(most, table.real[rewards + k])
        for k in range(n):
            chances[k] = exp(self.gamma / n * (table.real[rewards + k] - most))
            mass += chances[k]
        for k in range(n):
            chances[k] = self.gamma / n + (1.0 - self.gamma) * chances[k] / mass

    def reward(self, table, w, taken, reward, drawn):
        table.real[regrets(w) + taken] += 0.5 * (1.0 + reward / self.scale) / drawn

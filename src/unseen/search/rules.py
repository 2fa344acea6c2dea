"""What an information set does in a search: how it draws its next choice, and what it learns from a simulation.

A rule is a small compiled class; the search loop is specialised on it. It declares by name what it keeps for a set and for each
of its actions, and which of these, normalised, is what it plays in the end. On the way down `choose` writes the probabilities
with which the actions are to be tried, and `drew` writes down what will be needed later; on the way back `learn` is called for
each choice, the last one first.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import ClassVar

import numpy as np

from unseen.engine import mix
from unseen.options import Declared, parameter
from unseen.search.root import jump
from unseen.tabular.averaging import arrive, catch_up
from unseen.tabular.regret_matching import add_behaviour, mixing, positive_sum
from unseen.tabular.table import HEAD, NOWHERE, Keeps, actions, add, cells, kept, n_actions, slot_of

BASELINES = ("none", "infoset", "history")
NO_BASELINE, PER_INFOSET, PER_HISTORY = range(3)
"""Baselines: none; for each action of a set; for each action of a history, beginning with that of its set."""
AVERAGINGS = ("stochastic", "lazy")
STOCHASTIC, LAZY = range(2)
WEIGHTINGS = ("exact", "scaled")
EXACT, SCALED = range(2)


class Rule(Declared, Keeps):
    """What all rules have."""

    delta: float = 1.0
    weighting: int = EXACT
    averaging: int = STOCHASTIC
    baseline: int = NO_BASELINE
    power: float = 0.0
    decay: float = 1.0
    plays: ClassVar[str]
    """The name of the field of an action that is played in the end, in proportion."""
    played: ClassVar[int]
    """Its place."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "plays"):
            cls.played = cls.for_action.index(cls.plays)

    def go_ahead(self, game, leaf, aim, flights, f, work):
        """Where there is a target: let flight `f` play on, learning nothing, to where it may learn. Returns False if it got stuck.

        Most rules learn from the root on.
        """
        return True

    def drew(self, memory, choice, then, n, total):
        """A choice has been drawn at a set of `n` actions; `total` is what `choose` returned. `then`, shape (w,), is to write
        on."""

    def utility(self, value, i):
        """What a simulation that updates player `i` learns from a payoff of `value` to player 0."""
        return value

    def find_baselines(self, game, s, p, key0, key1, may_grow, memory, w, out):
        """Where the baselines of the actions of the history `s` begin, or NOWHERE."""
        return np.int64(NOWHERE)

    def catch_up(self, memory, w):
        """Bring the average at a set up to date, if that is done lazily."""

    def expect(self, table, w, n, k, regret):
        """The `k`th of `n` actions at a set that is new begins with this regret, if the rule has regrets."""

    def expect_value(self, table, w, n, k, value):
        """And it is expected to bring player 0 this `value`, if the rule has baselines."""


class HistoryBaselines(Keeps):
    """What is kept of a history for variance reduction."""

    for_action = ("baselines", "visits")


VISITS = HistoryBaselines.for_action.index("visits")


class OnlineOutcomeSampling(Rule):
    """Online Outcome Sampling: M. Lanctot, V. Lisý and M. Bowling (2014), Algorithm 1; with baselines, M. Schmid et al., "Variance
    reduction in Monte Carlo counterfactual regret minimization" (2019).

    With q(h) = delta s1(h) + (1 - delta) s2(h) the probability that a simulation passes h, the regret update at a set of the update
    player i is pi_-i(h) / q(h) times (u(h, a) - u(h)), where u estimates the value below: u(h, a) = b(a) for actions that were not
    drawn and b(a) + (u(ha) - b(a)) q(h) / q(ha) for the one that was. Without baselines b = 0, which is Algorithm 1.

    Chance and the opponent are drawn as they play unless a simulation is led, so their probabilities cancel but for the factor
    g(h) = delta s1(h) / s2(h) + 1 - delta, which the path holds.

    ExIt-OOS (A. Kitchen and M. Benedetti, 2018) divides the weights of a simulation by r, a running mean of s1 / s2 over those
    before it. That is one number for all updates of a simulation, so on average they stay those of OOS up to a common scale.

    Behaviours and their averages are those of the moment in which a simulation comes by; what it learns later, when others may have
    changed them, is about those.
    """

    for_set = ("weight_seen", "choice_before")
    for_action = ("regrets", "averages", "baselines")
    plays = "averages"

    delta: float = parameter(0.9, minimum=0.0, maximum=1.0, help="the probability that a simulation is led to the target")
    epsilon: float = parameter(
        0.4, above=0.0, maximum=1.0, help="the probability of an even choice, for the player that is updated"
    )
    gamma: float = parameter(0.01, minimum=0.0, maximum=1.0, help="the even part of every behaviour")
    weighting: int = parameter(
        "exact", choices=WEIGHTINGS,
        help="importance weights: as they are, or all divided by a running mean of s1 / s2, as in ExIt-OOS",
    )  # fmt: skip
    baseline: int = parameter(
        "none", choices=BASELINES,
        help="expected values that are subtracted before sampling noise is scaled up: none, for each action of an information set, "
        "or of a history",
    )  # fmt: skip
    step: float = parameter(0.1, above=0.0, maximum=1.0, help="how fast baselines follow what is found")
    credit: float = parameter(0.0, minimum=0.0, help="visits for which the first baselines of a history count")
    averaging: int = parameter(
        "stochastic", choices=AVERAGINGS,
        help="how averages are added up: by sampled probabilities, or exactly, when a simulation comes by",
    )  # fmt: skip
    negative: float = parameter(
        1.0, minimum=0.0, maximum=1.0,
        help="what is left of regrets below zero after each update: all (1) in regret matching, nothing (0) in regret matching+",
    )  # fmt: skip
    power: float = parameter(0.0, minimum=0.0, maximum=10.0, help="simulation t counts t to this power in the average")
    decay: float = parameter(0.99, minimum=0.0, maximum=1.0, help="decay of the running mean of s1 / s2 (beta)")

    def choose(self, memory, w, n, is_mine, is_new, before, weight, chances):
        """The sampling distribution of the paper: the update player explores, the other follows its behaviour.

        `weight` is 1 over the probability that the update player's choices and being led were drawn: the average at the opponent's
        sets counts so much (line 27). Returns the sum of positive regrets.
        """
        table, floats, totals = memory.table, memory.table.floats, memory.totals[0]
        regret = kept(floats, w, n, self.regrets)
        total = positive_sum(regret)
        if self.averaging == LAZY:
            arrive(self, table, w, total, self.gamma, before, totals.weight, is_new)
        elif not is_mine:
            weight *= totals.now
            add_behaviour(regret, total, self.gamma, kept(floats, w, n, self.averages), weight)
        explore = self.epsilon if is_mine else 0.0
        even, greedy = mixing(total, n, self.gamma)
        even, greedy = explore / n + (1.0 - explore) * even, (1.0 - explore) * greedy
        for k in range(n):
            chances[k] = even + greedy * max(regret[k], 0.0)
        return total

    def drew(self, memory, choice, then, n, total):
        """The behaviour's own probability of the action, and what the baselines expect of each action and of the behaviour."""
        floats = memory.table.floats
        regret = kept(floats, choice.node, n, self.regrets)
        even, greedy = mixing(total, n, self.gamma)
        choice.chosen = even + greedy * max(regret[choice.taken], 0.0)
        if self.baseline != NO_BASELINE:
            known, first = self.known(memory.baselines.floats, floats, choice, n)
            expected = 0.0
            for k in range(n):
                then[k] = known[first + k]
                expected += (even + greedy * max(regret[k], 0.0)) * then[k]
            choice.expected = expected

    def find_baselines(self, game, s, p, key0, key1, may_grow, memory, w, out):
        """Those of a history that is new begin as those of its set. NOWHERE if there is no room for any.

        A history is known by what both players have seen and whose turn it is, which need not follow from that.
        """
        if self.baseline != PER_HISTORY:
            return np.int64(NOWHERE)
        key = mix(key0 + mix(key1 + np.uint64(p)))
        of_histories = memory.baselines
        slot = slot_of(of_histories.slots, of_histories.ints, key)
        at = np.int64(of_histories.slots[slot])
        is_new = at == NOWHERE
        if is_new and not may_grow:
            return at
        n = n_actions(memory.table.halves, w)
        if is_new:  # with the actions of the set, so that both have as many, whatever the game says
            listed = actions(w, n)
            at = add(of_histories, slot, key, p, memory.table.halves[listed : listed + n], n, 0)
        first = cells(at, n, 0)
        if is_new:
            of_set = cells(w, n, self.baselines)
            visits = cells(first - HEAD, n, VISITS)
            for k in range(n):
                of_histories.floats[first + k] = memory.table.floats[of_set + k]
                of_histories.floats[visits + k] = self.credit
        return first

    def known(self, of_histories, of_sets, choice, n):
        """The array with the baselines of a choice's actions, and where they begin: those of the history, or else of the set."""
        if choice.baseline != NOWHERE:
            return of_histories, choice.baseline
        return of_sets, cells(choice.node, n, self.baselines)

    def learn(self, memory, choice, then, i, value):
        """Lines 18 to 29. `value` is the estimate for player 0 of what followed, over g there; returns it for this history."""
        floats, w, taken, g = memory.table.floats, choice.node, choice.taken, choice.before
        n = n_actions(memory.table.halves, w)
        regret = kept(floats, w, n, self.regrets)
        below = value * choice.after
        correction, here = below, 0.0
        if self.baseline != NO_BASELINE:
            correction -= then[taken]
            here = choice.expected
        correction *= g / (choice.drawn * choice.after)
        here += choice.chosen * correction
        if choice.player == i:
            weight = 1.0 / (choice.own * g)
            signed = weight if i == 0 else -weight
            for k in range(n):
                regret[k] += signed * ((then[k] if self.baseline != NO_BASELINE else 0.0) - here)
            regret[taken] += signed * correction
            if self.negative != 1.0:
                for k in range(n):
                    if regret[k] < 0.0:
                        regret[k] *= self.negative
        if self.baseline != NO_BASELINE:
            at = cells(w, n, self.baselines) + taken
            floats[at] += self.step * (below - floats[at])
        if choice.baseline != NOWHERE:
            known, at = memory.baselines.floats, choice.baseline + taken
            visits = cells(choice.baseline - HEAD, n, VISITS) + taken  # of the same block
            known[visits] += 1.0
            known[at] += max(self.step, 1.0 / known[visits]) * (below - known[at])
        return here / g

    def expect(self, table, w, n, k, regret):
        kept(table.floats, w, n, self.regrets)[k] = regret

    def expect_value(self, table, w, n, k, value):
        if self.baseline != NO_BASELINE:
            kept(table.floats, w, n, self.baselines)[k] = value

    def catch_up(self, memory, w):
        if self.averaging == LAZY:
            catch_up(self, memory.table, w, self.gamma, memory.totals[0].weight)


class Bandit(Rule):
    """Information set Monte Carlo tree search with several observers: a bandit at each set, and every visit counts the same.

    P. Cowling, E. Powley and D. Whitehouse, "Information set Monte Carlo tree search" (2012).
    """

    for_action = ("rewards", "visits")
    plays = "visits"

    def go_ahead(self, game, leaf, aim, flights, f, work):
        """To a history of the target."""
        return jump(game, leaf, aim, flights, f, work)

    def reward(self, sums, taken, reward, drawn):
        """What the bandit, whose sums have shape (n,), learns from the reward of an action that it had drawn with this
        probability."""
        sums[taken] += reward

    def learn(self, memory, choice, then, i, value):
        """Tell the bandit its reward, and count the visit."""
        floats, w = memory.table.floats, choice.node
        n = n_actions(memory.table.halves, w)
        self.reward(kept(floats, w, n, 0), choice.taken, value if choice.player == 0 else -value, choice.drawn)
        floats[cells(w, n, self.visits) + choice.taken] += 1.0
        return value


class UpperConfidence(Bandit):
    """UCB1: the action with the largest mean reward plus C sqrt(ln N / n); actions never tried come first."""

    exploration: float = parameter(2.0, minimum=0.0, help="the constant C of ucb")

    def choose(self, memory, w, n, is_mine, is_new, before, weight, chances):
        floats = memory.table.floats
        visits, rewards = kept(floats, w, n, self.visits), kept(floats, w, n, self.rewards)
        untried, all_visits = 0, 0.0
        for k in range(n):
            chances[k] = 0.0
            all_visits += visits[k]
            untried += visits[k] == 0.0
        if untried > 0:
            for k in range(n):
                chances[k] = 1.0 / untried if visits[k] == 0.0 else 0.0
            return 0.0
        best, most, logarithm = 0, -1e300, log(all_visits)
        for k in range(n):
            bound = rewards[k] / visits[k] + self.exploration * sqrt(logarithm / visits[k])
            if bound > most:
                best, most = k, bound
        chances[best] = 1.0
        return 0.0


class RegretMatching(Bandit):
    """Regret matching from sampled rewards: the one drawn counts reward / probability, the others nothing."""

    for_action = ("regrets", "visits")
    gamma: float = parameter(0.1, above=0.0, maximum=1.0, help="the even part of every choice")

    def choose(self, memory, w, n, is_mine, is_new, before, weight, chances):
        regret = kept(memory.table.floats, w, n, self.regrets)
        total = positive_sum(regret)
        even, greedy = mixing(total, n, self.gamma)
        for k in range(n):
            chances[k] = even + greedy * max(regret[k], 0.0)
        return total

    def reward(self, sums, taken, reward, drawn):
        for k in range(len(sums)):
            sums[k] -= reward
        sums[taken] += reward / drawn


class Exp3(Bandit):
    """Exp3: in proportion to the exponential of the summed rewards, which are scaled to [0, 1] and divided by their probability.

    As in M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games" (2013), equation 3.
    """

    gamma: float = parameter(0.1, above=0.0, maximum=1.0, help="the even part of every choice")
    scale: float = parameter(1.0, above=0.0, help="the largest payoff there is")

    def choose(self, memory, w, n, is_mine, is_new, before, weight, chances):
        rewards = kept(memory.table.floats, w, n, self.rewards)
        most, total = -1e300, 0.0
        for k in range(n):
            most = max(most, rewards[k])
        for k in range(n):
            chances[k] = exp(self.gamma / n * (rewards[k] - most))
            total += chances[k]
        for k in range(n):
            chances[k] = self.gamma / n + (1.0 - self.gamma) * chances[k] / total
        return 0.0

    def reward(self, sums, taken, reward, drawn):
        sums[taken] += 0.5 * (1.0 + reward / self.scale) / drawn

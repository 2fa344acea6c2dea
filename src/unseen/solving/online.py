"""Online regret minimisation: learn to play against an opponent that one does not control, from the played games only.

M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive games" (2009), the
end of Section 3. If the opponent and chance play the game themselves, their probabilities cancel in outcome sampling's update
(equation 10): with u the payoff and q the probability of the learner's own choices, its regret for what it did at a set is u / q
times the probability that its behaviour does the rest, less the same for its behaviour as a whole.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unseen.arguments import checked
from unseen.errors import UnseenError
from unseen.tabular.regret_matching import matched


class OnlineLearner:
    """One player that plays game after game: `act` at each of its turns, `end` with its payoff.

    `exploration` is the probability of an even choice. What it costs and how much less the updates vary for it balance at about
    the number of games to the power -1/3. `seed` is that of its random choices.
    """

    @checked
    def __init__(self, exploration: float = 0.1, seed: int = 0) -> None:
        if not 0.0 < exploration <= 1.0:
            raise UnseenError(f"exploration is {exploration}, but must be above 0 and at most 1.")
        self.exploration = exploration
        self.games = 0
        self.regret: dict[int, NDArray[np.float64]] = {}
        """Cumulative regrets by key of the information set, one for each action."""
        self._choices: list[tuple[int, int, float, float]] = []  # (key, place, its probability, that of drawing it)
        self._rng = random.Random(seed)

    def behaviour(self, key: int, actions: Sequence[int]) -> NDArray[np.float64]:
        """What the learner has come to at the set with this `key` and these `actions`, without exploring: regret matching."""
        return matched(self.regret.get(key, np.zeros(len(actions))))

    def act(self, key: int, actions: Sequence[int]) -> int:
        """One of the `actions` at the information set with this `key`, such as `position.infoset`."""
        behaviour = self.behaviour(key, actions)
        drawn = self.exploration / len(actions) + (1.0 - self.exploration) * behaviour
        place = self._rng.choices(range(len(actions)), drawn.tolist())[0]
        self._choices.append((key, place, float(behaviour[place]), float(drawn[place])))
        self.regret.setdefault(key, np.zeros(len(actions)))
        return actions[place]

    def end(self, payoff: float) -> None:
        """The game is over, with this `payoff`: learn from it (equation 10, from the last choice back)."""
        weight = payoff / np.prod([drawn for *_, drawn in self._choices])
        tail = 1.0  # the probability that the behaviour goes on as it was played
        for key, place, probability, _ in reversed(self._choices):
            self.regret[key][place] += weight * tail
            tail *= probability
            self.regret[key] -= weight * tail
        self._choices.clear()
        self.games += 1

"""Agents that search, and the recipes that make them from their options."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from unseen.agents import DEFAULT_BUDGET, Agent, Budget
from unseen.errors import UnseenError
from unseen.exact.treeplex import Treeplex
from unseen.game import Game
from unseen.position import Percept
from unseen.search.searcher import Searcher


class SearchAgent(Agent):
    """Searches anew at each of its turns. `pattern` is the search as it is at the beginning of a match."""

    def __init__(self, pattern: Searcher, budget: Budget, name: str = "search", keep: bool = True, greedy: bool = False) -> None:
        self.pattern, self.own_budget, self.name = pattern, budget, name
        self.keep = keep
        """Whether the tree is kept from one move to the next."""
        self.greedy = greedy
        """Whether it plays its favourite action instead of drawing from the distribution that the search found."""

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        if game != self.pattern.game:
            raise UnseenError(f"{self.name} was made for {self.pattern.game.spec}, not for {game.spec}.")
        super().begin(game, seat, seed, budget)
        self.budget = self.own_budget or budget or DEFAULT_BUDGET
        self.searcher = self.pattern.fork(seed)
        self.searcher.prepare()

    def observe(self, percept: Percept) -> None:
        super().observe(percept)
        if percept.own and not self.keep:
            self.searcher.drop()

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        began = time.perf_counter()
        self.searcher.aim(self.seat, self.seen)
        if self.budget.simulations:
            self.searcher.run(self.budget.simulations)
        else:
            self.searcher.run_until(began + self.budget.seconds)
        found = self.searcher.behaviour(self.seat, self.seen, len(actions))
        if self.greedy:
            found = (found == found.max()) / (found == found.max()).sum()
        return dict(zip(actions, found.tolist(), strict=True))

    def fork(self, seed: int) -> Agent:
        other = super().fork(seed)
        assert isinstance(other, SearchAgent)
        other.searcher = self.searcher.fork(seed)
        return other

    def gathered(self, tree: Treeplex) -> NDArray[np.float64]:
        return self.searcher.sums(tree.keys, tree.first, tree.sequences)

    @property
    def simulations(self) -> int:
        return self.searcher.made

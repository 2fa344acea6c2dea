"""Agents: players that are told what they may know, and nothing else.

A game begins with `begin`: the game, a seat, a seed and perhaps a budget. Then come percepts, as it goes on; and at each of its
turns an agent is asked for a distribution over the legal actions and an action drawn from it. It never holds a state of the game.
"""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.enumeration.walker import Enumeration
from unseen.errors import UnseenError
from unseen.exact.treeplex import Treeplex
from unseen.game import Game
from unseen.options import Parameter
from unseen.position import Percept, history_key
from unseen.tabular.strategy import Strategy


@dataclass(frozen=True)
class Budget:
    """What an agent may spend on a move: `simulations` or `seconds`; 0 is no word about it."""

    simulations: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self.simulations > 0 or self.seconds > 0.0


DEFAULT_BUDGET = Budget(simulations=100_000)


class Choice(NamedTuple):
    """What an agent does at its turn: the action drawn, and the probability of each legal action."""

    action: int
    probabilities: Mapping[int, float]


class Agent(ABC):
    """A player. Subclasses write `choose`; what was seen is in `seen`, the seat in `seat`."""

    name = "agent"
    is_person = False
    """Whether it is a person at the terminal, who speaks there, takes its time, and may leave."""
    game: Game
    seat: int
    seen: list[Percept]

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        """A new game: of `game`, as player `seat` (0 or 1), with random numbers of `seed`; `budget` is what a move may cost."""
        self.game, self.seat, self.seen = game, seat, []
        self.rng = random.Random(seed)

    def observe(self, percept: Percept) -> None:
        """The agent is told `percept`: 1 + its own action if it moved, the public token, its private token."""
        self.seen.append(percept)

    @abstractmethod
    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        """The probability of each of the legal `actions`, now that it is this agent's turn."""

    def act(self, actions: Sequence[int]) -> Choice:
        """Choose among the legal `actions`, and draw from that."""
        return draw(self.rng, self.choose(actions))

    def compile(self) -> None:  # noqa: B027
        """Compile what its choices need, ahead of a game."""

    def thinks(self, budget: Budget | None) -> str:
        """What it spends on a move if `budget` is what the match gives, in words that follow its name."""
        return ""

    def fork(self, seed: int) -> Agent:
        """An agent of its own that has seen the same and remembers the same, with random numbers of `seed` from here on."""
        other = copy.copy(self)
        other.seen, other.rng = list(self.seen), random.Random(seed)
        return other

    def gathered(self, tree: Treeplex) -> NDArray[np.float64]:
        """What a search has added up so far at each sequence of its player's `tree`, shape (q,)."""
        raise UnseenError(f"{self.name} does not search, so there is nothing to aggregate; measure it by stitching.")

    def plan(self, trees: Sequence[Treeplex]) -> list[NDArray[np.float64]]:
        """Search once, at the start of the game. What it makes of that for the rest: weights of the sequences of both players'
        `trees`, shape (q,) each; 0 where it knows nothing."""
        raise UnseenError(f"{self.name} does not search, so it has no plan for the whole game; measure it by stitching.")

    @property
    def is_certain(self) -> bool:
        """Whether its choice, as things stand, depends on nothing but what it has seen: it would choose so every time."""
        return False

    @property
    def question(self) -> bytes | None:
        """What its choice depends on, if it can say: equal questions have equal answers, whatever was seen before them."""
        return None

    def whole(self, walked: Enumeration | None = None, progress: bool | None = None) -> Strategy | None:
        """Its whole strategy, if it can say that at once; `walked` is the game enumerated, if it has been; `progress` as ever."""
        return None

    @property
    def simulations_made(self) -> int:
        """How many simulations it has made since `begin`."""
        return 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def draw(rng: random.Random, chances: Mapping[int, float]) -> Choice:
    """An action drawn from its distribution."""
    return Choice(rng.choices(list(chances), list(chances.values()))[0], chances)


@dataclass(frozen=True)
class Kind:
    """A kind of agent: what it is, where it comes from, how to make one (for a game, by a name, from its options), and these."""

    text: str
    source: str
    make: Callable[[Game, str, Mapping[str, Any]], Agent]
    options: Mapping[str, Parameter]
    games: tuple[str, str] = ("leduc_poker", "kuhn_poker")
    """Examples of games that it plays: one for a match, and a small one."""
    needs: str = ""
    """Options that it cannot do without, as an example."""


class RandomAgent(Agent):
    """Chooses evenly."""

    name = "random"
    is_certain = True

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        return dict.fromkeys(actions, 1.0 / len(actions))


class StrategyAgent(Agent):
    """Plays a strategy: one from a file, or what a solver found."""

    is_certain = True

    def __init__(self, strategy: Strategy, name: str = "strategy") -> None:
        self.strategy, self.name = strategy, name

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        self.strategy.check_game(game)
        super().begin(game, seat, seed, budget)

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        return self.strategy.at(history_key(self.seat, self.seen), actions)

    def whole(self, walked: Enumeration | None = None, progress: bool | None = None) -> Strategy:
        return self.strategy

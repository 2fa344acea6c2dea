"""The sequence form of a game: two treeplexes and a payoff operator. Everything exact is computed on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen import html
from unseen.arguments import checked
from unseen.enumeration.symmetry import Reduction, images_of, reduction
from unseen.enumeration.walker import Enumeration
from unseen.enumeration.whole import enumerate_game
from unseen.errors import UnseenError
from unseen.exact.payoffs import BundledPayoffs, Payoffs, StoredPayoffs, StreamedPayoffs
from unseen.exact.treeplex import Floats, treeplex
from unseen.game import Game
from unseen.loading import load
from unseen.run.progress import Progress
from unseen.show.results import Result, number, per_player
from unseen.tabular.strategy import Strategy

SYMMETRIC = 1e-9
"""How far apart the probabilities of two images may be."""


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """What each player's best response gets against the other's strategy, and their sum (elsewhere called NashConv)."""

    game: Game
    best_response: tuple[float, float]
    value: float
    """The expected payoff of player 0 when both follow the profile."""
    missing: int = 0
    """Information sets that the strategy said nothing about, where it was taken to choose evenly."""
    form: str = ""
    """The sequence form that it was computed on: stored, streamed, reduced, or reduced and streamed."""

    @property
    def exploitability(self) -> float:
        """The sum of both best-response values; 0 only at an equilibrium. OpenSpiel's `exploitability` is half of it."""
        return self.best_response[0] + self.best_response[1]

    @property
    def title(self) -> str:
        return self.game.spec

    @property
    def summary(self) -> str:
        return f"exploitability (sum) {number(self.exploitability)}, value {number(self.value)}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "best_response": list(self.best_response), "exploitability": self.exploitability,
            "value": self.value, "missing_infosets": self.missing, "form": self.form,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        rows = {
            "best response of the first player": number(self.best_response[0]),
            "best response of the second player": number(self.best_response[1]),
            "exploitability (sum of both)": number(self.exploitability),
            "value of the profile to the first player": number(self.value),
        }
        if self.missing:
            rows["information sets not in the strategy (taken as uniform)"] = f"{self.missing:,}"
        return rows | ({"sequence form": self.form} if self.form else {})


class Asymmetric(UnseenError):
    """A strategy does not respect the symmetries of a reduced form."""


def reduction_for(game: Game, streamed: bool, reduced: bool) -> Reduction | None:
    """What the walk for a sequence form leaves out."""
    knows_endings = type(game).settled is not Game.settled
    return reduction(game, stops_settled=True, symmetric=reduced) if reduced or (streamed and knows_endings) else None


class SequenceForm:
    """A game, enumerated once, ready for exact evaluation.

    - `game`: a game, or what names one.
    - `streamed`: do not store the payoffs, but walk the game for every answer, as far as they are not settled.
    - `reduced`: the form of a smaller game, whose equilibria are those of the whole that respect its symmetries: without settled
      endings, one information set for all its images, and one entry of the payoffs where only one player still decides. It can
      only hold strategies that respect the symmetries.
    - `progress`: None shows a bar if a person is watching, True always, False never; a function is called with the count.
    - `memory`: the most bytes to use for walking the game.
    - `found`: the game enumerated, if it has been.
    """

    @checked
    def __init__(
        self, game: Game | str, streamed: bool = False, progress: Progress | bool | None = None, memory: int | None = None,
        reduced: bool = False, found: Enumeration | None = None,
    ) -> None:  # fmt: skip
        self.game = load(game)
        self.is_streamed, self.is_reduced = streamed, reduced
        self.kind = "reduced" if reduced else "settled" if streamed else "whole"
        """Which information sets it has: all, those before endings are settled, or one for all images of these."""
        less = reduction_for(self.game, streamed, reduced)
        found = found or enumerate_game(self.game, store=not streamed, progress=progress, memory=memory, reduced=less)
        self.histories, self.terminals, self.longest = found.histories, found.terminals, found.longest
        self.players = (treeplex(found, 0), treeplex(found, 1))
        self.images = images_of(less, found.recall, found.sets) if less is not None and len(less.image) > 1 else None
        self.player_of_cell = np.repeat(found.sets.player, found.sets.n_actions)
        self.payoffs: Payoffs
        if streamed:
            self.payoffs = StreamedPayoffs(found, progress, reduced=less)
        elif less is not None:
            self.payoffs = BundledPayoffs(found, less)
        else:
            self.payoffs = StoredPayoffs(found)

    @property
    def way(self) -> str:
        """How it is held, in a word: stored, streamed, reduced, or reduced and streamed."""
        return " and ".join(["reduced"] * self.is_reduced + ["streamed"] * self.is_streamed) or "stored"

    @property
    def infosets(self) -> tuple[int, int]:
        """The number of information sets of each player."""
        return self.players[0].infosets, self.players[1].infosets

    @cached_property
    def m_values(self) -> tuple[float, float]:
        """Each player's M-value (see `Treeplex.m_value`)."""
        return self.players[0].m_value(), self.players[1].m_value()

    @property
    def nbytes(self) -> int:
        """Bytes held by information sets and payoffs."""
        return self.payoffs.nbytes + sum(a.nbytes for t in self.players for a in (t.parent, t.first, t.count, t.actions, t.keys))

    # For people ------------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<SequenceForm of {self.game.spec}: {per_player(self.infosets)} information sets, {self.way}>"

    def _repr_html_(self) -> str:
        """The form for notebooks: how large it is, and how it is held."""
        rows = {
            "information sets": per_player(self.infosets), "sequences": per_player(tree.sequences for tree in self.players),
            "histories": self.histories, "terminal histories": self.terminals, "longest history": self.longest,
            "held": f"{self.way}, {self.nbytes / 1e6:,.1f} MB",
        }  # fmt: skip
        return html.table(f"sequence form of {self.game.spec}", rows)

    # Strategies as arrays --------------------------------------------------------------------------------------------------

    def strategy(self, behaviour0: Floats, behaviour1: Floats) -> Strategy:
        """A strategy made of `behaviour0` and `behaviour1`, one for each player, shapes (q0,) and (q1,)."""
        if self.images is None:
            first, second = self.players
            return Strategy(
                self.game,
                keys=np.concatenate([first.keys, second.keys]),
                player=np.repeat(np.array([0, 1], np.int8), self.infosets),
                count=np.concatenate([first.count, second.count]),
                actions=np.concatenate([first.actions[1:], second.actions[1:]]),
                probability=np.concatenate([behaviour0[1:], behaviour1[1:]]),
            )
        probability = np.zeros(len(self.player_of_cell))
        for player, behaviour in enumerate((behaviour0, behaviour1)):
            probability[self.player_of_cell == player] = behaviour[1:]
        return Strategy.of_images(self.game, self.images, self.player_of_cell, probability)

    def uniform(self) -> Strategy:
        """The profile that chooses evenly everywhere."""
        return self.strategy(*(t.uniform() for t in self.players))

    def random(self, seed: int = 0) -> Strategy:
        """A profile drawn evenly, by `seed`, from all that the form can hold: flat Dirichlet at each information set."""
        rng = np.random.default_rng(seed)
        weights = [np.concatenate([[1.0], rng.standard_exponential(t.sequences - 1)]) for t in self.players]
        return self.strategy(*(t.behaviour(w) for t, w in zip(self.players, weights, strict=True)))

    def behaviours(self, strategy: Strategy) -> tuple[Floats, Floats, int]:
        """`strategy` as one behaviour for each player, and how many information sets it left out (they choose evenly)."""
        if not isinstance(strategy, Strategy):
            raise UnseenError(f"strategy is {strategy!r}, but must be a Strategy, such as form.uniform() or Strategy.load(path).")
        strategy.check_game(self.game)
        if self.images is None:
            (first, absent0), (second, absent1) = (self.read(strategy, t.keys, t.count, t.actions[1:]) for t in self.players)
            return np.concatenate([[1.0], first]), np.concatenate([[1.0], second]), absent0 + absent1
        images = self.images
        probability, missing = self.read(strategy, images.key, images.n_actions, images.action)
        together, copies = np.bincount(images.cell, probability), np.bincount(images.cell, images.share)
        mean = together / copies  # each image's share adds up to one, so copies counts the images of the set
        if np.abs(mean[images.cell] * images.share - probability).max(initial=0.0) > SYMMETRIC:
            raise Asymmetric("the strategy does not respect the game's symmetries, so a reduced form cannot hold it.")
        first, second = (np.concatenate([[1.0], mean[self.player_of_cell == player]]) for player in (0, 1))
        return first, second, missing

    def read(
        self, strategy: Strategy, keys: NDArray[np.uint64], count: NDArray[np.int64], actions: NDArray[np.int32]
    ) -> tuple[Floats, int]:
        """What `strategy` says of each action at the sets with these `keys`, and how many of them it leaves out.

        Each set has `count` actions, shape (j,); they are in `actions`, shape (c,).
        """
        starts = np.cumsum(count) - count
        probability = np.repeat(1.0 / count, count)
        at = strategy.find(keys)
        known = np.flatnonzero(at >= 0)
        if not np.array_equal(strategy.count[at[known]], count[known]):
            raise UnseenError(f"the strategy does not fit {self.game.spec}: an information set has another number of actions.")
        n = count[known]
        step = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)  # 0, 1, ... at each known set
        target, source = (np.repeat(first, n) + step for first in (starts[known], strategy.first[at[known]]))
        if not np.array_equal(strategy.actions[source], actions[target]):
            raise UnseenError(f"the strategy does not fit {self.game.spec}: an information set has other actions.")
        probability[target] = strategy.probability[source]
        return probability, len(keys) - len(known)

    # Exact evaluation ------------------------------------------------------------------------------------------------------

    def value(self, strategy: Strategy) -> float:
        """The expected payoff of player 0 when both follow `strategy`."""
        return self.evaluate(strategy).value

    def best_response(self, player: int, strategy: Strategy) -> tuple[float, Strategy]:
        """The most `player` can get against the other's part of `strategy`, and the profile in which it does so."""
        if player not in (0, 1):
            raise UnseenError(f"player is {player!r}, but must be 0 or 1.")
        behaviours = list(self.behaviours(strategy)[:2])
        plan = self.players[1 - player].plan(behaviours[1 - player])
        value, behaviours[player] = self.players[player].best_response(self.payoffs.against(player, plan))
        return value, self.strategy(*behaviours)

    def evaluate(self, strategy: Strategy) -> Evaluation:
        """Both best-response values against `strategy`, their sum, and the value of following it."""
        behaviour0, behaviour1, missing = self.behaviours(strategy)
        return self.evaluate_plans(self.players[0].plan(behaviour0), self.players[1].plan(behaviour1), missing)

    def evaluate_plans(self, plan0: Floats, plan1: Floats, missing: int = 0) -> Evaluation:
        """The same for a realisation plan of each player, `plan0` and `plan1`, shapes (q0,) and (q1,).

        `missing` is passed on: how many information sets a strategy left out.
        """
        values = self.payoffs.both(plan0, plan1)
        best0, best1 = (tree.best_response(v)[0] for tree, v in zip(self.players, values, strict=True))
        return Evaluation(self.game, (best0, best1), float(plan0 @ values[0]), missing, self.way)

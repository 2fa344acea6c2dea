"""Games of self-play by Online Outcome Sampling, whose simulations a network plays to their end; each decision is an example."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.game import Game
from unseen.learning.reservoir import Decisions, decisions
from unseen.learning.settings import Settings
from unseen.networks.encoding import Encoding
from unseen.networks.file import Layer
from unseen.networks.network import Network
from unseen.position import Position
from unseen.search.leaf import leaf_of
from unseen.search.searcher import Searcher


@dataclass(frozen=True)
class Assignment:
    """A game to be played: its place among all games, and the network of this iteration."""

    place: tuple[int, ...]
    """The seed, the iteration, and the number of the game in it."""
    layers: Sequence[Layer]


class Lesson(NamedTuple):
    """What a game has brought."""

    decisions: Decisions
    simulations: int


class Found(NamedTuple):
    """What a search has found at a turn."""

    actions: Sequence[int]
    chances: Sequence[float]
    worths: Sequence[float]
    """What each action is worth to the player, if that is learnt."""


class SelfPlay:
    """Plays games. One search sees both players' turns, and is led to where each of them is."""

    def __init__(self, game: Game, settings: Settings) -> None:
        self.game, self.settings = game, settings
        self.encoding = Encoding(game, settings.encoding or None)
        self.expert = settings.expert_for(game).pattern
        self.iteration: tuple[int, ...] = ()

    def __call__(self, assignment: Assignment) -> Lesson:
        if self.iteration != assignment.place[:2]:
            self.iteration = assignment.place[:2]
            leaf = leaf_of(Network(self.encoding, assignment.layers), self.settings.prior, self.expert.rule)
            self.pattern = Searcher(self.game, self.expert.rule, leaf=leaf, **self.expert.settings)
        seeds = np.random.SeedSequence(assignment.place).generate_state(2, np.uint64).tolist()
        return self.play(self.pattern.fork(seeds[0]), random.Random(seeds[1]))

    def play(self, searcher: Searcher, rng: random.Random) -> Lesson:
        """One game."""
        position, found = Position(self.game), dict[int, Found]()
        while not position.is_terminal:
            actions = position.actions
            if position.is_chance:
                position.apply(rng.choices(actions, position.chance_probabilities)[0])
                continue
            if len(actions) == 1:
                position.apply(actions[0])
                continue
            player, seen = position.player, position.seen(position.player)
            searcher.aim(player, seen)
            searcher.run(self.settings.simulations)
            chances = searcher.behaviour(player, seen, len(actions)).tolist()
            worths = searcher.worths(player, seen, len(actions)).tolist() if self.settings.values else []
            found[len(position.history)] = Found(actions, chances, worths)
            is_even = rng.random() < self.settings.evenly
            position.apply(rng.choice(actions) if is_even else rng.choices(actions, chances)[0])
        return Lesson(self.examples(position.history, found), searcher.made)

    def examples(self, history: Sequence[int], found: Mapping[int, Found]) -> Decisions:
        """What was `found` at turns of a game, by the length of the history there, and at their mirror images."""
        rows, targets, count = list[NDArray[np.float32]](), list[NDArray[np.float32]](), self.game.num_actions
        width = count * (1 + self.settings.values)
        for image in images(self.game, self.settings):
            position = Position(self.game)
            for action in history:
                if (decision := found.get(len(position.history))) is not None:
                    state, target = self.game.new_states(1), np.full(width, np.nan, np.float32)
                    position.state.write(state)
                    choices = np.array(image)[list(decision.actions)]
                    sharp = (np.array(decision.chances) / max(decision.chances)) ** self.settings.sharpness
                    target[choices] = sharp / sharp.sum()
                    if self.settings.values:
                        target[count + choices] = decision.worths
                    rows.append(self.encoding.row(position.player, position.seen(position.player), state))
                    targets.append(target)
                position.apply(action if position.is_chance else image[action])
        table = np.reshape(rows, (len(rows), self.encoding.length))
        return decisions(self.encoding, table, np.reshape(targets, (len(rows), width)))


def images(game: Game, settings: Settings) -> list[list[int]]:
    """The renamings of actions under which a decision is an example, too."""
    return game.symmetries() if settings.symmetric else [list(range(game.num_actions))]

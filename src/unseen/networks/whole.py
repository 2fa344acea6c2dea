"""A network as a strategy for the whole game: what it says at every information set, in compiled code.

In a game with symmetries the strategy respects them: a player asks the network about what it has seen turned into the first of its
images. So it is asked about one information set of all that are images of each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel
from unseen.engine import step
from unseen.enumeration.symmetry import images_of, reduction
from unseen.enumeration.walker import Enumeration
from unseen.enumeration.whole import Examples, enumerate_examples, enumerate_game
from unseen.game import Game
from unseen.networks.encoding import Encoding
from unseen.networks.network import Network, compact, forward, soften
from unseen.run.progress import Progress
from unseen.tabular.strategy import Strategy

SETS_PER_CALL = 100_000
"""So that Ctrl-C is noticed in between."""


class EverySet:
    """All information sets of a game, ready for networks with one encoding; without those behind settled endings, if it has any.

    - `encoding`: what the networks see.
    - `walked`: the game enumerated, if it has been; not enough where the game's own `encode` is used, which needs states, or where
      there are symmetries.
    """

    def __init__(self, encoding: Encoding, walked: Enumeration | None = None, progress: Progress | bool | None = None) -> None:
        game = encoding.game
        has_images = len(game.symmetries()) > 1
        knows_endings = type(game).settled is not Game.settled
        less = reduction(game, stops_settled=True, symmetric=True) if has_images or knows_endings else None
        self.encoding, self.examples = encoding, Examples(np.zeros(0, np.int64), np.zeros(0, np.int64))
        if encoding.layout.own:
            self.walked, self.examples = enumerate_examples(game, progress, reduced=less)
        else:
            self.walked = walked if walked and not has_images else enumerate_game(game, progress=progress, reduced=less)
        sets = self.walked.sets
        self.images = images_of(less, self.walked.recall, sets) if less is not None and has_images else None
        self.asked = Asked(sets.actions, sets.cell, sets.n_actions.astype(np.int64))
        if self.images is not None:
            itself, ends = self.images.themselves(sets), np.cumsum(self.images.n_actions)
            self.asked = Asked(self.images.action, (ends - self.images.n_actions)[itself], self.images.n_actions[itself])

    def strategy(self, network: Network) -> Strategy:
        """What a network with this encoding plays."""
        walked, sets, game, asked = self.walked, self.walked.sets, self.encoding.game, self.asked
        probability: NDArray[np.float64] = np.zeros(len(asked.actions))
        count = len(sets.player)
        seen, tell, state = np.zeros((game.max_length, 3), np.int64), np.zeros(3, np.int64), game.new_states(1)
        net = compact(network, remembered=1)
        for first in range(0, count, SETS_PER_CALL):
            last = min(first + SETS_PER_CALL, count)
            respond_at_sets(
                game, self.encoding.layout, net, walked.recall, sets, asked, self.examples, first, last, state, seen, tell,
                probability,
            )  # fmt: skip
        if self.images is not None:  # actions that are one to the player share what is said of any of them
            probability = np.bincount(self.images.cell, probability, len(sets.actions)).astype(np.float64)
        probability /= np.repeat(np.add.reduceat(probability, sets.cell), sets.n_actions)
        if self.images is not None:
            return Strategy.of_images(game, self.images, np.repeat(sets.player, sets.n_actions), probability)
        return Strategy(
            game, keys=walked.keys, player=sets.player, count=sets.n_actions, actions=sets.actions, probability=probability
        )


class Asked(NamedTuple):
    """What is legal at each information set, `j` of them: all actions, of which a reduced walk may know only one of each kind."""

    actions: NDArray[np.int32]  # (a,)
    first: NDArray[np.int64]  # (j,) where those of each set begin
    n_actions: NDArray[np.int64]  # (j,)


def network_strategy(network: Network, progress: Progress | bool | None = None) -> Strategy:
    """The strategy that a `network` plays, by asking it at every information set of its game.

    `progress`: None shows a bar if a person is watching, True always, False never.
    """
    return EverySet(network.encoding, progress=progress).strategy(network)


@kernel
def respond_at_sets(game, layout, net, recall, sets, asked, examples, first, last, states, seen, tell, probability):
    """The probabilities of all actions at sets `first` to `last` - 1; `states`, `seen` and `tell` are to write on."""
    s = states[0]
    for j in range(first, last):
        length, node = 0, sets.node[j]
        while recall.parent[node] >= 0:
            length += 1
            node = recall.parent[node]
        node = sets.node[j]
        for t in range(length - 1, -1, -1):
            seen[t, 0] = recall.own[node]
            seen[t, 1] = recall.public[node]
            seen[t, 2] = recall.private[node]
            node = recall.parent[node]
        if layout.own > 0:
            game.start(s)
            for k in range(examples.ends[j - 1] if j > 0 else 0, examples.ends[j]):
                step(game, s, examples.actions[k], tell)
        at, n, cell = forward(game, s, sets.player[j], seen, length, layout, net), asked.n_actions[j], asked.first[j]
        soften(net, at, asked.actions[cell : cell + n], n, 0)
        for k in range(n):
            probability[cell + k] = net.answers[k]

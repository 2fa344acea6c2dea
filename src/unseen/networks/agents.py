"""The agent that plays what a network says, without a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unseen.agents import Agent, Budget, Kind
from unseen.belief.worlds import Worlds
from unseen.enumeration.symmetry import upright
from unseen.enumeration.walker import Enumeration
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.networks.network import Network
from unseen.networks.whole import EverySet
from unseen.options import Parameter
from unseen.position import Percept
from unseen.tabular.strategy import Strategy

WORLDS = 1000
"""States that fit what was seen of which so many are kept, where the game's own `encode` needs one: any will do."""


class NetworkAgent(Agent):
    """Plays what a network says; in a game with symmetries, about what it has seen turned into the first of its images."""

    is_certain = True

    def __init__(self, network: Network, name: str = "net") -> None:
        self.network, self.name = network, name

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        if game != self.network.game:
            raise UnseenError(f"agent {self.name}: its network is for {self.network.game.spec}, not for {game.spec}.")
        super().begin(game, seat, seed, budget)
        self.turned, self.turned_seen = upright(game), list[Percept]()
        if self.network.encoding.layout.own:
            self.worlds = Worlds(game, seat, "once", cap=WORLDS, seed=0)

    def observe(self, percept: Percept) -> None:
        super().observe(percept)
        if 0 < percept.own <= self.game.num_actions:
            own, self.turned = self.turned.after(percept.own - 1)
            percept = percept._replace(own=own + 1)
        self.turned_seen = [*self.turned_seen, percept]
        if self.network.encoding.layout.own:
            self.worlds = self.worlds.after(percept)

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        alike = {action: self.turned.alike(action) for action in actions}
        legal = np.zeros((1, self.game.num_actions), np.bool_)
        for same in alike.values():
            legal[0, same] = True
        found = self.network.probabilities(self.network.encoding.row(self.seat, self.turned_seen, self.state())[None], legal)[0]
        return {action: float(found[same].mean()) for action, same in alike.items()}

    def state(self) -> Any:
        """Some state that fits what was seen, shape (1,), if the game's own `encode` is used."""
        if not self.network.encoding.layout.own:
            return None
        cap = WORLDS
        while not len(states := self.worlds.closed_turn.states):
            if not self.worlds.is_sample:
                raise UnseenError(f"{self.game.spec}: no history fits what player {self.seat} has seen.")
            cap *= 10  # those that were kept have run dry
            self.worlds = Worlds(self.game, self.seat, "once", cap=cap, seed=0).after_all(self.turned_seen)
        return states[:1]

    def whole(self, walked: Enumeration | None = None, progress: bool | None = None) -> Strategy:
        return EverySet(self.network.encoding, walked, progress).strategy(self.network)


def make_net(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
    if not options["file"]:
        raise UnseenError(f"agent {name!r}: say which network, net(file=...); `unseen learn` makes them.")
    return NetworkAgent(Network.load(options["file"], game).sharpened(options["sharpness"]), name)


AGENTS = {
    "net": Kind(
        "Plays what a network says, without a search; `unseen learn` trains them.",
        "A. Kitchen and M. Benedetti, ExpIt-OOS: Towards learning from planning in imperfect information games, 2018", make_net,
        {
            "file": Parameter("", help="the file of a network: `unseen learn GAME --out FOLDER` writes FOLDER/network.safetensors"),
            "sharpness": Parameter(1.0, above=0.0, maximum=100.0, help="the power to which its probabilities are raised"),
        },
        needs="(file=FOLDER/network.safetensors)",
    ),
}  # fmt: skip

"""What can be set about learning, with the defaults of the paper for its games.

A. Kitchen and M. Benedetti, "ExpIt-OOS: Towards learning from planning in imperfect information games" (2018), Section 4. What it
does not say is as in the code that its authors published: an even choice now and then in self-play, one search for both players.
"""

from __future__ import annotations

import re
from typing import Any

from unseen.arena.names import AGENTS, make_agent
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import parse
from unseen.networks.encoding import PARTS
from unseen.options import Declared, parameter
from unseen.search.agents import JointSearchAgent, SearchAgent

PUBLIC_EXPERT = "oos(weighting=scaled, targeting=public)"
PAPER: dict[str, dict[str, Any]] = {
    "leduc_poker": {"expert": PUBLIC_EXPERT, "layers": "128"},
    "liars_dice": {"expert": PUBLIC_EXPERT},
    "exact_liars_dice": {"expert": PUBLIC_EXPERT},
    "ii_goofspiel(cards=13)": {"layers": "128-128-64", "steps": 512},
}
"""What is different, by the name of the game, or of the game with its parameters."""


class Settings(Declared):
    """How a network learns from planning."""

    simulations: int = parameter(10_000, minimum=1, help="simulations for each decision of self-play")
    expert: str = parameter("oos(weighting=scaled)", help="the search that teaches: an agent, with its options but for the budget")
    prior: float = parameter(
        0.0, minimum=0.0, help="what the network counts, as regrets, where the expert's tree knows nothing yet"
    )
    values: bool = parameter(
        False, help="whether the network also learns what actions are worth, with which baselines of the expert then begin"
    )
    sharpness: float = parameter(
        1.0, above=0.0, maximum=100.0, help="the power to which probabilities that were found are raised before they are learnt"
    )
    evenly: float = parameter(0.2, minimum=0.0, maximum=1.0, help="the probability of an even choice in self-play")
    symmetric: bool = parameter(True, help="whether a decision also stands for its mirror images, in games that have them")
    encoding: Any = parameter(
        "", help=f"what the network sees: {', '.join(PARTS)}; otherwise what the game writes, if it does, too"
    )
    layers: str = parameter("128-64", help="the sizes of the layers between input and output")
    games: int = parameter(32, minimum=1, help="games of self-play in an iteration")
    steps: int = parameter(128, minimum=1, help="steps of training in an iteration")
    batch: int = parameter(256, minimum=1, maximum=1_000_000, help="decisions in a step")
    rate: float = parameter(1e-3, above=0.0, maximum=1.0, help="the learning rate of Adam")
    reservoir: int = parameter(32_000, minimum=1, help="full games whose decisions are kept")
    keep: float = parameter(2.0, above=0.0, help="how slowly the reservoir forgets: its decay ratio")

    @property
    def hidden(self) -> list[int]:
        """The sizes of the layers between input and output."""
        sizes = [part.strip() for part in self.layers.split("-")] if self.layers else []
        if not all(re.fullmatch("[0-9]{1,4}", part) and 0 < int(part) <= 4096 for part in sizes):
            raise UnseenError(f"layers is {self.layers!r}, but must be sizes from 1 to 4096, such as 128-64.")
        return [int(part) for part in sizes]

    @property
    def teacher(self) -> str:
        """The expert as an agent with its budget, whose playouts are even."""
        name, options = parse(self.expert, "agent")
        inside = {**options, "simulations": self.simulations}
        return f"{name}({', '.join(f'{option}={value}' for option, value in inside.items())})"

    def expert_for(self, game: Game) -> SearchAgent:
        """The expert."""
        agent = make_agent(self.expert, game)
        if not isinstance(agent, SearchAgent) or isinstance(agent, JointSearchAgent) or agent.simulations or agent.seconds:
            raise UnseenError(f"expert is {self.expert!r}, but must be oos, vr_oos or ismcts, without a budget of its own.")
        if self.prior and "regrets" not in agent.pattern.rule.for_action:
            raise UnseenError(f"prior is {self.prior:g}, but {self.expert!r} has no regrets that could begin with it.")
        if self.values and not agent.pattern.rule.baseline:
            raise UnseenError(f"expert is {self.expert!r}, but without baselines it does not say what actions are worth.")
        for name in sorted({"playout", "prior", "keep", "final"} & set(parse(self.expert, "agent")[1])):
            raise UnseenError(f"expert is {self.expert!r}, but its {name} is not used in self-play; leave it out.")
        return agent


def is_of_the_library(expert: Any) -> bool:
    """Whether an expert can be taken from a file: one of a user's own would be imported, and no file can make us run code."""
    return isinstance(expert, str) and parse(expert, "agent")[0] in AGENTS


def settings_for(game: Game, **changed: Any) -> Settings:
    """The paper's settings for a game, or what is nearest to them, some of them changed."""
    known = PAPER.get(f"{game.name}(cards={game.settings.get('cards')})", PAPER.get(game.name, {}))
    return Settings(**{**known, **changed})

"""Does any agent know what is hidden from it? A program, run without compilation, since that is not worth it for so many games.

For every game and agent: two histories that the agent cannot tell apart are played before it by the real referee. Whatever it says
up to its last turn in them must be the same.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from unseen import Belief, Encoding, Game, Network, Position, Strategy, game_names, load
from unseen.agents import Agent, Choice, StrategyAgent
from unseen.arena import referee
from unseen.arena.names import make_agent
from unseen.position import random_walk
from unseen.stacked.openness import what_is_hidden

SMALL = {
    "one_card_poker": "one_card_poker(cards=4)", "ii_goofspiel": "ii_goofspiel(cards=4)", "latent_ttt": "latent_ttt(choices=4)",
    "liars_dice": "liars_dice(faces=3)", "goofspiel": "goofspiel(cards=3)",
    "pd_goofspiel": "pd_goofspiel(cards=3)", "wl_goofspiel": "wl_goofspiel(cards=3)", "oshi_zumo": "oshi_zumo(coins=4)",
    "blotto": "blotto(soldiers=4)", "princess_and_monster": "princess_and_monster(horizon=5)",
    "schnapsen": "schnapsen(suits=2, ranks=3, hand=1, target=20)",
}  # fmt: skip
AGENTS = (
    "random", "oos(simulations=12)", "oos(targeting=public, simulations=12, weighting=scaled)", "vr_oos(simulations=12)",
    "ismcts(simulations=12)", "ismcts(selection=exp3, simulations=12, keep=false, final=max)", "strategy",
)  # fmt: skip


IN_TURN = (
    "pimc(worlds=3)", "ppp(worlds=2, errors=2, knowledge=belief)", "pvp(worlds=2, mixing=near)", "vmm(worlds=3)", "prm(worlds=2)",
)  # fmt: skip
"""Those for games in which players move in turn."""
LONG = ("phantom_ttt", "latent_ttt", "princess_and_monster")
"""Games that take these too long without compilation."""
OPEN = (
    "optimal", "duct(simulations=12)", "exp3(simulations=12)", "rm(simulations=12, keep=true)", "sm_oos(simulations=12)",
    "oos_plus(simulations=12)",
)  # fmt: skip
"""Those for games in which all is known but the move that is being made."""
WITH_NETWORK = ("net(file={})", "oos(playout={}, simulations=12)", "vr_oos(playout={}, simulations=12)")


class Follower(Agent):
    """Plays a given history; if there is an agent inside, asks it first what it would do, at so many turns."""

    def __init__(self, moves: Sequence[int], turns: int, inside: Agent | None = None) -> None:
        self.moves, self.turns, self.inside, self.heard, self.place = moves, turns, inside, [], 0

    def begin(self, *args):
        if self.inside:
            self.inside.begin(*args)

    def observe(self, percept):
        if self.inside:
            self.inside.observe(percept)

    def act(self, actions):
        if self.inside and len(self.heard) < self.turns:
            self.heard.append(tuple(self.inside.choose(actions).items()))
        move = self.moves[self.place]
        self.place += 1
        return Choice(move, {move: 1.0})

    def choose(self, actions):
        raise NotImplementedError  # the referee asks for acts


class GivenChance:
    """Draws what a given history says, where the referee expects a random.Random."""

    def __init__(self, moves: Sequence[int]) -> None:
        self.moves = iter(moves)

    def choices(self, actions, weights):
        return [next(self.moves)]


def watched(game: Game, history: Sequence[int], seat: int, spec: str):
    """What an agent says at each of its turns in this history."""
    end, rng = Position(game, history), random.Random(1)
    while not end.is_terminal:
        end.apply(rng.choice(end.actions))
    moves: dict[int, list[int]] = {-1: [], 0: [], 1: []}
    position = Position(game)
    for action in end.history:
        moves[position.player].append(action)
        position.apply(action)
    agent = StrategyAgent(Strategy.uniform(game)) if spec == "strategy" else make_agent(spec, game)
    turns = sum(Position(game, history[:n]).player == seat for n in range(len(history) + 1))
    followers = [Follower(moves[p], turns, agent if p == seat else None) for p in (0, 1)]
    referee.random = SimpleNamespace(Random=lambda seed: GivenChance(moves[-1]))
    played = referee.play(game, followers, 5)
    assert played.history == end.history, (played.fault, played.history, end.history)
    return followers[seat].heard


def twins(game: Game) -> tuple[Position, tuple[int, ...]] | None:
    """A position at which something is hidden from the player to move, and another history that it may be."""
    rng = random.Random(3)
    for _ in range(40):
        ways = [p.copy() for p in random_walk(game, rng)][:6]
        ways = [p for p in ways if p.player >= 0 and Belief.at(p).count > 1]
        if ways:
            drawn = Belief.at(ways[-1]).sample_histories(20, seed=1)
            return ways[-1], next(h for h in drawn if h != ways[-1].history)
    return None


def with_network(game: Game, folder: str) -> list[str]:
    """Agents that ask a network, which looks at all that it can."""
    encoding, rng = Encoding(game), np.random.default_rng(0)
    sizes, file = [encoding.length, 8, game.num_actions], Path(folder) / f"{game.name}.safetensors"
    Network(encoding, [(rng.normal(size=pair), rng.normal(size=pair[1])) for pair in pairwise(sizes)]).save(file)
    return [spec.format(file) for spec in WITH_NETWORK]


if __name__ == "__main__":
    swaps, folder = 0, tempfile.mkdtemp()
    for name in game_names():
        game = load(SMALL.get(name, name))
        if (found := twins(game)) is None:
            continue
        position, other = found
        in_turn = IN_TURN if not game.simultaneous and name not in LONG else ()
        for spec in (*AGENTS, *with_network(game, folder), *in_turn, *(OPEN if not what_is_hidden(game) else ())):
            mine, theirs = (watched(game, h, position.player, spec) for h in (position.history, other))
            assert mine == theirs, (name, spec, position.history, other)
            swaps += 1
    print(swaps)

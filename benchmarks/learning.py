"""What a network in the leaf costs: simulations a second of OOS with playouts by a network, one core.

- a PyTorch module, asked for one move at a time: the forward passes alone, which is what any search would wait for;
- the same with so many simulations in flight: one forward pass for all that wait;
- the same network in compiled code, where the simulation is, with and without remembered answers;
- even playouts beside it.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from unseen import Game, Searcher, load
from unseen.learning.settings import settings_for
from unseen.learning.training import ModulePolicy, Trainer, pytorch
from unseen.networks.encoding import Encoding
from unseen.search.leaf import Leaf, NetworkPlayout, OutsidePolicy, Questions, UniformPlayout
from unseen.search.rules import OnlineOutcomeSampling

IN_FLIGHT = (1, 4, 16, 64, 256)
GAMES = ("ii_goofspiel(cards=13)", "ii_goofspiel(cards=6)", "phantom_ttt", "liars_dice")


def rate(game: str, leaf: Leaf, seconds: float) -> float:
    """Simulations a second in a tree that does not grow beyond a thousand information sets, so that playouts are what counts."""
    searcher = Searcher(game, OnlineOutcomeSampling(), leaf=leaf, targeting="none", seed=1)
    searcher.run(1000)
    searcher.may_grow = False
    searcher.run(max(getattr(leaf, "in_flight", 1), 10))
    made, batch, began = 0, max(getattr(leaf, "in_flight", 1), 20), time.perf_counter()
    while time.perf_counter() - began < seconds:
        searcher.run(batch)
        made, batch = made + batch, 2 * batch
    return made / (time.perf_counter() - began)


def asked_per_simulation(game: Game, policy: ModulePolicy, simulations: int = 300) -> float:
    """How often a network is asked in a simulation, outside of such a tree."""
    asked = []

    def counting(questions: Questions) -> NDArray[np.float64]:
        asked.append(len(questions.player))
        return policy(questions)

    searcher = Searcher(game, OnlineOutcomeSampling(), leaf=OutsidePolicy(counting, 64), targeting="none", seed=1)
    searcher.run(1000)
    searcher.may_grow = False
    asked.clear()
    searcher.run(simulations)
    return sum(asked) / simulations


def seconds_a_pass(trainer: Trainer, encoding: Encoding, passes: int = 2000) -> float:
    """How long one forward pass of one input takes, and nothing else."""
    torch = pytorch()
    with torch.no_grad():
        inputs, began = torch.zeros(1, encoding.length), time.perf_counter()
        for _ in range(passes):
            trainer.module(inputs)
        return (time.perf_counter() - began) / passes


def measure(spec: str, seconds: float) -> None:
    pytorch().set_num_threads(1)
    game = load(spec)
    settings = settings_for(game)
    encoding = Encoding(game)
    trainer = Trainer(encoding, settings.hidden, 1e-3, seed=0)
    policy, network = ModulePolicy(trainer.module, encoding), trainer.network()
    print(f"{game.spec}, layers {'-'.join(map(str, network.sizes))}: simulations a second")
    single = 1.0 / (asked_per_simulation(game, policy) * seconds_a_pass(trainer, encoding))
    print(f"  a bare pass for each move {single:12,.0f}   {1.0:6.1f}x")
    for in_flight in IN_FLIGHT:
        found = rate(spec, OutsidePolicy(policy, in_flight), seconds)
        print(f"  module, {in_flight:3} in flight     {found:12,.0f}   {found / single:6.1f}x")
    rows = {
        "compiled": NetworkPlayout(network, 1),
        "compiled, remembering": NetworkPlayout(network),
        "even playouts": UniformPlayout(),
    }
    for name, leaf in rows.items():
        found = rate(spec, leaf, seconds)
        print(f"  {name:24} {found:12,.0f}   {found / single:6.1f}x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    asked = parser.parse_args()
    for spec in GAMES:
        measure(spec, asked.seconds)

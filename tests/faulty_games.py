"""Games with faults, and every way into compiled code: run as a program, it takes each game through each way and prints what came
of it.

It is a program of its own because what it looks for would take the test process down: a crash, or a hang.
"""

from __future__ import annotations

import faulthandler
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hidden_faults import Deep

import unseen
from unseen import PUBLIC, TERMINAL, Game, Strategy
from unseen.search.leaf import NetworkPlayout
from unseen.search.rules import OnlineOutcomeSampling


class Sound(Game):
    """Two players choose one of three numbers, twice each; sums are compared."""

    state = np.dtype([("moves", "i1"), ("sums", "i1", (2,)), ("last", "i1")])
    num_actions = 3
    max_length = 4

    def start(self, s):
        s.moves = 0
        s.sums[0] = 0
        s.sums[1] = 0
        s.last = 0

    def player(self, s):
        return TERMINAL if s.moves == 4 else s.moves % 2

    def actions(self, s, out):
        for k in range(3):
            out[k] = k
        return 3

    def apply(self, s, a, tell):
        s.sums[s.moves % 2] += a
        s.last = a
        s.moves += 1
        tell[PUBLIC] = 1 + a

    def utility(self, s, who):
        u = float(s.sums[0] - s.sums[1])
        return u if who == 0 else -u


class TooShort(Sound):
    max_length = 3


class RarelyTooShort(Sound):
    """Goes on for longer than it says after one history in a few hundred."""

    max_length = 12

    def player(self, s):
        end = 60 if s.moves >= 12 and s.sums[0] >= 12 and s.last == 2 else 12
        return TERMINAL if s.moves >= end else s.moves % 2


class PastTheArray(Sound):
    def apply(self, s, a, tell):
        s.sums[s.moves] += a
        s.moves += 1


class NotZeroSum(Sound):
    def utility(self, s, who):
        return 1.0


class Descending(Sound):
    def actions(self, s, out):
        for k in range(3):
            out[k] = 2 - k
        return 3


class ThirdPlayer(Sound):
    def player(self, s):
        return TERMINAL if s.moves == 4 else s.moves


class NegativeToken(Sound):
    def apply(self, s, a, tell):
        s.moves += 1
        tell[PUBLIC] = -1


class NoActions(Sound):
    def actions(self, s, out):
        return 0


FAULTY = (TooShort, PastTheArray, NotZeroSum, Descending, ThirdPlayer, NegativeToken, NoActions)
SAMPLERS = ("outcome_sampling", "external_sampling", "vanilla_cfr", "chance_sampling")


def sampled(name: str) -> Callable[[Game], object]:
    return lambda game: unseen.solve(game, name, iterations=2000, evaluate=False)


def searched(game: Game, simulations: int = 3000, **options: str) -> object:
    search = unseen.Searcher(game, OnlineOutcomeSampling(**options), targeting="none")
    search.run(simulations)
    return search


def saved_and_loaded(game: Game) -> object:
    with tempfile.TemporaryDirectory() as folder:
        Strategy.uniform(game).save(Path(folder) / "a.strategy")
        return Strategy.load(Path(folder) / "a.strategy", game)


def with_network(game: Game, simulations: int = 3000) -> unseen.Searcher:
    """A search whose playouts are a network's."""
    encoding = unseen.Encoding(game)
    network = unseen.Network(encoding, [(np.zeros((encoding.length, game.num_actions)), np.zeros(game.num_actions))])
    search = unseen.Searcher(game, OnlineOutcomeSampling(), leaf=NetworkPlayout(network), targeting="none")
    search.run(simulations)
    return search


def learnt(game: Game) -> object:
    with tempfile.TemporaryDirectory() as folder:
        return unseen.learn(game, out=Path(folder) / "f", iterations=1, simulations=50, games=1, steps=1, layers="4", workers=1)


ENTRIES: dict[str, Callable[[Game], object]] = {
    **{f"solve, {name}": sampled(name) for name in SAMPLERS},
    "solve": lambda game: unseen.solve(game, iterations=2),
    "solve_exactly": unseen.solve_exactly,
    "SequenceForm": unseen.SequenceForm,
    "SequenceForm, streamed": lambda game: unseen.SequenceForm(game, streamed=True),
    "SequenceForm, reduced": lambda game: unseen.SequenceForm(game, reduced=True),
    "Strategy": lambda game: Strategy.random(game),
    "Strategy, from_function": lambda game: Strategy.from_function(game, lambda position: {0: 1.0}),
    "Strategy, file": saved_and_loaded,
    "Searcher": searched,
    "Belief": lambda game: unseen.Belief(game, 0, [], None).count,
    "Worlds": lambda game: unseen.Worlds(game, 0),
    "extract": lambda game: unseen.extract(game, "pimc", workers=1),
    "compare": lambda game: unseen.compare(game, ["ppp", "random"], workers=1),
    "enumerate_game": unseen.enumerate_game,
    "info": unseen.info,
    "playouts": lambda game: unseen.playouts(game, 5000),
    "exploitability": lambda game: unseen.exploitability(game, Strategy.uniform(game)),
    "best_response": lambda game: unseen.best_response(game, 0, Strategy.uniform(game)),
    "match": lambda game: unseen.match(game, "oos(simulations=50)", "random", games=4, workers=1),
    "tournament": lambda game: unseen.tournament(game, ["oos(simulations=50)", "random"], 4, workers=1),
    "replay": lambda game: unseen.replay(game, "random", "ismcts(simulations=50)", 0),
    "measure": lambda game: unseen.measure(game, "random", workers=1),
    "convergence": lambda game: unseen.convergence(game, "oos", runs=1, simulations=50, every=50, workers=1),
    "make_agent": lambda game: unseen.make_agent("solved", game),
    "fingerprint": unseen.fingerprint,
    "Encoding": lambda game: unseen.Encoding(game).row(0, []),
    "Network": with_network,
    "network_strategy": lambda game: unseen.network_strategy(with_network(game).leaf.network),
    "learn": learnt,
    "testing": lambda game: unseen.testing.check_game(game, seconds=0.5),
}
"""Each public name that takes a game, with something that uses it."""
NO_ENTRIES = {
    "CHANCE", "PUBLIC", "TERMINAL", "Agent", "AgentFault", "BeliefTooLarge", "Budget", "Choice", "Cluster", "Comparison",
    "Convergence", "DepthLimited", "Enumeration", "Extraction",
    "Equilibrium", "Evaluation", "Game", "GameFault", "Info", "Learned", "Losses", "Match", "Measured",
    "OnlineLearner", "Percept", "Playouts", "Position", "RuleError", "Size", "Solved",
    "StrategyFileError", "Tournament", "UnseenError", "Values", "__version__", "backward_induction",
    "depth_limited", "estimate_size", "expected_loss", "game_names", "kernel", "load", "parameter", "piece", "rules",
}  # fmt: skip
"""Public names that take none, or run nothing of it in compiled code."""


HIDDEN: dict[str, Callable[[Game], object]] = {
    "enumerate_game": unseen.enumerate_game,
    "solve, outcome_sampling": lambda game: unseen.solve(game, "outcome_sampling", iterations=40_000, evaluate=False),
    "Searcher, vr_oos": lambda game: searched(game, 40_000, baseline="history"),
    "Network": lambda game: with_network(game, 40_000),
}
"""Ways for faults that trial games do not show, with so many simulations that these do."""
HIDDEN_FAULTS = (
    "other_actions", "huge_action", "player_seven", "overflow", "unsigned_difference", "whole_division_by_zero", "shift",
    "array_overflow", "fraction", "piece_overflow", "piece_past_the_array",
)  # fmt: skip


def outcome(entry: Callable[[Game], object], game: Game) -> str:
    try:
        entry(game)
    except unseen.UnseenError as error:
        return f"refused: {error}"
    except KeyboardInterrupt:
        return "interrupted"
    return "done"


if __name__ == "__main__":
    faulthandler.enable()
    for cls in FAULTY:
        for name, entry in ENTRIES.items():
            print(json.dumps([cls.__name__, name, outcome(entry, cls())]), flush=True)
    Game.trial = None  # as if no trial game had shown it
    for name in (
        "solve, outcome_sampling",
        "solve, external_sampling",
        "solve, vanilla_cfr",
        "Searcher",
        "playouts",
        "enumerate_game",
    ):
        print(json.dumps(["RarelyTooShort", name, outcome(ENTRIES[name], RarelyTooShort())]), flush=True)
    for fault in HIDDEN_FAULTS:
        for name, entry in HIDDEN.items():
            print(json.dumps([f"Deep, {fault}", name, outcome(entry, Deep(fault=fault))]), flush=True)
    name = "SequenceForm, reduced"
    print(json.dumps(["Deep, settled", name, outcome(ENTRIES[name], Deep(fault="settled"))]), flush=True)

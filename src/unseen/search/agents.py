"""Agents that search, and the recipes that make them from their options."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import DEFAULT_BUDGET, Agent, Budget, Kind
from unseen.errors import UnseenError
from unseen.exact.treeplex import Treeplex
from unseen.game import Game
from unseen.networks.network import Network
from unseen.options import Declared, Parameter, Value, parameter, with_defaults
from unseen.position import Percept, Position
from unseen.random_play import is_won_or_lost, largest_payoff
from unseen.search.joint_rules import (
    TRANSFORMS,
    DecoupledUCT,
    JointExp3,
    JointOutcomeSampling,
    JointRegretMatching,
    JointRule,
    OutcomeSamplingPlus,
)
from unseen.search.leaf import Leaf, leaf_of
from unseen.search.root import at_histories, at_start
from unseen.search.rules import Bandit, Exp3, OnlineOutcomeSampling, RegretMatching, Rule, UpperConfidence
from unseen.search.searcher import Searcher
from unseen.stacked.openness import open_history

FINALS = ("visits", "max")
BY_GAME = "by_game"
AIMING = 0.5
"""The part of a move's time that finding out where the play can be may take."""
BANDITS: dict[str, type[Bandit]] = {"ucb": UpperConfidence, "regret_matching": RegretMatching, "exp3": Exp3}


class SearchAgent(Declared, Agent):
    """Searches anew at each of its turns. `pattern` is the search as it is at the beginning of a game."""

    simulations: int = parameter(0, minimum=0, help="simulations for each move; 0: what the match gives, otherwise 100,000")
    seconds: float = parameter(0.0, minimum=0.0, help="seconds for each move, instead of simulations")
    keep: bool = parameter(True, help="whether the tree is kept from one move to the next")
    final: int = parameter("visits", choices=FINALS, help="the move: drawn by visit counts, or the one with most visits")

    def __init__(self, pattern: Searcher, name: str = "search", **options: Value) -> None:
        super().__init__(**options)
        if self.simulations and self.seconds:
            raise UnseenError(f"agent {name!r}: give it simulations or seconds, not both.")
        self.pattern, self.name = pattern, name

    def compile(self) -> None:
        self.pattern.prepare()

    def thinks(self, budget: Budget | None) -> str:
        mine = Budget(self.simulations, self.seconds) or budget or DEFAULT_BUDGET
        return f", {mine.simulations:,} simulations a move" if mine.simulations else f", {mine.seconds:g} seconds a move"

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        if game != self.pattern.game:
            raise UnseenError(f"{self.name} was made for {self.pattern.game.spec}, not for {game.spec}.")
        super().begin(game, seat, seed, budget)
        self.budget = Budget(self.simulations, self.seconds) or budget or DEFAULT_BUDGET
        self.searcher = self.pattern.fork(seed)
        self.searcher.prepare()

    def observe(self, percept: Percept) -> None:
        super().observe(percept)
        if percept.own and not self.keep:
            self.searcher.drop()

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        began = time.perf_counter()
        seconds = self.budget.seconds
        self.searcher.aim(self.seat, self.seen, began + AIMING * seconds if seconds else inf)
        self.search(began)
        found = self.searcher.behaviour(self.seat, self.seen, len(actions))
        if FINALS[self.final] == "max":
            found = (found == found.max()) / (found == found.max()).sum()
        return dict(zip(actions, found.tolist(), strict=True))

    def search(self, began: float) -> None:
        """Spend the budget of a move that `began` then."""
        if self.budget.simulations:
            self.searcher.run(self.budget.simulations)
        else:
            self.searcher.run_until(began + self.budget.seconds)

    def fork(self, seed: int) -> Agent:
        other = super().fork(seed)
        assert isinstance(other, SearchAgent)
        other.searcher = self.searcher.fork(seed)
        return other

    def gathered(self, tree: Treeplex) -> NDArray[np.float64]:
        return self.searcher.sums(tree.keys, tree.first, tree.sequences)

    def plan(self, trees: Sequence[Treeplex]) -> list[NDArray[np.float64]]:
        self.searcher.begin_at(at_start(self.game))
        self.search(time.perf_counter())
        return [self.gathered(tree) for tree in trees]

    @property
    def simulations_made(self) -> int:
        return self.searcher.made


class JointSearchAgent(SearchAgent):
    """Searches at each of its turns from where the game stands: a matrix of both players' choices at each node."""

    keep = False

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        began = time.perf_counter()
        position = Position(self.game, open_history(self.game, self.seat, self.seen))
        self.search_at(position.history, began)
        return dict(zip(actions, self.searcher.recommended(position, self.seat).tolist(), strict=True))

    def search_at(self, history: Sequence[int], began: float) -> None:
        """Spend the budget of a move that `began` then on a search after `history`."""
        self.searcher.begin_at(at_histories(self.game, [history]))
        self.search(began)

    def gathered(self, tree: Treeplex) -> NDArray[np.float64]:
        return Agent.gathered(self, tree)

    def plan(self, trees: Sequence[Treeplex]) -> list[NDArray[np.float64]]:
        self.search_at((), time.perf_counter())
        return self.searcher.recommendations(trees)


# Recipes ----------------------------------------------------------------------------------------------------------------------


def make_search(game: Game, name: str, rule: Rule, options: Mapping[str, Any], leaf: Leaf | None = None) -> Agent:
    return SearchAgent(Searcher(game, rule, leaf=leaf, **Searcher.pick(options)), name, **SearchAgent.pick(options))


def make_oos(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
    rule = OnlineOutcomeSampling.made_from(options)
    return make_search(game, name, rule, options, make_leaf(game, name, rule, options))


def make_leaf(game: Game, name: str, rule: Rule, options: Mapping[str, Any]) -> Leaf | None:
    """Playouts by a network, if one is named."""
    if not options["playout"]:
        if options["prior"]:
            raise UnseenError(f"agent {name!r}: prior is {options['prior']:g}, but without a playout network there is none.")
        return None
    network = Network.load(options["playout"], game)
    return leaf_of(network, options["prior"], rule)


def make_ismcts(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
    kind = BANDITS[options["selection"]]
    scale = {"scale": largest_payoff(game)} if kind is Exp3 else {}
    return make_search(game, name, kind.made_from({**options, **scale}), options)


def make_joint(kind: type[JointRule]) -> Callable[[Game, str, Mapping[str, Any]], Agent]:
    """The recipe of an agent whose joint nodes go by a rule of this kind."""

    def make(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
        by_game = "wins" if is_won_or_lost(game) else "payoffs"
        transform = by_game if options["transform"] == BY_GAME else options["transform"]
        rule = kind.made_from({**options, "transform": transform, "scale": options["scale"] or largest_payoff(game)})
        searcher = Searcher(game, rule, targeting="none", **_pick(options, "memory"))
        return JointSearchAgent(searcher, name, **_pick(options, "simulations", "seconds", "keep"))

    return make


def _pick(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names}


def joint_options(kind: type[JointRule]) -> dict[str, Parameter]:
    """The options of an agent whose joint nodes go by a rule of this kind."""
    own = dict(kind.parameters)
    own["transform"] = Parameter(
        BY_GAME, choices=(BY_GAME, *TRANSFORMS),
        help="what is learnt from: payoffs over scale; these as 0, 1/2 and 1 (lost, drawn, won); or the latter in games that are "
        "won or lost, as in the paper",
    )  # fmt: skip
    own["scale"] = Parameter(0.0, 0.0, help="the payoff that counts as 1; 0: the largest in a thousand random games")
    shared = {**Searcher.parameters, **JointSearchAgent.parameters}
    return own | {name: shared[name] for name in ("memory", "simulations", "seconds", "keep")}


def _without(parameters: Mapping[str, Parameter], *names: str) -> dict[str, Parameter]:
    return {name: p for name, p in parameters.items() if name not in names}


LANCTOT = (
    "M. Lanctot, V. Lisý and M. Bowling, Search in imperfect information games using online Monte Carlo counterfactual regret "
    "minimization, 2014"
)
PLAYOUT = Parameter("", help="the file of a network that plays simulations to their end where the tree does; otherwise evenly")
PRIOR = Parameter(0.0, 0.0, help="what the network's probabilities count as regrets where the tree has no information yet")
OOS = {
    **OnlineOutcomeSampling.parameters, **Searcher.parameters, **_without(SearchAgent.parameters, "keep", "final"),
    "playout": PLAYOUT, "prior": PRIOR,
}  # fmt: skip
ISMCTS = {
    "selection": Parameter("ucb", choices=tuple(BANDITS), help="the bandit at each information set"),
    **UpperConfidence.parameters, **RegretMatching.parameters, **_without(Searcher.parameters, "targeting"),
    **SearchAgent.parameters,
}  # fmt: skip
OPEN_GAMES = ('"pd_goofspiel(cards=7)"', "oshi_zumo")
WINANDS = (
    "M. Lanctot, V. Lisý and M. Winands, Monte Carlo tree search in simultaneous move games with applications to Goofspiel, 2013"
)
JOINT: dict[str, tuple[type[JointRule], str]] = {
    "duct": (DecoupledUCT, "Decoupled UCT for simultaneous moves: each player has its own upper confidence bounds."),
    "exp3": (JointExp3, "Exp3 for simultaneous moves, with the exploration taken out of the final mix."),
    "rm": (JointRegretMatching, "Regret matching for simultaneous moves, on the matrix of mean rewards."),
    "sm_oos": (JointOutcomeSampling, "Outcome sampling for simultaneous moves, from where the game stands: unbiased."),
    "oos_plus": (OutcomeSamplingPlus, "The same with estimated values for what was not sampled: less noise, and a bias."),
}
AGENTS: dict[str, Kind] = {
    "oos": Kind(
        "Online Outcome Sampling: simulations always begin at the start of the game and are led to where the play is; the average "
        "strategy converges to an equilibrium.", LANCTOT, make_oos, OOS,
    ),
    "vr_oos": Kind(
        "The same search with its variance reduced: baselines for each history and exact averages; regrets below zero are "
        "forgotten, slowly, and later simulations count more.",
        f"{LANCTOT}; M. Schmid et al., Variance reduction in Monte Carlo counterfactual regret minimization, 2019; T. Davis, "
        "M. Schmid and M. Bowling, Low-variance and zero-variance baselines for extensive-form games, 2020; N. Brown and "
        "T. Sandholm, Solving imperfect-information games via discounted regret minimization, 2019", make_oos,
        with_defaults(OOS, {
            "targeting": "public", "gamma": 0.0, "baseline": "history", "averaging": "lazy", "negative": 0.98, "power": 1.0,
        }),
    ),
    "ismcts": Kind(
        "Information set Monte Carlo tree search with several observers: simulations begin at histories consistent with what was "
        "observed, as likely as chance makes them. Strong in many games, but it does not converge to an equilibrium.",
        "P. Cowling, E. Powley and D. Whitehouse, Information set Monte Carlo tree search, 2012", make_ismcts, ISMCTS,
    ),
    **{name: Kind(text, WINANDS, make_joint(kind), joint_options(kind), OPEN_GAMES) for name, (kind, text) in JOINT.items()},
}  # fmt: skip

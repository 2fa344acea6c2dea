"""One string names an agent anywhere: `random`, `oos(targeting=public, seconds=1)`, `ismcts(simulations=100000)`, a file's path."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from unseen.agents import Agent, Budget, RandomAgent, StrategyAgent
from unseen.belief.belief import DEFAULT_CAP
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import nearest, parse
from unseen.options import Parameter
from unseen.random_play import largest_payoff
from unseen.search.agents import SearchAgent
from unseen.search.rules import Bandit, Exp3, Outcome, RegretMatching, UpperConfidence
from unseen.search.searcher import DEFAULT_MEMORY, TARGETINGS, Searcher
from unseen.solving.job import solve
from unseen.solving.minimisers import MINIMISERS
from unseen.tabular.strategy import Strategy

BASELINES = ("none", "infoset", "history")
Options = dict[str, Any]

SEARCH = {
    "simulations": Parameter(0, 0, help="simulations for each move; 0: what the match gives, otherwise 100,000"),
    "seconds": Parameter(0.0, 0.0, help="seconds for each move, instead of simulations"),
    "memory": Parameter(DEFAULT_MEMORY, 1.0, help="megabytes for the tree; when they are used up it stops growing"),
    "cap": Parameter(DEFAULT_CAP, 1, help="states in a layer of the belief, beyond which percepts are only compared as they come"),
}  # fmt: skip
OOS = {
    "targeting": Parameter("infoset", choices=TARGETINGS, help="where simulations are led: nowhere, to the player's information "
                           "set (IST), or to the public subgame (PST)"),
    "delta": Parameter(0.9, 0.0, 1.0, help="the probability that a simulation is led there"),
    "epsilon": Parameter(0.4, 0.001, 1.0, help="the probability of an even choice, for the player that is updated"),
    "gamma": Parameter(0.01, 0.0, 1.0, help="the even part of every behaviour"),
    "weighting": Parameter("exact", choices=("exact", "running"), help="importance weights: those of each simulation, which is "
                           "unbiased; or over a running mean of s1 / s2, as in ExIt-OOS"),
    "baseline": Parameter("none", choices=BASELINES, help="expected values that are subtracted before sampling noise is scaled "
                          "up: none, for each action of an information set, or of a history"),
    "step": Parameter(0.1, 0.0001, 1.0, help="how fast baselines follow what is found"),
    "averaging": Parameter("stochastic", choices=("stochastic", "lazy"), help="how averages are added up: by sampled "
                           "probabilities, or exactly, when a simulation comes by"),
    "floor": Parameter(False, help="whether regrets below zero become zero (regret matching+)"),
    "power": Parameter(0.0, 0.0, 10.0, help="simulation t counts t to this power in the average"),
}  # fmt: skip
ISMCTS = {
    "selection": Parameter("ucb", choices=("ucb", "regret_matching", "exp3"), help="the bandit at each information set"),
    "exploration": Parameter(2.0, 0.0, help="the constant C of ucb"),
    "gamma": Parameter(0.1, 0.0001, 1.0, help="the even part of the choices of regret_matching and exp3"),
    "final": Parameter("visits", choices=("visits", "max"), help="the move: drawn by visit counts, or the one with most visits"),
    "keep": Parameter(True, help="whether the tree is kept from one move to the next"),
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of agent: what it is, where it comes from, its options and how to make one."""

    text: str
    source: str
    make: Callable[[Game, str, Options], Agent]
    options: dict[str, Parameter] = field(default_factory=dict)


def make_oos(game: Game, name: str, o: Options) -> Agent:
    rule = Outcome(
        o["epsilon"], o["gamma"], o["delta"], o["averaging"] == "lazy", BASELINES.index(o["baseline"]), o["step"], o["floor"],
        o["power"], o["weighting"] == "running",
    )  # fmt: skip
    searcher = Searcher(game, rule, o["targeting"], memory=o["memory"], cap=o["cap"])
    return SearchAgent(searcher, Budget(o["simulations"], o["seconds"]), name)


def make_ismcts(game: Game, name: str, o: Options) -> Agent:
    rule: Bandit
    if o["selection"] == "ucb":
        rule = UpperConfidence(o["exploration"])
    elif o["selection"] == "regret_matching":
        rule = RegretMatching(o["gamma"])
    else:
        rule = Exp3(o["gamma"], largest_payoff(game))
    searcher = Searcher(game, rule, "infoset", memory=o["memory"], cap=o["cap"])
    return SearchAgent(searcher, Budget(o["simulations"], o["seconds"]), name, o["keep"], o["final"] == "max")


def make_solved(game: Game, name: str, o: Options) -> Agent:
    return StrategyAgent(_solution(game, o["algorithm"], o["until"]), name)


@lru_cache(maxsize=4)
def _solution(game: Game, algorithm: str, until: float) -> Strategy:
    found = solve(game, algorithm, until=until)
    if found.stopped:
        raise KeyboardInterrupt
    return found.strategy


LANCTOT = (
    "M. Lanctot, V. Lisý and M. Bowling, Search in imperfect information games using online Monte Carlo counterfactual regret "
    "minimization, 2014"
)
AGENTS: dict[str, Kind] = {
    "random": Kind("Chooses evenly.", "", lambda game, name, o: RandomAgent()),
    "oos": Kind(
        "Online Outcome Sampling: simulations always begin at the start of the game and are led to where the match is; the average "
        "strategy converges to an equilibrium.", LANCTOT, make_oos, OOS | SEARCH,
    ),
    "vr_oos": Kind(
        "The same search with its variance reduced: baselines for each history, exact averages, regret matching+ and later "
        "simulations counting more. Several times less exploitable after the same simulations.",
        f"{LANCTOT}; M. Schmid et al., Variance reduction in Monte Carlo counterfactual regret minimization, 2019; T. Davis, "
        "M. Schmid and M. Bowling, Low-variance and zero-variance baselines for extensive-form games, 2020", make_oos,
        OOS | SEARCH | {name: OOS[name].with_default(value) for name, value in (
            ("targeting", "public"), ("gamma", 0.0), ("baseline", "history"), ("averaging", "lazy"), ("floor", True),
            ("power", 1.0),
        )},
    ),
    "ismcts": Kind(
        "Information set Monte Carlo tree search with several observers: simulations begin at histories that fit what was seen, "
        "all equally likely. Strong in many games, but it does not converge to an equilibrium.",
        "P. Cowling, E. Powley and D. Whitehouse, Information set Monte Carlo tree search, 2012", make_ismcts, ISMCTS | SEARCH,
    ),
    "solved": Kind(
        "Solves the game first, and plays that strategy.", "", make_solved,
        {
            "algorithm": Parameter("dcfr", choices=tuple(MINIMISERS), help="which solver"),
            "until": Parameter(0.001, 1e-9, help="the exploitability (sum) at which it stops"),
        },
    ),
}  # fmt: skip


def make_agent(spec: str, game: Game) -> Agent:
    """The agent that a string names, for a game. A string that is a file's path is a strategy."""
    if os.path.isfile(spec):
        return StrategyAgent(Strategy.load(spec, game), spec)
    if spec.endswith(".strategy"):
        raise UnseenError(f"agent {spec!r}: there is no such strategy file.")
    name, given = parse(spec, "agent")
    if name not in AGENTS:
        near = nearest(name, AGENTS)
        hint = f"; did you mean {near!r}?" if near else "."
        raise UnseenError(f"agent {name!r} is unknown{hint} The agents are: {', '.join(AGENTS)}, or the path of a strategy file.")
    kind = AGENTS[name]
    for key in given:
        if key not in kind.options:
            raise UnseenError(f"agent {name}: there is no option {key!r}; the options are: {', '.join(kind.options) or 'none'}.")
    options = {
        key: option.shown(option.read(f"agent {name}", key, given.get(key, option.default))) for key, option in kind.options.items()
    }
    if options.get("simulations") and options.get("seconds"):
        raise UnseenError(f"agent {spec!r}: give it simulations or seconds, not both.")
    return kind.make(game, spec, options)

"""One string names an agent anywhere: `random`, `oos(targeting=public, seconds=1)`, `ismcts(simulations=100000)`, a file's path."""

from __future__ import annotations

import os

from unseen.agents import Agent, Kind, RandomAgent, StrategyAgent
from unseen.arena.asking import Asked, made
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import class_in_file, load, nearest, parse
from unseen.networks import agents as networks
from unseen.options import read_all
from unseen.perfect import agents as averaging
from unseen.search import agents as searching
from unseen.solving import agents as solving
from unseen.tabular.strategy import Strategy

AGENTS: dict[str, Kind] = {
    "random": Kind("Chooses evenly.", "", lambda game, name, options: RandomAgent(), {}),
    **searching.AGENTS,
    **networks.AGENTS,
    **averaging.AGENTS,
    **solving.AGENTS,
}


def check_agent(spec: str, game: Game) -> None:
    """Raise if a string does not name an agent for a game, without making one that may take long."""
    name, given = parse(spec, "agent") if not os.path.isfile(spec) else (spec, {})
    if name in AGENTS and name not in networks.AGENTS and not given.get("playout"):
        read_all(f"agent {name}", AGENTS[name].options, given, "option")
    else:
        make_agent(spec, game)


def make_agent(spec: str, game: Game | str) -> Agent:
    """The agent for `game` that `spec` names.

    That is a name with options, such as `"oos(simulations=1000)"`; the path of a strategy file; or `"path/to/file.py:ClassName"`,
    a subclass of `Agent`.
    """
    game = load(game)
    if os.path.isfile(spec):
        return StrategyAgent(Strategy.load(spec, game), spec)
    if spec.endswith(".strategy"):
        raise UnseenError(f"agent {spec!r}: there is no such strategy file.")
    name, given = parse(spec, "agent")
    if ".py:" in name or name.endswith(".py"):
        return _own_agent(spec, name, given)
    if name not in AGENTS:
        near = nearest(name, AGENTS)
        hint = f"; did you mean {near!r}?" if near else "."
        raise UnseenError(f"agent {name!r} is unknown{hint} The agents are: {', '.join(AGENTS)}, or the path of a strategy file.")
    return AGENTS[name].make(game, spec, read_all(f"agent {name}", AGENTS[name].options, given, "option"))


def asked(agent: str | Agent, game: Game) -> Asked:
    """An agent, made if it is named, as commands ask it."""
    return Asked(make_agent(agent, game), agent) if isinstance(agent, str) else Asked(agent)


def prepared(spec: str | Agent, game: Game) -> str | Agent:
    """An agent that workers are to have: one that solves the game is made here, once, and sent to them; others they make."""
    is_named = isinstance(spec, str) and not os.path.isfile(spec)
    return make_agent(spec, game) if is_named and parse(spec, "agent")[0] == "solved" else spec  # type: ignore[arg-type]


def _own_agent(spec: str, name: str, given: dict[str, object]) -> Agent:
    """An agent of a user's own."""
    cls = class_in_file(name, Agent, "agent")
    agent = made(spec, cls, given)
    if "name" not in vars(agent) and cls.name == Agent.name:
        agent.name = spec
    return agent

"""Unseen: games of imperfect information, written as plain Python classes and run at native speed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unseen.compiling import kernel, piece
from unseen.errors import BeliefTooLarge, GameFault, RuleError, StrategyFileError, UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.loading import game_names, load
from unseen.options import parameter
from unseen.position import Percept, Position, fingerprint
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.agents import Agent, Budget, Choice
    from unseen.arena.matches import Match, match, replay
    from unseen.arena.measures import Measured, measure
    from unseen.arena.names import make_agent
    from unseen.belief.belief import Belief
    from unseen.enumeration.walker import Enumeration
    from unseen.enumeration.whole import enumerate_game
    from unseen.exact.equilibrium import Equilibrium, solve_exactly
    from unseen.exact.sequence_form import Exploitability, SequenceForm
    from unseen.random_play import Playouts, playouts
    from unseen.solving.job import Solved, solve
    from unseen.solving.online import OnlineLearner
    from unseen.tabular.strategy import Strategy

# Names whose modules are imported when first used, so that `import unseen` stays quick.
_LATER = {
    "Agent": "agents",
    "Budget": "agents",
    "Choice": "agents",
    "Match": "arena.matches",
    "Measured": "arena.measures",
    "Belief": "belief.belief",
    "Enumeration": "enumeration.walker",
    "Equilibrium": "exact.equilibrium",
    "Exploitability": "exact.sequence_form",
    "OnlineLearner": "solving.online",
    "Playouts": "random_play",
    "SequenceForm": "exact.sequence_form",
    "Solved": "solving.job",
    "Strategy": "tabular.strategy",
    "enumerate_game": "enumeration.whole",
    "make_agent": "arena.names",
    "match": "arena.matches",
    "measure": "arena.measures",
    "playouts": "random_play",
    "replay": "arena.matches",
    "solve": "solving.job",
    "solve_exactly": "exact.equilibrium",
}

__all__ = [
    "CHANCE", "PUBLIC", "TERMINAL", "Agent", "Belief", "BeliefTooLarge", "Budget", "Choice", "Enumeration", "Equilibrium",
    "Exploitability", "Game", "GameFault", "Match", "Measured", "OnlineLearner", "Percept", "Playouts", "Position", "RuleError",
    "SequenceForm", "Solved", "Strategy", "StrategyFileError", "UnseenError", "__version__", "enumerate_game", "fingerprint", "game_names",
    "kernel", "load", "make_agent", "match", "measure", "parameter", "piece", "playouts", "replay", "solve",
    "solve_exactly",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("unseen.testing")
    if name in _LATER:
        return getattr(importlib.import_module(f"unseen.{_LATER[name]}"), name)
    raise AttributeError(f"module 'unseen' has no attribute {name!r}")

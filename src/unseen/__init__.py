"""Unseen: games of imperfect information, written as plain Python classes and run at native speed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unseen.compiling import kernel, piece
from unseen.errors import BeliefTooLarge, GameFault, RuleError, StrategyFileError, UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game, parameter
from unseen.loading import load, names
from unseen.position import Percept, Position, fingerprint
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.arena.agents import Agent, Budget, Choice
    from unseen.arena.matches import Match, match, replay
    from unseen.arena.measures import Measured, measure
    from unseen.arena.names import make_agent
    from unseen.belief import Belief
    from unseen.engine import Playouts, playouts
    from unseen.enumeration import Enumeration, enumerate_game
    from unseen.exact.equilibrium import Equilibrium, solve_exactly
    from unseen.exact.sequence_form import Exploitability, SequenceForm
    from unseen.solving.job import Solved, solve
    from unseen.solving.online import OnlineLearner
    from unseen.strategy import Strategy

# Names whose modules are imported when first used, so that `import unseen` stays quick.
_LATER = {
    "Agent": "arena.agents",
    "Budget": "arena.agents",
    "Choice": "arena.agents",
    "Match": "arena.matches",
    "Measured": "arena.measures",
    "Belief": "belief",
    "Enumeration": "enumeration",
    "Equilibrium": "exact.equilibrium",
    "Exploitability": "exact.sequence_form",
    "OnlineLearner": "solving.online",
    "Playouts": "engine",
    "SequenceForm": "exact.sequence_form",
    "Solved": "solving.job",
    "Strategy": "strategy",
    "enumerate_game": "enumeration",
    "make_agent": "arena.names",
    "match": "arena.matches",
    "measure": "arena.measures",
    "playouts": "engine",
    "replay": "arena.matches",
    "solve": "solving.job",
    "solve_exactly": "exact.equilibrium",
}

__all__ = [
    "CHANCE", "PUBLIC", "TERMINAL", "Agent", "Belief", "BeliefTooLarge", "Budget", "Choice", "Enumeration", "Equilibrium",
    "Exploitability", "Game", "GameFault", "Match", "Measured", "OnlineLearner", "Percept", "Playouts", "Position", "RuleError",
    "SequenceForm", "Solved", "Strategy", "StrategyFileError", "UnseenError", "__version__", "enumerate_game", "fingerprint",
    "kernel", "load", "make_agent", "match", "measure", "names", "parameter", "piece", "playouts", "replay", "solve",
    "solve_exactly",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("unseen.testing")
    if name in _LATER:
        return getattr(importlib.import_module(f"unseen.{_LATER[name]}"), name)
    raise AttributeError(f"module 'unseen' has no attribute {name!r}")

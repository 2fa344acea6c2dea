"""Unseen: games of imperfect information, written as plain Python classes and run at native speed."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from unseen.arguments import checked
from unseen.compiling import kernel, piece
from unseen.errors import AgentFault, BeliefTooLarge, GameFault, RuleError, StrategyFileError, UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.loading import game_names, load
from unseen.options import parameter
from unseen.position import Percept, Position, fingerprint
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen import testing
    from unseen.agents import Agent, Budget, Choice
    from unseen.arena.comparison import Comparison, compare
    from unseen.arena.extraction import Extraction, extract
    from unseen.arena.losses import Losses, expected_loss
    from unseen.arena.matches import Match, match, replay
    from unseen.arena.measured import measure
    from unseen.arena.measures import Measured
    from unseen.arena.names import make_agent
    from unseen.arena.plans import Convergence, DepthLimited, convergence, depth_limited
    from unseen.arena.tournament import Tournament, tournament
    from unseen.belief.belief import Belief
    from unseen.belief.worlds import Worlds
    from unseen.enumeration.walker import Enumeration
    from unseen.enumeration.whole import enumerate_game
    from unseen.exact.equilibrium import Equilibrium, solve_exactly
    from unseen.exact.info import Info, info
    from unseen.exact.sequence_form import Evaluation, SequenceForm
    from unseen.exact.size import Size, estimate_size
    from unseen.exact.ways import best_response, exploitability
    from unseen.learning.job import Learned, learn
    from unseen.networks.encoding import Encoding
    from unseen.networks.network import Network
    from unseen.networks.whole import network_strategy
    from unseen.random_play import Playouts, playouts
    from unseen.run.cluster import Cluster
    from unseen.search import rules
    from unseen.search.searcher import Searcher
    from unseen.solving.job import Solved, solve
    from unseen.solving.online import OnlineLearner
    from unseen.stacked.values import Values, backward_induction
    from unseen.tabular.strategy import Strategy

# Names whose modules are imported when first used, so that `import unseen` stays quick.
_LATER = {
    "Agent": "agents",
    "Belief": "belief.belief",
    "Budget": "agents",
    "Choice": "agents",
    "Cluster": "run.cluster",
    "Comparison": "arena.comparison",
    "Convergence": "arena.plans",
    "DepthLimited": "arena.plans",
    "Encoding": "networks.encoding",
    "Enumeration": "enumeration.walker",
    "Equilibrium": "exact.equilibrium",
    "Evaluation": "exact.sequence_form",
    "Extraction": "arena.extraction",
    "Info": "exact.info",
    "Learned": "learning.job",
    "Losses": "arena.losses",
    "Match": "arena.matches",
    "Measured": "arena.measures",
    "Network": "networks.network",
    "OnlineLearner": "solving.online",
    "Playouts": "random_play",
    "Searcher": "search.searcher",
    "SequenceForm": "exact.sequence_form",
    "Size": "exact.size",
    "Solved": "solving.job",
    "Strategy": "tabular.strategy",
    "Tournament": "arena.tournament",
    "Values": "stacked.values",
    "Worlds": "belief.worlds",
    "backward_induction": "stacked.values",
    "best_response": "exact.ways",
    "compare": "arena.comparison",
    "convergence": "arena.plans",
    "depth_limited": "arena.plans",
    "enumerate_game": "enumeration.whole",
    "estimate_size": "exact.size",
    "expected_loss": "arena.losses",
    "exploitability": "exact.ways",
    "extract": "arena.extraction",
    "info": "exact.info",
    "learn": "learning.job",
    "make_agent": "arena.names",
    "match": "arena.matches",
    "measure": "arena.measured",
    "network_strategy": "networks.whole",
    "playouts": "random_play",
    "replay": "arena.matches",
    "solve": "solving.job",
    "solve_exactly": "exact.equilibrium",
    "tournament": "arena.tournament",
}
_MODULES = {"rules": "search.rules", "testing": "testing"}

__all__ = [
    "CHANCE", "PUBLIC", "TERMINAL", "Agent", "AgentFault", "Belief", "BeliefTooLarge", "Budget", "Choice", "Cluster", "Comparison",
    "Convergence", "DepthLimited", "Encoding", "Enumeration", "Equilibrium", "Evaluation", "Extraction", "Game", "GameFault",
    "Info", "Learned", "Losses", "Match", "Measured", "Network", "OnlineLearner", "Percept", "Playouts", "Position", "RuleError",
    "Searcher", "SequenceForm", "Size", "Solved", "Strategy", "StrategyFileError", "Tournament", "UnseenError", "Values",
    "Worlds", "__version__", "backward_induction", "best_response", "compare", "convergence", "depth_limited", "enumerate_game",
    "estimate_size", "expected_loss", "exploitability", "extract", "fingerprint", "game_names", "info", "kernel", "learn",
    "load", "make_agent", "match", "measure", "network_strategy", "parameter", "piece", "playouts", "replay", "rules", "solve",
    "solve_exactly", "testing", "tournament",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"unseen.{_MODULES[name]}")
    if name in _LATER:
        found = getattr(importlib.import_module(f"unseen.{_LATER[name]}"), name)
        if inspect.isfunction(found):
            found = checked(found)
            found.__module__ = __name__  # where pickle will look for it
        return globals().setdefault(name, found)
    raise AttributeError(f"module 'unseen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

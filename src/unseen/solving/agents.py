"""Agents that have solved the game."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from unseen.agents import Agent, Kind, StrategyAgent
from unseen.game import Game
from unseen.options import Parameter
from unseen.solving.minimisers import MINIMISERS
from unseen.tabular.strategy import Strategy


def make_solved(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
    return StrategyAgent(_solution(game, options["algorithm"], options["until"]), name)


@lru_cache(maxsize=4)
def _solution(game: Game, algorithm: str, until: float) -> Strategy:
    from unseen.solving.job import solve  # which imports much that other agents do not need

    found = solve(game, algorithm, until=until)
    if found.stopped:
        raise KeyboardInterrupt
    return found.strategy


AGENTS: dict[str, Kind] = {
    "solved": Kind(
        "Solves the game first, and plays that strategy.", "", make_solved,
        {
            "algorithm": Parameter("dcfr", choices=tuple(MINIMISERS), help="which solver"),
            "until": Parameter(0.001, 1e-9, help="the exploitability (sum) at which it stops"),
        },
    ),
}  # fmt: skip

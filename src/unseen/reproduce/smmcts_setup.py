"""The paper on simultaneous-move MCTS as an experiment: its algorithms and constants, what it printed, and how much we do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NAMES = ("DUCT(max)", "DUCT(mix)", "Exp3", "OOS", "OOS+", "RM")
HALVES = ("WL", "PD")
RATES = {"DUCT(max)": 124_127, "DUCT(mix)": 124_227, "Exp3": 125_165, "OOS": 186_962, "OOS+": 85_940, "RM": 138_284}
"""Simulations in a second, the paper's Table 2."""
TABLE_1 = {
    "WL": ((76.0,), (78.3, 57.5), (80.0, 55.8, 48.4), (73.1, 55.3, 43.8, 47.0), (77.7, 67.0, 53.3, 60.0, 57.1),
           (80.9, 63.3, 53.2, 57.2, 58.3, 50.4)),
    "PD": ((12.92,), (11.88, 0.91), (13.18, 4.15, 3.17), (10.69, 3.33, 0.82, -1.71), (10.83, 8.08, 3.23, 1.03, 1.03),
           (12.94, 6.60, 3.41, 1.12, 1.05, 0.17)),
}  # fmt: skip
"""The paper's: rows as in NAMES; columns RND, then as in NAMES. Win percentages, and points a game."""
TABLE_2 = {
    "DUCT(max)": (7.43, 12.87), "DUCT(mix)": (5.10, 7.96), "Exp3": (5.77, 10.12), "OOS": (4.02, 7.92), "OOS+": (5.59, 9.30),
    "RM": (5.56, 9.36),
}  # fmt: skip
DEPTHS = (2, 4)
THRESHOLDS = {"WL": (0.05, 0.1, 0.15, 0.2, 0.3), "PD": (0.3, 0.5, 1.0, 1.5, 2.0)}
SHOWN = ("DUCT(max)", "Exp3", "OOS+", "RM")
"""The algorithms of Figure 4's threshold plots."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{name}, a node for each state": (name, {"share": "true"}) for name in NAMES},
    "DUCT(mix), ties within 0.01": ("DUCT(mix)", {"tie": 0.01}),
    "DUCT(mix), ties, C a half": ("DUCT(mix)", {"tie": 0.01, "halved": True}),
    "DUCT(mix), ties, C a half, states": ("DUCT(mix)", {"tie": 0.01, "halved": True, "share": "true"}),
    "RM, gamma = 0.1": ("RM", {"gamma": 0.1}),
    "RM, gamma = 0.1, states": ("RM", {"gamma": 0.1, "share": "true"}),
    "RM, gamma = 0.4 t^-0.25": ("RM", {"gamma": 0.4, "fading": 0.25}),
    "RM, gamma = 0.4 t^-0.25, states": ("RM", {"gamma": 0.4, "fading": 0.25, "share": "true"}),
}
"""Other ways, in Figure 4's experiment."""


def pairs() -> list[tuple[str, str]]:
    """The cells of Table 1: each against random play and against those before it."""
    return [(name, other) for i, name in enumerate(NAMES) for other in ("RND", *NAMES[:i])]


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    table_1: dict[str, str]
    """The games of both halves."""
    simulations: float
    """A search has so many times what the paper's second allowed."""
    games: int
    """In a batch of a pair of Table 1, or against `optimal`."""
    table_2: str
    cards_2: int
    searches: int
    """In a batch, at each start."""
    batches: int
    batches_2: int
    figure_4: dict[str, str]
    runs: int
    iterations: int
    every: int


FULL = Scale(
    table_1={"WL": "wl_goofspiel(cards=13)", "PD": "pd_goofspiel(cards=13)"}, simulations=1.0, games=20,
    table_2="pd_goofspiel(cards=11)", cards_2=11, searches=40, batches=10, batches_2=20,
    figure_4={"WL": "wl_goofspiel(cards=4)", "PD": "pd_goofspiel(cards=4)"}, runs=100, iterations=100_000, every=1000,
)  # fmt: skip
QUICK = Scale(
    table_1={"WL": "goofspiel(cards=5)", "PD": "goofspiel(cards=5, payoff=point_difference)"},
    simulations=0.002, games=6,
    table_2="goofspiel(cards=4, payoff=point_difference)", cards_2=4, searches=3, batches=1, batches_2=1,
    figure_4={"WL": "goofspiel(cards=4)", "PD": "goofspiel(cards=4, payoff=point_difference)"},
    runs=5, iterations=3000, every=1000,
)  # fmt: skip


def agent(name: str, half: str, simulations: int = 0, **more: Any) -> str:
    """The string of an agent with the paper's constants for win-loss or for points."""
    is_halved, is_wl = more.pop("halved", False), half == "WL"
    if name.startswith("DUCT"):
        c = 1.5 if is_wl else 150
        options = {"final": name[5:8], "exploration": c / 2 if is_halved else c}
    else:
        gammas = {"Exp3": 0.2 if is_wl else 0.01, "OOS": 0.5, "OOS+": 0.55 if is_wl else 0.4, "RM": 0.025}
        options = {"gamma": gammas[name]}
    options |= {"transform": "wins" if is_wl else "payoffs", "scale": 1}
    options |= more | ({"simulations": simulations} if simulations else {})
    kind = {"DUCT(max)": "duct", "DUCT(mix)": "duct", "Exp3": "exp3", "OOS": "sm_oos", "OOS+": "oos_plus", "RM": "rm"}[name]
    return f"{kind}({', '.join(f'{key}={value}' for key, value in options.items())})"


def simulations(name: str, scale: Scale) -> int:
    """What a search of an algorithm has."""
    return max(20, int(scale.simulations * RATES[name]))


def player(name: str, half: str, scale: Scale) -> str:
    """A player of Table 1."""
    return "random" if name == "RND" else agent(name, half, simulations(name, scale))

"""What the games of a tournament say: a cross table by seat, ratings, likelihoods of superiority, and an equilibrium among agents.

Ratings are by wins where all games that were not drawn paid the same, and by payoffs where some paid more than others: there an
agent can win more games and lose by it. The equilibrium is Nash averaging: a game in which each of two players names an agent, and
these play. What an agent gets on average against the equilibrium of that game does not change when a weak agent is added ten times
over, and a cycle of agents that beat each other shows as a mix of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.arena.intervals import for_json, payoff_margin, payoff_scale, signed
from unseen.arena.nash import nash_average
from unseen.arena.ratings import PAYOFFS, WINS, Ratings, rate, rate_payoffs
from unseen.show.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """What an agent that moved first made of its games against another; `mean` with the half width of its 95% interval."""

    games: int
    mean: float
    half: float
    win: float
    draw: float
    loss: float

    @property
    def text(self) -> str:
        return signed(self.mean, self.half, 3)


@dataclass(frozen=True)
class Standings:
    """`g` games between `n` agents: who moved first and second, what it paid to the first, which games have the same chance."""

    title: str
    names: list[str]
    first: Ints  # (g,) places in names
    second: Ints  # (g,)
    payoff: Floats  # (g,)
    group: Ints  # (g,)
    seconds: Floats  # (g, 2) how long the first and the second thought
    moves: Ints  # (g, 2)
    simulations: Ints  # (g, 2)
    anchor: tuple[str, float] | None = None
    exploitability: dict[str, float] | None = None
    """The exact exploitability (sum) of the agents of which it is known."""
    forfeits: Ints | None = None  # (n,)
    """The games that each agent has lost by a fault; None where that is not known."""

    @cached_property
    def ratings(self) -> Ratings | None:
        """None as long as there is no game."""
        if not len(self.payoff):
            return None
        by = rate_payoffs if self.has_stakes else rate
        return by(self.names, self.first, self.second, self.payoff, groups=self.group, anchor=self.anchor)

    @cached_property
    def mean(self) -> Floats:
        """What each agent has got a game, on average, (n,)."""
        games = np.maximum(self._by_agent(np.ones((len(self.payoff), 2))), 1.0)
        return self._by_agent(np.stack([self.payoff, -self.payoff], axis=1)) / games

    @cached_property
    def wins(self) -> Floats:
        """The share of games that each agent has won, a draw counting half, (n,)."""
        games = np.maximum(self._by_agent(np.ones((len(self.payoff), 2))), 1.0)
        return 0.5 + 0.5 * self._by_agent(np.sign(np.stack([self.payoff, -self.payoff], axis=1))) / games

    @cached_property
    def thought(self) -> tuple[Floats, Floats]:
        """Seconds and simulations that each agent has spent on a move, on average, (n,) each."""
        moves = np.maximum(self._by_agent(self.moves), 1)
        return self._by_agent(self.seconds) / moves, self._by_agent(self.simulations) / moves

    def _by_agent(self, numbers: NDArray[Any]) -> Floats:
        """Numbers of both seats in each game, (g, 2), added up for each agent, (n,)."""
        n = len(self.names)
        both = np.bincount(self.first, numbers[:, 0], n) + np.bincount(self.second, numbers[:, 1], n)
        return both.astype(np.float64)

    @cached_property
    def scale(self) -> float:
        """The size of payoffs."""
        return payoff_scale(self.payoff) if len(self.payoff) else 1.0

    def cell(self, i: int, j: int) -> Cell | None:
        """The games in which agent `i` moved first against `j`; None if there are none."""
        payoffs = self.payoff[(self.first == i) & (self.second == j)]
        if not len(payoffs):
            return None
        win, draw, loss = (float(np.mean(np.sign(payoffs) == sign)) for sign in (1, 0, -1))
        return Cell(len(payoffs), float(payoffs.mean()), payoff_margin(payoffs, self.scale), win, draw, loss)

    @cached_property
    def payoffs(self) -> Floats:
        """What the agent of a row gets from that of a column, both seats counting the same, (n, n); 0 where nothing is known."""
        n, found = len(self.names), np.zeros((len(self.names), len(self.names)))
        for i in range(n):
            for j in range(i):
                seats = [cell.mean * sign for cell, sign in ((self.cell(i, j), 1), (self.cell(j, i), -1)) if cell]
                found[i, j] = sum(seats) / len(seats) if seats else 0.0
        return found - found.T

    @cached_property
    def nash(self) -> tuple[Floats, Floats]:
        """The mix of agents in an equilibrium of the game in which they are named, and what each gets against it, (n,) each."""
        mix = nash_average(self.payoffs)
        return mix, self.payoffs @ mix

    @property
    def has_stakes(self) -> bool:
        """Whether some games paid more than others: then a rating by wins would mislead."""
        sizes = np.abs(self.payoff[self.payoff != 0.0])
        return len(sizes) > 0 and float(np.ptp(sizes)) > 1e-9 * float(sizes.max())

    @property
    def rated_by(self) -> str:
        return PAYOFFS if self.has_stakes else WINS

    @property
    def order(self) -> list[int]:
        """The agents, the strongest first."""
        ratings = self.ratings
        return np.argsort(-ratings.rating, kind="stable").tolist() if ratings else list(range(len(self.names)))

    def as_dict(self) -> dict[str, Any]:
        ratings, (seconds, simulations), (mix, against) = self.ratings, self.thought, self.nash
        cells = [(a, b, cell) for i, a in enumerate(self.names) for j, b in enumerate(self.names) if (cell := self.cell(i, j))]
        return {
            "rated_by": self.rated_by,
            "ratings": [
                {"agent": self.names[i], "rating": float(ratings.rating[i]), "low": float(ratings.low[i]),
                 "high": float(ratings.high[i]), "games": int(ratings.games[i]), "mean": float(self.mean[i]),
                 "wins": float(self.wins[i]),
                 "seconds": float(seconds[i]), "simulations": float(simulations[i]),
                 "nash_weight": float(mix[i]), "nash_value": float(against[i]),
                 "exploitability": (self.exploitability or {}).get(self.names[i]),
                 "forfeits": int(self.forfeits[i]) if self.forfeits is not None else 0}
                for i in self.order
            ] if ratings else [],
            "pairs": [
                {"first": a, "second": b, "games": cell.games, "mean": cell.mean,
                 "ci": [for_json(cell.mean - cell.half), for_json(cell.mean + cell.half)],
                 "win": cell.win, "draw": cell.draw, "loss": cell.loss}
                for a, b, cell in cells
            ],
            "advantage": [ratings.advantage, ratings.advantage_error] if ratings else None,
            "superiority": ratings.superiority.tolist() if ratings else [],
            "held_back": bool(ratings and ratings.is_held),
        }  # fmt: skip

    # For people ------------------------------------------------------------------------------------------------------------------

    def rating_rows(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of the table of ratings."""
        rated = ["payoff (95%)", "games", "wins"] if self.has_stakes else ["rating (95%)", "games", "mean"]
        head = ["agent", *rated, "ms", "sims", "Nash", "vs Nash"]
        known, ratings = self.exploitability or {}, self.ratings
        head += ["exploitable"] if known else []
        lost = self.forfeits if self.forfeits is not None and self.forfeits.any() else None
        head += ["forfeits"] if lost is not None else []
        rows: list[list[str]] = []
        if ratings is None:
            return head, rows
        (seconds, simulations), (mix, against) = self.thought, self.nash
        for i in self.order:
            name = self.names[i]
            row = [
                name, ratings.text(i), f"{ratings.games[i]:,}",
                f"{self.wins[i]:.0%}" if self.has_stakes else f"{self.mean[i]:+z.3f}",
                f"{1000 * seconds[i]:.1f}", f"{simulations[i]:,.0f}" if simulations[i] else "",
                f"{mix[i]:.0%}", f"{against[i]:+z.2f}",
            ]  # fmt: skip
            row += [f"{known[name]:.3f}" if name in known else ""] if known else []
            rows.append(row + ([f"{lost[i]:,}"] if lost is not None else []))
        return head, rows

    def cross_rows(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of the cross table: what the agent of a row, moving first, gets from that of a column."""
        head = ["first \\ second", *(self.names[j] for j in self.order)]
        rows = []
        for i in self.order:
            cells = [self.cell(i, j) for j in self.order]
            rows.append([self.names[i], *(
                f"{cell.text}, {cell.win:.0%} / {cell.draw:.0%} / {cell.loss:.0%}" if cell else "" for cell in cells
            )])  # fmt: skip
        return head, rows

    def superiority_rows(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of the likelihoods that the agent of a row is stronger than that of a column."""
        ratings, order = self.ratings, self.order
        head = ["", *(self.names[j] for j in order)]
        if ratings is None:
            return head, []
        return head, [[self.names[i], *("" if i == j else f"{ratings.superiority[i, j]:.1%}" for j in order)] for i in order]

    def heat_map(self) -> Figure:
        """The mean payoffs of all pairs as a Matplotlib figure, both seats counting the same."""
        order, n = self.order, len(self.names)
        figure = new_figure(2.2 + 0.9 * n, 1.6 + 0.6 * n)
        axes = figure.subplots()
        shown = self.payoffs[np.ix_(order, order)]
        widest = max(float(np.abs(shown).max()), 1e-9)
        image = axes.imshow(shown, cmap="RdBu", vmin=-widest, vmax=widest, aspect="auto")
        for i in range(n):
            for j in range(n):
                if i != j:
                    color = "white" if abs(shown[i, j]) > 0.6 * widest else "black"
                    axes.text(j, i, f"{shown[i, j]:+z.2f}", ha="center", va="center", color=color, fontsize=8)
        names = [_short(self.names[k]) for k in order]
        axes.set_xticks(range(n), names, rotation=30, ha="right", fontsize=8)
        axes.set_yticks(range(n), names, fontsize=8)
        axes.set_title(f"{self.title}: mean payoff of the row", fontsize=9)
        figure.colorbar(image, ax=axes)
        return figure

    def rating_plot(self) -> Figure:
        """The ratings with their 95% intervals as a Matplotlib figure."""
        order, figure = self.order[::-1], new_figure(6.4, 1.4 + 0.38 * len(self.names))
        axes = figure.subplots()
        if self.ratings is not None:
            at = np.arange(len(order))
            axes.errorbar(self.ratings.rating[order], at, xerr=self.ratings.half[order], fmt="o", capsize=3, linewidth=1.2)
            axes.set_yticks(at, [_short(self.names[k]) for k in order], fontsize=8)
        axes.axvline(self.anchor[1] if self.anchor else 0.0, color="black", linewidth=0.6)
        axes.grid(axis="x", alpha=0.3)
        axes.set(xlabel=f"{'payoff a game' if self.has_stakes else 'rating'}, 95% intervals", title=self.title)
        axes.spines[["top", "right"]].set_visible(False)
        return figure


def _short(name: str, longest: int = 28) -> str:
    return name if len(name) <= longest else name[: longest - 3] + "..."


def numbered(names: Sequence[str]) -> list[str]:
    """Names of agents that are all different: the second of the same name is number 2."""
    found: list[str] = []
    for k, name in enumerate(names):
        before = list(names[:k]).count(name)
        found.append(f"{name} #{before + 1}" if before else name)
    return found

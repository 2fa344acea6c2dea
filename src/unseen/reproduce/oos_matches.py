"""The matches of "Search in imperfect information games using online Monte Carlo counterfactual regret minimization" (Lanctot, Lisý
and Bowling 2014), decided: win rates of Online Outcome Sampling against information set MCTS as simulations grow.

The paper gives seconds a move, on machines of its time; which of the two wins depends on how many simulations that was. So each
match is played at a row of budgets. Games come in pairs with the same chance and the seats changed, and in batches, one of each in
turn; every batch is a cell in a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen.arena.matches import match, rate_of
from unseen.reproduce.cells import Cell, Cells
from unseen.reproduce.page import Claim, Say, claims_table, page_name, write_page
from unseen.run.workers import core_count
from unseen.show.figures import new_figure, save_picture
from unseen.show.markdown import table

AGENTS = {
    "IST": "oos(targeting=infoset, delta={delta}, simulations={simulations})",
    "PST": "oos(targeting=public, delta={delta}, simulations={simulations})",
    "VR-IST": "vr_oos(targeting=infoset, delta={delta}, simulations={simulations})",
    "VR-PST": "vr_oos(targeting=public, delta={delta}, simulations={simulations})",
    "ISMCTS": "ismcts(simulations={simulations})",
}
RIVAL = "ISMCTS"
ENOUGH = 20
"""Games of a match on which a claim may rest."""
STYLES: dict[str, dict[str, Any]] = {
    "IST": {"fmt": "o-", "color": "C0"}, "PST": {"fmt": "o-", "color": "C1"}, "VR-IST": {"fmt": "^-", "color": "C2"},
    "VR-PST": {"fmt": "^-", "color": "C4"}, "VR-IST against IST": {"fmt": "s:", "color": "C3"},
    "VR-PST against PST": {"fmt": "s:", "color": "C5"},
}  # fmt: skip
Rate = tuple[float, float, float, int]
"""A rate of wins, draws counting half, its 95% interval, and games."""


@dataclass(frozen=True)
class Panel:
    """A game, what is played in it, and the simulations a move, with the games of a batch for each."""

    title: str
    game: str
    delta: float
    pairs: tuple[tuple[str, str], ...]
    budgets: dict[int, int]
    paper: tuple[tuple[str, float], ...]
    """Rates of the paper's, by what they are of."""

    def agent(self, name: str, simulations: int) -> str:
        return AGENTS[name].format(delta=self.delta, simulations=simulations)


@dataclass(frozen=True)
class Scale:
    panels: tuple[Panel, ...]
    batches: int


def _pairs(*names: str) -> tuple[tuple[str, str], ...]:
    """Each against ISMCTS, and the last against the one before it."""
    return (*((name, RIVAL) for name in names), (names[-1], names[-2]))


DICE = _pairs("IST", "PST", "VR-PST")
LARGE = {1_000: 100, 10_000: 100, 100_000: 40, 1_000_000: 10, 3_000_000: 4}
FULL = Scale((
    Panel("LD(1,1)", "liars_dice", 0.9, DICE, LARGE, (("1 to 25 s", 0.575), ("2015, 0.1 s", 0.517))),
    Panel("II-Goofspiel(6)", "ii_goofspiel(cards=6)", 0.9, DICE, {1_000: 100, 10_000: 100, 100_000: 20, 300_000: 10},
          (("1 to 4 s", 0.5), ("2015, 0.1 s", 0.5))),
    Panel("II-Goofspiel(13)", "ii_goofspiel(cards=13)", 0.9, _pairs("IST", "VR-IST"), {1_000: 100, 10_000: 40, 100_000: 10},
          (("2015, 1 s", 0.283),)),
    Panel("LD(2,2), a single round", "liars_dice(dice1=2, dice2=2)", 0.8, DICE, LARGE, (("25 s", 0.512), ("2015, 5 s", 0.554))),
    Panel("LD(2,2), in rounds", "liars_dice(dice1=2, dice2=2, rounds=true)", 0.8, DICE, LARGE,
          (("25 s", 0.512), ("2015, 5 s", 0.554))),
), batches=20)  # fmt: skip
QUICK = Scale((
    Panel("LD(1,1), 3 faces", "liars_dice(faces=3)", 0.9, DICE, {100: 40, 1_000: 40}, ()),
    Panel("II-Goofspiel(4)", "ii_goofspiel(cards=4)", 0.9, DICE, {100: 40, 1_000: 40}, ()),
), batches=1)  # fmt: skip
WHY = """\
- *What decides depends on the game.* Outcome sampling, behind with few simulations, catches up in LD(1,1), II-Goofspiel(6) and
  LD(2,2) as a single round as they grow: ISMCTS goes straight to what looks best, while outcome sampling spends most of a small
  budget on finding out what is bad. In II-Goofspiel(13) and in LD(2,2) in rounds it does not within what is played here:
  these games are so large that a tree of a hundred thousand simulations hardly reaches beyond the next moves.
- *The paper* gives seconds of machines and programs of 2014, and does not print simulations, so its rates belong somewhere on these
  curves, not at a point of them. A claim counts as held if its rate lies between those of a curve.
- *II-Goofspiel(13)* is played with IST only, as in the paper: what is public there is who won each bid, and finding all histories
  that fit that takes half a second a move, more than all simulations together.
- *LD(2,2)* is played both ways: the paper's 352 million information sets are those of a single round; its rules are those of rounds
  in which the loser discards dice."""


class Experiment(Cells):
    """All cells, in a folder."""

    def __init__(self, folder: Path, scale: Scale, seed: int, say: Say, workers: int) -> None:
        super().__init__(folder, scale is QUICK, seed, say, workers)
        self.scale = scale
        self.picture = folder / ("rates_quick.png" if self.is_quick else "rates.png")

    def fill(self) -> None:
        for batch in range(self.scale.batches):
            for simulations in sorted({n for panel in self.scale.panels for n in panel.budgets}):
                for panel in self.scale.panels:
                    for pair in panel.pairs if simulations in panel.budgets else ():
                        agents = [panel.agent(name, simulations) for name in pair]
                        self.cell(
                            f"{_key(panel, pair, simulations)} {batch}", self.play, panel.game, *agents, panel.budgets[simulations],
                            batch,
                        )  # fmt: skip
                if self.has_news:
                    self.write()

    def play(self, game: str, first: str, second: str, games: int, batch: int) -> Cell:
        found = match(game, first, second, games, seed=self.seed + 1000 * batch, workers=self.workers, paired=True)
        if found.stopped:
            raise KeyboardInterrupt
        return {"scores": found.scores.tolist()}

    def rate(self, panel: Panel, pair: tuple[str, str], simulations: int) -> Rate | None:
        """What is known of a match; None if nothing."""
        name, cells = _key(panel, pair, simulations), self.cells
        batches = [cells[key]["scores"] for k in range(self.scale.batches) if (key := f"{name} {k}") in cells]
        if not batches:
            return None
        scores = np.concatenate(batches)
        return *rate_of(scores, paired=True), len(scores)

    def curve(self, panel: Panel, pair: tuple[str, str]) -> Iterator[tuple[int, Rate]]:
        """The simulations of a match with what is known of it."""
        for simulations in panel.budgets:
            if (found := self.rate(panel, pair, simulations)) is not None:
                yield simulations, found

    # The page -------------------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The page and its picture, of what is done."""
        self.has_news = False
        self.draw()
        parts = [
            f"`unseen reproduce oos_matches {'--quick ' * self.is_quick}--seed {self.seed}` made this page. Both agents of a match "
            "have the same number of simulations a move. A rate counts a draw as half a win; games come in pairs with the same "
            "chance and the seats changed, and intervals (95%) are over pairs. IST and PST are `oos`, VR-IST and VR-PST `vr_oos` "
            "(which the paper does not have).",
            f"![win rates against simulations]({self.picture.name})", self.numbers(),
            *(() if self.is_quick else ("## Claims", claims_table(self.claims()), "## How to read this", WHY)),
        ]  # fmt: skip
        write_page(self.folder / page_name(self.is_quick), "Online Outcome Sampling: the paper's matches, decided", parts)

    def draw(self) -> None:
        """A panel for each game, and one for what the lines are."""
        panels = self.scale.panels
        rows, columns = -(-(len(panels) + 1) // 3), 3
        figure = new_figure(4.2 * columns, 3.6 * rows)
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        shown: dict[str, Any] = {}
        for axes, panel in zip(grid, panels, strict=False):
            for name, rival in panel.pairs:
                points = [(n, 100 * rate, 100 * (rate - low), 100 * (high - rate))
                          for n, (rate, low, high, _) in self.curve(panel, (name, rival))]  # fmt: skip
                if points:
                    at, rates, *spread = zip(*points, strict=True)
                    kind = name if rival == RIVAL else f"{name} against {rival}"
                    shown[kind] = axes.errorbar(
                        at, rates, spread, **STYLES.get(kind, {"fmt": "s:"}), capsize=3, markersize=4, linewidth=1.2
                    )
            axes.axhline(50, color="black", linewidth=0.7)
            for k, (label, rate) in enumerate(panel.paper):
                axes.axhline(100 * rate, color="grey", linewidth=0.8, linestyle=("--", ":")[k], label=f"the paper, {label}")
            axes.set(title=panel.title, xlabel="simulations a move", xscale="log", ylim=(0, 100))
            axes.grid(alpha=0.3)
            if panel.paper:
                axes.legend(fontsize=6, frameon=False, loc="upper left")
            axes.spines[["top", "right"]].set_visible(False)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        labels = [kind if "against" in kind else f"{kind} against {RIVAL}" for kind in shown]
        grid[len(panels)].legend(shown.values(), labels, loc="center left", frameon=False, fontsize=9)
        grid[0].set_ylabel("games won (%), draws counting half")
        save_picture(figure, self.picture, force=True)

    def numbers(self) -> str:
        rows = []
        for panel in self.scale.panels:
            for pair in panel.pairs:
                for simulations, (rate, low, high, games) in self.curve(panel, pair):
                    shown = f"{100 * rate:.1f} ({100 * low:.1f} to {100 * high:.1f})"
                    rows.append([panel.title, *pair, f"{simulations:,}", f"{games:,}", shown])
        return table(("game", "agent", "against", "simulations a move", "games", "rate (%)"), rows)

    def claims(self) -> list[Claim]:
        """Whether each rate of the paper's lies between those of our curve; not decided if only their intervals reach so far."""
        claims = []
        for panel in self.scale.panels:
            name = "PST" if ("PST", RIVAL) in panel.pairs and "LD" in panel.title else "IST"
            known = list(self.curve(panel, (name, RIVAL)))
            points = [(n, found) for n, found in known if found[-1] >= ENOUGH] or known
            for label, rate in panel.paper if points else ():
                rates = [found[0] for _, found in points]
                low, high = min(found[1] for _, found in points), max(found[2] for _, found in points)
                ends = f"{name}: {rates[0]:.1%} with {points[0][0]:,} simulations to {rates[-1]:.1%} with {points[-1][0]:,}"
                held = True if min(rates) <= rate <= max(rates) else None if low <= rate <= high else False
                claims.append(Claim(f"{panel.title}: OOS wins {rate:.1%} of games against ISMCTS ({label})", ends, held))
        return claims


def _key(panel: Panel, pair: tuple[str, str], simulations: int) -> str:
    return f"{panel.title} {pair[0]} {pair[1]} {simulations}"


def reproduce(folder: Path, quick: bool = False, seed: int = 0, say: Say = print, workers: int | None = None) -> Sequence[Claim]:
    """Run the experiment, or what is missing of it, in a folder, and write a page there. Returns what it says of claims."""
    cores = 1 if quick else core_count()  # small tasks are done before another process has started
    experiment = Experiment(folder, QUICK if quick else FULL, seed, say, workers or cores)
    experiment.run()
    return experiment.claims()

"""The experiments of "Monte Carlo tree search in simultaneous move games with applications to Goofspiel" (Lanctot, Lisý and Winands
2013): Tables 1 and 2, Figure 4; and beyond them, matches against exact equilibrium play and other ways to explore.

The paper gives a second a move; here searches have as many simulations as its second allowed (Table 2), so that results can be
repeated. Long experiments are done in batches, one of each in turn, so that what there is can be looked at whenever one likes;
every batch is a cell in a file of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unseen.arena.losses import expected_loss
from unseen.arena.matches import match
from unseen.arena.plans import convergence, depth_limited
from unseen.reproduce.cells import Cell, Cells
from unseen.reproduce.page import Claim, Say, page_name
from unseen.reproduce.smmcts_page import Findings
from unseen.reproduce.smmcts_setup import DEPTHS, FULL, HALVES, NAMES, QUICK, VARIANTS, Scale, agent, pairs, player, simulations
from unseen.run.workers import core_count
from unseen.stacked.values import Values, backward_induction


class Experiment(Cells):
    """All cells, in a folder."""

    def __init__(self, folder: Path, scale: Scale, seed: int, say: Say, workers: int) -> None:
        super().__init__(folder, scale is QUICK, seed, say, workers)
        self.scale, self.findings = scale, Findings(self.cells, scale)
        self.picture = folder / ("figure4_quick.png" if self.is_quick else "figure4.png")
        self.values = folder / f"goof{scale.cards_2}.values"

    def fill(self) -> None:
        scale = self.scale
        for half in HALVES:
            for name in NAMES:
                self.curve(half, name, agent(name, half))
            for label, (name, more) in VARIANTS.items():
                self.curve(half, label, agent(name, half, **more))
        self.write_if_new()
        self.solve()
        specs = {name: agent(name, "PD", simulations(name, scale)) for name in NAMES}
        for batch in range(max(scale.batches, scale.batches_2)):
            if batch < scale.batches_2:
                for name, spec in specs.items():
                    self.cell(f"depth {name} {batch}", self.depth, scale.table_2, spec, scale.searches, batch)
                self.write_if_new()
            if batch < scale.batches:
                for name, spec in specs.items():
                    self.cell(f"loss {name} {batch}", self.loss, scale.table_2, spec, scale.games, batch)
                for half in HALVES:
                    for pair in pairs():
                        players = [player(name, half, scale) for name in pair]
                        self.cell(
                            f"match {half} {' '.join(pair)} {batch}", self.match, scale.table_1[half], *players, scale.games, batch
                        )
                self.write_if_new()

    def curve(self, half: str, label: str, spec: str) -> None:
        scale = self.scale
        self.cell(f"curve {half} {label}", self.converge, scale.figure_4[half], spec, scale.runs, scale.iterations, scale.every)

    # Measurements ---------------------------------------------------------------------------------------------------------------

    def solve(self) -> None:
        """The exact values of Table 2's game, in a file."""
        game = self.scale.table_2
        if not self.values.exists() or Values.load(self.values, game).stopped:
            self.say(f"exact values of {game}")
            if backward_induction(game, workers=self.workers, save=self.values, resume=self.values.exists()).stopped:
                raise KeyboardInterrupt

    def converge(self, game: str, spec: str, runs: int, iterations: int, every: int) -> Cell:
        found = convergence(
            game, spec, runs=runs, simulations=iterations, every=every, seed=self.seed, workers=self.workers, save=self.part,
            resume=True,
        )  # fmt: skip
        if not found.is_complete:
            raise KeyboardInterrupt
        return {"simulations": found.simulations.tolist(), "sums": np.round(found.exploitability, 6).tolist()}

    def depth(self, game: str, spec: str, searches: int, batch: int) -> Cell:
        found = depth_limited(
            game, spec, DEPTHS, searches=searches, values=self.values, seed=self.batch_seed(batch), workers=self.workers,
            save=self.part, resume=True,
        )  # fmt: skip
        if not found.is_complete:
            raise KeyboardInterrupt
        return {"losses": np.round(found.losses.mean(axis=3), 6).tolist(), "rate": found.rate}

    def loss(self, game: str, spec: str, games: int, batch: int) -> Cell:
        found = expected_loss(
            game, spec, games=games, values=self.values, seed=self.batch_seed(batch), workers=self.workers, save=self.part,
            resume=True,
        )  # fmt: skip
        if not found.is_complete:
            raise KeyboardInterrupt
        return {"losses": found.losses.tolist(), "payoffs": found.payoffs.tolist()}

    def match(self, game: str, first: str, second: str, games: int, batch: int) -> Cell:
        found = match(game, first, second, games, seed=self.batch_seed(batch), workers=self.workers, paired=True)
        if found.stopped:
            raise KeyboardInterrupt
        return {"payoffs": found.payoffs}

    def batch_seed(self, batch: int) -> int:
        return self.seed + 1000 * batch

    # The page -------------------------------------------------------------------------------------------------------------------

    def write_if_new(self) -> None:
        if self.has_news:
            self.write()

    def write(self) -> None:
        self.has_news = False
        command = f"unseen reproduce smmcts {'--quick ' * self.is_quick}--seed {self.seed}"
        about = "Smaller versions of the paper's games, and few simulations." if self.is_quick else "The paper's games."
        self.findings.write(self.folder / page_name(self.is_quick), self.picture, command, about)


def reproduce(folder: Path, quick: bool = False, seed: int = 0, say: Say = print, workers: int | None = None) -> Sequence[Claim]:
    """Run the experiment, or what is missing of it, in a folder, and write a page there. Returns what it says of claims."""
    cores = 1 if quick else core_count()  # small tasks are done before another process has started
    experiment = Experiment(folder, QUICK if quick else FULL, seed, say, workers or cores)
    experiment.run()
    return experiment.findings.claims()

"""The experiments of "Evaluating the performance of Presumed Payoff Perfect Information Monte Carlo sampling against optimal
strategies" (Wisser 2016): Tables 1, 3, 4 and 5 and Figure 3; and beyond them, other readings, truly mixed strategies, and
Schnapsen.

The paper plays 2.5 million games for each cell; here every number about Phantom Tic-Tac-Toe is exact. What each agent does at every
information set becomes a strategy, kept in a file; the matches in Schnapsen are played, in batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

from unseen.arena.comparison import compare, exact_pairs
from unseen.arena.extraction import different_questions, extract
from unseen.arena.matches import first_seat, match
from unseen.arena.names import make_agent
from unseen.exact.equilibrium import solve_exactly
from unseen.exact.sequence_form import SequenceForm
from unseen.loading import load
from unseen.position import Position
from unseen.reproduce.cells import Cell, Cells
from unseen.reproduce.page import Claim, Say, page_name
from unseen.reproduce.ppp_page import (
    AGENTS,
    CFR,
    GAME,
    KNOWLEDGE,
    MATCHES,
    MIXED,
    MIXES,
    READINGS,
    SCHNAPSEN,
    SMALL,
    Findings,
    Scale,
)
from unseen.run.workers import core_count
from unseen.solving.job import solve
from unseen.tabular.strategy import Strategy

FULL = Scale(
    equilibria={CFR: 0.0047, "CFR, 0.0001": 0.0001},
    knowledge=KNOWLEDGE,
    mixes=MIXES,
    batches=10,
    deals=100,
    match_batches=5,
    matches=8,
)
QUICK = Scale(equilibria={CFR: 0.0047}, knowledge=KNOWLEDGE[:2], mixes=MIXES[:1], batches=1, deals=2, match_batches=0, matches=0)


class Experiment(Cells):
    """All cells, in a folder."""

    def __init__(self, folder: Path, scale: Scale, seed: int, say: Say, workers: int) -> None:
        super().__init__(folder, scale is QUICK, seed, say, workers)
        self.scale, self.findings = scale, Findings(self.cells, scale)

    def fill(self) -> None:
        for game in SMALL:
            self.cell(f"table 1 {game}", self.table_1, game)
        self.cell("figure 3", self.figure_3)
        self.write()
        for name, until in self.scale.equilibria.items():
            self.cell(f"table 5 {name}", self.of_solver, name, until)
        for name, spec in AGENTS.items():
            self.cell(f"table 5 {name}", self.of_agent, spec)
        self.cell("pairs", self.pairs, [*self.scale.equilibria, *AGENTS])
        self.write()
        others = [spec for spec in READINGS.values() if spec not in AGENTS.values()]
        for spec in (*others, *self.scale.knowledge, *self.scale.mixes):
            self.cell(f"of {spec}", self.of_agent, spec)
        self.cell("readings", self.against_random, READINGS)
        if MIXED in self.scale.mixes:
            self.cell("mixed pairs", self.pairs, [CFR, "PPP", "SP", "RAND", MIXED])
            self.cell("beliefs", self.by_beliefs)
        self.write()
        for batch in range(self.scale.batches):
            for first, second, share in SCHNAPSEN:
                if batch < max(1, round(share * self.scale.batches)):
                    self.cell(f"deals {first} {second} {batch}", self.play, "schnapsen", first, second, self.scale.deals, batch)
            self.write()
        for batch in range(self.scale.match_batches):
            for first, second in MATCHES:
                self.cell(
                    f"matches {first} {second} {batch}", self.play, "schnapsen(match=7)", first, second, self.scale.matches, batch
                )
            self.write()

    # Measurements ---------------------------------------------------------------------------------------------------------------

    def table_1(self, game: str) -> Cell:
        """What the first player gets, whoever is the second: it makes no difference in these games."""
        names = {name: "ppp(knowledge=0)" if name == "PPP" else spec for name, spec in AGENTS.items()}
        found = compare(game, [*names.values()], workers=1)
        payoffs = {name: found.pair(spec, "random").mean for name, spec in names.items()}
        nash = exact_pairs(found.game, [("NASH", solve_exactly(game).strategy), ("RAND", Strategy.uniform(found.game))])
        return {"payoffs": payoffs | {"NASH": nash[1].mean}}

    def figure_3(self) -> Cell:
        """What `ppp` makes of the first move of O."""
        position = Position("phantom_ttt", [4])
        agent = make_agent("ppp", position.game)
        agent.begin(position.game, 1, 0)
        for percept in position.seen(1):
            agent.observe(percept)
        return {"explained": agent.explain().as_dict()}  # type: ignore[attr-defined]

    @cached_property
    def form(self) -> SequenceForm:
        self.say(f"the sequence form of {GAME}")
        return SequenceForm(GAME, reduced=True)

    def file(self, name: str) -> Path:
        """Where a strategy is kept."""
        return self.folder / "strategies" / ("".join(c if c.isalnum() else "_" for c in name) + ".strategy")

    def kept(self, name: str, strategy: Strategy) -> Cell:
        """Keep a strategy, and evaluate it."""
        file = self.file(name)
        file.parent.mkdir(exist_ok=True)
        strategy.save(file)
        return self.form.evaluate(strategy).as_dict()

    def of_solver(self, name: str, until: float) -> Cell:
        found = solve(GAME, "dcfr", until=until, seed=self.seed, form=self.form, reduced=True)
        if found.stopped:
            raise KeyboardInterrupt
        return self.kept(name, found.strategy) | {"iterations": found.last.iterations}

    def of_agent(self, spec: str) -> Cell:
        if spec == "random":
            return self.kept(spec, Strategy.uniform(self.form.game))
        found = extract(GAME, spec, workers=self.workers, save=self.part, resume=True)
        if not found.is_complete:
            raise KeyboardInterrupt
        return self.kept(spec, found.strategy) | {"questions": found.asked, "seconds": found.seconds}

    def pairs(self, names: Sequence[str]) -> Cell:
        agents = [(name, Strategy.load(self.file(AGENTS.get(name, name)), self.form.game)) for name in names]
        return {"pairs": [pair.as_dict() for pair in exact_pairs(self.form.game, agents)]}

    def against_random(self, readings: dict[str, str]) -> Cell:
        names = [*readings.values(), "random"]
        found = exact_pairs(self.form.game, [(name, Strategy.load(self.file(name), self.form.game)) for name in names])
        return {"pairs": [pair.as_dict() for pair in found if "random" in (pair.first, pair.second)]}

    def by_beliefs(self) -> Cell:
        """At how many of all questions the general estimate of knowledge decides otherwise than the game's own rule."""
        game, different = load(GAME), 0
        agents = [make_agent(spec, game) for spec in ("ppp", "ppp(knowledge=belief)")]
        questions = different_questions(game, "ppp")
        for player, seen, actions in questions:
            for agent in agents:
                agent.begin(game, player, 0)
                for percept in seen:
                    agent.observe(percept)
            different += agents[0].choose(actions) != agents[1].choose(actions)
        return {"questions": len(questions), "different": different}

    def play(self, game: str, first: str, second: str, games: int, batch: int) -> Cell:
        found = match(game, first, second, games, seed=self.seed + 1000 * batch, workers=self.workers, paired=True)
        if found.stopped:
            raise KeyboardInterrupt
        times: list[list[float]] = [[], []]
        for k, played in enumerate(found.games):
            for turn in played.turns:
                times[int(turn.seat != first_seat(k))].append(turn.seconds)
        seconds: list[dict[str, Any]] = [{"mean": mean(each), "most": max(each)} for each in times]
        return {"payoffs": found.payoffs, "seconds": seconds}

    def write(self) -> None:
        command = f"unseen reproduce ppp {'--quick ' * self.is_quick}--seed {self.seed}"
        self.findings.write(self.folder / page_name(self.is_quick), command)


def reproduce(folder: Path, quick: bool = False, seed: int = 0, say: Say = print, workers: int | None = None) -> Sequence[Claim]:
    """Run the experiment, or what is missing of it, in a folder, and write a page there. Returns what it says of claims."""
    experiment = Experiment(folder, QUICK if quick else FULL, seed, say, workers or core_count())
    experiment.run()
    return experiment.findings.claims()

"""The experiments of "Monte Carlo sampling for regret minimization in extensive games" (Lanctot et al. 2009), Section 5.

Table 1: the sizes of four games and the time per iteration of three algorithms. Figure 1: exploitability against nodes touched.
Every run is kept in a log of its own, named by all that it depends on; runs that are complete are not done again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from unseen.exact.sequence_form import SequenceForm
from unseen.reproduce.page import Claim, Say, claims_table, make_folder, page_name, seconds, write_page
from unseen.run.files import write_atomically
from unseen.run.logs import Run, read_log
from unseen.show.convergence import draw_axis
from unseen.show.figures import new_figure, save_picture
from unseen.show.markdown import table
from unseen.solving.algorithms import make_solver
from unseen.solving.solvers import Solver

MARKS_PER_DECADE = 5
SECONDS_TIMED = 2.0
"""At least so long are iterations timed."""
DECADES = 4
"""Evaluations are spread evenly over so many powers of ten of nodes, up to the last."""
EPSILONS = (0.2, 0.4, 0.6, 0.8, 1.0)
EPSILON_SHARE = 30
"""The explorations are compared after this part of the nodes."""
FURTHER = 5
"""CFR on the sequence form is quick, so its line can go on for so many times the nodes."""
ALGORITHMS = {
    "CFR": "cfr", "CFR, pruned": "vanilla_cfr", "outcome sampling": "outcome_sampling", "external sampling": "external_sampling",
}  # fmt: skip
"""The lines of Figure 1. CFR without pruning runs on the sequence form: the same numbers, and every iteration visits all."""


@dataclass(frozen=True)
class Row:
    """A game of the paper: its names here, and what Table 1 prints."""

    name: str
    full: str
    quick: str
    histories: float
    infosets: float
    length: int
    m_values: tuple[float, float]
    vanilla: float
    outcome: float
    external: float


GAMES = (
    Row("OCP", "one_card_poker", "one_card_poker(cards=50)", 22.4e6, 2e3, 5, (45, 32), 28, 46e-6, 99e-6),
    Row("Goof", "ii_goofspiel(cards=7)", "ii_goofspiel(cards=5)", 98.3e6, 3294e3, 14, (89884, 89884), 110, 150e-6, 150e-3),
    Row("LTTT", "latent_ttt", "latent_ttt(choices=6)", 70.4e6, 16039e3, 18, (1333630, 1236660), 38, 62e-6, 70e-3),
    Row("PAM", "princess_and_monster", "princess_and_monster(horizon=7)", 91.8e6, 20e3, 13, (9541, 2930), 120, 85e-6, 28e-3),
)


class Experiment:
    """All runs of the experiment, in a folder."""

    def __init__(self, folder: Path, quick: bool, nodes: int | None, seed: int, say: Say) -> None:
        self.folder, self.quick, self.seed, self.say = folder, quick, seed, say
        self.nodes = nodes or (20_000_000 if quick else 3_000_000_000)
        self.runs: dict[tuple[str, str], Run] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.picture = folder / ("figure1_quick.png" if quick else "figure1.png")
        make_folder(folder)

    def spec(self, row: Row) -> str:
        return row.quick if self.quick else row.full

    def run(self) -> None:
        """Do what is missing; the page is written after each game with something new, so that stopping loses little."""
        for row in sorted(GAMES, key=lambda row: row.infosets):  # the quickest first
            is_news = self.measure(row)
            if is_news or len(self.facts) == len(GAMES):
                self.write()

    def measure(self, row: Row) -> bool:
        """All runs of one game. Returns whether any was missing."""
        wanted = {name: (algorithm, self.nodes * (FURTHER if name == "CFR" else 1)) for name, algorithm in ALGORITHMS.items()}
        wanted |= {f"epsilon {e}": (f"outcome_sampling(epsilon={e})", self.nodes // EPSILON_SHARE) for e in EPSILONS}
        facts_file = self.folder / f"{self.prefix(row)}.json"
        is_known = facts_file.exists()
        form = None
        if not is_known or not all(self.is_complete(row, name, nodes) for name, (_, nodes) in wanted.items()):
            self.say(f"{row.name}: walking {self.spec(row)}")
            form = SequenceForm(self.spec(row))
        if not is_known:
            assert form is not None
            self.say(f"{row.name}: timing iterations")
            write_atomically(facts_file, [json.dumps(self.sizes_and_times(row, form)).encode()])
        self.facts[row.name] = json.loads(facts_file.read_text())
        for name, (algorithm, nodes) in wanted.items():
            if not self.is_complete(row, name, nodes):
                assert form is not None
                self.say(f"{row.name}: {name}, {nodes:,} nodes")
                solver = make_solver(algorithm, form.game, form, self.seed)
                points = trace(solver, form, nodes, 0 if name.startswith("epsilon") else DECADES, self.say)
                about = {"game": form.game.spec, "algorithm": algorithm, "seed": self.seed}
                lines = [json.dumps(about | point) for point in points]
                write_atomically(self.log(row, name, nodes), ["\n".join([*lines, ""]).encode()])
            self.runs[row.name, name] = read_log(self.log(row, name, nodes))
            self.runs[row.name, name].algorithm = name
        return form is not None

    def prefix(self, row: Row) -> str:
        return row.name + ("_quick" if self.quick else "") + f"_seed{self.seed}"

    def log(self, row: Row, name: str, nodes: int) -> Path:
        return self.folder / f"{self.prefix(row)}_{name.replace(', ', '_').replace(' ', '_')}_{nodes}.jsonl"

    def is_complete(self, row: Row, name: str, nodes: int) -> bool:
        """Whether there is a log of a run that was done to the end."""
        log = self.log(row, name, nodes)
        return log.exists() and read_log(log).points[-1]["nodes"] >= nodes

    def sizes_and_times(self, row: Row, form: SequenceForm) -> dict[str, Any]:
        """A row of Table 1, as found here. An iteration is one of the paper's: both players for CFR, one block for the samplers."""
        times = {name: time_per_iteration(make_solver(a, form.game, form, self.seed)) for name, a in ALGORITHMS.items()}
        first = make_solver("vanilla_cfr", form.game, form, self.seed)
        visited = []
        for _ in range(6 if form.histories > 1e7 else 30):
            before = first.nodes
            first.run(2)
            visited.append(first.nodes - before)
        return {
            "histories": form.histories, "infosets": sum(form.infosets), "length": form.longest,
            "m_values": form.m_values, "times": times, "pruned_nodes": visited,
        }  # fmt: skip

    # The page -------------------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The page and its picture, of the games that are done."""
        rows = [row for row in GAMES if row.name in self.facts]
        self.draw(rows)
        options = ("--quick " if self.quick else "") + f"--nodes {self.nodes} --seed {self.seed}"
        parts = [
            f"`unseen reproduce mccfr {options}` made this page. "
            + ("Smaller versions of the paper's games. " if self.quick else "The paper's games at full size. ")
            + "Exploitability is the sum of both best responses.",
            "## Table 1", self.table(rows), "## Figure 1", f"![exploitability against nodes touched]({self.picture.name})",
            "## Claims of Section 5", claims_table(self.claims(rows)),
            "## Runs", table(
                ("game", "algorithm", "seed", "nodes", "seconds", "exploitability"),
                [self.end(game, name, run) for (game, name), run in self.runs.items()],
            ),
        ]  # fmt: skip
        write_page(self.folder / page_name(self.quick), "Monte Carlo CFR: the paper's experiments", parts)

    def end(self, game: str, name: str, run: Run) -> Sequence[str]:
        last = run.points[-1]
        return (f"{game}: `{run.game}`", name, str(run.seed), f"{last['nodes']:,}", f"{last['seconds']:.1f}",
                f"{last['exploitability']:.4g}")  # fmt: skip

    def table(self, rows: Sequence[Row]) -> str:
        """Table 1, each cell as found here, with the paper's number and for times the ratio."""
        lines = []
        for row in rows:
            found = self.facts[row.name]
            times = found["times"]
            lines.append([
                row.name, f"{found['histories']:,} ({row.histories:,.0f})", f"{found['infosets']:,} ({row.infosets:,.0f})",
                f"{found['length']} ({row.length})",
                *(f"{mine:,.1f} ({theirs:,})" for mine, theirs in zip(found["m_values"], row.m_values, strict=True)),
                *(
                    f"{seconds(times[name])} ({seconds(theirs)}" + ("" if self.quick else f": {theirs / times[name]:,.0f}x") + ")"
                    for name, theirs in (
                        ("CFR", row.vanilla), ("outcome sampling", row.outcome), ("external sampling", row.external),
                    )
                ),
            ])  # fmt: skip
        head = ("game", "histories", "information sets", "length", "M1", "M2", "t vanilla", "t outcome", "t external")
        return table(head, lines) + "\n\nIn brackets the paper's numbers. Ours are of one thread."

    def draw(self, rows: Sequence[Row]) -> None:
        figure = new_figure(11, 8.4)
        panels = figure.subplots(2, 2)
        for panel, row in zip(panels.flat, GAMES, strict=True):
            panel.set_title(f"{row.name}: {self.spec(row)}", fontsize=10)
            if row in rows:
                draw_axis(panel, [self.runs[row.name, name] for name in ALGORITHMS], "nodes")
                panel.legend(fontsize=8, frameon=False)
            panel.set_ylabel("exploitability (sum)")
        save_picture(figure, self.picture, force=True)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What Section 5 says, and what the runs say."""
        games = [row.name for row in rows]
        found = [self.epsilon_claim(games)]
        if "Goof" in games:
            needs = {name: self.nodes_to(("Goof", name), 0.5) for name in ALGORITHMS}
            found.append(Claim(
                "In Goofspiel both samplers need a few million nodes to fall below 0.5, CFR 2.5 billion",
                "; ".join(f"{name} {amount(n)}" for name, n in needs.items()),
                max(needs["outcome sampling"], needs["external sampling"]) * 50 < needs["CFR"] and needs["outcome sampling"] < 1e7,
            ))  # fmt: skip
        found.append(self.external_claim(games))
        if "LTTT" in games:
            visited = self.facts["LTTT"]["pruned_nodes"]
            found.append(Claim(
                "In LTTT the first iteration of pruned CFR touches 142 million nodes, later ones as few as 5 million",
                f"the first {visited[0]:,}, the least of {len(visited)} {min(visited):,}", visited[0] > 10 * min(visited),
            ))  # fmt: skip
        for game, better, worse in (("Goof", "outcome sampling", "external sampling"), ("LTTT", "CFR, pruned", "outcome sampling")):
            if game in games:
                a, b = (self.runs[game, name].points[-1] for name in (better, worse))
                found.append(Claim(
                    f"In {game} {better} does better than {worse}",
                    f"after {a['nodes']:,} and {b['nodes']:,} nodes: {a['exploitability']:.4g} and {b['exploitability']:.4g}",
                    a["exploitability"] < b["exploitability"],
                ))  # fmt: skip
        found.append(self.clock_claim(games))
        return found

    def epsilon_claim(self, games: Sequence[str]) -> Claim:
        ends = {g: {e: self.runs[g, f"epsilon {e}"].points[-1]["exploitability"] for e in EPSILONS} for g in games}
        text = "; ".join(f"{g}: " + ", ".join(f"{e}: {x:.3g}" for e, x in by.items()) for g, by in ends.items())
        is_good = all(by[0.6] <= 1.5 * min(by.values()) for by in ends.values())
        return Claim("An exploration of 0.6 works well in all games (here: within half of the best of five)", text, is_good)

    def external_claim(self, games: Sequence[str]) -> Claim:
        """At how many of its evaluations external sampling is ahead of CFR."""
        text, is_ahead = [], True
        for game in games:
            points = self.runs[game, "external sampling"].points
            wins = [
                sum(p["exploitability"] < at(self.runs[game, name], "nodes", p["nodes"]) for p in points)
                for name in ("CFR", "CFR, pruned")
            ]
            text.append(f"{game} {wins[0]} and {wins[1]} of {len(points)}")
            is_ahead = is_ahead and min(wins) > len(points) / 2
        return Claim(
            "External sampling outperforms CFR in all games, by considerable margins except in LTTT",
            "evaluations, evenly spread over the axis, at which it is ahead of CFR and of pruned CFR: " + "; ".join(text), is_ahead,
        )  # fmt: skip

    def clock_claim(self, games: Sequence[str]) -> Claim:
        """Nodes touched against wall-clock time, for the algorithms that walk or sample."""
        text, same = [], True
        for game in games:
            runs = {name: self.runs[game, name] for name in ALGORITHMS if name != "CFR"}
            least = min(run.points[-1]["seconds"] for run in runs.values())
            by_clock = sorted(runs, key=lambda name: at(runs[name], "seconds", least))
            by_nodes = sorted(runs, key=lambda name: runs[name].points[-1]["exploitability"])
            same = same and by_clock == by_nodes
            text.append(f"{game}: {'the same order' if by_clock == by_nodes else ' < '.join(by_clock)}")
        return Claim("The results are nearly identical if wall-clock time is used instead of nodes", "; ".join(text), same)

    def nodes_to(self, run: tuple[str, str], goal: float) -> float:
        """The nodes after which a run was at the goal or better; infinite if it never was."""
        return next((p["nodes"] for p in self.runs[run].points if p["exploitability"] <= goal), inf)


def at(run: Run, axis: str, place: float) -> float:
    """A run's exploitability at a place of an axis."""
    return float(np.interp(place, [p[axis] for p in run.points], [p["exploitability"] for p in run.points]))


def amount(nodes: float) -> str:
    return "never" if nodes == inf else f"{nodes:,.0f}"


def trace(solver: Solver, form: SequenceForm, nodes: int, decades: int, say: Say) -> list[dict[str, Any]]:
    """Run a solver until it has touched so many nodes; evaluate it on the way, over the last so many powers of ten."""
    solver.prepare()
    points: list[dict[str, Any]] = []
    solving = 0.0
    for mark in np.geomspace(nodes / 10**decades, nodes, MARKS_PER_DECADE * decades + 1):
        if solver.nodes >= mark and points:
            continue
        while solver.nodes < mark:
            per_iteration = solver.nodes / solver.iterations if solver.iterations else inf
            began = time.perf_counter()
            solver.run(max(int(min((mark - solver.nodes) / per_iteration, 10**9)), 1))
            solving += time.perf_counter() - began
        found = solver.evaluate(form)
        points.append({
            "iterations": solver.iterations, "seconds": solving, "nodes": solver.nodes,
            "best_response": found.best_response, "exploitability": found.exploitability, "value": found.value,
        })  # fmt: skip
        say(f"  {solver.nodes:,} nodes, {solving:.1f} s: {found.exploitability:.4g}")
    return points


def time_per_iteration(solver: Solver) -> float:
    """Seconds for an iteration, after some that are not counted."""
    solver.prepare()
    solver.run(2)
    iterations, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS_TIMED:
        solver.run(batch := max(iterations, 1))
        iterations += batch
    return (time.perf_counter() - began) / iterations


def reproduce(folder: Path, quick: bool = False, nodes: int | None = None, seed: int = 0, say: Say = print) -> list[Claim]:
    """Run the experiment, or what is missing of it, in a folder, and write a page there. Returns what it says of claims."""
    experiment = Experiment(folder, quick, nodes, seed, say)
    experiment.run()
    return experiment.claims(GAMES)

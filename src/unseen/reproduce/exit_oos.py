"""The experiments of "ExpIt-OOS: Towards learning from planning in imperfect information games" (Kitchen and Benedetti 2018):
Figure 1 and Tables 1 to 5.

Each row of a table is a run of `unseen learn` in a folder of its own, which goes on where it stopped. Runs go on in turn, to the
iterations that the paper prints, so the page says something from the first hour on, and which iterations it has come to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from unseen.arena.matches import match
from unseen.arena.tournament import tournament
from unseen.errors import UnseenError
from unseen.learning.job import CHECKPOINT, LOG, Iteration, learn, read_log
from unseen.learning.settings import Settings, settings_for
from unseen.loading import load, parse
from unseen.reproduce.cells import Cell, Cells
from unseen.reproduce.page import Claim, Say, claims_table, page_name, write_page
from unseen.run.workers import core_count
from unseen.show.figures import new_figure, save_picture
from unseen.show.markdown import table

Rate = tuple[float, float, float]
"""A rate of wins with its 95% interval."""
OPPONENTS = ("random", "teacher")
SHARPNESS = 3.0
"""The power to which probabilities of networks are raised in matches beyond the paper."""
BUDGETS = (65_000, 66_000, 66_000, 15_000)
"""Simulations of a decision of self-play in tables 1, 3, 4 and 2: about what 200,000 state changes are, see WHY."""
TEACHER_DELTA, TEACHER_SIMULATIONS = 0.4, 20_000
TEACHER = f"oos(weighting=scaled, delta={TEACHER_DELTA}, simulations={TEACHER_SIMULATIONS})"
ANCHOR = 100
"""The iterations of the network whose rating Table 5 fixes at 1500; the first one, as long as there is none."""


@dataclass(frozen=True)
class Run:
    """A network in training, where the paper looks at it, and what it says there: win rates against random and OOS(10k), in %."""

    title: str
    game: str
    iterations: tuple[int, ...]
    paper: dict[int, tuple[float, float]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    every: int = 10
    """Iterations between evaluations, and between copies of the network."""
    is_curve: bool = False
    """Whether it belongs to Figure 1."""
    is_rated: bool = False
    """Whether Table 5 rates it."""
    seed: int = 0
    """Added to the experiment's."""


@dataclass(frozen=True)
class Scale:
    runs: tuple[Run, ...]
    games: int
    """Of each match."""
    rated_games: int
    """Of each pair in Table 5."""


def _curves(simulations: int, iterations: tuple[int, ...], seeds: int, **settings: Any) -> list[Run]:
    settings = {"simulations": simulations, **settings}
    return [
        Run(f"{simulations:,} simulations", "leduc_poker(suits_seen=false)", iterations, {}, settings, is_curve=True, seed=seed)
        for seed in range(seeds)
    ]


FULL = Scale((
    *(run for simulations in (1_000, 10_000, 100_000) for run in _curves(simulations, (20, 50, 100), 3)),
    *_curves(500_000, (20, 50), 1),
    Run("II-Goofspiel(6)", "ii_goofspiel(cards=6, lowest=0)", (100, 200, 1000, 2000, 2500),
        {100: (66, 30), 200: (63, 34), 1000: (69, 26), 2000: (68, 27), 2500: (67, 25)}, {"simulations": BUDGETS[0]}),
    Run("Liar's Dice(1)", "exact_liars_dice", (100, 500, 1000),
        {100: (65, 53), 500: (65, 53), 1000: (66, 51)}, {"simulations": BUDGETS[1]}),
    Run("Liar's Dice(2)", "exact_liars_dice(dice=2)", (100, 500, 1000),
        {100: (65, 52), 500: (64, 52), 1000: (66, 54)}, {"simulations": BUDGETS[2]}),
    Run("II-Goofspiel(13)", "ii_goofspiel(cards=13, lowest=0)", (50, 100, 200, 500),
        {100: (61, 40), 200: (69, 44), 500: (74, 53)}, {"simulations": BUDGETS[3]}, is_rated=True),
), games=1000, rated_games=200)  # fmt: skip
BRIEF: dict[str, Any] = {"layers": "16", "games": 4, "steps": 8, "batch": 32}
QUICK = Scale((
    *(run for simulations in (50, 500) for run in _curves(simulations, (2, 4), 1, **BRIEF)),
    Run("II-Goofspiel(4)", "ii_goofspiel(cards=4)", (2, 4), {}, {"simulations": 100, **BRIEF}, every=2, is_rated=True),
), games=40, rated_games=10)  # fmt: skip
WHY = """\
- *Importance weights* are those of OOS, times 1 / r, where r is a running mean of s1 / s2: the same number for all updates of a
  simulation. That is the paper's text. In the authors' code the mean is of s2 / s1, and s1 and s2 begin with its reciprocal:
  another common scale. Their code also steers every simulation, not those that a coin of delta says, and never steers chance;
  here the search does what the paper says.
- *Budgets.* In the authors' code a search of self-play makes 10,000 steps of 20 concurrent simulations, and a step is one state
  change of each: going down the tree is one, so is a move of a playout. That is what tables 1, 2, 3 and 4 have here, counted
  in whole simulations. In their matches the teacher makes 10,000 simulations for each player, so 20,000 here, with delta = 0.4.
- *Games* are those of the authors' code: cards and prizes of Goofspiel from 0, Leduc poker with 288 information sets, Liar's Dice
  with [bids in two decisions that must be exactly right](../../games/exact_liars_dice.md).
- *What a network sees*: all percepts, and the numbers that the game writes beside them.
- *Sharpness.* What a search of so few simulations finds is smoother than what it would play in the end, and so is a network that
  learns it. The last two columns of the second table are not in the paper: the same networks, their probabilities raised to a
  power and normalised (`net(file=..., sharpness=3)`).
- *Exploitability* is exact, and is that of the bare network, the sum of both players.
- *Speed.* The search is fast here, as the table of ratings shows. A network's move takes most of its time for bookkeeping in
  Python; its forward pass takes two microseconds."""


class Experiment(Cells):
    """All runs and matches, in a folder."""

    def __init__(self, folder: Path, scale: Scale, seed: int, say: Say, workers: int) -> None:
        super().__init__(folder, scale is QUICK, seed, say, workers)
        self.scale = scale
        self.picture = folder / ("figure1_quick.png" if self.is_quick else "figure1.png")

    def fill(self) -> None:
        for iterations in sorted({n for run in self.scale.runs for n in run.iterations}):
            for run in self.scale.runs:
                if iterations in run.iterations:
                    self.go_on(run, iterations)
                    if not run.is_curve:
                        for sharpness, opponent in product((1.0, SHARPNESS), OPPONENTS):
                            name = match_name(run, iterations, opponent, sharpness)
                            self.cell(name, self.play, run.title, iterations, opponent, sharpness, self.scale.games)
                    if run.is_rated:
                        known = [n for n in run.iterations if n <= len(self.log(run))]
                        self.cell(f"{run.title} ratings", self.rate, run.title, known, self.scale.rated_games)
                    self.write()

    # What is done ---------------------------------------------------------------------------------------------------------------

    def folder_of(self, run: Run) -> Path:
        kind = "quick" if self.is_quick else "full"
        title = run.title.replace(" ", "_").replace("'", "").replace(",", "")
        name = f"{kind}_seed{self.seed + run.seed}_{load(run.game).name}_{title}"
        return self.folder / "runs" / name

    def network(self, run: Run, iterations: int) -> Path:
        return self.folder_of(run) / f"network-{iterations}.safetensors"

    def go_on(self, run: Run, iterations: int) -> None:
        """Train on, to so many iterations."""
        folder = self.folder_of(run)
        if len(self.log(run)) >= iterations:
            return
        self.say(f"{run.title}: learning, to {iterations:,} iterations")
        found = learn(
            run.game, out=folder, iterations=iterations, resume=(folder / CHECKPOINT).exists(), seed=self.seed + run.seed,
            workers=self.workers, evaluate_every=run.every, evaluation_games=0, snapshot_every=run.every, **run.settings,
        )  # fmt: skip
        if found.trouble:
            raise UnseenError(found.trouble)
        if found.stopped:
            raise KeyboardInterrupt

    def log(self, run: Run) -> list[Iteration]:
        """What is known of a run."""
        file = self.folder_of(run) / LOG
        return read_log(file) if file.exists() else []

    def find(self, title: str) -> Run:
        return next(run for run in self.scale.runs if run.title == title)

    def opponent(self, run: Run, name: str) -> str:
        return name if name == "random" else teacher(settings_for(load(run.game), **run.settings))

    def play(self, title: str, iterations: int, opponent: str, sharpness: float, games: int) -> Cell:
        """A match of the bare network."""
        run = self.find(title)
        mine = f"net(file={self.network(run, iterations)}, sharpness={sharpness})"
        found = match(run.game, mine, self.opponent(run, opponent), games, seed=self.seed, workers=self.workers)
        if found.stopped:
            raise KeyboardInterrupt
        return {"rate": found.rate}

    def rate(self, title: str, iterations: Sequence[int], games: int) -> Cell:
        """Ratings of the networks after some iterations and of their teacher, by a tournament."""
        run = self.find(title)
        files = [f"net(file={self.network(run, n)})" for n in iterations]
        agents = [*files, self.opponent(run, "teacher")]
        anchor = files[iterations.index(ANCHOR) if ANCHOR in iterations else 0]
        found = tournament(
            run.game, agents, games, seed=self.seed, workers=self.workers, anchor=(anchor, 1500.0), exploitability=False
        )
        if found.stopped:
            raise KeyboardInterrupt
        rows = {row["agent"]: row for row in found.as_dict()["ratings"]}
        names = [*map(str, iterations), "teacher"]
        return {"rows": [
            [name, rows[agent]["rating"], rows[agent]["high"] - rows[agent]["rating"], rows[agent]["seconds"]]
            for name, agent in zip(names, agents, strict=True)
        ]}  # fmt: skip

    # The page -------------------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The page and its picture, of what is done."""
        self.has_news = False
        self.draw()
        command = f"unseen reproduce exit_oos {'--quick ' * self.is_quick}--seed {self.seed}"
        parts = [
            f"`{command}` made this page, with what it has come to so far. Win rates (%, a draw counts half) are of "
            f"{self.scale.games:,} games, with 95% intervals; the teacher is that of the authors' matches, with uniform playouts: "
            f"`{TEACHER}`.",
            "## Figure 1: Leduc poker", f"![exploitability during training]({self.picture.name})", self.curves(),
            "## Tables 1 to 4", self.rates(), "## Table 5: ratings in II-Goofspiel", self.ratings(),
        ]  # fmt: skip
        if not self.is_quick:
            parts += ["## Claims", claims_table(self.claims()), "## What is different", WHY]
        write_page(self.folder / page_name(self.is_quick), "ExIt-OOS: the paper's experiments", parts)

    def runs(self, is_curve: bool) -> Iterator[tuple[Run, list[Iteration]]]:
        for run in self.scale.runs:
            if run.is_curve == is_curve and (log := self.log(run)):
                yield run, log

    def exploitability(self, log: Sequence[Iteration], iterations: int | None = None) -> float | None:
        """What is known after so many iterations, or last."""
        known = [i.exploitability for i in log if i.exploitability is not None and iterations in (None, i.iteration)]
        return known[-1] if known else None

    def curves(self) -> str:
        found: dict[tuple[str, int], list[float]] = {}
        for run, log in self.runs(is_curve=True):
            for n in run.iterations:
                if n <= len(log) and (x := self.exploitability(log, n)) is not None:
                    found.setdefault((run.title, n), []).append(x)
        rows = [[title, f"{n}", _mean(x), f"{len(x)}"] for (title, n), x in found.items()]
        return table(("self-play with", "iterations", "exploitability of the network (sum)", "seeds"), rows)

    def draw(self) -> None:
        figure = new_figure(6.4, 4.0)
        axes = figure.subplots()
        titles = list(dict.fromkeys(run.title for run in self.scale.runs if run.is_curve))
        for run, log in self.runs(is_curve=True):
            known = [(i.iteration, i.exploitability) for i in log if i.exploitability is not None]
            if known:
                color = f"C{titles.index(run.title)}"
                label = None if run.seed else run.title
                axes.plot(*zip(*known, strict=True), "o-", markersize=3, linewidth=1.2, color=color, label=label)
        axes.set(xlabel="iterations", ylabel="exploitability of the network (sum)", title="Leduc poker", ylim=(0, None))
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize=8, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        save_picture(figure, self.picture, force=True)

    def rate_of(self, run: Run, iterations: int, opponent: str, sharpness: float = 1.0) -> Rate | None:
        cell = self.cells.get(match_name(run, iterations, opponent, sharpness))
        return tuple(cell["rate"]) if cell else None

    def rates(self) -> str:
        rows = []
        for run, log in self.runs(is_curve=False):
            for n in run.iterations:
                found = [self.rate_of(run, n, opponent) for opponent in OPPONENTS]
                if all(found):
                    paper = [f"{x}" for x in run.paper.get(n, ("", ""))]
                    exact = self.exploitability(log, n)
                    cells = [cell for rate, theirs in zip(found, paper, strict=True) for cell in (_percent(rate), theirs)]
                    sharp = [_percent(self.rate_of(run, n, opponent, SHARPNESS)) for opponent in OPPONENTS]
                    rows.append([run.title, f"{n}", *cells, "" if exact is None else f"{exact:.3f}", *sharp])
        head = (
            "game", "iterations", "against random", "the paper", "against the teacher", "the paper", "exploitability (sum)",
            f"probabilities to the power of {SHARPNESS:g}: against random", "against the teacher",
        )  # fmt: skip
        return table(head, rows)

    def ratings(self) -> str:
        rows = []
        paper = {"100": "1500 (fixed)", "200": "1531", "500": "1600", "teacher": "1572"}
        for run in self.scale.runs:
            cell = self.cells.get(f"{run.title} ratings")
            is_same = any(name == f"{ANCHOR}" for name, *_ in cell["rows"]) if cell else False
            for name, rating, half, seconds in cell["rows"] if cell else ():
                shown = f"{rating:.0f} (fixed)" if half == 0.0 else f"{rating:.0f} ± {half:.0f}"
                label = "OOS" if name == "teacher" else f"network, {name} iterations"
                rows.append([label, shown, paper.get(name, "") if is_same else "", f"{1000 * seconds:.2f}"])
        return table(("agent", "rating (95%)", "the paper", "ms a move"), rows)

    def claims(self) -> list[Claim]:
        """Those of Section 4; only of what has been measured."""
        claims = []
        curves: dict[str, list[float]] = {}
        for run, log in self.runs(is_curve=True):
            if (x := self.exploitability(log)) is not None:
                curves.setdefault(run.title, []).append(x)
        if len(curves) > 1:
            claims.append(Claim(
                "Figure 1: performance is very dependent on how many search simulations are run",
                "; ".join(f"{title}: {_mean(found)}" for title, found in curves.items()),
                all(min(a) > max(b) for a, b in pairwise(curves.values())),
            ))  # fmt: skip
        for run, log in self.runs(is_curve=False):
            known = [(n, rate) for n in run.iterations if (rate := self.rate_of(run, n, "teacher"))]
            if not known:
                continue
            (_, first), (_, last) = known[0], known[-1]
            ends = dict.fromkeys(f"{_percent(rate)} after {n}" for n, rate in (known[0], known[-1]))
            said = f"{', '.join(ends)} of {max(run.iterations)} iterations"
            if "Dice" in run.title:
                held = True if last[1] >= 0.5 else False if last[2] < 0.5 else None
                claims.append(Claim(f"{run.title}: the network wins at least half of its games against its teacher", said, held))
            elif run.is_rated:
                grows = last[0] > first[0] + (first[0] - first[1])
                claims.append(Claim(f"{run.title}: increasing performance", said, grows if len(known) > 1 else None))
                is_done = len(log) >= max(run.iterations)
                claims.append(Claim(
                    f"{run.title}: eventually slightly surpassing the teacher", said,
                    True if last[1] > 0.5 else (False if is_done and last[2] < 0.5 else None),
                ))  # fmt: skip
            else:
                is_flat = last[0] <= first[2]
                claims.append(Claim(f"{run.title}: performance reaches a ceiling", said, is_flat if len(known) > 1 else None))
        rated = next((cell["rows"] for run in self.scale.runs if (cell := self.cells.get(f"{run.title} ratings"))), None)
        if rated:
            ratio = rated[-1][3] / max(rated[0][3], 1e-9)
            claims.append(Claim(
                "networks execute orders of magnitude faster than running the search", f"{ratio:,.0f} times as fast", ratio >= 100.0
            ))  # fmt: skip
        return claims


def match_name(run: Run, iterations: int, opponent: str, sharpness: float) -> str:
    return f"{run.title} {iterations} {'sharp ' if sharpness != 1.0 else ''}{opponent}"


def _mean(found: Sequence[float]) -> str:
    """The mean over seeds, with the least and the largest."""
    mean = sum(found) / len(found)
    return f"{mean:.3f}" if len(found) == 1 else f"{mean:.3f} ({min(found):.3f} to {max(found):.3f})"


def teacher(settings: Settings) -> str:
    """The player of the authors' matches: the expert with a smaller delta, and 10,000 simulations for each player."""
    name, options = parse(settings.expert, "agent")
    options |= {"delta": TEACHER_DELTA, "simulations": TEACHER_SIMULATIONS}
    return f"{name}({', '.join(f'{option}={value}' for option, value in options.items())})"


def _percent(rate: Rate | None) -> str:
    return "" if rate is None else f"{100 * rate[0]:.1f} ({100 * rate[1]:.1f} to {100 * rate[2]:.1f})"


def reproduce(folder: Path, quick: bool = False, seed: int = 0, say: Say = print, workers: int | None = None) -> Sequence[Claim]:
    """Run the experiment, or what is missing of it, in a folder, and write a page there. Returns what it says of claims."""
    cores = 1 if quick else core_count()  # small tasks are done before another process has started
    experiment = Experiment(folder, QUICK if quick else FULL, seed, say, workers or cores)
    experiment.run()
    return [] if quick else experiment.claims()

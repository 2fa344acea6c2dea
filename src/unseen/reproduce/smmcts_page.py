"""The page on simultaneous-move MCTS: its tables, its figure, and for each claim of the paper whether it held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, log10, sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.arena.intervals import margin, margins
from unseen.reproduce.cells import Cell
from unseen.reproduce.page import Claim, claims_table, write_page
from unseen.reproduce.smmcts_setup import (
    HALVES,
    NAMES,
    RATES,
    SHOWN,
    TABLE_1,
    TABLE_2,
    THRESHOLDS,
    VARIANTS,
    Scale,
    pairs,
    player,
    simulations,
)
from unseen.show.figures import new_figure, save_picture
from unseen.show.markdown import table

READINGS = """\
- *Simulations.* A search has as many as the paper's second (Table 2's rates for PD-Goof(11)), also in Table 1, where games have
  13 cards and the paper's second had fewer.
- *Constants for points.* C = 150 and gamma = 0.01 are the paper's for PD-Goof(13). It does not say what it took in PD-Goof(11) and
  PD-Goof(4); here they are the same, in points. With 4 cards C = 150 is 7.5 times the range of payoffs, so DUCT hardly does more
  than try all actions equally often.
- *Nodes.* "Each state is represented by one node" can mean that two histories which lead to one state share a node. The paper's
  pseudo-code is about a tree, so a node here is a history, and sharing is among the other ways.
- *Figure 4.* Its text does not say whose exploitability is drawn, nor which DUCT. Here it is the mean of both players', with
  payoffs 0, 1/2, 1 (WL) or points (PD): a quarter and a half of what `unseen measure` prints, the sum of both with payoffs
  -1, 0, 1 or points; and its DUCT is taken for DUCT(max).
- *Exp3 in Figure 4.* Neither a node for each history nor one for each state gives the paper's runs below 0.1. If the prizes came in
  a fixed order, which the paper does not say, ten runs of each end at 0.04 (ascending) and 0.007 (descending), all below 0.1, and
  Exp3 would be ahead of RM and OOS+ in the end, as it says. Its curves lie between.
- *RM and OOS+.* Section 4.2 says that "RM and OOS" win against all others; Table 1 and Section 5 say that it is RM and OOS+.
- *Verdicts* compare means by their 95% intervals, each comparison by itself. A claim of many comparisons did not hold if one of
  them is significantly the other way round; with sixteen of them that can be chance.
- *Ex_d* is in points to the player whose plan it is. The paper's formula adds up values and takes a maximum; what is meant, and
  computed here, is V* less the least that the plan gets. Chance counts as a move, as in its formula, so after an upcard Ex_2 is
  what one bid loses and Ex_4 two. Both are below what it prints, by a quarter to seven tenths; why is not known."""


EVEN = {"WL": 3.0, "PD": 1.0}
"""An interval that is no wider says that two are even."""
PAPER_ITERATIONS = 100_000


@dataclass(frozen=True)
class Estimate:
    """A mean of `n` draws, with half of its 95% interval."""

    mean: float
    margin: float
    n: int

    def __str__(self) -> str:
        """With two digits of the margin."""
        digits = min(4, max(0, 1 - floor(log10(self.margin)))) if 0.0 < self.margin < inf else 2
        return f"{self.mean:.{digits}f} ± {self.margin:.{digits}f}"


def estimate(draws: Sequence[float] | NDArray[np.float64], per: int = 1) -> Estimate:
    """The mean of numbers of which each `per` are one draw: the games of a pair."""
    each = np.asarray(draws, float).reshape(-1, per).mean(axis=1)
    return Estimate(float(each.mean()), margin(each), len(each) * per)


def above(found: Estimate, line: float = 0.0) -> bool | None:
    """Whether a mean is above a line; None if its interval does not tell."""
    return True if found.mean - found.margin > line else False if found.mean + found.margin < line else None


def below(one: Estimate, other: Estimate) -> bool | None:
    """Whether one mean is below another; None if their difference does not tell."""
    return above(Estimate(other.mean - one.mean, sqrt(one.margin**2 + other.margin**2), min(one.n, other.n)))


def marked(points: int) -> list[int]:
    """Some points of a curve: after about a tenth, a fifth and half of it, and at its end."""
    return sorted({max(0, share - 1) for share in (points // 10, points // 5, points // 2, points)})


def all_of(verdicts: Sequence[bool | None]) -> bool | None:
    return False if False in verdicts else None if None in verdicts else True


class Findings:
    """What the cells of an experiment say."""

    def __init__(self, cells: Mapping[str, Cell], scale: Scale) -> None:
        self.cells, self.scale = cells, scale

    def batches(self, kind: str) -> list[Cell]:
        """The batches there are of a measurement."""
        counts = range(max(self.scale.batches, self.scale.batches_2))
        return [self.cells[f"{kind} {batch}"] for batch in counts if f"{kind} {batch}" in self.cells]

    def result(self, half: str, name: str, other: str) -> Estimate | None:
        """What the first of a pair won: percent, or points a game."""
        flip = (name, other) not in pairs()
        cells = self.batches(f"match {half} " + (f"{other} {name}" if flip else f"{name} {other}"))
        if not cells:
            return None
        payoffs = np.concatenate([cell["payoffs"] for cell in cells]) * (-1 if flip else 1)
        return estimate(50 * (1 + payoffs) if half == "WL" else payoffs, per=2)

    def plan(self, name: str, place: int) -> Estimate | None:
        """Ex_d of Table 2: the mean over starts; every search is a draw within its start."""
        cells = self.batches(f"depth {name}")
        if not cells:
            return None
        losses = np.concatenate([np.array(cell["losses"])[place] for cell in cells], axis=1)  # (starts, searches)
        return Estimate(float(losses.mean()), sqrt(float((margins(losses) ** 2).sum())) / len(losses), losses.size)

    def lines(self, half: str, label: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Simulations and, (runs, points), exploitabilities in the paper's scale."""
        cell = self.cells.get(f"curve {half} {label}")
        return (np.array(cell["simulations"]), np.array(cell["sums"]) / (4 if half == "WL" else 2)) if cell else None

    # The page -------------------------------------------------------------------------------------------------------------------

    def write(self, path: Path, picture: Path, command: str, about: str) -> None:
        """The page and its picture, of what is done."""
        self.draw(picture)
        parts = [
            f"`{command}` made this page. {about} A number in brackets is the paper's. Intervals are 95%.",
            "## Table 1: matches", *(self.table_1(half) for half in HALVES),
            "## Table 2: depth-limited exploitability", self.table_2(),
            "## Figure 4: convergence", f"![Figure 4]({picture.name})", self.figure_numbers(),
            "## Claims", claims_table(self.claims()),
            "## Beyond the paper: against an equilibrium", self.against_optimal(),
            "## Beyond the paper: other ways to explore", self.variants(),
            "## How the paper was read, and where this differs", READINGS,
        ]  # fmt: skip
        write_page(path, "Simultaneous-move MCTS: the paper's experiments", parts)

    def table_1(self, half: str) -> str:
        rows = []
        for i, name in enumerate(NAMES):
            row = [f"{name} `{player(name, half, self.scale)}`"]
            for j, other in enumerate(("RND", *NAMES[:-1])):
                found = self.result(half, name, other) if j <= i else None
                row.append(f"{found} ({TABLE_1[half][i][j]})" if found else "")
            rows.append(row)
        what = "Win percentages, draws counting half," if half == "WL" else "Points a game"
        games = [found.n for name, other in pairs() if (found := self.result(half, name, other))]
        text = f"{what} of the row's player against the column's in `{self.scale.table_1[half]}`; "
        text += f"{min(games, default=0)} games a cell, in pairs with the same prizes and the seats changed."
        return f"{text}\n\n" + table(("", "RND", *NAMES[:-1]), rows)

    def table_2(self) -> str:
        rows = []
        for name in NAMES:
            cells, estimates = self.batches(f"depth {name}"), [self.plan(name, place) for place in (0, 1)]
            if cells:
                rate = float(np.mean([cell["rate"] for cell in cells]))
                found = [f"{each} ({TABLE_2[name][place]})" for place, each in enumerate(estimates)]
                rows.append([name, *found, f"{simulations(name, self.scale):,}", f"{rate:,.0f} ({RATES[name]:,})"])
        searches = sum(len(cell["losses"][0][0]) for cell in self.batches(f"depth {NAMES[-1]}"))
        text = f"`{self.scale.table_2}`, {searches} searches for each first upcard, mean of both players, in points. "
        text += "Simulations a second are those of these searches, beside whatever else the machine did; "
        text += "`python benchmarks/search.py --joint` measures them by themselves."
        return f"{text}\n\n" + table(("", "Ex_2", "Ex_4", "simulations a search", "simulations a second here, on one core"), rows)

    def draw(self, picture: Path) -> None:
        figure = new_figure(11, 16)
        panels = figure.subplots(5, 2)
        for column, half in enumerate(HALVES):
            for row, name in enumerate(SHOWN):
                axes, found = panels[row, column], self.lines(half, name)
                if found:
                    for threshold in THRESHOLDS[half]:
                        axes.plot(found[0], 100 * (found[1] < threshold).mean(axis=0), label=f"below {threshold}")
                axes.set(title=f"{name}, {half}-Goof", ylabel="runs (%)", ylim=(-3, 103))
                axes.grid(alpha=0.3)
                if found:
                    axes.legend(fontsize=7, frameon=False)
            axes = panels[4, column]
            for place, name in enumerate(NAMES):
                if found := self.lines(half, name):
                    axes.plot(found[0], found[1].mean(axis=0), color=f"C{place}", label=name)
                if found := self.lines(half, f"{name}, a node for each state"):
                    axes.plot(found[0], found[1].mean(axis=0), color=f"C{place}", linestyle=":", linewidth=1)
            axes.set(title=f"mean, {half}-Goof (dotted: a node for each state)", xlabel="simulations", ylabel="exploitability")
            axes.set_ylim(0, None)
            axes.grid(alpha=0.3)
            if axes.lines:
                axes.legend(fontsize=7, frameon=False, ncols=2)
        save_picture(figure, picture, force=True)

    def at_end(self, half: str, label: str) -> Estimate | None:
        found = self.lines(half, label)
        return estimate(found[1][:, -1]) if found else None

    def figure_numbers(self) -> str:
        rows = []
        for half in HALVES:
            for name in NAMES:
                if found := self.lines(half, name):
                    marks = marked(len(found[0]))
                    rows.append([f"{half}-Goof", name, *(str(estimate(found[1][:, k])) for k in marks)])
        parts = [f"{found[0][k]:,} simulations" for k in marked(len(found[0]))] if found else []
        text = f"{self.scale.runs} runs of {self.scale.iterations:,} simulations in `{self.scale.figure_4['WL']}` and "
        text += f"`{self.scale.figure_4['PD']}`; mean exploitability after"
        return f"{text}\n\n" + table(("game", "algorithm", *parts), rows)

    def against_optimal(self) -> str:
        rows = []
        for name in NAMES:
            if cells := self.batches(f"loss {name}"):
                losses, payoffs = (np.concatenate([cell[key] for cell in cells]) for key in ("losses", "payoffs"))
                rows.append([name, f"{estimate(losses, per=2)}", f"{estimate(payoffs, per=2)}", str(len(losses))])
        text = f"What the six lose a game, in points, to `optimal` in `{self.scale.table_2}`, with the simulations of Table 2: "
        text += "without luck (see `unseen measure --method loss`), and as it came."
        return f"{text}\n\n" + table(("", "expected loss", "points won", "games"), rows)

    def variants(self) -> str:
        rows = []
        for label in (*NAMES, *VARIANTS):
            found = [self.at_end(half, label) for half in HALVES]
            if all(found):
                rows.append([label, *map(str, found)])
        text = "Figure 4's experiment, exploitability at the end. *C a half*: of the paper's C; *states*: a node for each state."
        return f"{text}{self.best_variant()}\n\n" + table(("", *(f"{half}-Goof" for half in HALVES)), rows)

    def best_variant(self) -> str:
        """Whether another way is better than the paper's best."""
        said = []
        for half in HALVES:
            ours, theirs = (
                {label: found for label in labels if (found := self.at_end(half, label))} for labels in (VARIANTS, NAMES)
            )
            if ours and theirs:
                new, old = min(ours, key=lambda k: ours[k].mean), min(theirs, key=lambda k: theirs[k].mean)
                word = {True: "is below", False: "is not below", None: "cannot be told from"}[below(ours[new], theirs[old])]
                said.append(f"In {half}-Goof the best of these, *{new}*, {word} the best of the paper's six, *{old}*.")
        return " " + " ".join(said) if said else ""

    # Claims -----------------------------------------------------------------------------------------------------------------------

    def claims(self) -> list[Claim]:
        """What the paper says, and what the cells say; only of what has been measured."""
        found = [*self.match_claims(), *self.plan_claims(), *self.curve_claims()]
        is_judged = self.scale.iterations >= PAPER_ITERATIONS  # smaller games and fewer simulations say nothing of its claims
        return [claim if is_judged else replace(claim, held=None) for claim in found if claim is not None]

    def wins(self, names: Sequence[str], others: Sequence[str], text: str) -> Claim | None:
        """Whether some win against others in both halves."""
        said, verdicts = [], []
        for half in HALVES:
            for name in names:
                for other in others:
                    found = self.result(half, name, other) if name != other else None
                    if found is None:
                        if name != other:
                            return None
                        continue
                    said.append(f"{half} {name} v {other} {found}")
                    verdicts.append(above(found, 50.0 if half == "WL" else 0.0))
        return Claim(text, "; ".join(said), all_of(verdicts))

    def match_claims(self) -> list[Claim | None]:
        others = [name for name in NAMES if name != "DUCT(max)"]
        rest = [name for name in NAMES if name not in ("RM", "OOS+")]
        claims = [
            self.wins(NAMES, ("RND",), "Table 1: all win clearly against random play"),
            self.wins(others, ("DUCT(max)",), "Section 4.2: DUCT(max) loses to every other algorithm in both games"),
            self.wins(("RM", "OOS+"), rest, "Sections 4.2 and 5: RM and OOS+ win against every other algorithm in both games"),
            self.wins(("Exp3",), ("OOS",), "Section 4.2: Exp3 performs better than standard OOS in both games"),
        ]
        found = {
            (half, other): each
            for half in HALVES
            for other in ("OOS+", "OOS", "DUCT(mix)")
            if (each := self.result(half, "RM", other))
        }
        if len(found) == 6:
            said = {other: "; ".join(f"{half} {found[half, other]}" for half in HALVES) for other in ("OOS+", "OOS", "DUCT(mix)")}
            is_narrow = all(found[half, "OOS+"].margin <= EVEN[half] for half in HALVES)
            even = [above(found["WL", "OOS+"], 50.0), above(found["PD", "OOS+"])] == [None, None]
            claims.append(Claim(
                "Section 4.2: RM against OOS+: no significant winner (held only if the intervals are within 3 percent and 1 point)",
                said["OOS+"], None if even and not is_narrow else even,
            ))  # fmt: skip
            varies = [
                below(found["WL", "DUCT(mix)"], found["WL", "OOS"]), below(found["PD", "OOS"], found["PD", "DUCT(mix)"]),
            ]  # fmt: skip
            claims.append(Claim(
                "Section 4.2: relative strength varies: RM gains more from OOS than from DUCT(mix) in WL-Goof, less in PD-Goof",
                f"OOS: {said['OOS']}; DUCT(mix): {said['DUCT(mix)']}", all_of(varies),
            ))  # fmt: skip
        return claims

    def plan_claims(self) -> list[Claim | None]:
        plans = {(name, place): found for name in NAMES for place in (0, 1) if (found := self.plan(name, place))}
        if len(plans) < 2 * len(NAMES):
            return []

        def compare(text: str, lower: Sequence[str], higher: Sequence[str]) -> Claim:
            verdicts, shown = [], dict.fromkeys((*lower, *higher))
            for place in (0, 1):
                verdicts += [below(plans[a, place], plans[b, place]) for a in lower for b in higher if a != b]
            said = "; ".join(f"{name} {plans[name, 0]}, {plans[name, 1]}" for name in shown)
            return Claim(text, said, all_of(verdicts))

        others = [name for name in NAMES if name != "DUCT(max)"]
        return [
            compare("Section 4.3: OOS has the lowest Ex_2 and Ex_4", ("OOS",), [name for name in NAMES if name != "OOS"]),
            compare("Section 4.3: all others are less exploitable than DUCT(max)", others, ("DUCT(max)",)),
            compare("Table 2: DUCT(mix) is less exploitable than Exp3, OOS+ and RM", ("DUCT(mix)",), ("Exp3", "OOS+", "RM")),
        ]

    def curve_claims(self) -> list[Claim | None]:
        lines = {(half, name): found for half in HALVES for name in NAMES if (found := self.lines(half, name))}
        if len(lines) < len(HALVES) * len(NAMES):
            return []
        points = len(lines["WL", "RM"][0])
        early, late = max(0, points // 5 - 1), points - 1

        def at(half: str, name: str, k: int) -> Estimate:
            return estimate(lines[half, name][1][:, k])

        def rises(half: str, name: str) -> bool | None:
            """From early to late, run by run."""
            line = lines[half, name][1]
            return above(estimate(line[:, late] - line[:, early]))

        falls = [rises(half, name) for half in HALVES for name in ("Exp3", "OOS+", "RM")]
        said = "; ".join(f"{half} {name} {at(half, name, early)}, then {at(half, name, late)}" for half in HALVES for name in SHOWN)
        exp3 = lines["WL", "Exp3"][1]
        after = exp3[:, max(0, 3 * points // 10 - 1) :]
        share = float((exp3[:, -1] < 0.1).mean())
        quick_start = [below(at("WL", name, early), at("WL", "Exp3", early)) for name in ("OOS+", "RM")]
        later = [below(at("WL", "Exp3", late), at("WL", name, late)) for name in ("OOS+", "RM")]
        wl = [", ".join(f"{name} {at('WL', name, k)}" for name in ("OOS+", "RM", "Exp3")) for k in (early, late)]
        dominates = [below(at("PD", "RM", k), at("PD", name, k)) for k in (early, late) for name in NAMES if name != "RM"]
        return [
            Claim("Figure 4: DUCT does not converge; its exploitability increases after 20,000 iterations (here: DUCT(max))",
                  "; ".join(f"{half} {at(half, 'DUCT(max)', early)}, then {at(half, 'DUCT(max)', late)}" for half in HALVES),
                  all_of([rises(half, "DUCT(max)") for half in HALVES])),
            Claim("Figure 4: Exp3, OOS+ and RM converge: exploitability falls (after a fifth of the simulations, and all)", said,
                  all_of([None if rise is None else not rise for rise in falls])),
            Claim("Figure 4: Exp3 in WL-Goof(4) is always below 0.3 after 30,000 iterations, and below 0.1 in 49 of 100 runs after "
                  "100,000", f"largest {after.max():.3f}; {share:.0%} below 0.1, mean {at('WL', 'Exp3', late)}",
                  bool(after.max() < 0.3 and abs(share - 0.49) < 2 * sqrt(0.25 / len(exp3) + 0.25 / 100))),
            Claim("Figure 4: in WL-Goof(4) OOS+ and RM are faster in the early iterations, Exp3 with more",
                  f"after a fifth {wl[0]}; after all {wl[1]}", all_of(quick_start + later)),
            Claim("Figure 4: in PD-Goof(4) RM clearly dominates after 20,000 iterations",
                  "; ".join(f"{name} {at('PD', name, late)}" for name in NAMES), all_of(dominates)),
        ]  # fmt: skip

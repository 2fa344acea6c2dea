"""The page of the experiments on presumed payoffs: what the paper prints, what was found here, and what became of its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.arena.intervals import margin, of_pairs
from unseen.reproduce.cells import Cell
from unseen.reproduce.page import Claim, claims_table, write_page
from unseen.show.markdown import table

GAME = "phantom_ttt"
SMALL = ("xx", "xi")
CFR = "CFR"
AGENTS = {"PPP": "ppp", "SP": "pimc", "VMM": "vmm", "PRM": "prm", "RAND": "random"}
COLUMNS = (CFR, *AGENTS)
TABLE_1 = {
    "xx": {"PPP": 0.0, "SP": 0.0, "RAND": 0.5, "NASH": 1.0, "VMM": 1.0, "PRM": 1.0},
    "xi": {"VMM": -1.0, "PRM": -1.0, "SP": -1.0, "RAND": -0.5, "NASH": 0.0, "PPP": 0.0},
}
"""The paper's; its VM stands for both VMM and PRM."""
FIGURE_3 = {
    "centre": (0.759, 0.0, 0.938, 0.19), "corner": (0.124, -0.625, 0.3, 0.19), "edge": (-0.136, -0.875, 0.038, 0.19),
}  # fmt: skip
TABLE_3 = {
    "CFR": (0.6654, 0.6653, 0.6655, 0.8124, 0.7333, 0.9348), "PPP": (0.6666, 0.7503, 0.7501, 0.8593, 0.7555, 0.9532),
    "SP": (0.6321, 0.4538, 0.4533, 0.7712, 0.5574, 0.9343), "VMM": (0.1333, -0.0207, -0.0195, 0.1095, 0.1718, 0.7040),
    "PRM": (0.2109, -0.0876, -0.0873, 0.1461, 0.1006, 0.7107), "RAND": (-0.3789, -0.6192, -0.6172, -0.4849, -0.4542, 0.2970),
}  # fmt: skip
TABLE_4 = {
    "CFR": ((71.82, 5.28), (74.69, 8.16), (74.72, 8.17), (85.32, 4.09), (78.85, 5.53), (94.54, 1.06)),
    "PPP": ((66.66, 0.00), (75.03, 0.00), (75.01, 0.00), (85.93, 0.00), (75.55, 0.00), (95.32, 0.00)),
    "SP": ((65.69, 2.48), (59.00, 13.62), (58.98, 13.65), (81.38, 4.27), (66.93, 11.19), (93.98, 0.55)),
    "VMM": ((42.88, 29.55), (36.30, 38.36), (36.45, 38.40), (44.21, 33.26), (48.16, 30.97), (79.67, 9.27)),
    "PRM": ((51.61, 30.53), (37.94, 46.70), (37.98, 46.71), (49.37, 34.76), (47.94, 37.88), (81.21, 10.14)),
    "RAND": ((20.69, 58.58), (12.43, 74.35), (12.57, 74.30), (18.58, 67.07), (20.89, 66.31), (58.50, 28.80)),
}
TABLE_5 = {"CFR": (0.0047, 0.6676, -0.6629), "PPP": (0.3750, 1.0, -0.6250), "SP": (0.5648, 1.0, -0.4352)}
ACCURACY = 0.0008
"""How far the paper's payoffs may be off (98%)."""
READINGS = {
    "VMM": "vmm", "PRM": "prm", "VMM, such worlds left out": "vmm(skips_missing=true)",
    "PRM, such worlds left out": "prm(skips_missing=true)",
}  # fmt: skip
KNOWLEDGE = tuple(f"ppp(knowledge={k:g})" for k in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0))
MIXES = tuple(
    f"ppp(mixing={way})"
    for way in (
        "near, temperature=0.1", "near, temperature=0.15", "near, temperature=0.2", "near, temperature=0.3",
        "softmax, temperature=0.02", "softmax, temperature=0.1", "softmax, temperature=0.5", "worlds", "regret",
        "near, temperature=0.15, mixes_as=second", "regret, mixes_as=second",
    )
)  # fmt: skip
MIXED = MIXES[-1]
"""The least exploitable."""
SECONDS = 0.25
PLAYERS = {
    **{name: f"{name}(worlds=1000, nodes=1000000000, seconds={SECONDS})" for name in ("pimc", "ppp", "pvp")},
    "ismcts": f"ismcts(seconds={SECONDS})",
    "oos": f"oos(targeting=public, seconds={SECONDS})", "random": "random",
}  # fmt: skip
SCHNAPSEN = [
    ("pimc", "random", 1.0), ("ppp", "random", 1.0),
    *((PLAYERS[first], PLAYERS[second], share) for first, second, share in (
        ("ppp", "pimc", 0.4), ("pimc", "ismcts", 0.4), ("ppp", "ismcts", 0.4), ("pimc", "random", 0.1), ("ppp", "random", 0.1),
        ("ppp", "oos", 0.1), ("pimc", "oos", 0.1), ("ismcts", "oos", 0.1), ("ismcts", "random", 0.1), ("oos", "random", 0.1),
    )),
]  # fmt: skip
"""Who plays whom, and which share of the deals."""
MATCHES = [(PLAYERS["pvp"], PLAYERS["ppp"])]
WHY = """\
- *What a world is.* A placement of the opponent's marks that fits what was seen, each once, in which the game is not over. An
  action counts in the worlds in which its square is free; equal actions are chosen evenly. With this, all cells of PPP, SP and
  RAND are the paper's.
- *k.* The paper omits its formula. We take the share of one's marks that an opponent who tries squares at random has met on
  average, which is 4/21 = 0.190 for the second mark of the game, as printed. It matters little: see the table of other values.
- *VMM and PRM* are not reproduced. Ours are the textbook algorithms (Frank and Basin 2001): the tree is that of the moves,
  which all can see; MIN chooses in each world, MAX the vector with the best mean, and the mean of several such. The paper does
  not say what becomes of a world in which the square that MAX has chosen is taken. Here MAX plays on in such worlds alone; or
  they have no part in the vector. Both are far stronger than the paper's, which lose 9 and 10% of their games as X against
  RAND, "due to the assumption of an opponent that is perfectly informed". What the authors did instead we could not find out,
  and we have not fitted a variant to the table. That VMM and PRM agree in every cell is no mistake: reducing payoffs changes
  their vectors, and hardly ever the square that they choose.
- *CFR.* The paper's strategy comes from 64,000 iterations of CFR. Ours comes from DCFR, stopped at the same exploitability;
  near an equilibrium strategies differ where it costs nothing, so its cells against weak players differ, too.
- *Table 1.* The paper sets k = 0 in these games, in which nothing is ever revealed; so `ppp(knowledge=0)` plays here."""


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    equilibria: dict[str, float]
    """Solved strategies: what they are called, and how exploitable they may be."""
    knowledge: tuple[str, ...]
    mixes: tuple[str, ...]
    batches: int
    """Of deals of Schnapsen, for pairs that play all."""
    deals: int
    match_batches: int
    matches: int


class Findings:
    """What the cells say."""

    def __init__(self, cells: dict[str, Cell], scale: Scale) -> None:
        self.cells, self.scale = cells, scale

    def pair(self, first: str, second: str) -> Cell | None:
        """What was found of one agent moving first and another second."""
        pairs = self.cells.get("pairs", {"pairs": []})["pairs"]
        return next((p for p in pairs if (p["first"], p["second"]) == (first, second)), None)

    def mean(self, first: str, second: str) -> float:
        found = self.pair(first, second)
        return float(found["mean"]) if found else float("nan")

    def write(self, path: Path, command: str) -> None:
        parts = [
            "F. Wisser, *Evaluating the performance of Presumed Payoff Perfect Information Monte Carlo sampling against optimal "
            f"strategies*, 2016. Made by `{command}`. Exploitability is the sum of both best-response values.",
            "## What the paper says", claims_table(self.claims()), *self.tables(), "## Why some numbers differ", WHY,
        ]  # fmt: skip
        write_page(path, "Presumed payoffs, run again", parts)

    def tables(self) -> list[str]:
        made = [self.table_1(), self.figure_3(), self.table_3(), self.table_4(), self.table_5(), self.readings(), self.other_k()]
        return [text for part in (*made, self.mixes(), self.schnapsen()) if part for text in part]

    # Tables ---------------------------------------------------------------------------------------------------------------------

    def table_1(self) -> list[str]:
        rows = []
        for game in SMALL:
            found = self.cells.get(f"table 1 {game}")
            if found:
                rows += [
                    (game.upper(), name, f"{found['payoffs'][name] + 0.0:.4f}", f"{TABLE_1[game][name]:g}")
                    for name in TABLE_1[game]
                ]
        return ["## Table 1: XX and XI, exactly", table(("game", "agent", "payoff", "paper"), rows)] if rows else []

    def figure_3(self) -> list[str]:
        if "figure 3" not in self.cells:
            return []
        rows = []
        for where, square in (("centre", 4), ("corner", 0), ("edge", 1)):
            one = self.explained(square)
            ours = ", ".join(f"{one[c]:.4f}" for c in ("pp", "ap", "tp", "k"))
            rows.append((where, ours, ", ".join(f"{x:g}" for x in FIGURE_3[where])))
        return ["## Figure 3: O's first move, (pp, ap, tp, k)", table(("square", "here", "paper"), rows)]

    def explained(self, square: int) -> dict[str, Any]:
        found: dict[str, Any] = self.cells["figure 3"]["explained"]["actions"][square]
        return found

    def table_3(self) -> list[str]:
        return self.pair_table(
            "Table 3: payoff of X, exactly (and the paper's, from 2.5 million games)",
            lambda found: f"{found['mean']:.4f}", lambda first, k: f"{TABLE_3[first][k]:.4f}",
        )  # fmt: skip

    def table_4(self) -> list[str]:
        return self.pair_table(
            "Table 4: wins / losses of X in percent, exactly (and the paper's)",
            lambda found: f"{100 * found['win']:.2f} / {100 * found['loss']:.2f}",
            lambda first, k: "{:.2f} / {:.2f}".format(*TABLE_4[first][k]),
        )  # fmt: skip

    def pair_table(self, title: str, ours: Callable[[Cell], str], papers: Callable[[str, int], str]) -> list[str]:
        """Who plays X in rows, who plays O in columns."""
        rows = []
        for first in (*self.scale.equilibria, *AGENTS):
            found = [self.pair(first, second) for second in COLUMNS]
            cells = [ours(pair) + (f" ({papers(first, k)})" if first in TABLE_3 else "") for k, pair in enumerate(found) if pair]
            rows += [(first, *cells)] if cells else []
        return [f"## {title}", table(("X \\ O", *COLUMNS), rows)] if rows else []

    def table_5(self) -> list[str]:
        rows = []
        for name in (*self.scale.equilibria, *AGENTS):
            found = self.cells.get(f"table 5 {name}")
            if found:
                paper = ", ".join(f"{x:.4f}" for x in TABLE_5[name]) if name in TABLE_5 else ""
                rows.append((name, *self.exploited(found), paper))
        head = ("agent", "exploitability", "best response to O", "best response to X", "paper")
        return ["## Table 5: exploitability, exactly", table(head, rows)] if rows else []

    @staticmethod
    def exploited(found: Cell) -> tuple[str, str, str]:
        first, second = found["best_response"]
        return f"{found['exploitability']:.4f}", f"{first:.4f}", f"{second:.4f}"

    def readings(self) -> list[str]:
        if "readings" not in self.cells:
            return []
        pairs = {(p["first"], p["second"]): p for p in self.cells["readings"]["pairs"]}
        rows = []
        for label, spec in READINGS.items():
            first, second = pairs[spec, "random"], pairs["random", spec]
            rows.append((
                label, f"`{spec}`", f"{first['mean']:.4f}, {100 * first['win']:.2f} / {100 * first['loss']:.2f}",
                f"{second['mean']:.4f}, {100 * second['win']:.2f} / {100 * second['loss']:.2f}",
                self.exploited(self.cells[f"table 5 {label}" if label in AGENTS else f"of {spec}"])[0],
            ))  # fmt: skip
        paper = (
            "The paper: VMM 0.7040, 79.67 / 9.27 and -0.4849, 18.58 / 67.07; PRM 0.7107, 81.21 / 10.14 and -0.4542, 20.89 / 66.31."
        )
        head = ("reading", "agent", "X against RAND", "RAND against O", "exploitability")
        return ["## Vector minimax: readings tried", table(head, rows), paper]

    def other_k(self) -> list[str]:
        rows = [
            (f"`{spec}`", *self.exploited(self.cells[f"of {spec}"])) for spec in self.scale.knowledge if f"of {spec}" in self.cells
        ]
        head = ("agent", "exploitability", "best response to O", "best response to X")
        found, text = self.cells.get("beliefs"), []
        if found:
            text = [
                f"The general estimate, `ppp(knowledge=belief)`, decides otherwise at {found['different']:,} of "
                f"{found['questions']:,} questions that the game can ask, each at the first information set at which it comes up."
            ]
        return ["## Other values of k", table(head, rows), *text] if rows else []

    def mixes(self) -> list[str]:
        best = self.cells.get("table 5 PPP")
        rows = []
        for spec in self.scale.mixes if best else ():
            found = self.cells.get(f"of {spec}")
            if found and best:
                as_second = found["best_response"][0] + best["best_response"][1]
                rows.append((f"`{spec}`", *self.exploited(found), f"{as_second:.4f}"))
        if not rows:
            return []
        text = (
            "The paper's closing wish. `near`: evenly among all actions that are not much worse; `softmax`; `worlds`: each action "
            "by the share of worlds in which it is best; `regret`: an equilibrium against an opponent who chooses the world, by "
            "regret matching. As X, PPP loses by mixing, whichever way; as O it gains. So the last column: mixing as O only, "
            f"`mixes_as=second`. PPP as it is has {best['exploitability'] if best else 0.0:.4f}."
        )
        head = ("agent", "exploitability", "best response to O", "best response to X", "mixing as O only")
        return ["## Beyond the paper: truly mixed strategies", text, table(head, rows), *self.mixed_matches()]

    def mixed_matches(self) -> list[str]:
        """What mixing costs and gains against players who do not exploit it."""
        pairs = {(p["first"], p["second"]): p for p in self.cells.get("mixed pairs", {"pairs": []})["pairs"]}
        rows = []
        for first in (CFR, "PPP", "SP", "RAND") if pairs else ():
            found = [pairs[first, second] for second in ("PPP", MIXED)]
            rows.append((first, *(f"{p['mean']:.4f}, {100 * p['win']:.2f} / {100 * p['loss']:.2f}" for p in found)))
        return [table(("payoff, wins / losses of X", "against PPP", f"against `{MIXED}`"), rows)] if rows else []

    def played(self, game: str, first: str, second: str) -> tuple[list[float], list[dict[str, float]]]:
        """The payoffs of all batches, and each player's times."""
        prefix = f"{game} {first} {second} "
        found = [cell for name, cell in sorted(self.cells.items()) if name.startswith(prefix)]
        times = [
            {"mean": sum(c["seconds"][k]["mean"] for c in found) / len(found), "most": max(c["seconds"][k]["most"] for c in found)}
            for k in (0, 1) if found
        ]  # fmt: skip
        return [x for cell in found for x in cell["payoffs"]], times

    def schnapsen(self) -> list[str]:
        rows, short = (
            [],
            {spec: name for name, spec in PLAYERS.items()} | {name: f"{name}, 4 million positions" for name in ("pimc", "ppp")},
        )
        games = [("deals", first, second) for first, second, _ in SCHNAPSEN] + [("matches", *pair) for pair in MATCHES]
        for what, first, second in games:
            payoffs, times = self.played(what, first, second)
            if payoffs:
                wins = sum(x > 0 for x in payoffs) / len(payoffs)
                half = margin(of_pairs([float(x > 0) for x in payoffs]))
                points, wide = sum(payoffs) / len(payoffs), margin(of_pairs(payoffs))
                seconds = " and ".join(f"{1000 * t['mean']:.0f} (at most {1000 * t['most']:.0f})" for t in times)
                rows.append((
                    f"{short[first]} - {short[second]}", f"{len(payoffs)} {what}", f"{100 * wins:.1f}% ± {100 * half:.1f}",
                    f"{points:+z.3f} ± {wide:.3f}", seconds,
                ))  # fmt: skip
        if not rows:
            return []
        text = (
            f"Both have {SECONDS:g} seconds a move, but for `random`, and for `pimc` and `ppp` by default where that is said. "
            "Deals in pairs with the same cards, the seats changed; 95% intervals. `pimc` and `ppp` look at worlds as long as they "
            "may, and finish the first one; `ppp` counts errors in the next two moves. In one deal `pvp` is `ppp`; a match goes "
            "to 7 game points. Times are those of a busy machine."
        )
        head = ("first - second", "played", "wins of the first", "payoff of the first", "milliseconds a move, first and second")
        return ["## Beyond the paper: Schnapsen", text, table(head, rows)]

    # Claims ---------------------------------------------------------------------------------------------------------------------

    def claims(self) -> list[Claim]:
        """What the paper says, and what the cells say; only of what has been measured."""
        found = self.claims_of_small_games()
        if "pairs" in self.cells:
            found += self.claims_of_tables()
        return found

    def claims_of_small_games(self) -> list[Claim]:
        found = []
        for game in SMALL:
            cell = self.cells.get(f"table 1 {game}")
            if cell:
                worst = max(abs(cell["payoffs"][name] - x) for name, x in TABLE_1[game].items())
                found.append(Claim(f"Table 1, {game.upper()}", f"largest difference {worst:.1e}", worst < 1e-9))
        if "figure 3" in self.cells:
            digits = (3, 3, 3, 2)
            is_equal = all(
                round(self.explained(square)[c], d) == x
                for where, square in (("centre", 4), ("corner", 0), ("edge", 1))
                for c, d, x in zip(("pp", "ap", "tp", "k"), digits, FIGURE_3[where], strict=True)
            )
            found.append(Claim("Figure 3", "equal to all printed digits" if is_equal else "other digits", is_equal))
        return found

    def claims_of_tables(self) -> list[Claim]:
        own, mean = ("PPP", "SP", "RAND"), self.mean
        off = max(abs(mean(a, b) - TABLE_3[a][COLUMNS.index(b)]) for a in own for b in own)
        shares = [(self.pair(a, b) or {}, TABLE_4[a][COLUMNS.index(b)]) for a in own for b in own]
        percent = max(max(abs(100 * p["win"] - win), abs(100 * p["loss"] - loss)) for p, (win, loss) in shares)
        five = {name: self.cells[f"table 5 {name}"] for name in (CFR, "PPP", "SP")}
        sums = {name: cell["exploitability"] for name, cell in five.items()}
        losses = [(self.pair("PPP", name) or {})["loss"] for name in COLUMNS]
        against = {name: (mean("PPP", name) - mean("SP", name), mean(name, "SP") - mean(name, "PPP")) for name in COLUMNS}
        worst = min(x for pair in against.values() for x in pair)
        lost = [100 * (self.pair(name, "RAND") or {})["loss"] for name in ("VMM", "PRM")]
        return [
            Claim("Table 3, the nine cells of PPP, SP and RAND (± 0.0008)", f"largest difference {off:.4f}", off <= ACCURACY),
            Claim("Table 4, the same cells (± 0.08%)", f"largest difference {percent:.3f}%", percent <= 100 * ACCURACY),
            Claim("Table 5: PPP 0.3750, SP 0.5648", f"PPP {sums['PPP']:.4f}, SP {sums['SP']:.4f}",
                  round(sums["PPP"], 4) == 0.3750 and round(sums["SP"], 4) == 0.5648),
            Claim("CFR as X does not score better than 2/3 against PPP or SP",
                  f"{mean(CFR, 'PPP'):.4f} and {mean(CFR, 'SP'):.4f}", max(mean(CFR, "PPP"), mean(CFR, "SP")) < 2 / 3 + 0.0047),
            Claim("PPP as X scores 0.6666 against CFR: on par", f"{mean('PPP', CFR):.4f}", abs(mean("PPP", CFR) - 2 / 3) < 0.0047),
            Claim("PPP does not lose a game as X", f"at most {100 * max(losses):.4f}%", max(losses) < 1e-9),
            Claim("PPP exploits itself and SP better than CFR does", f"{mean('PPP', 'PPP'):.4f} and {mean('PPP', 'SP'):.4f}",
                  min(mean("PPP", "PPP") - mean(CFR, "PPP"), mean("PPP", "SP") - mean(CFR, "SP")) > 0),
            Claim("SP as X plays below the optimum against PPP", f"{mean('SP', 'PPP'):.4f}", mean("SP", "PPP") < 2 / 3),
            Claim("RAND as X is exploited more by PPP and SP than by CFR",
                  f"{mean('RAND', 'PPP'):.4f}, {mean('RAND', 'SP'):.4f}, {mean('RAND', CFR):.4f}",
                  max(mean("RAND", "PPP"), mean("RAND", "SP")) < mean("RAND", CFR)),
            Claim("PPP is on par with SP or better in each constellation", f"at worst {worst:+z.4f}", worst > -ACCURACY),
            Claim("VMM and PRM lose about 10% as X even against RAND; PPP is far ahead of them",
                  f"losses {lost[0]:.2f}% and {lost[1]:.2f}%; see the readings", min(lost) > 5.0),
            Claim("PPP is mainly exploitable as O; as X nearly as little as CFR",
                  f"best responses: {five['PPP']['best_response'][0]:.4f} and {five['PPP']['best_response'][1]:.4f}",
                  five["PPP"]["best_response"][0] - 2 / 3 > 5 * (five["PPP"]["best_response"][1] + 2 / 3)),
        ]  # fmt: skip

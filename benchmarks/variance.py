"""How exploitable OOS is with its variance reduced in one way or another, by game and budget: full stitching, mean over seeds.

The defaults of `vr_oos` were chosen by this, and docs/searching.md has its table. `--all` compares every candidate, otherwise only
`oos` and `vr_oos` are; `--out FILE` keeps every number as a line of JSON, and what is there already is not measured again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import geometric_mean, mean

import numpy as np
from rich.console import Console
from rich.table import Table

from unseen import CHANCE, PUBLIC, TERMINAL, Game, measure, parameter


class Auction(Game):
    """Objects are sold one by one, by sealed bids; each bidder alone knows what one is worth to it, and has a purse for all.

    The higher bidder pays its bid; equal bids sell nothing. Who won is told, bids are not. The payoff is the difference of what
    the bidders gained.
    """

    values: int = parameter(4, minimum=1, maximum=20, help="an object is worth 1, 2, ... or this much")
    purse: int = parameter(3, minimum=1, maximum=20, help="coins of each bidder")
    rounds: int = parameter(2, minimum=1, maximum=5, help="objects")
    state = np.dtype([("worth", "i1", (2,)), ("purse", "i1", (2,)), ("gain", "i1", (2,)), ("bid", "i1"), ("moves", "i1")])

    @property
    def num_actions(self):
        return self.purse + 1

    @property
    def num_outcomes(self):
        return self.values

    @property
    def max_length(self):
        return 2 + 2 * self.rounds

    def start(self, s):
        for p in range(2):
            s.purse[p] = self.purse
            s.worth[p] = 0
            s.gain[p] = 0
        s.bid = 0
        s.moves = 0

    def player(self, s):
        if s.moves < 2:
            return CHANCE
        return s.moves % 2 if s.moves < 2 + 2 * self.rounds else TERMINAL

    def actions(self, s, out):
        n = self.values if s.moves < 2 else s.purse[s.moves % 2] + 1
        for k in range(n):
            out[k] = k
        return n

    def apply(self, s, a, tell):
        p = s.moves % 2
        if s.moves < 2:
            s.worth[p] = a + 1
            tell[p] = a + 1
        elif p == 0:
            s.bid = a
        else:
            winner = 0 if s.bid > a else 1
            if s.bid != a:
                paid = max(s.bid, a)
                s.purse[winner] -= paid
                s.gain[winner] += s.worth[winner] - paid
            tell[PUBLIC] = 3 if s.bid == a else winner + 1
            s.bid = 0
        s.moves += 1

    def utility(self, s, who):
        return float(s.gain[who] - s.gain[1 - who])


GAMES = (
    "kuhn_poker", "one_card_poker(cards=10)", "leduc_poker", "liars_dice(faces=3)", "liars_dice(faces=4)", "ii_goofspiel(cards=4)",
    "goofspiel(cards=3)", "oshi_zumo(coins=4, size=1)", "blotto(soldiers=5)", f"{__file__}:Auction",
    f"{__file__}:Auction(values=10, purse=10, rounds=1)",
)  # fmt: skip
BUDGETS = (1_000, 10_000, 50_000)
AGENTS = {"oos": "oos(targeting=public", "vr_oos": "vr_oos(targeting=public"}
CANDIDATES = {
    f"{negative} {gamma} {power}": f"vr_oos(negative={negative}, gamma={gamma}, power={power}"
    for negative in (0.0, 0.9, 0.98, 1.0) for gamma in (0.0, 0.01) for power in (0.0, 1.0)
}  # fmt: skip


def exploitability(game: str, spec: str, budget: int, seed: int) -> float:
    return measure(game, f"{spec}, simulations={budget})", seed=seed, progress=False).exploitability


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every candidate, not only oos and vr_oos")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    agents = {"oos": AGENTS["oos"], **CANDIDATES} if given.all else AGENTS
    known = {}
    if given.out and given.out.exists():
        known = {tuple(row[:4]): row[4] for row in map(json.loads, given.out.read_text().splitlines())}
    console = Console(width=160)
    table = Table("game", "simulations", *agents, title=f"exploitability (sum), full stitching, mean of {given.seeds} seeds")
    ratios: dict[str, list[float]] = {name: [] for name in agents}
    for game in GAMES:
        for budget in BUDGETS:
            cells = []
            for spec in agents.values():
                found = []
                for seed in range(given.seeds):
                    where = (game, spec, budget, seed)
                    if where not in known:
                        known[where] = exploitability(*where)
                        if given.out:
                            with given.out.open("a") as file:
                                file.write(json.dumps([*where, known[where]]) + "\n")
                    found.append(known[where])
                cells.append(mean(found))
            for name, cell in zip(agents, cells, strict=True):
                ratios[name].append(cell / cells[0])
            table.add_row(game.split(":")[-1], f"{budget:,}", *(f"{cell:.3f}" for cell in cells))
    table.add_section()
    for title, summary in (("geometric mean of the ratios to oos", geometric_mean), ("worst", max), ("best", min)):
        table.add_row(title, "", *(f"{summary(found):.2f}" for found in ratios.values()))
    console.print(table)


if __name__ == "__main__":
    main()

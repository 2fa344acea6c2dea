"""What options beyond the paper bring to learning: exploitability (sum, exact) of the bare network, and the seconds that it took.

Each row is the mean over seeds, with the standard deviation; one worker, evaluations not counted.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import numpy as np

from unseen import learn

PRIOR = {"leduc_poker": 100, "leduc_poker(suits_seen=false)": 100, "liars_dice": 10}


def variants(game: str) -> dict[str, dict[str, Any]]:
    """Settings by name."""
    prior = PRIOR[game]
    return {
        "as in the paper": {},
        "exact weights": {"expert": "oos(targeting=public)"},
        "vr_oos": {"expert": "vr_oos"},
        "vr_oos, values": {"expert": "vr_oos(credit=10)", "values": True},
        f"vr_oos, prior {prior}": {"expert": "vr_oos", "prior": prior},
        f"vr_oos, prior {prior}, values": {"expert": "vr_oos(credit=10)", "prior": prior, "values": True},
    }


def measure(game: str, name: str, settings: dict[str, Any], iterations: int, every: int, seeds: int) -> None:
    found, seconds = [], []
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            learned = learn(
                game, out=folder, iterations=iterations, seed=seed, workers=1, evaluate_every=every, evaluation_games=0,
                progress=False, **settings,
            )  # fmt: skip
        found.append([i.exploitability for i in learned.iterations if i.is_evaluated])
        seconds.append(learned.iterations[-1].seconds)
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) if seeds > 1 else np.zeros(len(found[0]))
    cells = "  ".join(f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True))
    print(f"{game:30} {name:42} {cells}   {np.mean(seconds):5.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", choices=PRIOR, action="append")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--every", type=int, default=20, help="iterations between evaluations")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    for game in asked.game or PRIOR:
        for name, settings in variants(game).items():
            measure(game, name, settings, asked.iterations, asked.every, asked.seeds)

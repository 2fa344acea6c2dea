"""How fast a network learns an exact equilibrium, by what it sees: percepts, the game's own numbers, or both.

Exploitability (sum) of the whole network after so many steps of Adam on information sets drawn evenly.
"""

from __future__ import annotations

import argparse

import numpy as np

from unseen import Position, SequenceForm, load, solve
from unseen.enumeration.whole import example_histories
from unseen.learning.training import Trainer, divergence, pytorch
from unseen.networks.encoding import PARTS, Encoding
from unseen.networks.whole import EverySet

GAMES = {"leduc_poker": [128], "liars_dice(faces=4)": [128, 64]}
SHOWN = (1000, 2000, 4000, 6000)
BATCH = 512


def measure(spec: str, hidden: list[int], seconds: float) -> None:
    torch, game, form = pytorch(), load(spec), SequenceForm(spec)
    equilibrium, histories = solve(game, seconds=seconds, form=form, progress=False).strategy, example_histories(game)[1]
    for parts in PARTS:
        encoding = Encoding(game, parts)
        inputs = np.zeros((len(histories), encoding.length), np.float32)
        targets = np.full((len(histories), game.num_actions), np.nan, np.float32)
        for j, history in enumerate(histories):
            position, state = Position(game, history), game.new_states(1)
            position.state.write(state)
            inputs[j] = encoding.row(position.player, position.seen(position.player), state)
            for action, chance in equilibrium[position].items():
                targets[j, action] = chance
        trainer, every_set, found = Trainer(encoding, hidden, 1e-3, seed=0), EverySet(encoding, progress=False), []
        shown_inputs, shown_targets, rng = torch.from_numpy(inputs), torch.from_numpy(targets), np.random.default_rng(0)
        for step in range(1, SHOWN[-1] + 1):
            drawn = torch.from_numpy(rng.integers(len(histories), size=BATCH))
            trainer.optimiser.zero_grad()
            divergence(torch, trainer.module(shown_inputs[drawn]), shown_targets[drawn]).backward()
            trainer.optimiser.step()
            if step in SHOWN:
                found.append(form.evaluate(every_set.strategy(trainer.network())).exploitability)
        print(
            f"{game.name}, {parts:8} ({encoding.length:3} numbers)",
            "  ".join(f"{n:,}: {x:.3f}" for n, x in zip(SHOWN, found, strict=True)),
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for the equilibrium")
    asked = parser.parse_args()
    for spec, hidden in GAMES.items():
        measure(spec, hidden, asked.seconds)

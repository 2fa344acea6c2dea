"""Training a network on decisions: Kullback-Leibler divergence from what planning found, by Adam. The module that knows PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError, how_to_get
from unseen.learning.reservoir import Reservoir
from unseen.networks.encoding import Encoding
from unseen.networks.file import Layer
from unseen.networks.network import Network
from unseen.random_play import largest_payoff
from unseen.run.checkpoint import Like
from unseen.search.leaf import Questions

STEP, MOMENTS = "step", ("exp_avg", "exp_avg_sq")
"""What Adam keeps for each array of parameters."""
MOST_STEPS = 2**24
"""Adam counts steps in a number of 32 bits, which gets no larger."""


def pytorch() -> Any:
    """PyTorch."""
    try:
        import torch
    except ImportError:
        raise UnseenError(f"learning needs PyTorch, which is not installed: {how_to_get('learn')}.") from None
    return torch


class Trainer:
    """A network in training. `seed` is that of its first parameters; `values` whether it also learns what actions are worth."""

    def __init__(self, encoding: Encoding, hidden: Sequence[int], rate: float, seed: int, values: bool = False) -> None:
        self.torch = torch = pytorch()
        self.encoding = encoding
        self.values, self.scale = values, largest_payoff(encoding.game)
        sizes = [encoding.length, *hidden, encoding.game.num_actions * (1 + values)]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.linear = [torch.nn.Linear(before, after) for before, after in pairwise(sizes)]
        parts = [part for layer in self.linear[:-1] for part in (layer, torch.nn.ReLU())]
        self.module = torch.nn.Sequential(*parts, self.linear[-1])
        self.optimiser = torch.optim.Adam(self.module.parameters(), lr=rate)

    def layers(self) -> list[Layer]:
        """The layers as they are, as arrays of their own."""
        return [(layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()) for layer in self.linear]

    def network(self, about: Mapping[str, Any] | None = None) -> Network:
        """The network as it is."""
        return Network(self.encoding, self.layers(), about)

    def train(self, reservoir: Reservoir, steps: int, batch: int, rng: np.random.Generator) -> float:
        """Some steps on what the reservoir holds; returns the mean loss. One thread, so that it can be repeated."""
        torch, threads, losses = self.torch, self.torch.get_num_threads(), []
        torch.set_num_threads(1)
        try:
            for _ in range(steps):
                inputs, targets = (torch.from_numpy(part) for part in reservoir.draw(batch, rng))
                self.optimiser.zero_grad()
                outputs, n = self.module(inputs), self.encoding.game.num_actions
                loss = divergence(torch, outputs[:, :n], targets[:, :n])
                if self.values:
                    loss = loss + square_error(torch, outputs[:, n:], targets[:, n:]) / self.scale**2
                loss.backward()
                self.optimiser.step()
                losses.append(loss.item())
        finally:
            torch.set_num_threads(threads)
        if not np.isfinite(losses).all():
            raise UnseenError("the training diverged: its loss is not finite any more; try a smaller rate.")
        return float(np.mean(losses))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Parameters and what the optimiser knows."""
        found = {}
        for k, parameter in enumerate(self.module.parameters()):
            state = self.optimiser.state.get(parameter, {})
            found[f"parameter.{k}"] = parameter.detach().numpy()
            found |= {f"optimiser.{k}.{name}": np.asarray(value.numpy(), np.float32) for name, value in state.items()}
        return found

    def layout(self) -> dict[str, Like]:
        """What these arrays are like; those of the optimiser are there once there has been a step."""
        found = {}
        for k, parameter in enumerate(self.module.parameters()):
            shape = tuple(parameter.shape)
            found[f"parameter.{k}"] = Like("<f4", shape)
            found |= {f"optimiser.{k}.{name}": Like("<f4", shape, optional=True) for name in MOMENTS}
            found[f"optimiser.{k}.{STEP}"] = Like("<f4", (), optional=True)
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]], steps: int) -> None:
        """Take up what `arrays` returned after so many steps, if it is like `layout`; raises if it cannot be that."""
        torch, states = self.torch, {}
        for k, parameter in enumerate(self.module.parameters()):
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(arrays[f"parameter.{k}"].copy()))
            begin = f"optimiser.{k}."
            state = {name.removeprefix(begin): a for name, a in arrays.items() if name.startswith(begin)}
            is_sound = set(state) == {STEP, *MOMENTS} and state[STEP] == min(steps, MOST_STEPS) and (state[MOMENTS[1]] >= 0.0).all()
            if not (is_sound if steps else not state):
                raise UnseenError(f"what it says of the optimiser is not that of {steps:,} steps.")
            states[k] = {name: torch.from_numpy(a.copy()) for name, a in state.items()}
        if steps:
            self.optimiser.load_state_dict({"state": states, "param_groups": self.optimiser.state_dict()["param_groups"]})


def divergence(torch: Any, logits: Any, targets: Any) -> Any:
    """The mean over a batch of the KL divergence of a softmax over the legal actions from `targets`, NaN where not legal."""
    illegal = torch.isnan(targets)
    chosen = torch.log_softmax(logits.masked_fill(illegal, float("-inf")), dim=1).masked_fill(illegal, 0.0)
    wanted = targets.masked_fill(illegal, 0.0)
    return (torch.xlogy(wanted, wanted) - wanted * chosen).sum(dim=1).mean()


def square_error(torch: Any, worths: Any, targets: Any) -> Any:
    """The mean square of the errors over a batch's actions; `targets` are NaN where these are not legal, or nothing was found."""
    known = ~torch.isnan(targets)
    return ((worths[known] - targets[known]) ** 2).sum() / known.sum().clamp(min=1)


class ModulePolicy:
    """Any PyTorch module as what answers `Questions`: it takes inputs of an encoding, float32 of shape (q, length), and returns
    the logarithms of weights of all actions, (q, actions); illegal actions are masked, further columns not looked at."""

    def __init__(self, module: Any, encoding: Encoding) -> None:
        self.module, self.encoding, self.torch = module, encoding, pytorch()

    def __call__(self, asked: Questions) -> NDArray[np.float64]:
        rows = self.encoding.rows(asked.player, asked.seen, asked.seen_length, asked.states)
        with self.torch.no_grad():
            logits = self.module(self.torch.from_numpy(rows)).double().numpy()
        legal = asked.actions >= 0
        mine = np.where(legal, np.take_along_axis(logits, np.maximum(asked.actions, 0), axis=1), -np.inf)
        weights = np.exp(mine - mine.max(axis=1, keepdims=True))
        found: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return found

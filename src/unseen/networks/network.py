"""A network that says with which probabilities to choose: layers with ReLU between them, for an `Encoding`.

Small networks are fastest where the simulation is: a forward pass in compiled code takes a microsecond or two, as most of what goes
into the first layer is 0, and so is half of what goes into the others. Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.networks.encoding import Encoding, Floats, hot_columns

REMEMBERED = 1 << 14
"""Answers that are kept, by the key of the information set; a power of two."""
Layer = tuple[Floats, Floats]
"""Weights, shape (inputs, outputs), and what is added to their sums, (outputs,)."""


class Network:
    """A network for a game: what it sees, its layers, and words about where it comes from."""

    def __init__(self, encoding: Encoding, layers: Sequence[Layer], about: Mapping[str, Any] | None = None) -> None:
        self.encoding, self.about = encoding, dict(about or {})
        self.layers = [(np.ascontiguousarray(w, np.float32), np.ascontiguousarray(b, np.float32)) for w, b in layers]
        sizes = self.sizes
        fits = all(w.ndim == 2 and b.shape == w.shape[1:] for w, b in self.layers)
        if not fits or any(w.shape[0] != before for (w, _), before in zip(self.layers, sizes, strict=False)):
            raise UnseenError("the layers of the network do not fit together.")
        if sizes[0] != encoding.length:
            raise UnseenError(f"the network takes {sizes[0]} numbers, but the encoding of {self.game.spec} has {encoding.length}.")
        if sizes[-1] != self.game.num_actions:
            raise UnseenError(f"the network gives {sizes[-1]} numbers, but {self.game.spec} has {self.game.num_actions} actions.")
        if not all(np.isfinite(part).all() for layer in self.layers for part in layer):
            raise UnseenError("the network holds numbers that are not finite.")

    @property
    def game(self) -> Game:
        return self.encoding.game

    @property
    def sizes(self) -> list[int]:
        """Inputs, what is between layers, outputs."""
        return [len(self.layers[0][0]), *(len(b) for _, b in self.layers)]

    def logits(self, inputs: Floats) -> Floats:
        """The logarithms of probabilities that are not normalised, shape (q, actions), for `inputs`, (q, length)."""
        for k, (weights, bias) in enumerate(self.layers):
            inputs = (np.maximum(inputs, 0.0) if k else inputs) @ weights + bias
        return inputs

    def probabilities(self, inputs: Floats, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The probability of each action where some are `legal`, both shapes (q, actions), for `inputs`, (q, length)."""
        logits = np.where(legal, self.logits(inputs).astype(np.float64), -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return found

    def __repr__(self) -> str:
        return f"<Network for {self.game.spec}: {'-'.join(map(str, self.sizes))}>"


class Compact(NamedTuple):
    """A network for compiled code, with arrays to write on and answers that are remembered. `m` is the widest layer."""

    sizes: NDArray[np.int64]  # (layers + 1,)
    values: NDArray[np.float32]  # (p,) of each layer the weights, row by row, and what is added
    hidden: NDArray[np.float32]  # (2 m,) two layers
    hot: NDArray[np.int64]  # (h,) inputs that are not 0
    amount: NDArray[np.float32]  # (h,) and what they are
    own: NDArray[np.float32]  # (k,) what the game has encoded
    keys: NDArray[np.uint64]  # (r,) information sets whose answers are remembered
    answers: NDArray[np.float32]  # (r w,) the probabilities of their legal actions


def compact(network: Network, remembered: int = REMEMBERED) -> Compact:
    """A network for compiled code."""
    sizes, encoding = network.sizes, network.encoding
    values = np.concatenate([part.ravel() for layer in network.layers for part in layer])
    width = max(encoding.most_hot + encoding.layout.own, *sizes[1:])
    return Compact(
        np.array(sizes), values, np.zeros(2 * max(sizes[1:]), np.float32), np.zeros(width, np.int64), np.zeros(width, np.float32),
        np.zeros(max(encoding.layout.own, 1), np.float32), np.zeros(remembered, np.uint64),
        np.zeros(remembered * network.game.width, np.float32),
    )  # fmt: skip


@piece
def row(values, base, m, i):
    """Row `i` of a matrix with `m` columns, from `base` on."""
    first = base + i * m
    return values[first : first + m]


@piece
def add_rows(values, base, m, net, n, to):
    """Add `n` rows of a matrix with `m` columns, from `base` on, each times its amount, to `net.hidden` from `to` on."""
    hot, amount, sums = net.hot, net.amount, net.hidden[to : to + m]
    k = 0
    while k + 4 <= n:  # four at a time: what they are added to is read and written once
        x0, x1, x2, x3 = amount[k], amount[k + 1], amount[k + 2], amount[k + 3]
        w0, w1, w2, w3 = (row(values, base, m, hot[k]), row(values, base, m, hot[k + 1]), row(values, base, m, hot[k + 2]),
                          row(values, base, m, hot[k + 3]))  # fmt: skip
        for j in range(m):
            sums[j] += (x0 * w0[j] + x1 * w1[j]) + (x2 * w2[j] + x3 * w3[j])
        k += 4
    while k < n:
        x, w = amount[k], row(values, base, m, hot[k])
        for j in range(m):
            sums[j] += x * w[j]
        k += 1


@piece
def forward(game, s, who, seen, length, layout, net):
    """One forward pass where `who` has `seen` so many percepts in the state `s`. Returns where the logits begin in `net.hidden`."""
    n = hot_columns(layout, who, seen, length, net.hot)
    for k in range(n):
        net.amount[k] = np.float32(1.0)
    if layout.own > 0:
        for c in range(layout.own):
            net.own[c] = np.float32(0.0)
        game.encode(s, who, net.own)
        for c in range(layout.own):
            if net.own[c] != 0.0:
                net.hot[n] = layout.percepts + c
                net.amount[n] = net.own[c]
                n += 1
    half, at, base = len(net.hidden) // 2, 0, 0
    for layer in range(1, len(net.sizes)):
        inputs, m = net.sizes[layer - 1], net.sizes[layer]
        if layer > 1:  # of the layer before, what is above 0
            n = 0
            for i in range(inputs):
                x = net.hidden[at + i]
                net.hot[n] = i
                net.amount[n] = x
                n += 1 if x > 0.0 else 0
            at = half - at
        bias = base + inputs * m
        for j in range(m):
            net.hidden[at + j] = net.values[bias + j]
        add_rows(net.values, base, m, net, n, at)
        base = bias + m
    return at


@piece
def soften(net, at, actions, n, first):
    """The probabilities of `n` legal actions, by their logits from `at` on, into `net.answers` from `first` on."""
    most = net.hidden[at + actions[0]]
    for k in range(1, n):
        most = max(most, net.hidden[at + actions[k]])
    total = 0.0
    for k in range(n):
        weight = np.exp(net.hidden[at + actions[k]] - most)
        net.answers[first + k] = weight
        total += weight
    for k in range(n):
        net.answers[first + k] /= total


@piece
def respond(game, s, who, key, seen, length, actions, n, layout, net):
    """Where the probabilities of the `n` legal `actions` begin in `net.answers`; computed, unless they are remembered by `key`."""
    slot = key & np.uint64(len(net.keys) - 1)
    width = len(net.answers) // len(net.keys)
    first = np.int64(slot) * width
    if net.keys[slot] != key:
        net.keys[slot] = key
        soften(net, forward(game, s, who, seen, length, layout, net), actions, n, first)
    return first


@kernel
def respond_all(game, layout, net, players, seen, lengths, states, out, answers):
    """The probabilities of the legal actions at information sets, one a row: a forward pass for each."""
    for q in range(len(players)):
        n = game.actions(states[q], out)
        soften(net, forward(game, states[q], players[q], seen[q], lengths[q], layout, net), out, n, 0)
        for k in range(n):
            answers[q, k] = net.answers[k]

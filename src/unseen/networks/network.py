"""A network that says with which probabilities to choose: layers with ReLU between them, for an `Encoding`.

It may say, too, what each action is worth to its player; then the last layer is twice as wide.

Small networks are fastest where the simulation is: a forward pass in compiled code takes a microsecond or two, as most of what goes
into the first layer is 0, and so is half of what goes into the others. Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import is_proper
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.networks import file
from unseen.networks.encoding import Encoding, Floats, hot_columns
from unseen.networks.file import Layer
from unseen.run.reading import reading

LARGEST_INPUT, LARGEST_OUTPUT = 1e3, 1e30
"""With inputs of this size, which ought to be around 1, outputs must stay far below what 32 bits hold."""
REMEMBERED = 1 << 14
"""Answers that are kept, by the key of the information set; a power of two."""


class Network:
    """A network for a game. `load` reads one from a file, as `unseen learn` writes it.

    - `encoding`: what it sees.
    - `layers`: for each layer weights, shape (inputs, outputs), and what is added, (outputs,).
    - `about`: what else there is to say about it.
    """

    def __init__(self, encoding: Encoding, layers: Sequence[Layer], about: Mapping[str, Any] | None = None) -> None:
        self.encoding, self.about = encoding, dict(about or {})
        self.layers = [(np.ascontiguousarray(w, np.float32), np.ascontiguousarray(b, np.float32)) for w, b in layers]
        if not self.layers:
            raise UnseenError("a network needs at least one layer.")
        if not all(w.ndim == 2 and w.size and b.shape == w.shape[1:] for w, b in self.layers):
            raise UnseenError("a layer of the network is not a matrix of weights, and as many numbers to add as it has columns.")
        sizes = self.sizes
        if any(w.shape[0] != before for (w, _), before in zip(self.layers, sizes, strict=False)):
            raise UnseenError("the layers of the network do not fit together.")
        if sizes[0] != encoding.length:
            raise UnseenError(f"the network takes {sizes[0]} numbers, but the encoding of {self.game.spec} has {encoding.length}.")
        if sizes[-1] not in (self.game.num_actions, 2 * self.game.num_actions):
            raise UnseenError(
                f"the network gives {sizes[-1]} numbers, but {self.game.spec} has {self.game.num_actions} actions, so it must be "
                "as many, or twice as many."
            )
        if not all(np.isfinite(part).all() for layer in self.layers for part in layer):
            raise UnseenError("the network holds numbers that are not finite.")
        most = LARGEST_INPUT
        for weights, bias in self.layers:
            most = float(np.abs(weights).sum(axis=0, dtype=np.float64).max()) * most + float(np.abs(bias).max())
        if most > LARGEST_OUTPUT:
            raise UnseenError("the numbers of the network are so large that what it says may not be a number.")

    def save(self, path: Path | str, force: bool = False) -> None:
        """Write the network to the file `path`. The old file stays whole until the new one is.

        A file that is not a network of this library is replaced only with `force`.
        """
        file.write(Path(path), self.game, self.encoding, self.layers, self.about, force)

    @classmethod
    def load(cls, path: Path | str, game: Game | str | None = None) -> Network:
        """Read a network from the file `path`, refusing one that is damaged or made for another game than `game`.

        Without `game` the file's own word for it is used, which must be a game of the library: no file can make us run code.
        """
        game = None if game is None else load(game)
        with reading(f"network {path}"):
            return cls(*file.read(Path(path), game))

    @property
    def game(self) -> Game:
        return self.encoding.game

    @property
    def sizes(self) -> list[int]:
        """Inputs, what is between layers, outputs."""
        return [len(self.layers[0][0]), *(len(b) for _, b in self.layers)]

    def sharpened(self, sharpness: float) -> Network:
        """The network whose probabilities are this one's to the power of `sharpness`, normalised."""
        weights, bias = (part.copy() for part in self.layers[-1])
        for part in (weights, bias):
            part[..., : self.game.num_actions] *= sharpness
        return Network(self.encoding, [*self.layers[:-1], (weights, bias)], self.about)

    @property
    def knows_values(self) -> bool:
        """Whether it says what each action is worth."""
        return self.sizes[-1] > self.game.num_actions

    def outputs(self, inputs: Floats) -> Floats:
        """What the last layer gives, for `inputs`, shape (q, length): the logarithms of probabilities that are not normalised,
        shape (q, actions), and beside them, if it knows that, what each action is worth to the player, (q, actions)."""
        for k, (weights, bias) in enumerate(self.layers):
            inputs = (np.maximum(inputs, 0.0) if k else inputs) @ weights + bias
        return inputs

    def probabilities(self, inputs: Floats, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The probability of each action where some are `legal`, both shapes (q, actions), for `inputs`, (q, length)."""
        logits = np.where(legal, self.outputs(inputs)[:, : self.game.num_actions].astype(np.float64), -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return found

    def __repr__(self) -> str:
        return f"<Network for {self.game.spec}: {'-'.join(map(str, self.sizes))}>"


class Compact(NamedTuple):
    """A network for compiled code, with arrays to write on and answers that are remembered. `m` is the widest layer."""

    sizes: NDArray[np.int64]  # (layers + 1,)
    values: NDArray[np.float32]  # (p,) of each layer the weights, row by row, and what is added
    hidden: NDArray[np.float32]  # (2 m,) two layers, each with room for one logit more than the game has actions
    hot: NDArray[np.int64]  # (h,) inputs that are not 0
    amount: NDArray[np.float32]  # (h,) and what they are
    own: NDArray[np.float32]  # (k,) what the game has encoded
    keys: NDArray[np.uint64]  # (r,) information sets whose answers are remembered
    answers: NDArray[np.float64]  # (r w,) the probabilities of their legal actions; (2 r w,) and what they are worth
    worth: int  # where in the last layer that begins; 0 if the network does not say it


def compact(network: Network, remembered: int = REMEMBERED) -> Compact:
    """A network for compiled code."""
    sizes, encoding = network.sizes, network.encoding
    values = np.concatenate([part.ravel() for layer in network.layers for part in layer])
    width = max(encoding.most_hot + encoding.layout.own, *sizes[1:])
    half = max(*sizes[1:], network.game.num_actions + network.game.width)  # so that no action can be beyond what is in memory
    return Compact(
        np.array(sizes), values, np.zeros(2 * half, np.float32), np.zeros(width, np.int64), np.zeros(width, np.float32),
        np.zeros(max(encoding.layout.own, 1), np.float32), np.zeros(remembered, np.uint64),
        np.zeros(remembered * network.game.width * (1 + network.knows_values)),
        network.game.num_actions if network.knows_values else 0,
    )  # fmt: skip


@piece
def add_rows(values, base, m, net, n, to):
    """Add `n` rows of a matrix with `m` columns, from `base` on, each times its amount, to `net.hidden` from `to` on.

    Indices are unsigned, so that compiled code need not ask whether one is negative, and takes several columns at a time.
    """
    hot, amount, hidden = net.hot, net.amount, net.hidden
    first, width, to = np.uint64(base), np.uint64(m), np.uint64(to)
    k = 0
    while k + 4 <= n:  # four at a time: what they are added to is read and written once
        r0, r1 = first + np.uint64(hot[k]) * width, first + np.uint64(hot[k + 1]) * width
        r2, r3 = first + np.uint64(hot[k + 2]) * width, first + np.uint64(hot[k + 3]) * width
        x0, x1, x2, x3 = amount[k], amount[k + 1], amount[k + 2], amount[k + 3]
        for j in range(width):
            hidden[to + j] += (x0 * values[r0 + j] + x1 * values[r1 + j]) + (x2 * values[r2 + j] + x3 * values[r3 + j])
        k += 4
    while k < n:
        r0, x0 = first + np.uint64(hot[k]) * width, amount[k]
        for j in range(width):
            hidden[to + j] += x0 * values[r0 + j]
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
        weight = np.exp(np.float64(net.hidden[at + actions[k]] - most))
        net.answers[first + k] = weight
        total += weight
    for k in range(n):
        net.answers[first + k] /= total


@piece
def respond(game, s, who, key, seen, length, actions, n, layout, net):
    """Where the probabilities of the `n` legal `actions` begin in `net.answers`; computed, unless they are remembered by `key`.

    If the network says what they are worth, that is kept beside them (see `worths`).
    """
    slot = key & np.uint64(len(net.keys) - 1)
    width = len(net.answers) // len(net.keys)
    first = np.int64(slot) * width
    if net.keys[slot] != key:
        net.keys[slot] = key
        at = forward(game, s, who, seen, length, layout, net)
        soften(net, at, actions, n, first)
        if net.worth > 0:
            for k in range(n):
                net.answers[worths(net, first) + k] = net.hidden[at + net.worth + actions[k]]
    return first


@piece
def worths(net, first):
    """Where it says what the actions are worth whose probabilities begin at `first`."""
    return first + len(net.answers) // len(net.keys) // 2


@kernel
def respond_all(game, layout, net, players, seen, lengths, states, out, answers):
    """The probabilities of the legal actions at information sets, one a row: a forward pass for each."""
    for q in range(len(players)):
        n = game.actions(states[q], out)
        if not is_proper(out, n):
            continue
        soften(net, forward(game, states[q], players[q], seen[q], lengths[q], layout, net), out, n, 0)
        for k in range(n):
            answers[q, k] = net.answers[k]

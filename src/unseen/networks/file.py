"""Files of networks, in the format "safetensors": numbers and words, nothing that could be executed.

Beside the layers, named and shaped as in PyTorch, a file says which game the network is for, with a fingerprint of its rules, what
the network sees, and a checksum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.games import REGISTRY
from unseen.loading import load
from unseen.networks.encoding import Encoding
from unseen.position import fingerprint
from unseen.run.files import Kind, write_output

FORMAT = "unseen-network 1"
MARK = b'{"__metadata__":{"unseen":'
KIND = Kind("a network", lambda file: file.read(8 + len(MARK))[8:] == MARK)
Tensors = dict[str, NDArray[np.float32]]
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weights, shape (inputs, outputs), and what is added to their sums, (outputs,)."""


def write(
    path: Path, game: Game, encoding: Encoding, layers: Sequence[Layer], about: Mapping[str, Any], force: bool = False
) -> None:
    """Write the layers of a network that sees what an encoding says."""
    tensors = tensors_of(layers)
    words = {
        "format": FORMAT, "game": game.name, "parameters": game.settings, "fingerprint": fingerprint(game),
        "encoding": encoding.parts, "encodes": encoding.fingerprint, "sha256": digest(tensors), "about": about,
    }  # fmt: skip
    write_output(path, KIND, [safetensors().save(tensors, {"unseen": json.dumps(words)})], force)


def read(path: Path, game: Game | None) -> tuple[Encoding, list[Layer], dict[str, Any]]:
    """What the network in a file sees, its layers, and what it says about itself."""
    words, tensors = read_tensors(path)
    game = matching_game(words, game)
    layers = [(tensors[f"layers.{k}.weight"].T, tensors[f"layers.{k}.bias"]) for k in range(len(tensors) // 2)]
    encoding = Encoding(game, words["encoding"])
    if len(layers[0][0]) == encoding.length and words["encodes"] != encoding.fingerprint:
        raise UnseenError(f"it is for {game.spec} with another encode() than today's.")
    return encoding, layers, words["about"]


def matching_game(words: dict[str, Any], game: Game | None) -> Game:
    """The game of a file, which must be `game` if that is given."""
    if game is None:
        if words["game"] not in REGISTRY:
            raise UnseenError(f"it is for {words['game']!r}, which is not a game of the library; say which game it is.")
        game = load(f"{words['game']}({', '.join(f'{name}={value}' for name, value in words['parameters'].items())})")
    if (words["game"], words["parameters"]) != (game.name, game.settings):
        inside = ", ".join(f"{name}={value}" for name, value in words["parameters"].items())
        raise UnseenError(f"it is for {words['game']}({inside}), not for {game.spec}.")
    if words["fingerprint"] != fingerprint(game):
        raise UnseenError(f"it is for {game.spec} with other rules than today's.")
    return game


def read_tensors(path: Path) -> tuple[dict[str, Any], Tensors]:
    """What a file says of its network, and the tensors."""
    library = safetensors()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnseenError(f"it cannot be read: {error.strerror or error}.") from error
    try:
        tensors = library.load(data)
        length = int.from_bytes(data[:8], "little")
        words = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unseen"])
    except Exception as error:  # whatever is found wrong with the bytes
        raise UnseenError("the file is damaged, or none of a network of this library.") from error
    if words["format"] != FORMAT or not isinstance(words["parameters"], dict) or not isinstance(words["about"], dict):
        raise UnseenError(f"it is not a network of this version ({FORMAT!r}).")
    if any(array.dtype != np.float32 for array in tensors.values()) or words["sha256"] != digest(tensors):
        raise UnseenError("the checksum does not match; the file is damaged.")
    return words, tensors


def tensors_of(layers: Sequence[Layer]) -> Tensors:
    """The layers by name, weights as in PyTorch: shape (outputs, inputs)."""
    weights = {f"layers.{k}.weight": np.ascontiguousarray(w.T) for k, (w, _) in enumerate(layers)}
    return weights | {f"layers.{k}.bias": b for k, (_, b) in enumerate(layers)}


def digest(tensors: Tensors) -> str:
    """A checksum of all tensors, with their names and shapes."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        found.update(f"{name}{tensors[name].shape}".encode())
        found.update(np.ascontiguousarray(tensors[name]).tobytes())
    return found.hexdigest()


def safetensors() -> Any:
    """The library that reads and writes such files."""
    try:
        import safetensors.numpy
    except ImportError:
        raise UnseenError('networks need safetensors, which is not installed: pip install "unseen[learn]".') from None
    return safetensors.numpy

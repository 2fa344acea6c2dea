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

from unseen.errors import UnseenError, how_to_get
from unseen.game import Game
from unseen.networks.encoding import PARTS, Encoding
from unseen.run.files import Kind, write_output
from unseen.run.headers import game_of, header_of
from unseen.run.reading import parse_json, read_bytes

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
        **header_of(game), "format": FORMAT, "encoding": encoding.parts, "encodes": encoding.fingerprint, "sha256": digest(tensors),
        "about": about,
    }  # fmt: skip
    write_output(path, KIND, [safetensors().save(tensors, {"unseen": json.dumps(words)})], force)


def read(path: Path, game: Game | None) -> tuple[Encoding, list[Layer], dict[str, Any]]:
    """What the network in a file sees, its layers, and what it says about itself."""
    words, tensors = read_tensors(path)
    game = game_of(words, game, "Network.load(path, game)")
    names = [f"layers.{k}.{part}" for k in range(len(tensors) // 2) for part in ("weight", "bias")]
    if not names or set(names) != set(tensors) or words["encoding"] not in PARTS:
        raise UnseenError("it does not hold layers and what they see.")
    layers = [(tensors[weight].T, tensors[bias]) for weight, bias in zip(names[::2], names[1::2], strict=True)]
    encoding = Encoding(game, words["encoding"])
    if len(layers[0][0]) == encoding.length and words["encodes"] != encoding.fingerprint:
        raise UnseenError(f"it is for {game.spec} with another encode() than today's.")
    return encoding, layers, words["about"]


def read_tensors(path: Path) -> tuple[dict[str, Any], Tensors]:
    """What a file says of its network, and the tensors."""
    library = safetensors()
    data = read_bytes(path)
    try:
        tensors = library.load(data)
        length = int.from_bytes(data[:8], "little")
        words = parse_json(parse_json(data[8 : 8 + length])["__metadata__"]["unseen"])
        kind = words["format"], words["parameters"], words["about"], words["sha256"], words["encodes"], words["encoding"]
    except Exception as error:  # whatever is found wrong with the bytes
        raise UnseenError("the file is damaged, or none of a network of this library.") from error
    if kind[0] != FORMAT or not all(isinstance(each, dict) for each in kind[1:3]) or not all(isinstance(w, str) for w in kind[3:]):
        raise UnseenError(f"it is not a network of this version ({FORMAT!r}).")
    if any(array.dtype != np.float32 or not array.size for array in tensors.values()):
        raise UnseenError("its layers are not made of numbers of 32 bits.")
    if words["sha256"] != digest(tensors):
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
        raise UnseenError(f"networks need safetensors, which is not installed: {how_to_get('learn')}.") from None
    return safetensors.numpy

"""The game that a file is for: its name, its parameters and a fingerprint of its rules, in the file's header.

Headers are data. Name and parameters are looked up apart; they are never joined to a text that names a game, and nothing that a
file says is imported. For a game of one's own, which only a path names, one passes the game.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.games import REGISTRY
from unseen.loading import registered
from unseen.position import fingerprint

MOST_PARAMETERS = 100
LONGEST_WORD = 200


def header_of(game: Game) -> dict[str, Any]:
    """What a header says of its game."""
    return {"game": game.name, "parameters": game.settings, "fingerprint": fingerprint(game)}


def game_of(header: Mapping[str, Any], game: Game | None, call: str) -> Game:
    """The game of a file: `game`, which it must be for, or without one a game of the library. Raises if that cannot be.

    `call` says how to pass a game, such as "Strategy.load(path, game)".
    """
    name, parameters = header.get("game"), header.get("parameters")
    if not _is_word(name) or not _are_settings(parameters):
        raise UnseenError("its header is damaged.")
    said = f"{name}({', '.join(f'{key}={value}' for key, value in parameters.items())})".removesuffix("()")
    if game is None:
        if name not in REGISTRY:
            raise UnseenError(f"it is for {said}, not a game of the library; pass the game: {call}.")
        cls = registered(name)
        if parameters.keys() != cls.parameters.keys():
            raise UnseenError(f"it is for {said}, but the parameters of {name} are {', '.join(cls.parameters) or 'none'}.")
        game = cls(**parameters)
    if (name, parameters) != (game.name, game.settings):
        raise UnseenError(f"it is for {said}, not for {game.spec}.")
    if header.get("fingerprint") != fingerprint(game):
        raise UnseenError(f"it is for {said} with other rules than today's.")
    return game


def _are_settings(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether this can be the parameters of a game: single numbers and words by name."""
    if not isinstance(value, dict) or len(value) > MOST_PARAMETERS:
        return False
    return all(_is_word(name) for name in value) and all(type(v) in (bool, int) or _is_word(v) for v in value.values())


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= LONGEST_WORD

"""One way to name a game: `leduc_poker`, `liars_dice(dice1=1, faces=6)`, `path/to/file.py:ClassName(size=4)`."""

from __future__ import annotations

import contextlib
import copyreg
import difflib
import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any

from unseen.errors import RuleError, UnseenError
from unseen.game import Game
from unseen.games import REGISTRY

FLOAT = re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")
QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
PARTS = re.compile(rf"[^,=]*=\s*(?:{QUOTED.pattern})\s*(?=,|$)|[^,]+")
"""What commas separate, unless they stand in quotes."""
from_files: list[Game] = []
"""The games of users' files that were loaded so far."""


def load(spec: str | Game | type[Game]) -> Game:
    """The game that `spec` names: `"leduc_poker"`, `"kuhn_poker(cards=4)"`, `"path/to/file.py:ClassName(option=value)"`.

    A game is returned as it is; a class of games is made with its defaults.
    """
    if isinstance(spec, Game):
        return spec
    if isinstance(spec, type) and issubclass(spec, Game):
        return spec()
    if not isinstance(spec, str):
        raise UnseenError(f"game is {spec!r}, but must be a name, a game or a class of games.")
    name, parameters = parse(spec)
    cls = class_in_file(name, Game, "game") if ".py:" in name or name.endswith(".py") else _registered_class(name)
    game = cls(**parameters)
    if ".py:" in name:
        game.origin = name
        from_files.append(game)
        copyreg.pickle(cls, _by_name)
    return game


def _by_name(game: Game) -> Any:
    """How to pickle a game of a user's file, whose class another process cannot import: by what loads it."""
    return (load, (game.spec,)) if game.origin else object.__reduce_ex__(game, 2)


def game_names() -> list[str]:
    """The names of the games that come with the library."""
    return sorted(REGISTRY)


def registered(name: str) -> type[Game]:
    """The class behind a registered name."""
    module, _, cls = REGISTRY[name].partition(":")
    found: type[Game] = getattr(importlib.import_module(f"unseen.games.{module}"), cls)
    return found


def parse(spec: str, what: str = "game") -> tuple[str, dict[str, Any]]:
    """Split `name(a=1, b=0.5)` into its name and parameters. Values are numbers, true or false, or words; nothing is evaluated.

    A number is written in digits, with a point or an exponent if need be: `3`, `-0.5`, `1e-3`. Anything else is a word (`inf` and
    `a.1`, too), and so is whatever stands in quotes, which may have commas in it. `what` is what the string names, for messages.
    """
    found = re.fullmatch(r"\s*(.*\.py:\w+|[^()]*?)\s*(?:\((.*)\))?\s*", spec)
    if found is None:
        raise UnseenError(f"{what} {spec!r}: it is not of the form name or name(parameter=value, ...); is a bracket missing?")
    parameters: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in PARTS.findall(found[2] or ""))):
        key, equals, value = (p.strip() for p in part.partition("="))
        if not equals or not key.isidentifier():
            raise UnseenError(f"{what} {spec!r}: {part!r} is not of the form parameter=value.")
        if key in parameters:
            raise UnseenError(f"{what} {spec!r}: parameter {key} is given twice.")
        parameters[key] = _literal(value)
    return found[1], parameters


def _literal(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?\d{1,19}", text):
        return int(text)
    if FLOAT.fullmatch(text) and isfinite(float(text)):
        return float(text)
    return text[1:-1] if QUOTED.fullmatch(text) else text


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody who wrote `name` probably meant."""
    known, plain = list(known), name.lower().replace("-", "_").replace("_plus", "+").replace("plus", "+")
    near = [plain] if plain in known else difflib.get_close_matches(plain, known, n=1, cutoff=0.4)
    return near[0] if near else None


def _registered_class(name: str) -> type[Game]:
    if name in REGISTRY:
        return registered(name)
    if name.endswith(".strategy"):
        raise UnseenError(f"game {name!r}: that is a strategy; name its game first, then the file: GAME --strategy {name}.")
    near = nearest(name, REGISTRY)
    hint = f"did you mean {near!r}?" if near else "the games are: " + ", ".join(game_names()) + "."
    raise UnseenError(f"game {name!r} is unknown; {hint} A game of your own is named path/to/file.py:ClassName.")


def class_in_file(name: str, base: type, what: str) -> Any:
    """Import a user's file and find in it the class, a subclass of `base`, that `path/to/file.py:ClassName` names."""
    file, colon, cls_name = name.rpartition(":")
    if not colon:
        raise UnseenError(f"{what} {name!r}: say which class of the file, as in {name}:ClassName.")
    path = Path(file)
    if not os.path.isfile(path):
        there_is = "what is there is not a regular file" if os.path.exists(path) else f"there is no file {file}"
        raise UnseenError(f"{what} {name!r}: {there_is}.")
    module = _import_file(path, what)
    cls = getattr(module, cls_name, None)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        have = [
            n for n, v in vars(module).items() if isinstance(v, type) and issubclass(v, base) and v.__module__ == module.__name__
        ]
        raise UnseenError(f"{what} {name!r}: {file} has no {what} class {cls_name!r}; it has: {', '.join(have) or 'none'}.")
    return cls


def _import_file(path: Path, what: str) -> ModuleType:
    """Import a file by path, under a name that is the same in every process, so that machine code kept on disk can refer to it.

    A file that was edited since is imported anew. What it prints goes to standard error, which is not for results.
    """
    digest = hashlib.sha256(str(path.resolve()).encode() + path.read_bytes()).hexdigest()[:12]
    module_name = f"unseen_user_{path.stem}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    loader = SourceFileLoader(module_name, str(path.resolve()))  # whatever the file is called that a link leads to
    described = importlib.util.spec_from_file_location(module_name, path.resolve(), loader=loader)
    assert described is not None
    module = importlib.util.module_from_spec(described)
    sys.modules[module_name] = module
    folder = path.resolve().parent
    _forget_namesakes(folder)
    sys.path.insert(0, str(folder))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        if isinstance(error, UnseenError):
            raise
        raise RuleError(f"{what} file {path}: it does not import: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove(str(folder))
    return module


def _forget_namesakes(folder: Path) -> None:
    """Let `import helpers` in this folder find its own helpers.py as it is now, not one that another game has imported."""
    for file in folder.glob("*.py"):
        known = sys.modules.get(file.stem)
        is_plain_file = known is not None and getattr(known, "__path__", None) is None and getattr(known, "__file__", None)
        if is_plain_file and file.stem not in sys.stdlib_module_names and file.stem != "__main__":
            del sys.modules[file.stem]

"""Checks of arguments by their annotations, so that a wrong one is a sentence where it was given, not a raw error further down."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast

from unseen.errors import UnseenError

F = TypeVar("F", bound=Callable[..., Any])
TEXTS = "texts"
WORDS = {
    "int": "a whole number", "float": "a number", "bool": "True or False", "str": "a text", "Path": "a path", "None": "None",
    "Iterable": "a list", "Sequence": "a list", "Callable": "a function", TEXTS: "a list of names", "tuple": "two or more values",
    "Workers": "a whole number, a Cluster or None",
}  # fmt: skip
MAX_SHOWN = 80


def checked(function: F) -> F:
    """The same function, which raises `UnseenError` for an argument that is not of a kind it is annotated with.

    Looked at are numbers, texts, paths, lists, functions, and classes that the function's module knows; a text will do for a path.
    What names a game is checked by `load`. Whatever else an annotation says is taken on trust.
    """
    signature = inspect.signature(function)
    kinds = {name: _kinds(str(p.annotation)) for name, p in signature.parameters.items() if p.annotation is not p.empty}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if name in kinds and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                bound.arguments[name] = _checked_value(function, name, kinds[name], value)
        return function(*bound.args, **bound.kwargs)

    return cast(F, call)


def _kinds(annotation: str) -> list[str]:
    """What an annotation allows, without what is in brackets; but a list of texts is known as such."""
    annotation = annotation.replace("Sequence[str]", TEXTS)
    while annotation != (annotation := re.sub(r"\[[^\[\]]*\]", "", annotation)):
        pass
    return annotation.split(" | ")


def _checked_value(function: Callable[..., Any], name: str, kinds: list[str], value: Any) -> Any:
    fits = [_is_a(function, kind, value) for kind in kinds]
    if any(fit is None or fit for fit in fits):
        return value
    if "Path" in kinds and isinstance(value, str):
        return Path(value)
    shown = repr(value)
    shown = shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "..."
    raise UnseenError(f"{name} is {shown}, but must be {' or '.join(map(_in_words, kinds))}.")


def _is_a(function: Callable[..., Any], kind: str, value: Any) -> bool | None:
    """Whether a value is of a kind, by name; None if nobody knows."""
    if kind == "None":
        return value is None
    if kind == "bool":
        return isinstance(value, bool) or type(value).__name__ == "bool_"
    if kind in ("int", "float"):
        return isinstance(value, Integral if kind == "int" else Real) and not isinstance(value, bool)
    if kind in ("Iterable", "Sequence", TEXTS):
        is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
        return is_list and (kind != TEXTS or all(isinstance(each, str) for each in value))
    if kind == "tuple":
        return isinstance(value, (tuple, list))
    if kind == "Callable":
        return callable(value)
    if kind == "Game":
        return None
    known = {"str": str, "Path": Path}.get(kind, getattr(inspect.unwrap(function), "__globals__", {}).get(kind))
    return isinstance(value, known) if isinstance(known, (type, UnionType)) else None


def _in_words(kind: str) -> str:
    return WORDS.get(kind, f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}")

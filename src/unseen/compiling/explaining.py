"""When a kernel fails to compile, the rules are compiled one by one to find the one at fault; it gets a sentence."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numba
from numba import njit
from numba.core.errors import NumbaError

from unseen.compiling.lowering import PIECE_OPTIONS
from unseen.compiling.types import Compiled, compiled_methods, numba_type
from unseen.errors import RuleError

HINTS = {
    "Only accept returning of array passed|NRT required": "it makes a new array, list, dictionary or string, which rules may not",
    "Unknown attribute '(\\w+)' of type Record": "the state has no field {0!r}",
    "Unknown attribute '(\\w+)' of type": "there is no parameter, method or number called {0!r}",
    "Untyped global name '(\\w+)'": "it uses {0!r}, which is not a number, an array or a function marked @unseen.piece",
}
"""What the compiler says, and what it means here."""
MAKING = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.JoinedStr)
"""What makes a new object, in source code."""


def explain(obj: Compiled, error: Exception) -> RuleError | None:
    """Find the method at fault by compiling the rules one by one; say its class, name and line, then the compiler's text."""
    for name, arguments in obj.rule_arguments().items():
        method = compiled_methods(type(obj)).get(name)
        if method is None:
            continue
        try:
            njit(**PIECE_OPTIONS)(method).compile((numba_type(type(obj)), *map(numba.typeof, arguments)))
        except Exception as found:
            text = _strip_colour(str(found)).strip()
            where, line = _fault_line(text, method)
            if line == method.__code__.co_firstlineno:
                line = _line_of(found, method)
            return RuleError(f"{type(obj).__name__}.{where}, line {line}: {_in_plain_words(found, text)}.", text)
    if not isinstance(error, NumbaError):
        return None  # the rules compile: it was raised by running them
    return RuleError(f"{type(obj).__name__}: Numba cannot compile a kernel for this class.", _strip_colour(str(error)).strip())


def _line_of(error: Exception, method: Callable[..., Any]) -> int:
    """The line of a method that is to blame, where the compiler names only the method: a misspelt field, or something made anew."""
    first = method.__code__.co_firstlineno
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError):
        return first
    for node in ast.walk(tree):
        is_field = isinstance(error, KeyError) and isinstance(node, ast.Attribute) and node.attr == error.args[0]
        is_made = not isinstance(error, KeyError) and isinstance(node, MAKING)
        if is_field or is_made:
            return first - 1 + int(getattr(node, "lineno", 1))
    return first


def _in_plain_words(error: Exception, text: str) -> str:
    """What the compiler's complaint means, if it is a common one."""
    if isinstance(error, KeyError):
        return f"the state has no field {error}"
    for pattern, meaning in HINTS.items():
        if found := re.search(pattern, text):
            return meaning.format(*found.groups())
    return "Numba cannot compile it"


def _fault_line(message: str, method: Callable[..., Any]) -> tuple[str, int]:
    """The method and line that the compiler blames: the first place that it names in the class's own file is the innermost."""
    file = method.__code__.co_filename
    first = method.__code__.co_firstlineno
    places = re.findall(r'File "([^"]+)", line (\d+)', _strip_colour(message))
    lines = [int(n) for f, n in places if os.path.basename(f) == os.path.basename(file)]
    line = lines[0] if lines else first
    module = sys.modules.get(method.__module__)
    for cls in vars(module).values() if module else ():
        if isinstance(cls, type):
            for name, other in vars(cls).items():
                if inspect.isfunction(other) and other.__code__.co_filename == file:
                    last = max(n for _, _, n in other.__code__.co_lines() if n is not None)
                    if other.__code__.co_firstlineno <= line <= last:
                        return name, line
    return method.__name__, line


def _strip_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)

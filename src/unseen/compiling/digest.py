"""What compiled code depends on, as a digest: bytecode, constants, the values of what it names, and the same for what it calls."""

from __future__ import annotations

import functools
import hashlib
import inspect
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np

LIBRARIES = ("numpy", "numba", "math")
"""Modules whose code is known by its version or does not change."""


def is_compiled(value: Any) -> bool:
    return hasattr(value, "py_func") or hasattr(value, "dispatcher")


@functools.cache
def code_digest(function: Callable[..., Any]) -> str:
    """A digest of a function and of everything that it is compiled from."""
    digest = hashlib.sha256()
    digest_function(digest, function, set())
    return digest.hexdigest()[:16]


def digest_function(digest: Any, function: Callable[..., Any], seen: set[int]) -> None:
    """Add a function: its code, and the globals and closure cells that it names."""
    if id(function) in seen:
        return
    seen.add(id(function))
    names = _digest_code(digest, function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    for value in [*cells, *(function.__defaults__ or ()), *values]:
        _digest_value(digest, value, names, seen)


def _digest_code(digest: Any, code: python_types.CodeType) -> list[str]:
    """Add bytecode and constants; returns the names that it looks up."""
    names = sorted(code.co_names)
    digest.update(code.co_code + repr((names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            names += _digest_code(digest, constant)
        else:
            digest.update(repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode())
    return names


def _digest_value(digest: Any, value: Any, names: list[str], seen: set[int]) -> None:
    """Add a value that code refers to. Of a module, the attributes among `names`; of what else there may be, only the type."""
    if is_compiled(value):
        value = inspect.unwrap(getattr(value, "py_func", value))
    if isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic, type(None))):
        digest.update(repr(value).encode())
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif inspect.isfunction(value):
        if value.__module__.partition(".")[0] in LIBRARIES:
            digest.update(value.__qualname__.encode())
        else:
            digest_function(digest, value, seen)
    elif inspect.ismodule(value):
        digest.update(value.__name__.encode())
        if value.__name__.partition(".")[0] not in LIBRARIES and id(value) not in seen:
            seen.add(id(value))
            for name in names:
                if hasattr(value, name):
                    _digest_value(digest, getattr(value, name), names, seen)
    else:
        digest.update(repr(type(value)).encode() + getattr(value, "__qualname__", "").encode())

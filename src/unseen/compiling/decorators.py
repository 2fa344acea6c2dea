"""The two decorators: a kernel, which Python calls, and a piece, which kernels call and inline."""

from __future__ import annotations

import functools
import inspect
import types as python_types
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.registry import CPUDispatcher
from numba.core.types import unliteral

from unseen.compiling.cache import ContentCacheFile, with_content_cache
from unseen.compiling.digest import is_compiled
from unseen.compiling.explaining import explain
from unseen.compiling.lowering import CHECKS, JIT_DISABLED, KERNEL_OPTIONS, PIECE_OPTIONS, PieceCompiler
from unseen.compiling.types import Compiled
from unseen.errors import RuleError

CHECKED_FOR = (IndexError, OverflowError, ZeroDivisionError)
"""What compiled rules that are checked may raise."""
F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function`, which Python calls. Release the GIL, cache on disk, and turn compiler errors into sentences."""
    if JIT_DISABLED:
        return _wrapping_uint64(function)
    dispatcher = with_content_cache(njit(**KERNEL_OPTIONS)(function))

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        for arg in args:
            if isinstance(arg, Compiled):
                arg.enter()
        try:
            return dispatcher(*args)
        except Exception as error:  # not only NumbaError: a misspelt field of a record, for one, is a KeyError
            for name in list(ContentCacheFile.turns):
                ContentCacheFile.end_turn(name)
            for arg in args:
                if isinstance(error, CHECKED_FOR) and isinstance(arg, Compiled) and arg.checks_indices:
                    what = "a rule uses an index that is out of bounds" if isinstance(error, IndexError) else f"in a rule, {error}"
                    raise RuleError(f"{type(arg).__name__}: {what}; `unseen check` says where.") from error
                if isinstance(arg, Compiled) and (explained := explain(arg, error)) is not None:
                    raise explained from error
            raise

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return cast(F, call)


def piece(function: F) -> F:
    """Compile `function`, a small one that kernels call. It is inlined, so splitting a kernel into pieces costs nothing.

    Those of users are checked as rules are.
    """
    if JIT_DISABLED:
        return function
    options = {name: value for name, value in PIECE_OPTIONS.items() if name != "pipeline_class"}
    if function.__module__.partition(".")[0] != "unseen":
        options |= CHECKS
    return cast(F, Piece(function, targetoptions={"nopython": True, **options}, pipeline_class=PieceCompiler))


class Piece(CPUDispatcher):
    """A dispatcher for kernels. For calls from Python, as by rules that run as plain Python, there is another one."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """A number that is written out is compiled as any other of its type: inlining makes it a constant anyway."""
        return super().get_call_template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

    def __call__(self, *args: Any) -> Any:
        return self.for_python(*args)

    @functools.cached_property
    def for_python(self) -> Callable[..., Any]:
        return cast(Callable[..., Any], njit(**KERNEL_OPTIONS)(self.py_func))


def _wrapping_uint64(function: F) -> F:
    """Let unsigned arithmetic wrap silently in plain Python, as it does in machine code."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return cast(F, call)


@functools.cache
def as_python(function: F) -> F:
    """A kernel or piece as plain Python, with every kernel and piece that it calls as plain Python too."""
    if JIT_DISABLED:
        return _wrapping_uint64(function)
    source = inspect.unwrap(getattr(function, "py_func", function))
    scope = {name: as_python(value) if is_compiled(value) else value for name, value in source.__globals__.items()
             if name in source.__code__.co_names or name == "__builtins__"}  # fmt: skip
    plain = python_types.FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    return cast(F, _wrapping_uint64(plain))

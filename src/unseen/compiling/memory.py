"""Memory as the processor has it: words that several threads write to without locks, and words that are brought near in time.

A word of a table that threads share is 0 until a thread claims it; then it is `CLAIMED` until that thread publishes a value there.
Whoever reads the value after that sees all that was written before it was published.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from unseen.compiling.types import in_kernels

CLAIMED = np.uint64(0x7FF8000000000001)
"""As a number it would be no number, which is never published."""


def claim(words: Any, i: int) -> bool:
    """Whether `words[i]` was 0, and is this thread's to write to now."""
    was, words[i] = words[i], CLAIMED if words[i] == 0 else words[i]
    return bool(was == 0)


def read(words: Any, i: int) -> Any:
    """`words[i]`, as it was last published."""
    return words[i]


def publish(words: Any, i: int, value: Any) -> None:
    """Write `words[i]`, after all that this thread has written before."""
    words[i] = value


def fetch(words: Any, i: int) -> None:
    """Have `words[i]` brought near; it will be read soon."""


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where `words[i]` is: the first two arguments of each of these."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, signature.args[0], array, [args[1]])


@intrinsic
def _claim(typing_context: Any, words: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        pair = builder.cmpxchg(_pointer(context, builder, signature, args), word(0), word(int(CLAIMED)), "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(words, types.intp), emit


@intrinsic
def _read(typing_context: Any, words: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature, args), "acquire", 8)

    return types.uint64(words, types.intp), emit


@intrinsic
def _publish(typing_context: Any, words: Any, i: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _pointer(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.uint64), emit


@intrinsic
def _fetch(typing_context: Any, words: Any, i: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, number, number, number]), "llvm.prefetch.p0i8"
        )
        place = builder.bitcast(_pointer(context, builder, signature, args), pointer)
        builder.call(prefetch, [place, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(words, types.intp), emit


in_kernels(claim, lambda words, i: _claim(words, i))  # type: ignore[call-arg]
in_kernels(read, lambda words, i: _read(words, i))  # type: ignore[call-arg]
in_kernels(publish, lambda words, i, value: _publish(words, i, value))  # type: ignore[call-arg]
in_kernels(fetch, lambda words, i: _fetch(words, i))  # type: ignore[call-arg]

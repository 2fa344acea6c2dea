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

from unseen.compiling.lowering import JIT_DISABLED

CLAIMED = np.uint64(0x7FF8000000000001)
"""As a number it would be no number, which is never published."""


def _plain_claim(words: Any, i: int) -> bool:
    was, words[i] = words[i], CLAIMED if words[i] == 0 else words[i]
    return bool(was == 0)


def _plain_read(words: Any, i: int) -> Any:
    return words[i]


def _plain_publish(words: Any, i: int, value: Any) -> None:
    words[i] = value


def _plain_fetch(words: Any, i: int) -> None:
    pass


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where `words[i]` is: the first two arguments of each of these."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, signature.args[0], array, [args[1]])


@intrinsic
def _claim(typing_context: Any, words: Any, i: Any) -> Any:
    """Whether `words[i]` was 0, and is this thread's to write to now."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        pair = builder.cmpxchg(_pointer(context, builder, signature, args), word(0), word(int(CLAIMED)), "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(words, types.intp), emit


@intrinsic
def _read(typing_context: Any, words: Any, i: Any) -> Any:
    """`words[i]`, as it was last published."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature, args), "acquire", 8)

    return types.uint64(words, types.intp), emit


@intrinsic
def _publish(typing_context: Any, words: Any, i: Any, value: Any) -> Any:
    """Write `words[i]`, after all that this thread has written before."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _pointer(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.uint64), emit


@intrinsic
def _fetch(typing_context: Any, words: Any, i: Any) -> Any:
    """Have `words[i]` brought near; it will be read soon."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, number, number, number]), "llvm.prefetch.p0i8"
        )
        place = builder.bitcast(_pointer(context, builder, signature, args), pointer)
        builder.call(prefetch, [place, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(words, types.intp), emit


claim: Any = _plain_claim if JIT_DISABLED else _claim
read: Any = _plain_read if JIT_DISABLED else _read
fetch: Any = _plain_fetch if JIT_DISABLED else _fetch
publish: Any = _plain_publish if JIT_DISABLED else _publish

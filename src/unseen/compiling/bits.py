"""Sets of small numbers as the bits of one: how many there are, and which is the n-th."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from unseen.compiling.types import in_kernels

WORD = ir.IntType(64)
SLOW = ("znver1", "znver2", "bdver4")
"""Processors that have the instruction for the n-th bit, and take long for it."""


def bit_count(bits: int) -> int:
    """How many bits are set."""
    return int(bits).bit_count()


def nth_bit(bits: int, n: int) -> int:
    """The place of the n-th bit that is set, the lowest being the 0th; there must be more than `n`."""
    left = int(bits)
    for _ in range(n):
        left &= left - 1
    return (left & -left).bit_length() - 1


@intrinsic
def _count(typing_context: Any, bits: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), emit


@intrinsic
def _nth(typing_context: Any, bits: Any, n: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits, n = args
        _, processor, features = context.codegen().magic_tuple()
        if "+bmi2" in features.split(",") and processor not in SLOW:
            deposit = cgutils.get_or_insert_function(builder.module, ir.FunctionType(WORD, [WORD, WORD]), "llvm.x86.bmi.pdep.64")
            bits = builder.call(deposit, [builder.shl(WORD(1), n), bits])
        else:
            left = cgutils.alloca_once_value(builder, bits)
            with cgutils.for_range(builder, n):
                value = builder.load(left)
                builder.store(builder.and_(value, builder.sub(value, WORD(1))), left)
            bits = builder.load(left)
        return builder.cttz(bits, ir.IntType(1)(0))

    return types.int64(types.int64, types.int64), emit


in_kernels(bit_count, lambda bits: _count(bits))  # type: ignore[call-arg]
in_kernels(nth_bit, lambda bits, n: _nth(bits, n))  # type: ignore[call-arg]

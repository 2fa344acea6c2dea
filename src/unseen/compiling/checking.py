"""What compiled rules of users' games are checked for, so that they say what plain Python would, or raise.

Machine code cuts a number off where it is stored in a field, wraps what is below zero around where all numbers are unsigned, and
shifts by the last six bits of a number. Plain Python does none of that, so a game with such a fault would be another game in
compiled code. The checks are a comparison each, where an index is checked, too.
"""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.ir as llvm
from numba.core import cgutils, ir, types
from numba.core.lowering import Lower

SHIFTS = (operator.lshift, operator.rshift, operator.ilshift, operator.irshift)
DIFFERENCES = (operator.sub, operator.isub)


def is_signed(kind: types.Integer[Any]) -> bool:
    return bool(kind.minval < 0)


class CheckingLower(Lower):
    """Lowers a function; where indices are checked, so are numbers that are stored in fields, shifts and unsigned differences."""

    def lower_inst(self, inst: Any) -> Any:
        if self.flags.boundscheck:
            if isinstance(inst, ir.SetAttr) and isinstance(record := self.typeof(inst.target.name), types.Record):
                self._check_store(inst.value, record.typeof(inst.attr), inst.attr)
            elif isinstance(inst, (ir.SetItem, ir.StaticSetItem)):
                array = self.typeof(inst.target.name)
                if isinstance(array, types.Array):
                    self._check_store(inst.value, array.dtype, self._field(inst.target))
        return super().lower_inst(inst)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        if self.flags.boundscheck:
            left, right = (types.unliteral(self.typeof(side.name)) for side in (expr.lhs, expr.rhs))
            if isinstance(left, types.Integer) and isinstance(right, types.Integer):
                if op in SHIFTS:
                    self._check_shift(expr, right)
                elif op in DIFFERENCES and not is_signed(left) and not is_signed(right):
                    self._check_difference(expr, left, right)
        return super().lower_binop(resty, expr, op)

    def _field(self, variable: Any) -> str:
        """The name of the field that an array is."""
        try:
            found = self.func_ir.get_definition(variable)
        except KeyError:
            return ""
        return str(found.attr) if isinstance(found, ir.Expr) and found.op == "getattr" else ""

    def _check_store(self, variable: Any, field: Any, name: str) -> None:
        """Raise unless a number is one that an integer field can hold."""
        kind = types.unliteral(self.typeof(variable.name))
        if not isinstance(field, types.Integer) or kind == field:
            return
        builder, value = self.builder, self.loadvar(variable.name)
        what = f"field {name!r}" if name else "a field"
        message = f"{what} gets a number that does not fit its type, {field}"
        if isinstance(kind, types.Integer):
            if kind.minval < field.minval:
                least = llvm.Constant(value.type, field.minval)
                self._raise_if(builder.icmp_signed("<", value, least), OverflowError, message)
            if kind.maxval > field.maxval:
                compare = builder.icmp_signed if is_signed(kind) else builder.icmp_unsigned
                self._raise_if(compare(">", value, llvm.Constant(value.type, field.maxval)), OverflowError, message)
        elif isinstance(kind, types.Float):
            bounds = (llvm.Constant(value.type, float(bound)) for bound in (field.minval, field.maxval))
            floor = builder.call(cgutils.get_or_insert_function(
                builder.module, llvm.FunctionType(value.type, [value.type]), f"llvm.floor.f{kind.bitwidth}"
            ), [value])  # fmt: skip
            fits = builder.and_(builder.fcmp_ordered(">=", value, next(bounds)), builder.fcmp_ordered("<=", value, next(bounds)))
            fits = builder.and_(fits, builder.fcmp_ordered("==", floor, value))
            self._raise_if(builder.not_(fits), OverflowError, message)

    def _check_shift(self, expr: Any, kind: Any) -> None:
        """Raise unless a number is shifted by 0 to 63 bits."""
        value = self.loadvar(expr.rhs.name)
        most = llvm.Constant(value.type, 63)
        self._raise_if(
            self.builder.icmp_unsigned(">", value, most), OverflowError, "a number is shifted by less than 0 or over 63 bits"
        )

    def _check_difference(self, expr: Any, left: Any, right: Any) -> None:
        """Raise if the difference of unsigned numbers is below zero."""
        values = [self.context.cast(self.builder, self.loadvar(side.name), kind, types.uint64)
                  for side, kind in ((expr.lhs, left), (expr.rhs, right))]  # fmt: skip
        message = "a difference of unsigned numbers is below zero, which needs a signed type"
        self._raise_if(self.builder.icmp_unsigned("<", *values), OverflowError, message)

    def _raise_if(self, condition: Any, error: type[Exception], message: str) -> None:
        with self.builder.if_then(condition, likely=False):
            self.call_conv.return_user_exc(self.builder, error, (message,), loc=self.loc, func_name=self.func_ir.func_id.func_name)

"""A Numba type for each class: its parameters are fields, its methods overloads that are resolved by type."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    overload,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from unseen.compiling.digest import digest_function
from unseen.compiling.lowering import CHECKS, JIT_DISABLED, PIECE_OPTIONS


class CompiledType(types.Type):
    """The Numba type of one `Compiled` class. Each class has a subclass of this with one instance."""

    living: ClassVar[dict[str, CompiledType]] = {}

    def __init__(self, name: str, cls: type[Compiled], fields: dict[str, type], checks: bool) -> None:
        super().__init__(name=name)
        self.fields = fields
        self.checks = checks
        self.compiled_class = cls
        CompiledType.living[self.name] = self

    def __reduce__(self) -> Any:
        # Cached machine code refers to its types by full name: a class that has changed since is another type.
        return (_restore, (self.name,))


class StaleType(types.Type):
    """What a cached signature refers to when its class is not here or has changed: equal to no living type."""


def _restore(name: str) -> types.Type:
    return CompiledType.living.get(name) or StaleType(name=name)


def _numba_scalar(kind: type) -> types.Type:
    return types.float64 if issubclass(kind, float) else types.int64


def _constant(typ: CompiledType, name: str) -> bool | int | float | None:
    """A class attribute that compiled methods may read: a number that fits 64 bits. And whether they are checked."""
    if name == "checks_indices":
        return typ.checks
    value = getattr(typ.compiled_class, name, None)
    is_number = isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)
    return value if is_number else None


@register_model(CompiledType)
class _FieldsModel(models.StructModel):
    def __init__(self, manager: Any, fe_type: CompiledType) -> None:
        members = [(name, _numba_scalar(kind)) for name, kind in fe_type.fields.items()]
        super().__init__(manager, fe_type, members)


@infer_getattr
class _Attributes(AttributeTemplate):
    """`self.x` in a compiled method: a parameter, or a number that is an attribute of the class (a constant)."""

    key = CompiledType

    def generic_resolve(self, typ: CompiledType, name: str) -> types.Type | None:  # type: ignore[override]
        if name in typ.fields:
            return _numba_scalar(typ.fields[name])
        constant = _constant(typ, name)
        if constant is None:
            return None
        return types.boolean if isinstance(constant, bool) else _numba_scalar(type(constant))


@lower_getattr_generic(CompiledType)  # type: ignore[untyped-decorator]
def _lower_attribute(context: Any, builder: Any, typ: CompiledType, value: Any, name: str) -> Any:
    if name in typ.fields:
        return getattr(cgutils.create_struct_proxy(typ)(context, builder, value=value), name)
    constant = _constant(typ, name)
    kind = types.boolean if isinstance(constant, bool) else _numba_scalar(type(constant))
    return context.get_constant(kind, constant)


@unbox(CompiledType)  # type: ignore[untyped-decorator]
def _unbox(typ: CompiledType, obj: Any, c: Any) -> NativeValue:
    struct = cgutils.create_struct_proxy(typ)(c.context, c.builder)
    for name, kind in typ.fields.items():
        value = c.pyapi.object_getattr_string(obj, name)
        read = c.pyapi.float_as_double if kind is float else c.pyapi.long_as_longlong
        setattr(struct, name, read(value))
        c.pyapi.decref(value)
    return NativeValue(struct._getvalue())


class Compiled:
    """Base of classes whose methods Numba compiles when a kernel calls them.

    `compiled_fields` names the instance attributes that methods read as `self.name`, with their types (int, bool or float).
    """

    compiled_fields: ClassVar[dict[str, type]] = {}
    checks_indices: bool = False
    """Whether compiled methods are checked: they raise where an index is out of bounds, a number does not fit its field, an
    unsigned difference is below zero, or something is divided by zero or shifted by over 63 bits. Kernels may ask."""

    def enter(self) -> None:
        """Called whenever it is handed to compiled code. Raises if it should not be."""

    def rule_arguments(self) -> dict[str, tuple[Any, ...]]:
        """Arguments of the right types for each method that kernels call, so that a faulty one can be found."""
        return {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not JIT_DISABLED:
            typeof_impl.register(cls)(lambda value, context: numba_type(type(value), value.checks_indices))


CHECKED = "!2"
"""Ends the name of a type whose methods are checked. The number is that of what they are checked for."""
_types: dict[tuple[type[Compiled], bool], CompiledType] = {}


def numba_type(cls: type[Compiled], checks_indices: bool = False) -> CompiledType:
    """The Numba type of a class, made when it is first needed: by then all that its methods refer to has been defined.

    Classes with the same name and code (a cell of a notebook run twice) share one type, and so does a subclass that compiles to the
    same as its base, for which nothing need be compiled again. Methods that check indices are those of another type, so every
    kernel can be compiled for either.
    """
    if (cls, checks_indices) in _types:
        return _types[cls, checks_indices]
    digest, owner = class_digest(cls), cls
    for base in cls.__mro__[1:]:
        if not (issubclass(base, Compiled) and base.compiled_fields == cls.compiled_fields and class_digest(base) == digest):
            break
        owner = base
    name = f"{owner.__module__}.{owner.__qualname__}#{digest}" + CHECKED * checks_indices
    if name not in CompiledType.living:
        _make_type(name, owner, checks_indices)
    _types[cls, checks_indices] = CompiledType.living[name]
    return _types[cls, checks_indices]


def _make_type(name: str, cls: type[Compiled], checks_indices: bool) -> None:
    """Make a Numba type with the fields and methods of `cls`."""
    options = PIECE_OPTIONS | (CHECKS if checks_indices else {})
    kind = type(f"{cls.__name__}Type", (CompiledType,), {})
    register_model(kind)(_FieldsModel)
    unbox(kind)(_unbox)
    for method_name, method in compiled_methods(cls).items():
        overload_method(kind, method_name, jit_options=options)(stub(method))  # type: ignore[call-arg]
    kind(name, cls, cls.compiled_fields, checks_indices)


def compiled_methods(cls: type[Compiled]) -> dict[str, Callable[..., Any]]:
    """The methods of `cls` that a kernel, or another method, may call."""
    found: dict[str, Callable[..., Any]] = {}
    for base in reversed(cls.__mro__):
        if base in (object, Compiled):
            continue
        for name, value in vars(base).items():
            if inspect.isfunction(value) and not name.startswith("__"):
                found[name] = value
    return found


def stub(method: Callable[..., Any]) -> Callable[..., Any]:
    """What Numba asks for the implementation of a method, given the types of its arguments."""

    def implementation(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        return method

    implementation.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return implementation


def in_kernels(function: Callable[..., Any], native: Callable[..., Any]) -> None:
    """Have kernels call `native` where they say `function`, which is for plain Python."""
    if not JIT_DISABLED:
        overload(function, jit_options=PIECE_OPTIONS)(stub(native))  # type: ignore[arg-type]


def class_digest(cls: type[Compiled]) -> str:
    """A digest of all methods of a class, everything that they are compiled from, and the numbers among its attributes."""
    digest, seen = hashlib.sha256(), set[int]()
    for name, method in sorted(compiled_methods(cls).items()):
        digest.update(name.encode())
        digest_function(digest, method, seen)
    for name in sorted(dir(cls)):
        value = getattr(cls, name, None)
        if isinstance(value, (int, float)) and name not in cls.compiled_fields:
            digest.update(f"{name}={value!r}".encode())
    return digest.hexdigest()[:16]

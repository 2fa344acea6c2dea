"""Classes of plain Python methods that run at native speed. The only module that knows Numba's internals.

A `Compiled` subclass gets a Numba type of its own. Its parameters are the fields of that type, and each of its methods is
an overload that Numba resolves *by type*, so a kernel that takes the object as an argument is specialised for it and the
methods are inlined::

    @kernel
    def longest(game, s): ...
        game.apply(s, a, tell)          # the method of this very class, compiled and inlined

Three things here are easy to get wrong:

- *Stale machine code.* A type's name carries a digest of the source the class was read from, and the name of each cache file
  is a digest of everything the machine code depends on: the signature (and so the class's source), the kernel, every library
  module that holds kernels, and Numba's version. Numba's own cache looks only at the file of the kernel itself.
- *Two processes at once.* Numba numbers its cache files through a shared index, so that two processes that compile one kernel for
  two games can swap their results. Files named by content cannot be mixed up, and need no index.
- *Errors for people.* When a kernel fails to compile, the rules are compiled one by one to find the one at fault.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import re
import sys
import threading
import types as python_types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
import numpy as np
from numba import njit, types
from numba.core import cgutils, config, event
from numba.core.caching import IndexDataCacheFile
from numba.core.errors import NumbaError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from unseen.errors import RuleError

F = TypeVar("F", bound=Callable[..., Any])
JIT_DISABLED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""True under NUMBA_DISABLE_JIT=1: everything runs as plain Python, so that a breakpoint in a rule stops there."""

KERNEL_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
PIECE_OPTIONS: dict[str, Any] = {"error_model": "numpy", "forceinline": True, "_nrt": False}
ALLOCATION_ERROR = "Only accept returning of array passed into the function"
"""What the compiler says of an allocation when reference counting is off."""
CACHE_FILES_PER_KERNEL = 64
SLOW_COMPILE_SECONDS = 1.0


# Decorators -------------------------------------------------------------------------------------------------------------


def kernel(function: F) -> F:
    """Compile a function that Python calls. Release the GIL, cache on disk, and turn compiler errors into sentences."""
    if JIT_DISABLED:
        return _wrapping_uint64(function)
    dispatcher = _with_content_cache(njit(**KERNEL_OPTIONS)(function))

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        try:
            return dispatcher(*args)
        except NumbaError as error:
            for arg in args:
                if isinstance(arg, Compiled):
                    raise explain(arg, error) from error
            raise

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return cast(F, call)


def piece(function: F) -> F:
    """Compile a small function that kernels call. It is inlined, so splitting a kernel into pieces costs nothing."""
    if JIT_DISABLED:
        return function
    return cast(F, njit(**PIECE_OPTIONS)(function))


def _wrapping_uint64(function: F) -> F:
    """Let unsigned arithmetic wrap silently in plain Python, as it does in machine code."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return cast(F, call)


# The cache --------------------------------------------------------------------------------------------------------------


class ContentCacheFile(IndexDataCacheFile):
    """Machine code in files named by a digest of all that it was made from."""

    def _name(self, key: Any) -> str:
        """`_source_stamp` is the name of the module that the kernel is defined in."""
        base = self._data_name_pattern.split("{")[0]
        made_from = (key, numba.__version__, kernel_digest(), source_digest([self._source_stamp]))
        return f"{base}{hashlib.sha256(repr(made_from).encode()).hexdigest()[:32]}.nbc"

    def load(self, key: Any) -> Any:
        try:
            return self._load_data(self._name(key))
        except OSError:
            return None
        except Exception:  # a damaged file is as good as none: compile again and overwrite it
            return None

    def save(self, key: Any, data: Any) -> None:
        name = self._name(key)
        self._save_data(name, data)
        siblings = Path(self._cache_path).glob(f"{name.rsplit('.', 2)[0]}.*.nbc")
        by_age = sorted(siblings, key=_modified, reverse=True)
        for old in by_age[CACHE_FILES_PER_KERNEL:]:
            old.unlink(missing_ok=True)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _with_content_cache(dispatcher: Any) -> Any:
    """Switch on caching for a dispatcher, unless its function has no file (it was typed at a prompt)."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        return dispatcher
    cache = dispatcher._cache
    cache._cache_file = ContentCacheFile(
        cache_path=cache.cache_path,
        filename_base=cache._cache_file._index_name.removesuffix(".nbi"),
        source_stamp=dispatcher.py_func.__module__,
    )
    return dispatcher


@functools.cache
def kernel_digest() -> str:
    """A digest of every library module that holds kernels or pieces: any of them may be inlined into any kernel."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if path == Path(__file__) or b"unseen.compiling import" in text:
            digest.update(text)
    return digest.hexdigest()[:16]


@functools.cache
def as_python(function: F) -> F:
    """A kernel or piece as plain Python, with every kernel and piece that it calls as plain Python too."""
    if JIT_DISABLED:
        return function
    source = inspect.unwrap(getattr(function, "py_func", function))
    scope = {name: as_python(value) if _is_compiled(value) else value for name, value in source.__globals__.items()
             if name in source.__code__.co_names or name == "__builtins__"}  # fmt: skip
    plain = python_types.FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    return cast(F, _wrapping_uint64(plain))


def _is_compiled(value: Any) -> bool:
    return hasattr(value, "py_func") or hasattr(value, "dispatcher")


# Fingerprints of source ---------------------------------------------------------------------------------------------------


def source_digest(names: list[str]) -> str:
    """A digest of the source of some modules and, from there, of every module in the same folder that they import names from.

    Code without source (typed at a prompt) gets a digest that no other process will have.
    """
    seen: dict[str, bytes] = {}
    todo = [sys.modules[name] for name in names if name in sys.modules]
    while todo:
        module = todo.pop()
        if module.__name__ in seen:
            continue
        file = getattr(module, "__file__", None)
        if file is None or not os.path.exists(file):
            seen[module.__name__] = os.urandom(16)
            continue
        seen[module.__name__] = Path(file).read_bytes()
        todo += [m for m in _imported(module) if _same_folder(m, file)]
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(hashlib.sha256(seen[name]).digest())
    return digest.hexdigest()[:16]


def _imported(module: python_types.ModuleType) -> Iterator[python_types.ModuleType]:
    for value in list(vars(module).values()):
        if isinstance(value, python_types.ModuleType):
            yield value
        else:
            name = getattr(value, "__module__", None)
            if isinstance(name, str) and name in sys.modules:
                yield sys.modules[name]


def _same_folder(module: python_types.ModuleType, file: str) -> bool:
    other = getattr(module, "__file__", None)
    return other is not None and os.path.dirname(other) == os.path.dirname(file)


# Types ------------------------------------------------------------------------------------------------------------------


class CompiledType(types.Type):
    """The Numba type of one `Compiled` class. Each class has a subclass of this with one instance."""

    living: ClassVar[dict[str, CompiledType]] = {}

    def __init__(self, cls: type[Compiled], fields: dict[str, type]) -> None:
        modules = [base.__module__ for base in cls.__mro__ if base is not object]
        super().__init__(name=f"{cls.__module__}.{cls.__qualname__}#{source_digest(modules)}")
        self.fields = fields
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
    return types.float64 if kind is float else types.int64


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
        constant = getattr(typ.compiled_class, name, None)
        if isinstance(constant, (bool, int, float)):
            return types.boolean if isinstance(constant, bool) else _numba_scalar(type(constant))
        return None


@lower_getattr_generic(CompiledType)  # type: ignore[untyped-decorator]
def _lower_attribute(context: Any, builder: Any, typ: CompiledType, value: Any, name: str) -> Any:
    if name in typ.fields:
        return getattr(cgutils.create_struct_proxy(typ)(context, builder, value=value), name)
    constant = getattr(typ.compiled_class, name)
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
    numba_type: ClassVar[CompiledType]

    def rule_arguments(self) -> dict[str, tuple[Any, ...]]:
        """Arguments of the right types for each method that kernels call, so that a faulty one can be found."""
        return {}

    @classmethod
    def register_type(cls) -> None:
        """Make the Numba type of this class and register its methods. Nothing is compiled yet."""
        if JIT_DISABLED:
            return
        kind = type(f"{cls.__name__}Type", (CompiledType,), {})
        register_model(kind)(_FieldsModel)
        unbox(kind)(_unbox)
        cls.numba_type = kind(cls, cls.compiled_fields)
        typeof_impl.register(cls)(lambda value, context: type(value).numba_type)
        for name, method in compiled_methods(cls).items():
            overload_method(kind, name, jit_options=PIECE_OPTIONS)(_stub(method))  # type: ignore[call-arg]


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


def _stub(method: Callable[..., Any]) -> Callable[..., Any]:
    """What Numba asks for the implementation of a method, given the types of its arguments."""

    def overload(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        return method

    overload.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return overload


# Errors and messages for people --------------------------------------------------------------------------------------------


def explain(obj: Compiled, error: NumbaError) -> RuleError:
    """Find the method at fault by compiling the rules one by one; say its class, name and line, then the compiler's text."""
    for name, arguments in obj.rule_arguments().items():
        method = compiled_methods(type(obj)).get(name)
        if method is None:
            continue
        try:
            njit(**PIECE_OPTIONS)(method).compile((obj.numba_type, *map(numba.typeof, arguments)))
        except NumbaError as found:
            where, line = _fault_line(str(found), method)
            text = _strip_colour(str(found)).strip()
            why = "it makes a new array, which rules may not" if ALLOCATION_ERROR in text else "Numba cannot compile it"
            return RuleError(f"{type(obj).__name__}.{where}, line {line}: {why}.\n{text}")
    return RuleError(f"{type(obj).__name__}: Numba cannot compile a kernel for this class.\n{_strip_colour(str(error)).strip()}")


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
                    length = len(inspect.getsourcelines(other)[0])
                    if other.__code__.co_firstlineno <= line < other.__code__.co_firstlineno + length:
                        return name, line
    return method.__name__, line


def _strip_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class _CompileNotice(event.Listener):
    """Says "compiling..." on standard error when a compilation takes longer than a second, once a process."""

    def __init__(self) -> None:
        self.depth = 0
        self.said = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1 and not self.said:
            self.timer = threading.Timer(SLOW_COMPILE_SECONDS, self._say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()

    def _say(self) -> None:
        self.said = True
        print("compiling... (once for each game; the result is kept on disk)", file=sys.stderr, flush=True)


if not JIT_DISABLED:
    event.register("numba:compile", _CompileNotice())

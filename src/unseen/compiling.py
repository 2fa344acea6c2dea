"""Classes of plain Python methods that run at native speed. The only module that knows Numba's internals.

A `Compiled` subclass gets a Numba type of its own. Its parameters are the fields of that type, and each of its methods is
an overload that Numba resolves *by type*, so a kernel that takes the object as an argument is specialised for it and the
methods are inlined::

    @kernel
    def longest(game, s): ...
        game.apply(s, a, tell)          # the method of this very class, compiled and inlined

Three things here are easy to get wrong:

- *Stale machine code.* A type's name carries a digest of the code that its methods compile to: their bytecode and constants, the
  values of the globals, closures and class attributes that they use, and the same for every function that they call. The name
  of a cache file is a digest of the signature, which names such types, and of the kernel in the same way. Nothing is read from
  source files, so it does not matter which file was edited, or when. (Numba's own cache looks at the file of the kernel alone.)
- *Two processes at once.* Numba numbers its cache files through a shared index that is not locked, and here many games share a
  kernel. Files named by content need no index and cannot be mixed up.
- *Errors for people.* When a kernel fails to compile, the rules are compiled one by one to find the one at fault.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import re
import sys
import textwrap
import threading
import types as python_types
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
import numpy as np
from numba import njit, types
from numba.core import cgutils, config, event
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
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


# Pieces are not made into machine code of their own ---------------------------------------------------------------------------


class PieceLibrary(JITCodeLibrary):
    """Code that is only ever linked into kernels: neither what it calls is linked into it, nor is it optimised by itself."""

    def finalize(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelLibrary(JITCodeLibrary):
    """Code that Python calls, with all pieces that it is made of, each linked once."""

    def add_linking_library(self, library: Any) -> None:
        if library in self._linking_libraries:
            return
        if isinstance(library, PieceLibrary):
            for nested in library._linking_libraries:
                self.add_linking_library(nested)
        super().add_linking_library(library)

    def finalize(self) -> None:
        self._linking_libraries.reverse()  # callers first: the linker takes only what something already linked asks for
        super().finalize()


@register_pass(mutates_CFG=True, analysis_only=False)
class PieceLowering(NativeLowering):
    """Lower a function so that kernels can inline it, and stop there: making machine code of it took a third of the time."""

    _name = "piece_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = PieceLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        was, state.flags.no_compile = state.flags.no_compile, True
        try:
            super().run_pass(state)
        finally:
            state.flags.no_compile = was
        lowered = state["cr"]
        nothing: list[Any] = []
        entry = (
            nothing.append
        )  # a key of its own by which kernels find it; the dispatcher wants a built-in method, and nobody calls it
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """Lower a function with a library that links pieces."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class _Compiler(CompilerBase):
    """The usual passes, with another one for lowering."""

    lowering: ClassVar[type[NativeLowering]]

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(self.lowering if kind is NativeLowering else kind, text) for kind, text in pipeline.passes]
        pipeline.finalize()
        return [pipeline]


class PieceCompiler(_Compiler):
    """Compiles pieces."""

    lowering = PieceLowering


class KernelCompiler(_Compiler):
    """Compiles kernels."""

    lowering = KernelLowering


KERNEL_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}
PIECE_OPTIONS: dict[str, Any] = {
    "error_model": "numpy", "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True, "no_cpython_wrapper": True,
    "pipeline_class": PieceCompiler,
}  # fmt: skip
"""Without wrappers for C, nor for Python if only kernels call: these took about a quarter of the time to compile."""
HINTS = {
    "Only accept returning of array passed|NRT required": "it makes a new array, list, dictionary or string, which rules may not",
    "Unknown attribute '(\\w+)' of type Record": "the state has no field {0!r}",
    "Unknown attribute '(\\w+)' of type": "there is no parameter, method or number called {0!r}",
    "Untyped global name '(\\w+)'": "it uses {0!r}, which is not a number, an array or a function marked @unseen.piece",
}
"""What the compiler says, and what it means here."""
MAKING = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.JoinedStr)
"""What makes a new object, in source code."""
CACHE_FILES_PER_KERNEL = 64
SLOW_COMPILE_SECONDS = 1.0
LIBRARIES = ("numpy", "numba", "math")
"""Modules whose code is known by its version or does not change."""


# Decorators -------------------------------------------------------------------------------------------------------------


def kernel(function: F) -> F:
    """Compile a function that Python calls. Release the GIL, cache on disk, and turn compiler errors into sentences."""
    if JIT_DISABLED:
        return _wrapping_uint64(function)
    dispatcher = _with_content_cache(njit(**KERNEL_OPTIONS)(function))

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        for arg in args:
            if isinstance(arg, Compiled):
                arg.enter()
        try:
            return dispatcher(*args)
        except Exception as error:  # not only NumbaError: a misspelt field of a record, for one, is a KeyError
            for arg in args:
                if isinstance(error, IndexError) and isinstance(arg, Compiled) and arg.checks_indices:
                    raise RuleError(
                        f"{type(arg).__name__}: a rule uses an index that is out of bounds; `unseen check` says where."
                    ) from error
                if isinstance(arg, Compiled) and (explained := explain(arg, error)) is not None:
                    raise explained from error
            raise

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return cast(F, call)


def piece(function: F) -> F:
    """Compile a small function that kernels call. It is inlined, so splitting a kernel into pieces costs nothing."""
    if JIT_DISABLED:
        return function
    options = {name: value for name, value in PIECE_OPTIONS.items() if name != "pipeline_class"}
    return cast(F, Piece(function, targetoptions={"nopython": True, **options}, pipeline_class=PieceCompiler))


class Piece(CPUDispatcher):
    """A dispatcher for kernels. For calls from Python, as by rules that run as plain Python, there is another one."""

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


# The cache --------------------------------------------------------------------------------------------------------------


class ContentCacheFile(IndexDataCacheFile):
    """Machine code in files named by a digest of all that it was made from."""

    def __init__(self, cache: Any, function: Callable[..., Any]) -> None:
        base = cache._cache_file._index_name.removesuffix(".nbi")
        super().__init__(cache_path=cache.cache_path, filename_base=base, source_stamp=None)
        self._base, self._function = base, function

    def _name(self, key: Any) -> str:
        made_from = (key, numba.__version__, config.BOUNDSCHECK, code_digest(self._function))  # type: ignore[attr-defined]
        return f"{self._base}.{hashlib.sha256(repr(made_from).encode()).hexdigest()[:32]}.nbc"

    def load(self, key: Any) -> Any:
        try:
            return self._load_data(self._name(key))
        except Exception:  # no file, or a damaged one, which will be compiled again and overwritten
            return None

    def save(self, key: Any, data: Any) -> None:
        name = self._name(key)
        try:
            self._save_data(name, data)
        except OSError:  # no space on the disk, say: compile again next time
            return
        siblings = Path(self._cache_path).glob(f"{self._base}.*.nbc")
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
    dispatcher._cache._cache_file = ContentCacheFile(dispatcher._cache, dispatcher.py_func)
    return dispatcher


@functools.cache
def as_python(function: F) -> F:
    """A kernel or piece as plain Python, with every kernel and piece that it calls as plain Python too."""
    if JIT_DISABLED:
        return _wrapping_uint64(function)
    source = inspect.unwrap(getattr(function, "py_func", function))
    scope = {name: as_python(value) if _is_compiled(value) else value for name, value in source.__globals__.items()
             if name in source.__code__.co_names or name == "__builtins__"}  # fmt: skip
    plain = python_types.FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    return cast(F, _wrapping_uint64(plain))


def _is_compiled(value: Any) -> bool:
    return hasattr(value, "py_func") or hasattr(value, "dispatcher")


# What code depends on -------------------------------------------------------------------------------------------------------


@functools.cache
def code_digest(function: Callable[..., Any]) -> str:
    """A digest of a function and of everything that it is compiled from."""
    digest = hashlib.sha256()
    _digest_function(digest, function, set())
    return digest.hexdigest()[:16]


def class_digest(cls: type[Compiled]) -> str:
    """A digest of all methods of a class, everything that they are compiled from, and the numbers among its attributes."""
    digest, seen = hashlib.sha256(), set[int]()
    for name, method in sorted(compiled_methods(cls).items()):
        digest.update(name.encode())
        _digest_function(digest, method, seen)
    for name in sorted(dir(cls)):
        value = getattr(cls, name, None)
        if isinstance(value, (int, float)):
            digest.update(f"{name}={value!r}".encode())
    return digest.hexdigest()[:16]


def _digest_function(digest: Any, function: Callable[..., Any], seen: set[int]) -> None:
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
    if _is_compiled(value):
        value = inspect.unwrap(getattr(value, "py_func", value))
    if isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic, type(None))):
        digest.update(repr(value).encode())
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif inspect.isfunction(value):
        if value.__module__.partition(".")[0] in LIBRARIES:
            digest.update(value.__qualname__.encode())
        else:
            _digest_function(digest, value, seen)
    elif inspect.ismodule(value):
        digest.update(value.__name__.encode())
        if value.__name__.partition(".")[0] not in LIBRARIES and id(value) not in seen:
            seen.add(id(value))
            for name in names:
                if hasattr(value, name):
                    _digest_value(digest, getattr(value, name), names, seen)
    else:
        digest.update(repr(type(value)).encode() + getattr(value, "__qualname__", "").encode())


# Types ------------------------------------------------------------------------------------------------------------------


class CompiledType(types.Type):
    """The Numba type of one `Compiled` class. Each class has a subclass of this with one instance."""

    living: ClassVar[dict[str, CompiledType]] = {}

    def __init__(self, name: str, cls: type[Compiled], fields: dict[str, type]) -> None:
        super().__init__(name=name)
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
    return types.float64 if issubclass(kind, float) else types.int64


def _constant(typ: CompiledType, name: str) -> bool | int | float | None:
    """A class attribute that compiled methods may read: a number that fits 64 bits."""
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
    """Whether compiled methods raise IndexError where an index is out of bounds, instead of reading or writing there."""

    def enter(self) -> None:
        """Called whenever it is handed to compiled code. Raises if it should not be."""

    def rule_arguments(self) -> dict[str, tuple[Any, ...]]:
        """Arguments of the right types for each method that kernels call, so that a faulty one can be found."""
        return {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not JIT_DISABLED:
            typeof_impl.register(cls)(lambda value, context: numba_type(type(value), value.checks_indices))


_types: dict[tuple[type[Compiled], bool], CompiledType] = {}


def numba_type(cls: type[Compiled], checks_indices: bool = False) -> CompiledType:
    """The Numba type of a class, made when it is first needed: by then all that its methods refer to has been defined.

    Classes with the same name and code (a cell of a notebook run twice) share one type. Methods that check indices are those of
    another type, so every kernel can be compiled for either.
    """
    if (cls, checks_indices) in _types:
        return _types[cls, checks_indices]
    name = f"{cls.__module__}.{cls.__qualname__}#{class_digest(cls)}" + "!" * checks_indices
    if name not in CompiledType.living:
        _make_type(name, cls, checks_indices)
    _types[cls, checks_indices] = CompiledType.living[name]
    return _types[cls, checks_indices]


def _make_type(name: str, cls: type[Compiled], checks_indices: bool) -> None:
    """Make a Numba type with the fields and methods of `cls`."""
    options = PIECE_OPTIONS | {"boundscheck": checks_indices}
    kind = type(f"{cls.__name__}Type", (CompiledType,), {})
    register_model(kind)(_FieldsModel)
    unbox(kind)(_unbox)
    for method_name, method in compiled_methods(cls).items():
        overload_method(kind, method_name, jit_options=options)(_stub(method))  # type: ignore[call-arg]
    kind(name, cls, cls.compiled_fields)


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

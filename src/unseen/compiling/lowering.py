"""How functions are lowered: pieces so that kernels can inline them, kernels with all their pieces linked in, each once.

Numba would optimise every function and make machine code of it, though a piece is never called by itself. What else is done
differently here saves waiting, too; the machine code is as fast.
"""

from __future__ import annotations

import gc
from types import CodeType
from typing import Any, ClassVar

from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes, MakeFunctionToJitFunction

from unseen.compiling.checking import CheckingLower

JIT_DISABLED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""True under NUMBA_DISABLE_JIT=1: everything runs as plain Python, so that a breakpoint in a rule stops there."""
WRAPPER = "_ZN7cpython"
"""How the names of functions begin that Python calls."""


class _Library(JITCodeLibrary):
    """Code that is optimised once, when it is all together."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class PieceLibrary(_Library):
    """Code that is only ever linked into kernels: neither what it calls is linked into it, nor is it optimised by itself."""

    def finalize(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelLibrary(_Library):
    """Code that Python calls, with all pieces that it is made of, each linked once."""

    def add_ir_module(self, ir_module: Any) -> None:
        """What takes Python's arguments apart is long, and run once a call: it is left as it is."""
        for function in ir_module.functions:
            if function.name.startswith(WRAPPER) and not function.is_declaration:
                function.attributes.add("noinline")
                function.attributes.add("optnone")
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        """Once: Numba's first round is there to find pairs of reference counts, and there are none."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

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
class PieceTypes(NopythonTypeInference):
    """Types of a function that may return a part of an array. Numba has that only with reference counting, which inlined code
    does not need."""

    _name = "piece_types"

    def run_pass(self, state: Any) -> bool:
        was, state.targetctx.enable_nrt = state.targetctx.enable_nrt, True
        try:
            return bool(super().run_pass(state))
        finally:
            state.targetctx.enable_nrt = was


@register_pass(mutates_CFG=True, analysis_only=False)
class PieceLowering(NativeLowering):
    """Lower a function so that kernels can inline it, and stop there: making machine code of it took a third of the time."""

    _name = "piece_lowering"

    @property
    def lowering_class(self) -> Any:
        return CheckingLower

    def run_pass(self, state: Any) -> bool:
        state.library = PieceLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        was, state.flags.no_compile = state.flags.no_compile, True
        try:
            super().run_pass(state)
        finally:
            state.flags.no_compile = was
        lowered = state["cr"]
        nothing: list[Any] = []
        entry = nothing.append  # a key by which kernels find it: the dispatcher wants a built-in method, and nobody calls it
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


class SteadyFlags(Flags):
    """Options of a compilation. They are part of the key under which Numba finds what it has typed before, and compared often."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 0  # few are different

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, SteadyFlags) else super().__eq__(other)


class _Compiler(CompilerBase):
    """The usual passes, some of them our own, without those that would find nothing to do."""

    ours: ClassVar[dict[type, type]]
    """Passes of Numba's, and what is used instead."""

    def define_pipelines(self) -> list[Any]:
        unused: set[type] = {NopythonRewrites}  # it fuses array expressions, which allocate
        if not any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts):
            unused |= {InlineClosureLikes, MakeFunctionToJitFunction}
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [(self.ours.get(kind, kind), text) for kind, text in pipeline.passes if kind not in unused]
        pipeline.finalize()
        return [pipeline]

    def compile_extra(self, func: Any) -> Any:
        """Without looking for garbage meanwhile: much is made, and little of it thrown away before the end."""
        self.state.flags = SteadyFlags(self.state.flags)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if was_enabled:
                gc.enable()


class PieceCompiler(_Compiler):
    """Compiles pieces."""

    ours = {NopythonTypeInference: PieceTypes, NativeLowering: PieceLowering}


class KernelCompiler(_Compiler):
    """Compiles kernels."""

    ours = {NativeLowering: KernelLowering}


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
CHECKS: dict[str, Any] = {"boundscheck": True, "error_model": "python"}
"""Options of what is checked, so that it raises where plain Python would (see `checking`)."""

"""How functions are lowered: pieces so that kernels can inline them, kernels with all their pieces linked in, each once.

Numba would optimise every function and make machine code of it, though a piece is never called by itself.
"""

from __future__ import annotations

import gc
from typing import Any, ClassVar

from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

JIT_DISABLED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""True under NUMBA_DISABLE_JIT=1: everything runs as plain Python, so that a breakpoint in a rule stops there."""


class PieceLibrary(JITCodeLibrary):
    """Code that is only ever linked into kernels: neither what it calls is linked into it, nor is it optimised by itself."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave that to the kernel, which inlines it first."""
        ll_module.data_layout = self._codegen._data_layout

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

    def compile_extra(self, func: Any) -> Any:
        """Without looking for garbage meanwhile: much is made, and little of it thrown away before the end."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if was_enabled:
                gc.enable()


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

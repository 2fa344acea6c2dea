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

from unseen.compiling import interrupts
from unseen.compiling.decorators import CHECKED_FOR, as_python, kernel, piece
from unseen.compiling.digest import code_digest
from unseen.compiling.lowering import JIT_DISABLED
from unseen.compiling.notice import notice
from unseen.compiling.types import Compiled, class_digest, compiled_methods, numba_type

__all__ = [
    "CHECKED_FOR",
    "JIT_DISABLED",
    "Compiled",
    "as_python",
    "class_digest",
    "code_digest",
    "compiled_methods",
    "interrupts",
    "kernel",
    "notice",
    "numba_type",
    "piece",
]

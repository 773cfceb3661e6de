"""The names from Cython that the record kernel uses, for when it is not compiled.

The kernel, ``columns`` and the modules that work on columns, loops over single records. It is plain
Python, and is compiled with Cython if available: the ``.pxd`` file beside each module declares its
C types. Two things cannot be declared there and appear in the sources as ``cython.…``; compiled
code uses Cython's own, and plain Python uses these. So Cython is not needed to run the kernel.
"""

from contextlib import nullcontext
from typing import Final

# True in compiled code.
compiled: Final[bool] = False
# Compiled code releases the GIL in this block.
nogil: Final[nullcontext[None]] = nullcontext()

"""What the record kernel says to Cython, and what it means where nobody compiled it.

The kernel, ``columns`` and the modules that go over columns, loops over single records. It is
plain Python, and Cython compiles it where it is at hand: the ``.pxd`` file beside each module
gives its names their types in C. Two things cannot be said there and stand in the sources as
``cython.…``; compiled, they are Cython's own, and plain, they are these. So nobody needs Cython
to run the kernel.
"""

from contextlib import nullcontext
from typing import Final

# True in compiled code.
compiled: Final[bool] = False
# Compiled code lets other threads run within this block.
nogil: Final[nullcontext[None]] = nullcontext()

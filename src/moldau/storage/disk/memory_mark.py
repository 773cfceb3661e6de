"""A mark on a file that only the memory of the operating system has.

What a process has written is in the page cache, and outlives the process, but neither the operating
system nor the mount of the file system. The mark shares that fate: it is an attribute of the inode
in memory which no file system stores. A mark that is found therefore shows that what was written
before it was set is still there.

Linux has such an attribute, the write hint of an inode (``F_SET_RW_HINT``, since 4.13). For the
marked file it is a hint of no consequence. Elsewhere nothing can be marked.

Rules this module keeps:

* The marked file stays open: the kernel may forget an inode that nobody uses.
* A mark can be removed although the device does not answer any more.
"""

import contextlib
import os
import struct
import sys
from typing import Final, Protocol

_F_GET_RW_HINT: Final = 1035
_F_SET_RW_HINT: Final = 1036
_NOT_SET: Final = struct.pack("=Q", 0)
# RWH_WRITE_LIFE_SHORT, the first that says anything.
_MARKED: Final = struct.pack("=Q", 2)


class MemoryMark(Protocol):
    """The mark of one file."""

    def clear(self) -> None:
        """Remove the mark. Idempotent; does not fail if the device does."""
        ...


class InodeMark:
    """See ``MemoryMark``."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def clear(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            # Neither needs the device, and who clears marks has others to clear.
            with contextlib.suppress(OSError):
                _set_hint(fd, _NOT_SET)
            with contextlib.suppress(OSError):
                os.close(fd)


def mark_file(fd: int) -> InodeMark | None:
    """Mark the file of a descriptor, which belongs to the mark from now on; None if impossible."""
    try:
        _set_hint(fd, _MARKED)
        if is_file_marked(fd):
            return InodeMark(fd)
    except OSError:
        # An older kernel, or a file system that is not the kernel's own.
        pass
    os.close(fd)
    return None


def is_file_marked(fd: int) -> bool:
    """Whether the file of a descriptor was marked since its file system was mounted."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        return fcntl.fcntl(fd, _F_GET_RW_HINT, _NOT_SET) == _MARKED
    except OSError:
        return False


def _set_hint(fd: int, hint: bytes) -> None:
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(fd, _F_SET_RW_HINT, hint)

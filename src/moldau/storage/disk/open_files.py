"""A bounded set of open descriptors.

A broker has several files per partition, but a limited number of descriptors. So a file keeps its
descriptor only while it is in use: when there are too many, files not used since the last check are
closed (second chance, an LRU that costs one attribute write per use) and opened again on their next
use.

A descriptor is closed when it is no longer referenced. Its users hold a reference, so it cannot be
closed (and its number reused for another file) during a system call in another thread or while a
region is queued for a socket.
"""

import errno
import os
import threading
from collections.abc import Callable
from typing import Final

_NO_MORE_DESCRIPTORS: Final = frozenset((errno.EMFILE, errno.ENFILE))


class Descriptor:
    """Owns an open descriptor and closes it with the last reference."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def fileno(self) -> int:
        return self.fd

    def pread(self, size: int, position: int) -> bytes:
        return os.pread(self.fd, size, position)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.fd)


class DescriptorHolder:
    """A file that can temporarily be without its descriptor."""

    __slots__ = ("_descriptor", "_used_lately")

    def __init__(self) -> None:
        self._descriptor: Descriptor | None = None
        self._used_lately = False


class OpenFiles:
    """The files with an open descriptor. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = max(limit, 1)
        # In the order of their last check; a dict keeps the order and has fast lookups.
        self._holders: dict[DescriptorHolder, None] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._holders)

    def open_for(self, holder: DescriptorHolder, path: str, flags: int) -> Descriptor:
        """The holder's descriptor, opened if it has none."""
        with self._lock:
            # Another thread may have opened it meanwhile.
            descriptor = holder._descriptor
            if descriptor is None:
                descriptor = Descriptor(self._open(path, flags))
                holder._descriptor = descriptor
                self._holders[holder] = None
                self._evict_to(self._limit)
            return descriptor

    def open_once(self, path: str, flags: int) -> int:
        """A descriptor for short use, which the caller must close."""
        with self._lock:
            return self._open(path, flags)

    def forget(self, holder: DescriptorHolder) -> None:
        """Release the descriptor of the holder."""
        with self._lock:
            holder._descriptor = None
            self._holders.pop(holder, None)

    def _open(self, path: str, flags: int) -> int:
        try:
            return os.open(path, flags, 0o644)
        except OSError as error:
            if error.errno not in _NO_MORE_DESCRIPTORS:
                raise
        # Sockets took more than their share: close some files and try once more.
        self._evict_to(len(self._holders) // 2)
        return os.open(path, flags, 0o644)

    def _evict_to(self, count: int) -> None:
        # Two rounds: the first may only use up the second chances.
        for _ in range(2 * len(self._holders)):
            if len(self._holders) <= count:
                return
            holder = next(iter(self._holders))
            del self._holders[holder]
            if holder._used_lately:
                holder._used_lately = False
                self._holders[holder] = None
            else:
                holder._descriptor = None

"""A bounded set of open descriptors.

A broker has a few files for every partition and a limit on descriptors that does
not care. So a file keeps its descriptor only while it is in use: when there are too
many, those not used since the last look lose theirs (second chance, an LRU that
costs one attribute write per use) and open again on their next use.

A descriptor is closed when nobody refers to it any more. Whoever is about to use
one holds a reference, so it cannot be closed (and its number reused for another
file) under a running system call in another thread or a region queued for a socket.
"""

import errno
import os
import threading
from collections.abc import Callable
from typing import Final

_NO_MORE_DESCRIPTORS: Final = frozenset((errno.EMFILE, errno.ENFILE))


class Descriptor:
    """Owns an open descriptor and closes it when the last reference goes."""

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
    """A file that can do without its descriptor for a while."""

    __slots__ = ("_descriptor", "_used_lately")

    def __init__(self) -> None:
        self._descriptor: Descriptor | None = None
        self._used_lately = False


class OpenFiles:
    """Who holds a descriptor now. Safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = max(limit, 1)
        # In the order of their last look; a dict keeps it and finds a holder at once.
        self._holders: dict[DescriptorHolder, None] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._holders)

    def open_for(self, holder: DescriptorHolder, path: str, flags: int) -> Descriptor:
        """The holder's descriptor, opened if it has none."""
        with self._lock:
            # Another thread may have opened it while this one waited.
            descriptor = holder._descriptor
            if descriptor is None:
                descriptor = Descriptor(self._open(path, flags))
                holder._descriptor = descriptor
                self._holders[holder] = None
                self._evict_to(self._limit)
            return descriptor

    def open_once(self, path: str, flags: int) -> int:
        """A descriptor for the caller to close, who needs it for a moment only."""
        with self._lock:
            return self._open(path, flags)

    def forget(self, holder: DescriptorHolder) -> None:
        """The holder gives its descriptor back."""
        with self._lock:
            holder._descriptor = None
            self._holders.pop(holder, None)

    def _open(self, path: str, flags: int) -> int:
        try:
            return os.open(path, flags, 0o644)
        except OSError as error:
            if error.errno not in _NO_MORE_DESCRIPTORS:
                raise
        # Sockets took more than their share: make room among the files and try once more.
        self._evict_to(len(self._holders) // 2)
        return os.open(path, flags, 0o644)

    def _evict_to(self, count: int) -> None:
        # Two rounds: the first may only take away everybody's second chance.
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

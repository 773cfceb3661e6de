"""The one door to the file system.

Everything that storage keeps goes through a ``Disk``: the real one below, or the
simulated one (``simulated_disk``) that loses what was not flushed. Both raise
plain ``OSError``, so the code above them cannot tell which one it runs on.

A ``DiskFile`` knows its logical end (``size``) and appends there with one system
call. It keeps no descriptor while it is idle: ``RealDisk`` closes descriptors
that have not been used for a while and opens them again when they are needed, so
thousands of partitions fit under any limit on open files.

Rules this module keeps:

* A failed append leaves the file as it was: no torn tail while the process runs.
* A descriptor lives as long as somebody holds it. A ``FileRegion`` holds the
  descriptor, not the file object, so bytes that wait in a socket's queue stay
  readable after their segment was closed, renamed or deleted.
* Only opening and closing take a lock; reading and writing do not. A file may
  be fsynced from another thread while the event loop appends to it.
"""

import contextlib
import os
import resource
from collections.abc import Sequence
from typing import Final, Protocol

from moldau.protocol.primitives import FileRegion
from moldau.storage.directory_lock import DirectoryLock
from moldau.storage.open_files import Descriptor, DescriptorHolder, OpenFiles

Buffer = bytes | bytearray | memoryview


class DiskFile(Protocol):
    """An open file. Positions are absolute; there is no cursor."""

    path: str
    size: int
    """The logical end: where the next append goes."""

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write ``parts`` one after the other at the end; returns the position of the first byte.

        Either all bytes are written or the file keeps its old size and OSError is raised.
        """
        ...

    def pread(self, size: int, position: int) -> bytes:
        """Up to ``size`` bytes from ``position``; fewer only at the end of the file."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Overwrite or extend from ``position``."""
        ...

    def truncate(self, size: int) -> None:
        """Cut to ``size`` bytes, which is at most the present size."""
        ...

    def preallocate(self, size: int) -> None:
        """Reserve room up to ``size`` bytes; the logical end stays, ``close`` returns the rest."""
        ...

    def fsync(self) -> None:
        """Return when everything written so far is on the device. May run in another thread."""
        ...

    def fileno(self) -> int:
        """The descriptor, good until the next call on this disk; a region's stays good."""
        ...

    def region(self, position: int, size: int) -> FileRegion:
        """A reference to bytes of the file that outlives ``close``, ``rename`` and removal."""
        ...

    def rename(self, path: str) -> None:
        """Rename on disk (replacing what is there) and follow."""
        ...

    def moved(self, path: str) -> None:
        """The file lies at ``path`` now, because its directory was renamed."""
        ...

    def close(self) -> None:
        """Let go of the descriptor. Idempotent. The file opens again if it is used again."""
        ...


class FileLock(Protocol):
    """A lock on a directory, held until released or the process ends."""

    def release(self) -> None: ...


class Disk(Protocol):
    """A file system. Paths are plain strings."""

    def open(self, path: str, create: bool = False) -> DiskFile:
        """Raises FileNotFoundError if there is no such file and ``create`` is false."""
        ...

    def exists(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def list_dir(self, path: str) -> list[str]:
        """Names (not paths) in the directory, sorted."""
        ...

    def make_dirs(self, path: str) -> None:
        """Create the directory and its parents where they are missing."""
        ...

    def remove(self, path: str, missing_ok: bool = False) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Atomically, replacing a file at ``target``. Directories too (see ``DiskFile.moved``)."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory with everything in it; nothing happens if it is not there."""
        ...

    def sync_dir(self, path: str) -> None:
        """Make creations, removals and renames in this directory durable."""
        ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """For a file that takes the place of an older one, whose age counts."""
        ...

    def read_bytes(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: bytes, sync: bool = True) -> None:
        """Replace the file's contents, all or nothing (``path + ".tmp"``, then a rename).

        With ``sync`` the new contents are durable on return. Without, they survive
        the death of the process but a power cut may leave nothing in their place.
        """
        ...

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int: ...

    def lock(self, directory: str) -> FileLock:
        """Take the directory's ``.lock`` file; DirectoryInUse if another broker holds it."""
        ...


_IOV_MAX: Final = 1024
_OPEN_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC
_DEFAULT_MAX_OPEN_FILES: Final = 10_000
# The size is part of what fdatasync flushes; only times may lag behind.
_sync_data: Final = getattr(os, "fdatasync", os.fsync)


class RealFile(DescriptorHolder):
    """A file of the operating system; see ``DiskFile``."""

    __slots__ = ("_open_files", "_preallocated", "path", "size")

    def __init__(self, open_files: OpenFiles, path: str, size: int) -> None:
        super().__init__()
        self._open_files = open_files
        self._preallocated = 0
        self.path = path
        self.size = size

    def append(self, parts: Sequence[Buffer]) -> int:
        descriptor = self._descriptor or self._open()
        self._used_lately = True
        expected = 0
        for part in parts:
            expected += len(part)
        position = self.size
        if len(parts) > _IOV_MAX:
            parts = (b"".join(parts),)
        written = os.pwritev(descriptor.fd, parts, position)
        if written != expected:
            self._finish_append(descriptor, b"".join(parts), written)
        self.size = position + expected
        return position

    def _finish_append(self, descriptor: Descriptor, data: bytes, written: int) -> None:
        """Write what a short write left over (a full disk, mostly), or take it all back."""
        position = self.size
        try:
            _write_fully(descriptor.fd, memoryview(data)[written:], position + written)
        except OSError:
            os.ftruncate(descriptor.fd, position)
            self._preallocated = 0
            raise

    def pread(self, size: int, position: int) -> bytes:
        descriptor = self._descriptor or self._open()
        self._used_lately = True
        return os.pread(descriptor.fd, size, position)

    def pwrite(self, data: Buffer, position: int) -> None:
        descriptor = self._descriptor or self._open()
        self._used_lately = True
        try:
            _write_fully(descriptor.fd, memoryview(data), position)
        except OSError as error:
            raise _named(error, self.path) from None
        self.size = max(self.size, position + len(data))

    def truncate(self, size: int) -> None:
        assert 0 <= size <= self.size, f"cannot truncate {self.path} from {self.size} to {size}"
        descriptor = self._descriptor or self._open()
        os.ftruncate(descriptor.fd, size)
        self._preallocated = 0
        self.size = size

    def preallocate(self, size: int) -> None:
        if size <= self.size:
            return
        descriptor = self._descriptor or self._open()
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor.fd, 0, size)
            else:
                os.ftruncate(descriptor.fd, size)
        except OSError as error:
            raise _named(error, self.path) from None
        self._preallocated = size

    def fsync(self) -> None:
        descriptor = self._descriptor or self._open()
        try:
            _sync_data(descriptor.fd)
        except OSError as error:
            raise _named(error, self.path) from None

    def fileno(self) -> int:
        descriptor = self._descriptor or self._open()
        self._used_lately = True
        return descriptor.fd

    def region(self, position: int, size: int) -> FileRegion:
        descriptor = self._descriptor or self._open()
        self._used_lately = True
        return FileRegion(descriptor, position, size)

    def rename(self, path: str) -> None:
        os.replace(self.path, path)
        self.path = path

    def moved(self, path: str) -> None:
        self.path = path

    def close(self) -> None:
        if self._preallocated > self.size:
            self.truncate(self.size)
        self._open_files.forget(self)

    def _open(self) -> Descriptor:
        return self._open_files.open_for(self, self.path, _OPEN_FLAGS)


class RealDisk:
    """The operating system's file system; see ``Disk``."""

    def __init__(self, max_open_files: int | None = None) -> None:
        """By default 10,000 files, or half of what the process may open if that is less."""
        if max_open_files is None:
            soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            if soft_limit == resource.RLIM_INFINITY:
                soft_limit = 2 * _DEFAULT_MAX_OPEN_FILES
            max_open_files = min(_DEFAULT_MAX_OPEN_FILES, soft_limit // 2)
        self._open_files = OpenFiles(max_open_files)

    @property
    def open_files(self) -> int:
        """Files that hold a descriptor now."""
        return len(self._open_files)

    def open(self, path: str, create: bool = False) -> RealFile:
        if create:
            file = RealFile(self._open_files, path, 0)
            descriptor = self._open_files.open_for(file, path, _OPEN_FLAGS | os.O_CREAT)
            file.size = os.fstat(descriptor.fd).st_size
            return file
        # Loading thousands of logs asks only for sizes: no descriptor until it is used.
        return RealFile(self._open_files, path, os.stat(path).st_size)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def remove(self, path: str, missing_ok: bool = False) -> None:
        try:
            os.remove(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove_tree(self, path: str) -> None:
        import shutil

        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def sync_dir(self, path: str) -> None:
        fd = self._open_files.open_once(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def read_bytes(self, path: str) -> bytes:
        fd = self._open_files.open_once(path, os.O_RDONLY | os.O_CLOEXEC)
        with open(fd, "rb", buffering=0) as file:
            return file.read()

    def write_atomically(self, path: str, data: bytes, sync: bool = True) -> None:
        temporary = path + ".tmp"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            fd = self._open_files.open_once(temporary, flags)
            try:
                _write_fully(fd, memoryview(data), 0)
                if sync:
                    os.fsync(fd)
            except OSError as error:
                raise _named(error, path) from None
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.remove(temporary)
            raise
        if sync:
            self.sync_dir(os.path.dirname(path) or ".")

    def free_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def total_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_blocks * status.f_frsize

    def lock(self, directory: str) -> FileLock:
        return DirectoryLock(directory)


def _named(error: OSError, path: str) -> OSError:
    """The error of a call that took a descriptor, which does not say which file it was."""
    if error.filename is None:
        error.filename = path
    return error


def _write_fully(fd: int, data: memoryview, position: int) -> None:
    while data:
        written = os.pwrite(fd, data, position)
        data = data[written:]
        position += written

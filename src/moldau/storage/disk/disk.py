"""The interface to the file system.

Storage accesses files only through a ``Disk``: the real one below, or the simulated one
(``simulated_disk``), which loses data that was not flushed. Both raise plain ``OSError``, so the
code above cannot tell them apart.

A ``DiskFile`` knows its logical end (``size``) and appends there with one system call. An idle file
needs no descriptor: ``RealDisk`` closes descriptors that have not been used for a while and opens
them again on demand, so that thousands of partitions fit under any limit on open files.

Rules this module keeps:

* A failed append leaves the file unchanged: no torn tail while the process runs.
* A descriptor stays open as long as it is referenced. A ``FileRegion`` references the descriptor,
  not the file object, so that bytes queued for a socket stay readable after their segment was
  closed, renamed or deleted.
* Only opening and closing take a lock; reading and writing do not. A file may be fsynced from
  another thread while the event loop appends to it.
"""

import contextlib
import os
import resource
from collections.abc import Sequence
from typing import Final, Protocol

from moldau.protocol.primitives import FileRegion
from moldau.storage.disk.directory_lock import DirectoryLock
from moldau.storage.disk.memory_mark import MemoryMark, is_file_marked, mark_file
from moldau.storage.disk.open_files import Descriptor, DescriptorHolder, OpenFiles

Buffer = bytes | bytearray | memoryview


class DiskFile(Protocol):
    """An open file. Positions are absolute; there is no cursor."""

    path: str
    size: int
    """The logical end: where the next append goes."""

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write ``parts`` in order at the end; returns the position of the first byte.

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
        """Truncate to ``size`` bytes, which is at most the current size."""
        ...

    def preallocate(self, size: int) -> None:
        """Reserve space up to ``size`` bytes; the logical end stays. ``close`` frees the rest."""
        ...

    def fsync(self) -> None:
        """Return when everything written so far is durable. May run in another thread."""
        ...

    def fileno(self) -> int:
        """The descriptor, valid until the next call on this disk; that of a region stays valid."""
        ...

    def region(self, position: int, size: int) -> FileRegion:
        """A reference to bytes of the file that outlives ``close``, ``rename`` and removal."""
        ...

    def rename(self, path: str) -> None:
        """Rename the file on disk, replacing an existing one, and update ``path``."""
        ...

    def moved(self, path: str) -> None:
        """Set the path after the directory was renamed."""
        ...

    def close(self) -> None:
        """Close the descriptor. Idempotent. The file is opened again when it is used."""
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
        """Create the directory and missing parents."""
        ...

    def remove(self, path: str, missing_ok: bool = False) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory atomically (see ``DiskFile.moved``); replaces a file."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory with its contents; a missing one is not an error."""
        ...

    def sync_dir(self, path: str) -> None:
        """Make creations, removals and renames in this directory durable."""
        ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """For a file that replaces an older one and keeps its age."""
        ...

    def read_bytes(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: bytes, sync: bool = True) -> None:
        """Replace the file's contents, all or nothing (``path + ".tmp"``, then a rename).

        With ``sync`` the new contents are durable on return. Without it they survive the death of
        the process, but a power failure may leave an empty file or none.
        """
        ...

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int: ...

    def lock(self, directory: str) -> FileLock:
        """Lock the directory's ``.lock`` file; DirectoryInUse if another broker holds it."""
        ...

    def mark_in_memory(self, path: str) -> MemoryMark | None:
        """Mark a file until the file system is mounted again; None if that is not possible."""
        ...

    def is_marked_in_memory(self, path: str) -> bool:
        """Whether all that was written before the file was marked is certainly still there."""
        ...


_IOV_MAX: Final = 1024
_OPEN_FLAGS: Final = os.O_RDWR | os.O_CLOEXEC
_DEFAULT_MAX_OPEN_FILES: Final = 10_000
# fdatasync flushes the file size too; only timestamps may be outdated.
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
        try:
            written = os.pwritev(descriptor.fd, parts, position)
            if written != expected:
                self._finish_append(descriptor, b"".join(parts), written)
        except OSError as error:
            raise _named(error, self.path) from None
        self.size = position + expected
        return position

    def _finish_append(self, descriptor: Descriptor, data: bytes, written: int) -> None:
        """Write the rest after a short write (usually a full disk), or undo the append."""
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
        """By default 10,000 files, or half of the process limit if that is less."""
        if max_open_files is None:
            soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            if soft_limit == resource.RLIM_INFINITY:
                soft_limit = 2 * _DEFAULT_MAX_OPEN_FILES
            max_open_files = min(_DEFAULT_MAX_OPEN_FILES, soft_limit // 2)
        self._open_files = OpenFiles(max_open_files)

    @property
    def open_files(self) -> int:
        """The number of files with an open descriptor."""
        return len(self._open_files)

    def open(self, path: str, create: bool = False) -> RealFile:
        if create:
            file = RealFile(self._open_files, path, 0)
            descriptor = self._open_files.open_for(file, path, _OPEN_FLAGS | os.O_CREAT)
            file.size = os.fstat(descriptor.fd).st_size
            return file
        # Loading thousands of logs needs only sizes: no descriptor until the file is used.
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

    def mark_in_memory(self, path: str) -> MemoryMark | None:
        return mark_file(self._open_files.open_once(path, os.O_RDONLY | os.O_CLOEXEC))

    def is_marked_in_memory(self, path: str) -> bool:
        fd = self._open_files.open_once(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return is_file_marked(fd)
        finally:
            os.close(fd)


def _named(error: OSError, path: str) -> OSError:
    """Add the file name to the error of a call that took a descriptor."""
    if error.filename is None:
        error.filename = path
    return error


def _write_fully(fd: int, data: memoryview, position: int) -> None:
    while data:
        written = os.pwrite(fd, data, position)
        data = data[written:]
        position += written

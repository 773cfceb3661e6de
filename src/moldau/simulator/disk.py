"""A disk in memory with simulated failures, for crash tests.

It keeps two versions of everything: what programs see (the page cache) and what is on the device.
Writes change the first; ``fsync`` and ``sync_dir`` update the second. ``crash`` discards the first,
except for the part that, according to the test or the seed, was already written back:

* every file keeps what was fsynced, and a prefix, cut at any byte, of later writes; with
  ``lose_pages`` some pages of that prefix are missing as well, because a kernel writes pages back
  in any order;
* with ``lose_names``, only the first few of the creations, removals and renames not covered by
  ``sync_dir`` have happened in each directory.

``fail_next`` makes operations on a path fail, ``capacity`` limits the size of the disk, and
``cut_power_after`` stops everything between two operations, so that a test can try every such
point. Nothing depends on a clock or on hash order: each seed has one outcome.
"""

import errno
import io
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from moldau.clock import Clock
from moldau.protocol.primitives import FileRegion
from moldau.simulator.disk_faults import Faults, PowerCut
from moldau.simulator.disk_files import SimulatedDirectory, SimulatedInode, SimulatedNode
from moldau.storage.disk.directory_lock import DirectoryInUse
from moldau.storage.disk.disk import Buffer, FileLock
from moldau.storage.disk.memory_mark import MemoryMark

__all__ = ["KeepRule", "PowerCut", "SimulatedDisk", "keep_everything", "keep_nothing"]

KeepRule = Callable[[str, int], int]
"""Path of a file and how many bytes of it are not synced -> how many of them survive."""

_UNLIMITED: Final = 2**62


def keep_nothing(path: str, unsynced: int) -> int:
    """A power failure before anything was written back."""
    return 0


def keep_everything(path: str, unsynced: int) -> int:
    """A power failure after everything was written back. For a process crash see ``kill``."""
    return unsynced


class _Contents:
    """The contents that a region refers to, even if the file was renamed or removed."""

    __slots__ = ("_inode",)

    def __init__(self, inode: SimulatedInode) -> None:
        self._inode = inode

    def fileno(self) -> int:
        raise io.UnsupportedOperation("a simulated file has no descriptor: read it")

    def pread(self, size: int, position: int) -> bytes:
        return bytes(self._inode.data[position : position + size])


class SimulatedFile:
    """A file of the simulated disk; see ``DiskFile``."""

    def __init__(self, disk: "SimulatedDisk", path: str, inode: SimulatedInode) -> None:
        self._disk = disk
        self._inode = inode
        self._boot = disk.boots
        self._preallocated = 0
        self.path = path
        self.size = len(inode.data)

    def append(self, parts: Sequence[Buffer]) -> int:
        self._begin("append")
        position = self.size
        self._write(position, b"".join(parts))
        return position

    def pread(self, size: int, position: int) -> bytes:
        self._begin("pread", changes=False)
        return bytes(self._inode.data[position : position + size])

    def pwrite(self, data: Buffer, position: int) -> None:
        self._begin("pwrite")
        self._write(position, bytes(data))

    def truncate(self, size: int) -> None:
        assert 0 <= size <= self.size, f"cannot truncate {self.path} from {self.size} to {size}"
        self._begin("truncate")
        if size != len(self._inode.data):
            self._inode.resize(size)
            self._inode.modified_ms = self._disk.wall_ms()
        self._preallocated = 0
        self.size = size

    def preallocate(self, size: int) -> None:
        self._begin("preallocate")
        if size <= self.size:
            return
        if size > len(self._inode.data):
            self._disk.check_room(self.path, size - len(self._inode.data))
            self._inode.resize(size)
        self._preallocated = size

    def fsync(self) -> None:
        self._begin("fsync")
        self._inode.sync()

    def fileno(self) -> int:
        raise io.UnsupportedOperation(f"{self.path} has no descriptor: the disk is simulated")

    def region(self, position: int, size: int) -> FileRegion:
        return FileRegion(_Contents(self._inode), position, size)

    def rename(self, path: str) -> None:
        self._disk.rename(self.path, path)
        self.path = path

    def moved(self, path: str) -> None:
        self.path = path

    def close(self) -> None:
        if self._preallocated > self.size and self._boot == self._disk.boots:
            self.truncate(self.size)

    def _begin(self, operation: str, changes: bool = True) -> None:
        if self._boot != self._disk.boots:
            raise OSError(errno.EBADF, "opened before the crash", self.path)
        self._disk.begin(operation, self.path, changes)

    def _write(self, position: int, data: bytes) -> None:
        end = position + len(data)
        self._disk.check_room(self.path, end - len(self._inode.data))
        if data:
            self._inode.write(position, data)
            self._inode.modified_ms = self._disk.wall_ms()
        self.size = max(self.size, end)


class _SimulatedLock:
    def __init__(self, locked: set[str], directory: str) -> None:
        self._locked = locked
        self._directory = directory

    def release(self) -> None:
        self._locked.discard(self._directory)


class _SimulatedMark:
    def __init__(self, inode: SimulatedInode) -> None:
        self._inode = inode

    def clear(self) -> None:
        self._inode.is_marked = False


class SimulatedDisk(Faults):
    """See ``Disk``, and the module docstring for its failures."""

    def __init__(
        self, seed: int = 0, clock: Clock | None = None, capacity: int | None = None
    ) -> None:
        super().__init__()
        self._seed = seed
        self._rng = random.Random(seed)
        self._clock = clock
        self._root = SimulatedDirectory()
        self._locked: set[str] = set()
        # Total size of all files; may be changed at any time. None: no limit.
        self.capacity = capacity
        # Whether files can be marked in memory: not every operating system can.
        self.can_mark = True
        # The number of crashes so far.
        self.boots = 0

    # -- failures

    def crash(
        self, keep: KeepRule | None = None, *, lose_pages: bool = False, lose_names: bool = False
    ) -> None:
        """Lose data that had not reached the device. By default the seed determines how much.

        Afterwards open files cannot be used, requested failures are cleared, and locks are
        released.
        """
        self._crash_directory(self._root, "", keep, lose_pages, lose_names)
        self.kill()

    def kill(self) -> None:
        """The process dies, but not the operating system: the next process sees all data.

        That does not make anything durable: a later ``crash`` may still lose it.
        """
        self.boots += 1
        self.heal()
        self._locked = set()

    def damage(self, path: str, position: int, data: bytes) -> None:
        """Change bytes silently, also on the device."""
        inode = self._inode(path)
        inode.sync()
        for contents in (inode.data, inode.durable):
            contents[position : position + len(data)] = data

    def fork(self, seed: int | None = None) -> "SimulatedDisk":
        """A disk in the same state, to try a different continuation. It has no open files."""
        twin = SimulatedDisk(self._seed if seed is None else seed, self._clock, self.capacity)
        if seed is None:
            twin._rng.setstate(self._rng.getstate())
        twin._root = self._root.fork()
        return twin

    def files(self, directory: str) -> list[str]:
        """The paths of all files in a directory and below."""
        return [path for path, _ in _walk(self._directory(directory), directory)]

    def unsynced(self) -> dict[str, int]:
        """Files that a crash would change, with the number of unsynced bytes."""
        files = ((path, inode.unsynced) for path, inode in _walk(self._root, ""))
        return {path: size for path, size in files if size}

    # -- the disk

    def open(self, path: str, create: bool = False) -> SimulatedFile:
        self.begin("open", path, changes=create)
        directory, name = self._parent(path)
        node = directory.entries.get(name)
        if isinstance(node, SimulatedDirectory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if node is None:
            if not create:
                raise _not_found(path)
            node = SimulatedInode(self.wall_ms())
            directory.change((name, node))
        return SimulatedFile(self, path, node)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), SimulatedDirectory)

    def list_dir(self, path: str) -> list[str]:
        self.begin("list_dir", path, changes=False)
        return sorted(self._directory(path).entries)

    def make_dirs(self, path: str) -> None:
        self.begin("make_dirs", path)
        directory = self._root
        for name in _split(path):
            node = directory.entries.get(name)
            if node is None:
                node = SimulatedDirectory()
                directory.change((name, node))
            if isinstance(node, SimulatedInode):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            directory = node

    def remove(self, path: str, missing_ok: bool = False) -> None:
        self.begin("remove", path)
        node = self._find(path)
        if node is None:
            if missing_ok:
                return
            raise _not_found(path)
        if isinstance(node, SimulatedDirectory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        directory, name = self._parent(path)
        directory.change((name, None))

    def rename(self, source: str, target: str) -> None:
        self.begin("rename", source)
        node = self._find(source)
        if node is None:
            raise _not_found(source)
        from_directory, from_name = self._parent(source)
        to_directory, to_name = self._parent(target)
        replaced = to_directory.entries.get(to_name)
        if isinstance(replaced, SimulatedDirectory):
            if isinstance(node, SimulatedInode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
            if replaced.entries and replaced is not node:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
        elif replaced is not None and isinstance(node, SimulatedDirectory):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), target)
        if replaced is node:
            return
        if from_directory is to_directory:
            from_directory.change((from_name, None), (to_name, node))
        else:
            to_directory.change((to_name, node))
            from_directory.change((from_name, None))

    def remove_tree(self, path: str) -> None:
        self.begin("remove_tree", path)
        if self._find(path) is not None:
            directory, name = self._parent(path)
            directory.change((name, None))

    def sync_dir(self, path: str) -> None:
        self.begin("sync_dir", path)
        self._directory(path).sync()

    def size(self, path: str) -> int:
        self.begin("size", path, changes=False)
        return len(self._inode(path).data)

    def modified_ms(self, path: str) -> int:
        return self._inode(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self.begin("set_modified_ms", path)
        self._inode(path).modified_ms = modified_ms

    def read_bytes(self, path: str) -> bytes:
        self.begin("read_bytes", path, changes=False)
        return bytes(self._inode(path).data)

    def write_atomically(self, path: str, data: bytes, sync: bool = True) -> None:
        self.begin("write_atomically", path)
        temporary = path + ".tmp"
        try:
            file = self.open(temporary, create=True)
            file.truncate(0)
            file.append((data,))
            if sync:
                file.fsync()
            self.rename(temporary, path)
        except OSError:
            if self.exists(temporary):
                directory, name = self._parent(temporary)
                directory.change((name, None))
            raise
        if sync:
            self.sync_dir(os.path.dirname(path))

    def free_bytes(self, path: str) -> int:
        if self.capacity is None:
            return _UNLIMITED
        return max(0, self.capacity - self.used_bytes())

    def used_bytes(self) -> int:
        return sum(len(inode.data) for _, inode in _walk(self._root, ""))

    def total_bytes(self, path: str) -> int:
        return _UNLIMITED if self.capacity is None else self.capacity

    def lock(self, directory: str) -> FileLock:
        self.open(os.path.join(directory, ".lock"), create=True)
        if directory in self._locked:
            raise DirectoryInUse(f"{directory} is in use: another broker holds its .lock file")
        self._locked.add(directory)
        return _SimulatedLock(self._locked, directory)

    def mark_in_memory(self, path: str) -> MemoryMark | None:
        self.begin("mark_in_memory", path, changes=False)
        inode = self._inode(path)
        if not self.can_mark:
            return None
        inode.is_marked = True
        return _SimulatedMark(inode)

    def is_marked_in_memory(self, path: str) -> bool:
        self.begin("is_marked_in_memory", path, changes=False)
        return self._inode(path).is_marked

    # -- for SimulatedFile

    def check_room(self, path: str, growth: int) -> None:
        if growth > 0 and self.capacity is not None and growth > self.free_bytes(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def wall_ms(self) -> int:
        return self._clock.wall_ms() if self._clock is not None else 0

    # -- the tree

    def _find(self, path: str) -> SimulatedNode | None:
        node: SimulatedNode = self._root
        for name in _split(path):
            if isinstance(node, SimulatedInode):
                return None
            child = node.entries.get(name)
            if child is None:
                return None
            node = child
        return node

    def _inode(self, path: str) -> SimulatedInode:
        node = self._find(path)
        if node is None:
            raise _not_found(path)
        if isinstance(node, SimulatedDirectory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return node

    def _directory(self, path: str) -> SimulatedDirectory:
        node = self._find(path)
        if node is None:
            raise _not_found(path)
        if isinstance(node, SimulatedInode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return node

    def _parent(self, path: str) -> tuple[SimulatedDirectory, str]:
        directory, name = os.path.split(path.rstrip("/"))
        return self._directory(directory), name

    def _crash_directory(
        self,
        directory: SimulatedDirectory,
        path: str,
        keep: KeepRule | None,
        lose_pages: bool,
        lose_names: bool,
    ) -> None:
        changes = len(directory.pending)
        directory.crash(self._rng.randint(0, changes) if lose_names else changes)
        for name in sorted(directory.entries):
            node = directory.entries[name]
            child = f"{path}/{name}"
            if isinstance(node, SimulatedDirectory):
                self._crash_directory(node, child, keep, lose_pages, lose_names)
                continue
            unsynced = node.unsynced
            kept = keep(child, unsynced) if keep is not None else self._rng.randint(0, unsynced)
            node.crash(kept, self._rng if lose_pages else None)


def _walk(directory: SimulatedDirectory, path: str) -> Iterator[tuple[str, SimulatedInode]]:
    for name in sorted(directory.entries):
        node = directory.entries[name]
        if isinstance(node, SimulatedDirectory):
            yield from _walk(node, f"{path}/{name}")
        else:
            yield f"{path}/{name}", node


def _split(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _not_found(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

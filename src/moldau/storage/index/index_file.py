"""The base of the sparse indexes of a segment.

An index is a file of sorted entries of a fixed size. It is only appended to, is mostly searched
near its end, and can be rebuilt from the log. So the newest entries stay in memory (the *tail*) and
are written in bulk, and older ones are found by binary search in the file, through the page cache.
An unused index needs neither memory for entries nor a descriptor.

                    +------------------------------+
      in the file   |  0 ........ stored           |
                    +--------------------+---------+----------+
      in memory                          | tail_start ... entries
                                         +--------------------+

Rules this module keeps:

* ``tail_start <= stored <= entries``: every entry is in the file, in memory, or both.
* The file contains whole entries. ``write`` passes the rest to the page cache (when a segment is
  rolled or closed), ``flush`` to the device. A file that has not changed since is not flushed
  again: a shutdown must not fsync thousands of idle ones.
* Apache Kafka preallocates the index of its active segment, and a crash leaves it at its full size.
  Zeros at the end are therefore not entries, and the first write truncates them.
"""

from typing import ClassVar, Final

from moldau.storage.disk.disk import Disk, DiskFile

# How many of the newest entries stay in memory. With an entry every 4 KiB this covers at least the
# last 2 MiB of the log, where consumers that keep up read.
TAIL_ENTRIES: Final = 512


class CorruptIndex(Exception):  # noqa: N818
    """The index does not match its segment and must be rebuilt from the log."""


def sync_file(disk: Disk, path: str) -> None:
    """Fsync a file that is not open; a missing one is not an error."""
    try:
        file = disk.open(path)
        file.fsync()
    except FileNotFoundError:
        return
    file.close()


class IndexFile:
    """Base of the offset index and the time index, which define the entries."""

    __slots__ = ("_disk", "_file", "_is_durable", "_stored", "_tail_start", "base_offset", "path")

    entry_size: ClassVar[int]

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        """Does not access the disk; the file is read when it is first needed."""
        self._disk = disk
        self._file: DiskFile | None = None
        # Whether the file is unchanged since the last flush, or since it was found on disk.
        self._is_durable = True
        self._stored = -1
        self._tail_start = 0
        self.base_offset = base_offset
        self.path = path

    # -- defined by subclasses

    def _tail_size(self) -> int:
        raise NotImplementedError

    def _tail_bytes(self, first: int) -> bytes:
        """The tail from its ``first``-th entry on, in file format."""
        raise NotImplementedError

    def _drop_tail(self, first: int, last: int) -> None:
        """Remove the entries ``first`` (inclusive) to ``last`` of the tail."""
        raise NotImplementedError

    def _load_last(self) -> None:
        """Update the cached last entry."""
        raise NotImplementedError

    # -- size

    def exists(self) -> bool:
        return self._file is not None or self._disk.exists(self.path)

    @property
    def entries(self) -> int:
        if self._stored < 0:
            self._open()
        return self._tail_start + self._tail_size()

    @property
    def size_bytes(self) -> int:
        return self.entries * self.entry_size

    def is_full(self, max_bytes: int) -> bool:
        """Whether one more entry would exceed ``max_bytes``."""
        return self.entries >= max_bytes // self.entry_size

    def sanity_check(self) -> None:
        """Check for obvious damage, reading at most the first and the last entry.

        Raises:
            CorruptIndex: the index must be rebuilt.
            FileNotFoundError: there is none.
        """
        size = self._opened().size
        if size % self.entry_size != 0:
            raise CorruptIndex(
                f"{self.path} has {size} bytes, which is not a multiple of {self.entry_size}"
            )

    # -- the file

    def create(self) -> None:
        """Create an empty file for a new segment; an existing one is truncated."""
        self.close_without_writing()
        file = self._disk.open(self.path, create=True)
        if file.size:
            self._is_durable = False
            file.truncate(0)
        # Indexes are rarely written, and some partitions never: keep no descriptor open.
        file.close()
        self._stored = 0
        self._load_last()

    def write(self) -> None:
        """Write entries that are only in memory to the file, without fsync."""
        if self._stored < 0:
            return
        unwritten = self._stored - self._tail_start
        if self._tail_size() > unwritten:
            self._is_durable = False
            self._trimmed().append((self._tail_bytes(unwritten),))
            self._stored = self._tail_start + self._tail_size()

    def flush(self) -> None:
        """Make all entries durable. Required before the recovery point passes the segment.

        For an inactive segment, after ``write``, this may run in another thread.
        """
        self.write()
        if self._is_durable:
            return
        # Entries may have been written before a release, so the file need not be open.
        if self._file is not None:
            self._file.fsync()
        else:
            sync_file(self._disk, self.path)
        self._is_durable = True

    def release(self) -> None:
        """Write, then release memory and descriptor: an unused index should cost nothing."""
        self.write()
        self.close_without_writing()

    def close(self) -> None:
        """Write and release; truncates what Apache Kafka preallocated."""
        if self._stored >= 0:
            self._trimmed()
        self.release()

    def close_without_writing(self) -> None:
        """Release everything; entries that were not written are lost."""
        self._drop_tail(0, self._tail_size())
        self._tail_start = 0
        self._stored = -1
        if self._file is not None:
            self._file.close()
            self._file = None

    def rename(self, path: str) -> None:
        self._disk.rename(self.path, path)
        self.moved(path)

    def moved(self, path: str) -> None:
        """Set the path after the directory was renamed."""
        self.path = path
        if self._file is not None:
            self._file.moved(path)

    def remove(self) -> None:
        """Delete the file if there is one."""
        self.close_without_writing()
        self._disk.remove(self.path, missing_ok=True)

    # -- entries

    def reset(self) -> None:
        """Remove all entries; creates the file if it is missing."""
        if self.exists():
            self._truncate_to_entries(0)
            self._trimmed()
        else:
            self.create()

    def _truncate_to_entries(self, count: int) -> None:
        if self._stored < 0:
            self._open()
        if count >= self._tail_start:
            self._drop_tail(count - self._tail_start, self._tail_size())
        else:
            self._drop_tail(0, self._tail_size())
            self._tail_start = count
        if count < self._stored:
            self._stored = count
            self._trimmed()
        self._load_last()

    def _make_room_in_tail(self) -> None:
        """Write the tail and drop its older half when it has reached twice its size."""
        if self._tail_size() >= 2 * TAIL_ENTRIES:
            self.write()
            self._drop_tail(0, TAIL_ENTRIES)
            self._tail_start += TAIL_ENTRIES

    def _read(self, first: int, count: int) -> bytes:
        """Read entries from the file, below ``stored``."""
        size = self.entry_size
        data = self._opened().pread(count * size, first * size)
        if len(data) != count * size:
            raise CorruptIndex(f"{self.path} ends before entry {first + count}: rebuild it")
        return data

    def _opened(self) -> DiskFile:
        file = self._file
        return file if file is not None else self._open()

    def _trimmed(self) -> DiskFile:
        """The file, truncated after the last stored entry."""
        file = self._opened()
        size = self._stored * self.entry_size
        if file.size > size:
            self._is_durable = False
            file.truncate(size)
        return file

    def _open(self) -> DiskFile:
        file = self._file
        if file is None:
            file = self._file = self._disk.open(self.path)
        if self._stored < 0:
            self._stored = self._count_entries(file.size // self.entry_size)
            self._tail_start = self._stored
            self._load_last()
        return file

    def _count_entries(self, slots: int) -> int:
        """The number of slots that contain entries: zeros at the end do not count."""
        self._stored = slots
        if slots == 0 or any(self._read(slots - 1, 1)):
            return slots
        low, high = 0, slots - 1
        while low < high:
            middle = (low + high) // 2
            if any(self._read(middle, 1)):
                low = middle + 1
            else:
                high = middle
        return low

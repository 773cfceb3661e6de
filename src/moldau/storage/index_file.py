"""What the sparse indexes of a segment have in common.

An index is a file of entries of one size, sorted. It is only ever appended to at the
end, asked mostly about its end, and can be rebuilt from the log. So the newest entries
stay in memory (the *tail*), reach the file in bulk, and everything older is found by
binary search in the file, through the page cache. An index that nobody uses holds
neither entries nor a descriptor.

                    +------------------------------+
      in the file   |  0 ........ stored           |
                    +--------------------+---------+----------+
      in memory                          | tail_start ... entries
                                         +--------------------+

Rules this module keeps:

* ``tail_start <= stored <= entries``: every entry is in at least one of the two.
* What is in the file is whole entries. ``write`` hands the rest to the page cache
  (a segment that is rolled or closed), ``flush`` to the device. A file that was not
  changed since is not flushed again: a stop must not fsync thousands of idle ones.
* Apache Kafka gives the index of its active segment its full size in advance, and a
  crash leaves it so. Entries of zeros at the end are therefore not entries, and the
  first write cuts them off.
"""

from typing import ClassVar, Final

from moldau.storage.disk import Disk, DiskFile

# How many of the newest entries stay in memory. With an entry every 4 KiB this is the
# last 2 MiB of the log at least, where consumers that keep up read.
TAIL_ENTRIES: Final = 512


class CorruptIndex(Exception):  # noqa: N818
    """The index does not fit its segment; it must be rebuilt from the log."""


def sync_file(disk: Disk, path: str) -> None:
    """Fsync a file that is not open; one that does not exist is fine."""
    try:
        file = disk.open(path)
        file.fsync()
    except FileNotFoundError:
        return
    file.close()


class IndexFile:
    """Base of the offset index and the time index; they know what an entry is."""

    __slots__ = ("_disk", "_file", "_is_durable", "_stored", "_tail_start", "base_offset", "path")

    entry_size: ClassVar[int]

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        """Touches nothing on disk; the file is read when it is first needed."""
        self._disk = disk
        self._file: DiskFile | None = None
        # Whether the file is as the last flush, or whoever wrote it before us, left it.
        self._is_durable = True
        self._stored = -1
        self._tail_start = 0
        self.base_offset = base_offset
        self.path = path

    # -- what an entry is

    def _tail_size(self) -> int:
        raise NotImplementedError

    def _tail_bytes(self, first: int) -> bytes:
        """The tail from its ``first``-th entry on, as the file holds it."""
        raise NotImplementedError

    def _drop_tail(self, first: int, last: int) -> None:
        """Forget the tail's entries ``first`` (inclusive) to ``last``."""
        raise NotImplementedError

    def _load_last(self) -> None:
        """Bring what is remembered of the last entry in line with the entries."""
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
        """Whether one more entry would make the file larger than ``max_bytes``."""
        return self.entries >= max_bytes // self.entry_size

    def sanity_check(self) -> None:
        """Look for obvious damage. Cheap: reads the first and the last entry at most.

        Raises:
            CorruptIndex: the index must be rebuilt.
            FileNotFoundError: there is none.
        """
        size = self._opened().size
        if size % self.entry_size != 0:
            raise CorruptIndex(
                f"{self.path} has {size} bytes, which is not a multiple of {self.entry_size}"
            )

    # -- life of the file

    def create(self) -> None:
        """Make an empty file for a new segment; what was at the path is gone."""
        self.close_without_writing()
        file = self._disk.open(self.path, create=True)
        if file.size:
            self._is_durable = False
            file.truncate(0)
        # An index is written rarely and a partition may never be: hold no descriptor.
        file.close()
        self._stored = 0
        self._load_last()

    def write(self) -> None:
        """Hand entries that are only in memory to the operating system."""
        if self._stored < 0:
            return
        unwritten = self._stored - self._tail_start
        if self._tail_size() > unwritten:
            self._is_durable = False
            self._trimmed().append((self._tail_bytes(unwritten),))
            self._stored = self._tail_start + self._tail_size()

    def flush(self) -> None:
        """Everything on the device. Needed before the recovery point passes the segment.

        Of a finished segment, after ``write``, this may run in another thread.
        """
        self.write()
        if self._is_durable:
            return
        # Entries may have been written before a release, so it need not be open.
        if self._file is not None:
            self._file.fsync()
        else:
            sync_file(self._disk, self.path)
        self._is_durable = True

    def release(self) -> None:
        """Write, then hold nothing: what an index that is not in use should cost."""
        self.write()
        self.close_without_writing()

    def close(self) -> None:
        """Write and let go; cuts off what Apache Kafka allocated in advance."""
        if self._stored >= 0:
            self._trimmed()
        self.release()

    def close_without_writing(self) -> None:
        """Let go of everything; entries that were not written are lost."""
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
        """The file lies at ``path`` now, because its directory was renamed."""
        self.path = path
        if self._file is not None:
            self._file.moved(path)

    def remove(self) -> None:
        """Delete the file if there is one."""
        self.close_without_writing()
        self._disk.remove(self.path, missing_ok=True)

    # -- entries

    def reset(self) -> None:
        """Forget all entries; makes the file if it is missing."""
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
        """Keep the tail short: half of it goes to the file when it has twice its size."""
        if self._tail_size() >= 2 * TAIL_ENTRIES:
            self.write()
            self._drop_tail(0, TAIL_ENTRIES)
            self._tail_start += TAIL_ENTRIES

    def _read(self, first: int, count: int) -> bytes:
        """Entries from the file; only what is below ``stored``."""
        size = self.entry_size
        data = self._opened().pread(count * size, first * size)
        if len(data) != count * size:
            raise CorruptIndex(f"{self.path} ends before entry {first + count}: rebuild it")
        return data

    def _opened(self) -> DiskFile:
        file = self._file
        return file if file is not None else self._open()

    def _trimmed(self) -> DiskFile:
        """The file, ending after the last stored entry."""
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
        """How many of the file's slots hold entries: zeros at the end do not."""
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

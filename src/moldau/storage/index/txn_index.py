"""The transaction index: the aborted transactions of a segment.

Every fetch response to a ``read_committed`` consumer lists the aborted transactions whose records
it must skip. An entry (34 bytes: version, producer id, first and last offset of the transaction,
last stable offset when it ended) is written when an abort marker is appended to the segment.

Aborts are rare, so the file is created with the first one, and entries are written to and read from
the file directly, without being cached. That there is no file is remembered: a fetch looks into the
index of every later segment until it is complete.

Entries are in the order in which the transactions ended, and the last stable offset never falls. So
what a fetch needs is found by halving the file: everything that ended within the range, which is
copied as it is, and of what ended later that which began before the end of the range. The latter is
usually one entry: it goes on until the last stable offset is past the fetch, which takes longer
only if a transaction was long open.

An entry follows its marker, which is in the log already and has its effect. So an entry for which
the disk has no room is not an error: it waits in memory until there is, and the index cannot be
flushed before.
"""

import os
from bisect import bisect_left
from struct import Struct
from typing import Final, NamedTuple

from moldau.storage.disk.disk import Disk, DiskFile
from moldau.storage.disk.log_failure import is_passing
from moldau.storage.index.index_file import CorruptIndex, sync_file

_ENTRY: Final = Struct(">hqqqq")
_VERSION: Final = 0
_READ_ENTRIES: Final = 1024
# So few entries are read at once, and searched in memory.
_NEAR_ENTRIES: Final = 256
# What ended after the range of a fetch is usually one entry.
_LATER_ENTRIES: Final = 16
_OFFSET: Final = Struct(">q")
ENTRY_BYTES: Final = _ENTRY.size
# Where producer id and first offset begin in an entry, one after the other, and the last offset.
PRODUCER_ID_AT: Final = 2
_LAST_OFFSET_AT: Final = 18


class AbortedTxn(NamedTuple):
    """An aborted transaction; ``last_offset`` is the offset of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def decode_entries(entries: bytes) -> list[AbortedTxn]:
    return [AbortedTxn(*fields) for _, *fields in _ENTRY.iter_unpack(entries)]


def _overlapping(entries: bytes, fetch_offset: int, upper_bound_offset: int) -> tuple[bytes, bool]:
    """Those of some entries that overlap a range, and whether no later one does."""
    found = b""
    for position in range(0, len(entries), _ENTRY.size):
        _, _, first, last, stable = _ENTRY.unpack_from(entries, position)
        if last >= fetch_offset and first < upper_bound_offset:
            found += entries[position : position + _ENTRY.size]
        if stable >= upper_bound_offset:
            return found, True
    return found, False


class TransactionIndex:
    """The ``.txnindex`` file of one segment."""

    __slots__ = (
        "_disk",
        "_file",
        "_is_absent",
        "_is_durable",
        "_is_name_durable",
        "_last_offset",
        "_waiting",
        "path",
        "start_offset",
    )

    def __init__(self, disk: Disk, path: str, start_offset: int) -> None:
        """Does not access the disk."""
        self._disk = disk
        self._file: DiskFile | None = None
        self._is_absent = False
        # Of what this process has written.
        self._is_durable = True
        self._is_name_durable = True
        self._last_offset = -1
        # Entries for which there was no room on the disk.
        self._waiting = b""
        self.path = path
        self.start_offset = start_offset

    def exists(self) -> bool:
        return bool(self._waiting) or self._opened() is not None

    def note_absent(self) -> None:
        """There is no file, and nobody else will create one."""
        self._is_absent = self._file is None

    def append(self, txn: AbortedTxn) -> None:
        """Raises ValueError if ``txn`` did not end after the last entry."""
        if txn.last_offset <= self._last_offset:
            raise ValueError(
                f"{self.path}: transaction ends at {txn.last_offset}, not after {self._last_offset}"
            )
        self._is_durable = False
        self._waiting += _ENTRY.pack(_VERSION, *txn)
        self._last_offset = txn.last_offset
        self._write_waiting()

    def _write_waiting(self) -> None:
        """Write what waits, if there is room now. Raises OSError if the disk fails."""
        try:
            self._write_now()
        except OSError as error:
            if not is_passing(error):
                raise

    def _write_now(self) -> None:
        """Raises OSError, also if there is no room."""
        if not self._waiting:
            return
        file = self._opened()
        if file is None:
            file = self._file = self._disk.open(self.path, create=True)
            self._is_absent = self._is_name_durable = False
        elif file.size % _ENTRY.size:
            # A torn entry from before a crash.
            file.truncate(file.size - file.size % _ENTRY.size)
        file.append((self._waiting,))
        self._waiting = b""

    def all(self) -> list[AbortedTxn]:
        """Every entry, in the order in which the transactions ended.

        Raises:
            CorruptIndex: an entry has an unknown version.
        """
        file = self._opened()
        waiting = decode_entries(self._waiting)
        if file is None:
            return waiting
        txns: list[AbortedTxn] = []
        count = file.size // _ENTRY.size
        for begin in range(0, count, _READ_ENTRIES):
            txns += decode_entries(self._read(file, begin, min(begin + _READ_ENTRIES, count)))
        return txns + waiting

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[bytes, bool]:
        """Aborted transactions that overlap ``fetch_offset`` to ``upper_bound_offset`` (exclusive).

        They are entries as in the file (``decode_entries``). Also returns whether the result is
        complete: if not, a later segment may contain the end of a transaction that began in the
        range.

        Raises:
            CorruptIndex: an entry has an unknown version.
        """
        self._write_waiting()
        file = self._opened()
        if file is None:
            return _overlapping(self._waiting, fetch_offset, upper_bound_offset)
        count = file.size // _ENTRY.size
        begin = self._first_that_ends_at(file, fetch_offset, 0)
        end = self._first_that_ends_at(file, upper_bound_offset, begin)
        # Each of these began before its end, and so before that of the range.
        found = self._read(file, begin, end)
        if found and _ENTRY.unpack_from(found, len(found) - _ENTRY.size)[4] >= upper_bound_offset:
            return found, True
        size = _LATER_ENTRIES
        while end < count:
            later = self._read(file, end, min(end + size, count))
            more, is_complete = _overlapping(later, fetch_offset, upper_bound_offset)
            found += more
            if is_complete:
                return found, True
            end, size = end + size, min(2 * size, _READ_ENTRIES)
        more, is_complete = _overlapping(self._waiting, fetch_offset, upper_bound_offset)
        return found + more, is_complete

    def _first_that_ends_at(self, file: DiskFile, offset: int, low: int) -> int:
        """The number of the first entry from ``low`` on that ends at ``offset`` or later."""
        high = file.size // _ENTRY.size
        while high - low > _NEAR_ENTRIES:
            middle = (low + high) // 2
            data = file.pread(_OFFSET.size, middle * _ENTRY.size + _LAST_OFFSET_AT)
            if _OFFSET.unpack(data)[0] < offset:
                low = middle + 1
            else:
                high = middle
        near = file.pread((high - low) * _ENTRY.size, low * _ENTRY.size)
        ends = range(_LAST_OFFSET_AT, len(near), _ENTRY.size)
        return low + bisect_left(ends, offset, key=lambda at: int(_OFFSET.unpack_from(near, at)[0]))

    def _read(self, file: DiskFile, begin: int, end: int) -> bytes:
        """The entries with these numbers. Raises CorruptIndex."""
        data = file.pread((end - begin) * _ENTRY.size, begin * _ENTRY.size)
        for at, byte in enumerate(_VERSION.to_bytes(PRODUCER_ID_AT, "big")):
            column = data[at :: _ENTRY.size]
            if column.count(byte) < len(column):
                versions = [entry[0] for entry in _ENTRY.iter_unpack(data)]
                (wrong, *_) = (version for version in versions if version != _VERSION)
                raise CorruptIndex(f"{self.path} has an entry of version {wrong}: want {_VERSION}")
        return data

    def truncate_to(self, offset: int) -> None:
        """Remove transactions that ended at ``offset`` or later."""
        waiting = [each for each in decode_entries(self._waiting) if each.last_offset < offset]
        self._waiting = b"".join(_ENTRY.pack(_VERSION, *each) for each in waiting)
        file = self._opened()
        if file is None:
            self._last_offset = waiting[-1].last_offset if waiting else -1
            return
        kept = self._first_that_ends_at(file, offset, 0)
        if kept < file.size // _ENTRY.size:
            file.truncate(kept * _ENTRY.size)
        left = decode_entries(self._read(file, kept - 1, kept)) if kept else []
        left += waiting
        self._last_offset = left[-1].last_offset if left else -1

    def reset(self) -> None:
        """Remove all entries."""
        self._waiting = b""
        file = self._opened()
        if file is not None:
            file.truncate(0)
        self._last_offset = -1

    def sanity_check(self) -> None:
        """Raises CorruptIndex if an entry cannot belong to this segment."""
        for txn in self.all():
            if txn.last_offset < self.start_offset:
                raise CorruptIndex(
                    f"{self.path} has a transaction that ends at {txn.last_offset}, "
                    f"before the segment's first offset {self.start_offset}"
                )

    def flush(self) -> None:
        """Make all entries durable, and the file, which may be younger than its segment."""
        self._write_now()
        if self._file is not None:
            self._file.fsync()
        elif not self._is_absent:
            sync_file(self._disk, self.path)
        if not self._is_name_durable:
            self._disk.sync_dir(os.path.dirname(self.path))
        self._is_durable = self._is_name_durable = True

    def flush_changes(self) -> None:
        """``flush``, if there is anything that this process has written and not flushed."""
        if not self._is_durable:
            self.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def rename(self, path: str) -> None:
        # A cleaned segment is written by another process.
        self._is_absent = False
        if self.exists():
            self._disk.rename(self.path, path)
        self.moved(path)

    def moved(self, path: str) -> None:
        """Set the path after the directory was renamed."""
        self.path = path
        if self._file is not None:
            self._file.moved(path)

    def remove(self) -> None:
        """Delete the file if there is one."""
        self.close()
        self._waiting = b""
        self._last_offset = -1
        self._is_absent = True
        self._disk.remove(self.path, missing_ok=True)

    def _opened(self) -> DiskFile | None:
        if self._file is None and not self._is_absent:
            if not self._disk.exists(self.path):
                self._is_absent = True
                return None
            self._file = self._disk.open(self.path)
            if self._last_offset < 0 and self._file.size >= _ENTRY.size:
                last = self._file.size // _ENTRY.size - 1
                fields = _ENTRY.unpack(self._file.pread(_ENTRY.size, last * _ENTRY.size))
                self._last_offset = fields[3]
        return self._file

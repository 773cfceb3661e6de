"""The time index: offsets of timestamps in a segment.

An entry (timestamp 8 bytes, relative offset 4 bytes) means: no record up to this offset has a
larger timestamp. So the first record at or after a timestamp comes after the last entry that is not
later, and both columns increase from entry to entry even if the timestamps of producers do not.

The last entry of a segment that was closed or rolled contains its largest timestamp, which
retention uses. One slot is therefore always kept free for it.
"""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import ClassVar, Final

from moldau.storage.disk.disk import Disk
from moldau.storage.index.index_file import TAIL_ENTRIES, CorruptIndex, IndexFile

__all__ = ["NO_TIMESTAMP", "CorruptIndex", "TimeIndex"]

NO_TIMESTAMP: Final = -1

_ENTRY: Final = Struct(">qi")
_MAX_INT32: Final = 2**31 - 1


class TimeIndex(IndexFile):
    """The ``.timeindex`` file of one segment."""

    __slots__ = ("_last_offset", "_last_timestamp", "_offsets", "_timestamps")

    entry_size: ClassVar[int] = 12

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path, base_offset)
        self._timestamps: array[int] | None = None
        self._offsets: array[int] | None = None
        self._last_timestamp = NO_TIMESTAMP
        self._last_offset = base_offset

    @property
    def last_entry(self) -> tuple[int, int]:
        """Timestamp and offset of the last entry; -1 and the base offset if there is none."""
        if self._stored < 0:
            self._open()
        return self._last_timestamp, self._last_offset

    def is_full(self, max_bytes: int) -> bool:
        """Whether only the slot for the last entry, written on roll, is left."""
        return self.entries >= max_bytes // self.entry_size - 1

    def sanity_check(self) -> None:
        super().sanity_check()
        if not self.entries:
            return
        timestamp, offset = self.last_entry
        first_timestamp, _ = self.entry(0)
        if timestamp < first_timestamp:
            raise CorruptIndex(
                f"{self.path} ends with timestamp {timestamp}, before its first, {first_timestamp}"
            )
        if offset < self.base_offset:
            raise CorruptIndex(f"{self.path} ends with offset {offset}, before its base offset")

    def maybe_append(self, timestamp: int, offset: int) -> bool:
        """Add an entry: no record up to ``offset`` has a larger timestamp than ``timestamp``.

        Adds nothing if the timestamp equals the last one, so that a segment can be closed twice.

        Raises:
            ValueError: the offset or the timestamp is smaller than the last one.
        """
        if self.entries:
            if offset < self._last_offset:
                raise ValueError(f"{self.path}: {offset} is before offset {self._last_offset}")
            if timestamp < self._last_timestamp:
                raise ValueError(f"{self.path}: {timestamp} is before {self._last_timestamp}")
        if timestamp <= self._last_timestamp:
            return False
        relative = offset - self.base_offset
        if not 0 <= relative <= _MAX_INT32:
            raise ValueError(f"{self.path}: offset {offset} does not fit into an entry")
        if self._timestamps is None or self._offsets is None:
            self._timestamps = array("q")
            self._offsets = array("i")
        elif len(self._timestamps) >= 2 * TAIL_ENTRIES:
            self._make_room_in_tail()
        self._timestamps.append(timestamp)
        self._offsets.append(relative)
        self._last_timestamp = timestamp
        self._last_offset = offset
        return True

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The last entry at or before ``timestamp``; -1 and the base offset if there is none."""
        if self._stored < 0:
            self._open()
        timestamps = self._timestamps
        if timestamps and timestamp >= timestamps[0]:
            slot = self._tail_start + bisect_right(timestamps, timestamp) - 1
        else:
            slot = self._search_file(0, timestamp + 1) - 1
        return self.entry(slot) if slot >= 0 else (NO_TIMESTAMP, self.base_offset)

    def entry(self, slot: int) -> tuple[int, int]:
        """Timestamp and offset of the entry number ``slot``."""
        assert 0 <= slot < self.entries, f"{self.path} has no entry {slot} of {self.entries}"
        if slot >= self._tail_start:
            assert self._timestamps is not None
            assert self._offsets is not None
            slot -= self._tail_start
            return self._timestamps[slot], self.base_offset + self._offsets[slot]
        timestamp, relative = _ENTRY.unpack(self._read(slot, 1))
        return timestamp, self.base_offset + relative

    def truncate_to(self, offset: int) -> None:
        """Remove the entries from ``offset`` on."""
        relative = offset - self.base_offset
        if self.entries and self._last_offset < offset:
            return
        offsets = self._offsets
        if offsets and relative > offsets[0]:
            count = self._tail_start + bisect_left(offsets, relative)
        else:
            count = self._search_file(1, relative)
        self._truncate_to_entries(count)

    def _search_file(self, column: int, target: int) -> int:
        """The first slot in the file whose timestamp (0) or offset (1) is at least ``target``."""
        low, high = 0, self._tail_start
        while low < high:
            middle = (low + high) // 2
            if _ENTRY.unpack(self._read(middle, 1))[column] < target:
                low = middle + 1
            else:
                high = middle
        return low

    # -- the tail

    def _tail_size(self) -> int:
        return len(self._timestamps) if self._timestamps is not None else 0

    def _tail_bytes(self, first: int) -> bytes:
        assert self._timestamps is not None
        assert self._offsets is not None
        pairs = zip(self._timestamps[first:], self._offsets[first:], strict=True)
        return b"".join(_ENTRY.pack(timestamp, offset) for timestamp, offset in pairs)

    def _drop_tail(self, first: int, last: int) -> None:
        if self._timestamps is not None and self._offsets is not None:
            del self._timestamps[first:last]
            del self._offsets[first:last]
            if not self._timestamps:
                self._timestamps = None
                self._offsets = None

    def _load_last(self) -> None:
        count = self._tail_start + self._tail_size()
        if count:
            self._last_timestamp, self._last_offset = self.entry(count - 1)
        else:
            self._last_timestamp, self._last_offset = NO_TIMESTAMP, self.base_offset

    def _count_entries(self, slots: int) -> int:
        # The first entry of a segment may be (0, base offset): a record from 1970. If it is the
        # only one, it cannot be a slot that Apache Kafka preallocated.
        return 1 if slots == 1 else super()._count_entries(slots)

"""The offset index: positions of offsets in a segment.

There is an entry for every ``index.interval.bytes`` of log: the last offset of a batch, relative to
the base offset of the segment (4 bytes), and the position of that batch in the ``.log`` file (4
bytes). A lookup returns the last entry at or before the requested offset; the segment is read from
its position on.

Both numbers are non-negative and increase from entry to entry, so the eight bytes of an entry,
taken as one number, are sorted as well. The tail is stored this way: one machine word per entry,
searched with ``bisect``.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import ClassVar, Final

from moldau.storage.disk.disk import Disk
from moldau.storage.index.index_file import TAIL_ENTRIES, CorruptIndex, IndexFile

__all__ = ["CorruptIndex", "OffsetIndex"]

_ENTRY: Final = Struct(">q")
_MAX_INT32: Final = 2**31 - 1
_POSITION_MASK: Final = 2**32 - 1


class OffsetIndex(IndexFile):
    """The ``.index`` file of one segment."""

    __slots__ = ("_hint", "_last_offset", "_tail")

    entry_size: ClassVar[int] = 8

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path, base_offset)
        self._tail: array[int] | None = None
        self._last_offset = base_offset
        # The result of the last search in the file: a consumer that is catching up will look up an
        # entry just after it.
        self._hint = 0

    @property
    def last_offset(self) -> int:
        """The offset of the last entry; the base offset if there is none."""
        if self._stored < 0:
            self._open()
        return self._last_offset

    def sanity_check(self) -> None:
        super().sanity_check()
        if self.entries and self.last_offset < self.base_offset:
            raise CorruptIndex(
                f"{self.path} ends with offset {self.last_offset}, before its base offset"
            )

    def can_append(self, offset: int) -> bool:
        """Whether the offset is close enough to the base offset to have an entry."""
        return 0 <= offset - self.base_offset <= _MAX_INT32

    def append(self, offset: int, position: int) -> None:
        """Add an entry: the batch with last offset ``offset`` begins at ``position``.

        Raises:
            ValueError: the offset is not larger than the last one, or too far from the base.
        """
        if self.entries and offset <= self._last_offset:
            raise ValueError(f"{self.path}: {offset} is not after {self._last_offset}")
        relative = offset - self.base_offset
        if not (0 <= relative <= _MAX_INT32 and 0 <= position <= _MAX_INT32):
            raise ValueError(f"{self.path}: {offset} at {position} does not fit into an entry")
        tail = self._tail
        if tail is None:
            tail = self._tail = array("q")
        elif len(tail) >= 2 * TAIL_ENTRIES:
            self._make_room_in_tail()
        tail.append(relative << 32 | position)
        self._last_offset = offset

    def lookup(self, offset: int) -> tuple[int, int]:
        """Offset and position of the last entry at or before ``offset``.

        The base offset and 0 if there is none.
        """
        if self._stored < 0:
            self._open()
        # Larger than every entry for this offset, smaller than those for the next.
        target = (offset - self.base_offset) << 32 | _POSITION_MASK
        tail = self._tail
        if tail and target >= tail[0]:
            return self._decode(tail[bisect_right(tail, target) - 1])
        slot = self._search_file(target)
        return self.entry(slot) if slot >= 0 else (self.base_offset, 0)

    def upper_bound(self, position: int) -> tuple[int, int] | None:
        """The first entry at or after ``position``, which gives an upper bound of its offset."""
        low, high = 0, self.entries
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < position:
                low = middle + 1
            else:
                high = middle
        return self.entry(low) if low < self.entries else None

    def entry(self, slot: int) -> tuple[int, int]:
        """Offset and position of the entry number ``slot``."""
        assert 0 <= slot < self.entries, f"{self.path} has no entry {slot} of {self.entries}"
        if slot >= self._tail_start:
            assert self._tail is not None
            return self._decode(self._tail[slot - self._tail_start])
        return self._decode(_ENTRY.unpack(self._read(slot, 1))[0])

    def truncate_to(self, offset: int) -> None:
        """Remove the entries from ``offset`` on."""
        target = (offset - self.base_offset) << 32
        tail = self._tail
        if self.entries and self._last_offset < offset:
            return
        if tail and target > tail[0]:
            count = self._tail_start + bisect_left(tail, target)
        else:
            count = self._search_file(target - 1) + 1
        self._truncate_to_entries(count)

    def _decode(self, value: int) -> tuple[int, int]:
        return self.base_offset + (value >> 32), value & _POSITION_MASK

    def _search_file(self, target: int) -> int:
        """The last entry in the file that is at most ``target``; -1 if there is none."""
        low, high = 0, self._tail_start
        # Two guesses, which cost one read each: near the last result, or where the entry would be
        # if offsets were spread evenly over the segment.
        span = self._last_offset - self.base_offset + 1
        evenly = (target >> 32) * self.entries // span - TAIL_ENTRIES // 2
        for start in (self._hint, evenly):
            slot = self._search_window(max(0, min(start, high - 1)), target)
            if slot >= 0:
                self._hint = slot
                return slot
        while low < high:
            middle = (low + high) // 2
            if _ENTRY.unpack(self._read(middle, 1))[0] <= target:
                low = middle + 1
            else:
                high = middle
        self._hint = max(low - 1, 0)
        return low - 1

    def _search_window(self, start: int, target: int) -> int:
        """Like ``_search_file``, in the entries from ``start`` on; -1 if it is not there."""
        size = min(TAIL_ENTRIES, self._tail_start - start)
        if size <= 0:
            return -1
        values = array("q")
        values.frombytes(self._read(start, size))
        if sys.byteorder == "little":
            values.byteswap()
        is_last = start + size == self._tail_start
        if values[0] <= target and (is_last or target < values[-1]):
            return start + bisect_right(values, target) - 1
        return -1

    # -- the tail

    def _tail_size(self) -> int:
        return len(self._tail) if self._tail is not None else 0

    def _tail_bytes(self, first: int) -> bytes:
        assert self._tail is not None
        values = self._tail[first:]
        if sys.byteorder == "little":
            values.byteswap()
        return values.tobytes()

    def _drop_tail(self, first: int, last: int) -> None:
        if self._tail is not None:
            del self._tail[first:last]
            if not self._tail:
                self._tail = None

    def _load_last(self) -> None:
        count = self._tail_start + self._tail_size()
        self._last_offset = self.entry(count - 1)[0] if count else self.base_offset

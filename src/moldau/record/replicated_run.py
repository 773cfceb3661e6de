"""A run of batches from a leader, which are found and checked in one call.

A follower gets what lies in the log of its leader: often hundreds of small batches at a time. A
call for each costs more than checking its bytes, and holds the GIL meanwhile. So the headers of
all of them are read here, with their checksums, into columns from which the segment makes its index
entries.

A run ends with the data or before the first batch that needs a closer look: one that is incomplete,
damaged or out of order, of a later leader epoch than the first, or a control batch. So nothing here
raises an error because of the contents; the caller handles that batch individually.

This module is compiled with Cython if available (``replicated_run.pxd`` has the types); its loops
then release the GIL.

Rules this module keeps:

* Every batch of a run is completely in the data, and its checksum is correct.
* Offsets only increase, and all batches are of the same leader epoch.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.header import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    LENGTH_OVERHEAD,
    MAGIC,
)

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``crc32c.pxd``.
    from moldau.record.checksum import crc32c_of

# With their own names, because they have C types.
_HEADER_SIZE: Final = BATCH_HEADER_SIZE
_LENGTH_OVERHEAD: Final = LENGTH_OVERHEAD
_MAGIC: Final = MAGIC
_CHECKED_FROM: Final = ATTRIBUTES_POSITION
_CONTROL: Final = CONTROL_FLAG
_UNSIGNED: Final = 0xFFFFFFFF
_LARGEST_BASE_OFFSET: Final = (1 << 63) - (1 << 31) - 1
_COLUMNS: Final = 5


class ReplicatedRun:
    """Columns with one number per batch.

    Batch ``i`` begins at ``positions[i]`` of the data. ``max_timestamps[i]`` is the largest
    timestamp of the batches up to it, and ``offsets_of_max[i]`` the last offset of the batch that
    has it. ``of_producers`` are the positions of the batches that have a producer id.
    """

    __slots__ = (
        "base_offset",
        "count",
        "end",
        "first_timestamp",
        "last_offsets",
        "leader_epoch",
        "max_timestamps",
        "of_producers",
        "offsets_of_max",
        "positions",
    )

    def __init__(
        self,
        cells: memoryview,
        count: int,
        rows: int,
        producers: int,
        end: int,
        base_offset: int,
        leader_epoch: int,
        first_timestamp: int,
    ) -> None:
        """``cells`` has ``rows`` cells for each column, of which ``count`` are filled."""
        self.count = count
        self.end = end
        self.base_offset = base_offset
        self.leader_epoch = leader_epoch
        self.first_timestamp = first_timestamp
        self.positions = cells[:count]
        self.last_offsets = cells[rows : rows + count]
        self.max_timestamps = cells[2 * rows : 2 * rows + count]
        self.offsets_of_max = cells[3 * rows : 3 * rows + count]
        self.of_producers = cells[4 * rows : 4 * rows + producers]

    @property
    def last_offset(self) -> int:
        last: int = self.last_offsets[self.count - 1]
        return last

    @property
    def max_timestamp(self) -> int:
        largest: int = self.max_timestamps[self.count - 1]
        return largest


def find_replicated(chunk: bytes, next_offset: int, latest_epoch: int) -> ReplicatedRun | None:
    """The run at the beginning of ``chunk``; None if the first batch needs a closer look.

    ``next_offset`` is the smallest valid base offset; epochs after ``latest_epoch`` are too late.
    """
    size = len(chunk)
    data = chunk
    with cython.nogil:
        rows = _count(data, size)
    if rows == 0:
        return None
    epoch = _number(data, 12, 4)
    if epoch > latest_epoch:
        return None
    whole = memoryview(bytearray(8 * _COLUMNS * rows)).cast("q")
    cells = whole
    with cython.nogil:
        count = _fill(data, size, next_offset, epoch, cells, rows)
    if count == 0:
        return None
    last = cells[count - 1]
    end = last + _LENGTH_OVERHEAD + _number(data, last + 8, 4)
    with cython.nogil:
        producers = _mark_producers(data, cells, count, rows)
    base_offset = _number(data, 0, 8)
    first_timestamp = _number(data, 35, 8)
    table = whole.toreadonly()
    return ReplicatedRun(table, count, rows, producers, end, base_offset, epoch, first_timestamp)


def _count(data: bytes, size: int) -> int:
    """The number of batches, by their lengths: an upper bound for the columns."""
    count = 0
    at = 0
    while size - at >= _HEADER_SIZE:
        length = _number(data, at + 8, 4) + _LENGTH_OVERHEAD
        if length < _HEADER_SIZE or length > size - at:
            break
        count += 1
        at += length
    return count


def _fill(
    data: bytes, size: int, next_offset: int, epoch: int, cells: memoryview, rows: int
) -> int:
    """Fill the columns, of ``rows`` cells each; returns the number of valid batches."""
    count = 0
    at = 0
    max_timestamp = -1
    offset_of_max = -1
    while count < rows:
        end = at + _LENGTH_OVERHEAD + _number(data, at + 8, 4)
        base_offset = _number(data, at, 8)
        if base_offset < next_offset or base_offset > _LARGEST_BASE_OFFSET:
            break
        last_offset = base_offset + _number(data, at + 23, 4)
        if last_offset < base_offset:
            break
        if data[at + 16] != _MAGIC or data[at + 22] & _CONTROL != 0:
            break
        if _number(data, at + 12, 4) != epoch:
            break
        if crc32c_of(data, at + _CHECKED_FROM, end) != _number(data, at + 17, 4) & _UNSIGNED:
            break
        timestamp = _number(data, at + 35, 8)
        if timestamp > max_timestamp:
            max_timestamp = timestamp
            offset_of_max = last_offset
        cells[count] = at
        cells[rows + count] = last_offset
        cells[2 * rows + count] = max_timestamp
        cells[3 * rows + count] = offset_of_max
        count += 1
        at = end
        next_offset = last_offset + 1
    return count


def _mark_producers(data: bytes, cells: memoryview, count: int, rows: int) -> int:
    """Fill the column of batches with producers; returns their number."""
    found = 0
    for i in range(count):
        if _number(data, cells[i] + 43, 8) >= 0:
            cells[4 * rows + found] = cells[i]
            found += 1
    return found


def _number(data: bytes, at: int, size: int) -> int:
    """A signed big-endian integer of ``size`` bytes."""
    number = data[at]
    if number >= 0x80:
        number -= 0x100
    for i in range(at + 1, at + size):
        number = number * 0x100 + data[i]
    return number

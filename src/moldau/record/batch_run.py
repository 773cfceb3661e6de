"""Runs of plain batches, which are found, checked and indexed in one call.

The cleaner reads a log in chunks of many batches. If batches are small, a call for each costs more
than processing its records, and holds the GIL most of that time. So the headers of a whole chunk
are scanned here, and the following steps of the kernel work on a whole run.

A batch is plain if it needs no special treatment: it has data, without a transaction, uncompressed,
with at least one record, undamaged, with offsets after those of the batch before. A run ends with
the chunk or before the first batch that is not plain; the caller handles that one individually, and
reports it if it is damaged. So nothing here raises an error because of the contents.

This module is compiled with Cython if available (``batch_run.pxd`` has the types); its loops then
release the GIL.

Rules this module keeps:

* Every batch of a run is completely in the chunk, and its checksum is correct.
* The checksum does not cover the base offset, which can only be checked against its neighbours.
  After a gap, as left by compaction, the next batch must have a larger offset.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.columns import SMALLEST_RECORD, Columns, index_batches
from moldau.record.header import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LENGTH_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_FLAG,
)

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``crc32c.pxd``.
    from moldau.record.checksum import crc32c_of

_NEVER: Final = (1 << 63) - 1
# The delete horizon of batches without one.
NEVER: Final = _NEVER

# Positions in a header, as drawn in ``header``; with their own names, because they have C types.
_HEADER_SIZE: Final = BATCH_HEADER_SIZE
_LENGTH_OVERHEAD: Final = LENGTH_OVERHEAD
_MAGIC: Final = MAGIC
_CHECKED_FROM: Final = ATTRIBUTES_POSITION
_UNSIGNED: Final = 0xFFFFFFFF
# In the low byte of the attributes.
_NOT_PLAIN: Final = COMPRESSION_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG
_DELETE_HORIZON: Final = DELETE_HORIZON_FLAG
_SMALLEST_RECORD: Final = SMALLEST_RECORD
_LARGEST_BASE_OFFSET: Final = (1 << 63) - (1 << 31) - 1
_COLUMNS: Final = 8


class BatchRun:
    """Columns with one number per batch, and the records of all batches.

    Batch ``i`` extends from ``position[i]`` to ``position[i + 1]`` of the chunk, and has the
    records ``first_row[i]`` to ``first_row[i + 1]``: these two columns have one number more than
    the others. The offset deltas of the records are relative to ``base_offset[0]``.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_timestamp",
        "chunk",
        "count",
        "delete_horizon",
        "first_row",
        "last_offset",
        "max_timestamp",
        "position",
        "records",
    )

    def __init__(
        self, chunk: bytes, cells: memoryview, count: int, rows: int, records: Columns
    ) -> None:
        """``cells`` has ``rows`` cells for each column, of which ``count`` are filled."""
        self.chunk = chunk
        self.count = count
        self.records = records
        self.position = cells[: count + 1]
        self.first_row = cells[rows : rows + count + 1]
        self.base_offset = cells[2 * rows : 2 * rows + count]
        self.last_offset = cells[3 * rows : 3 * rows + count]
        self.attributes = cells[4 * rows : 4 * rows + count]
        self.base_timestamp = cells[5 * rows : 5 * rows + count]
        self.max_timestamp = cells[6 * rows : 6 * rows + count]
        # When tombstones may be removed (KIP-534): the base timestamp, if a cleaning has set it.
        self.delete_horizon = cells[7 * rows : 7 * rows + count]

    @property
    def end(self) -> int:
        """The position after the last batch."""
        end: int = self.position[self.count]
        return end

    @property
    def next_offset(self) -> int:
        """The offset after the last batch."""
        last: int = self.last_offset[self.count - 1]
        return last + 1


def find_run(chunk: bytes, at: int, next_offset: int) -> BatchRun | None:
    """The plain batches from position ``at`` on; None if the first is not plain or incomplete.

    ``next_offset`` is the smallest valid base offset of the first batch.
    """
    size = len(chunk)
    if at < 0 or next_offset < 0:
        raise ValueError(f"position {at} and offset {next_offset} must not be negative")
    data = chunk
    with cython.nogil:
        most = _count_plain(data, at, size)
    if most == 0:
        return None
    rows = most + 1
    whole = memoryview(bytearray(8 * _COLUMNS * rows)).cast("q")
    cells = whole
    with cython.nogil:
        count = _fill(data, at, size, next_offset, cells, rows)
    table = whole.toreadonly()
    positions, first_rows, base_offsets = table[:rows], table[rows : 2 * rows], table[2 * rows :]
    records, count = index_batches(chunk, positions, base_offsets, first_rows, count)
    return BatchRun(chunk, table, count, rows, records) if count else None


def _count_plain(data: bytes, at: int, size: int) -> int:
    """The number of batches from ``at`` on that look plain: an upper bound for the columns."""
    count = 0
    length = _plain_size(data, at, size)
    while length > 0:
        count += 1
        at += length
        length = _plain_size(data, at, size)
    return count


def _plain_size(data: bytes, at: int, size: int) -> int:
    """The size of the batch at ``at``, by its header; 0 if it is not plain or incomplete."""
    if size - at < _HEADER_SIZE:
        return 0
    length = _number(data, at + 8, 4) + _LENGTH_OVERHEAD
    if length < _HEADER_SIZE or length > size - at:
        return 0
    if data[at + 16] != _MAGIC or data[at + 22] & _NOT_PLAIN != 0:
        return 0
    count = _number(data, at + 57, 4)
    if count < 1 or count * _SMALLEST_RECORD > length - _HEADER_SIZE:
        return 0
    return length


def _fill(data: bytes, at: int, size: int, next_offset: int, cells: memoryview, rows: int) -> int:
    """Fill the columns, of ``rows`` cells each; returns the number of valid batches."""
    records = 0
    count = 0
    while count < rows - 1:
        end = at + _LENGTH_OVERHEAD + _number(data, at + 8, 4)
        base_offset = _number(data, at, 8)
        if base_offset < next_offset or base_offset > _LARGEST_BASE_OFFSET:
            break
        last_offset = base_offset + _number(data, at + 23, 4)
        if last_offset < base_offset:
            break
        if base_offset > next_offset and not _goes_on(data, end, size, last_offset):
            break
        if crc32c_of(data, at + _CHECKED_FROM, end) != _number(data, at + 17, 4) & _UNSIGNED:
            break
        attributes = _number(data, at + 21, 2)
        base_timestamp = _number(data, at + 27, 8)
        cells[count] = at
        cells[rows + count] = records
        cells[2 * rows + count] = base_offset
        cells[3 * rows + count] = last_offset
        cells[4 * rows + count] = attributes
        cells[5 * rows + count] = base_timestamp
        cells[6 * rows + count] = _number(data, at + 35, 8)
        cells[7 * rows + count] = base_timestamp if attributes & _DELETE_HORIZON != 0 else _NEVER
        count += 1
        records += _number(data, at + 57, 4)
        at = end
        next_offset = last_offset + 1
    cells[count] = at
    cells[rows + count] = records
    return count


def _goes_on(data: bytes, at: int, size: int, last_offset: int) -> bool:
    """Whether a batch begins at ``at``, with an offset after ``last_offset``."""
    return size - at >= _HEADER_SIZE and _number(data, at, 8) > last_offset


def _number(data: bytes, at: int, size: int) -> int:
    """A signed big-endian integer of ``size`` bytes."""
    number = data[at]
    if number >= 0x80:
        number -= 0x100
    for i in range(at + 1, at + size):
        number = number * 0x100 + data[i]
    return number

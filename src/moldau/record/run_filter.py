"""Filtering a run of batches for compaction.

Most batches need no special treatment: all their records are kept and the batch is copied
unchanged, or some are kept and it is rewritten with those, or none is and it is removed. This is
done here for a whole run, and the caller gets one buffer, ready for the file, and columns with the
properties of each batch that an index needs.

Three kinds of batches are left to the caller, who gets the position of the next one:

* a batch with a tombstone that is kept for now, and without a delete horizon;
* a batch without any remaining record whose header is still needed;
* a batch with timestamps so extreme that their sums could exceed 64 bits.

This module is compiled with Cython if available (``run_filter.pxd`` has the types); its loops then
release the GIL.

Rules this module keeps:

* A batch that loses no record is copied unchanged.
* A batch that loses records keeps its header except for the length, the checksum, the number of
  records and the largest timestamp, and the remaining records are copied unchanged.
"""

from array import array
from typing import Final

from moldau.record import interpreted as cython
from moldau.record.batch_run import NEVER, BatchRun
from moldau.record.header import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_FLAG,
)
from moldau.record.offset_map import OffsetMap
from moldau.record.retention_filter import Selected, select_records

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``.pxd`` files.
    from moldau.record.checksum import crc32c_of
    from moldau.record.primitives import copy

# With their own names, because they have C types.
_NEVER: Final = NEVER
_HEADER_SIZE: Final = BATCH_HEADER_SIZE
_LENGTH_OVERHEAD: Final = LENGTH_OVERHEAD
_CHECKED_FROM: Final = ATTRIBUTES_POSITION
_LOG_APPEND_TIME: Final = LOG_APPEND_TIME_FLAG
# The sum of two numbers below this is within 64 bits.
_LIMIT: Final = 1 << 62
_COLUMNS: Final = 4


class WrittenBatches:
    """Some filtered batches of a run, and columns with one number per batch."""

    __slots__ = (
        "data",
        "kept",
        "largest_timestamp",
        "last_offset",
        "offset_of_largest",
        "position",
        "stop",
    )

    def __init__(
        self, stop: int, kept: int, data: bytearray, cells: memoryview, count: int
    ) -> None:
        # The batch of the run that the caller must handle; the number of batches if there is none.
        self.stop = stop
        # The number of records.
        self.kept = kept
        self.data = data
        # The position of each batch in ``data``.
        self.position = cells[:count]
        self.last_offset = cells[count : 2 * count]
        # Of all batches up to this one; and the last offset of the first batch with that timestamp.
        self.largest_timestamp = cells[2 * count : 3 * count]
        self.offset_of_largest = cells[3 * count :]


class RunFilter:
    """Filters the batches of one run."""

    __slots__ = ("_must_look", "_run", "_selected")

    def __init__(
        self, run: BatchRun, offset_map: OffsetMap, needed_offsets: "array[int]", wall_ms: int
    ) -> None:
        """``needed_offsets``, sorted, are the last offsets of batches whose headers are needed."""
        self._run = run
        self._selected = select_records(
            run.records,
            offset_map,
            run.base_offset[0],
            run.first_row,
            run.position[1:],
            run.delete_horizon,
            wall_ms,
        )
        # For each batch, whether it is left to the caller.
        self._must_look = memoryview(bytearray(8 * run.count)).cast("q")
        _judge(run, self._selected, run.count, needed_offsets, len(needed_offsets), self._must_look)

    def write(self, first: int) -> WrittenBatches:
        """The remainder of the batches from number ``first`` to the next one left to the caller."""
        run = self._run
        selected = self._selected
        stop, count, size, kept = _measure(run, selected, self._must_look, first, run.count)
        data = bytearray(size)
        cells = memoryview(bytearray(8 * _COLUMNS * count)).cast("q")
        _write(run, selected, first, stop, data, cells, count)
        return WrittenBatches(stop, kept, data, cells.toreadonly(), count)


def _judge(
    run: BatchRun,
    selected: Selected,
    count: int,
    needed: "array[int]",
    needed_count: int,
    must_look: memoryview,
) -> None:
    """Find the batches that are left to the caller."""
    last_offset = run.last_offset
    base_timestamp = run.base_timestamp
    delete_horizon = run.delete_horizon
    kept = selected.kept
    tombstones = selected.tombstones
    max_timestamp_delta = selected.max_timestamp_delta
    at = 0
    with cython.nogil:
        for i in range(count):
            while at < needed_count and needed[at] < last_offset[i]:
                at += 1
            if kept[i] == 0:
                must_look[i] = at < needed_count and needed[at] == last_offset[i]
            elif tombstones[i] > 0 and delete_horizon[i] == _NEVER:
                must_look[i] = 1
            else:
                is_far = base_timestamp[i] < -_LIMIT or base_timestamp[i] >= _LIMIT
                delta = max_timestamp_delta[i]
                must_look[i] = is_far or delta < -_LIMIT or delta >= _LIMIT


def _measure(
    run: BatchRun, selected: Selected, must_look: memoryview, first: int, end: int
) -> tuple[int, int, int, int]:
    """Where to stop, and the number of batches, bytes and records that remain before."""
    kept = selected.kept
    size = selected.size
    stop = first
    batches = records = written = 0
    with cython.nogil:
        while stop < end and must_look[stop] == 0:
            if kept[stop] > 0:
                batches += 1
                records += kept[stop]
                written += _HEADER_SIZE + size[stop]
            stop += 1
    return stop, batches, written, records


def _write(
    run: BatchRun,
    selected: Selected,
    first: int,
    stop: int,
    data: bytearray,
    cells: memoryview,
    rows: int,
) -> None:
    """Fill ``data`` with the remainder of some batches, and the columns of ``WrittenBatches``."""
    chunk = run.chunk
    source = chunk
    target = data
    position = run.position
    first_row = run.first_row
    last_offset = run.last_offset
    attributes = run.attributes
    base_timestamp = run.base_timestamp
    max_timestamp = run.max_timestamp
    kept = selected.kept
    max_timestamp_delta = selected.max_timestamp_delta
    run_end = selected.run_end
    runs = selected.runs
    next_run = run_end[first - 1] if first > 0 else 0
    at = row = largest = of_largest = 0
    with cython.nogil:
        for i in range(first, stop):
            if kept[i] > 0:
                begin = at
                timestamp = max_timestamp[i]
                if kept[i] == first_row[i + 1] - first_row[i]:
                    at = copy(target, at, source, position[i], position[i + 1])
                else:
                    at = copy(target, at, source, position[i], position[i] + _HEADER_SIZE)
                    for j in range(next_run, run_end[i]):
                        at = copy(target, at, source, runs[2 * j], runs[2 * j + 1])
                    if attributes[i] & _LOG_APPEND_TIME == 0:
                        timestamp = base_timestamp[i] + max_timestamp_delta[i]
                    _seal(target, begin, at, timestamp, kept[i])
                if row == 0 or timestamp > largest:
                    largest = timestamp
                    of_largest = last_offset[i]
                cells[row] = begin
                cells[rows + row] = last_offset[i]
                cells[2 * rows + row] = largest
                cells[3 * rows + row] = of_largest
                row += 1
            next_run = run_end[i]


def _seal(data: bytearray, begin: int, end: int, max_timestamp: int, count: int) -> None:
    """Update the header of a batch for its remaining records."""
    _put_number(data, begin + 8, 4, end - begin - _LENGTH_OVERHEAD)
    _put_number(data, begin + 35, 8, max_timestamp)
    _put_number(data, begin + 57, 4, count)
    _put_number(data, begin + 17, 4, crc32c_of(data, begin + _CHECKED_FROM, end))


def _put_number(data: bytearray, at: int, size: int, number: int) -> None:
    """Write a big-endian integer of ``size`` bytes."""
    for i in range(size):
        data[at + size - 1 - i] = number & 0xFF
        number >>= 8

"""Selection of the records of a batch that compaction keeps.

Only the last record of a key is kept: a record is removed if the offset map has a later offset for
its key. A record without a value, a tombstone, deletes its key; it is kept too, until all consumers
have had time to read it. Records without a key cannot be compacted and are removed. Records after
the map's ``latest_offset`` were not read yet and are always kept.

The remaining records are copied unchanged, including their deltas: they keep their offsets and
timestamps as long as the batch keeps its base offset and base timestamp.

This module is compiled with Cython if available (``retention_filter.pxd`` has the types); its loops
then release the GIL.
"""

from array import array
from typing import Final, NamedTuple, TypeAlias

from moldau.record import interpreted as cython
from moldau.record.columns import Columns, index_records
from moldau.record.offset_map import OffsetMap, check_base_offset

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``primitives.pxd``.
    from moldau.record.primitives import copy


# A column of 64-bit integers.
Numbers: TypeAlias = "memoryview | array[int]"

_FACTS: Final = 9


class Filtered(NamedTuple):
    """The remaining records of one batch, and what its new header needs."""

    # Unchanged, in order; the same object if all of them are kept.
    records: bytes
    kept: int
    discarded: int
    # The number of kept records without a value. If there are any, the batch needs a delete
    # horizon.
    tombstones: int
    # The number of discarded records without a key, which a compacted topic should not have.
    unkeyed: int
    # Of the kept records, relative to the batch's base; if there are none, -1 for offsets and 0 for
    # timestamps.
    first_offset_delta: int
    last_offset_delta: int
    max_timestamp_delta: int
    # The first record with the largest timestamp.
    offset_delta_of_max_timestamp: int


class Selected:
    """The selection for each batch, in columns with one number per batch; see ``Filtered``.

    ``runs`` has two numbers for each sequence of kept records: its start and its end. Those of
    batch ``i`` end before ``run_end[i]`` and begin at the end of the previous batch's; together
    they have ``size[i]`` bytes.
    """

    __slots__ = (
        "first_offset_delta",
        "kept",
        "last_offset_delta",
        "max_timestamp_delta",
        "offset_delta_of_max_timestamp",
        "run_end",
        "runs",
        "size",
        "tombstones",
        "unkeyed",
    )

    def __init__(self, cells: memoryview, count: int, runs: memoryview) -> None:
        self.kept = cells[:count]
        self.tombstones = cells[count : 2 * count]
        self.unkeyed = cells[2 * count : 3 * count]
        self.first_offset_delta = cells[3 * count : 4 * count]
        self.last_offset_delta = cells[4 * count : 5 * count]
        self.max_timestamp_delta = cells[5 * count : 6 * count]
        self.offset_delta_of_max_timestamp = cells[6 * count : 7 * count]
        self.size = cells[7 * count : 8 * count]
        self.run_end = cells[8 * count :]
        self.runs = runs


def filter_records(
    records: bytes, count: int, base_offset: int, offset_map: OffsetMap, keep_tombstones: bool
) -> Filtered:
    """The selection from ``count`` records: the contents of a batch after its header, decompressed.

    Raises:
        ValueError: the records are damaged.
    """
    columns = index_records(records, count)
    check_base_offset(base_offset)
    first_row = array("q", (0, count))
    end = array("q", (len(records),))
    horizon = array("q", (1 if keep_tombstones else 0,))
    selected = select_records(columns, offset_map, base_offset, first_row, end, horizon, 0)
    kept = selected.kept[0]
    remaining = records
    if kept != count:
        remaining = _gather(records, selected.runs, selected.run_end[0], selected.size[0])
    return Filtered(
        remaining,
        kept,
        count - kept,
        selected.tombstones[0],
        selected.unkeyed[0],
        selected.first_offset_delta[0],
        selected.last_offset_delta[0],
        selected.max_timestamp_delta[0],
        selected.offset_delta_of_max_timestamp[0],
    )


def select_records(
    columns: Columns,
    offset_map: OffsetMap,
    base_offset: int,
    first_row: Numbers,
    end: Numbers,
    delete_horizon: Numbers,
    wall_ms: int,
) -> Selected:
    """The selection from the records of several batches.

    Those of batch ``i`` are the rows ``first_row[i]`` to ``first_row[i + 1]``, the last one ends at
    the position ``end[i]``, and its tombstones are removed from ``delete_horizon[i]`` on. Offset
    deltas are relative to ``base_offset``.
    """
    count = len(first_row) - 1
    cells = memoryview(bytearray(8 * _FACTS * count)).cast("q")
    runs = memoryview(bytearray(16 * columns.count)).cast("q")
    found = offset_map.offsets_of(columns)
    latest_offset = offset_map.latest_offset
    _select(
        columns,
        found,
        base_offset,
        latest_offset,
        first_row,
        end,
        delete_horizon,
        wall_ms,
        count,
        cells,
        runs,
    )
    return Selected(cells.toreadonly(), count, runs.toreadonly())


def _select(
    columns: Columns,
    found: memoryview,
    base_offset: int,
    latest_offset: int,
    first_row: Numbers,
    end: Numbers,
    delete_horizon: Numbers,
    wall_ms: int,
    count: int,
    cells: memoryview,
    runs: memoryview,
) -> None:
    """Fill the columns of ``Selected`` in ``cells``, and ``runs``."""
    offset_delta = columns.offset_delta
    timestamp_delta = columns.timestamp_delta
    key_size = columns.key_size
    value_size = columns.value_size
    position = columns.position
    run_count = 0
    with cython.nogil:
        for batch in range(count):
            kept = tombstones = unkeyed = size = max_timestamp = 0
            first = last = of_max_timestamp = -1
            keep_tombstones = wall_ms < delete_horizon[batch]
            next_row = first_row[batch + 1]
            for i in range(first_row[batch], next_row):
                offset = base_offset + offset_delta[i]
                if offset <= latest_offset:
                    if key_size[i] < 0:
                        unkeyed += 1
                        continue
                    if offset < found[i] or (value_size[i] < 0 and not keep_tombstones):
                        continue
                if kept == 0:
                    first = offset_delta[i]
                if kept == 0 or timestamp_delta[i] > max_timestamp:
                    max_timestamp = timestamp_delta[i]
                    of_max_timestamp = offset_delta[i]
                last = offset_delta[i]
                if value_size[i] < 0:
                    tombstones += 1
                if kept == 0 or runs[2 * run_count - 1] != position[i]:
                    runs[2 * run_count] = position[i]
                    run_count += 1
                record_end = position[i + 1] if i + 1 < next_row else end[batch]
                runs[2 * run_count - 1] = record_end
                size += record_end - position[i]
                kept += 1
            cells[batch] = kept
            cells[count + batch] = tombstones
            cells[2 * count + batch] = unkeyed
            cells[3 * count + batch] = first
            cells[4 * count + batch] = last
            cells[5 * count + batch] = max_timestamp
            cells[6 * count + batch] = of_max_timestamp
            cells[7 * count + batch] = size
            cells[8 * count + batch] = run_count


def _gather(records: bytes, runs: memoryview, run_count: int, size: int) -> bytes:
    """The concatenated bytes of the runs, ``size`` in total."""
    gathered = bytearray(size)
    source = records
    target = gathered
    at = 0
    with cython.nogil:
        for i in range(run_count):
            at = copy(target, at, source, runs[2 * i], runs[2 * i + 1])
    return bytes(gathered)

"""Which records of a batch a cleaning keeps.

Of a key only the last record counts, so a record stays if the offset map knows no later one
of its key. A record without a value, a tombstone, says that its key is gone; it stays too,
until everybody who reads the log has had time to see it. Records without a key cannot be
compacted and go. What lies behind the map's ``latest_offset`` was not looked at yet and stays
whatever it is.

The records that stay are copied as they are, their deltas included: they keep their offsets
and timestamps as long as the batch keeps its base offset and base timestamp.

This module is compiled with Cython where that is at hand (``retention_filter.pxd`` has the
types); its loops then let other threads run.
"""

from typing import NamedTuple

from moldau.record import interpreted as cython
from moldau.record.columns import index_records
from moldau.record.offset_map import OffsetMap, check_base_offset

if False:  # Never run: it tells the compiler whose words ``cython.…`` are.
    import cython  # type: ignore


class Filtered(NamedTuple):
    """The records of one batch that stay, and what its new header needs to know of them."""

    # As they were, one after the other; the very same object if all of them stay.
    records: bytes
    kept: int
    discarded: int
    # Of those kept: how many have no value. If any, the batch needs a delete horizon.
    tombstones: int
    # Of those discarded: how many have no key, which a compacted topic should not have.
    unkeyed: int
    # Of those kept, relative to the batch's base; -1 as an offset, 0 as a timestamp, if none is.
    first_offset_delta: int
    last_offset_delta: int
    max_timestamp_delta: int
    # The first record that has the largest timestamp.
    offset_delta_of_max_timestamp: int


def filter_records(
    records: bytes, count: int, base_offset: int, offset_map: OffsetMap, keep_tombstones: bool
) -> Filtered:
    """What stays of ``count`` records: what follows the header of a batch, decompressed.

    Raises:
        ValueError: the records are damaged.
    """
    columns = index_records(records, count)
    check_base_offset(base_offset)
    runs = memoryview(bytearray(16 * count)).cast("q")
    kept, *facts, size, run_count = _select(
        columns.offset_delta,
        columns.timestamp_delta,
        columns.key_size,
        columns.value_size,
        columns.position,
        offset_map.offsets_of(columns),
        count,
        base_offset,
        offset_map.latest_offset,
        keep_tombstones,
        runs,
    )
    remaining = records if kept == count else _gather(records, runs, run_count, size)
    return Filtered(remaining, kept, *facts)


def _select(
    offset_delta: memoryview,
    timestamp_delta: memoryview,
    key_size: memoryview,
    value_size: memoryview,
    position: memoryview,
    found: memoryview,
    count: int,
    base_offset: int,
    latest_offset: int,
    keep_tombstones: bool,
    runs: memoryview,
) -> tuple[int, ...]:
    """The fields of ``Filtered`` from ``kept`` on, the size of what stays, and how many ``runs``.

    Each run is two numbers: where a stretch of records that stay begins, and where it ends.
    """
    kept = tombstones = unkeyed = size = run_count = 0
    first = last = of_max_timestamp = -1
    max_timestamp = 0
    with cython.nogil:
        for i in range(count):
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
            kept += 1
            if value_size[i] < 0:
                tombstones += 1
            if run_count == 0 or runs[2 * run_count - 1] != position[i]:
                runs[2 * run_count] = position[i]
                run_count += 1
            runs[2 * run_count - 1] = position[i + 1]
            size += position[i + 1] - position[i]
    of_kept = (first, last, max_timestamp, of_max_timestamp)
    return kept, count - kept, tombstones, unkeyed, *of_kept, size, run_count


def _gather(records: bytes, runs: memoryview, run_count: int, size: int) -> bytes:
    """The bytes of the runs, one after the other, ``size`` altogether."""
    gathered = bytearray(size)
    source = memoryview(records)
    target = memoryview(gathered)
    at = 0
    with cython.nogil:
        for i in range(run_count):
            length = runs[2 * i + 1] - runs[2 * i]
            target[at : at + length] = source[runs[2 * i] : runs[2 * i + 1]]
            at += length
    return bytes(gathered)

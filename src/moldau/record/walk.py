"""Scanning the records of a batch without creating objects for them.

A record is a length followed by that many bytes: attributes, a timestamp delta, an offset delta, a
key, a value and headers, with all sizes as zig-zag varints. A scan answers the questions of a
broker about a whole batch: whether it is well-formed, its largest timestamp, and whether every
record has a key.

This module is compiled with Cython if available (``walk.pxd`` has the types): a record then costs
about as much as a few memory reads. Interpreted it costs some microseconds, with the same results.
``walk_records`` holds the GIL: a usual batch takes less time than reacquiring the GIL might.
``walk_apart`` releases it, for a thread that scans a long batch.

Rules this module keeps:

* For any input the only error is ``CorruptBatch``, nothing outside the input is read, and the work
  is bounded by its size.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.checked import describe_fault
from moldau.record.header import CorruptBatch

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``.pxd`` files.
    from moldau.record.checked import fault, read_checked, skip_checked, skip_headers
    from moldau.record.primitives import bytes_at

# Timestamps beyond this are refused, so that base plus delta cannot exceed 64 bits. It is large
# enough for nanoseconds.
TIMESTAMP_LIMIT: Final = 1 << 62
_LIMIT: Final = TIMESTAMP_LIMIT
_LARGEST_TIMESTAMP: Final = (1 << 63) - 1
_LONGEST_VARINT: Final = 10


class RecordFacts:
    """What a scan has found out about the records so far.

    ``min_timestamp`` and ``max_timestamp`` ignore records without a timestamp (-1); if there are no
    others, ``max_timestamp`` is -1 and ``min_timestamp`` is larger.
    """

    def __init__(self, base_timestamp: int, record_count: int) -> None:
        if not -TIMESTAMP_LIMIT <= base_timestamp < TIMESTAMP_LIMIT:
            raise CorruptBatch(f"base timestamp {base_timestamp} is out of range")
        self.base_timestamp = base_timestamp
        self.expected = record_count
        self.passed = 0
        self.min_timestamp = _LARGEST_TIMESTAMP
        self.max_timestamp = -1
        self.has_null_key = False
        self.offsets_are_consecutive = True


def walk_records(data: bytes | memoryview, position: int, end: int, facts: RecordFacts) -> int:
    """Scan every complete record from ``position`` to ``end``, up to the expected number.

    Returns the position after the last record.

    Raises:
        CorruptBatch: a record does not match its lengths.
    """
    if position < 0 or end > len(data):
        raise ValueError(f"{position} to {end} is not within {len(data)} bytes")
    source = bytes_at(data)
    at = _pass_records(source, position, end, facts)
    if at < 0:
        raise CorruptBatch(f"record {facts.passed} is {describe_fault(at)}")
    return at


def walk_apart(data: bytes | memoryview, facts: RecordFacts) -> int:
    """``walk_records`` over all of ``data``, without holding the GIL."""
    source = bytes_at(data)
    end = len(data)
    with cython.nogil:
        at = _pass_records(source, 0, end, facts)
    if at < 0:
        raise CorruptBatch(f"record {facts.passed} is {describe_fault(at)}")
    return at


def end_of_whole(data: bytes | memoryview) -> int:
    """The end of the last complete record in ``data``, judging by the lengths alone.

    An impossible length is treated as 0: a scan of the records reports it.
    """
    source = bytes_at(data)
    end = len(data)
    position = 0
    with cython.nogil:
        while position < end:
            length, start = read_checked(source, position, end)
            if start < 0 or length > end - start:
                break
            position = start + length if length > 0 else start
    return position


def size_of_first(data: bytes | memoryview) -> int:
    """The size of the first record including its length; 0 if the length is incomplete.

    Raises:
        CorruptBatch: the length is invalid.
    """
    source = bytes_at(data)
    end = len(data)
    length, start = read_checked(source, 0, end)
    if length >= _LIMIT:
        # The sum could exceed 64 bits.
        start = fault(0, 2)
    if start >= 0:
        return start + length if length > 0 else start
    if end >= _LONGEST_VARINT:
        raise CorruptBatch(f"a record's length is {describe_fault(start)}")
    return 0


def _pass_records(source: bytes | memoryview, position: int, end: int, facts: RecordFacts) -> int:
    """The end of the last scanned record, or a fault."""
    while facts.passed < facts.expected and position < end:
        length, start = read_checked(source, position, end)
        if start < 0 or length > end - start:
            # Incomplete. The caller finds that records are missing and bytes are left over.
            break
        at = _pass_record(source, start, start + length, facts)
        if at < 0:
            return at
        facts.passed += 1
        position = at
    return position


def _pass_record(source: bytes | memoryview, start: int, end: int, facts: RecordFacts) -> int:
    """Update ``facts`` with the record from ``start`` to ``end``; returns the end, or a fault."""
    # The first byte is for attributes, of which none are defined yet.
    delta, at = read_checked(source, start + 1, end)
    if delta < -_LIMIT or delta >= _LIMIT:
        return fault(start, 5)
    timestamp = facts.base_timestamp + delta
    if timestamp > facts.max_timestamp:
        facts.max_timestamp = timestamp
    if timestamp < facts.min_timestamp and timestamp != -1:
        facts.min_timestamp = timestamp
    delta, at = read_checked(source, at, end)
    if delta != facts.passed:
        facts.offsets_are_consecutive = False
    length, at = read_checked(source, at, end)
    if length < 0:
        facts.has_null_key = True
    at = skip_checked(at, length, end)
    length, at = read_checked(source, at, end)
    at = skip_checked(at, length, end)
    length, at = read_checked(source, at, end)
    if length != 0:
        at = skip_headers(source, at, length, end)
    if at >= 0 and at != end:
        return fault(at, 3)
    return at

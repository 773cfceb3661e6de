"""Stepping over the records of a batch without making objects of them.

A record is a length and then, within that length: attributes, a timestamp delta, an offset
delta, a key, a value and headers, all sizes as zig-zag varints. Walking them answers the
questions a broker has about a batch as a whole: is it built as it says, when was its
latest record made, does every record have a key.

This module is compiled with Cython where that is at hand (``walk.pxd`` has the types): a record
then costs about as much as a few memory reads. Interpreted it costs some microseconds, and gives
the same answers. ``walk_records`` holds the GIL: an everyday batch is walked in less time than it
may take to get the GIL back. ``walk_apart`` releases it, for a thread that walks a long batch.

Rules this module keeps:

* Whatever the bytes are, the only error is ``CorruptBatch``, nothing outside of them is read, and
  the work is bounded by their number.
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

# Timestamps beyond this are refused, so that base plus delta can never leave 64 bits. It
# leaves room for people who count nanoseconds.
TIMESTAMP_LIMIT: Final = 1 << 62
_LIMIT: Final = TIMESTAMP_LIMIT
_LARGEST_TIMESTAMP: Final = (1 << 63) - 1
_LONGEST_VARINT: Final = 10


class RecordFacts:
    """What a walk has learnt about the records it has passed.

    ``min_timestamp`` and ``max_timestamp`` leave out records without a timestamp (-1); when
    there is no other, ``max_timestamp`` is -1 and ``min_timestamp`` is larger.
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
    """Pass every record that lies whole within ``position`` to ``end``, up to those expected.

    Returns the position after the last record passed.

    Raises:
        CorruptBatch: a record is not built as its lengths say.
    """
    if position < 0 or end > len(data):
        raise ValueError(f"{position} to {end} is not within {len(data)} bytes")
    source = bytes_at(data)
    at = _pass_records(source, position, end, facts)
    if at < 0:
        raise CorruptBatch(f"record {facts.passed} is {describe_fault(at)}")
    return at


def walk_apart(data: bytes | memoryview, facts: RecordFacts) -> int:
    """``walk_records`` over all of ``data``, while other threads run."""
    source = bytes_at(data)
    end = len(data)
    with cython.nogil:
        at = _pass_records(source, 0, end, facts)
    if at < 0:
        raise CorruptBatch(f"record {facts.passed} is {describe_fault(at)}")
    return at


def end_of_whole(data: bytes | memoryview) -> int:
    """Where the last record ends that lies whole in ``data``, going by their lengths alone.

    A length that no record can have is passed over as if it were 0: a walk finds it.
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
    """How many bytes the first record takes with its length; 0 if the length is not whole.

    Raises:
        CorruptBatch: it is no length.
    """
    source = bytes_at(data)
    end = len(data)
    length, start = read_checked(source, 0, end)
    if start >= 0:
        return start + length if length > 0 else start
    if end >= _LONGEST_VARINT:
        raise CorruptBatch(f"a record's length is {describe_fault(start)}")
    return 0


def _pass_records(source: bytes | memoryview, position: int, end: int, facts: RecordFacts) -> int:
    """Where the last record ends that was passed, or a fault."""
    while facts.passed < facts.expected and position < end:
        length, start = read_checked(source, position, end)
        if start < 0 or length > end - start:
            # Not whole. Whoever expects more records finds bytes that are left over.
            break
        at = _pass_record(source, start, start + length, facts)
        if at < 0:
            return at
        facts.passed += 1
        position = at
    return position


def _pass_record(source: bytes | memoryview, start: int, end: int, facts: RecordFacts) -> int:
    """Note what the record from ``start`` to ``end`` tells; gives the end, or a fault."""
    # The first byte is for attributes, of which there are none yet.
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

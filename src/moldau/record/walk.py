"""Stepping over the records of a batch without making objects of them.

A record is a length and then, within that length: attributes, a timestamp delta, an offset
delta, a key, a value and headers, all sizes as zig-zag varints. Walking them answers the
questions a broker has about a batch as a whole: is it built as it says, when was its
latest record made, does every record have a key.

This module is compiled where a compiler or a wheel is at hand: a record then costs about
as much as a few memory reads. Interpreted it costs some microseconds, and gives the same
answers.

Rules this module keeps:

* Whatever the bytes are, the only error is ``CorruptBatch``, and the work is bounded by
  their number.
* ``data`` is ``bytes``: compiled code reads those without calling back into Python.
"""

from typing import Final

from mypy_extensions import i64

from moldau.record.header import CorruptBatch

# Timestamps beyond this are refused, so that base plus delta can never leave 64 bits. It
# leaves room for people who count nanoseconds.
TIMESTAMP_LIMIT: Final = 1 << 62
_LARGEST_TIMESTAMP: Final = (1 << 63) - 1


class RecordFacts:
    """What a walk has learnt about the records it has passed.

    ``min_timestamp`` and ``max_timestamp`` leave out records without a timestamp (-1); when
    there is no other, ``max_timestamp`` is -1 and ``min_timestamp`` is larger.
    """

    def __init__(self, base_timestamp: int, record_count: int) -> None:
        if not -TIMESTAMP_LIMIT <= base_timestamp < TIMESTAMP_LIMIT:
            raise CorruptBatch(f"base timestamp {base_timestamp} is out of range")
        self.base_timestamp: i64 = base_timestamp
        self.expected: i64 = record_count
        self.passed: i64 = 0
        self.min_timestamp: i64 = _LARGEST_TIMESTAMP
        self.max_timestamp: i64 = -1
        self.first_timestamp_delta: i64 = 0
        self.has_null_key: bool = False
        self.offsets_are_consecutive: bool = True


def read_varint(data: bytes, position: i64) -> tuple[i64, i64]:
    """A zig-zag varint of at most nine bytes, and the position after it.

    Nine bytes reach to 2^62 either way, farther than any field of a record may go.

    Raises:
        IndexError: the data ends within it.
        CorruptBatch: it does not end within nine bytes.
    """
    raw: i64 = data[position]
    position += 1
    if raw >= 0x80:
        byte: i64 = data[position]
        position += 1
        raw = raw & 0x7F | (byte & 0x7F) << 7
        shift: i64 = 14
        while byte >= 0x80:
            if shift == 63:
                raise CorruptBatch(f"varint before position {position} is out of range")
            byte = data[position]
            position += 1
            raw |= (byte & 0x7F) << shift
            shift += 7
    return (raw >> 1) ^ -(raw & 1), position


def walk_records(data: bytes, position: i64, end: i64, facts: RecordFacts) -> i64:
    """Pass every record that lies whole within ``position`` to ``end``, up to those expected.

    Returns the position after the last record passed, so that a long batch can be walked
    through a window that moves.

    Raises:
        CorruptBatch: a record is not built as its lengths say.
    """
    # Locals, because compiled code keeps them in registers and attributes in memory.
    passed = facts.passed
    base_timestamp = facts.base_timestamp
    max_timestamp = facts.max_timestamp
    min_timestamp = facts.min_timestamp
    start: i64 = -1
    try:
        while passed < facts.expected and position < end:
            start = -1
            size, start = read_varint(data, position)
            record_end = start + size
            if record_end > end:
                break
            # The byte before the timestamp is for attributes, of which there are none yet.
            delta, at = read_varint(data, start + 1)
            if passed == 0:
                facts.first_timestamp_delta = delta
            timestamp: i64 = base_timestamp + delta
            if timestamp > max_timestamp:
                max_timestamp = timestamp
            if timestamp < min_timestamp and timestamp != -1:
                min_timestamp = timestamp
            delta, at = read_varint(data, at)
            if delta != passed:
                facts.offsets_are_consecutive = False
            size, at = read_varint(data, at)
            if size < 0:
                facts.has_null_key = True
            elif size > 0:
                at = _skip(at, size, record_end)
            size, at = read_varint(data, at)
            if size > 0:
                at = _skip(at, size, record_end)
            at = _skip_headers(data, at, record_end)
            if at != record_end:
                raise CorruptBatch(f"record {passed} does not fill its {record_end - start} bytes")
            passed += 1
            position = record_end
    except IndexError as error:
        # Within a record this is damage; within its length the window merely ends here.
        if start != -1:
            raise CorruptBatch(f"record {passed} goes beyond the end of the data") from error
    facts.passed = passed
    facts.max_timestamp = max_timestamp
    facts.min_timestamp = min_timestamp
    return position


def _skip_headers(data: bytes, position: i64, end: i64) -> i64:
    count, position = read_varint(data, position)
    if count < 0 or count > end - position:
        raise CorruptBatch(f"record with an impossible number of headers, {count}")
    while count > 0:
        count -= 1
        size, position = read_varint(data, position)
        if size < 0:
            raise CorruptBatch("record header without a key")
        position = _skip(position, size, end)
        size, position = read_varint(data, position)
        if size > 0:
            position = _skip(position, size, end)
    return position


def _skip(position: i64, size: i64, end: i64) -> i64:
    if size > end - position:
        raise CorruptBatch(f"field of {size} bytes, but its record has {end - position} left")
    return position + size

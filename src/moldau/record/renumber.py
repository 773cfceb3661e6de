"""Renumbering records, and moving them to another base timestamp.

A producer should number the records of a batch 0, 1, 2 and so on; if it does not, the broker does.
Each record is then rewritten with another offset delta and, as that may take more or fewer bytes,
another length; the rest is copied.

This module is compiled with Cython if available (``renumber.pxd`` has the types); its loop then
releases the GIL.

Rules this module keeps:

* For any input the only error is ``ValueError``, and nothing outside the input is read.
"""

import mmap
from typing import Final

from moldau.record import interpreted as cython
from moldau.record.checked import describe_fault

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``.pxd`` files.
    from moldau.record.checked import fault, read_checked
    from moldau.record.primitives import bytes_at, copy, room_at, varint_size, write_varint

# The minimum size of a record, and its maximum growth: one delta from one byte to ten, another from
# one to five, and its length by one.
_SMALLEST_RECORD: Final = 7
_LARGEST_GROWTH: Final = 14
# Beyond that, zeroing memory with the GIL held would delay other threads.
_MOST_ZEROED: Final = 1024 * 1024
# A delta and its shift stay below this, so that their sum stays within 64 bits.
_LIMIT: Final = 1 << 62


def first_timestamp_delta(records: bytes | memoryview) -> int:
    """The timestamp delta of the first record; 0 if there is none."""
    source = bytes_at(records)
    size = len(records)
    _, at = read_checked(source, 0, size)
    delta, at = read_checked(source, at + 1 if at >= 0 else at, size)
    return delta if at >= 0 else 0


def renumber(
    records: bytes | memoryview, first_delta: int, shift: int
) -> tuple[bytes | memoryview, int]:
    """The same records with offset deltas from ``first_delta`` on, and their number.

    Their timestamp deltas grow by ``shift``, for a base timestamp that is smaller by as much.
    ``records`` must contain complete records only.

    Raises:
        ValueError: the records are damaged, or a timestamp delta would be out of range.
    """
    if not -_LIMIT <= shift < _LIMIT:
        raise ValueError(f"timestamps cannot be moved by {shift}, only by less than 2^62")
    size = len(records)
    source = bytes_at(records)
    capacity = size + _LARGEST_GROWTH * (size // _SMALLEST_RECORD + 1)
    is_large = capacity > _MOST_ZEROED
    room = memoryview(mmap.mmap(-1, capacity) if is_large else bytearray(capacity))
    target = room_at(room)
    at = 0
    to = 0
    count = 0
    with cython.nogil:
        while at < size:
            start = at
            length, at = read_checked(source, at, size)
            if at >= 0 and (length < 6 or length > size - at):
                at = fault(start, 2)
            if at < 0:
                break
            end = at + length
            attributes = at
            timestamp_delta, at = read_checked(source, at + 1, end)
            _, at = read_checked(source, at, end)
            if at < 0:
                break
            if timestamp_delta < -_LIMIT or timestamp_delta >= _LIMIT:
                at = fault(start, 5)
                break
            timestamp_delta += shift
            offset_delta = first_delta + count
            length = 1 + varint_size(timestamp_delta) + varint_size(offset_delta) + end - at
            to = write_varint(target, to, length)
            target[to] = source[attributes]
            to = write_varint(target, to + 1, timestamp_delta)
            to = write_varint(target, to, offset_delta)
            to = copy(target, to, source, at, end)
            at = end
            count += 1
    if at < 0:
        raise ValueError(f"record {first_delta + count} is {describe_fault(at)}")
    return room[:to] if is_large else bytes(room[:to]), count

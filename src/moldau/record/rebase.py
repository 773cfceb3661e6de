"""Moving records to another base timestamp.

A batch with a delete horizon has it in the field of its base timestamp (KIP-534), and the
timestamps of its records are relative to it. So each record is rewritten with another delta and, as
that may take more or fewer bytes, another length; the rest is copied.

This module is compiled with Cython if available (``rebase.pxd`` has the types); its loop then
releases the GIL.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.columns import index_records

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``primitives.pxd``.
    from moldau.record.primitives import after_varint, copy, varint_size, write_varint

# A delta and its shift stay below this, so that their sum stays within 64 bits.
_LIMIT: Final = 1 << 62
# The maximum growth of a record: its delta from one byte to ten, its length by one.
_LARGEST_GROWTH: Final = 10


def rebase_timestamps(records: bytes, count: int, shift: int) -> bytes:
    """The same records for a base timestamp that is ``shift`` smaller: each delta grows by it.

    ``records`` is what follows the header of a batch, decompressed.

    Raises:
        ValueError: the records are damaged, or a timestamp delta would be out of range.
    """
    columns = index_records(records, count)
    if not -_LIMIT <= shift < _LIMIT:
        raise ValueError(f"timestamps cannot be moved by {shift}, only by less than 2^62")
    rebased = bytearray(len(records) + _LARGEST_GROWTH * count)
    written = _rebase(records, columns.timestamp_delta, columns.position, count, shift, rebased)
    if written < 0:
        number = -1 - written
        delta = columns.timestamp_delta[number]
        raise ValueError(f"record {number} has the timestamp delta {delta}, which is out of range")
    return bytes(memoryview(rebased)[:written])


def _rebase(
    records: bytes,
    timestamp_delta: memoryview,
    position: memoryview,
    count: int,
    shift: int,
    rebased: bytearray,
) -> int:
    """The number of bytes written, or -1 minus the record whose delta is out of range."""
    source = records
    target = rebased
    to = 0
    with cython.nogil:
        for i in range(count):
            delta = timestamp_delta[i]
            if delta < -_LIMIT or delta >= _LIMIT:
                to = -1 - i
                break
            start = after_varint(source, position[i])
            rest = after_varint(source, start + 1)
            end = position[i + 1]
            delta += shift
            length = 1 + varint_size(delta) + end - rest
            to = write_varint(target, to, length)
            target[to] = source[start]
            to = write_varint(target, to + 1, delta)
            to = copy(target, to, source, rest, end)
    return to

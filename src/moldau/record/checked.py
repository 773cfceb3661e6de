"""Readers for unchecked bytes of records: varints, fields, headers.

Each function takes a position and returns the position after what it has read. A negative position
is a fault, which encodes where and why; every function passes it on, so that a single check at the
end of a record is enough.

They are called several times per record, so compiled modules have them inlined, from
``checked.pxd``; these are used if nothing is compiled.
"""

from typing import Final

REASONS: Final = (
    "the data ends within a number",
    "a number has more than 64 bits",
    "a length or count goes beyond what is there",
    "the record does not fill its length",
    "the offset delta is not one of 31 bits",
    "the timestamp is out of range",
)


def fault(position: int, why: int) -> int:
    return -1 - (position * 8 + why)


def read_checked(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    """A zig-zag varint that ends before ``end``, and the position after it."""
    if at < 0:
        return 0, at
    start = at
    raw = 0
    shift = 0
    while at < end:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            if shift == 63 and byte > 1:
                break
            return (raw >> 1) ^ -(raw & 1), at
        if shift == 63:
            break
        shift += 7
    else:
        return 0, fault(start, 0)
    return 0, fault(start, 1)


def skip_checked(at: int, length: int, end: int) -> int:
    """The position after a field of ``length`` bytes; unchanged if the field is null."""
    if at < 0 or length <= 0:
        return at
    if length > end - at:
        return fault(at, 2)
    return at + length


def skip_headers(data: bytes | memoryview, at: int, count: int, end: int) -> int:
    """The position after ``count`` pairs of a key, which must not be null, and a value."""
    if at < 0:
        return at
    if count < 0 or count > end - at:
        return fault(at, 2)
    for _ in range(count):
        start = at
        length, at = read_checked(data, at, end)
        if at >= 0 and length < 0:
            return fault(start, 2)
        at = skip_checked(at, length, end)
        length, at = read_checked(data, at, end)
        at = skip_checked(at, length, end)
        if at < 0:
            return at
    return at


def describe_fault(at: int) -> str:
    """Describe the fault ``at``: position and reason."""
    where, why = divmod(-1 - at, 8)
    return f"damaged at position {where}: {REASONS[why]}"

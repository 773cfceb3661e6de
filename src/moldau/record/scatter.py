"""Turning rows of columns into records: the inverse of ``columns`` and ``gather``.

A writer of columns has all keys in one buffer and all values in another. Here selected rows become
the records of one batch, as they follow its header: each field is copied once, to its final
position. The caller chooses the rows and their order, and so selects the rows of one partition.

This module is compiled with Cython if available (``scatter.pxd`` has the types); its loop then
releases the GIL.
"""

from typing import Final, NamedTuple

from moldau.record import interpreted as cython

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``primitives.pxd``.
    from moldau.record.primitives import copy, varint_size, write_varint

# The maximum size of a record besides its fields: length, attributes, two deltas, three sizes.
LARGEST_OVERHEAD: Final = 5 + 1 + 10 + 5 + 5 + 5 + 5
# The same for a header: its two sizes.
LARGEST_HEADER_OVERHEAD: Final = 5 + 5


class Field(NamedTuple):
    """One field of all rows: that of row ``i`` is at ``position[i]`` of ``data``, or null (-1)."""

    data: bytes
    position: memoryview
    size: memoryview


class HeaderFields(NamedTuple):
    """The headers of all rows: row ``i`` has ``counts[i]`` of the pairs from ``first[i]`` on."""

    first: memoryview
    counts: memoryview
    key: Field
    value: Field


class Rows(NamedTuple):
    """Records as columns of 64-bit integers, one for each row.

    The positions are not checked again.
    """

    timestamp: memoryview
    key: Field
    value: Field
    headers: HeaderFields | None = None


def write_records(
    rows: Rows, order: memoryview, first: int, last: int, room: bytearray
) -> tuple[int, int]:
    """Write the rows ``order[first:last]`` into ``room`` as records, as many as fit.

    The first of them determines the base timestamp of the batch. Returns the index in ``order`` of
    the first row that was not written, and the number of bytes written.

    Raises:
        ValueError: the columns differ in length, or an index is outside ``order``.
    """
    count = len(rows.timestamp)
    key, value, headers = rows.key, rows.value, rows.headers
    if not (
        len(key.position) == len(key.size) == len(value.position) == len(value.size) == count
    ) or not 0 <= first <= last <= len(order):
        raise ValueError(f"{count} rows, of which {first} to {last} of {len(order)} are wanted")
    if headers is None:
        has_headers = False
        # Never used: placeholders for the missing columns.
        headers = HeaderFields(key.position, key.size, key, value)
    else:
        has_headers = True
        if len(headers.first) != count or len(headers.counts) != count:
            raise ValueError(f"{count} rows, but headers of {len(headers.first)}")
    return _write_records(
        rows.timestamp,
        key.data,
        key.position,
        key.size,
        value.data,
        value.position,
        value.size,
        has_headers,
        headers.first,
        headers.counts,
        headers.key.data,
        headers.key.position,
        headers.key.size,
        headers.value.data,
        headers.value.position,
        headers.value.size,
        order,
        first,
        last,
        room,
        len(room),
    )


def _write_records(
    timestamp: memoryview,
    keys: bytes,
    key_position: memoryview,
    key_size: memoryview,
    values: bytes,
    value_position: memoryview,
    value_size: memoryview,
    has_headers: bool,
    header_first: memoryview,
    header_count: memoryview,
    names: bytes,
    name_position: memoryview,
    name_size: memoryview,
    contents: bytes,
    content_position: memoryview,
    content_size: memoryview,
    order: memoryview,
    first: int,
    last: int,
    room: bytearray,
    capacity: int,
) -> tuple[int, int]:
    key_data = keys
    value_data = values
    name_data = names
    content_data = contents
    target = room
    to = 0
    at = first
    count = 0
    with cython.nogil:
        while at < last:
            row = order[at]
            delta = timestamp[row] - timestamp[order[first]]
            length = 1 + varint_size(delta) + varint_size(at - first)
            length += _field_size(key_size[row]) + _field_size(value_size[row])
            if has_headers:
                count = header_count[row]
                for i in range(header_first[row], header_first[row] + count):
                    length += _field_size(name_size[i]) + _field_size(content_size[i])
            length += varint_size(count)
            if length + varint_size(length) > capacity - to:
                break
            to = write_varint(target, to, length)
            target[to] = 0
            to = write_varint(target, to + 1, delta)
            to = write_varint(target, to, at - first)
            to = _write_field(target, to, key_data, key_position[row], key_size[row])
            to = _write_field(target, to, value_data, value_position[row], value_size[row])
            to = write_varint(target, to, count)
            if has_headers:
                for i in range(header_first[row], header_first[row] + count):
                    to = _write_field(target, to, name_data, name_position[i], name_size[i])
                    to = _write_field(
                        target, to, content_data, content_position[i], content_size[i]
                    )
            at += 1
    return at, to


def _field_size(size: int) -> int:
    """The number of bytes of a field with its size; a null is only the size -1."""
    return 1 if size < 0 else varint_size(size) + size


def _write_field(target: bytearray, to: int, source: bytes, start: int, size: int) -> int:
    to = write_varint(target, to, size)
    return copy(target, to, source, start, start + size) if size > 0 else to

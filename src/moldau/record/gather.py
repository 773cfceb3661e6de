"""Collecting a field of many records: all keys in one buffer, all values in one buffer.

``columns`` gives the positions of fields in a batch. A reader of columns needs the transposed
layout: the bytes of one field of all records in a row, the end of each, and a validity bit for
each. This is Arrow's layout of binary arrays, so these buffers can become an array without another
copy.

Headers are pairs within a record. ``index_headers`` turns them into columns with one row per pair,
which are then collected like any other field.

This module is compiled with Cython if available (``gather.pxd`` has the types); its loops then
release the GIL.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.columns import Columns

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``primitives.pxd``.
    from moldau.record.primitives import copy, read_varint

# Ends are 32-bit integers.
MAX_GATHERED_BYTES: Final = 0x7FFFFFFF


class Gathered:
    """Buffers for one field of ``rows`` records with ``size_bytes`` in total, filled by ``append``.

    ``ends`` has one number more than there are rows, the first being 0. The bit of row ``i`` in
    ``validity`` is bit ``i % 8`` of byte ``i // 8``, and is set if the field is not null.
    """

    __slots__ = ("data", "ends", "null_count", "rows", "size_bytes", "validity")

    def __init__(self, rows: int, size_bytes: int) -> None:
        if size_bytes > MAX_GATHERED_BYTES:
            raise ValueError(f"{size_bytes} bytes do not fit one array: {MAX_GATHERED_BYTES} do")
        self.data = bytearray(size_bytes)
        self.ends = memoryview(bytearray(4 * (rows + 1))).cast("i")
        self.validity = bytearray((rows + 7) // 8)
        self.rows = 0
        self.size_bytes = 0
        self.null_count = 0

    def append(self, records: bytes, position: memoryview, size: memoryview) -> None:
        """Copy the fields at ``position``; those of ``size`` -1 are null.

        Both must be columns (or the same part of both) from ``columns`` or ``index_headers`` of
        these ``records``: the positions are not checked again.

        Raises:
            ValueError: there is no space for so many rows or bytes.
        """
        count = len(position)
        if len(size) != count or self.rows + count >= len(self.ends):
            room = len(self.ends) - 1 - self.rows
            raise ValueError(f"{count} positions and {len(size)} sizes, with room for {room}")
        nulls = _copy_fields(
            records,
            position,
            size,
            count,
            self.data,
            len(self.data),
            self.size_bytes,
            self.ends,
            self.validity,
            self.rows,
        )
        if nulls < 0:
            raise ValueError(f"the fields take more than the {len(self.data)} bytes there are")
        self.rows += count
        self.null_count += nulls
        self.size_bytes = self.ends[self.rows]


class HeaderColumns:
    """Columns with one number per header, in the order of the records."""

    __slots__ = ("key_position", "key_size", "value_position", "value_size")

    def __init__(self, cells: memoryview, count: int) -> None:
        self.key_position = cells[:count]
        self.key_size = cells[count : 2 * count]
        self.value_position = cells[2 * count : 3 * count]
        self.value_size = cells[3 * count :]


def index_headers(records: bytes, columns: Columns, first: int, last: int) -> HeaderColumns:
    """The positions of the headers of records ``first`` to ``last`` (exclusive)."""
    positions = columns.headers_position[first:last]
    counts = columns.header_count[first:last]
    total = sum(counts)
    cells = memoryview(bytearray(32 * total)).cast("q")
    if total:
        _index_headers(records, positions, counts, len(positions), total, cells)
    return HeaderColumns(cells, total)


def _copy_fields(
    records: bytes,
    position: memoryview,
    size: memoryview,
    count: int,
    data: bytearray,
    capacity: int,
    at: int,
    ends: memoryview,
    validity: bytearray,
    row: int,
) -> int:
    """The number of null fields, or -1 if the others do not fit."""
    source = records
    target = data
    bits = validity
    nulls = 0
    with cython.nogil:
        for i in range(count):
            length = size[i]
            if length < 0:
                nulls += 1
            else:
                if length > capacity - at:
                    nulls = -1
                    break
                at = copy(target, at, source, position[i], position[i] + length)
                bits[(row + i) >> 3] |= 1 << ((row + i) & 7)
            ends[row + i + 1] = at
    return nulls


def _index_headers(
    records: bytes,
    position: memoryview,
    counts: memoryview,
    count: int,
    total: int,
    cells: memoryview,
) -> int:
    """Fill the columns; returns the number of headers."""
    source = records
    row = 0
    with cython.nogil:
        for i in range(count):
            at = position[i]
            for _ in range(counts[i]):
                length, at = read_varint(source, at)
                cells[row] = at
                cells[total + row] = length
                at += length
                length, at = read_varint(source, at)
                cells[2 * total + row] = at
                cells[3 * total + row] = length if length >= 0 else -1
                if length > 0:
                    at += length
                row += 1
    return row

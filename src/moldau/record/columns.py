"""Where everything lies in the records of a batch: one pass, nine columns of 64-bit numbers.

A record is a length and then, within that length: attributes, a timestamp delta, an offset
delta, a key, a value and headers, all sizes as zig-zag varints. This is the one place of the
record kernel that reads them. Whoever works on single records (the cleaner, a consumer that
wants columns) indexes the batch first and then goes over columns, which need no checks.

This module is compiled with Cython where that is at hand (``columns.pxd`` has the types); it
then takes about as long as reading the memory does, and other threads run meanwhile.

Rules this module keeps:

* Whatever the bytes are, the only error is ``ValueError``, with the record and the position,
  and nothing outside of them is read. The work and the memory are bounded by their number.
* Every position and size in ``Columns`` lies within its records, and nobody can write to
  them: compiled code that goes over columns relies on that.
"""

from typing import Final

from moldau.record import interpreted as cython

if False:  # Never run: it tells the compiler whose words ``cython.…`` are.
    import cython  # type: ignore

# Each field of an empty record takes a byte: its length, attributes, two deltas, three sizes.
SMALLEST_RECORD: Final = 7
_COLUMNS: Final = 9
_BATCH_HEADER_SIZE: Final = 61
_REASONS: Final = (
    "the data ends within a number",
    "a number has more than 64 bits",
    "a length or count goes beyond what is there",
    "the record does not fill its length",
    "the offset delta is not one of 31 bits",
)


class Columns:
    """One number per record in each column; positions count from the start of ``records``.

    A key or value that is null has the size -1. Record ``i`` lies, its length included,
    from ``position[i]`` to ``position[i + 1]``: this column alone has one number more. Of
    several batches in a row, the last record of each ends where its batch does.
    """

    __slots__ = (
        "count",
        "header_count",
        "headers_position",
        "key_position",
        "key_size",
        "offset_delta",
        "position",
        "records",
        "timestamp_delta",
        "value_position",
        "value_size",
    )

    def __init__(self, records: bytes, cells: memoryview, count: int, rows: int) -> None:
        """``cells`` has room for so many ``rows`` in each column; ``count`` of them are filled."""
        self.records = records
        self.count = count
        self.offset_delta = cells[:count]
        self.timestamp_delta = cells[rows : rows + count]
        self.key_position = cells[2 * rows : 2 * rows + count]
        self.key_size = cells[3 * rows : 3 * rows + count]
        self.value_position = cells[4 * rows : 4 * rows + count]
        self.value_size = cells[5 * rows : 5 * rows + count]
        self.headers_position = cells[6 * rows : 6 * rows + count]
        self.header_count = cells[7 * rows : 7 * rows + count]
        self.position = cells[8 * rows : 8 * rows + count + 1]


def index_records(records: bytes, count: int) -> Columns:
    """The columns of ``count`` records: what follows the header of a batch, decompressed.

    Raises:
        ValueError: the records are not built as their lengths say, or are more or fewer.
    """
    size = len(records)
    if count < 0 or count > size // SMALLEST_RECORD:
        raise ValueError(f"{count} records cannot lie in {size} bytes")
    data = records
    whole = memoryview(bytearray(8 * (_COLUMNS * count + 1))).cast("q")
    cells = whole
    with cython.nogil:
        passed, at = _index(data, 0, size, 0, count, 0, cells, count)
    if at < 0:
        where, why = divmod(-1 - at, 8)
        raise ValueError(f"record {passed} is damaged at position {where}: {_REASONS[why]}")
    if at != size:
        raise ValueError(f"{size - at} bytes are left after {count} records, at position {at}")
    return Columns(records, whole.toreadonly(), count, count)


def index_batches(
    chunk: bytes, position: memoryview, base_offset: memoryview, first_row: memoryview, count: int
) -> tuple[Columns, int]:
    """The columns of the records in ``count`` batches, and how many of these are not damaged.

    The batches lie in ``chunk`` one after the other, uncompressed, as ``batch_run`` found them:
    where they begin and end is not checked again. The first that is damaged, and all behind it,
    are left out. Offset deltas count from the base offset of the first batch.
    """
    data = chunk
    rows = first_row[count]
    whole = memoryview(bytearray(8 * (_COLUMNS * rows + 1))).cast("q")
    cells = whole
    passed = 0
    with cython.nogil:
        for i in range(count):
            start = position[i] + _BATCH_HEADER_SIZE
            end = position[i + 1]
            row = first_row[i]
            size = first_row[i + 1] - row
            _, at = _index(
                data, start, end, row, size, base_offset[i] - base_offset[0], cells, rows
            )
            if at != end:
                break
            passed += 1
    return Columns(chunk, whole.toreadonly(), first_row[passed], rows), passed


# A position below zero is a fault. It says where and why, and every function hands it on, so
# that one look at the end of a record is enough.


def _fault(position: int, why: int) -> int:
    return -1 - (position * 8 + why)


def _index(
    data: bytes,
    at: int,
    size: int,
    first: int,
    count: int,
    base_delta: int,
    cells: memoryview,
    rows: int,
) -> tuple[int, int]:
    """Fill the columns, of so many ``rows``, from the row ``first`` on.

    The records lie from ``at`` to ``size``, and their offset deltas count from ``base_delta``.
    Returns the number of records passed, and the position after them or a fault.
    """
    deltas = first
    timestamps = rows + first
    keys = 2 * rows + first
    key_sizes = 3 * rows + first
    values = 4 * rows + first
    value_sizes = 5 * rows + first
    headers = 6 * rows + first
    header_counts = 7 * rows + first
    positions = 8 * rows + first
    for i in range(count):
        cells[positions + i] = at
        start = at
        length, at = _read_varint(data, at, size)
        if at < 0:
            return i, at
        if length < 6 or length > size - at:
            return i, _fault(start, 2)
        end = at + length
        # The first byte is for attributes, of which there are none yet.
        cells[timestamps + i], at = _read_varint(data, at + 1, end)
        delta, at = _read_varint(data, at, end)
        length, at = _read_varint(data, at, end)
        cells[keys + i] = at
        cells[key_sizes + i] = length if length >= 0 else -1
        at = _skip(at, length, end)
        length, at = _read_varint(data, at, end)
        cells[values + i] = at
        cells[value_sizes + i] = length if length >= 0 else -1
        at = _skip(at, length, end)
        length, at = _read_varint(data, at, end)
        cells[headers + i] = at
        cells[header_counts + i] = length
        if length != 0:
            at = _skip_headers(data, at, length, end)
        if at < 0:
            return i, at
        if at != end:
            return i, _fault(at, 3)
        if delta < 0 or delta > 0x7FFFFFFF:
            return i, _fault(start, 4)
        cells[deltas + i] = base_delta + delta
    cells[positions + count] = at
    return count, at


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
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
        return 0, _fault(start, 0)
    return 0, _fault(start, 1)


def _skip(at: int, length: int, end: int) -> int:
    """The position after a field of ``length`` bytes, or after none if it is null."""
    if at < 0 or length <= 0:
        return at
    if length > end - at:
        return _fault(at, 2)
    return at + length


def _skip_headers(data: bytes, at: int, count: int, end: int) -> int:
    """The position after ``count`` pairs of a key, which must be there, and a value."""
    if at < 0:
        return at
    if count < 0 or count > end - at:
        return _fault(at, 2)
    for _ in range(count):
        start = at
        length, at = _read_varint(data, at, end)
        if at >= 0 and length < 0:
            return _fault(start, 2)
        at = _skip(at, length, end)
        length, at = _read_varint(data, at, end)
        at = _skip(at, length, end)
        if at < 0:
            return at
    return at

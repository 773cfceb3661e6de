"""The positions of all fields in the records of a batch: one pass, nine columns of 64-bit integers.

A record is a length followed by that many bytes: attributes, a timestamp delta, an offset delta, a
key, a value and headers, with all sizes as zig-zag varints. Code that works on single records (the
cleaner, a consumer that returns columns) indexes the batch first and then uses the columns, which
need no further checks.

This module is compiled with Cython if available (``columns.pxd`` has the types); it is then about
as fast as reading the memory, and releases the GIL.

Rules this module keeps:

* For any input the only error is ``ValueError``, with the record and the position, and nothing
  outside the input is read. Time and memory are bounded by its size.
* Every position and size in ``Columns`` is within its records, and the columns are read-only:
  compiled code that uses them relies on that.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.checked import describe_fault
from moldau.record.header import BATCH_HEADER_SIZE

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``checked.pxd``.
    from moldau.record.checked import fault, read_checked, skip_checked, skip_headers

# Each field of an empty record takes a byte: its length, attributes, two deltas, three sizes.
SMALLEST_RECORD: Final = 7
_COLUMNS: Final = 9
_BATCH_HEADER_SIZE: Final = BATCH_HEADER_SIZE


class Columns:
    """Columns with one number per record; positions are relative to the start of ``records``.

    A null key or value has the size -1. Record ``i``, including its length, extends from
    ``position[i]`` to ``position[i + 1]``: only this column has one number more. With several
    batches in a row, the last record of each ends where its batch does.
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
        """``cells`` has ``rows`` cells for each column, of which ``count`` are filled."""
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
    """The columns of ``count`` records: the contents of a batch after its header, decompressed.

    Raises:
        ValueError: the records do not match their lengths or their number.
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
        raise ValueError(f"record {passed} is {describe_fault(at)}")
    if at != size:
        raise ValueError(f"{size - at} bytes are left after {count} records, at position {at}")
    return Columns(records, whole.toreadonly(), count, count)


def index_batches(
    chunk: bytes, position: memoryview, base_offset: memoryview, first_row: memoryview, count: int
) -> tuple[Columns, int]:
    """The columns of the records in ``count`` batches, and the number of undamaged batches.

    The batches are consecutive and uncompressed in ``chunk``, as found by ``batch_run``: their
    bounds are not checked again. The first damaged batch and all after it are left out. Offset
    deltas are relative to the base offset of the first batch.
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
    """Fill the columns, of ``rows`` cells each, from the row ``first`` on.

    The records are in the bytes ``at`` to ``size``, and their offset deltas are relative to
    ``base_delta``. Returns the number of records passed, and the position after them or a fault.
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
        length, at = read_checked(data, at, size)
        if at < 0:
            return i, at
        if length < 6 or length > size - at:
            return i, fault(start, 2)
        end = at + length
        # The first byte is for attributes, of which none are defined yet.
        cells[timestamps + i], at = read_checked(data, at + 1, end)
        delta, at = read_checked(data, at, end)
        length, at = read_checked(data, at, end)
        cells[keys + i] = at
        cells[key_sizes + i] = length if length >= 0 else -1
        at = skip_checked(at, length, end)
        length, at = read_checked(data, at, end)
        cells[values + i] = at
        cells[value_sizes + i] = length if length >= 0 else -1
        at = skip_checked(at, length, end)
        length, at = read_checked(data, at, end)
        cells[headers + i] = at
        cells[header_counts + i] = length
        if length != 0:
            at = skip_headers(data, at, length, end)
        if at < 0:
            return i, at
        if at != end:
            return i, fault(at, 3)
        if delta < 0 or delta > 0x7FFFFFFF:
            return i, fault(start, 4)
        cells[deltas + i] = base_delta + delta
    cells[positions + count] = at
    return count, at

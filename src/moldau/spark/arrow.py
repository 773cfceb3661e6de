"""Converts Kafka record batches to Arrow record batches, a column at a time.

A batch is opened (checksum, decompression, one pass of the record kernel) and cut to the wanted
offsets, and then the columns of several batches are concatenated. Keys and values are copied once,
from the decompressed records into the array; the other columns are computed with NumPy.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from moldau.ids import TopicPartition
from moldau.record.columns import Columns, index_records
from moldau.record.compression import decompress
from moldau.record.gather import Gathered, HeaderColumns, index_headers
from moldau.record.header import BATCH_HEADER_SIZE, BatchHeader, CorruptBatch, crc_is_valid

# Spark has 64-bit microseconds; a timestamp outside that range is clipped to it.
_MAX_MS: Final = ((1 << 63) - 1) // 1000


class OpenBatch(NamedTuple):
    """The records ``first`` up to ``last`` of one batch."""

    header: BatchHeader
    records: bytes
    columns: Columns
    first: int
    last: int

    @property
    def rows(self) -> int:
        return self.last - self.first


def open_batch(
    batches: memoryview, position: int, header: BatchHeader, start: int, end: int
) -> OpenBatch:
    """The batch at ``position``, cut to the offsets from ``start`` up to ``end``.

    Raises:
        CorruptBatch: the checksum does not match, or the records are malformed.
    """
    if not crc_is_valid(batches, position, header):
        raise CorruptBatch(f"the checksum of the batch at offset {header.base_offset} is wrong")
    payload = batches[position + BATCH_HEADER_SIZE : position + header.size_bytes]
    records = decompress(header.compression, payload)
    try:
        columns = index_records(records, header.record_count)
    except ValueError as error:
        raise CorruptBatch(f"the batch at offset {header.base_offset}: {error}") from None
    # Offsets ascend within a batch, so the wanted records are contiguous.
    first = bisect_left(columns.offset_delta, start - header.base_offset)
    last = bisect_left(columns.offset_delta, end - header.base_offset)
    return OpenBatch(header, records, columns, first, max(first, last))


def to_arrow(
    partition: TopicPartition, batches: Sequence[OpenBatch], schema: pa.Schema
) -> pa.RecordBatch:
    """The records of ``batches``, in order, with the columns of ``schema``."""
    rows = sum(batch.rows for batch in batches)
    arrays = [_column(field.name, field.type, partition, batches, rows) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(
    name: str,
    kind: pa.DataType,
    partition: TopicPartition,
    batches: Sequence[OpenBatch],
    rows: int,
) -> pa.Array:
    if name in ("key", "value"):
        return _fields(name, kind, batches, rows)
    if name == "topic":
        return _repeated(partition.topic, kind, rows)
    if name == "partition":
        return pa.array(np.full(rows, partition.partition, np.int32), kind)
    if name == "offset":
        return pa.array(_offsets(batches, rows), kind)
    if name == "timestamp":
        return pa.array(_timestamps_us(batches, rows), kind)
    if name == "timestampType":
        return pa.array(_timestamp_types(batches, rows), kind)
    assert name == "headers", name
    return _headers(kind, batches, rows)


def _numbers(column: memoryview, batch: OpenBatch) -> "np.ndarray[Any, np.dtype[np.int64]]":
    return np.frombuffer(column, np.int64)[batch.first : batch.last]


def _fields(name: str, kind: pa.DataType, batches: Sequence[OpenBatch], rows: int) -> pa.Array:
    found = []
    size_bytes = 0
    for batch in batches:
        columns = batch.columns
        position = columns.key_position if name == "key" else columns.value_position
        size = columns.key_size if name == "key" else columns.value_size
        size_bytes += int(np.maximum(_numbers(size, batch), 0).sum())
        found.append((batch.records, position, size, batch.first, batch.last))
    gathered = Gathered(rows, size_bytes)
    for records, position, size, first, last in found:
        gathered.append(records, position[first:last], size[first:last])
    return _array(kind, gathered)


def _array(kind: pa.DataType, gathered: Gathered) -> pa.Array:
    validity = pa.py_buffer(gathered.validity) if gathered.null_count else None
    buffers = [validity, pa.py_buffer(gathered.ends), pa.py_buffer(gathered.data)]
    return pa.Array.from_buffers(kind, gathered.rows, buffers, gathered.null_count)


def _repeated(text: str, kind: pa.DataType, rows: int) -> pa.Array:
    encoded = text.encode()
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(len(encoded))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(encoded * rows)]
    return pa.Array.from_buffers(kind, rows, buffers, 0)


def _offsets(batches: Sequence[OpenBatch], rows: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    offsets = np.empty(rows, np.int64)
    row = 0
    for batch in batches:
        deltas = _numbers(batch.columns.offset_delta, batch)
        np.add(deltas, batch.header.base_offset, offsets[row : row + batch.rows])
        row += batch.rows
    return offsets


def _timestamps_us(
    batches: Sequence[OpenBatch], rows: int
) -> "np.ndarray[Any, np.dtype[np.int64]]":
    timestamps = np.empty(rows, np.int64)
    row = 0
    for batch in batches:
        into = timestamps[row : row + batch.rows]
        if batch.header.is_log_append_time:
            into[:] = batch.header.max_timestamp
        else:
            deltas = _numbers(batch.columns.timestamp_delta, batch)
            np.add(deltas, batch.header.base_timestamp, into)
        row += batch.rows
    np.clip(timestamps, -_MAX_MS, _MAX_MS, timestamps)
    timestamps *= 1000
    return timestamps


def _timestamp_types(
    batches: Sequence[OpenBatch], rows: int
) -> "np.ndarray[Any, np.dtype[np.int32]]":
    types = np.empty(rows, np.int32)
    row = 0
    for batch in batches:
        types[row : row + batch.rows] = int(batch.header.is_log_append_time)
        row += batch.rows
    return types


def _headers(kind: pa.DataType, batches: Sequence[OpenBatch], rows: int) -> pa.Array:
    """A list of pairs for each record; null if it has no headers, as in Spark's Kafka source."""
    counts = np.empty(rows, np.int64)
    indexed: list[tuple[bytes, HeaderColumns]] = []
    row = 0
    for batch in batches:
        counts[row : row + batch.rows] = _numbers(batch.columns.header_count, batch)
        row += batch.rows
        found = index_headers(batch.records, batch.columns, batch.first, batch.last)
        indexed.append((batch.records, found))
    total = int(counts.sum())
    pair = kind.value_type
    keys = Gathered(total, sum(_size(each.key_size) for _, each in indexed))
    values = Gathered(total, sum(_size(each.value_size) for _, each in indexed))
    for records, each in indexed:
        keys.append(records, each.key_position, each.key_size)
        values.append(records, each.value_position, each.value_size)
    pairs = pa.StructArray.from_arrays(
        [_array(pair.field(0).type, keys), _array(pair.field(1).type, values)],
        fields=[pair.field(0), pair.field(1)],
    )
    ends = np.zeros(rows + 1, np.int32)
    np.cumsum(counts, out=ends[1:])
    there = np.packbits(counts > 0, bitorder="little")
    null_count = int((counts == 0).sum())
    buffers = [pa.py_buffer(there), pa.py_buffer(ends)]
    return pa.Array.from_buffers(kind, rows, buffers, null_count, children=[pairs])


def _size(sizes: memoryview) -> int:
    return int(np.maximum(np.frombuffer(sizes, np.int64), 0).sum()) if len(sizes) else 0

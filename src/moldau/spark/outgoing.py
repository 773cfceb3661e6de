"""Arrow record batches as input of the record kernel: the location of each field of a row.

Arrow's buffers are used unchanged; each field has two columns of numbers, position and size. A
null has the size -1.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from moldau.record.scatter import (
    LARGEST_HEADER_OVERHEAD,
    LARGEST_OVERHEAD,
    Field,
    HeaderFields,
    Rows,
)
from moldau.spark.errors import PipelineError


class OutgoingRows(NamedTuple):
    """The rows of one Arrow batch, ready to be encoded."""

    rows: Rows
    # The maximum size of each row as a record.
    sizes: "np.ndarray[Any, np.dtype[np.int64]]"
    timestamps: "np.ndarray[Any, np.dtype[np.int64]]"
    topic: pa.Array | None
    partition: pa.Array | None

    @property
    def row_count(self) -> int:
        return len(self.sizes)


def read_rows(batch: pa.RecordBatch, wall_ms: int, *, include_headers: bool) -> OutgoingRows:
    """The columns of ``batch`` that are written; a row without a timestamp gets ``wall_ms``.

    Raises:
        PipelineError: a timestamp is before 1970, or a header has no key.
    """
    count = batch.num_rows
    names = set(batch.schema.names)

    def column(name: str) -> pa.Array | None:
        return batch.column(name) if name in names else None

    value = _field(batch.column("value"))
    key_column = column("key")
    key = _nulls(count) if key_column is None else _field(key_column)
    sizes = np.maximum(_numbers(key.size), 0) + np.maximum(_numbers(value.size), 0)
    sizes += LARGEST_OVERHEAD
    headers = None
    header_column = column("headers") if include_headers else None
    if header_column is not None and header_column.null_count < count:
        headers, header_sizes = _headers(header_column)
        sizes += header_sizes
    timestamps = _timestamps_ms(column("timestamp"), count, wall_ms)
    rows = Rows(timestamps.data, key, value, headers)
    return OutgoingRows(rows, sizes, timestamps, column("topic"), column("partition"))


def _numbers(column: memoryview) -> "np.ndarray[Any, np.dtype[np.int64]]":
    return np.frombuffer(column, np.int64) if len(column) else np.empty(0, np.int64)


def _nulls(count: int) -> Field:
    return Field(b"", np.zeros(count, np.int64).data, np.full(count, -1).data)


def _field(array: pa.Array) -> Field:
    """The locations of the strings or bytes of an array."""
    kind = array.type
    is_large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    _, ends, data = array.buffers()
    if len(array) == 0 or ends is None:
        return _nulls(len(array))
    dtype = np.int64 if is_large else np.int32
    start = array.offset * np.dtype(dtype).itemsize
    bounds = np.frombuffer(ends, dtype, len(array) + 1, start).astype(np.int64)
    sizes = np.diff(bounds)
    if array.null_count:
        sizes[_is_null(array)] = -1
    content = b"" if data is None else data.to_pybytes()
    return Field(content, bounds[:-1].data, sizes.data)


def _is_null(array: pa.Array) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    nulls: np.ndarray[Any, np.dtype[np.bool_]] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _timestamps_ms(
    array: pa.Array | None, count: int, wall_ms: int
) -> "np.ndarray[Any, np.dtype[np.int64]]":
    if array is None or array.null_count == count:
        return np.full(count, wall_ms, np.int64)
    microseconds = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    milliseconds: np.ndarray[Any, np.dtype[np.int64]] = (
        microseconds.fill_null(wall_ms * 1000).to_numpy() // 1000
    )
    if len(milliseconds) and milliseconds.min() < 0:
        moment = int(milliseconds.min())
        raise PipelineError(
            f"a row has a timestamp before 1970 ({moment} ms), which Kafka's records cannot have"
        )
    return milliseconds


def _headers(array: pa.Array) -> "tuple[HeaderFields, np.ndarray[Any, np.dtype[np.int64]]]":
    """The headers of all rows, and the maximum encoded size of each row's headers."""
    bounds = array.offsets.to_numpy().astype(np.int64)
    counts = np.diff(bounds)
    if array.null_count:
        counts[_is_null(array)] = 0
    names, contents = array.values.flatten()
    key, value = _field(names), _field(contents)
    key_sizes = _numbers(key.size)
    each = np.maximum(key_sizes, 0) + np.maximum(_numbers(value.size), 0)
    each += LARGEST_HEADER_OVERHEAD
    # The sum for one row is the difference of two prefix sums.
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(each)))
    first = bounds[:-1]
    sizes = sums[first + counts] - sums[first]
    missing = np.concatenate((np.zeros(1, np.int64), np.cumsum(key_sizes < 0)))
    if (missing[first + counts] - missing[first]).any():
        raise PipelineError("a row has a header without a key: Kafka's headers need one")
    fields = HeaderFields(first.data, counts.data, key, value)
    return fields, sizes

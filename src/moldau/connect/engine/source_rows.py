"""Records of a source as rows of Arrow: converted, transformed, ready to be written to topics."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from moldau.connect.connector import ArrowRecords, SourceOffset, SourcePartition
from moldau.connect.converters.base import Converter
from moldau.connect.data.arrow_cells import cells, numbers, repeated
from moldau.connect.data.columns import NULLS, Column, RecordColumns, Same, values_in
from moldau.connect.data.record import ConvertedRecord, SourceRecord
from moldau.connect.data.schema import BYTES, STRING
from moldau.connect.engine.error_policy import ErrorHandler, Skipped, Stage
from moldau.connect.engine.stages import Stages

_HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
)
_TIME: Final = pa.timestamp("us", tz="UTC")
SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("timestamp", _TIME),
        ("headers", _HEADERS),
    ]
)
Row = tuple[
    str, int | None, bytes | None, bytes | None, int | None, list[tuple[str, bytes | None]] | None
]
Offsets = Sequence[tuple[SourcePartition, SourceOffset]]


class RowMaker:
    """Converts and transforms the records of one source."""

    def __init__(self, stages: Stages, handler: ErrorHandler) -> None:
        self._stages = stages
        self._handler = handler

    def rows(self, records: Iterable[SourceRecord | ConvertedRecord]) -> pa.RecordBatch:
        """The rows of the records that are left; those that fail are handled by the policy."""
        if isinstance(records, list) and (converted := _converted(records)) is not None:
            return converted
        made: list[Row] = []
        for record in records:
            if isinstance(record, ConvertedRecord):
                made.append((record.topic, None, record.key, record.value, None, None))
                continue
            try:
                changed = self._stages.chain.apply(record)
                row = None if changed is None else self._convert(changed)
            except Exception:
                has_failed = True
            else:
                has_failed = False
            # Outside of the handler: the trace of its error would contain the first one as well.
            if has_failed:
                row = self._carefully(record)
            if row is not None:
                made.append(row)
        return as_batch(made)

    @property
    def has_columns(self) -> bool:
        return self._stages.chain.has_columns

    def arrow_rows(self, records: ArrowRecords) -> pa.RecordBatch:
        """As ``rows``, for records that are columns; one by one if they cannot be treated so."""
        try:
            made = self._column_rows(records)
        except Exception:
            # One by one, it is found which record fails, and what is to be done about that.
            made = None
        return self.rows(source_records(records)) if made is None else made

    def _column_rows(self, records: ArrowRecords) -> pa.RecordBatch | None:
        changed = self._stages.chain.apply_columns(source_columns(records))
        if changed is None:
            return None
        key = self._column(self._stages.key, changed, changed.key)
        value = self._column(self._stages.value, changed, changed.value)
        return _batch(changed.topic, changed.count, key, value, records.timestamp_ms)

    def _column(self, converter: Converter, records: RecordColumns, column: Column) -> pa.Array:
        made = converter.from_connect_column(column, records.count)
        if made is not None:
            return made
        convert, topic, schema = converter.from_connect, records.topic, column.schema
        values = values_in(column, records.count)
        return cells([convert(topic, (), schema, value) for value in values], pa.binary())

    def _convert(self, record: Any) -> Row:
        stages, topic, headers = self._stages, record.topic, record.headers
        return (
            topic,
            record.partition,
            stages.key.from_connect(topic, headers, record.key_schema, record.key),
            stages.value.from_connect(topic, headers, record.value_schema, record.value),
            record.timestamp_ms,
            self._headers(record) if headers else None,
        )

    def _headers(self, record: Any) -> list[tuple[str, bytes | None]]:
        convert = self._stages.headers.from_connect_header
        return [
            (each.name, convert(record.topic, each.name, each.schema, each.value))
            for each in record.headers
        ]

    def _carefully(self, record: SourceRecord) -> Row | None:
        """Stage by stage, with retries: only for a record that failed. None if left out."""
        stages = self._stages
        changed = stages.transform(record, self._handler, record)
        if changed is None:
            return None
        headers: Any = None
        if changed.headers:
            headers = self._handler.execute(
                Stage.HEADER_CONVERTER, stages.header_class, partial(self._headers, changed), record
            )
        key = self._handler.execute(
            Stage.KEY_CONVERTER,
            stages.key_class,
            lambda: stages.key.from_connect(
                changed.topic, changed.headers, changed.key_schema, changed.key
            ),
            record,
        )
        value = self._handler.execute(
            Stage.VALUE_CONVERTER,
            stages.value_class,
            lambda: stages.value.from_connect(
                changed.topic, changed.headers, changed.value_schema, changed.value
            ),
            record,
        )
        if isinstance(headers, Skipped) or isinstance(key, Skipped) or isinstance(value, Skipped):
            return None
        return changed.topic, changed.partition, key, value, changed.timestamp_ms, headers


def _converted(records: list[Any]) -> pa.RecordBatch | None:
    """The rows of records that are all converted already, and for one topic; else None."""
    if not all(issubclass(kind, ConvertedRecord) for kind in set(map(type, records))):
        return None
    topics = set(map(attrgetter("topic"), records))
    if len(topics) != 1:
        return None
    count = len(records)
    keys = list(map(attrgetter("key"), records))
    arrays = [
        repeated(topics.pop(), count),
        pa.nulls(count, pa.int32()),
        pa.nulls(count, pa.binary()) if keys.count(None) == count else cells(keys, pa.binary()),
        cells(list(map(attrgetter("value"), records)), pa.binary()),
        pa.nulls(count, _TIME),
        pa.nulls(count, _HEADERS),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def as_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    topics, partitions, keys, values, times, headers = (
        zip(*rows, strict=True) if rows else ([],) * 6
    )
    count = len(rows)
    # Most records have one topic, no partition and no headers.
    is_one_topic = len(set(topics)) == 1
    arrays = [
        repeated(topics[0], count) if is_one_topic else pa.array(topics, pa.string()),
        _or_nulls(partitions, pa.int32()),
        cells(keys, pa.binary()),
        cells(values, pa.binary()),
        numbers([None if each is None else each * 1000 for each in times], _TIME),
        _or_nulls(
            [
                None if each is None else [{"key": name, "value": data} for name, data in each]
                for each in headers
            ],
            _HEADERS,
        ),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _or_nulls(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    is_empty = values.count(None) == len(values)
    return pa.nulls(len(values), kind) if is_empty else pa.array(values, kind)


def arrow_rows(records: ArrowRecords) -> pa.RecordBatch:
    """The rows of records that are columns already."""
    count = len(records.value)
    key = pa.nulls(count, pa.binary()) if records.key is None else records.key
    return _batch(records.topic, count, key, records.value, None)


def _batch(
    topic: str, count: int, key: pa.Array, value: pa.Array, timestamp_ms: int | None
) -> pa.RecordBatch:
    """Rows for one topic."""
    time_us = None if timestamp_ms is None else timestamp_ms * 1000
    arrays = [
        repeated(topic, count),
        pa.nulls(count, pa.int32()),
        key.cast(pa.binary()),
        value.cast(pa.binary()),
        pa.repeat(numbers([time_us], _TIME)[0], count),
        pa.nulls(count, _HEADERS),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def source_columns(records: ArrowRecords) -> RecordColumns:
    """Records of a source as columns; a null among the values is an error."""
    if records.value.null_count or (records.key is not None and records.key.null_count):
        raise ValueError("columns have no nulls")
    return RecordColumns(
        len(records.value),
        records.topic,
        None,
        Column(None, NULLS) if records.key is None else _column(records.key),
        _column(records.value),
        Same(records.timestamp_ms),
    )


def _column(cells: pa.Array) -> Column:
    return Column(STRING if pa.types.is_string(cells.type) else BYTES, cells)


def source_records(records: ArrowRecords) -> Iterator[SourceRecord]:
    """Records of a source one by one. All have the last offset: they succeed or fail together."""
    count = len(records.value)
    keys: Iterable[Any] = repeat(None, count) if records.key is None else records.key.to_pylist()
    key_schema = None if records.key is None else _column(records.key).schema
    value_schema = _column(records.value).schema
    partition, offset = records.offsets[-1]
    for key, value in zip(keys, records.value.to_pylist(), strict=True):
        yield SourceRecord(
            records.topic,
            None,
            key_schema,
            key,
            value_schema,
            value,
            records.timestamp_ms,
            source_partition=dict(partition),
            source_offset=dict(offset),
        )


def progress_text(offsets: Offsets) -> str:
    """How far a source is read, as JSON: ``[[partition, offset], ...]``."""
    return json.dumps([[dict(partition), dict(offset)] for partition, offset in offsets])


def last_offsets(progress: Iterable[str]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The last offset of each partition in several such texts."""
    last = {
        identity(partition): (partition, offset)
        for text in progress
        for partition, offset in json.loads(text)
    }
    return list(last.values())


def identity(partition: SourcePartition) -> str:
    """Equal for partitions that are equal as maps."""
    return json.dumps(partition, sort_keys=True)

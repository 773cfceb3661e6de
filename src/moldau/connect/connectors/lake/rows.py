"""Records as rows: which columns they have, and tables of many records at a time.

A value that is a struct has a column for each field. Any other value with a schema is the column
``value``. A value without a schema has no columns: it is the column ``value`` as JSON text, or
refused. Where records came from is added on request (``metadata.columns``).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

import pyarrow as pa

from moldau.connect.config.definition import ConfigDef, Importance, Type, ValidList, ValidString
from moldau.connect.connector import SinkTask
from moldau.connect.connectors.json_values import json_text
from moldau.connect.connectors.lake.arrow_types import (
    PARQUET,
    TIMESTAMP,
    Dialect,
    Encoder,
    arrow_type,
    encoder,
    nullable,
)
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import Schema

VALUE: Final = "value"
KEY: Final = "_key"
_PLACES: Final[dict[str, tuple[pa.DataType, Callable[[SinkRecord], Any]]]] = {
    "_topic": (pa.string(), lambda record: record.original_topic),
    "_partition": (pa.int32(), lambda record: record.original_partition),
    "_offset": (pa.int64(), lambda record: record.offset),
    "_timestamp": (
        TIMESTAMP,
        lambda record: None if record.timestamp_ms is None else record.timestamp_ms * 1000,
    ),
}
METADATA: Final = (KEY, *_PLACES)
# Records that become a table, and so a row group of a file, at a time.
CHUNK: Final = 50_000
_BAD_VALUE: Final = (pa.ArrowException, DataError, OverflowError, ValueError, TypeError)

G = TypeVar("G", bound=Hashable)


@dataclass(frozen=True)
class RowOptions:
    """What the rows of a connector are like."""

    metadata: tuple[str, ...] = ()
    refuses_schemaless: bool = False
    refuses_nulls: bool = False
    dialect: Dialect = PARQUET


def row_options(definition: ConfigDef) -> ConfigDef:
    """Add the options that all lakes have."""
    definition.define(
        "metadata.columns",
        Type.LIST,
        "",
        ValidList(*METADATA),
        doc=f"Columns to add that tell where a row comes from: any of {', '.join(METADATA)}.",
        group="Rows",
    )
    definition.define(
        "schemaless.values",
        Type.STRING,
        "json",
        ValidString("json", "refuse"),
        doc="Values without a schema: stored as JSON text in the column value, or bad records.",
        group="Rows",
    )
    definition.define(
        "behavior.on.null.values",
        Type.STRING,
        "ignore",
        ValidString("ignore", "fail"),
        importance=Importance.LOW,
        doc="Records without a value (tombstones): left out, or bad records.",
        group="Rows",
    )
    return definition


def parse_options(values: Mapping[str, Any], dialect: Dialect) -> RowOptions:
    """The options, from values that the definition has parsed."""
    return RowOptions(
        metadata=tuple(values["metadata.columns"]),
        refuses_schemaless=values["schemaless.values"] == "refuse",
        refuses_nulls=values["behavior.on.null.values"] == "fail",
        dialect=dialect,
    )


class Shape:
    """The columns of records that have the same schemas.

    Raises:
        DataError: records of these schemas cannot be rows.
    """

    def __init__(
        self, value_schema: Schema | None, key_schema: Schema | None, options: RowOptions
    ) -> None:
        self._value_schema = value_schema
        self._is_struct = value_schema is not None and value_schema.type is schemas.Type.STRUCT
        dialect = options.dialect
        fields: list[pa.Field] = []
        # For each column of the value: its type, encoder and default.
        self._columns: list[tuple[pa.DataType, Encoder, Any]] = []
        for name, schema in self._value_fields(options):
            if schema is None:
                kind, encode, default = pa.string(), None, None
            else:
                kind = arrow_type(schema, dialect, name)
                encode, default = nullable(encoder(schema, dialect)), schema.default
            fields.append(pa.field(name, kind))
            self._columns.append((kind, encode, default))
        self._metadata: list[tuple[pa.DataType, Callable[[SinkRecord], Any]]] = []
        for name in options.metadata:
            if any(field.name == name for field in fields):
                raise DataError(
                    f"the value has a field {name}, which is also one of metadata.columns: "
                    "rename the field with the transform ReplaceField"
                )
            kind, get = _PLACES[name] if name != KEY else _key_column(key_schema, dialect)
            fields.append(pa.field(name, kind))
            self._metadata.append((kind, get))
        self.schema: pa.Schema = pa.schema(fields)

    def _value_fields(self, options: RowOptions) -> list[tuple[str, Schema | None]]:
        schema = self._value_schema
        if schema is None:
            if options.refuses_schemaless:
                raise DataError(
                    "the value has no schema and so no columns: use a converter with schemas "
                    "(AvroConverter, or JsonConverter with schemas.enable=true), or set "
                    "schemaless.values=json to store it as JSON text"
                )
            return [(VALUE, None)]
        if not self._is_struct:
            return [(VALUE, schema)]
        if not schema.struct_fields:
            raise DataError("the value is a struct without fields, so a row would have no columns")
        return [(field.name, field.schema) for field in schema.struct_fields]

    def table(self, records: list[SinkRecord]) -> pa.Table:
        """The rows of records of this shape.

        Raises one of several errors for a value that does not suit its column.
        """
        columns: list[Any]
        if self._is_struct:
            columns = list(zip(*(record.value.values for record in records), strict=True))
        elif self._value_schema is None:
            columns = [[json_text(None, record.value) for record in records]]
        else:
            columns = [[record.value for record in records]]
        arrays = []
        for (kind, encode, default), column in zip(self._columns, columns, strict=True):
            values = column
            if default is not None:
                values = [default if each is None else each for each in values]
            if encode is not None:
                values = [encode(each) for each in values]
            arrays.append(pa.array(values, kind))
        for kind, get in self._metadata:
            arrays.append(pa.array([get(record) for record in records], kind))
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _key_column(
    schema: Schema | None, dialect: Dialect
) -> tuple[pa.DataType, Callable[[SinkRecord], Any]]:
    """A key of one value is a column of its type; any other is JSON text."""
    if schema is None or not schema.type.is_primitive:
        return pa.string(), lambda record: json_text(schema, record.key)
    encode = nullable(encoder(schema, dialect))
    kind = arrow_type(schema, dialect, KEY)
    if encode is None:
        return kind, lambda record: record.key
    return kind, lambda record: encode(record.key)


class Rows(NamedTuple):
    """Some rows of one group, with the records that they are."""

    table: pa.Table
    records: list[SinkRecord]


class RowMaker:
    """Makes rows of records. Keeps the shapes that it has seen."""

    def __init__(self, options: RowOptions) -> None:
        self._options = options
        self._shapes: dict[tuple[Schema | None, Schema | None], Shape] = {}

    def shape_of(self, record: SinkRecord) -> Shape:
        """Raises a DataError if a record of these schemas cannot be a row."""
        # The schema of the key makes a difference only where the key is a column.
        key_schema = record.key_schema if KEY in self._options.metadata else None
        schema_pair = record.value_schema, key_schema
        shape = self._shapes.get(schema_pair)
        if shape is None:
            shape = self._shapes[schema_pair] = Shape(*schema_pair, self._options)
        return shape

    def chunks(
        self,
        records: Iterator[SinkRecord],
        group_of: Callable[[SinkRecord], G | None],
        task: SinkTask,
        limit: int = CHUNK,
        fit: Callable[[G, pa.Table], pa.Table] | None = None,
    ) -> Iterator[tuple[G, Rows]]:
        """Tables of at most ``limit`` rows of one group and schema, in the order of each group.

        ``group_of`` may raise a DataError; None leaves the record out. Bad records are reported
        to ``task``; ``fit`` may change a table, or raise a DataError for rows that do not suit the
        target. All records are read even if none is left.
        """
        open_chunks: dict[G, tuple[Shape, list[SinkRecord]]] = {}
        for record in records:
            try:
                if record.value is None:
                    self._check_null()
                    continue
                group = group_of(record)
                if group is None:
                    continue
                shape = self.shape_of(record)
            except DataError as error:
                task.report(record, placed(record, error))
                continue
            known = open_chunks.get(group)
            if known is not None and known[0] is shape:
                known[1].append(record)
                if len(known[1]) >= limit:
                    del open_chunks[group]
                    yield from _made(group, shape, known[1], task, fit)
                continue
            open_chunks[group] = shape, [record]
            if known is not None:
                yield from _made(group, known[0], known[1], task, fit)
        for group, (shape, rest) in open_chunks.items():
            yield from _made(group, shape, rest, task, fit)

    def _check_null(self) -> None:
        if self._options.refuses_nulls:
            raise DataError(
                "the record has no value: set behavior.on.null.values=ignore to leave such out"
            )


def _made(
    group: G,
    shape: Shape,
    records: list[SinkRecord],
    task: SinkTask,
    fit: Callable[[G, pa.Table], pa.Table] | None,
) -> Iterator[tuple[G, Rows]]:
    def table(some: list[SinkRecord]) -> pa.Table:
        made = shape.table(some)
        return made if fit is None else fit(group, made)

    good = records
    try:
        made = table(records)
    except _BAD_VALUE:
        # At least one is bad: find out which.
        good = []
        for record in records:
            try:
                table([record])
            except _BAD_VALUE as error:
                task.report(record, placed(record, error))
            else:
                good.append(record)
        if not good:
            return
        made = table(good)
    yield group, Rows(made, good)


def placed(record: SinkRecord, error: Exception) -> ConnectError:
    """The error, with the place of the record."""
    where = f"{record.original_topic}-{record.original_partition}@{record.offset}"
    return DataError(f"record {where}: {error}")

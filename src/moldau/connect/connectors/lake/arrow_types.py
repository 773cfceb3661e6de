"""Schemas of Connect as types of Arrow, and values as Arrow takes them.

All columns may be null, whatever the schema of the records says: a table outlives the schemas of
its records, and a column that a later schema lacks must still be writable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    scale_of,
    time_to_millis,
)
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct

# The widest decimal that Parquet, Delta and Iceberg share. Connect's schemas have a scale but no
# precision, except for this parameter, which Avro's converter and Debezium set.
MAX_PRECISION: Final = 38
PRECISION: Final = "connect.decimal.precision"
TIMESTAMP: Final = pa.timestamp("us", "UTC")

# From a value of Connect to one that Arrow takes. None: as it is.
Encoder = Callable[[Any], Any] | None


@dataclass(frozen=True)
class Dialect:
    """Which types a target has."""

    # Integers of 8 and 16 bits; otherwise they become 32 bits wide.
    has_small_ints: bool
    # The type of times of day; without one they are milliseconds since midnight.
    time: pa.DataType | None


PARQUET: Final = Dialect(has_small_ints=True, time=pa.time32("ms"))
DELTA: Final = Dialect(has_small_ints=True, time=None)
ICEBERG: Final = Dialect(has_small_ints=False, time=pa.time64("us"))

_PLAIN: Final = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_SMALL: Final = (Type.INT8, Type.INT16)


def arrow_type(schema: Schema, dialect: Dialect, path: str = "value") -> pa.DataType:
    """The type of a column for values of ``schema``. ``path`` names it in errors.

    Raises:
        DataError: there is no such type in the target.
    """
    logical = _logical_type(schema, dialect, path)
    if logical is not None:
        return logical
    kind = schema.type
    if kind is Type.STRUCT:
        fields = schema.struct_fields
        if not fields:
            raise DataError(
                f"{path} is a struct without fields, which a table cannot store: "
                "remove it, for example with the transform ReplaceField"
            )
        return pa.struct(
            [
                pa.field(each.name, arrow_type(each.schema, dialect, f"{path}.{each.name}"))
                for each in fields
            ]
        )
    if kind is Type.ARRAY:
        return pa.list_(arrow_type(_inner(schema.value_schema, path), dialect, f"{path}[]"))
    if kind is Type.MAP:
        key = arrow_type(_inner(schema.key_schema, path), dialect, f"{path}.key")
        return pa.map_(key, arrow_type(_inner(schema.value_schema, path), dialect, f"{path}.value"))
    if kind in _SMALL and not dialect.has_small_ints:
        return pa.int32()
    return _PLAIN[kind]


def _logical_type(schema: Schema, dialect: Dialect, path: str) -> pa.DataType | None:
    name = schema.name
    if name == DECIMAL_NAME:
        scale = scale_of(schema)
        precision = int((schema.parameters or {}).get(PRECISION, MAX_PRECISION))
        if not 0 <= scale <= MAX_PRECISION or precision > MAX_PRECISION:
            raise DataError(
                f"{path} is a decimal of scale {scale} and precision {precision}; tables hold "
                f"scales of 0 to {MAX_PRECISION} and at most {MAX_PRECISION} digits: "
                "convert it with the transform Cast"
            )
        return pa.decimal128(max(precision, scale), scale)
    if name == DATE_NAME:
        return pa.date32()
    if name == TIME_NAME:
        return dialect.time or pa.int32()
    return TIMESTAMP if name == TIMESTAMP_NAME else None


def _inner(schema: Schema | None, path: str) -> Schema:
    if schema is None:
        raise DataError(f"{path} does not say what is inside it: its schema is incomplete")
    return schema


def encoder(schema: Schema, dialect: Dialect) -> Encoder:
    """How values of ``schema`` become what Arrow takes. It is given no nulls."""
    name, kind = schema.name, schema.type
    if name == TIME_NAME and dialect.time is None:
        return time_to_millis
    if name in (DECIMAL_NAME, DATE_NAME, TIME_NAME, TIMESTAMP_NAME):
        return None
    if kind is Type.BYTES:
        return bytes
    if kind is Type.STRUCT:
        return _struct_encoder(schema, dialect)
    if kind is Type.ARRAY:
        inner = nullable(encoder(_inner(schema.value_schema, "array"), dialect))
        return None if inner is None else lambda value: [inner(each) for each in value]
    if kind is Type.MAP:
        return _map_encoder(schema, dialect)
    return None


def nullable(encode: Encoder) -> Encoder:
    """The encoder for a place where null may be."""
    if encode is None:
        return None
    return lambda value: None if value is None else encode(value)


def _struct_encoder(schema: Schema, dialect: Dialect) -> Callable[[Any], Any]:
    inner = [
        (each.name, each, nullable(encoder(each.schema, dialect))) for each in schema.struct_fields
    ]

    def encode(value: Struct) -> dict[str, Any]:
        return {
            name: value.get(field) if each is None else each(value.get(field))
            for name, field, each in inner
        }

    return encode


def _map_encoder(schema: Schema, dialect: Dialect) -> Callable[[Any], Any]:
    of_key = nullable(encoder(_inner(schema.key_schema, "map"), dialect)) or _same
    of_value = nullable(encoder(_inner(schema.value_schema, "map"), dialect)) or _same

    def encode(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
        return [(of_key(key), of_value(each)) for key, each in value.items()]

    return encode


def _same(value: Any) -> Any:
    return value

"""Values of records as PostgreSQL's COPY and as SQLite take them (pure)."""

import datetime
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, Type

Encode = Callable[[Any], Any]
NULL: Final = "\\N"
_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
)


def copy_line(encoders: Sequence[Encode], order: int, is_delete: bool, row: Sequence[Any]) -> str:
    """A row as a line of COPY, after its number and whether it is a tombstone."""
    parts = [
        NULL if value is None else encode(value)
        for encode, value in zip(encoders, row, strict=True)
    ]
    return "\t".join((str(order), "t" if is_delete else "f", *parts)) + "\n"


def copy_encoder(column: Column) -> Encode:
    """How the values of a column are written in a line of COPY."""
    return _copy_encoder(column.name, column.schema)


def _copy_encoder(name: str, schema: Schema) -> Encode:
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        element = _array_encoder(name, schema.value_schema)
        return lambda value: element(value).translate(_ESCAPES)
    return _text_encoder(name, schema, is_escaped=True)


def _text_encoder(name: str, schema: Schema, *, is_escaped: bool) -> Encode:
    if schema.type in (Type.MAP, Type.STRUCT):
        raise DataError(f"field {name} is a {schema.type}: flatten it with the transform Flatten")

    def encode(value: Any) -> str:
        if isinstance(value, str):
            if "\0" in value:
                raise DataError(f"field {name} has a NUL character, which PostgreSQL cannot store")
            return value.translate(_ESCAPES) if is_escaped else value
        if isinstance(value, bool):
            return "t" if value else "f"
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return _float(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return ("\\\\x" if is_escaped else "\\x") + bytes(value).hex()
        return _rare(name, value)

    return encode


def _float(value: float) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))


def _rare(name: str, value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        # Columns without a zone have the time of UTC.
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    raise DataError(f"field {name} has a value of {type(value).__name__}, which no column takes")


def _array_encoder(name: str, schema: Schema) -> Encode:
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        inner = _array_encoder(name, schema.value_schema)
        return lambda value: "{" + ",".join("NULL" if v is None else inner(v) for v in value) + "}"
    text = _text_encoder(name, schema, is_escaped=False)

    def element(value: Any) -> str:
        if value is None:
            return "NULL"
        written: str = text(value)
        return '"' + written.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return lambda value: "{" + ",".join([element(v) for v in value]) + "}"


def sqlite_encoder(column: Column) -> Encode:
    """How the values of a column are bound in SQLite."""
    if column.schema.type in (Type.ARRAY, Type.MAP, Type.STRUCT):
        message = f"field {column.name} is a {column.schema.type}, for which SQLite has no type"
        raise DataError(f"{message}: flatten it with the transform Flatten, or leave it out")

    def encode(value: Any) -> Any:
        if value is None or isinstance(value, str | float):
            return value
        if isinstance(value, bool | int):
            return int(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        return _rare(column.name, value)

    return encode

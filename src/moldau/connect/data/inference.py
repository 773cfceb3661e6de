"""The schema of a value that came without one, as Kafka's ``Values.inferSchema`` finds it."""

from typing import Any

from moldau.connect.data.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    Type,
)
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import INT64_MAX, INT64_MIN, Float32, Int8, Int16, Int32

_SCHEMAS: dict[type, Schema] = {
    str: STRING,
    bool: BOOLEAN,
    Int8: INT8,
    Int16: INT16,
    Int32: INT32,
    int: INT64,
    Float32: FLOAT32,
    float: FLOAT64,
    bytes: BYTES,
    bytearray: BYTES,
    memoryview: BYTES,
}


def type_of(value: Any) -> Type | None:
    """The type that the class of a value stands for; None of a class that stands for none.

    Decimals, dates and times have none: only a schema says how they are stored.
    """
    known = _SCHEMAS.get(type(value))
    if known is not None:
        if known is INT64 and not INT64_MIN <= value <= INT64_MAX:
            return None
        return known.type
    if isinstance(value, dict):
        return Type.MAP
    if isinstance(value, list):
        return Type.ARRAY
    if isinstance(value, Struct):
        return Type.STRUCT
    return Type.STRING if isinstance(value, str) else None


def infer_schema(value: Any) -> Schema | None:
    """The schema of a value, or None if its class or its elements do not tell one."""
    if isinstance(value, Struct):
        return value.schema
    if isinstance(value, list):
        element = _common(value)
        return Schema(Type.ARRAY, value_schema=element) if element is not None else None
    if isinstance(value, dict):
        key, element = _common(list(value)), _common(list(value.values()))
        if key is None or element is None:
            return None
        return Schema(Type.MAP, key_schema=key, value_schema=element)
    kind = type_of(value)
    return Schema(kind) if kind is not None else None


def _common(values: list[Any]) -> Schema | None:
    """The schema of all values, which must share a type; optional if some are null."""
    kind: Type | None = None
    is_optional = False
    for value in values:
        if value is None:
            is_optional = True
            continue
        schema = infer_schema(value)
        if schema is None or kind not in (None, schema.type):
            return None
        kind = schema.type
    return Schema(kind, is_optional) if kind is not None else None

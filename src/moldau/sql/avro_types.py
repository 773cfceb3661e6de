"""Avro schemas as types of Spark, and Avro values as the Python objects of those types.

As in Spark's own Avro source: a union with null is a nullable type, enums are strings, fixed is
binary. What has no counterpart (a union of several types, a type that contains itself) becomes
JSON text, so that no record is unreadable because of one field.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import types

_PRIMITIVES: Final[dict[str, types.DataType]] = {
    "boolean": types.BooleanType(),
    "int": types.IntegerType(),
    "long": types.LongType(),
    "float": types.FloatType(),
    "double": types.DoubleType(),
    "bytes": types.BinaryType(),
    "string": types.StringType(),
    "null": types.StringType(),
}
_LOGICAL: Final[dict[tuple[str, str], types.DataType]] = {
    ("int", "date"): types.DateType(),
    ("long", "timestamp-millis"): types.TimestampType(),
    ("long", "timestamp-micros"): types.TimestampType(),
    ("long", "local-timestamp-millis"): types.TimestampNTZType(),
    ("long", "local-timestamp-micros"): types.TimestampNTZType(),
    # Spark before 4.1 has no type for a time of day.
    ("int", "time-millis"): types.StringType(),
    ("long", "time-micros"): types.StringType(),
    ("string", "uuid"): types.StringType(),
}
_NAMED: Final = ("record", "error", "enum", "fixed")


def spark_type(schema: Any) -> types.DataType:
    """The type of Spark for a schema as parsed JSON."""
    return _type(schema, {}, ())


def _type(schema: Any, named: dict[str, Any], inside: tuple[str, ...]) -> types.DataType:
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        return _type(others[0], named, inside) if len(others) == 1 else types.StringType()
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        name = schema.rpartition(".")[2]
        if name in inside or name not in named:
            return types.StringType()
        return _type(named[name], named, inside)
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _type(kind, named, inside)
    if kind in _NAMED:
        name = str(schema["name"]).rpartition(".")[2]
        named[name] = schema
        if name in inside:
            return types.StringType()
        inside = (*inside, name)
    logical = schema.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return types.DecimalType(int(schema["precision"]), int(schema.get("scale", 0)))
    if (kind, logical) in _LOGICAL:
        return _LOGICAL[kind, logical]
    if kind in ("record", "error"):
        return types.StructType(
            [
                types.StructField(each["name"], _type(each["type"], named, inside))
                for each in schema["fields"]
            ]
        )
    if kind == "array":
        return types.ArrayType(_type(schema["items"], named, inside))
    if kind == "map":
        return types.MapType(types.StringType(), _type(schema["values"], named, inside))
    if kind == "enum":
        return types.StringType()
    if kind == "fixed":
        return types.BinaryType()
    return _PRIMITIVES.get(kind, types.StringType())


def fit(value: Any, kind: types.DataType) -> Any:
    """A value from fastavro as an object that Arrow takes for ``kind``."""
    if value is None:
        return None
    if isinstance(kind, types.StructType):
        return {each.name: fit(value.get(each.name), each.dataType) for each in kind.fields}
    if isinstance(kind, types.ArrayType):
        return [fit(each, kind.elementType) for each in value]
    if isinstance(kind, types.MapType):
        return [(str(name), fit(each, kind.valueType)) for name, each in value.items()]
    if isinstance(kind, types.StringType) and not isinstance(value, str):
        return _text(value)
    return value


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list | tuple | bool | int | float):
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value)

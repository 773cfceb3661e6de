"""Types and values of Arrow as those of Connect."""

import datetime
from typing import Any

import pyarrow as pa

from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import DATE, TIME, TIMESTAMP, decimal_schema
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
    array,
    map_of,
    struct,
)
from moldau.connect.data.struct import Struct

# Unsigned numbers get the next wider type.
_PLAIN = {
    pa.bool_(): BOOLEAN,
    pa.int8(): INT8,
    pa.int16(): INT16,
    pa.int32(): INT32,
    pa.int64(): INT64,
    pa.uint8(): INT16,
    pa.uint16(): INT32,
    pa.uint32(): INT64,
    pa.float16(): FLOAT32,
    pa.float32(): FLOAT32,
    pa.float64(): FLOAT64,
    pa.string(): STRING,
    pa.large_string(): STRING,
    pa.binary(): BYTES,
    pa.large_binary(): BYTES,
    pa.date32(): DATE,
    pa.date64(): DATE,
}


def connect_schema(schema: pa.Schema, name: str) -> Schema:
    """The schema of a struct with the columns of ``schema``."""
    return struct(name, {field.name: _of_field(field) for field in schema})


def _of_field(field: pa.Field) -> Schema:
    found = _of_type(field.type, field.name)
    return found.optional() if field.nullable else found


def _of_type(kind: pa.DataType, name: str) -> Schema:
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain
    if pa.types.is_timestamp(kind):
        return TIMESTAMP
    if pa.types.is_time(kind):
        return TIME
    if pa.types.is_decimal(kind):
        return decimal_schema(kind.scale)
    if pa.types.is_dictionary(kind):
        return _of_type(kind.value_type, name)
    if pa.types.is_map(kind):
        return map_of(_of_type(kind.key_type, name), _of_field(kind.item_field))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return array(_of_field(kind.value_field))
    if pa.types.is_struct(kind):
        return struct(name, {each.name: _of_field(each) for each in kind})
    raise DataError(f"column {name} has type {kind}, which Connect does not have: cast it")


def connect_value(value: Any, schema: Schema) -> Any:
    """A value of Arrow, as Python has it, as a value of ``schema``."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        fields = {
            each.name: connect_value(value.get(each.name), each.schema)
            for each in schema.struct_fields
        }
        return Struct(schema, fields)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return [connect_value(each, schema.value_schema) for each in value]
    if schema.type is Type.MAP:
        assert schema.value_schema is not None
        return {key: connect_value(each, schema.value_schema) for key, each in value}
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        # Connect has milliseconds.
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    return value

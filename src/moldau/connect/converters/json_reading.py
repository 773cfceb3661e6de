"""Parsed JSON to the values of a schema, by readers that are put together once for each schema.

Kafka is generous here, and so are the readers: a number that is too large is cut to its low bits, a
string where a number should be is 0, a number where a string should be is null. Only nulls in
required fields and wrong nesting are errors.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from moldau.connect.converters.json_parsing import wrap
from moldau.connect.converters.json_structs import struct_reader
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    bytes_to_decimal,
    days_to_date,
    millis_to_time,
    millis_to_timestamp,
)
from moldau.connect.data.schema import Field, Schema, Type
from moldau.connect.data.struct import Struct, validate_field
from moldau.connect.data.values import to_float32

Reader = Callable[[Any], Any]


class ExactNumberError(Exception):
    """A float stands where its digits matter: the text must be parsed again with Decimals."""


def node_type(node: Any) -> str:
    """The kind of a JSON value, for messages."""
    if node is None:
        return "NULL"
    if isinstance(node, bool):
        return "BOOLEAN"
    if isinstance(node, int | float | Decimal):
        return "NUMBER"
    if isinstance(node, str):
        return "STRING"
    return "ARRAY" if isinstance(node, list) else "OBJECT"


def reader(schema: Schema, replaces_nulls: bool) -> Reader:
    """The function that reads JSON values of ``schema``, also null.

    With ``replaces_nulls`` a null is read as the default of its schema, if that has one.
    """
    read = _not_null(schema, replaces_nulls)
    default = schema.default if replaces_nulls else None
    if default is None and not schema.is_optional:
        message = f"null is not a value of {schema.type}, which is required"

        def read_required(node: Any) -> Any:
            if node is None:
                raise DataError(message)
            return read(node)

        return read_required
    return lambda node: default if node is None else read(node)


def _not_null(schema: Schema, replaces_nulls: bool) -> Reader:
    match schema.name:
        case n if n == DECIMAL_NAME:
            return lambda node: _decimal(schema, node)
        case n if n == DATE_NAME:
            return lambda node: days_to_date(_int32(node, "Date"))
        case n if n == TIME_NAME:
            return lambda node: millis_to_time(_int32(node, "Time"))
        case n if n == TIMESTAMP_NAME:
            return lambda node: millis_to_timestamp(_integral(node))
    match schema.type:
        case Type.STRUCT:
            return _struct(schema, replaces_nulls)
        case Type.ARRAY:
            return _array(schema, replaces_nulls)
        case Type.MAP:
            return _map(schema, replaces_nulls)
        case _:
            return _PRIMITIVES[schema.type]


def _integer(bits: int) -> Reader:
    bound = 1 << (bits - 1)
    # Bytes and shorts are cut from an int, which for whole numbers is the same as cutting once.

    def read(node: Any) -> int:
        if type(node) is int:
            return node if -bound <= node < bound else wrap(node, bits)
        if type(node) is float:
            raise ExactNumberError
        if type(node) is Decimal:
            return wrap(int(node), bits)
        return 0

    return read


def _float64(node: Any) -> float:
    if type(node) is float:
        return node
    if type(node) is int or type(node) is Decimal:
        try:
            return float(node) or 0.0  # a decimal zero has no sign in Java
        except OverflowError:
            return float("inf") if node > 0 else float("-inf")
    return 0.0


def _float32(node: Any) -> float:
    return to_float32(_float64(node))


def _boolean(node: Any) -> bool:
    return node is True


def _string(node: Any) -> str | None:
    return node if type(node) is str else None


def _bytes(node: Any) -> bytes | None:
    if type(node) is not str:
        return None
    try:
        return _from_base64(node)
    except (Base64Error, ValueError) as error:
        raise DataError(f"BYTES are base64 in JSON: {error}") from error


def _from_base64(text: str) -> bytes:
    # Jackson skips blanks and control characters.
    return b64decode("".join(c for c in text if c > " "), validate=True)


_PRIMITIVES: dict[Type, Reader] = {
    Type.INT8: _integer(8),
    Type.INT16: _integer(16),
    Type.INT32: _integer(32),
    Type.INT64: _integer(64),
    Type.FLOAT32: _float32,
    Type.FLOAT64: _float64,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
}


def _struct(schema: Schema, replaces_nulls: bool) -> Reader:
    readers = []
    for field in schema.struct_fields:
        read = reader(field.schema, replaces_nulls)
        may_mismatch = field.schema.type in _MAY_MISMATCH
        readers.append(_validated(read, field) if may_mismatch else read)
    return struct_reader(schema, readers, _no_object)


def _no_object(node: Any) -> DataError:
    return DataError(f"A STRUCT is an object in JSON, not {node_type(node)}")


# A reader of these may return what does not suit its schema: null for a string, or inside.
_MAY_MISMATCH = frozenset((Type.STRING, Type.BYTES, Type.ARRAY, Type.MAP))


def _validated(read: Reader, field: Field) -> Reader:
    def validated(node: Any) -> Any:
        value = read(node)
        validate_field(field.name, field.schema, value)
        return value

    return validated


def _array(schema: Schema, replaces_nulls: bool) -> Reader:
    element = _inner(schema.value_schema, replaces_nulls)

    def read(node: Any) -> list[Any]:
        if type(node) is list:
            return [element(v) for v in node]
        # Kafka iterates over whatever it finds: over the values of an object, over nothing else.
        return [element(v) for v in node.values()] if type(node) is dict else []

    return read


def _map(schema: Schema, replaces_nulls: bool) -> Reader:
    key = _inner(schema.key_schema, replaces_nulls)
    element = _inner(schema.value_schema, replaces_nulls)

    def read_object(node: Any) -> dict[Any, Any]:
        if type(node) is not dict:
            raise DataError(f"A MAP of texts is an object in JSON, not {node_type(node)}")
        return {name: element(v) for name, v in node.items()}

    def read_pairs(node: Any) -> dict[Any, Any]:
        if type(node) is not list:
            message = "A MAP whose keys are no texts is an array of pairs in JSON"
            raise DataError(f"{message}, not {node_type(node)}")
        result = {}
        for pair in node:
            if type(pair) is not list:
                raise DataError(f"An entry of such a MAP is an array, not {node_type(pair)}")
            if len(pair) != 2:
                raise DataError(f"An entry of a MAP is a key and a value, not {len(pair)} values")
            result[_as_key(key(pair[0]))] = element(pair[1])
        return result

    is_object = schema.key_schema is not None and schema.key_schema.type is Type.STRING
    return read_object if is_object else read_pairs


def _as_key(key: Any) -> Any:
    if isinstance(key, list | dict | Struct):
        message = "a map key must be a number, a string, a boolean or bytes"
        raise DataError(f"{message}, not a {node_type(key).lower()}")
    return key


def _inner(schema: Schema | None, replaces_nulls: bool) -> Reader:
    assert schema is not None, "JSON has no schema of an array or a map without those inside"
    return reader(schema, replaces_nulls)


def _decimal(schema: Schema, node: Any) -> Decimal:
    if type(node) is int:
        return Decimal(node)
    if type(node) is Decimal:
        return node.copy_abs() if node.is_zero() else node
    if type(node) is float:
        raise ExactNumberError
    if type(node) is str:
        try:
            return bytes_to_decimal(schema, _from_base64(node))
        except (Base64Error, ValueError, DataError) as error:
            raise DataError(f"A Decimal is a number or base64 in JSON: {error}") from error
    raise DataError(f"A Decimal is a number or base64 in JSON, not {node_type(node)}")


def _int32(node: Any, name: str) -> int:
    if type(node) is int and -(2**31) <= node < 2**31:
        return node
    raise DataError(f"A {name} is an integer of 32 bits in JSON, not {node_type(node)}")


def _integral(node: Any) -> int:
    if type(node) is int:
        return wrap(node)
    raise DataError(f"A Timestamp is an integer in JSON, not {node_type(node)}")

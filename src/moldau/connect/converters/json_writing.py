"""Values as JSON text, exactly as Kafka's JsonConverter prints them.

For each schema a writer is put together once: a function from a value to text, which does not look
at the schema again. Those of structs, the bulk of all records, are generated (``json_structs``).
Values without a schema are written by their class.
"""

import re
from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from moldau.connect.converters.json_structs import struct_writer
from moldau.connect.data.errors import DataError
from moldau.connect.data.java_text import decimal_text, double_text, float_text
from moldau.connect.data.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    date_to_days,
    decimal_to_bytes,
    time_to_millis,
    timestamp_to_millis,
)
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct, validate_value
from moldau.connect.data.values import (
    INT64_MAX,
    INT64_MIN,
    Float32,
    Int8,
    Int16,
    Int32,
    type_name,
)

Writer = Callable[[Any], str]

# What Jackson escapes in another way than Python: characters beyond 16 bits (as two halves, each
# with a number), and control characters that have a letter in their number (in upper case).
_ESCAPED = re.compile("[\x0b\x0e\x0f\x1a-\x1f\ud800-\udfff\U00010000-\U0010ffff]")


def string_text(value: str) -> str:
    """A JSON string, escaped as Jackson escapes it: most characters are written as they are."""
    if _ESCAPED.search(value) is None:
        return encode_basestring(value)
    parts = _ESCAPED.split(value)
    marks = [*map(_escape, _ESCAPED.findall(value)), ""]
    inner = (encode_basestring(part)[1:-1] + mark for part, mark in zip(parts, marks, strict=True))
    return f'"{"".join(inner)}"'


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _bytes_text(value: bytes) -> str:
    return f'"{b64encode(value).decode("ascii")}"'


def _number(text: str) -> str:
    # Jackson quotes what JSON has no number for: NaN and the infinities.
    return f'"{text}"' if text[-1] in "Ny" else text


def _double(value: float) -> str:
    return _number(double_text(value))


def _float(value: float) -> str:
    return _number(float_text(value))


def _boolean(value: bool) -> str:
    return "true" if value else "false"


_BY_CLASS: dict[type, Writer] = {
    str: string_text,
    bool: _boolean,
    Int8: int.__repr__,
    Int16: int.__repr__,
    Int32: int.__repr__,
    float: _double,
    Float32: _float,
    bytes: _bytes_text,
    bytearray: _bytes_text,
    memoryview: _bytes_text,
}


def schemaless_text(value: Any) -> str:
    """The JSON of a value without a schema.

    Raises:
        DataError: if its class has no type in Connect, such as a decimal or a date.
    """
    # In the order of what is most often found.
    kind = type(value)
    if kind is str:
        return string_text(value)
    if value is None:
        return "null"
    if kind is int:
        if not INT64_MIN <= value <= INT64_MAX:
            raise DataError(_no_type(value))
        return int.__repr__(value)
    writer = _BY_CLASS.get(kind)
    if writer is not None:
        return writer(value)
    if isinstance(value, dict):
        return _map_text(value)
    if isinstance(value, list):
        return "[" + ",".join([schemaless_text(element) for element in value]) + "]"
    if isinstance(value, Struct):
        raise _mismatch()
    if isinstance(value, str):
        return string_text(value)
    raise DataError(_no_type(value))


def _map_text(value: dict[Any, Any]) -> str:
    """An object, or a list of pairs if there are other keys than strings."""
    for key in value:
        if type(key) is not str:
            break
    else:
        entries = [_name_text(key) + schemaless_text(v) for key, v in value.items()]
        return "{" + ",".join(entries) + "}"
    pairs = [f"[{schemaless_text(key)},{schemaless_text(v)}]" for key, v in value.items()]
    return "[" + ",".join(pairs) + "]"


@lru_cache(maxsize=4096)
def _name_text(name: str) -> str:
    return string_text(name) + ":"


def _no_type(value: Any) -> str:
    return f"A value of {type_name(value)} cannot be written without a schema"


class JsonWriters:
    """Makes and keeps the writers of schemas.

    ``is_numeric`` writes decimals as numbers instead of base64; with ``replaces_nulls`` a null is
    written as the default of its schema, if that has one.
    """

    def __init__(self, is_numeric: bool, replaces_nulls: bool) -> None:
        self._is_numeric = is_numeric
        self._replaces_nulls = replaces_nulls

    def writer(self, schema: Schema) -> Writer:
        """The function that writes values of ``schema``, also null."""
        write = self._not_null(schema)
        if schema.default is not None and self._replaces_nulls:
            null_text = write(schema.default)
        elif schema.is_optional:
            null_text = "null"
        else:
            return _required(write)
        return lambda value: null_text if value is None else write(value)

    def _not_null(self, schema: Schema) -> Writer:
        if schema.name == DECIMAL_NAME:
            return self._decimal(schema)
        if schema.name in _LOGICAL:
            return _checked(schema, *_LOGICAL[schema.name])
        match schema.type:
            case Type.STRUCT:
                return self._struct(schema)
            case Type.ARRAY:
                return self._array(schema)
            case Type.MAP:
                return self._map(schema)
            case _:
                return _primitive(schema)

    def _decimal(self, schema: Schema) -> Writer:
        def write(value: Any) -> str:
            try:
                if is_numeric:
                    return decimal_text(value)
                return _bytes_text(decimal_to_bytes(schema, value))
            except AttributeError:
                message = f"Decimal cannot be written from a value of {type_name(value)}"
                raise DataError(message) from None

        is_numeric = self._is_numeric
        return write

    def _struct(self, schema: Schema) -> Writer:
        writers = [self.writer(field.schema) for field in schema.struct_fields]
        write_fields = struct_writer(schema, writers, string_text, _mismatch)

        def write(value: Any) -> str:
            try:
                return write_fields(value)
            except AttributeError:
                if isinstance(value, Struct):
                    raise
                raise DataError(_cast_error(schema, value)) from None

        return write

    def _array(self, schema: Schema) -> Writer:
        element = self._inner(schema.value_schema)

        def write(value: Any) -> str:
            if not isinstance(value, list | tuple):
                raise DataError(_cast_error(schema, value))
            return "[" + ",".join([element(v) for v in value]) + "]"

        return write

    def _map(self, schema: Schema) -> Writer:
        key_schema = schema.key_schema
        key, element = self._inner(key_schema), self._inner(schema.value_schema)
        is_object = key_schema is not None and key_schema.type is Type.STRING

        def write(value: Any) -> str:
            if not isinstance(value, dict):
                raise DataError(_cast_error(schema, value))
            if not is_object:
                pairs = [f"[{key(k)},{element(v)}]" for k, v in value.items()]
                return "[" + ",".join(pairs) + "]"
            entries = [f"{_name(key(k))}:{element(v)}" for k, v in value.items()]
            return "{" + ",".join(entries) + "}"

        return write

    def _inner(self, schema: Schema | None) -> Writer:
        return schemaless_text if schema is None else self.writer(schema)


def _mismatch() -> DataError:
    return DataError("A struct has another schema than the one it is written with")


def _name(text: str) -> str:
    """The text of a key as the name of an entry: a null key is the word."""
    return text if text[0] == '"' else f'"{text}"'


def _required(write: Writer) -> Writer:
    def required(value: Any) -> str:
        if value is None:
            raise DataError("null cannot be written: its schema is required, without a default")
        return write(value)

    return required


def _primitive(schema: Schema) -> Writer:
    plain, tagged, write = _PRIMITIVES[schema.type]
    bound = _BOUNDS.get(schema.type)
    unnamed = schema.replace(name=None)

    def write_checked(value: Any) -> str:
        if type(value) is plain or type(value) is tagged:
            return write(value)
        return write_unusual(value)

    def write_integer(value: Any) -> str:
        if type(value) is plain and -bound <= value < bound:  # type: ignore[operator]
            return int.__repr__(value)
        if type(value) is tagged and tagged is not int:
            return int.__repr__(value)
        return write_unusual(value)

    def write_unusual(value: Any) -> str:
        # Subclasses are rare; they are looked at as a whole, and so are errors.
        try:
            validate_value(unnamed, value)
        except DataError:
            raise DataError(_cast_error(schema, value)) from None
        return write(value)

    return write_checked if bound is None else write_integer


_PRIMITIVES: dict[Type, tuple[type, type, Writer]] = {
    Type.INT8: (int, Int8, int.__repr__),
    Type.INT16: (int, Int16, int.__repr__),
    Type.INT32: (int, Int32, int.__repr__),
    Type.INT64: (int, int, int.__repr__),
    Type.FLOAT32: (float, Float32, _float),
    Type.FLOAT64: (float, float, _double),
    Type.BOOLEAN: (bool, bool, _boolean),
    Type.STRING: (str, str, string_text),
    Type.BYTES: (bytes, bytearray, _bytes_text),
}
_BOUNDS = {Type.INT8: 2**7, Type.INT16: 2**15, Type.INT32: 2**31, Type.INT64: 2**63}
_LOGICAL: dict[str | None, tuple[str, Callable[[Any], int]]] = {
    DATE_NAME: ("Date", date_to_days),
    TIME_NAME: ("Time", time_to_millis),
    TIMESTAMP_NAME: ("Timestamp", timestamp_to_millis),
}


def _checked(schema: Schema, name: str, convert: Callable[[Any], int]) -> Writer:
    def write(value: Any) -> str:
        try:
            return int.__repr__(convert(value))
        except (AttributeError, TypeError):
            message = f"{name} cannot be written from a value of {type_name(value)}"
            raise DataError(message) from None

    return write


def _cast_error(schema: Schema, value: Any) -> str:
    return f"{schema.type} cannot be written from a value of {type_name(value)}"

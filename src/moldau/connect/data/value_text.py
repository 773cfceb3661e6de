"""Values as the text of headers, and as string casts print them: Kafka's
``Values.convertToString``.

It resembles JSON: strings within lists, maps and structs are quoted, bytes are base64, dates and
times ISO 8601. ``value_parsing`` reads it.
"""

import datetime
from base64 import b64encode
from decimal import Decimal
from typing import Any

from moldau.connect.data.errors import DataError
from moldau.connect.data.java_dates import iso_text
from moldau.connect.data.java_text import decimal_text, double_text, float_text
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, type_name


def value_text(value: Any, schema: Schema | None = None, is_embedded: bool = False) -> str:
    """The text of a value. The schema, if there is one, tells Float from Double.

    Raises:
        DataError: if there is a value of a class that Connect does not know.
    """
    if value is None:
        return "null"
    kind = type(value)
    if kind is str:
        return _quoted(value) if is_embedded else str(value)
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if kind is Float32 or (kind is float and schema is not None and schema.type is Type.FLOAT32):
        return float_text(value)
    if kind is float:
        return double_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        text = b64encode(value).decode("ascii")
        return f'"{text}"' if is_embedded else text
    if isinstance(value, datetime.date | datetime.time):
        return iso_text(value)
    return _container_text(value, schema)


def _container_text(value: Any, schema: Schema | None) -> str:
    inner = schema.value_schema if schema is not None else None
    if isinstance(value, list):
        return "[" + ",".join(value_text(v, inner, True) for v in value) + "]"
    if isinstance(value, dict):
        keys = schema.key_schema if schema is not None else None
        items = value.items()
        texts = (f"{value_text(k, keys, True)}:{value_text(v, inner, True)}" for k, v in items)
        return "{" + ",".join(texts) + "}"
    if isinstance(value, Struct):
        fields = value.schema.struct_fields
        pairs = (f"{_quoted(f.name)}:{value_text(value.get(f), f.schema, True)}" for f in fields)
        return "{" + ",".join(pairs) + "}"
    raise DataError(f"{value}, a {type_name(value)}, has no form in a header: give it as text")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

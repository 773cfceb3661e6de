"""Values of records as JSON, written as Kafka's JsonConverter does without schemas."""

from typing import Any

from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.data.schema import Schema

_CONVERTER = JsonConverter()
_CONVERTER.configure({"schemas.enable": "false"}, is_key=False)


def json_text(schema: Schema | None, value: Any) -> str | None:
    """The text; None for null.

    Raises:
        DataError: the value cannot be written as JSON.
    """
    data = _CONVERTER.from_connect("", [], schema, value)
    return None if data is None else data.decode()

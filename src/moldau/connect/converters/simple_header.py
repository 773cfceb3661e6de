"""``SimpleHeaderConverter``: header values as text, whose types are guessed when it is read."""

import logging
from typing import Any

from moldau.connect.config.definition import ConfigDef
from moldau.connect.converters.base import HeaderConverter
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import BYTES, Schema
from moldau.connect.data.value_parsing import parse_string
from moldau.connect.data.value_text import value_text

_log = logging.getLogger(__name__)


class SimpleHeaderConverter(HeaderConverter):
    """The header converter of a worker that names no other one."""

    config = ConfigDef()

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: Any
    ) -> bytes | None:
        return None if value is None else value_text(value, schema).encode("utf-8", "replace")

    def to_connect_header(
        self, topic: str, name: str, data: bytes | None
    ) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            return parse_string(data.decode("utf-8", "replace"))
        except DataError as error:
            _log.warning("Header %s of topic %s is kept as bytes: %s", name, topic, error)
            return BYTES, data

"""``JsonConverter``: JSON with or without the schema of each record in an envelope.

With ``schemas.enable``, a record is ``{"schema": ..., "payload": ...}``, and nearly all records of
a topic begin with the same schema. So the beginning up to the payload is remembered as text: a
record that begins with it needs neither the schema parsed nor looked up.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moldau.connect.config.definition import CaseInsensitiveValidString, Importance, Type, Width
from moldau.connect.converters.base import ValueAndHeaderConverter, converter_config
from moldau.connect.converters.json_parsing import (
    decode,
    has_long_numbers,
    parse,
    parse_at,
    wrap_all,
)
from moldau.connect.converters.json_reading import ExactNumberError, Reader, reader
from moldau.connect.converters.json_schema import read_schema, schema_text
from moldau.connect.converters.json_writing import JsonWriters, Writer, schemaless_text
from moldau.connect.data.errors import DataError, SerializationError
from moldau.connect.data.headers import Header
from moldau.connect.data.schema import Schema

SCHEMAS_ENABLE = "schemas.enable"
SCHEMAS_CACHE_SIZE = "schemas.cache.size"
SCHEMA_CONTENT = "schema.content"
DECIMAL_FORMAT = "decimal.format"
REPLACE_NULL_WITH_DEFAULT = "replace.null.with.default"

# What surrounds the schema and the payload in an envelope, as any serializer may write it.
_START = re.compile(r'[ \t\n\r]*{[ \t\n\r]*"schema"[ \t\n\r]*:[ \t\n\r]*')
_MIDDLE = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"payload"[ \t\n\r]*:[ \t\n\r]*')
_END = re.compile(r"[ \t\n\r]*}")
_PREFIXES = 8
_NO_ENVELOPE = (
    'With schemas.enable=true a record is an object of "schema" and "payload", and this one is '
    "not: for plain JSON, set schemas.enable=false"
)


@dataclass(slots=True)
class _Prefix:
    """The text of an envelope before its payload, and what it says about that."""

    text: str
    schema: Schema | None
    read: Reader
    is_exact: bool = False


class JsonConverter(ValueAndHeaderConverter):
    """Reads and writes JSON as Kafka's converter of this name does, byte by byte."""

    config = (
        converter_config()
        .define(
            SCHEMAS_ENABLE,
            Type.BOOLEAN,
            True,
            importance=Importance.HIGH,
            doc="Whether each value has its schema with it, in an envelope.",
            group="Schemas",
            order=0,
            width=Width.MEDIUM,
            display_name="Enable Schemas",
        )
        .define(
            SCHEMAS_CACHE_SIZE,
            Type.INT,
            1000,
            importance=Importance.HIGH,
            doc="How many schemas this converter keeps.",
            group="Schemas",
            order=1,
            width=Width.MEDIUM,
            display_name="Schema Cache Size",
        )
        .define(
            SCHEMA_CONTENT,
            Type.STRING,
            None,
            importance=Importance.HIGH,
            doc="A schema in JSON that counts for all records a sink reads; they are then plain "
            "JSON, without an envelope. Only if schemas.enable is true.",
            group="Schemas",
            order=2,
            width=Width.MEDIUM,
            display_name="Schema Content",
        )
        .define(
            DECIMAL_FORMAT,
            Type.STRING,
            "BASE64",
            CaseInsensitiveValidString("BASE64", "NUMERIC"),
            importance=Importance.LOW,
            doc="How decimals are written: BASE64, the unscaled bytes, or NUMERIC, a number. Both "
            "are read.",
            group="Serialization",
            order=0,
            width=Width.MEDIUM,
            display_name="Decimal Format",
        )
        .define(
            REPLACE_NULL_WITH_DEFAULT,
            Type.BOOLEAN,
            True,
            importance=Importance.LOW,
            doc="Whether a null becomes the default value of its field, if that has one.",
            group="Serialization",
            order=1,
            width=Width.MEDIUM,
            display_name="Replace null with default",
        )
    )

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        parsed = self.config.parse({"converter.type": "key" if is_key else "value"} | dict(config))
        self._has_schemas: bool = parsed[SCHEMAS_ENABLE]
        self._replaces_nulls: bool = parsed[REPLACE_NULL_WITH_DEFAULT]
        self._is_numeric: bool = parsed[DECIMAL_FORMAT].upper() == "NUMERIC"
        self._writers = JsonWriters(self._is_numeric, self._replaces_nulls)
        self._cache_size: int = parsed[SCHEMAS_CACHE_SIZE]
        self._written: dict[Schema, tuple[str, Writer]] = {}
        # By the text before the payload, the one used last in front; and by the schema's JSON.
        self._prefixes: list[_Prefix] = []
        self._read: dict[str, tuple[Schema | None, Reader]] = {}
        self._fixed: tuple[Schema, Reader] | None = None
        if parsed[SCHEMA_CONTENT]:
            self._fixed = self._fixed_schema(parsed[SCHEMA_CONTENT])

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        if schema is None:
            if value is None:
                return None
            payload = schemaless_text(value)
            text = f'{{"schema":null,"payload":{payload}}}' if self._has_schemas else payload
        else:
            found = self._written.get(schema)
            if found is None:
                found = self._writer(schema)
            start, write = found
            text = f"{start}{write(value)}}}" if self._has_schemas else write(value)
        return text.encode()

    @property
    def writes_base64(self) -> bool:
        """Whether decimals are written as their bytes, not as numbers."""
        return not self._is_numeric

    def writer_of(self, schema: Schema) -> Writer:
        """The function that writes the JSON of a value, without an envelope."""
        return self._writers.writer(schema)

    def around(self, schema: Schema) -> tuple[str, str]:
        """What comes before and after the JSON of a value: the envelope, if there is one."""
        return (self._writer(schema)[0], "}") if self._has_schemas else ("", "")

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            text = decode(data)
            if not self._has_schemas:
                value = parse(text)
                return None, wrap_all(value) if has_long_numbers(text) else value
            try:
                return self._with_schema(text, False)
            except ExactNumberError:
                return self._with_schema(text, True)
        except SerializationError as error:
            raise DataError(f"A record of {topic} is not JSON: {error}") from error

    def _with_schema(self, text: str, is_exact: bool) -> tuple[Schema | None, Any]:
        if self._fixed is not None:
            fixed, read = self._fixed
            return fixed, read(parse(text, is_exact))
        for index, prefix in enumerate(self._prefixes):
            if text.startswith(prefix.text):
                start = len(prefix.text)
                try:
                    payload, end = parse_at(text, start, is_exact or prefix.is_exact)
                except SerializationError:
                    break  # leading zeros, or no JSON: the whole text tells
                if _END.match(text, end) is None:
                    break
                if index:
                    self._prefixes.insert(0, self._prefixes.pop(index))
                try:
                    return prefix.schema, prefix.read(payload)
                except ExactNumberError:
                    # Those that follow will have decimals in the same places.
                    prefix.is_exact = True
                    raise
        return self._whole(text, is_exact)

    def _whole(self, text: str, is_exact: bool) -> tuple[Schema | None, Any]:
        """A record whose beginning is not known yet."""
        node = parse(text, is_exact)
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
            raise DataError(_NO_ENVELOPE)
        schema, read = self._schema(node["schema"])
        self._remember_prefix(text, schema, read)
        return schema, read(node["payload"])

    def _schema(self, node: Any) -> tuple[Schema | None, Reader]:
        key = json.dumps(node, default=str)
        found = self._read.get(key)
        if found is None:
            schema = read_schema(node, self._replaces_nulls)
            read = wrap_all if schema is None else reader(schema, self._replaces_nulls)
            found = self._read[key] = schema, read
            _bound(self._read, self._cache_size)
        return found

    def _remember_prefix(self, text: str, schema: Schema | None, read: Reader) -> None:
        start = _START.match(text)
        if start is None:
            return
        try:
            end = parse_at(text, start.end())[1]
        except SerializationError:
            return
        middle = _MIDDLE.match(text, end)
        if middle is not None:
            self._prefixes.insert(0, _Prefix(text[: middle.end()], schema, read))
            del self._prefixes[_PREFIXES:]

    def _writer(self, schema: Schema) -> tuple[str, Writer]:
        write = self._writers.writer(schema)
        start = ""
        if self._has_schemas:
            start = f'{{"schema":{schema_text(schema, self._writers)},"payload":'
        self._written[schema] = start, write
        _bound(self._written, self._cache_size)
        return start, write

    def _fixed_schema(self, content: str) -> tuple[Schema, Reader] | None:
        try:
            try:
                schema = read_schema(parse(content), self._replaces_nulls)
            except ExactNumberError:
                schema = read_schema(parse(content, is_exact=True), self._replaces_nulls)
        except SerializationError as error:
            raise DataError(f"schema.content is not JSON: {error}") from error
        return None if schema is None else (schema, reader(schema, self._replaces_nulls))


def _bound(cache: dict[Any, Any], size: int) -> None:
    """Forget the oldest entry of a cache that has grown too large."""
    if len(cache) > max(size, 1):
        del cache[next(iter(cache))]

"""``AvroConverter``: Avro with the schema in a registry, in the wire format of Confluent's.

A record is a zero byte, the id of its schema in four bytes, and the value in Avro's binary
encoding.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from moldau.client.schema_registry import RegisteredSchema, SchemaRegistry, SchemaRegistryError
from moldau.connect.config.errors import ConfigError, invalid
from moldau.connect.converters import avro_config as options
from moldau.connect.converters.avro_from_connect import AvroSchemas
from moldau.connect.converters.avro_names import split_name
from moldau.connect.converters.avro_to_connect import ConnectSchemas
from moldau.connect.converters.avro_values import Conversion, reader, writer
from moldau.connect.converters.avro_wire import full_name, wire_schema, with_references
from moldau.connect.converters.base import Converter
from moldau.connect.converters.json_writing import schemaless_text
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.headers import Header
from moldau.connect.data.schema import Schema

_MAGIC = 0
_HEADER_BYTES = 5


class _Written(NamedTuple):
    """What records of one schema are written with."""

    start: bytes
    schema: Any
    convert: Conversion | None


class _Read(NamedTuple):
    """What records of one id are read with."""

    avro: Any
    schema: Schema | None
    convert: Conversion | None


class AvroConverter(Converter):
    """Reads and writes records as Confluent's converter of this name, with any such registry."""

    config = options.avro_config()

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        given = {key: value for key, value in config.items() if value is not None}
        parsed = self.config.parse({"converter.type": "key" if is_key else "value"} | given)
        try:
            import fastavro
        except ImportError:
            message = "AvroConverter needs fastavro: pip install 'moldau[spark]'"
            raise ConfigError(message) from None
        self._fastavro = fastavro
        self._is_key = is_key
        strategy = options.KEY_STRATEGY if is_key else options.VALUE_STRATEGY
        self._strategy: str = parsed[strategy]
        if self._strategy not in options.STRATEGIES:
            allowed = ", ".join(options.STRATEGIES)
            raise invalid(strategy, self._strategy, f"choose from {allowed}")
        self._registers: bool = parsed[options.AUTO_REGISTER]
        self._uses_latest: bool = parsed[options.USE_LATEST] and not self._registers
        flags = parsed[options.METADATA], parsed[options.ENHANCED]
        self._avro_schemas, self._connect_schemas = AvroSchemas(*flags), ConnectSchemas(*flags)
        self._cache_size: int = parsed[options.CACHE_SIZE]
        self._written: dict[tuple[str, Schema | None], _Written] = {}
        self._read: dict[tuple[str, bytes], _Read] = {}
        try:
            self._registry = SchemaRegistry.from_config(given)
        except SchemaRegistryError as error:
            raise ConfigError(str(error)) from error

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        if value is None and (schema is None or schema.is_optional):
            return None
        written = self._written.get((topic, schema))
        failure = f"A record for {topic} cannot be written as Avro"
        if written is None:
            with _registry_errors(failure):
                written = self._make_written(topic, schema)
        buffer = io.BytesIO()
        buffer.write(written.start)
        try:
            datum = value if written.convert is None else written.convert(value)
            self._fastavro.schemaless_writer(buffer, written.schema, datum)
        except ConnectError as error:
            raise DataError(f"{failure}: {error}") from error
        except Exception as error:
            # fastavro fails in many ways on values that do not suit a schema.
            raise DataError(f"{failure}: {type(error).__name__}: {error}") from error
        return buffer.getvalue()

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        failure = f"A record of {topic} cannot be read as Avro"
        if len(data) < _HEADER_BYTES or data[0] != _MAGIC:
            message = "it was not written with a schema registry"
            raise DataError(f"{failure}: {message}; it begins with {bytes(data[:5])!r}")
        key = topic, data[1:_HEADER_BYTES]
        read = self._read.get(key)
        if read is None:
            with _registry_errors(failure):
                read = self._read[key] = self._make_read(topic, key[1])
            _bound(self._read, self._cache_size)
        try:
            datum = self._fastavro.schemaless_reader(
                io.BytesIO(data[_HEADER_BYTES:]),
                read.avro,
                None,
                return_record_name=True,
                return_record_name_override=True,
            )
            return read.schema, datum if read.convert is None else read.convert(datum)
        except ConnectError as error:
            raise DataError(f"{failure}: {error}") from error
        except Exception as error:
            schema_id = int.from_bytes(key[1], "big")
            message = f"the record does not match the schema with id {schema_id}"
            raise DataError(f"{failure}: {message}: {type(error).__name__}: {error}") from error

    def _make_written(self, topic: str, schema: Schema | None) -> _Written:
        avro = self._avro_schemas.schema(schema)
        subject = self._subject(topic, avro)
        text = schemaless_text(avro)
        if self._registers:
            schema_id = self._registry.register(subject, text)
        elif self._uses_latest:
            latest = self._registry.latest(subject)
            schema_id, avro = latest.id, self._parsed(latest)
        else:
            schema_id = self._registry.id_of(subject, text)
        named: dict[str, Any] = {}
        wire = self._fastavro.parse_schema(wire_schema(avro), named)
        start = bytes((_MAGIC,)) + schema_id.to_bytes(4, "big")
        made = _Written(start, wire, writer(schema, wire, named))
        self._written[topic, schema] = made
        _bound(self._written, self._cache_size)
        return made

    def _make_read(self, topic: str, id_bytes: bytes) -> _Read:
        registered = self._registry.schema(int.from_bytes(id_bytes, "big"))
        avro = self._parsed(registered)
        version = None
        if self._strategy == options.TOPIC_NAME:
            version = self._registry.version_of(self._subject(topic, avro), registered.text)
        schema = self._connect_schemas.schema(avro, version)
        named: dict[str, Any] = {}
        wire = self._fastavro.parse_schema(wire_schema(avro), named)
        return _Read(wire, schema, reader(schema, wire, named))

    def _parsed(self, registered: RegisteredSchema) -> Any:
        """The JSON of a registered schema, with those that it refers to."""
        if registered.type != "AVRO":
            message = f"schema {registered.id} is of type {registered.type}, not Avro"
            raise DataError(f"{message}: use the converter for that type")
        text = registered.text
        avro = json.loads(text) if text.lstrip()[:1] in ("{", "[", '"') else text
        definitions: dict[str, Any] = {}
        self._collect(registered, definitions)
        return with_references(avro, definitions)

    def _collect(self, registered: RegisteredSchema, definitions: dict[str, Any]) -> None:
        for _, subject, version in registered.references:
            referred = self._registry.version(subject, version)
            avro = json.loads(referred.text)
            if isinstance(avro, dict) and full_name(avro) not in definitions:
                definitions[full_name(avro)] = avro
                self._collect(referred, definitions)

    def _subject(self, topic: str, avro: Any) -> str:
        if self._strategy == options.TOPIC_NAME:
            return f"{topic}-{'key' if self._is_key else 'value'}"
        if not isinstance(avro, dict) or avro.get("type") != "record":
            strategy = split_name(self._strategy)[1]
            message = f"{strategy} needs a record, which has a name: the schema is another one"
            raise DataError(message)
        name = full_name(avro)
        return name if self._strategy == options.RECORD_NAME else f"{topic}-{name}"


@contextmanager
def _registry_errors(failure: str) -> Iterator[None]:
    """The errors of a registry and of schemas as those of Connect.

    What may pass is retriable. A refused login is no fault of a record, so it is no DataError.
    """
    try:
        yield
    except SchemaRegistryError as error:
        message = f"{failure}: {error}"
        if error.is_retriable:
            raise RetriableError(message) from error
        if error.status in (401, 403):
            raise ConnectError(message) from error
        raise DataError(message) from error
    except ConnectError as error:
        raise DataError(f"{failure}: {error}") from error
    except Exception as error:
        # fastavro has an exception of its own for each kind of mistake, without a common base.
        raise DataError(f"{failure}: the Avro schema is not valid: {error!r}") from error


def _bound(cache: dict[Any, Any], size: int) -> None:
    """Forget the oldest entry of a cache that has grown too large."""
    if len(cache) > max(size, 1):
        del cache[next(iter(cache))]

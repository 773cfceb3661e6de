"""How a topic looks as a table: its columns, and the expressions that make them.

Every topic has ``_key``, ``_partition``, ``_offset``, ``_timestamp`` and ``_headers``. The value is
the column ``value``, or for Avro records one column for each field.
"""

from dataclasses import dataclass
from typing import Any, Final

from moldau.sql.formats import Encoding, Format, detect
from moldau.sql.registry import SchemaLookup
from moldau.sql.topics import Samples

METADATA: Final = ("_key", "_partition", "_offset", "_timestamp", "_headers")
VALUE: Final = "value"
# What is not JSON stays as a string, so that no record disappears.
_VARIANT: Final = (
    "coalesce(try_parse_json(cast({0} AS STRING)), cast(cast({0} AS STRING) AS VARIANT))"
)


@dataclass(frozen=True)
class AvroSchema:
    """The schema that all values of a topic are read with."""

    id: int
    # As parsed JSON.
    schema: Any


@dataclass(frozen=True)
class TopicTable:
    """A topic with the formats of its keys and values."""

    topic: str
    key: Format
    value: Format
    key_schema: AvroSchema | None = None
    value_schema: AvroSchema | None = None


def table_of(topic: str, samples: Samples, registry: SchemaLookup | None) -> TopicTable:
    """Find out how a topic is encoded.

    Raises:
        PipelineError: the registry does not answer, or does not have a schema.
    """
    key, value = detect(samples.keys), detect(samples.values)
    return TopicTable(
        topic,
        key,
        value,
        _schema(key, f"{topic}-key", registry),
        _schema(value, f"{topic}-value", registry),
    )


def _schema(found: Format, subject: str, registry: SchemaLookup | None) -> AvroSchema | None:
    """The newest schema of the subject or, without such a subject, that of the last record."""
    if registry is None or found.encoding not in (Encoding.AVRO, Encoding.EMPTY):
        return None
    latest = registry.latest(subject)
    if latest is not None:
        return AvroSchema(*latest)
    if not found.schema_ids:
        return None
    return AvroSchema(found.schema_ids[-1], registry.by_id(found.schema_ids[-1]))


def key_sql(encoding: Encoding) -> str:
    """The expression of ``_key``, unless it is Avro."""
    return "key" if encoding in (Encoding.BINARY, Encoding.AVRO) else "cast(key AS STRING)"


def value_sql(encoding: Encoding) -> str:
    """The expression of ``value``, unless it is Avro with a schema."""
    if encoding in (Encoding.JSON, Encoding.EMPTY):
        return _VARIANT.format("value")
    return "cast(value AS STRING)" if encoding is Encoding.TEXT else "value"

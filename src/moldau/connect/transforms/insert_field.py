"""InsertField: topic, partition, offset, timestamp or a fixed text as fields of the key or value.

A name ends with ``!`` for a required field and with ``?`` for an optional one, which is the
default.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, Type, invalid
from moldau.connect.data.columns import Cells, Column, RecordColumns, Same, objects_in
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import TIMESTAMP, millis_to_timestamp
from moldau.connect.data.record import ConnectRecord, SinkRecord
from moldau.connect.data.schema import INT32, INT64, STRING, Schema
from moldau.connect.data.struct import Struct, validate_field
from moldau.connect.data.values import Int32
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.options import REPLACE_NULL, with_replace_null
from moldau.connect.transforms.structs import (
    SchemaCache,
    require_map,
    require_struct,
    struct_like,
    values_of,
)

__all__ = ["InsertFieldKey", "InsertFieldValue"]

_PURPOSE = "InsertField"
_OPTIONALITY = (
    " End the name with <code>!</code> for a required field, or with <code>?</code> for an optional"
    " one (the default)."
)
# In the order in which Kafka appends the fields.
_SCHEMAS = {"topic": STRING, "partition": INT32, "offset": INT64, "timestamp": TIMESTAMP}
_SCHEMAS["static"] = STRING


class _Insertion(NamedTuple):
    """A field to insert, and what goes into it."""

    source: str
    name: str
    schema: Schema
    get: Callable[[ConnectRecord], Any]
    text: str | None

    def cells(self, records: RecordColumns) -> Cells | None:
        """``get`` for many records, as a struct has it; None if only ``get`` can tell."""
        if self.source == "topic":
            return Same(records.topic)
        if self.source == "offset":
            return records.offsets
        if self.source == "partition":
            return None if records.partition is None else Same(records.partition)
        if self.source == "timestamp":
            times = records.timestamps_ms
            if isinstance(times, Same):
                return None if times.value is None else Same(millis_to_timestamp(times.value))
            return [millis_to_timestamp(each) for each in objects_in(times, records.count)]
        return Same(self.text)


def _definition() -> ConfigDef:
    docs = {
        "topic.field": "The field for the topic." + _OPTIONALITY,
        "partition.field": "The field for the partition." + _OPTIONALITY,
        "offset.field": "The field for the offset, which only records of sinks have."
        + _OPTIONALITY,
        "timestamp.field": "The field for the timestamp of the record." + _OPTIONALITY,
        "static.field": "The field for a fixed text." + _OPTIONALITY,
        "static.value": "The text for <code>static.field</code>.",
    }
    definition = ConfigDef()
    for name, doc in docs.items():
        definition.define(name, Type.STRING, None, importance=Importance.MEDIUM, doc=doc)
    return with_replace_null(definition)


class _InsertField(PartTransform):
    has_columns = True
    config = _definition()

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._insertions = [
            _insertion(source, schema, options)
            for source, schema in _SCHEMAS.items()
            if options[f"{source}.field"] is not None
        ]
        if not self._insertions:
            raise ConfigError(
                "InsertField has nothing to insert: set topic.field or another .field"
            )
        if options["static.field"] is not None and options["static.value"] is None:
            name = options["static.field"]
            raise invalid("static.value", None, f"it is the value of static.field={name}")
        self._with_defaults: bool = options[REPLACE_NULL]
        self._schemas = SchemaCache(self._extended)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if content is None:
            return schema, content
        if schema is None:
            updated = require_map(content, _PURPOSE).copy()
            for source, name, _, get, _ in self._insertions:
                value = get(record)
                if value is not None or source == "topic":
                    updated[name] = Int32(value) if source == "partition" else value
            return None, updated
        struct = require_struct(content, _PURPOSE, schema)
        extended = self._schemas.get(struct.schema)
        values = values_of(struct, self._with_defaults)
        if None in values:
            for field, value in zip(struct.schema.struct_fields, values, strict=True):
                if value is None:
                    validate_field(field.name, field.schema, None)
        for source, _, _, get, _ in self._insertions:
            value = get(record)
            if source == "timestamp" and value is not None:
                value = millis_to_timestamp(value)
            # A partition or timestamp that the record does not have stays null, even in a
            # required field: whoever writes the record finds out, as in Kafka.
            values.append(value)
        return extended, Struct.of(extended, values)

    def change_column(self, records: RecordColumns, column: Column) -> Column | None:
        if column.schema is None or not column.is_struct:
            return None
        cells = list(column.fields)
        for insertion in self._insertions:
            inserted = insertion.cells(records)
            # A partition or timestamp that the records do not have.
            if inserted is None:
                return None
            cells.append(inserted)
        return Column(self._schemas.get(column.schema), tuple(cells))

    def _extended(self, schema: Schema) -> Schema:
        fields = [(field.name, field.schema) for field in schema.struct_fields]
        fields += [(insertion.name, insertion.schema) for insertion in self._insertions]
        return struct_like(schema, fields)


def _insertion(source: str, schema: Schema, options: Mapping[str, Any]) -> _Insertion:
    name: str = options[f"{source}.field"]
    text: str | None = options["static.value"]
    getters: dict[str, Callable[[ConnectRecord], Any]] = {
        "topic": attrgetter("topic"),
        "partition": attrgetter("partition"),
        "timestamp": attrgetter("timestamp_ms"),
        "offset": _offset,
        "static": lambda record: text,
    }
    if name.endswith("!"):
        return _Insertion(source, name[:-1], schema, getters[source], text)
    return _Insertion(source, name.removesuffix("?"), schema.optional(), getters[source], text)


def _offset(record: ConnectRecord) -> int:
    if isinstance(record, SinkRecord):
        return record.offset
    raise DataError(f"offset.field is for sinks: a record for {record.topic} has no offset yet")


class InsertFieldKey(_InsertField):
    """Insert fields into the key."""

    part = KeyPart
    java_class = f"{PACKAGE}InsertField$Key"


class InsertFieldValue(_InsertField):
    """Insert fields into the value."""

    part = ValuePart
    java_class = f"{PACKAGE}InsertField$Value"

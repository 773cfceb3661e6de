"""Which columns the records of a schema have, and their values (pure).

A shape is made once per pair of key and value schemas. Records of one shape are written together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from moldau.connect.connectors.jdbc.sink_settings import KAFKA_KEY, SinkSettings
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import Schema, Type


class Column(NamedTuple):
    """A column that records need."""

    name: str
    schema: Schema
    is_key: bool


@dataclass(frozen=True)
class Shape:
    """The columns of some records: those of the key first. ``has_value``: False for tombstones."""

    columns: tuple[Column, ...]
    get: Callable[[SinkRecord], list[Any]]
    has_value: bool = True

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.is_key)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def table_name(settings: SinkSettings, record: SinkRecord) -> str:
    """The table of a record's topic, as ``table.name.format`` says."""
    return settings.table_format.replace("${topic}", record.topic)


def make(settings: SinkSettings, record: SinkRecord) -> Shape:
    """The shape of records with the schemas of ``record``.

    Raises:
        DataError: if they do not have what the options ask for.
    """
    is_tombstone = record.value is None
    if is_tombstone and not settings.deletes:
        raise DataError(
            f"the value is null: set delete.enabled=true to delete rows, or filter such records "
            f"(pk.mode={settings.key_mode})"
        )
    key, key_get = _key(settings, record)
    names = {column.name for column in key}
    value: list[Column] = []
    if not is_tombstone:
        schema = _struct_schema(record)
        value = [
            Column(field.name, field.schema, False)
            for field in schema.struct_fields
            if field.name not in names and (not settings.fields or field.name in settings.fields)
        ]
    if not key and not value:
        raise DataError("no field of the record is written: check fields.whitelist and pk.mode")
    # By place, which is the same for all records of the schema: names would be looked up each time.
    places = [_place(record, column.name) for column in value]
    defaults = [column.schema.default if settings.uses_defaults else None for column in value]
    has_defaults = any(default is not None for default in defaults)

    def get(record: SinkRecord) -> list[Any]:
        row = key_get(record)
        if places:
            values = record.value.values
            picked = [values[place] for place in places]
            if has_defaults:
                pairs = zip(picked, defaults, strict=True)
                picked = [default if given is None else given for given, default in pairs]
            row += picked
        return row

    return Shape((*key, *value), get, not is_tombstone)


def _place(record: SinkRecord, name: str) -> int:
    assert record.value_schema is not None
    return record.value_schema.fields_by_name[name].index


def _struct_schema(record: SinkRecord) -> Schema:
    schema = record.value_schema
    if schema is None or schema.type is not Type.STRUCT:
        kind = "no schema" if schema is None else f"the type {schema.type}"
        raise DataError(
            f"the value has {kind}, but columns come from a struct: use JsonConverter with "
            "schemas.enable=true, AvroConverter, or a transform such as HoistField"
        )
    return schema


def _key(
    settings: SinkSettings, record: SinkRecord
) -> tuple[list[Column], Callable[[SinkRecord], list[Any]]]:
    fields = settings.key_fields
    match settings.key_mode:
        case "kafka":
            kinds = (schemas.STRING, schemas.INT32, schemas.INT64)
            columns = [
                Column(name, kind, True)
                for name, kind in zip(fields or KAFKA_KEY, kinds, strict=True)
            ]
            return columns, lambda r: [r.original_topic, r.original_partition, r.offset]
        case "record_key":
            return _record_key(fields, record)
        case "record_value":
            schema = _struct_schema(record)
            names = fields or tuple(field.name for field in schema.struct_fields)
            columns = [_field(schema, name, "value") for name in names]
            return columns, lambda r: [r.value.get(name) for name in names]
    return [], lambda r: []


def _record_key(
    fields: tuple[str, ...], record: SinkRecord
) -> tuple[list[Column], Callable[[SinkRecord], list[Any]]]:
    schema = record.key_schema
    if schema is None:
        raise DataError("pk.mode=record_key, but the key is null or has no schema")
    if schema.type is Type.STRUCT:
        names = fields or tuple(field.name for field in schema.struct_fields)
        columns = [_field(schema, name, "key") for name in names]
        return columns, lambda r: [_given(r.key).get(name) for name in names]
    if not schema.type.is_primitive:
        raise DataError(f"pk.mode=record_key, but the key has the type {schema.type}")
    if len(fields) != 1:
        message = f"the key is a {schema.type}, so pk.fields must name one column"
        raise DataError(f"{message}, and has {list(fields)}")
    return [Column(fields[0], schema, True)], lambda r: [_given(r.key)]


def _given(key: Any) -> Any:
    """A schema may allow null, and other records with it have keys."""
    if key is None:
        raise DataError("pk.mode=record_key, but the key is null")
    return key


def _field(schema: Schema, name: str, where: str) -> Column:
    found = schema.field(name)
    if found is None:
        known = ", ".join(schema.fields_by_name)
        raise DataError(f"pk.fields has {name}, which is no field of the {where}: {known}")
    return Column(name, found.schema, True)

"""ExtractNewRecordState: the row that a change of Debezium's envelope left, in place of the change.

A sink of tables gets rows then, with the columns of the captured table. What becomes of deletions,
each of which is a change and a tombstone after it, is ``delete.tombstone.handling.mode``:

* ``tombstone``: the change becomes a record without a value, the tombstone is dropped;
* ``delete-to-tombstone``: the same, and the record has no schema of its value either;
* ``drop``: neither goes on;
* ``rewrite``: the change goes on as the row that was there, with the field ``__deleted`` (``true``;
  ``false`` in all other rows), the tombstone is dropped;
* ``rewrite-with-tombstone``: as before, but the tombstone goes on too.

Truncations are dropped. Records that are no envelopes, or have no schema, go on as they are.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, Type
from moldau.connect.config.validators import ValidString
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import STRING, Schema
from moldau.connect.data.struct import Struct
from moldau.connect.transforms.base import Transform, ValuePart, with_headers, with_topic
from moldau.connect.transforms.options import REPLACE_NULL, with_replace_null
from moldau.connect.transforms.structs import SchemaCache, field_of, struct_like, values_of

__all__ = ["ExtractNewRecordState"]

_MODE: Final = "delete.tombstone.handling.mode"
_MODES: Final = ("tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
_REWRITES: Final = ("rewrite", "rewrite-with-tombstone")
_UNSUPPORTED: Final = (
    "drop.fields.header.name",
    "drop.fields.from.key",
    "drop.fields.keep.schema.compatible",
)
_ENVELOPE: Final = ".Envelope"
_DELETED: Final = "__deleted"
# Fields that are found without their struct; all others are those of the source.
_STRUCTS: Final = {
    "op": None,
    "ts_ms": None,
    "ts_us": None,
    "ts_ns": None,
    "id": "transaction",
    "total_order": "transaction",
    "data_collection_order": "transaction",
}


class _Reference(NamedTuple):
    """A field of the envelope, perhaps within a struct, and the name that it gets."""

    struct: str | None
    field: str
    name: str

    def schema(self, envelope: Schema) -> Schema | None:
        parent = envelope
        if self.struct is not None:
            found = envelope.field(self.struct)
            if found is None:
                return None
            parent = found.schema
        field = parent.field(self.field) or envelope.field(self.field)
        return None if field is None else field.schema.replace(is_optional=True)

    def value(self, change: Struct) -> Any:
        parent = change if self.struct is None else _get(change, self.struct)
        if parent is None:
            return None
        return _get(parent if parent.schema.field(self.field) else change, self.field)


class _Shape(NamedTuple):
    """What rows of one envelope look like."""

    schema: Schema
    added: tuple[_Reference, ...]


class ExtractNewRecordState(Transform):
    """Debezium's envelopes become rows."""

    java_class = "io.debezium.transforms.ExtractNewRecordState"
    config = with_replace_null(
        ConfigDef()
        .define(
            _MODE,
            Type.STRING,
            default="tombstone",
            validator=ValidString(*_MODES),
            importance=Importance.MEDIUM,
            doc=f"What becomes of deletions: {', '.join(_MODES)}.",
        )
        .define(
            "add.fields",
            Type.LIST,
            default="",
            importance=Importance.LOW,
            doc="Fields of the envelope to add to the row, such as op, lsn or source.ts_ms. "
            "NAME:OTHER gives one another name.",
        )
        .define(
            "add.fields.prefix",
            Type.STRING,
            default="__",
            importance=Importance.LOW,
            doc="What the names of added fields begin with.",
        )
        .define(
            "add.headers",
            Type.LIST,
            default="",
            importance=Importance.LOW,
            doc="Fields of the envelope to add as headers, named as in add.fields.",
        )
        .define(
            "add.headers.prefix",
            Type.STRING,
            default="__",
            importance=Importance.LOW,
            doc="What the names of added headers begin with.",
        )
        .define(
            "route.by.field",
            Type.STRING,
            default="",
            importance=Importance.LOW,
            doc="The field of the row that has the topic to route it to.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        for name in _UNSUPPORTED:
            if config.get(name):
                raise ConfigError(f"{name} is not supported: use the transform ReplaceField")
        options = self.config.parse(config)
        mode: str = options[_MODE]
        self._mode = mode
        self._rewrites = mode in _REWRITES
        self._fields = _references(options["add.fields"], options["add.fields.prefix"])
        self._headers = _references(options["add.headers"], options["add.headers.prefix"])
        self._route: str = options["route.by.field"]
        self._with_defaults: bool = options[REPLACE_NULL]
        self._shapes = SchemaCache(self._shape)

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        change, envelope = record.value, record.value_schema
        if change is None:
            if self._mode != "rewrite-with-tombstone":
                return None
            deleted = [Header(each.name, STRING, "d") for each in self._headers if _is_op(each)]
            return with_headers(record, [*record.headers, *deleted]) if deleted else record
        if envelope is None or not (envelope.name or "").endswith(_ENVELOPE):
            return record
        row, was = _get(change, "after"), _get(change, "before")
        if row is None and (was is None or self._mode == "drop"):
            return None
        if self._headers:
            record = with_headers(record, [*record.headers, *self._headers_of(change, envelope)])
        if self._route and (topic := self._topic(was if row is None else row, row is None)):
            record = with_topic(record, topic)
        if row is None and not self._rewrites:
            is_bare = self._mode == "delete-to-tombstone"
            schema = None if is_bare else field_of(envelope, "after").schema
            return ValuePart.updated(record, schema, None)
        shape = self._shapes.get(envelope)
        values = values_of(was if row is None else row, self._rewrites and self._with_defaults)
        if self._rewrites:
            values.append("true" if row is None else "false")
        values += [each.value(change) for each in shape.added]
        return ValuePart.updated(record, shape.schema, Struct.of(shape.schema, values))

    def _topic(self, row: Struct, is_deleted: bool) -> str | None:
        field = field_of(row.schema, self._route)
        topic: str | None = row.values[field.index]
        # Rows that are rewritten have their defaults already, but for those that were deleted.
        if topic is None and self._rewrites and self._with_defaults and not is_deleted:
            topic = field.schema.default
        return topic

    def _shape(self, envelope: Schema) -> _Shape:
        row = field_of(envelope, "after").schema
        fields = [(field.name, field.schema) for field in row.struct_fields]
        if self._rewrites:
            fields.append((_DELETED, STRING.optional()))
        added = []
        for each in self._fields:
            schema = each.schema(envelope)
            if schema is not None:
                fields.append((each.name, schema))
                added.append(each)
        return _Shape(struct_like(row, fields), tuple(added))

    def _headers_of(self, change: Struct, envelope: Schema) -> list[Header]:
        found = [(each, each.schema(envelope)) for each in self._headers]
        return [Header(each.name, schema, each.value(change)) for each, schema in found if schema]


def _references(names: list[str], prefix: str) -> list[_Reference]:
    """The fields that an option names.

    Raises:
        ConfigError: a name is not FIELD, STRUCT.FIELD or one of these with :NAME.
    """
    found = []
    for text in names:
        path, _, name = text.partition(":")
        parts = path.split(".")
        if len(parts) > 2 or not all(parts) or ":" in name or text.endswith(":"):
            raise ConfigError(f"{text} names no field: write op, source.ts_ms or op:NAME")
        field = parts[-1]
        struct = parts[0] if len(parts) == 2 else _STRUCTS.get(field, "source")
        found.append(_Reference(struct, field, prefix + (name or "_".join(parts))))
    return found


def _is_op(reference: _Reference) -> bool:
    return reference.struct is None and reference.field == "op"


def _get(struct: Struct, name: str) -> Any:
    """A value without its default; None for a field that is not there."""
    field = struct.schema.field(name)
    return None if field is None else struct.values[field.index]

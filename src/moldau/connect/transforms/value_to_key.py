"""ValueToKey: a key made of fields of the value."""

from collections.abc import Mapping

from moldau.connect.config.definition import ConfigDef, Importance, Type, ValidList
from moldau.connect.data.columns import Column, RecordColumns
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema, struct
from moldau.connect.transforms.base import PACKAGE, KeyPart, Transform
from moldau.connect.transforms.options import REPLACE_NULL, with_replace_null
from moldau.connect.transforms.structs import (
    SchemaCache,
    default_of,
    require_map,
    require_struct,
    struct_of,
)

__all__ = ["ValueToKey"]

_PURPOSE = "ValueToKey"


class ValueToKey(Transform):
    """Replace the key."""

    java_class = f"{PACKAGE}ValueToKey"
    has_columns = True
    config = with_replace_null(
        ConfigDef().define(
            "fields",
            Type.LIST,
            validator=ValidList(is_empty_allowed=False),
            importance=Importance.HIGH,
            doc="The fields of the value that make up the key.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._fields: list[str] = options["fields"]
        self._with_defaults: bool = options[REPLACE_NULL]
        self._plans = SchemaCache(self._plan)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        if record.value_schema is None:
            fields = require_map(record.value, _PURPOSE)
            return KeyPart.updated(record, None, {name: fields.get(name) for name in self._fields})
        value = require_struct(record.value, _PURPOSE, record.value_schema)
        schema, indexes = self._plans.get(value.schema)
        old = value.values
        values = [old[index] for index in indexes]
        if self._with_defaults and None in values:
            values = [
                default_of(field) if found is None else found
                for field, found in zip(schema.struct_fields, values, strict=True)
            ]
        made = KeyPart.updated(record, schema, struct_of(schema, values))
        made.value_schema = value.schema
        return made

    def apply_columns(self, records: RecordColumns) -> RecordColumns | None:
        value = records.value
        if value.schema is None or not value.is_struct:
            return None
        schema, indexes = self._plans.get(value.schema)
        return records.replace(key=Column(schema, tuple(value.fields[each] for each in indexes)))

    def _plan(self, schema: Schema) -> tuple[Schema, list[int]]:
        found = [schema.field(name) for name in self._fields]
        fields = [field for field in found if field is not None]
        if len(fields) != len(found):
            raise DataError(f"The value has no field {self._fields[found.index(None)]} for the key")
        made = struct(None, ((field.name, field.schema) for field in fields))
        return made, [field.index for field in fields]

"""HoistField: the key or value as the only field of a new struct or map."""

from collections.abc import Mapping
from typing import Any

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.data.columns import Column, RecordColumns
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.structs import SchemaCache

__all__ = ["HoistFieldKey", "HoistFieldValue"]


class _HoistField(PartTransform):
    has_columns = True
    config = ConfigDef().define(
        "field",
        Type.STRING,
        importance=Importance.MEDIUM,
        doc="The name of the field that will hold the key or value.",
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._field: str = self.config.parse(config)["field"]
        self._schemas = SchemaCache(self._hoisted)

    def change_column(self, records: RecordColumns, column: Column) -> Column | None:
        if column.schema is None or isinstance(column.cells, tuple):
            return None
        return Column(self._schemas.get(column.schema), (column.cells,))

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if schema is None:
            return None, {self._field: content}
        updated = self._schemas.get(schema)
        return updated, Struct(updated).put(self._field, content)

    def _hoisted(self, schema: Schema) -> Schema:
        return struct(None, [(self._field, schema)])


class HoistFieldKey(_HoistField):
    """Wrap the key."""

    part = KeyPart
    java_class = f"{PACKAGE}HoistField$Key"


class HoistFieldValue(_HoistField):
    """Wrap the value."""

    part = ValuePart
    java_class = f"{PACKAGE}HoistField$Value"

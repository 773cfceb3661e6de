"""ExtractField: one field in place of the whole key or value."""

from collections.abc import Mapping
from typing import Any

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.data.columns import Column, RecordColumns
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Field, Schema
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.field_path import FieldPath
from moldau.connect.transforms.options import (
    REPLACE_NULL,
    SYNTAX_VERSION,
    with_field_syntax,
    with_replace_null,
)
from moldau.connect.transforms.structs import (
    IllegalArgumentError,
    SchemaCache,
    require_map,
    require_struct,
)

__all__ = ["ExtractFieldKey", "ExtractFieldValue"]

_PURPOSE = "ExtractField"


class _ExtractField(PartTransform):
    has_columns = True
    config = with_field_syntax(
        with_replace_null(
            ConfigDef().define(
                "field", Type.STRING, importance=Importance.MEDIUM, doc="The field to extract."
            )
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._text: str = options["field"]
        self._path = FieldPath(self._text, options[SYNTAX_VERSION])
        self._with_default: bool = options[REPLACE_NULL]
        self._fields = SchemaCache(self._field)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if schema is None:
            if content is not None:
                content = self._path.of_map(require_map(content, _PURPOSE))
            return None, content
        if content is not None:
            content = require_struct(content, _PURPOSE, schema)
        field = self._fields.get(schema)
        if content is not None:
            content = self._path.of_struct(content, self._with_default)
        return field.schema, content

    def change_column(self, records: RecordColumns, column: Column) -> Column | None:
        schema = column.schema
        if schema is None or not column.is_struct:
            return None
        field = self._fields.get(schema)
        # Not one inside of a field.
        is_own = schema.struct_fields[field.index] is field
        return Column(field.schema, column.fields[field.index]) if is_own else None

    def _field(self, schema: Schema) -> Field:
        field = self._path.field(schema)
        if field is None:
            raise IllegalArgumentError(
                f"The schema has no field {self._text}: see the option field"
            )
        return field


class ExtractFieldKey(_ExtractField):
    """A field of the key becomes the key."""

    part = KeyPart
    java_class = f"{PACKAGE}ExtractField$Key"


class ExtractFieldValue(_ExtractField):
    """A field of the value becomes the value."""

    part = ValuePart
    java_class = f"{PACKAGE}ExtractField$Value"

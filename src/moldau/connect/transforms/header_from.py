"""HeaderFrom: fields of the key or value as headers, copied or moved."""

from collections.abc import Mapping
from typing import Any, ClassVar

from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, Type, ValidString
from moldau.connect.data.errors import DataError
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema
from moldau.connect.data.struct import Struct
from moldau.connect.transforms.base import (
    PACKAGE,
    KeyPart,
    Part,
    Transform,
    ValuePart,
    with_headers,
)
from moldau.connect.transforms.options import REPLACE_NULL, non_empty_list, with_replace_null
from moldau.connect.transforms.structs import (
    NullPointerError,
    SchemaCache,
    default_of,
    field_of,
    require_map,
    require_struct,
    struct_like,
    struct_of,
)

__all__ = ["HeaderFromKey", "HeaderFromValue"]


class _HeaderFrom(Transform):
    part: ClassVar[type[Part]]
    config = with_replace_null(
        ConfigDef()
        .define(
            "fields",
            Type.LIST,
            validator=non_empty_list,
            importance=Importance.HIGH,
            doc="The fields whose values become headers.",
        )
        .define(
            "headers",
            Type.LIST,
            validator=non_empty_list,
            importance=Importance.HIGH,
            doc="The names of the headers, one for each field, in the same order.",
        )
        .define(
            "operation",
            Type.STRING,
            validator=ValidString("move", "copy"),
            importance=Importance.HIGH,
            doc="<code>move</code> removes the fields from the key or value, <code>copy</code> "
            "leaves them there.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._fields: list[str] = options["fields"]
        self._headers: list[str] = options["headers"]
        if len(self._fields) != len(self._headers):
            raise ConfigError(
                f"fields has {len(self._fields)} entries, but headers {len(self._headers)}: "
                "name one header for each field"
            )
        self._operation: str = options["operation"]
        self._is_move = self._operation == "move"
        self._with_default: bool = options[REPLACE_NULL]
        self._moved = SchemaCache(self._without_fields)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        part = self.part
        schema, content = part.schema(record), part.content(record)
        headers = record.headers.copy()
        if schema is None:
            fields = require_map(content, "HeaderFrom")
            updated: Any = fields.copy()
            for field_name, header_name in zip(self._fields, self._headers, strict=True):
                if self._is_move:
                    updated.pop(field_name, None)
                headers.append(Header(header_name, None, fields.get(field_name)))
            return with_headers(part.updated(record, None, updated), headers)
        struct = require_struct(content, "HeaderFrom", schema)
        updated, updated_schema = struct, schema
        if self._is_move:
            updated_schema = self._moved.get(schema)
            kept = [field_of(struct.schema, field.name) for field in updated_schema.struct_fields]
            values = [struct.values[field.index] for field in kept]
            if self._with_default and None in values:
                pairs = zip(kept, values, strict=True)
                values = [default_of(field) if value is None else value for field, value in pairs]
            updated = struct_of(updated_schema, values)
        for field_name, header_name in zip(self._fields, self._headers, strict=True):
            headers.append(self._header(struct, schema, field_name, header_name))
        return with_headers(part.updated(record, updated_schema, updated), headers)

    def _header(self, struct: Struct, schema: Schema, field_name: str, name: str) -> Header:
        field = schema.field(field_name)
        if field is None:
            raise NullPointerError(f"the schema has no field {field_name} to make a header of")
        value = self._get(struct, field_name) if struct.schema.field(field_name) else None
        if value is None and not field.schema.is_optional:
            raise DataError(f"{field_name} is null, but {field.schema} is not optional")
        return Header(name, field.schema, value)

    def _get(self, struct: Struct, name: str) -> Any:
        field = field_of(struct.schema, name)
        value = struct.values[field.index]
        return field.schema.default if value is None and self._with_default else value

    def _without_fields(self, schema: Schema) -> Schema:
        left = [field for field in schema.struct_fields if field.name not in self._fields]
        return struct_like(schema, ((field.name, field.schema) for field in left))


class HeaderFromKey(_HeaderFrom):
    """Make headers of fields of the key."""

    part = KeyPart
    java_class = f"{PACKAGE}HeaderFrom$Key"


class HeaderFromValue(_HeaderFrom):
    """Make headers of fields of the value."""

    part = ValuePart
    java_class = f"{PACKAGE}HeaderFrom$Value"

"""Flatten: nested structs or maps as one level, with names such as ``address.city``.

A flattened field is optional if any struct above it is. Arrays stay as they are; maps inside a
struct have no fixed fields, and are refused.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moldau.connect.config.definition import ConfigDef, Importance
from moldau.connect.config.definition import Type as ConfigType
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct, validate_field, with_default
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.cast_values import type_of
from moldau.connect.transforms.structs import (
    SchemaCache,
    kind_name,
    require_map,
    require_struct,
    struct_like,
)

__all__ = ["FlattenKey", "FlattenValue"]

_PURPOSE = "Flatten"


class _Flatten(PartTransform):
    config = ConfigDef().define(
        "delimiter",
        ConfigType.STRING,
        ".",
        importance=Importance.MEDIUM,
        doc="What is put between the names of the levels in the name of a flattened field.",
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._delimiter: str = self.config.parse(config)["delimiter"]
        self._schemas = SchemaCache(self._flat_schema)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if content is None:
            return schema, content
        if schema is None:
            flat: dict[str, Any] = {}
            self._flatten_map(require_map(content, _PURPOSE), "", flat)
            return None, flat
        nested = require_struct(content, _PURPOSE, schema)
        updated = self._schemas.get(schema)
        values: list[Any] = []
        self._flatten_struct(nested, nested.schema, updated, values)
        return updated, Struct.of(updated, values)

    def _flatten_map(self, content: dict[str, Any], prefix: str, flat: dict[str, Any]) -> None:
        for key, value in content.items():
            name = self._name(prefix, key)
            kind = type_of(value)
            if value is None:
                flat[name] = None
            elif kind is None:
                raise DataError(
                    f"Flatten cannot keep {name}, a value of {kind_name(value)}: it is not of "
                    "Connect's types"
                )
            elif kind is Type.MAP:
                self._flatten_map(value, name, flat)
            elif kind is Type.STRUCT:
                raise DataError(
                    f"Flatten cannot keep {name}: it is a struct in a record that has no schema"
                )
            else:
                flat[name] = value

    def _flatten_struct(
        self, content: Struct | None, schema: Schema, flat: Schema, values: list[Any]
    ) -> None:
        """Append the values of a struct and of those in it. One that is missing leaves only nulls,
        which Kafka does not validate.
        """
        for field in schema.struct_fields:
            if field.schema.type is Type.STRUCT:
                inner = content.values[field.index] if content is not None else None
                self._flatten_struct(inner, field.schema, flat, values)
                continue
            value = content.get(field) if content is not None else None
            if value is None and content is not None:
                target = flat.struct_fields[len(values)]
                validate_field(target.name, target.schema, None)
            values.append(value)

    def _flat_schema(self, schema: Schema) -> Schema:
        fields: list[tuple[str, Schema]] = []
        parent = _Parent("", schema.is_optional, schema.default)
        self._flatten_fields(schema, parent, fields)
        return struct_like(schema, fields)

    def _flatten_fields(
        self, schema: Schema, parent: "_Parent", fields: list[tuple[str, Schema]]
    ) -> None:
        for field in schema.struct_fields:
            name = self._name(parent.name, field.name)
            is_optional = parent.is_optional or field.schema.is_optional
            default = field.schema.default
            if default is None and parent.default is not None:
                default = parent.default.get(field)
            if field.schema.type is Type.STRUCT:
                self._flatten_fields(field.schema, _Parent(name, is_optional, default), fields)
            elif field.schema.type is Type.MAP:
                raise DataError(
                    f"Flatten cannot flatten {name}: it is a MAP, whose keys no schema names"
                )
            else:
                made = field.schema.replace(is_optional=is_optional, default=None)
                fields.append((name, with_default(made, default) if default is not None else made))

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name


class _Parent(NamedTuple):
    """What a struct hands down to the fields in it."""

    name: str
    is_optional: bool
    default: Struct | None


class FlattenKey(_Flatten):
    """Flatten the key."""

    part = KeyPart
    java_class = f"{PACKAGE}Flatten$Key"


class FlattenValue(_Flatten):
    """Flatten the value."""

    part = ValuePart
    java_class = f"{PACKAGE}Flatten$Value"

"""SetSchemaMetadata: another name or version for the schema of the key or value."""

from collections.abc import Mapping
from typing import Any

from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, Type
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema
from moldau.connect.data.struct import Struct
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.options import REPLACE_NULL, with_replace_null
from moldau.connect.transforms.structs import SchemaCache, field_of, struct_of, values_of

__all__ = ["SetSchemaMetadataKey", "SetSchemaMetadataValue"]


class _SetSchemaMetadata(PartTransform):
    config = with_replace_null(
        ConfigDef()
        .define(
            "schema.name",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            doc="The name to give to the schema.",
        )
        .define(
            "schema.version",
            Type.INT,
            None,
            importance=Importance.HIGH,
            doc="The version to give to the schema.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._name: str | None = options["schema.name"]
        self._version: int | None = options["schema.version"]
        self._with_defaults: bool = options[REPLACE_NULL]
        if self._name is None and self._version is None:
            raise ConfigError(
                "SetSchemaMetadata has nothing to set: give schema.name or schema.version"
            )
        self._schemas = SchemaCache(self._renamed)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if schema is None:
            if content is None:
                return schema, content
            raise DataError("SetSchemaMetadata needs a schema, and the record has none")
        updated = self._schemas.get(schema)
        if isinstance(content, Struct):
            content = self._with_schema(content, updated)
        return updated, content

    def _with_schema(self, content: Struct, schema: Schema) -> Struct:
        values = values_of(content, self._with_defaults)
        if content.schema.struct_fields != schema.struct_fields:
            values = [values[field_of(content.schema, f.name).index] for f in schema.struct_fields]
        return struct_of(schema, values)

    def _renamed(self, schema: Schema) -> Schema:
        # Kafka asks every schema for its fields here, and so refuses all but structs.
        _ = schema.struct_fields
        name = self._name if self._name is not None else schema.name
        version = self._version if self._version is not None else schema.version
        return schema.replace(name=name, version=version)


class SetSchemaMetadataKey(_SetSchemaMetadata):
    """Change the schema of the key."""

    part = KeyPart
    java_class = f"{PACKAGE}SetSchemaMetadata$Key"


class SetSchemaMetadataValue(_SetSchemaMetadata):
    """Change the schema of the value."""

    part = ValuePart
    java_class = f"{PACKAGE}SetSchemaMetadata$Value"

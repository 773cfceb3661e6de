"""Cast: fields, or a whole key or value, in another type.

``spec`` is a list of ``field:type``, or one type for everything.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, invalid
from moldau.connect.config.definition import Type as ConfigType
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import with_default
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.cast_values import OUTPUT_TYPES, cast_value, caster
from moldau.connect.transforms.options import REPLACE_NULL, pairs_of, with_replace_null
from moldau.connect.transforms.structs import (
    SchemaCache,
    require_map,
    require_struct,
    struct_like,
    struct_of,
    values_of,
)

__all__ = ["CastKey", "CastValue"]

_PURPOSE = "Cast"


def _valid_spec(name: str, value: Any) -> None:
    if not value:
        raise ConfigError("spec cannot be empty: write field:type, or one type for all")
    _parse_spec(value)


def _parse_spec(entries: list[str]) -> dict[str | None, Type]:
    """The types by field; the whole value has the name None."""
    casts: dict[str | None, Type] = {}
    for entry in entries:
        parts = pairs_of(entry)
        if len(parts) > 2:
            text = f"[{', '.join(entries)}]"
            raise invalid("spec", text, f"write {entry} as field:type")
        kind = _type_named(parts[-1].strip())
        casts[parts[0].strip() if len(parts) == 2 else None] = kind
    if None in casts and len(entries) > 1:
        raise ConfigError(
            f"spec cannot be {', '.join(entries)}: one type is for the whole key or value, and "
            "leaves nothing for other fields"
        )
    return casts


def _type_named(name: str) -> Type:
    kind = Type.__members__.get(name.upper())
    if kind is None:
        raise ConfigError(f"spec has the unknown type {name}: choose from {_choice()}")
    if kind not in OUTPUT_TYPES:
        raise ConfigError(f"spec has {name}, which is not cast to: choose from {_choice()}")
    return kind


def _choice() -> str:
    return ", ".join(str(kind).lower() for kind in OUTPUT_TYPES)


class _Plan(NamedTuple):
    """How a struct is cast: its new schema, and the fields that change."""

    schema: Schema
    casts: list[tuple[int, Callable[[Any], Any]]]


class _Cast(PartTransform):
    config = with_replace_null(
        ConfigDef().define(
            "spec",
            ConfigType.LIST,
            validator=_valid_spec,
            importance=Importance.HIGH,
            doc="The fields and the types to cast them to, as field1:type,field2:type; or one "
            "type, for the whole key or value. Types are int8, int16, int32, int64, float32, "
            "float64, boolean and string. Bytes can be cast to string only, and become base64.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        casts = _parse_spec(options["spec"])
        self._whole = casts.get(None)
        self._casts = {name: kind for name, kind in casts.items() if name is not None}
        self._casters = [(name, caster(None, kind)) for name, kind in self._casts.items()]
        self._with_defaults: bool = options[REPLACE_NULL]
        self._plans = SchemaCache(self._plan)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if content is None:
            return schema, content
        if schema is None:
            return None, self._schemaless(content)
        plan = self._plans.get(schema)
        if self._whole is not None:
            return plan.schema, cast_value(schema, content, self._whole)
        values = values_of(require_struct(content, _PURPOSE, schema), self._with_defaults)
        for index, cast in plan.casts:
            values[index] = cast(values[index])
        return plan.schema, struct_of(plan.schema, values)

    def _schemaless(self, content: Any) -> Any:
        if self._whole is not None:
            return cast_value(None, content, self._whole)
        fields = require_map(content, _PURPOSE)
        updated = fields.copy()
        for name, cast in self._casters:
            updated[name] = cast(fields.get(name))
        return updated

    def _plan(self, schema: Schema) -> _Plan:
        if self._whole is not None:
            made = Schema(
                self._whole,
                schema.is_optional,
                name=schema.name,
                version=schema.version,
                doc=schema.doc,
                parameters=schema.parameters,
            )
            return _Plan(self._defaulted(made, schema), [])
        fields: list[tuple[str, Schema]] = []
        casts: list[tuple[int, Callable[[Any], Any]]] = []
        for field in schema.struct_fields:
            target = self._casts.get(field.name)
            if target is None:
                fields.append((field.name, field.schema))
                continue
            made = self._defaulted(Schema(target, field.schema.is_optional), field.schema)
            fields.append((field.name, made))
            casts.append((field.index, caster(field.schema, target)))
        updated = struct_like(schema, fields)
        if schema.is_optional:
            updated = updated.optional()
        return _Plan(self._defaulted(updated, schema), casts)

    def _defaulted(self, made: Schema, source: Schema) -> Schema:
        """``made`` with the default of ``source``, cast to its type."""
        if source.default is None:
            return made
        return with_default(made, cast_value(source, source.default, made.type))


class CastKey(_Cast):
    """Cast fields of the key, or the whole key."""

    part = KeyPart
    java_class = f"{PACKAGE}Cast$Key"


class CastValue(_Cast):
    """Cast fields of the value, or the whole value."""

    part = ValuePart
    java_class = f"{PACKAGE}Cast$Value"

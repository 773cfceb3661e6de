"""ReplaceField: fields left out, kept, or under other names."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moldau.connect.config.definition import ConfigDef, Importance, Type, ValidList, invalid
from moldau.connect.data.columns import Column, RecordColumns
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Field, Schema
from moldau.connect.data.struct import Struct, validate_field
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.options import REPLACE_NULL, pairs_of, with_replace_null
from moldau.connect.transforms.structs import (
    SchemaCache,
    default_of,
    field_of,
    kind_name,
    require_map,
    require_struct,
    struct_like,
)

__all__ = ["ReplaceFieldKey", "ReplaceFieldValue"]

_PURPOSE = "ReplaceField"


def _renames(entries: list[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for entry in entries:
        parts = pairs_of(entry)
        if len(parts) != 2:
            text = f"[{', '.join(entries)}]"
            raise invalid("renames", text, f"write {entry} as old:new")
        renames[parts[0]] = parts[1]
    return renames


def _valid_renames(name: str, value: Any) -> None:
    _renames(value)


class _Plan(NamedTuple):
    """The new schema, and for each of its fields the field that its value comes from."""

    schema: Schema
    sources: list[int]
    origins: list[Field]
    # Fields that get the value of a field with another schema: see ``_plan``.
    foreign: list[Field]


class _ReplaceField(PartTransform):
    has_columns = True
    config = with_replace_null(
        ConfigDef()
        .define(
            "exclude",
            Type.LIST,
            [],
            ValidList(),
            Importance.MEDIUM,
            "The fields to leave out, even if they are among those to include.",
        )
        .define(
            "include",
            Type.LIST,
            [],
            ValidList(),
            Importance.MEDIUM,
            "The fields to keep. If empty, all are kept.",
        )
        .define(
            "renames",
            Type.LIST,
            [],
            _valid_renames,
            Importance.MEDIUM,
            "New names of fields, as old1:new1,old2:new2.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._excluded: list[str] = options["exclude"]
        self._exclude = frozenset(self._excluded)
        self._include = frozenset(options["include"])
        self._renames = _renames(options["renames"])
        self._reversed = {new: old for old, new in self._renames.items()}
        self._with_defaults: bool = options[REPLACE_NULL]
        self._plans = SchemaCache(self._plan)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if content is None:
            return schema, content
        if schema is None:
            fields = require_map(content, _PURPOSE)
            return None, self._replaced(fields)
        struct = require_struct(content, _PURPOSE, schema)
        plan = self._plans.get(struct.schema)
        old = struct.values
        values = [old[source] for source in plan.sources]
        if None in values:
            self._fill(plan, values)
        for field in plan.foreign:
            _validate_foreign(field, plan.origins[field.index], values[field.index])
        return plan.schema, Struct.of(plan.schema, values)

    def change_column(self, records: RecordColumns, column: Column) -> Column | None:
        if column.schema is None or not column.is_struct:
            return None
        plan = self._plans.get(column.schema)
        # Whether a value suits another field is asked for each.
        if plan.foreign:
            return None
        return Column(plan.schema, tuple(column.fields[source] for source in plan.sources))

    def _replaced(self, fields: dict[str, Any]) -> dict[str, Any]:
        kept = fields.copy()
        if self._include:
            kept = {name: value for name, value in fields.items() if name in self._include}
        for name in self._excluded:
            kept.pop(name, None)
        if not self._renames:
            return kept
        rename = self._renames.get
        return {rename(name, name): value for name, value in kept.items()}

    def _fill(self, plan: _Plan, values: list[Any]) -> None:
        """Put defaults where values are missing; raises a DataError where one is required."""
        for field in plan.schema.struct_fields:
            if values[field.index] is None:
                if self._with_defaults:
                    values[field.index] = default_of(plan.origins[field.index])
                if values[field.index] is None:
                    validate_field(field.name, field.schema, None)

    def _is_kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _plan(self, schema: Schema) -> _Plan:
        kept = [field for field in schema.struct_fields if self._is_kept(field.name)]
        rename = self._renames.get
        made = struct_like(schema, ((rename(f.name, f.name), f.schema) for f in kept))
        # Kafka looks for the value of a field under the name that was renamed to its own, even if
        # the field had its name all along. So ``renames=a:b`` on a struct with b but without a
        # fails.
        sources = [
            field_of(schema, self._reversed.get(field.name, field.name))
            for field in made.struct_fields
        ]
        foreign = [
            field
            for field, source in zip(made.struct_fields, sources, strict=True)
            if field.schema is not source.schema
        ]
        return _Plan(made, [source.index for source in sources], sources, foreign)


def _validate_foreign(field: Field, origin: Field, value: Any) -> None:
    """Raise a DataError if the value of another field does not suit this one.

    A plain number suits every type that can hold it; here its type is that of the field it is from.
    """
    is_other_number = field.schema.type is not origin.schema.type and type(value) in (int, float)
    if is_other_number:
        raise DataError(
            f"{field.name} of {field.schema.type} cannot take the value of {origin.name}, "
            f"which is of {kind_name(value, origin.schema)}"
        )
    validate_field(field.name, field.schema, value)


class ReplaceFieldKey(_ReplaceField):
    """Leave out or rename fields of the key."""

    part = KeyPart
    java_class = f"{PACKAGE}ReplaceField$Key"


class ReplaceFieldValue(_ReplaceField):
    """Leave out or rename fields of the value."""

    part = ValuePart
    java_class = f"{PACKAGE}ReplaceField$Value"

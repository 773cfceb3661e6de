"""MaskField: fields with a zero, an empty text or a fixed replacement in place of their value."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from moldau.connect.config.definition import (
    ConfigDef,
    Importance,
    NonEmptyString,
    ValidList,
)
from moldau.connect.config.definition import Type as ConfigType
from moldau.connect.data.columns import Column, RecordColumns, Same, first_of
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import EPOCH
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct, validate_field
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.cast_values import cast_value, decimal_of, type_of
from moldau.connect.transforms.options import REPLACE_NULL, with_replace_null
from moldau.connect.transforms.structs import (
    kind_name,
    require_map,
    require_struct,
    values_of,
)

__all__ = ["MaskFieldKey", "MaskFieldValue"]

_PURPOSE = "MaskField"
_ZEROS: Final[dict[Type, Any]] = {
    Type.BOOLEAN: False,
    Type.INT8: 0,
    Type.INT16: 0,
    Type.INT32: 0,
    Type.INT64: 0,
    Type.FLOAT32: 0.0,
    Type.FLOAT64: 0.0,
    Type.STRING: "",
}
_NUMBERS: Final = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
)


class _MaskField(PartTransform):
    has_columns = True
    config = with_replace_null(
        ConfigDef()
        .define(
            "fields",
            ConfigType.LIST,
            validator=ValidList(is_empty_allowed=False),
            importance=Importance.HIGH,
            doc="The fields to mask.",
        )
        .define(
            "replacement",
            ConfigType.STRING,
            None,
            NonEmptyString(),
            Importance.LOW,
            "What to put into all of these fields, which must be numbers or texts, in place of "
            "zero or nothing.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._fields = frozenset(options["fields"])
        self._names: list[str] = options["fields"]
        self._replacement: str | None = options["replacement"]
        self._with_defaults: bool = options[REPLACE_NULL]

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if schema is None:
            fields = require_map(content, _PURPOSE)
            updated = fields.copy()
            for name in self._names:
                updated[name] = self._masked(fields.get(name), None)
            return None, updated
        struct = require_struct(content, _PURPOSE, schema)
        values = values_of(struct, self._with_defaults)
        for field in struct.schema.struct_fields:
            if field.name in self._fields:
                values[field.index] = self._masked(values[field.index], field.schema)
            if values[field.index] is None or field.name in self._fields:
                validate_field(field.name, field.schema, values[field.index])
        return schema, Struct.of(struct.schema, values)

    def change_column(self, records: RecordColumns, column: Column) -> Column | None:
        if column.schema is None or not column.is_struct:
            return None
        cells = list(column.fields)
        for field in column.schema.struct_fields:
            if field.name in self._fields:
                # What a value is masked by depends on its type alone.
                masked = self._masked(first_of(cells[field.index]), field.schema)
                validate_field(field.name, field.schema, masked)
                cells[field.index] = Same(masked)
        return Column(column.schema, tuple(cells))

    def _masked(self, value: Any, schema: Schema | None) -> Any:
        if value is None:
            return None
        if self._replacement is None:
            return _zero(value, schema)
        return _replaced(value, schema, self._replacement)


def _is_big(value: Any) -> bool:
    """Whether a number is a BigInteger of Java, which no type of Connect is."""
    return type(value) is int and type_of(value) is None


def _kind(value: Any, schema: Schema | None) -> Type | None:
    """The type of a value by its class; None for decimals, dates and big integers."""
    if schema is not None and type(value) in (int, float):
        return schema.type
    return type_of(value)


def _zero(value: Any, schema: Schema | None) -> Any:
    kind = _kind(value, schema)
    if kind in _ZEROS:
        return cast_value(None, 0, kind) if kind in _NUMBERS and schema is None else _ZEROS[kind]
    if kind is Type.ARRAY:
        return []
    if kind is Type.MAP:
        return {}
    if isinstance(value, Decimal):
        return Decimal(0)
    if isinstance(value, datetime.datetime):
        return EPOCH
    if isinstance(value, datetime.time):
        return datetime.time()
    if isinstance(value, datetime.date):
        return EPOCH.date()
    if _is_big(value):
        return 0
    raise DataError(f"MaskField cannot mask a value of {kind_name(value, schema)}")


def _replaced(value: Any, schema: Schema | None, replacement: str) -> Any:
    kind = _kind(value, schema)
    if kind is Type.STRING:
        return replacement
    try:
        if isinstance(value, Decimal):
            return decimal_of(replacement)
        if _is_big(value):
            return int(replacement)
        if kind in _NUMBERS:
            # The text is read as a decimal and cut to the type, so that 300 is 44 in an int8.
            number = decimal_of(replacement)
            whole = Type.FLOAT64 if kind in (Type.FLOAT32, Type.FLOAT64) else Type.INT64
            result = cast_value(None, cast_value(_DECIMAL, number, whole), kind)
            return result if schema is None else _plain(result)
    except ValueError:
        raise DataError(f"replacement={replacement} cannot mask a number: it is not one") from None
    name = kind_name(value, schema)
    raise DataError(
        f"replacement={replacement} cannot mask a value of {name}, only texts and numbers"
    )


# Tells ``cast_value`` that a number is a decimal: bytes are what decimals are stored as.
_DECIMAL: Final = Schema(Type.BYTES)


def _plain(number: float) -> float:
    return int(number) if isinstance(number, int) else float(number)


class MaskFieldKey(_MaskField):
    """Mask fields of the key."""

    part = KeyPart
    java_class = f"{PACKAGE}MaskField$Key"


class MaskFieldValue(_MaskField):
    """Mask fields of the value."""

    part = ValuePart
    java_class = f"{PACKAGE}MaskField$Value"

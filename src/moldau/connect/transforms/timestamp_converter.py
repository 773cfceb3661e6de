"""TimestampConverter: a timestamp as text, Unix time, Date, Time or Timestamp, from any of these.

Everything goes through milliseconds since 1970. Unix time is a 64-bit number in the unit that
``unix.precision`` names.
"""

import datetime
from collections.abc import Mapping
from typing import Any, Final

from moldau.clock import SystemClock
from moldau.connect.config.definition import ConfigDef, ConfigError, Importance, ValidString
from moldau.connect.config.definition import Type as ConfigType
from moldau.connect.config.errors import invalid
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.logical import (
    DATE,
    DATE_NAME,
    MILLIS_PER_DAY,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    days_to_date,
    millis_to_time,
    millis_to_timestamp,
)
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import INT64, STRING, Schema, Type
from moldau.connect.data.struct import Struct, validate_field, with_default
from moldau.connect.transforms.base import PACKAGE, Changed, KeyPart, PartTransform, ValuePart
from moldau.connect.transforms.cast_values import java_date_ms
from moldau.connect.transforms.date_format import DateFormat, DateFormatError
from moldau.connect.transforms.options import REPLACE_NULL, with_replace_null
from moldau.connect.transforms.structs import (
    NullPointerError,
    SchemaCache,
    kind_name,
    require_map,
    require_struct,
    struct_like,
    values_of,
)

__all__ = ["TimestampConverterKey", "TimestampConverterValue"]

_PURPOSE = "TimestampConverter"
_SCHEMAS: Final = {
    "string": STRING,
    "unix": INT64,
    "Date": DATE,
    "Time": TIME,
    "Timestamp": TIMESTAMP,
}
_LOGICAL: Final = {DATE_NAME: "Date", TIME_NAME: "Time", TIMESTAMP_NAME: "Timestamp"}
# How many of the unit are a millisecond, or how many milliseconds a unit is.
_PER_MILLISECOND: Final = {"nanoseconds": 1_000_000, "microseconds": 1_000, "milliseconds": 1}
_INT64_MAX: Final = (1 << 63) - 1


def _definition() -> ConfigDef:
    return with_replace_null(
        ConfigDef()
        .define(
            "field",
            ConfigType.STRING,
            "",
            importance=Importance.HIGH,
            doc="The field with the timestamp; empty if the whole key or value is one.",
        )
        .define(
            "target.type",
            ConfigType.STRING,
            validator=ValidString("string", "unix", "Date", "Time", "Timestamp"),
            importance=Importance.HIGH,
            doc="What the timestamp becomes: string, unix, Date, Time or Timestamp.",
        )
        .define(
            "format",
            ConfigType.STRING,
            "",
            importance=Importance.MEDIUM,
            doc="The pattern of a timestamp that is a string, before or after, in the syntax of "
            "Java's SimpleDateFormat.",
        )
        .define(
            "unix.precision",
            ConfigType.STRING,
            "milliseconds",
            ValidString("nanoseconds", "microseconds", "milliseconds", "seconds"),
            Importance.LOW,
            "The unit of Unix time, before or after: seconds, milliseconds, microseconds or "
            "nanoseconds. What is finer than a millisecond is lost.",
        )
    )


class _TimestampConverter(PartTransform):
    config = _definition()

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._field: str = options["field"]
        self._target: str = options["target.type"]
        self._unit: str = options["unix.precision"]
        self._with_defaults: bool = options[REPLACE_NULL]
        pattern: str = options["format"]
        if self._target == "string" and not pattern.strip():
            raise ConfigError("format is required with target.type=string: set a pattern")
        self._format: DateFormat | None = None
        if pattern.strip():
            try:
                self._format = DateFormat(pattern, SystemClock().wall_ms())
            except DateFormatError as error:
                raise invalid("format", pattern, str(error)) from error
        self._schemas = SchemaCache(self._converted_schema)

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        if schema is None:
            return None, self._schemaless(content)
        if not self._field:
            kind = _kind_of(schema)
            made = _target_schema(self._target, schema.is_optional)
            return made, self._convert(content, kind, schema)
        if content is not None:
            content = require_struct(content, _PURPOSE, schema)
        updated = self._schemas.get(schema)
        if content is not None:
            content = self._converted_struct(content, updated)
        return updated, content

    def _schemaless(self, content: Any) -> Any:
        if content is None:
            return None
        if not self._field:
            return self._convert(content, _kind_without_schema(content), None)
        fields = require_map(content, _PURPOSE)
        updated = fields.copy()
        value = fields.get(self._field)
        if value is not None:
            value = self._convert(value, _kind_without_schema(value), None)
        updated[self._field] = value
        return updated

    def _converted_schema(self, schema: Schema) -> Schema:
        fields = [
            (
                field.name,
                _target_schema(self._target, field.schema.is_optional)
                if field.name == self._field
                else field.schema,
            )
            for field in schema.struct_fields
        ]
        made = struct_like(schema, fields)
        if schema.is_optional:
            made = made.optional()
        if schema.default is None:
            return made
        return with_default(made, self._converted_struct(schema.default, made))

    def _converted_struct(self, content: Struct, updated: Schema) -> Struct:
        values = values_of(content, self._with_defaults)
        field = content.schema.field(self._field)
        if field is not None:
            kind = _kind_of(field.schema)
            values[field.index] = self._convert(values[field.index], kind, field.schema)
        if None in values:
            for target, value in zip(updated.struct_fields, values, strict=True):
                if value is None:
                    validate_field(target.name, target.schema, None)
        return Struct.of(updated, values)

    def _convert(self, value: Any, kind: str, schema: Schema | None) -> Any:
        if value is None:
            return None
        return self._from_millis(self._to_millis(value, kind, schema))

    def _to_millis(self, value: Any, kind: str, schema: Schema | None) -> int:
        if kind == "string":
            if not isinstance(value, str):
                raise _unexpected("text", value, schema)
            if self._format is None:
                raise NullPointerError(
                    f"the timestamp {value!r} is a string: set format to its pattern"
                )
            try:
                return self._format.parse(value)
            except DateFormatError as error:
                message = f"The timestamp {value} does not match format={self._format.pattern}"
                raise DataError(message) from error
        if kind == "unix":
            if not isinstance(value, int) or isinstance(value, bool):
                raise _unexpected("64-bit integer", value, schema)
            return self._unix_to_millis(value)
        if not isinstance(value, datetime.date | datetime.time):
            raise _unexpected(kind, value, schema)
        return java_date_ms(value)

    def _unix_to_millis(self, value: int) -> int:
        if self._unit == "seconds":
            return _bounded(value * 1000)
        return _quotient(value, _PER_MILLISECOND[self._unit])

    def _from_millis(self, milliseconds: int) -> Any:
        match self._target:
            case "string":
                assert self._format is not None
                return self._format.format(milliseconds)
            case "unix":
                if self._unit == "seconds":
                    return _quotient(milliseconds, 1000)
                return _bounded(milliseconds * _PER_MILLISECOND[self._unit])
            case "Date":
                return days_to_date(milliseconds // MILLIS_PER_DAY)
            case "Time":
                return millis_to_time(milliseconds % MILLIS_PER_DAY)
        return millis_to_timestamp(milliseconds)


def _bounded(value: int) -> int:
    """A conversion to a finer unit stops at the bounds of a long, as that of Java's TimeUnit."""
    return max(-_INT64_MAX - 1, min(_INT64_MAX, value))


def _quotient(value: int, divisor: int) -> int:
    """A conversion to a coarser unit rounds towards zero, also before 1970."""
    return value // divisor if value >= 0 else -(-value // divisor)


def _unexpected(expected: str, value: Any, schema: Schema | None) -> DataError:
    return DataError(
        f"The timestamp must be a {expected}, not a value of {kind_name(value, schema)}"
    )


def _target_schema(target: str, is_optional: bool) -> Schema:
    schema = _SCHEMAS[target]
    return schema.optional() if is_optional else schema


def _kind_of(schema: Schema) -> str:
    """The representation of a timestamp by its schema."""
    logical = _LOGICAL.get(schema.name) if schema.name is not None else None
    if logical is not None:
        return logical
    if schema.type is Type.STRING:
        return "string"
    if schema.type is Type.INT64:
        return "unix"
    raise ConnectError(
        f"{schema} is not the schema of a timestamp: text, INT64, Date, Time or Timestamp"
    )


def _kind_without_schema(value: Any) -> str:
    if isinstance(value, datetime.date | datetime.time):
        return "Timestamp"
    if type(value) is int and -_INT64_MAX - 1 <= value <= _INT64_MAX:
        return "unix"
    if isinstance(value, str):
        return "string"
    name = kind_name(value)
    raise DataError(f"A value of {name} is not a timestamp: text, integer or date")


class TimestampConverterKey(_TimestampConverter):
    """Convert a timestamp in the key."""

    part = KeyPart
    java_class = f"{PACKAGE}TimestampConverter$Key"


class TimestampConverterValue(_TimestampConverter):
    """Convert a timestamp in the value."""

    part = ValuePart
    java_class = f"{PACKAGE}TimestampConverter$Value"

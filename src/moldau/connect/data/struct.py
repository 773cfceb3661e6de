"""A struct: the values of the fields that its schema names; and whether a value suits a schema at
all.

The two need each other: a struct validates what is put into it, and a struct may be a value.
Errors name types as Connect does: see ``type_name``.
"""

import datetime
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from moldau.connect.data.errors import DataError, SchemaBuilderError
from moldau.connect.data.logical import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from moldau.connect.data.schema import Field, Schema, Type
from moldau.connect.data.values import Float32, Int8, Int16, Int32, type_name

_EXPECTED: dict[Type, tuple[type, ...]] = {
    Type.INT8: (int, Int8),
    Type.INT16: (int, Int16),
    Type.INT32: (int, Int32),
    Type.INT64: (int,),
    Type.FLOAT32: (float, Float32),
    Type.FLOAT64: (float,),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list,),
    Type.MAP: (dict,),
}
_LOGICAL: dict[str, tuple[type, ...]] = {
    DECIMAL_NAME: (Decimal,),
    DATE_NAME: (datetime.date,),
    TIME_NAME: (datetime.time,),
    TIMESTAMP_NAME: (datetime.datetime,),
}
_BOUNDS: dict[Type, int] = {
    Type.INT8: 2**7,
    Type.INT16: 2**15,
    Type.INT32: 2**31,
    Type.INT64: 2**63,
}
# Only these may be subclassed: a subclass of a number is another class of Java, and a datetime is a
# date.
_SUBCLASSED = (str, bytes, list, dict, Decimal, datetime.datetime)


class Struct:
    """Values by field, kept in the order of the schema's fields.

    ``values`` is that list, for code that walks all fields; a missing value is None there, without
    its default.
    """

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        """Make a struct and ``put`` the given values.

        Raises:
            DataError: if the schema is not that of a struct, or a value does not suit its field.
        """
        if schema.type is not Type.STRUCT:
            raise DataError(f"A struct has a schema of type STRUCT, not {schema}")
        self.schema = schema
        self.values: list[Any] = [None] * len(schema.struct_fields)
        if values:
            for name, value in values.items():
                self.put(name, value)

    @classmethod
    def of(cls, schema: Schema, values: Iterable[Any]) -> "Struct":
        """A struct of values in the order of the fields, known to suit them: they are not
        validated.
        """
        made = cls.__new__(cls)
        made.schema = schema
        made.values = list(values)
        return made

    def get(self, field: str | Field) -> Any:
        """The value of a field, or its default if there is no value."""
        found = self._field(field) if isinstance(field, str) else field
        value = self.values[found.index]
        return found.schema.default if value is None else value

    __getitem__ = get

    def get_without_default(self, name: str) -> Any:
        return self.values[self._field(name).index]

    def put(self, field: str | Field, value: Any) -> "Struct":
        """Set a field, and return this struct.

        Raises:
            DataError: if there is no such field, or the value does not suit its schema.
        """
        found = self._field(field) if isinstance(field, str) else field
        validate_field(found.name, found.schema, value)
        self.values[found.index] = value
        return self

    def validate(self) -> None:
        """Raise a DataError if a field has no value but needs one, or one that does not suit it."""
        for field, value in zip(self.schema.struct_fields, self.values, strict=True):
            if value is None and (field.schema.is_optional or field.schema.default is not None):
                continue
            validate_field(field.name, field.schema, value)

    def to_dict(self) -> dict[str, Any]:
        """The values by the names of the fields, with defaults; inner structs stay structs."""
        return {field.name: self.get(field) for field in self.schema.struct_fields}

    def _field(self, name: str) -> Field:
        field = self.schema.fields_by_name.get(name)
        if field is None:
            raise DataError(f"The schema has no field {name}")
        return field

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        return self is other or (self.schema == other.schema and self.values == other.values)

    __hash__ = None  # type: ignore[assignment]  # structs can be changed

    def __repr__(self) -> str:
        named = zip(self.schema.struct_fields, self.values, strict=True)
        return (
            "Struct{"
            + ",".join(f"{field.name}={value}" for field, value in named if value is not None)
            + "}"
        )


def validate_value(schema: Schema, value: Any) -> None:
    """Raise a DataError unless ``value`` may be used with ``schema``.

    A plain ``int`` suits every integer type that can hold it, and a plain ``float`` both types of
    floats: the schema says what it is. A value of a class that names a type of Java (``Int32``)
    suits that type only.
    """
    _validate(schema, value, "the value")


def validate_field(name: str, schema: Schema, value: Any) -> None:
    """``validate_value``, with an error that names the field."""
    # A location is put together only for an error, or for what is inside: most values are plain.
    if value is not None and schema.name is None and type(value) in _EXPECTED.get(schema.type, ()):
        bound = _BOUNDS.get(schema.type)
        if bound is not None and -bound <= value < bound:
            return
        if bound is None and schema.type is not Type.ARRAY and schema.type is not Type.MAP:
            return
    _validate(schema, value, f"field {name}")


def _validate(schema: Schema, value: Any, location: str) -> None:
    if value is None:
        if not schema.is_optional:
            raise DataError(f"{location} is null, but required, as {schema.type}")
        return
    kind = schema.type
    expected = _LOGICAL.get(schema.name) if schema.name is not None else None
    if expected is None:
        if kind is Type.STRUCT:
            _validate_struct(schema, value, location)
            return
        expected = _EXPECTED[kind]
        bound = _BOUNDS.get(kind)
        suits = type(value) in expected and (bound is None or -bound <= value < bound)
    else:
        suits = type(value) in expected
    if not suits and not any(kind in _SUBCLASSED and isinstance(value, kind) for kind in expected):
        raise DataError(_mismatch(schema, value, location))
    if kind is Type.ARRAY:
        inner = f"an element of {location}"
        element_schema = _present(schema.value_schema, inner)
        for element in value:
            _validate(element_schema, element, inner)
    elif kind is Type.MAP:
        key_location, value_location = f"a key of {location}", f"an entry of {location}"
        key_schema = _present(schema.key_schema, key_location)
        value_schema = _present(schema.value_schema, value_location)
        for key, element in value.items():
            _validate(key_schema, key, key_location)
            _validate(value_schema, element, value_location)


def _validate_struct(schema: Schema, value: Any, location: str) -> None:
    if not isinstance(value, Struct):
        raise DataError(_mismatch(schema, value, location))
    if value.schema is not schema and value.schema != schema:
        raise DataError(f"{location} is a struct with another schema: {value.schema}, not {schema}")
    value.validate()


def _present(schema: Schema | None, location: str) -> Schema:
    if schema is None:
        raise DataError(f"{location} has no schema")
    return schema


def _mismatch(schema: Schema, value: Any, location: str) -> str:
    kind = f"{schema.name} ({schema.type})" if schema.name is not None else schema.type
    return f"{location} must be of {kind}, not of {type_name(value)}"


def with_default(schema: Schema, default: Any) -> Schema:
    """The schema with a default value, which must suit it.

    Raises:
        SchemaBuilderError: if it does not.
    """
    try:
        validate_value(schema, default)
    except DataError as error:
        raise SchemaBuilderError(
            f"{default!r} cannot be the default of {schema}: {error}"
        ) from error
    return schema.replace(default=default)

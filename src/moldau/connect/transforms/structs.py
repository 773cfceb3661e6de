"""What the stock transforms demand of a key or value, and how they copy one.

A transform that changes the schema of a struct computes the new one once per schema: records of a
topic share theirs. Values that move to a field of the same schema were validated when they came in,
and are not validated again; only a missing value can be wrong, since a default may not be taken.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, TypeVar

from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.schema import Field, Schema, Type, struct
from moldau.connect.data.struct import Struct, validate_field
from moldau.connect.data.values import type_name

__all__ = [
    "IllegalArgumentError",
    "IndexOutOfBoundsError",
    "NullPointerError",
    "SchemaCache",
    "kind_name",
    "require_map",
    "require_struct",
    "struct_like",
    "struct_of",
    "values_of",
]

T = TypeVar("T")
_CACHED_SCHEMAS: Final = 16
_NUMBERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.FLOAT32)


class IllegalArgumentError(ConnectError):
    """What Kafka's transforms report with Java's exception of that name."""

    java_class = "java.lang.IllegalArgumentException"


class NullPointerError(ConnectError):
    """What Kafka's transforms report with Java's exception of that name."""

    java_class = "java.lang.NullPointerException"


class IndexOutOfBoundsError(ConnectError):
    """What Kafka's transforms report with Java's exception of that name."""

    java_class = "java.lang.IndexOutOfBoundsException"


class SchemaCache(Generic[T]):
    """What was made of a schema, for the sixteen that came last."""

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._made: dict[Schema, T] = {}
        self._last_schema: Schema | None = None
        self._last: T | None = None

    def get(self, schema: Schema) -> T:
        # Records that follow each other mostly share the very same schema, which needs no hash.
        if schema is self._last_schema and self._last is not None:
            return self._last
        found = self._made.get(schema)
        if found is None:
            found = self._make(schema)
            if len(self._made) >= _CACHED_SCHEMAS:
                del self._made[next(iter(self._made))]
            self._made[schema] = found
        self._last_schema, self._last = schema, found
        return found


def kind_name(value: Any, schema: Schema | None = None) -> str:
    """The type of a value, for messages; the schema tells an INT32 from an INT64."""
    if schema is not None and schema.type in _NUMBERS and type(value) in (int, float):
        return str(schema.type)
    return type_name(value)


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    message = f"Without a schema, {purpose} needs a map of fields"
    raise DataError(f"{message}, not a value of {kind_name(value)}")


def require_struct(value: Any, purpose: str, schema: Schema | None = None) -> Struct:
    if isinstance(value, Struct):
        return value
    message = f"With a schema, {purpose} needs a struct"
    raise DataError(f"{message}, not a value of {kind_name(value, schema)}")


def struct_like(source: Schema, fields: Iterable[tuple[str, Schema]]) -> Schema:
    """A struct's schema with the name, version, documentation and parameters of another.

    Raises:
        SchemaBuilderError: two fields have one name, or one has none.
    """
    return struct(
        source.name,
        fields,
        version=source.version,
        doc=source.doc,
        parameters=source.parameters,
    )


def values_of(content: Struct, with_defaults: bool) -> list[Any]:
    """A copy of the values of a struct, in the order of its fields."""
    values = content.values.copy()
    if with_defaults and None in values:
        for field in content.schema.struct_fields:
            if values[field.index] is None:
                values[field.index] = default_of(field)
    return values


def default_of(field: Field) -> Any:
    """The default of a field, to be put into another struct.

    Raises:
        DataError: a default that is a struct does not have the schema of its field. Kafka finds
            this out when the default is used, not before.
    """
    default = field.schema.default
    if isinstance(default, Struct):
        validate_field(field.name, field.schema, default)
    return default


def struct_of(schema: Schema, values: list[Any]) -> Struct:
    """A struct of values which suit the fields, except that they may be missing.

    Raises:
        DataError: a field that is not optional has no value.
    """
    if None in values:
        for field, value in zip(schema.struct_fields, values, strict=True):
            if value is None:
                validate_field(field.name, field.schema, None)
    return Struct.of(schema, values)


def field_of(schema: Schema, name: str) -> Field:
    """The field of a struct; a DataError if there is none of this name."""
    field = schema.field(name)
    if field is None:
        raise DataError(f"The schema has no field {name}")
    return field

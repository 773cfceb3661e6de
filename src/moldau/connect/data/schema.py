"""Schemas: the type of a value, whether it may be null, its default, its name, and the schemas
inside it.

A schema is immutable and compared by value; its hash is computed once, so that it can key the
caches of transforms and converters. A name gives a type a meaning: see ``logical``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from moldau.connect.data.errors import DataError, SchemaBuilderError


class Type(Enum):
    """The types of Connect. The value is the name in JSON; ``str`` gives the name in Kafka's
    messages.
    """

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    # The members are singletons; the hash of Enum is computed in Python from the name, for each
    # lookup.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.name

    @property
    def is_primitive(self) -> bool:
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct. ``index`` is its position in the struct's schema."""

    name: str
    index: int
    schema: "Schema"


@dataclass(frozen=True, eq=False)
class Schema:
    """What a value must be.

    ``default`` is used for a missing value; None means that there is none, as in Kafka. ``fields``
    belongs to STRUCT, ``key_schema`` to MAP, ``value_schema`` to MAP and ARRAY; they are None for
    the other types. ``parameters`` is None, never empty.
    """

    type: Type
    is_optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = None
    fields: tuple[Field, ...] | None = None
    key_schema: "Schema | None" = None
    value_schema: "Schema | None" = None

    def __post_init__(self) -> None:
        if self.type is Type.STRUCT and self.fields is None:
            object.__setattr__(self, "fields", ())

    @property
    def has_default(self) -> bool:
        return self.default is not None

    @cached_property
    def fields_by_name(self) -> dict[str, Field]:
        """The fields of a struct by name, in their order.

        Raises:
            DataError: if this is not the schema of a struct.
        """
        if self.fields is None:
            raise DataError(f"{self.type} has no fields, only STRUCT has")
        return {field.name: field for field in self.fields}

    @cached_property
    def struct_fields(self) -> tuple[Field, ...]:
        """The fields of a struct, in their order.

        Raises:
            DataError: if this is not the schema of a struct.
        """
        if self.fields is None:
            raise DataError(f"{self.type} has no fields, only STRUCT has")
        return self.fields

    def field(self, name: str) -> Field | None:
        """The field ``name`` of a struct, or None; a DataError if this is not the schema of a
        struct.
        """
        return self.fields_by_name.get(name)

    def replace(self, **changes: Any) -> "Schema":
        """This schema with other attributes, such as ``is_optional=True``."""
        values = {name: getattr(self, name) for name in _ATTRIBUTES}
        values.update(changes)
        return Schema(**values)

    def optional(self) -> "Schema":
        return self if self.is_optional else self.replace(is_optional=True)

    @cached_property
    def _hash(self) -> int:
        # Defaults are left out: they may be lists, maps or structs, which have no hash.
        parameters = frozenset(self.parameters.items()) if self.parameters is not None else None
        inner = (self.fields, self.key_schema, self.value_schema)
        return hash(
            (
                self.type.value,
                self.is_optional,
                self.name,
                self.version,
                self.doc,
                parameters,
                inner,
            )
        )

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.type is other.type
            and self.is_optional == other.is_optional
            and self.name == other.name
            and self.version == other.version
            and self.doc == other.doc
            and self.parameters == other.parameters
            and self.fields == other.fields
            and self.key_schema == other.key_schema
            and self.value_schema == other.value_schema
            and self.default == other.default
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The hash of strings differs between processes: the cached one must stay behind.
        return Schema, tuple(getattr(self, name) for name in _ATTRIBUTES)

    def __str__(self) -> str:
        return (
            f"Schema{{{self.name}:{self.type}}}"
            if self.name is not None
            else f"Schema{{{self.type}}}"
        )


_ATTRIBUTES = tuple(Schema.__dataclass_fields__)


def struct(
    name: str | None,
    fields: Mapping[str, Schema] | Iterable[tuple[str, Schema]],
    *,
    is_optional: bool = False,
    version: int | None = None,
    doc: str | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Schema:
    """The schema of a struct with the given fields, in their order.

    Raises:
        SchemaBuilderError: if a field has no name, or two have the same.
    """
    named: dict[str, Field] = {}
    for index, (field_name, schema) in enumerate(
        fields.items() if isinstance(fields, Mapping) else fields
    ):
        if not field_name:
            raise SchemaBuilderError("A field needs a name")
        if field_name in named:
            raise SchemaBuilderError(f"Two fields have the name {field_name}: rename one")
        named[field_name] = Field(field_name, index, schema)
    return Schema(
        Type.STRUCT,
        is_optional,
        name=name,
        version=version,
        doc=doc,
        parameters=parameters or None,
        fields=tuple(named.values()),
    )


def array(value_schema: Schema, *, is_optional: bool = False, name: str | None = None) -> Schema:
    """The schema of a list of values."""
    return Schema(Type.ARRAY, is_optional, name=name, value_schema=value_schema)


def map_of(
    key_schema: Schema, value_schema: Schema, *, is_optional: bool = False, name: str | None = None
) -> Schema:
    """The schema of a map from keys to values."""
    return Schema(
        Type.MAP, is_optional, name=name, key_schema=key_schema, value_schema=value_schema
    )


INT8 = Schema(Type.INT8)
INT16 = Schema(Type.INT16)
INT32 = Schema(Type.INT32)
INT64 = Schema(Type.INT64)
FLOAT32 = Schema(Type.FLOAT32)
FLOAT64 = Schema(Type.FLOAT64)
BOOLEAN = Schema(Type.BOOLEAN)
STRING = Schema(Type.STRING)
BYTES = Schema(Type.BYTES)

OPTIONAL_INT8 = INT8.optional()
OPTIONAL_INT16 = INT16.optional()
OPTIONAL_INT32 = INT32.optional()
OPTIONAL_INT64 = INT64.optional()
OPTIONAL_FLOAT32 = FLOAT32.optional()
OPTIONAL_FLOAT64 = FLOAT64.optional()
OPTIONAL_BOOLEAN = BOOLEAN.optional()
OPTIONAL_STRING = STRING.optional()
OPTIONAL_BYTES = BYTES.optional()

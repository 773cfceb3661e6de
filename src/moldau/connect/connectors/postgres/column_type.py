"""What reading a column needs: a schema, a function from text to value, and stand-ins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class TypeModes:
    """The options that choose between schemas."""

    decimal: str = "precise"
    time: str = "adaptive"
    hstore: str = "json"
    interval: str = "numeric"
    binary: str = "bytes"
    money_digits: int = 2
    includes_unknown: bool = False
    placeholder: str = "__debezium_unavailable_value"


class ColumnType(NamedTuple):
    """The schema of a column's values (required; the column says whether it is optional).

    ``fallback`` stands for a value that the log does not have although the column is NOT NULL: a
    deleted row is logged with its key only. ``placeholder`` stands for an UNCHANGED value.
    """

    schema: Schema
    convert: Convert
    fallback: Any
    placeholder: Any = None

    def with_schema(self, schema: Schema) -> "ColumnType":
        """The same values for a schema with another default, or that may be null.

        A struct must have the very schema of its field.
        """
        if schema.type is not Type.STRUCT:
            return self._replace(schema=schema)
        convert, fallback = self.convert, self.fallback

        def convert_struct(text: str) -> Struct | None:
            made = convert(text)
            return None if made is None else Struct.of(schema, made.values)

        return self._replace(
            schema=schema, convert=convert_struct, fallback=Struct.of(schema, fallback.values)
        )

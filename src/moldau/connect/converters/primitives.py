"""Converters of single numbers and booleans, in the formats of Kafka's serializers."""

import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from moldau.connect.converters.base import ValueAndHeaderConverter
from moldau.connect.data.errors import DataError, SerializationError
from moldau.connect.data.headers import Header
from moldau.connect.data.inference import type_of
from moldau.connect.data.schema import (
    OPTIONAL_BOOLEAN,
    OPTIONAL_FLOAT32,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT16,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    Schema,
    Type,
)
from moldau.connect.data.values import type_name

_PLAIN_TYPES = {
    int: (Type.INT8, Type.INT16, Type.INT32, Type.INT64),
    float: (Type.FLOAT32, Type.FLOAT64),
}


class BooleanConverter(ValueAndHeaderConverter):
    """One byte: 1 for true and 0 for false."""

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"BooleanConverter takes BOOLEAN, not {schema.type}")
        if value is None:
            return None
        if type(value) is not bool:
            raise DataError(f"BooleanConverter takes BOOLEAN, not {type_name(value)}")
        return b"\x01" if value else b"\x00"

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        if data is None or data == b"\x00" or data == b"\x01":
            return OPTIONAL_BOOLEAN, None if data is None else data == b"\x01"
        if len(data) != 1:
            reason = f"a BOOLEAN has 1 byte, not {len(data)}"
        else:
            number = int.from_bytes(data, signed=True)
            reason = f"a BOOLEAN is 0 or 1, not {number}"
        raise DataError(reason) from SerializationError(reason)


class NumberConverter(ValueAndHeaderConverter):
    """A number in big-endian bytes of a fixed size."""

    schema: ClassVar[Schema]
    format: ClassVar[struct.Struct]

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        if value is None:
            return None
        kind = self._type(schema, value)
        if kind is not self.schema.type:
            message = f"{type(self).__name__} takes {self.schema.type}"
            raise DataError(f"{message}, not {kind or type_name(value)}")
        try:
            return self.format.pack(value)
        except (struct.error, OverflowError) as error:
            raise DataError(f"{value} does not fit {self.schema.type}: {error}") from error

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        if data is None:
            return self.schema, None
        size = self.format.size
        if len(data) != size:
            reason = f"{self.schema.type} has {size} bytes, not {len(data)}"
            raise DataError(reason) from SerializationError(reason)
        return self.schema, self.format.unpack(data)[0]

    @staticmethod
    def _type(schema: Schema | None, value: Any) -> Type | None:
        """What the value is in Java: its class says so, or of a plain number the schema."""
        if schema is not None and schema.type in _PLAIN_TYPES.get(type(value), ()):
            return schema.type
        return type_of(value)


class ShortConverter(NumberConverter):
    """Two bytes of a signed integer."""

    schema = OPTIONAL_INT16
    format = struct.Struct(">h")


class IntegerConverter(NumberConverter):
    """Four bytes of a signed integer."""

    schema = OPTIONAL_INT32
    format = struct.Struct(">i")


class LongConverter(NumberConverter):
    """Eight bytes of a signed integer."""

    schema = OPTIONAL_INT64
    format = struct.Struct(">q")


class FloatConverter(NumberConverter):
    """Four bytes of a float."""

    schema = OPTIONAL_FLOAT32
    format = struct.Struct(">f")


class DoubleConverter(NumberConverter):
    """Eight bytes of a float."""

    schema = OPTIONAL_FLOAT64
    format = struct.Struct(">d")

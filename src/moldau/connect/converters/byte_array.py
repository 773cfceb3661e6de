"""``ByteArrayConverter``: bytes as they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from moldau.connect.converters.base import ValueAndHeaderConverter
from moldau.connect.data.columns import NULLS, Column
from moldau.connect.data.errors import DataError
from moldau.connect.data.headers import Header
from moldau.connect.data.schema import OPTIONAL_BYTES, Schema, Type
from moldau.connect.data.values import type_name

if TYPE_CHECKING:
    import pyarrow as pa


class ByteArrayConverter(ValueAndHeaderConverter):
    """Passes bytes through, and refuses everything else."""

    has_columns = True

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"ByteArrayConverter takes BYTES, not {schema.type}")
        if value is None or type(value) is bytes:
            return value
        if not isinstance(value, bytes | bytearray | memoryview):
            raise DataError(f"ByteArrayConverter takes BYTES, not {type_name(value)}")
        return bytes(value)

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        return OPTIONAL_BYTES, data

    def from_connect_column(self, column: Column, count: int) -> "pa.Array | None":
        import pyarrow as pa

        if column.schema is not None and column.schema.type is not Type.BYTES:
            return None
        if column.cells == NULLS:
            return pa.nulls(count, pa.binary())
        is_bytes = isinstance(column.cells, pa.Array) and pa.types.is_binary(column.cells.type)
        return column.cells if is_bytes else None

    def to_connect_column(self, data: "pa.Array") -> Column | None:
        if data.null_count == len(data):
            return Column(OPTIONAL_BYTES, NULLS)
        return None if data.null_count else Column(OPTIONAL_BYTES, data)

"""Columns that are computed by a Python function per value, with Arrow on the way.

For formats that Spark reads only with jars that are not in PySpark. Spark hands over whole columns,
the function sees one value at a time and never null.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def decoding_column(
    loads: Callable[[bytes], Any], value_type: "DataType | str"
) -> "Callable[[Column], Column]":
    """A function on binary columns; what ``loads`` raises ``ValueError`` for becomes null."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType

    data_type = value_type if isinstance(value_type, DataType) else DataType.fromDDL(value_type)
    arrow_type = to_arrow_type(data_type, timezone="UTC")

    def decode(column: pa.Array) -> pa.Array:
        def one(data: bytes | None) -> Any:
            if data is None:
                return None
            try:
                return loads(data)
            except ValueError:
                return None

        return pa.array([one(data) for data in column.to_pylist()], type=arrow_type)

    return _udf(decode, data_type)


def encoding_column(dumps: Callable[[Any], bytes]) -> "Callable[[Column], Column]":
    """A function on columns of any type that gives binary."""
    import pyarrow as pa
    from pyspark.sql.types import BinaryType

    def encode(column: pa.Array) -> pa.Array:
        values = column.to_pylist(maps_as_pydicts="strict")
        return pa.array(
            [None if value is None else dumps(value) for value in values], type=pa.binary()
        )

    return _udf(encode, BinaryType())


def _udf(function: Any, returns: "DataType") -> "Callable[[Column], Column]":
    from pyspark.sql.pandas import functions

    # Spark learns from the annotations that whole arrays are meant: they must not be strings. Its
    # stubs know only the older way, by a number.
    arrow_udf: Any = functions.arrow_udf
    udf: Callable[[Column], Column] = arrow_udf(function, returns)
    return udf

"""Columns that are computed by a Python function per value, with Arrow on the way.

For formats that Spark reads only with jars that are not in PySpark, and for functions of the
user's. Spark hands over whole columns, the function sees one plain value at a time and never null.
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

    def loaded(data: bytes) -> Any:
        try:
            return loads(data)
        except ValueError:
            return None

    return mapping_column(loaded, value_type)


def encoding_column(dumps: Callable[[Any], bytes]) -> "Callable[[Column], Column]":
    """A function on columns of any type that gives binary; a map is a dict to ``dumps``."""
    return mapping_column(dumps, "binary", maps_as_pydicts="strict")


def mapping_column(
    function: Callable[[Any], Any], returns: "DataType | str", **plain: Any
) -> "Callable[[Column], Column]":
    """``function`` on columns; ``plain`` says how Arrow makes Python's values, as ``to_pylist``."""
    import pyarrow as pa
    from pyspark.sql.pandas import functions
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType

    data_type = returns if isinstance(returns, DataType) else DataType.fromDDL(returns)
    arrow_type = to_arrow_type(data_type, timezone="UTC")

    # Spark learns from the annotations that whole arrays are meant: they must not be strings. Its
    # stubs know only the older way, by a number.
    def mapped(column: pa.Array) -> pa.Array:
        values = [None if each is None else function(each) for each in column.to_pylist(**plain)]
        return pa.array(values, type=arrow_type)

    arrow_udf: Any = functions.arrow_udf
    udf: Callable[[Column], Column] = arrow_udf(mapped, data_type)
    return udf

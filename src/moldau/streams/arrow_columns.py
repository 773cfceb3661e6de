"""Columns that are computed by a Python function per value, transferred with Arrow.

For formats that Spark reads only with jars that are not part of PySpark, and for users' functions.
Spark passes whole columns; the function gets one plain value at a time and never null.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def decoding_column(
    loads: Callable[[bytes], Any], value_type: "DataType | str"
) -> "Callable[[Column], Column]":
    """A function on binary columns; if ``loads`` raises ``ValueError`` the result is null."""

    def loaded(data: bytes) -> Any:
        try:
            return loads(data)
        except ValueError:
            return None

    return mapping_column(loaded, value_type)


def encoding_column(dumps: Callable[[Any], bytes]) -> "Callable[[Column], Column]":
    """A function from columns of any type to binary; ``dumps`` gets a map as a dict."""
    return mapping_column(dumps, "binary", maps_as_pydicts="strict")


def mapping_column(
    function: Callable[[Any], Any], returns: "DataType | str", **plain: Any
) -> "Callable[[Column], Column]":
    """``function`` on columns; ``plain`` has the arguments of Arrow's ``to_pylist``."""
    import pyarrow as pa
    from pyspark.sql.pandas import functions
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType

    data_type = returns if isinstance(returns, DataType) else DataType.fromDDL(returns)
    arrow_type = to_arrow_type(data_type, timezone="UTC")

    # Spark infers from the annotations that it takes whole arrays: they must not be strings. Its
    # type stubs have only the older way, with a number.
    def mapped(column: pa.Array) -> pa.Array:
        values = [None if each is None else function(each) for each in column.to_pylist(**plain)]
        return pa.array(values, type=arrow_type)

    arrow_udf: Any = functions.arrow_udf
    udf: Callable[[Column], Column] = arrow_udf(mapped, data_type)
    return udf

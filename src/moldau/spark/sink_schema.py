"""The columns of rows that are written: those of Spark's Kafka sink, and ``timestamp``.

Only ``value`` is required. Unknown columns are ignored, as in Spark: rows that were read from a
topic can be written to another one unchanged.
"""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampType,
)

from moldau.spark.errors import PipelineError
from moldau.spark.sink_options import SinkOptions

_HEADERS: Final = "array<struct<key:string,value:binary>>"
_TEXT_OR_BYTES: Final = "string or binary"


def check_sink_schema(schema: StructType, options: SinkOptions) -> None:
    """Check that rows of this schema can be written.

    Raises:
        PipelineError: a column is missing, or has a type that cannot be written.
    """
    types = {field.name: field.dataType for field in schema.fields}
    if "value" not in types:
        raise PipelineError(
            f"there is no column value to be written: there are {', '.join(types) or 'none'}"
        )
    if options.topic is None and "topic" not in types:
        raise PipelineError("no topic is named: set option topic, or give rows a column topic")
    for name in ("key", "value"):
        _check(types, name, (StringType, BinaryType), _TEXT_OR_BYTES)
    if options.topic is None:
        _check(types, "topic", (StringType,), "string")
    _check(types, "partition", (IntegerType,), "int")
    _check(types, "timestamp", (TimestampType,), "timestamp")
    headers = types.get("headers")
    if options.include_headers and headers is not None and not _are_headers(headers):
        raise PipelineError(
            f"column headers is {headers.simpleString()}: {_HEADERS} can be written"
        )


def _check(
    types: dict[str, DataType], name: str, allowed: tuple[type[DataType], ...], expected: str
) -> None:
    kind = types.get(name)
    if kind is not None and not isinstance(kind, allowed):
        also = ", or turn it into text with to_json" if expected is _TEXT_OR_BYTES else ""
        raise PipelineError(
            f"column {name} is {kind.simpleString()}: {expected} can be written; cast it{also}"
        )


def _are_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    pair = [field.dataType for field in kind.elementType.fields]
    return len(pair) == 2 and isinstance(pair[0], StringType) and isinstance(pair[1], BinaryType)

"""The columns of a record in Spark: those of Spark's own Kafka source, with the same types."""

from collections.abc import Iterable
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from moldau.spark.errors import PipelineError

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
}


def source_schema(columns: Iterable[str]) -> StructType:
    """The schema of a query that reads ``columns``."""
    return StructType([StructField(name, _TYPES[name]) for name in columns])


def check_schema(schema: StructType) -> None:
    """Check a user's schema: it may select columns, but not change their types.

    Raises:
        PipelineError: a column does not exist, or has another type.
    """
    for field in schema.fields:
        expected = _TYPES.get(field.name)
        if expected is None:
            raise PipelineError(
                f"the schema has a column {field.name}, which records do not have: "
                f"there are {', '.join(_TYPES)}"
            )
        if field.dataType != expected:
            raise PipelineError(
                f"the schema gives {field.name} the type {field.dataType.simpleString()}: "
                f"it is read as {expected.simpleString()}, and can be cast in the query"
            )

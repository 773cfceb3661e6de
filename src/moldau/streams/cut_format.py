"""The records of an internal topic, where a topology was cut.

Nobody chose serdes for these rows, and their types are known only to Spark. Both sides of a cut are
compiled from the same topology, so the reader derives the types from what is before the cut. The
key of the record is the row's key as JSON, with the window where there is one: rows that replace
each other have the same key, and a topic of table changes can be compacted. A null value is null in
the topic too, which is a deletion there.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from moldau.streams.compiling import Compilation
    from moldau.streams.topology import Build, Node

# To the microsecond, with the zone: what Spark writes by default ends at the millisecond.
_OPTIONS: Final = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
_KEY: Final = ("key", "window")


def write_cut(_: "Compilation", rows: "DataFrame") -> "DataFrame":
    """The records for the internal topic."""
    from pyspark.sql import functions as F

    key = F.struct(*(name for name in _KEY if name in rows.columns))
    value = F.when(F.col("value").isNotNull(), _json(F.struct("value")))
    headers = [name for name in ("headers",) if name in rows.columns]
    return rows.select(_json(key).alias("key"), value.alias("value"), "timestamp", *headers)


def read_cut(before: "Node") -> "Build":
    """Gives back the rows of ``before``, the node whose rows were written."""

    def build(compilation: "Compilation", records: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        types = compilation.frame(before).schema
        key_type = _types(types, [name for name in _KEY if name in types.names])
        value_type = _types(types, ["value"])
        kept = [name for name in ("timestamp", "offset", "headers") if name in records.columns]
        return records.select(
            F.from_json(F.col("key").cast("string"), key_type, _OPTIONS).alias("row_key"),
            F.from_json(F.col("value").cast("string"), value_type, _OPTIONS).alias("row"),
            *kept,
        ).select("row_key.*", "row.value", *kept)

    return build


def _types(rows: "StructType", names: list[str]) -> "StructType":
    """Only names and types: Spark's marks of event time belong to the query before the cut."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, rows[name].dataType) for name in names])


def _json(struct: "Column") -> "Column":
    from pyspark.sql import functions as F

    return F.to_json(struct, _OPTIONS).cast("binary")

"""The records of an internal topic, where a topology was cut.

Nobody chose serdes for these rows, and their types are known only to Spark. Both sides of a cut are
compiled from the same topology, so the reader derives the types from what is before the cut. Spark
reads no map from JSON unless its keys are strings: others cross as lists of their entries. The
key of the record is the row's key as JSON, with the window where there is one: rows that replace
each other have the same key, and a topic of table changes can be compacted. A null value is null in
the topic too, which is a deletion there.
"""

from typing import TYPE_CHECKING, Final

from moldau.streams.json_types import from_json_type, json_type, to_json_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from moldau.streams.compiling import Compilation
    from moldau.streams.topology import Build, Node

# To the microsecond: what Spark writes by default ends at the millisecond.
_OPTIONS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_KEY: Final[tuple[str, ...]] = ("key", "window")


def write_cut(_: "Compilation", rows: "DataFrame") -> "DataFrame":
    """The records for the internal topic."""
    from pyspark.sql import functions as F

    types = rows.schema
    crossing = {
        name: to_json_type(F.col(name), types[name].dataType).alias(name)
        for name in (*_KEY, "value")
        if name in rows.columns
    }
    key = F.struct(*(crossing[name] for name in _KEY if name in crossing))
    value = F.when(F.col("value").isNotNull(), _json(F.struct(crossing["value"])))
    headers = [name for name in ("headers",) if name in rows.columns]
    return rows.select(_json(key).alias("key"), value.alias("value"), "timestamp", *headers)


def read_cut(before: "Node") -> "Build":
    """Gives back the rows of ``before``, the node whose rows were written."""

    def build(compilation: "Compilation", records: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        types = compilation.frame(before).schema
        keys = [name for name in _KEY if name in types.names]
        kept = [name for name in ("timestamp", "offset", "headers") if name in records.columns]
        parsed = records.select(
            F.from_json(F.col("key").cast("string"), _types(types, keys), _OPTIONS).alias("key"),
            F.from_json(F.col("value").cast("string"), _types(types, ["value"]), _OPTIONS).alias(
                "row"
            ),
            *kept,
        )
        crossed = {name: F.col(f"key.{name}") for name in keys} | {"value": F.col("row.value")}
        named = [
            from_json_type(each, types[name].dataType).alias(name) for name, each in crossed.items()
        ]
        return parsed.select(*named, *kept)

    return build


def _types(rows: "StructType", names: list[str]) -> "StructType":
    """Only names and types: Spark's marks of event time belong to the query before the cut."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, json_type(rows[name].dataType)) for name in names])


def _json(struct: "Column") -> "Column":
    from pyspark.sql import functions as F

    return F.to_json(struct, _OPTIONS).cast("binary")

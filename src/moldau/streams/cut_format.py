"""The records of an internal topic, where a topology was cut.

Keys and values are JSON: these rows have no serdes, and only Spark knows their types. Both sides of
a cut are compiled from the same topology, so the reader derives the types from the nodes before the
cut. Spark cannot read a map from JSON unless its keys are strings: others are written as lists of
entries. The key of a record is the row's key, with the window if there is one: rows that replace
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

# With microseconds: Spark's default has only milliseconds.
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
    """Restores the rows of ``before``, the node whose rows were written."""

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
    """Only names and types: Spark's event-time metadata belongs to the query before the cut."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, json_type(rows[name].dataType)) for name in names])


def _json(struct: "Column") -> "Column":
    from pyspark.sql import functions as F

    return F.to_json(struct, _OPTIONS).cast("binary")

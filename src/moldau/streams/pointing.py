"""Rows of a table by another key than their own: the first step of foreign-key joins and groupings.

A row points to a key that is computed from it. When it changes, the place it pointed to before must
hear of it as well as the one it points to now, so the state is where each row points. What comes
out are messages to those places: which row comes, changes or goes. Whoever reads them keeps the
rows that point to a key, so that a message may come twice.

Spark cannot chain this with the operator behind it: the plan puts an internal topic between them.
The key of a message there is that of the row, not that of the place. So all messages about a row
are in one partition, and whoever reads them, however little at a time, hears that a row has left
one place no later than that it has come to another. At the end of each micro-batch a row is in one
place at most, and only that one speaks of it.
"""

from typing import TYPE_CHECKING

from moldau.streams.compiling import Compilation
from moldau.streams.functions import Function, call, column
from moldau.streams.keyed_state import struct_type, transform, with_offset
from moldau.streams.rows import Rows
from moldau.streams.topology import UPDATE, Node, NodeKind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def pointing(
    table: Rows, on: Function, operator: str, detail: str, *, name: str | None = None
) -> Node:
    """The messages of the rows of ``table`` to the keys that ``on`` gives; null means nowhere."""

    def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        from moldau.streams.table_processors import PointFromRow

        foreign = F.when(F.col("value").isNotNull(), column(call(on, rows)))
        pointed = with_offset(rows).withColumn("foreign", foreign).where(F.col("key").isNotNull())
        if table.windows is not None:
            pointed = pointed.withColumn("key", _key_of_window()).drop("window")
        types = {field.name: field.dataType for field in pointed.schema.fields}
        returns = struct_type(
            key=types["key"],
            value=struct_type(foreign=types["foreign"], row=types["value"], moved="boolean"),
            timestamp="timestamp",
        )
        return transform(pointed, ["key"], PointFromRow(), returns, output_mode=UPDATE)

    return table.topology.add(
        NodeKind.STATEFUL,
        operator,
        table.node,
        name=name,
        detail=detail,
        spark="groupBy(key).transformWithState",
        build=build,
        modes=(UPDATE,),
    )


def by_place(messages: "DataFrame") -> "DataFrame":
    """``messages`` by the key that they are for, in whose value is the key of the row."""
    from pyspark.sql import functions as F

    value = F.struct(F.col("key").alias("row_key"), "value.row", "value.moved")
    ordered = with_offset(messages)
    return ordered.select(
        F.col("value.foreign").alias("key"), value.alias("value"), "timestamp", "offset"
    )


def _key_of_window() -> "Column":
    """Each window of a key is a row of its own; as text, for its key only has to be another."""
    from pyspark.sql import functions as F

    start, end = (F.unix_micros(f"window.{name}").alias(name) for name in ("start", "end"))
    return F.to_json(F.struct("key", start, end))

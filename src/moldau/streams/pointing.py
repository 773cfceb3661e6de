"""Maps rows of a table to another key: the first step of foreign-key joins and table groupings.

A row points to a target key that is computed from it. When the row changes, both its previous and
its new target must be notified, so the state is the target of each row. The output is messages to
the targets: which row is added, changed or removed. The reader keeps the rows that point to each
target, so that duplicate messages do no harm.

Spark cannot chain this with the next operator: the plan puts an internal topic between them. The
key of a message there is that of the row, not the target. So all messages about a row are in one
partition, and in whatever portions they are read, the removal of a row from one target is read no
later than its addition to another. At the end of each micro-batch a row has at most one target, and
only that one emits results for it.
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
    """The messages of the rows of ``table`` to the keys that ``on`` returns; null is no target."""

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
    """``messages`` by their target key; the value includes the key of the row."""
    from pyspark.sql import functions as F

    value = F.struct(F.col("key").alias("row_key"), "value.row", "value.moved")
    ordered = with_offset(messages)
    return ordered.select(
        F.col("value.foreign").alias("key"), value.alias("value"), "timestamp", "offset"
    )


def _key_of_window() -> "Column":
    """A key for each window of a key, as text: it only has to be unique."""
    from pyspark.sql import functions as F

    start, end = (F.unix_micros(f"window.{name}").alias(name) for name in ("start", "end"))
    return F.to_json(F.struct("key", start, end))

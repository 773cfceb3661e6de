"""Joins of two tables: the result changes whenever one of them does.

Both inputs are streams of changes, and the state is the latest value of each side. With the primary
key, one state per key has both values. A foreign-key join has two steps, as in Kafka Streams: the
first, by left key, tells each foreign key which rows point to it (``pointing``); the second, by
foreign key, keeps the right value and all left rows that point to it. Rows without a foreign key
are kept separately, one by one.

A result that is no longer valid is deleted by a null value. When a row moves from one foreign key
to another only the new one emits a result, so that a late deletion cannot remove the new result.
"""

from typing import TYPE_CHECKING, Any

from moldau.streams.compiling import Compilation
from moldau.streams.functions import Function
from moldau.streams.keyed_state import struct_type, transform, with_offset
from moldau.streams.pointing import by_place, pointing
from moldau.streams.rows import Rows
from moldau.streams.stream_joins import check_how, joined_value
from moldau.streams.topology import UPDATE, Node, NodeKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def join_tables(
    left: Rows, right: Rows, joiner: Function | None, *, how: str, name: str | None
) -> Node:
    check_how(how, "inner", "left", "outer")
    for side in (left, right):
        side.refuse_windows("be joined")

    def build(_: Compilation, lefts: "DataFrame", rights: "DataFrame") -> "DataFrame":
        from moldau.streams.table_processors import JoinSides

        both = _sides(lefts, rights)
        types = struct_type(
            key=lefts.schema["key"].dataType,
            left=lefts.schema["value"].dataType,
            right=rights.schema["value"].dataType,
            is_there="boolean",
            timestamp="timestamp",
        )
        joined = transform(both, ["key"], JoinSides(how), types, output_mode=UPDATE)
        return _with_joined_value(joined, joiner)

    return left.topology.add(
        NodeKind.STATEFUL,
        "join",
        left.node,
        right.node,
        name=name,
        detail=f"{how}, table with table",
        spark="union, groupBy(key).transformWithState",
        build=build,
        modes=(UPDATE,),
        is_table=True,
    )


def join_on_foreign_key(
    left: Rows,
    right: Rows,
    joiner: Function | None,
    *,
    on: Function,
    how: str,
    name: str | None,
) -> Node:
    check_how(how, "inner", "left")
    for side in (left, right):
        side.refuse_windows("be joined")
    pointed = pointing(left, on, "foreign_key", "where each row points, and pointed before")
    return left.topology.add(
        NodeKind.STATEFUL,
        "join",
        pointed,
        right.node,
        name=name,
        detail=f"{how}, by foreign key",
        spark="union, groupBy(foreign key).transformWithState",
        build=_pointed_to(joiner, how),
        modes=(UPDATE,),
        is_table=True,
    )


def _pointed_to(joiner: Function | None, how: str) -> Any:
    def build(_: Compilation, messages: "DataFrame", rights: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        from moldau.streams.table_processors import JoinPointed

        messages = by_place(messages)
        message: Any = messages.schema["value"].dataType
        types = struct_type(
            key=message["row_key"].dataType,
            left=message["row"].dataType,
            right=rights.schema["value"].dataType,
            is_there="boolean",
            timestamp="timestamp",
        )
        # Rows without a foreign key must not all be in the same group.
        alone = F.when(F.col("key").isNull(), F.col("left.row_key"))
        both = _sides(messages, rights, with_nulls=True).withColumn("alone", alone)
        joined = transform(both, ["key", "alone"], JoinPointed(how), types, output_mode=UPDATE)
        return _with_joined_value(joined, joiner)

    return build


def _sides(lefts: "DataFrame", rights: "DataFrame", *, with_nulls: bool = False) -> "DataFrame":
    """Both sides as one stream; ``is_left`` tells which of the two values a row has.

    Rows with a null key are dropped, except those on the left with ``with_nulls``.
    """
    from pyspark.sql import functions as F

    def side(rows: "DataFrame", *, is_left: bool) -> "DataFrame":
        nothing = F.lit(None)
        left = F.col("value") if is_left else nothing.cast(lefts.schema["value"].dataType)
        right = nothing.cast(rights.schema["value"].dataType) if is_left else F.col("value")
        return (
            with_offset(rows)
            .where(F.lit(with_nulls and is_left) | F.col("key").isNotNull())
            .select(
                "key",
                F.lit(is_left).alias("is_left"),
                left.alias("left"),
                right.alias("right"),
                "timestamp",
                "offset",
            )
        )

    return side(lefts, is_left=True).unionByName(side(rights, is_left=False))


def _with_joined_value(joined: "DataFrame", joiner: Function | None) -> "DataFrame":
    from pyspark.sql import functions as F

    value = joined_value(joiner, joined, "left", "right")
    return joined.select("key", F.when(F.col("is_there"), value).alias("value"), "timestamp")

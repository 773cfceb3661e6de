"""Joins of a stream: with another stream within a time span, and with a table by lookup.

A join of two streams keeps the records of both sides as state until the watermark rules out any
further match; a join with a table has no state, because the table is read in each micro-batch.
"""

from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation
from moldau.streams.durations import Duration, duration, readable, spark_interval
from moldau.streams.functions import Function, call, column, describe
from moldau.streams.rows import Rows
from moldau.streams.topology import APPEND, Node, NodeKind
from moldau.streams.windows import with_watermark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SPARK_HOW: Final = {"inner": "inner", "left": "left_outer", "outer": "full_outer"}


def join_streams(
    left: Rows,
    right: Rows,
    joiner: Function | None,
    *,
    how: str,
    within: Duration | None,
    grace: Duration,
    name: str | None,
) -> Node:
    check_how(how, "inner", "left", "outer")
    if within is None:
        raise PipelineError(
            "a join of two streams needs within='5 minutes': how far apart the timestamps of the "
            "two records may be"
        )
    for side in (left, right):
        side.refuse_windows("be joined")
    span, late = duration(within), duration(grace)

    def build(_: Compilation, lefts: "DataFrame", rights: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        one = _side(with_watermark(lefts, late), "left")
        two = _side(with_watermark(rights, late), "right")
        around = F.expr(f"interval {spark_interval(span)}")
        is_near = F.col("right_timestamp").between(
            F.col("left_timestamp") - around, F.col("left_timestamp") + around
        )
        joined = one.join(two, (F.col("left_key") == F.col("right_key")) & is_near, _SPARK_HOW[how])
        # The later of the two, as in Kafka Streams; greatest() ignores nulls.
        return joined.select(
            F.coalesce("left_key", "right_key").alias("key"),
            joined_value(joiner, joined, "left", "right").alias("value"),
            F.greatest("left_timestamp", "right_timestamp").alias("timestamp"),
        )

    return left.topology.add(
        NodeKind.STATEFUL,
        "join",
        left.node,
        right.node,
        name=name,
        detail=f"{how}, within {readable(span)}, grace {readable(late)}",
        spark="withWatermark, join on key and a range of time",
        build=build,
        modes=(APPEND,),
    )


def join_with_table(
    stream: Rows,
    table: Rows,
    joiner: Function | None,
    *,
    how: str,
    on: Function | None,
    name: str | None,
) -> Node:
    check_how(how, "inner", "left")
    table.refuse_windows("be looked up")

    def build(_: Compilation, rows: "DataFrame", looked_up: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        wanted = column(call(on, rows)) if on is not None else F.col("key")
        values = looked_up.where(F.col("value").isNotNull()).select(
            F.col("key").alias("table_key"), F.col("value").alias("table_value")
        )
        joined = rows.withColumn("wanted", wanted).join(
            values, F.col("wanted") == F.col("table_key"), _SPARK_HOW[how]
        )
        value = joined_value(joiner, joined, "value", "table_value")
        others = [each for each in rows.columns if each not in ("key", "value")]
        return joined.select("key", value.alias("value"), *others)

    return stream.topology.add(
        NodeKind.STATELESS,
        "join",
        stream.node,
        table.node,
        name=name,
        detail=f"{how}, looked up in {table.node.name}",
        spark="join with a DataFrame that is read in each micro-batch",
        build=build,
        lookup=table.node,
    )


def joined_value(joiner: Function | None, rows: "DataFrame", left: str, right: str) -> "Column":
    """The result of ``joiner`` for the columns ``left`` and ``right`` of ``rows``."""
    from pyspark.sql import functions as F

    from moldau.streams.fields import typed

    if joiner is None:
        return column({"left": F.col(left), "right": F.col(right)})
    types = rows.schema
    try:
        result: Any = joiner(*(typed(F.col(name), types[name].dataType) for name in (left, right)))
    except TypeError as error:
        raise PipelineError(f"{describe(joiner)} joins two values: {error}") from error
    return column(result)


def check_how(how: str, *allowed: str) -> None:
    if how not in allowed:
        raise PipelineError(f"how={how!r} is not possible here: it can be {', '.join(allowed)}")


def _side(rows: "DataFrame", name: str) -> "DataFrame":
    from pyspark.sql import functions as F

    return rows.select(
        F.col("key").alias(f"{name}_key"),
        F.col("value").alias(name),
        F.col("timestamp").alias(f"{name}_timestamp"),
    )

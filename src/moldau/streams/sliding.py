"""Sliding windows: for each record, an aggregate over the records shortly before it.

Spark has no such windows, so a join computes them: each distinct timestamp of a key's records is
the end of a window, and is joined with the key's records in the time before it. All three operators
run in append mode in one query, so a result is emitted when the watermark has passed the window's
end.

Kafka Streams also has windows that start just after a record, and so have the same records without
the oldest; those are not computed here.
"""

from typing import TYPE_CHECKING

from moldau.streams.durations import spark_interval
from moldau.streams.windows import SlidingWindows, with_watermark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def aggregate_sliding(rows: "DataFrame", windows: SlidingWindows, value: "Column") -> "DataFrame":
    """``value`` for each key and each window that ends with a record."""
    from pyspark.sql import functions as F

    marked = with_watermark(rows, windows.grace)
    back = F.expr(f"interval {spark_interval(windows.difference)}")
    # Two records with the same timestamp end one window, not two.
    ends = marked.select(
        F.col("key").alias("end_key"), F.col("timestamp").alias("end")
    ).dropDuplicates(["end_key", "end"])
    is_inside = F.col("timestamp").between(F.col("end") - back, F.col("end"))
    inside = ends.join(marked, (F.col("end_key") == F.col("key")) & is_inside)
    return (
        inside.groupBy("key", "end")
        .agg(value)
        .select(
            "key",
            F.struct((F.col("end") - back).alias("start"), F.col("end")).alias("window"),
            "value",
            F.col("end").alias("timestamp"),
        )
    )

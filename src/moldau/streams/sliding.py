"""Sliding windows: for each record, an aggregate over the records shortly before it.

Spark has no such windows. A join has them: each moment in which a key has a record is the end of a
window, and joins with the key's records up to so long before. All three operators run in append
mode in one query, so a result comes when the watermark has passed the end of the window.

Kafka Streams also has windows that begin just after a record, and so hold the same records without
the oldest; those are not made here.
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
    # Two records in one moment end one window, not two.
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

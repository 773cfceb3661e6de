"""Moldau for Apache Spark: a session that is ready to use, and ``format("moldau")``.

    import moldau.spark

    spark = moldau.spark.session()
    orders = (
        spark.readStream.format("moldau")
        .option("kafka.bootstrap.servers", "localhost:9092")
        .option("subscribe", "orders")
        .load()
    )

``orders.write.format("moldau")`` and ``writeStream`` write rows back to a topic, at least once;
``moldau.spark.exactly_once(orders, ...)`` writes a stream exactly once.

``moldau.spark.register(spark)`` adds the format to a session that was created elsewhere.
"""

from moldau.spark.delivery import exactly_once
from moldau.spark.errors import PipelineError, one_line, readable_errors
from moldau.spark.session import register, session

__all__ = [
    "PipelineError",
    "exactly_once",
    "one_line",
    "readable_errors",
    "register",
    "session",
]

"""Apache Spark with Moldau in it: a session that is ready to use, and ``format("moldau")``.

    import moldau.spark

    spark = moldau.spark.session()
    orders = (
        spark.readStream.format("moldau")
        .option("kafka.bootstrap.servers", "localhost:9092")
        .option("subscribe", "orders")
        .load()
    )

A session that was made elsewhere learns the format by ``moldau.spark.register(spark)``.
"""

from moldau.spark.errors import PipelineError, one_line, readable_errors
from moldau.spark.session import register, session

__all__ = ["PipelineError", "one_line", "readable_errors", "register", "session"]

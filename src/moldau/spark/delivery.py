"""A stream into topics, each row exactly once.

What ``writeStream.format("moldau")`` cannot be: a sink of Spark's gets rows task by task, and a
transaction wants each partition written by one task, and one owner for all of them. So this is a
function that starts the query, on ``foreachBatch``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moldau.spark.errors import PipelineError, pipeline_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def exactly_once(
    rows: "DataFrame",
    *,
    checkpoint: str,
    bootstrap: str,
    topic: str | None = None,
    options: Mapping[str, str] | None = None,
    output_mode: str = "append",
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> "StreamingQuery":
    """Start a query that writes ``rows`` to topics, each row exactly once.

    ``rows`` has the columns of ``format("moldau")``, and ``options`` are its options. The
    ``checkpoint`` belongs to this query alone. ``trigger`` is what ``DataStreamWriter.trigger``
    takes: ``{"availableNow": True}``, ``{"processingTime": "1 second"}``.

    Raises:
        PipelineError: an option or a column is wrong, the cluster cannot be reached or has no
            transactions, or Spark is set to run tasks twice.
    """
    # Only who uses Spark pays for importing it.
    from moldau.spark.checkpoint_note import CheckpointNote
    from moldau.spark.sink import sink_options
    from moldau.spark.transactional_sink import MarkRefresher, TransactionalWriter

    given = {**(options or {}), "kafka.bootstrap.servers": bootstrap}
    if topic is not None:
        given["topic"] = topic
    parsed = sink_options(given, rows.schema)
    if not parsed.producing.is_idempotent:
        raise PipelineError(
            "exactly once needs kafka.acks=all and kafka.enable.idempotence=true: leave them out"
        )
    spark = rows.sparkSession
    _check_session(spark)
    writer = TransactionalWriter(parsed, CheckpointNote(spark, checkpoint))
    with pipeline_errors():
        writer.check_cluster()
    stream = rows.writeStream.foreachBatch(writer.write).outputMode(output_mode)
    stream = stream.option("checkpointLocation", checkpoint)
    if trigger is not None:
        stream = stream.trigger(**trigger)
    if name is not None:
        stream = stream.queryName(name)
    query = stream.start()
    MarkRefresher(writer, query).start()
    return query


def _check_session(spark: "SparkSession") -> None:
    if spark.sparkContext.getConf().get("spark.speculation", "false") == "true":
        raise PipelineError(
            "spark.speculation=true runs tasks twice, which a transaction cannot have: set it to "
            "false for a session that writes exactly once"
        )

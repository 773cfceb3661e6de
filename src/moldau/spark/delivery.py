"""Writes a stream to topics, each row exactly once.

``writeStream.format("moldau")`` cannot do this: a Spark sink gets rows task by task, but a
transaction needs each partition to be written by one task, and a single owner. So this is a
function that starts the query, based on ``foreachBatch``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moldau.spark.errors import PipelineError, pipeline_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
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
    ``checkpoint`` must not be shared with other queries. ``trigger`` has the arguments of
    ``DataStreamWriter.trigger``: ``{"availableNow": True}``, ``{"processingTime": "1 second"}``.

    Raises:
        PipelineError: an option or a column is invalid, the cluster cannot be reached or does not
            support transactions, or ``spark.speculation`` is on.
    """
    # Imported here, so that only users of Spark pay for it.
    from moldau.spark.checkpoint_note import CheckpointNote
    from moldau.spark.mark_renewal import MarkRenewal
    from moldau.spark.sink import sink_options
    from moldau.spark.transactional_sink import TransactionalWriter

    given = {**(options or {}), "kafka.bootstrap.servers": bootstrap}
    if topic is not None:
        given["topic"] = topic
    parsed = sink_options(given, rows.schema)
    if not parsed.producing.is_idempotent:
        raise PipelineError(
            "exactly once needs kafka.acks=all and kafka.enable.idempotence=true: leave them out"
        )
    spark = rows.sparkSession
    refuse_speculation(spark.sparkContext.getConf().get("spark.speculation", "false"))
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
    MarkRenewal(writer, query).start()
    return query


def refuse_speculation(setting: str | None) -> None:
    """Raise PipelineError if ``spark.speculation`` is true, in any spelling that Spark accepts."""
    if (setting or "").strip().lower() == "true":
        raise PipelineError(
            f"spark.speculation={setting} runs tasks twice, which a transaction cannot have: set "
            "it to false for a session that writes exactly once"
        )

"""Writes a stream to a topic with a ledger: each micro-batch counts once, without transactions.

The tasks of a batch write their rows as in an at-least-once write, and report the offsets. When
all are done the driver appends the batch to the ledger (``batch_ledger``), which makes it visible
to readers. If Spark repeats a batch that is in the ledger it is computed, to update the query's
state, but not written.

The topic has no other writer, and is read by ``format("moldau-ledger")`` (``ledger_source``).
"""

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from moldau.client.offsets import LATEST, list_offsets
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark.batch_ledger import Ledger, LedgerTopic, Span, Step, merged, next_step
from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.spark.sink_options import SinkOptions
from moldau.spark.transactional_sink import QUERY_ID, spark_errors
from moldau.spark.writing import send_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

PLACES: Final = "partition int, first long, last long"
_PLACES: Final = pa.schema([("partition", pa.int32()), ("first", pa.int64()), ("last", pa.int64())])


class LedgerWriter:
    """Writes micro-batches and their ledger, on the driver."""

    def __init__(self, options: SinkOptions, ledger_topic: str) -> None:
        assert options.topic is not None, "a ledger is about one topic"
        self._topic = options.topic
        # The offsets of rows are known only if the brokers acknowledge them.
        producing = options.producing._replace(acks=-1, is_idempotent=True)
        self._options = SinkOptions(
            options.client, producing, options.topic, options.include_headers
        )
        client = options.client
        self._producer = Producer(
            client.bootstrap,
            client_id=client.client_id,
            linger_ms=0,
            timeout_s=client.timeout_s,
            security=client.security,
        )
        self._cluster = self._producer.cluster
        self._ledger = LedgerTopic(self._cluster, ledger_topic)

    def begin(self) -> None:
        """Create the ledger before the first batch: records already in the topic count.

        Raises:
            PipelineError: the brokers cannot be reached.
        """
        with pipeline_errors():
            if self._ledger.read() is None:
                self._ledger.append(self._producer, Ledger(self._ends(), {}))

    def write(self, rows: "DataFrame", batch_id: int) -> None:
        """Write one micro-batch unless it is already written (Spark's ``foreachBatch``)."""
        with spark_errors(), pipeline_errors():
            query_id = rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
            assert query_id is not None, "a micro-batch belongs to a query"
            ledger = self._ledger.read()
            if ledger is None:
                raise PipelineError(f"the ledger of {self._topic} is gone: start the app again")
            step = next_step(ledger, query_id, batch_id)
            if step is Step.SKIP:
                # The batch must be computed, or the next one would not find its state.
                rows.write.format("noop").mode("overwrite").save()
                return
            if step is Step.BEGIN:
                ledger = Ledger(self._ends(), ledger.dead, query_id, batch_id - 1)
                self._ledger.append(self._producer, ledger)
            written = write_places(rows, self._options)
            done = ledger.after(query_id, batch_id, self._ends(), written)
            self._ledger.append(self._producer, done)

    def close_with(self, query: "StreamingQuery") -> None:
        """Close the connections when ``query`` has ended."""

        def wait() -> None:
            try:
                query.awaitTermination()
            except Exception:
                # The caller that runs the query gets it.
                pass
            finally:
                self._producer.close()

        threading.Thread(target=wait, name="moldau-ledger", daemon=True).start()

    def _ends(self) -> dict[int, int]:
        def ask() -> dict[int, int]:
            self._cluster.refresh([self._topic])
            partitions = [
                TopicPartition(self._topic, each.partition)
                for each in self._cluster.topic(self._topic).partitions
            ]
            found = list_offsets(self._cluster, dict.fromkeys(partitions, LATEST))
            return {each.partition: found[each].offset for each in partitions}

        return self._cluster.retrying(ask, [self._topic])


def write_places(rows: "DataFrame", options: SinkOptions) -> dict[int, list[Span]]:
    """Write ``rows``, and return the spans of their offsets by partition.

    The records of failed attempts are not among them.

    Raises:
        PipelineError: a row cannot be written, or the brokers reject it.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return iter([_as_arrow(write_task(batches, options))])

    spans: dict[int, list[Span]] = {}
    for partition, first, last in rows.mapInArrow(write, PLACES).collect():
        spans.setdefault(partition, []).append((first, last))
    return {partition: merged(each) for partition, each in spans.items()}


def write_task(
    batches: Iterable[pa.RecordBatch], options: SinkOptions
) -> dict[TopicPartition, list[Span]]:
    """Write the rows of one task, and return the spans of their offsets.

    Raises:
        PipelineError: as ``write_rows``, or a broker returns no offset.
    """
    spans: dict[TopicPartition, list[Span]] = {}
    for partition, first, count in send_rows(batches, options).places:
        if first < 0:
            raise PipelineError(f"the broker does not say at which offset of {partition} rows are")
        spans.setdefault(partition, []).append((first, first + count))
    return {partition: merged(each) for partition, each in spans.items()}


def _as_arrow(spans: dict[TopicPartition, list[Span]]) -> pa.RecordBatch:
    rows = [
        {"partition": partition.partition, "first": first, "last": last}
        for partition, each in spans.items()
        for first, last in each
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_PLACES)

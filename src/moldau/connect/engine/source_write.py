"""A source's part that runs in Spark's tasks: writes records to their topics.

The records of a micro-batch are in one task. With a transaction the task also writes the source's
offsets, as records of the offsets topic: both become visible together. Such a task must not run
twice, so it refuses to when Spark tries it again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.connect.engine.source_rows import as_batch, last_offsets
from moldau.connect.stores import offset_records
from moldau.ids import TopicPartition
from moldau.spark.encoding import EncodedRecords
from moldau.spark.errors import PipelineError, is_outage, pipeline_errors
from moldau.spark.reading import cluster_in_task
from moldau.spark.sink_options import SinkOptions
from moldau.spark.worker_garbage import freeze_modules
from moldau.spark.writing import BatchWriter, encoder_of, new_sender, send_rows

REPORT: Final = (
    "progress array<string>, topics array<string>, records long, failure string, "
    "is_outage boolean, left_out long, reasons array<string>"
)
_REPORT: Final = pa.schema(
    [
        ("progress", pa.list_(pa.string())),
        ("topics", pa.list_(pa.string())),
        ("records", pa.int64()),
        ("failure", pa.string()),
        ("is_outage", pa.bool_()),
        ("left_out", pa.int64()),
        ("reasons", pa.list_(pa.string())),
    ]
)
# Of one batch: enough to see what is wrong.
_MAX_REASONS: Final = 100
_TRIED_AGAIN: Final = (
    "a task was run again while it wrote a transaction, because a worker died: nothing of the "
    "batch is committed"
)


class TriedAgain(PipelineError):  # noqa: N818  # what happened, in two words
    """An executor died in the middle of a transaction: the connector has to start again."""


class WriteReport(NamedTuple):
    """What a task of a source has written."""

    # JSON, in the order of the rows.
    progress: list[str]
    topics: list[str]
    records: int
    failure: str | None = None
    # The brokers could not be reached, or an executor died: not the connector's fault.
    is_outage: bool = False
    # Records that brokers refuse, and why: where that is tolerated.
    left_out: int = 0
    reasons: Sequence[str] = ()


class InTransaction(NamedTuple):
    """The transaction that a task writes in, and where the offsets go."""

    identity: TransactionIdentity
    connector: str
    offsets_topic: str


def write_task(
    batches: Iterator[pa.RecordBatch],
    options: SinkOptions,
    transaction: InTransaction | None,
    *,
    is_tolerant: bool,
) -> Iterator[pa.RecordBatch]:
    """Write the rows of one task; yields its report.

    Records that brokers refuse are left out if that is tolerated, but never in a transaction: as in
    Kafka that has all records or fails.
    """
    rows = _Rows(batches)
    reasons: list[str] = []
    left_out = 0

    def leave_out(count: int, reason: str) -> None:
        nonlocal left_out
        left_out += count
        if len(reasons) < _MAX_REASONS:
            reasons.append(reason)

    try:
        with pipeline_errors():
            if transaction is None:
                writer = send_rows(rows.records(), options, leave_out if is_tolerant else None)
                rows.topics = {partition.topic for partition, _, _ in writer.places}
            else:
                _send(rows, options, transaction)
        report = WriteReport(
            rows.progress, sorted(rows.topics), rows.count, left_out=left_out, reasons=reasons
        )
    except PipelineError as error:
        is_passing = is_outage(error) or isinstance(error, TriedAgain)
        report = WriteReport([], [], 0, str(error), is_passing)
    arrays = [pa.array([each], field.type) for each, field in zip(report, _REPORT, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, schema=_REPORT)
    freeze_modules()


class _Rows:
    """The records of all pieces of a task, and how far the source is read with them."""

    def __init__(self, pieces: Iterable[pa.RecordBatch]) -> None:
        self._pieces = pieces
        self.progress: list[str] = []
        self.topics: set[str] = set()
        self.count = 0

    def records(self) -> Iterator[pa.RecordBatch]:
        for rows in self._pieces:
            for piece in rows.to_pylist():
                for batch in _open(piece["path"], piece["data"]):
                    if batch.num_rows:
                        self.topics.update(pc.unique(batch.column("topic")).to_pylist())
                        self.count += batch.num_rows
                        yield batch
                self.progress.append(piece["progress"])


def _open(path: str | None, data: bytes | None) -> Iterator[pa.RecordBatch]:
    source = pa.memory_map(path) if path is not None else pa.BufferReader(data)
    with source, pa.ipc.open_stream(source) as reader:
        yield from reader


def _send(rows: _Rows, options: SinkOptions, transaction: InTransaction) -> None:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        raise TriedAgain(_TRIED_AGAIN)
    cluster = cluster_in_task(options.client)
    identity = transaction.identity
    sender = new_sender(cluster, options.producing, identity.producer())
    known: set[TopicPartition] = set()

    def add(pieces: list[EncodedRecords]) -> None:
        new = {piece.partition for piece in pieces} - known
        if new:
            Transactions(cluster).add_partitions(identity, new)
            known.update(new)
        for piece in pieces:
            writer.add(piece)
        writer.send()

    with BatchWriter(sender, options.producing.codec) as writer:
        encoder = encoder_of(cluster, options)
        for batch in rows.records():
            add(list(encoder.encode(batch)))
        if rows.progress:
            add(list(encoder.encode(_offset_rows(rows.progress, transaction))))


def _offset_rows(progress: list[str], transaction: InTransaction) -> pa.RecordBatch:
    """The records of the offsets topic for the last offset of each partition."""
    made = [
        offset_records.encode(transaction.connector, partition, offset)
        for partition, offset in last_offsets(progress)
    ]
    topic = transaction.offsets_topic
    return as_batch([(topic, None, key, value, None, None) for key, value in made])

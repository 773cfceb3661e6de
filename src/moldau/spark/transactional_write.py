"""The two stages that write a micro-batch within one transaction.

Within a transaction the batches of a partition have consecutive sequence numbers, so each target
partition is written by exactly one task. Shuffling the rows for that would cost more than writing
them. So the first stage does the expensive work: it encodes rows into the records of batches,
hundreds of them to a piece. Only the pieces are shuffled, on a single machine only their locations
(``piece_files``); the second stage adds the batch headers and sends them.

A task of the second stage must not run twice: the records that its first attempt sent are already
part of the transaction. So it does not fail on errors but reports them, and refuses to run if
Spark retries it anyway (a worker died). Any error or retry in the reports aborts the transaction.
"""

import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.ids import TopicPartition
from moldau.spark.encoding import EncodedRecords
from moldau.spark.errors import BrokersAway, PipelineError, is_outage, pipeline_errors
from moldau.spark.piece_files import PieceFile, PieceReader, Place, piece_folder
from moldau.spark.reading import cluster_in_task
from moldau.spark.sink_options import SinkOptions
from moldau.spark.writing import BatchWriter, encoder_of, new_sender

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The records are either in the row or in a file.
PIECES: Final = (
    "writer int, topic string, partition int, count int, base_timestamp long, max_timestamp long, "
    "records binary, file string, position long, size int"
)
_PIECES: Final = pa.schema(
    [
        ("writer", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("count", pa.int32()),
        ("base_timestamp", pa.int64()),
        ("max_timestamp", pa.int64()),
        ("records", pa.binary()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("size", pa.int32()),
    ]
)
_NOWHERE: Final = (None, None, None)
# The size of the second stage's input batches. With Spark's default of 64 MiB a task would
# alternate between waiting for that much input and waiting for the broker to take it.
_ARROW_BATCH_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_SENT_AT_A_TIME: Final = 4 * 1024 * 1024
REPORTS: Final = (
    "stage int, attempt int, partitions array<string>, rows long, error string, is_outage boolean"
)
_REPORTS: Final = pa.schema(
    [
        ("stage", pa.int32()),
        ("attempt", pa.int32()),
        ("partitions", pa.list_(pa.string())),
        ("rows", pa.int64()),
        ("error", pa.string()),
        ("is_outage", pa.bool_()),
    ]
)


class Report(NamedTuple):
    """The result of a task of the second stage."""

    stage: int
    attempt: int
    partitions: list[str]
    rows: int
    error: str | None
    # The brokers could not be reached, which may be temporary.
    is_outage: bool = False


def write_in_transaction(
    rows: "DataFrame", options: SinkOptions, identity: TransactionIdentity, writers: int
) -> int:
    """Write ``rows`` in a transaction with ``writers`` tasks; returns the number of rows.

    Raises:
        PipelineError: a row cannot be written, the brokers reject it, or a task ran twice.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return iter([_as_arrow(write_pieces(batches, options, identity))])

    spark = rows.sparkSession
    # The session belongs to this query alone.
    spark.conf.set(_ARROW_BATCH_BYTES, str(_SENT_AT_A_TIME))
    with piece_folder(spark) as folder:

        def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return encode_pieces(batches, options, writers, folder)

        pieces = rows.mapInArrow(encode, PIECES).repartitionById(writers, "writer")
        reports = [Report(*row) for row in pieces.mapInArrow(write, REPORTS).collect()]
    stages = sorted({report.stage for report in reports})
    check_reports(reports, _stages_tried_again(spark, stages))
    return sum(report.rows for report in reports)


def _stages_tried_again(spark: "SparkSession", stages: Sequence[int]) -> list[int]:
    """Those of ``stages`` that have retried tasks or were retried as a whole.

    A task knows its own attempt number, but not that of its stage.
    """
    context = spark.sparkContext
    bus: Any = context._jsc.sc().listenerBus()
    # The status of a stage is updated some time after its end.
    bus.waitUntilEmpty()
    tracker = context.statusTracker()
    infos = {stage: tracker.getStageInfo(stage) for stage in stages}
    return [
        stage
        for stage, info in infos.items()
        if info is None or info.currentAttemptId > 0 or info.numFailedTasks > 0
    ]


def check_reports(reports: Iterable[Report], tried_again: Collection[int]) -> None:
    """Check that each partition was written by one task, and that each task ran once.

    ``tried_again`` are the stages with retries.

    Raises:
        PipelineError: the first error that is found.
    """
    writers: dict[str, int] = {}
    for number, report in enumerate(reports):
        if report.error is not None:
            raise (BrokersAway if report.is_outage else PipelineError)(report.error)
        for partition in report.partitions:
            if writers.setdefault(partition, number) != number:
                raise PipelineError(f"two tasks have written to {partition}: nothing is committed")
        if report.attempt > 0 or report.stage in tried_again:
            raise PipelineError(_TRIED_AGAIN)


_TRIED_AGAIN: Final = (
    "a task was run again while it wrote a transaction, because a worker died or Spark speculated: "
    "nothing of the batch is committed; start the query again"
)


def encode_pieces(
    batches: Iterable[pa.RecordBatch], options: SinkOptions, writers: int, folder: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The first stage: encode rows into pieces, each with the number of the task that sends it.

    With a ``folder`` the records are written to a file there.
    """
    with pipeline_errors(), ExitStack() as stack:
        file = None if folder is None else stack.enter_context(PieceFile(folder))
        encoder = encoder_of(cluster_in_task(options.client), options)
        for batch in batches:
            yield as_rows(list(encoder.encode(batch)), writers, file)


def as_rows(pieces: list[EncodedRecords], writers: int, file: PieceFile | None) -> pa.RecordBatch:
    """The rows that are shuffled, one for each piece."""
    rows: list[tuple[Any, ...]] = [
        (
            writer_of(piece.partition, writers),
            *piece.partition,
            piece.record_count,
            piece.base_timestamp,
            piece.max_timestamp,
            *((piece.payload, *_NOWHERE) if file is None else (None, *file.put(piece.payload))),
        )
        for piece in pieces
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(_PIECES)
    return pa.RecordBatch.from_arrays(
        [pa.array(each, field.type) for each, field in zip(columns, _PIECES, strict=True)],
        schema=_PIECES,
    )


def writer_of(target: TopicPartition, writers: int) -> int:
    """The task that writes a partition: the same in every process, evenly distributed."""
    return (zlib.crc32(target.topic.encode()) + target.partition) % writers


def write_pieces(
    batches: Iterable[pa.RecordBatch], options: SinkOptions, identity: TransactionIdentity
) -> Report:
    """The second stage: send the pieces for this task's partitions."""
    from pyspark import TaskContext

    context = TaskContext.get()
    stage, attempt = (0, 0) if context is None else (context.stageId(), context.attemptNumber())
    if attempt > 0:
        return Report(stage, attempt, [], 0, _TRIED_AGAIN)
    try:
        with pipeline_errors():
            partitions, rows = _send(batches, options, identity)
    except PipelineError as error:
        return Report(stage, attempt, [], 0, str(error), is_outage(error))
    return Report(stage, attempt, [str(each) for each in sorted(partitions)], rows, None)


def _send(
    batches: Iterable[pa.RecordBatch], options: SinkOptions, identity: TransactionIdentity
) -> tuple[set[TopicPartition], int]:
    cluster = cluster_in_task(options.client)
    transactions = Transactions(cluster)
    sender = new_sender(cluster, options.producing, identity.producer())
    known: set[TopicPartition] = set()
    with BatchWriter(sender, options.producing.codec) as writer, PieceReader() as reader:
        for batch in batches:
            new = targets_of(batch) - known
            if new:
                transactions.add_partitions(identity, new)
                known |= new
            unsent = 0
            for piece in pieces_of(batch, reader):
                writer.add(piece)
                unsent += len(piece.payload)
                if unsent >= _SENT_AT_A_TIME:
                    writer.send()
                    unsent = 0
            writer.send()
    return known, writer.written


def targets_of(batch: pa.RecordBatch) -> set[TopicPartition]:
    """The target partitions of the pieces of a batch."""
    topics, partitions = (batch.column(name).to_pylist() for name in ("topic", "partition"))
    return set(map(TopicPartition, topics, partitions))


def pieces_of(batch: pa.RecordBatch, reader: PieceReader) -> Iterator[EncodedRecords]:
    """The pieces of a batch; those in files are read one at a time."""
    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        _, topic, partition, count, base_timestamp, max_timestamp, records, *place = row
        payload = reader.read(Place(*place)) if records is None else records
        yield EncodedRecords(
            TopicPartition(topic, partition), payload, count, base_timestamp, max_timestamp
        )


def _as_arrow(report: Report) -> pa.RecordBatch:
    arrays = [pa.array([each], field.type) for each, field in zip(report, _REPORTS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_REPORTS)

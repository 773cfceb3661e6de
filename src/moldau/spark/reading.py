"""A Spark task that reads: fetches its offset ranges and returns them as Arrow batches.

Runs in Spark's Python workers, which are reused from one micro-batch to the next; so are the
connections to the cluster.
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from moldau.client.cluster import Cluster
from moldau.client.connection import ConnectionFailed
from moldau.client.offsets import EARLIEST, list_offsets
from moldau.client.range_reader import Fetched, RangeReader
from moldau.client.visibility import visible_batches
from moldau.errors import ApiError, ErrorCode
from moldau.ids import uuid_to_str
from moldau.spark.arrow import OpenBatch, open_batch, to_arrow
from moldau.spark.client_options import ClientOptions
from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.spark.offsets import MADE_ANEW, OffsetRange, TopicIds
from moldau.spark.worker_garbage import freeze_modules

_FIRST_BACKOFF_S: Final = 0.05
_LAST_BACKOFF_S: Final = 1.0
# One Arrow batch for each response, unless its decompressed records exceed this size.
_ARROW_BATCH_BYTES: Final = 16 << 20
_GONE: Final = (
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)


@dataclass
class ReadTask(InputPartition):
    """The ranges that one task reads, in this order."""

    ranges: tuple[OffsetRange, ...]
    # Batches with only older records are skipped.
    min_timestamp_ms: int | None = None
    # The topic ids when the batch was planned; without an id any topic of that name is read.
    topic_ids: TopicIds = field(default_factory=dict)


@dataclass(frozen=True)
class HowToRead:
    """The settings that all tasks of a query share."""

    client: ClientOptions
    fail_on_data_loss: bool


def read_task(task: ReadTask, how: HowToRead, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The records of a task, with the columns of ``schema``.

    Raises:
        PipelineError: the cluster cannot be reached, a batch is corrupt, or records are gone.
    """
    with pipeline_errors():
        cluster = cluster_in_task(how.client)
        for each in task.ranges:
            topic_id = task.topic_ids.get(each.partition.topic)
            for fetched in _fetch(cluster, each, how, topic_id):
                yield from _decode(fetched, each, task.min_timestamp_ms, how, schema)
    freeze_modules()


_clusters: dict[tuple[int, ClientOptions], Cluster] = {}


def cluster_of(client: ClientOptions) -> Cluster:
    """This process's connections to a cluster."""
    # A forked process must not share the sockets of its parent.
    key = (os.getpid(), client)
    if key not in _clusters:
        _clusters[key] = client.cluster()
    return _clusters[key]


def cluster_in_task(client: ClientOptions) -> Cluster:
    """This process's connections to a cluster that the driver has reached before.

    Planning fails at once if no broker answers, because the address is most likely wrong. When
    tasks run the address is right, so they retry until the request timeout.

    Raises:
        ConnectionFailed: no broker answers within the request timeout.
    """
    cluster = cluster_of(client)
    deadline_s = time.monotonic() + cluster.timeout_s
    backoff_s = _FIRST_BACKOFF_S
    while not cluster.brokers:
        try:
            cluster.refresh(())
        except ConnectionFailed:
            if time.monotonic() + backoff_s > deadline_s:
                raise
            time.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _LAST_BACKOFF_S)
    return cluster


def _fetch(
    cluster: Cluster, wanted: OffsetRange, how: HowToRead, topic_id: str | None
) -> Iterator[Fetched]:
    """The responses for a range; without lost records if failOnDataLoss is false."""
    reader = RangeReader(cluster, how.client.fetch)
    position = wanted.start
    while position < wanted.end:
        try:
            for fetched in reader.read(wanted.partition, position, wanted.end):
                _check_topic(cluster, wanted.partition.topic, topic_id)
                yield fetched
                position = fetched.following
            return
        except ApiError as error:
            if error.code not in _GONE:
                raise
            if how.fail_on_data_loss:
                raise PipelineError(
                    f"{error}; {wanted} was to be read. With failOnDataLoss=false the query goes "
                    "on without what is gone"
                ) from None
            position = _first_left(cluster, wanted, position, error)


def _check_topic(cluster: Cluster, topic: str, topic_id: str | None) -> None:
    """Raise ApiError if the topic was deleted and created again since the batch was planned."""
    if topic_id is not None and uuid_to_str(cluster.topic(topic).topic_id) != topic_id:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"{topic} cannot be read on: {MADE_ANEW}")


def _first_left(cluster: Cluster, wanted: OffsetRange, position: int, error: ApiError) -> int:
    """The first offset that is left of a range; its end if everything is lost."""
    print(f"moldau: {error}; the query continues without it", file=sys.stderr)
    if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
        return wanted.end
    first = list_offsets(cluster, {wanted.partition: EARLIEST})[wanted.partition].offset
    return first if first > position else wanted.end


def _decode(
    fetched: Fetched,
    wanted: OffsetRange,
    min_timestamp_ms: int | None,
    how: HowToRead,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    partition = wanted.partition
    start = max(fetched.position, wanted.start)
    opened: list[OpenBatch] = []
    size_bytes = 0
    visible = visible_batches(
        fetched.data, fetched.batches, start, read_committed=how.client.fetch.read_committed
    )
    for position, header in visible:
        if header.base_offset >= wanted.end:
            break
        if min_timestamp_ms is not None and header.max_timestamp < min_timestamp_ms:
            continue
        try:
            batch = open_batch(fetched.batches, position, header, start, wanted.end)
        except ApiError as error:
            raise PipelineError(f"{partition} cannot be read: {error}") from None
        if batch.rows == 0:
            continue
        opened.append(batch)
        size_bytes += len(batch.records)
        if size_bytes >= _ARROW_BATCH_BYTES:
            yield to_arrow(partition, opened, schema)
            opened, size_bytes = [], 0
    if opened:
        yield to_arrow(partition, opened, schema)

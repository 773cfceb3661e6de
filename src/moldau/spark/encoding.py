"""Encodes the rows of Arrow batches into the records of Kafka batches.

Rows are routed to their partitions, and the record kernel writes those of each partition into
batches of about ``kafka.batch.size``. Nothing here is done row by row in Python.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from moldau.client.cluster import Cluster
from moldau.client.producer import AUTO_CREATE_PATIENCE_S
from moldau.ids import TopicPartition
from moldau.record.compression import Codec, compress
from moldau.record.scatter import write_records
from moldau.spark.errors import PipelineError
from moldau.spark.outgoing import OutgoingRows, read_rows
from moldau.spark.producer_options import ProducerOptions
from moldau.spark.routing import Layout, Router


class EncodedRecords(NamedTuple):
    """The records of one batch, without its header."""

    partition: TopicPartition
    payload: bytes
    record_count: int
    base_timestamp: int
    max_timestamp: int


class Encoder:
    """Arrow batches in, the records of Kafka's batches out."""

    def __init__(
        self,
        router: Router,
        producing: ProducerOptions,
        wall_ms: Callable[[], int],
        *,
        include_headers: bool,
    ) -> None:
        self._router = router
        self._producing = producing
        self._wall_ms = wall_ms
        self._include_headers = include_headers
        self._room = bytearray(producing.batch_size)

    def encode(self, batch: pa.RecordBatch) -> Iterator[EncodedRecords]:
        """Yield the records of all rows, partition by partition.

        Raises:
            PipelineError: a row has no topic, its partition does not exist, or it exceeds
                ``kafka.max.request.size``.
        """
        if batch.num_rows == 0:
            return
        outgoing = read_rows(batch, self._wall_ms(), include_headers=self._include_headers)
        self._make_room(outgoing)
        routed = self._router.route(outgoing)
        order = np.frombuffer(routed.order, np.int64)
        for target, first, last in routed.shares:
            while first < last:
                following, size = write_records(
                    outgoing.rows, routed.order, first, last, self._room
                )
                assert following > first, "there is room for the largest row"
                times = outgoing.timestamps[order[first:following]]
                yield EncodedRecords(target, self._compress(size), following - first, *_span(times))
                first = following

    def _make_room(self, outgoing: OutgoingRows) -> None:
        largest = int(outgoing.sizes.max())
        limit = self._producing.max_request_size
        if largest > limit:
            raise PipelineError(
                f"a row of {largest} bytes is larger than kafka.max.request.size={limit}: raise "
                "that, and max.message.bytes of the topic"
            )
        if largest > len(self._room):
            self._room = bytearray(largest)

    def _compress(self, size: int) -> bytes:
        written = memoryview(self._room)[:size]
        if self._producing.codec == Codec.NONE:
            return bytes(written)
        return compress(self._producing.codec, written, self._producing.level)


def _span(times: "np.ndarray[Any, np.dtype[np.int64]]") -> tuple[int, int]:
    return int(times[0]), int(times.max())


def layout_of(cluster: Cluster, topic: str) -> Layout:
    """The current partitions of a topic; a missing topic may be auto-created by the broker.

    Raises:
        ApiError: it does not exist.
    """
    # A worker is long-lived, and partitions may have been added to the topic.
    cluster.forget([topic])
    found = cluster.retrying(
        lambda: cluster.topic(topic, allow_auto_create=True),
        [topic],
        patience_s=AUTO_CREATE_PATIENCE_S,
    )
    everything = [each.partition for each in found.partitions]
    available = [each.partition for each in found.partitions if each.leader >= 0]
    return Layout(len(everything), available or everything)

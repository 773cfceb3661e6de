"""What a Spark task does to write its rows: encode, send, and wait until all are there.

Runs in Spark's Python workers, which live on from one micro-batch to the next; so do the
connections, and the producer id with its sequences.
"""

import os
import random
import time
from collections.abc import Iterable
from functools import partial

import pyarrow as pa

from moldau.client.batches import EncodedBatch
from moldau.client.cluster import Cluster
from moldau.client.producer_identity import ProducerIdentity
from moldau.client.sender import Sender
from moldau.clock import SystemClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.spark.encoding import EncodedRecords, Encoder, layout_of
from moldau.spark.errors import BrokersAway, PipelineError, pipeline_errors
from moldau.spark.producer_options import ProducerOptions
from moldau.spark.reading import cluster_in_task
from moldau.spark.routing import Router
from moldau.spark.sink_options import SinkOptions

_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


def write_rows(batches: Iterable[pa.RecordBatch], options: SinkOptions) -> int:
    """Write all rows, and return when the brokers have them; gives their number.

    Raises:
        PipelineError: a row cannot be written, or the brokers do not take it.
    """
    return send_rows(batches, options).written


def send_rows(batches: Iterable[pa.RecordBatch], options: SinkOptions) -> "BatchWriter":
    """The same; gives the writer, which knows where the rows are."""
    with pipeline_errors():
        cluster = cluster_in_task(options.client)
        with BatchWriter(_sender_of(cluster, options), options.producing.codec) as writer:
            encoder = encoder_of(cluster, options)
            for batch in batches:
                for records in encoder.encode(batch):
                    writer.add(records)
                writer.send()
        return writer


def encoder_of(cluster: Cluster, options: SinkOptions) -> Encoder:
    """An encoder for the rows of one task."""
    producing = options.producing
    router = Router(
        options.topic,
        partial(layout_of, cluster),
        sticky_bytes=producing.batch_size,
        rng=random.Random(),
    )
    clock = SystemClock()
    return Encoder(router, producing, clock.now_ms, include_headers=options.include_headers)


class BatchWriter:
    """Encoded records through a sender. On leaving, all of them are there, or it raises."""

    def __init__(self, sender: Sender, codec: int) -> None:
        self._sender = sender
        self._codec = codec
        self._failure: ApiError | None = None
        self.written = 0
        # For each batch that is there: its partition, its first offset and how many records it has.
        self.places: list[tuple[TopicPartition, int, int]] = []

    def add(self, records: EncodedRecords) -> None:
        batch = EncodedBatch(
            records.partition,
            time.monotonic(),
            records.payload,
            count=records.record_count,
            base_timestamp=records.base_timestamp,
            max_timestamp=records.max_timestamp,
            codec=self._codec,
            on_done=self._done,
        )
        self._sender.add(batch)

    def send(self) -> None:
        """Let the batches go that were added.

        Raises:
            PipelineError: one that was sent before has failed.
        """
        self._sender.send_ready()
        self._check()

    def __enter__(self) -> "BatchWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._sender.flush()
                self._check()
        finally:
            # What a task that failed has left behind must not meet the next one.
            self._sender.abandon()

    def _done(self, batch: EncodedBatch, error: ApiError | None) -> None:
        if error is None:
            self.written += batch.count
            self.places.append((batch.partition, batch.base_offset, batch.count))
        elif self._failure is None:
            self._failure = error

    def _check(self) -> None:
        failure = self._failure
        if failure is None:
            return
        remedy = ""
        if failure.code in _TOO_LARGE:
            remedy = "; a record is larger than max.message.bytes of the topic: raise that"
        if failure.code is ErrorCode.REQUEST_TIMED_OUT:
            # Nobody has taken it for as long as kafka.delivery.timeout.ms.
            raise BrokersAway(str(failure))
        raise PipelineError(f"{failure}{remedy}")


_senders: dict[tuple[int, Cluster, ProducerOptions], Sender] = {}


def _sender_of(cluster: Cluster, options: SinkOptions) -> Sender:
    """This process's sender: its sequences go on from one task to the next."""
    producing = options.producing
    # A forked process must not share the sockets of its parent.
    key = (os.getpid(), cluster, producing)
    sender = _senders.get(key)
    if sender is None:
        sender = _senders[key] = new_sender(
            cluster, producing, ProducerIdentity() if producing.is_idempotent else None
        )
    return sender


def new_sender(
    cluster: Cluster, producing: ProducerOptions, identity: ProducerIdentity | None
) -> Sender:
    return Sender(
        cluster,
        identity,
        acks=producing.acks,
        max_request_size=producing.max_request_size,
        max_in_flight=producing.max_in_flight,
        delivery_timeout_s=producing.delivery_timeout_s,
    )

"""A Spark task that writes: encodes its rows, sends them and waits for the acknowledgements.

Runs in Spark's Python workers, which are reused from one micro-batch to the next; so are the
connections, and the producer id with its sequence numbers.
"""

import os
import random
import time
from collections.abc import Callable, Iterable
from functools import cache, partial

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
from moldau.spark.refusals import TOO_LARGE, LeaveOut, is_of_record, writable
from moldau.spark.routing import Layout, Router
from moldau.spark.sink_options import SinkOptions
from moldau.spark.worker_garbage import freeze_modules


def write_rows(batches: Iterable[pa.RecordBatch], options: SinkOptions) -> int:
    """Write all rows and wait for the acknowledgements; returns the number of rows.

    Raises:
        PipelineError: a row cannot be written, or the brokers reject it.
    """
    return send_rows(batches, options).written


def send_rows(
    batches: Iterable[pa.RecordBatch], options: SinkOptions, leave_out: LeaveOut | None = None
) -> "BatchWriter":
    """The same, but return the writer, which has the offsets of the rows.

    With ``leave_out``, rows that cannot be written are no error: it is told of them. Every row has
    a topic then.
    """
    with pipeline_errors():
        cluster = cluster_in_task(options.client)
        layouts = cache(partial(layout_of, cluster))
        sender = _sender_of(cluster, options, isolates_refused=leave_out is not None)
        with BatchWriter(sender, options.producing.codec, leave_out) as writer:
            encoder = encoder_of(cluster, options, layouts)
            for batch in batches:
                if leave_out is not None:
                    limit = options.producing.max_request_size
                    batch = writable(batch, layouts, limit, leave_out)
                for records in encoder.encode(batch):
                    writer.add(records)
                writer.send()
    freeze_modules()
    return writer


def encoder_of(
    cluster: Cluster, options: SinkOptions, layouts: Callable[[str], Layout] | None = None
) -> Encoder:
    """An encoder for the rows of one task."""
    producing = options.producing
    router = Router(
        options.topic,
        layouts or partial(layout_of, cluster),
        sticky_bytes=producing.batch_size,
        rng=random.Random(),
    )
    clock = SystemClock()
    return Encoder(router, producing, clock.wall_ms, include_headers=options.include_headers)


class BatchWriter:
    """Sends encoded records. Leaving the context waits until all are acknowledged, or raises."""

    def __init__(self, sender: Sender, codec: int, leave_out: LeaveOut | None = None) -> None:
        """With ``leave_out``, records that brokers refuse are no error: it is told of them."""
        self._sender = sender
        self._codec = codec
        self._leave_out = leave_out
        self._failure: ApiError | None = None
        self.written = 0
        # For each acknowledged batch: its partition, first offset and number of records.
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
        """Send the batches that were added.

        Raises:
            PipelineError: a batch that was sent earlier has failed.
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
            # Batches left over from a failed task must not be sent by the next one.
            self._sender.abandon()

    def _done(self, batch: EncodedBatch, error: ApiError | None) -> None:
        if error is None:
            self.written += batch.count
            self.places.append((batch.partition, batch.base_offset, batch.count))
        elif self._leave_out is not None and is_of_record(error):
            self._leave_out(batch.count, str(error))
        elif self._failure is None:
            self._failure = error

    def _check(self) -> None:
        failure = self._failure
        if failure is None:
            return
        remedy = ""
        if failure.code in TOO_LARGE:
            remedy = "; a record is larger than max.message.bytes of the topic: raise that"
        if failure.code is ErrorCode.REQUEST_TIMED_OUT:
            # No broker has acknowledged it within kafka.delivery.timeout.ms.
            raise BrokersAway(str(failure))
        raise PipelineError(f"{failure}{remedy}")


_senders: dict[tuple[int, Cluster, ProducerOptions, bool], Sender] = {}


def _sender_of(cluster: Cluster, options: SinkOptions, *, isolates_refused: bool) -> Sender:
    """This process's sender: its sequence numbers continue from one task to the next."""
    producing = options.producing
    # A forked process must not share the sockets of its parent.
    key = (os.getpid(), cluster, producing, isolates_refused)
    sender = _senders.get(key)
    if sender is None:
        identity = ProducerIdentity() if producing.is_idempotent else None
        sender = new_sender(cluster, producing, identity, isolates_refused=isolates_refused)
        _senders[key] = sender
    return sender


def new_sender(
    cluster: Cluster,
    producing: ProducerOptions,
    identity: ProducerIdentity | None,
    *,
    isolates_refused: bool = False,
) -> Sender:
    return Sender(
        cluster,
        identity,
        acks=producing.acks,
        max_request_size=producing.max_request_size,
        max_in_flight=producing.max_in_flight,
        delivery_timeout_s=producing.delivery_timeout_s,
        isolates_refused=isolates_refused,
    )

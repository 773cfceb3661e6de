"""Sends records to the leaders of their partitions, in batches, exactly once and in order.

Records wait up to ``linger_ms`` for others of the same partition and are then sent in one batch.
Requests and retries are handled by ``sender``.

The class has no background thread: records are sent from within ``send``, ``poll`` and
``flush``.
"""

import random
import time
from collections.abc import Callable
from typing import Final, Self

from moldau.client.batches import Delivery, Headers, PendingBatch, record_size
from moldau.client.cluster import Cluster, TopicMetadata
from moldau.client.partitioner import StickyPartitioner, partition_of_key
from moldau.client.producer_identity import ProducerIdentity
from moldau.client.security import PLAINTEXT, Security
from moldau.client.sender import Sender
from moldau.clock import Clock, SystemClock
from moldau.ids import TopicPartition

CODECS: Final = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

# How long to wait for a topic that the broker creates automatically.
AUTO_CREATE_PATIENCE_S: Final = 5.0


class Producer:
    """Sends records. Use as a context manager, or call ``flush()`` and ``close()``."""

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "moldau-producer",
        acks: int = -1,
        compression: str = "none",
        compression_level: int | None = None,
        linger_ms: int = 5,
        batch_size: int = 16_384,
        max_request_size: int = 1_048_576,
        idempotent: bool | None = None,
        max_in_flight: int = 5,
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
        delivery_timeout_s: float = 120.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """``idempotent`` is on by default if ``acks`` is -1 (all)."""
        if acks not in (-1, 0, 1):
            raise ValueError(f"acks={acks}: must be 0, 1 or -1 (all)")
        if compression not in CODECS:
            names = ", ".join(CODECS)
            raise ValueError(f"compression={compression}: must be one of {names}")
        if idempotent and acks != -1:
            raise ValueError(f"acks={acks}: an idempotent producer needs acks=-1 (all)")
        self.cluster = Cluster(
            bootstrap, client_id=client_id, timeout_s=timeout_s, security=security
        )
        self._codec = CODECS[compression]
        self._level = compression_level
        self._linger_s = linger_ms / 1000
        self._batch_size = batch_size
        self._clock = clock or SystemClock()
        self._sticky = StickyPartitioner(rng or random.Random())
        is_idempotent = acks == -1 if idempotent is None else idempotent
        self._identity = ProducerIdentity() if is_idempotent else None
        self._open: dict[TopicPartition, PendingBatch] = {}
        self._sender = Sender(
            self.cluster,
            self._identity,
            acks=acks,
            max_request_size=max_request_size,
            max_in_flight=max_in_flight,
            delivery_timeout_s=delivery_timeout_s,
        )

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers = (),
        on_delivery: Callable[[Delivery], None] | None = None,
    ) -> Delivery:
        """Add a record to the batch of its partition; full batches are sent at once.

        Raises:
            ApiError: the topic does not exist, or has no such partition.
        """
        metadata = self._topic(topic)
        chosen = self._partition(metadata, key, partition)
        target = TopicPartition(topic, chosen)
        delivery = Delivery(target, on_delivery)
        size = record_size(key, value, headers)
        batch = self._open.get(target)
        if batch is not None and batch.size_bytes + size > self._batch_size:
            self._close_batch(target)
            if key is None and partition is None:
                partitions = [each.partition for each in metadata.partitions]
                self._sticky.switch(topic, chosen, partitions)
            batch = None
        if batch is None:
            batch = self._open[target] = PendingBatch(
                target, time.monotonic(), self._codec, self._level
            )
        when = self._clock.now_ms() if timestamp is None else timestamp
        batch.append(when, key, value, headers, delivery)
        self.poll()
        return delivery

    def poll(self) -> None:
        """Send batches that are full or have waited for ``linger_ms``."""
        due = time.monotonic() - self._linger_s
        for target in [each for each, batch in self._open.items() if batch.created_s <= due]:
            self._close_batch(target)
        self._sender.send_ready()

    def flush(self) -> None:
        """Send all records and wait until each is delivered or has failed."""
        # A delivery callback may send more.
        while self._open or not self._sender.is_idle:
            for target in list(self._open):
                self._close_batch(target)
            self._sender.flush()

    def close(self) -> None:
        """Close the connections. Records that were not flushed are lost."""
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _topic(self, name: str) -> TopicMetadata:
        known = self.cluster.topics.get(name)
        if known is not None:
            return known
        return self.cluster.retrying(
            lambda: self.cluster.topic(name, allow_auto_create=True),
            [name],
            patience_s=AUTO_CREATE_PATIENCE_S,
        )

    def _partition(self, topic: TopicMetadata, key: bytes | None, wanted: int | None) -> int:
        if wanted is not None:
            self.cluster.leader_of(TopicPartition(topic.name, wanted))
            return wanted
        if key is not None:
            return partition_of_key(key, len(topic.partitions))
        available = [each.partition for each in topic.partitions if each.leader >= 0]
        return self._sticky.partition(
            topic.name, available or [each.partition for each in topic.partitions]
        )

    def _close_batch(self, target: TopicPartition) -> None:
        self._sender.add(self._open.pop(target))

"""Sends records to the leaders of their partitions, in batches, exactly once and in order.

Records wait up to ``linger_ms`` for others of the same partition and are then sent in one batch.
Requests and retries are handled by ``sender``.

The class has no background thread: records are sent from within ``send``, ``poll`` and
``flush``.

With a ``transactional_id`` every record belongs to a transaction, which is decided about in
``producer_transactions``.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from moldau.client.batches import Delivery, Headers, PendingBatch, record_size
from moldau.client.cluster import Cluster, TopicMetadata
from moldau.client.connection import ConnectionFailed
from moldau.client.partitioner import StickyPartitioner, partition_of_key
from moldau.client.producer_identity import FIRST_IMPLICIT, ProducerIdentity
from moldau.client.producer_transactions import ProducerTransactions
from moldau.client.security import PLAINTEXT, Security
from moldau.client.sender import Sender
from moldau.clock import Clock, SystemClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

if TYPE_CHECKING:
    from moldau.client.group_consumer import GroupConsumer

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
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        max_transaction_version: int = FIRST_IMPLICIT,
    ) -> None:
        """``idempotent`` is on by default if ``acks`` is -1 (all).

        With a ``transactional_id``, records are sent in transactions, which the brokers abort if
        they take longer than ``transaction_timeout_ms``. ``max_transaction_version=1`` uses the
        protocol before KIP-890 with brokers that have the newer one.
        """
        _check(acks, compression, idempotent, transactional_id)
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
        self._transactions: ProducerTransactions | None = None
        self._identity = ProducerIdentity() if is_idempotent else None
        if transactional_id is not None:
            self._transactions = ProducerTransactions(
                self.cluster, transactional_id, transaction_timeout_ms, max_transaction_version
            )
            self._identity = self._transactions.producer
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
            ApiError: the topic does not exist, or has no such partition; INVALID_TXN_STATE if the
                producer has a ``transactional_id`` and no transaction is open.
        """
        if self._transactions is not None:
            self._transactions.require_open()
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
        when = self._clock.wall_ms() if timestamp is None else timestamp
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

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the ``with`` block sends when it ends, or abort it if it raises.

        Raises:
            ApiError: the transaction could not be committed, and is aborted; with PRODUCER_FENCED
                it never will be.
        """
        self.begin_transaction()
        try:
            yield
            self.commit_transaction()
        except BaseException as error:
            if self._transactional.can_abort:
                try:
                    self.abort_transaction()
                except (ApiError, ConnectionFailed) as failure:
                    error.add_note(f"and it was not aborted: {failure}")
            raise

    def begin_transaction(self) -> None:
        """Begin a transaction. The first one takes over the ``transactional_id``: an open
        transaction of another producer with this id is aborted, and that producer is fenced."""
        self._transactional.begin()
        self._sender.first_error = None

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: "str | GroupConsumer"
    ) -> None:
        """Commit a group's next offsets to read together with the records of the transaction.

        With a ``GroupConsumer`` it is refused if that is not a member any more. Turn its automatic
        commits off (``commit_interval_ms=None``).
        """
        self._transactional.send_offsets(offsets, group)

    def commit_transaction(self) -> None:
        """Send all records and make them visible together.

        Raises:
            ApiError: a record could not be written, or the transaction was refused: abort it.
                TRANSACTION_ABORTABLE: it timed out, and is to be aborted like the others.
                PRODUCER_FENCED: another producer uses the id; before KIP-890, also if it timed out.
            ConnectionFailed: it is not known whether it is committed: call this again.
        """
        self._transactional.commit(self._flushed)

    def abort_transaction(self) -> None:
        """Drop the records that were not sent, and make the others invisible for good."""
        self._transactional.abort(self._cancel)

    def close(self) -> None:
        """Close the connections. Records that were not flushed are lost; an open transaction is
        aborted by the brokers, when its id is used again or its timeout has passed."""
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self._transactions is None:
                self.flush()
            elif kind is None and self._transactional.can_abort:
                self.abort_transaction()
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
        if self._transactions is not None:
            self._transactions.include(self._open)
        self._sender.add(self._open.pop(target))

    @property
    def _transactional(self) -> ProducerTransactions:
        if self._transactions is None:
            message = "the producer has no transactional_id: give it one to use transactions"
            raise ApiError(ErrorCode.INVALID_TXN_STATE, message)
        return self._transactions

    def _flushed(self) -> ApiError | None:
        self.flush()
        return self._sender.first_error

    def _cancel(self, reason: ApiError) -> None:
        for batch in self._open.values():
            batch.fail(reason)
        self._open.clear()
        self._sender.cancel(reason)


def _check(
    acks: int, compression: str, idempotent: bool | None, transactional_id: str | None
) -> None:
    """Raise ValueError if the arguments are invalid or contradict each other."""
    if acks not in (-1, 0, 1):
        raise ValueError(f"acks={acks}: must be 0, 1 or -1 (all)")
    if compression not in CODECS:
        names = ", ".join(CODECS)
        raise ValueError(f"compression={compression}: must be one of {names}")
    if idempotent and acks != -1:
        raise ValueError(f"acks={acks}: an idempotent producer needs acks=-1 (all)")
    if transactional_id is not None and (acks != -1 or idempotent is False):
        given = f"acks={acks}" if acks != -1 else "idempotent=False"
        raise ValueError(f"{given}: a producer with transactional_id needs acks=-1, idempotent")

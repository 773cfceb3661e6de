"""Records to the leaders of their partitions, in batches, each exactly once and in order.

Records wait up to ``linger_ms`` for others of their partition, then travel in one batch;
up to five requests are under way at a time. The producer is idempotent unless told not to
be: every batch carries a sequence number, so a retry of a batch that did arrive is not
written twice, and later batches cannot overtake one that is tried again.

There is no thread behind this class: records are sent from within ``send``, ``poll`` and
``flush``.
"""

import random
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from moldau.client.batches import Delivery, Headers, PendingBatch, record_size
from moldau.client.cluster import Cluster, TopicMetadata, error_code
from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.partitioner import StickyPartitioner, partition_of_key
from moldau.client.producer_identity import ProducerIdentity
from moldau.clock import Clock, SystemClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

CODECS: Final = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

_PRODUCE_KEY: Final = 0
_FIRST_WITH_TOPIC_IDS: Final = 13
_RETRY_BACKOFF_S: Final = 0.1
# How long a topic may be in the making, when asking for it creates it.
_AUTO_CREATE_PATIENCE_S: Final = 5.0

_LOST_SEQUENCE: Final = frozenset(
    (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    )
)


class _InFlight(NamedTuple):
    connection: Connection
    batches: list[PendingBatch]


class Producer:
    """Use as a context manager, or ``flush()`` and ``close()`` it."""

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
        delivery_timeout_s: float = 120.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """``idempotent`` is on unless ``acks`` rules it out."""
        if acks not in (-1, 0, 1):
            raise ValueError(f"acks={acks}: must be 0, 1 or -1 (all)")
        if compression not in CODECS:
            names = ", ".join(CODECS)
            raise ValueError(f"compression={compression}: must be one of {names}")
        if idempotent and acks != -1:
            raise ValueError(f"acks={acks}: an idempotent producer needs acks=-1 (all)")
        self.cluster = Cluster(bootstrap, client_id=client_id, timeout_s=timeout_s)
        self._acks = acks
        self._codec = CODECS[compression]
        self._level = compression_level
        self._linger_s = linger_ms / 1000
        self._batch_size = batch_size
        self._max_request_size = max_request_size
        self._idempotent = acks == -1 if idempotent is None else idempotent
        self._max_in_flight = max_in_flight
        self._delivery_timeout_s = delivery_timeout_s
        self._clock = clock or SystemClock()
        self._sticky = StickyPartitioner(rng or random.Random())
        self._identity = ProducerIdentity()
        self._open: dict[TopicPartition, PendingBatch] = {}
        self._ready: dict[TopicPartition, deque[PendingBatch]] = {}
        self._in_flight: deque[_InFlight] = deque()

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
        """Add a record to its partition's batch; full batches leave at once.

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
            batch = self._open[target] = PendingBatch(target, time.monotonic())
        when = self._clock.now_ms() if timestamp is None else timestamp
        batch.append(when, key, value, headers, delivery)
        self.poll()
        return delivery

    def poll(self) -> None:
        """Send what is due."""
        due = time.monotonic() - self._linger_s
        for target in [each for each, batch in self._open.items() if batch.created_s <= due]:
            self._close_batch(target)
        self._send_ready()

    def flush(self) -> None:
        """Send everything, and wait until it is delivered or has failed."""
        while self._open or self._ready or self._in_flight:
            for target in list(self._open):
                self._close_batch(target)
            self._send_ready()
            while self._in_flight:
                self._take_answer()

    def close(self) -> None:
        """Let go of the connections; what is not flushed is lost."""
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
            patience_s=_AUTO_CREATE_PATIENCE_S,
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
        self._ready.setdefault(target, deque()).append(self._open.pop(target))

    def _send_ready(self) -> None:
        """Put ready batches into requests, one per leader at a time, until none is left."""
        while self._ready:
            self._fail_expired()
            groups = self._by_leader()
            if not groups:
                return
            for leader, batches in groups.items():
                while len(self._in_flight) >= self._max_in_flight:
                    self._take_answer()
                # Taking an answer may have put batches back in front of these.
                if all(self._ready.get(each.partition, [None])[0] is each for each in batches):
                    self._post(leader, batches)

    def _by_leader(self) -> dict[int, list[PendingBatch]]:
        """The first ready batch of every partition, as much as a request may hold per leader."""
        groups: dict[int, list[PendingBatch]] = {}
        sizes: dict[int, int] = {}
        for target, queue in list(self._ready.items()):
            try:
                leader = self.cluster.retrying(
                    lambda target=target: self.cluster.leader_of(target),  # type: ignore[misc]
                    [target.topic],
                )
            except ApiError as error:
                for batch in self._ready.pop(target):
                    batch.fail(error)
                continue
            batch = queue[0]
            size = sizes.get(leader, 0) + batch.size_bytes
            if leader in groups and size > self._max_request_size:
                continue
            groups.setdefault(leader, []).append(batch)
            sizes[leader] = size
        return groups

    def _post(self, leader: int, batches: list[PendingBatch]) -> None:
        if self._idempotent and not self._identity.is_known:
            self._identity.obtain(self.cluster)
        for batch in batches:
            queue = self._ready[batch.partition]
            queue.popleft()
            if not queue:
                del self._ready[batch.partition]
        try:
            connection = self.cluster.connection(leader)
            request = self._request(connection, batches)
            connection.post(request, is_answered=self._acks != 0)
        except ConnectionFailed as failure:
            self._retry(self._drain() + [(batch, _lost(failure)) for batch in batches])
            return
        if self._acks == 0:
            for batch in batches:
                batch.succeed(-1, -1)
        else:
            self._in_flight.append(_InFlight(connection, batches))

    def _request(self, connection: Connection, batches: list[PendingBatch]) -> ProduceRequest:
        with_ids = connection.version_of(_PRODUCE_KEY) >= _FIRST_WITH_TOPIC_IDS
        topics: dict[str, TopicProduceData] = {}
        for batch in batches:
            name = batch.partition.topic
            self._identity.number(batch)
            if name not in topics:
                topics[name] = (
                    TopicProduceData(topic_id=self.cluster.topic(name).topic_id)
                    if with_ids
                    else TopicProduceData(name=name)
                )
            identity = self._identity
            records = batch.encode(
                self._codec, self._level, identity.producer_id, identity.producer_epoch
            )
            topics[name].partition_data.append(
                PartitionProduceData(batch.partition.partition, records)
            )
        timeout_ms = int(self.cluster.timeout_s * 1000)
        return ProduceRequest(None, self._acks, timeout_ms, list(topics.values()))

    def _take_answer(self) -> None:
        """Wait for the oldest answer; if something in it must be tried again, for all of them."""
        producer_id = self._identity.producer_id
        failed = self._answer(self._in_flight.popleft())
        if not failed and self._identity.producer_id == producer_id:
            return
        failed += self._drain()
        if failed:
            self._retry(failed)

    def _drain(self) -> list[tuple[PendingBatch, ApiError]]:
        """Take all answers that are due.

        Nothing new may leave before: a batch behind a failed one fails too, by its
        sequence, unless the broker does not know the producer yet; then it would get in first.
        """
        failed: list[tuple[PendingBatch, ApiError]] = []
        while self._in_flight:
            failed += self._answer(self._in_flight.popleft())
        return failed

    def _answer(self, request: _InFlight) -> list[tuple[PendingBatch, ApiError]]:
        """Finish what succeeded; the rest is returned with its error."""
        try:
            response = request.connection.receive(ProduceResponse)
        except ConnectionFailed as failure:
            return [(batch, _lost(failure)) for batch in request.batches]
        answers: dict[TopicPartition, PartitionProduceResponse] = {}
        names = {topic.topic_id: topic.name for topic in self.cluster.topics.values()}
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for answer in topic.partition_responses:
                answers[TopicPartition(name, answer.index)] = answer
        failed = []
        for batch in request.batches:
            error = self._finish(batch, answers.get(batch.partition))
            if error is not None:
                failed.append((batch, error))
        return failed

    def _finish(
        self, batch: PendingBatch, answer: PartitionProduceResponse | None
    ) -> ApiError | None:
        """Settle a batch for which there is nothing more to try; otherwise say what is wrong."""
        if answer is None:
            # Only a topic that was forgotten meanwhile cannot be named.
            return ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"no answer for {batch.partition}")
        code = error_code(answer.error_code)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            batch.succeed(answer.base_offset, answer.log_append_time_ms)
            return None
        plain = code.name.lower().replace("_", " ")
        error = ApiError(code, f"{batch.partition}: {answer.error_message or plain}")
        if code.retriable or code in _LOST_SEQUENCE or self._is_too_large(batch, code):
            return error
        messages = {
            each.batch_index: each.batch_index_error_message or "" for each in answer.record_errors
        }
        batch.fail(error, {index: f"{batch.partition}: {text}" for index, text in messages.items()})
        # The sequence has a hole now; a new producer id begins a new one.
        self._forget_producer()
        return None

    def _is_too_large(self, batch: PendingBatch, code: ErrorCode) -> bool:
        too_large = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
        return code in too_large and len(batch.records) > 1

    def _retry(self, failed: list[tuple[PendingBatch, ApiError]]) -> None:
        """Put batches back at the front of their partitions, in the order they had."""
        first_errors: dict[TopicPartition, ErrorCode] = {}
        for batch, error in failed:
            batch.last_error = error
            first_errors.setdefault(batch.partition, error.code)
        for batch, error in reversed(failed):
            queue = self._ready.setdefault(batch.partition, deque())
            if self._is_too_large(batch, error.code):
                queue.extendleft(reversed(batch.halves()))
                self._forget_producer()
            else:
                queue.appendleft(batch)
        # A sequence error is a consequence of the failure before it, or else the broker has
        # lost track of this producer, which then starts anew.
        if any(code in _LOST_SEQUENCE for code in first_errors.values()):
            self._forget_producer()
        self.cluster.forget({batch.partition.topic for batch, _ in failed})
        if any(not self._is_too_large(batch, error.code) for batch, error in failed):
            time.sleep(_RETRY_BACKOFF_S)

    def _fail_expired(self) -> None:
        """Give up on batches that have been tried for too long."""
        oldest = time.monotonic() - self._delivery_timeout_s
        for target, queue in list(self._ready.items()):
            while queue and queue[0].created_s < oldest:
                batch = queue.popleft()
                message = f"{target}: not delivered within {self._delivery_timeout_s:g} s"
                if batch.last_error is not None:
                    message += f"; the last try said: {batch.last_error}"
                batch.fail(ApiError(ErrorCode.REQUEST_TIMED_OUT, message))
                self._forget_producer()
            if not queue:
                del self._ready[target]

    def _forget_producer(self) -> None:
        """Start a new sequence under a new producer id with the next request."""
        if not self._idempotent:
            return
        self._identity.forget()
        for queue in self._ready.values():
            for batch in queue:
                batch.unsequence()


def _lost(failure: ConnectionFailed) -> ApiError:
    return ApiError(ErrorCode.NETWORK_EXCEPTION, str(failure))

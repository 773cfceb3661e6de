"""Sends batches to the leaders of their partitions, each exactly once and in order.

Batches wait here to be sent: the first of every partition goes into the next request to its
leader, and up to five requests are in flight at a time. The sender is idempotent if it has an
identity: every batch carries a sequence number, so a retried batch is not written twice, and later
batches cannot overtake it. A broker that does not know the producer accepts any first number, so
the first batch of a partition is sent alone.

Within a transaction the identity is the transaction's. Errors that a new producer id would fix
cannot be fixed there: the batch fails, and with it the transaction.

The class has no background thread: batches are sent from within ``send_ready`` and ``flush``.
"""

import time
from collections import deque
from typing import Final, NamedTuple

from moldau.client.batches import OutgoingBatch
from moldau.client.cluster import Cluster, error_code
from moldau.client.connection import NEWEST, Connection, ConnectionFailed
from moldau.client.producer_identity import ProducerIdentity
from moldau.client.security_error import SecurityError
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

_PRODUCE_KEY: Final = 0
_FIRST_WITH_TOPIC_IDS: Final = 13
# From version 12 on, a produce request adds its partition to the transaction (KIP-890), which is
# right only if the transaction ends with a request that bumps the epoch.
_LAST_WITH_EXPLICIT_TRANSACTIONS: Final = 11
_RETRY_BACKOFF_S: Final = 0.1
# A transaction that has just been ended is completed within milliseconds; until then the broker
# does not let the next one begin.
_NEXT_TRANSACTION_BACKOFF_S: Final = 0.01

# Errors after which the leader is still the leader.
_NOT_MOVED: Final = (ErrorCode.CONCURRENT_TRANSACTIONS,)
_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
# For one such record the broker refuses the whole batch.
_OF_RECORDS: Final = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
_LOST_SEQUENCE: Final = frozenset(
    (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    )
)


class _InFlight(NamedTuple):
    connection: Connection
    batches: list[OutgoingBatch]


class Sender:
    """``add`` batches, call ``send_ready``, and finally ``flush``."""

    def __init__(
        self,
        cluster: Cluster,
        identity: ProducerIdentity | None,
        *,
        acks: int = -1,
        max_request_size: int = 1_048_576,
        max_in_flight: int = 5,
        delivery_timeout_s: float = 120.0,
        isolates_refused: bool = False,
    ) -> None:
        """``identity`` is None for a sender that is not idempotent.

        With ``isolates_refused`` a batch that is refused because of some of its records is split
        until only those fail.
        """
        self.cluster = cluster
        self._is_idempotent = identity is not None
        self._identity = ProducerIdentity() if identity is None else identity
        self._acks = acks
        self._max_request_size = max_request_size
        self._max_in_flight = max_in_flight
        self._delivery_timeout_s = delivery_timeout_s
        self._splits = (*_TOO_LARGE, *_OF_RECORDS) if isolates_refused else _TOO_LARGE
        self._ready: dict[TopicPartition, deque[OutgoingBatch]] = {}
        self._in_flight: deque[_InFlight] = deque()
        # Why a transaction must not be committed: the first error of its batches.
        self.first_error: ApiError | None = None
        # Partitions whose first batch is in flight.
        self._opening: set[TopicPartition] = set()

    @property
    def is_idle(self) -> bool:
        return not self._ready and not self._in_flight

    def add(self, batch: OutgoingBatch) -> None:
        """Queue a batch behind the earlier ones of its partition."""
        self._ready.setdefault(batch.partition, deque()).append(batch)

    def send_ready(self) -> None:
        """Send ready batches, one request per leader at a time, until none is left."""
        while self._ready:
            self._fail_expired()
            groups = self._by_leader()
            if not groups:
                # Everything that is ready waits for the first batch of its partition.
                if not self._in_flight:
                    return
                self._take_answer()
            for leader, batches in groups.items():
                while len(self._in_flight) >= self._max_in_flight:
                    self._take_answer()
                # Processing a response may have put batches back in front of these.
                if all(self._ready.get(each.partition, [None])[0] is each for each in batches):
                    self._post(leader, batches)

    def flush(self) -> None:
        """Send all batches and wait until each is delivered or has failed."""
        while not self.is_idle:
            self.send_ready()
            while self._in_flight:
                self._take_answer()

    def abandon(self) -> None:
        """Drop all batches and close connections with responses outstanding."""
        for request in self._in_flight:
            request.connection.close()
        self._in_flight.clear()
        self._opening.clear()
        self._ready.clear()

    def cancel(self, error: ApiError) -> None:
        """Fail what was not sent, and wait for the responses to the rest without retrying."""
        for batch in [each for queue in self._ready.values() for each in queue]:
            batch.fail(error)
        self._ready.clear()
        for batch, reason in self._drain():
            batch.fail(reason)
        self.first_error = None

    def _fail(
        self, batch: OutgoingBatch, error: ApiError, record_errors: dict[int, str] | None = None
    ) -> None:
        if self.first_error is None:
            self.first_error = error
        batch.fail(error, record_errors)

    def _by_leader(self) -> dict[int, list[OutgoingBatch]]:
        """By leader, the first ready batch of each partition, up to the request size limit."""
        groups: dict[int, list[OutgoingBatch]] = {}
        sizes: dict[int, int] = {}
        for target, queue in list(self._ready.items()):
            if target in self._opening:
                continue
            try:
                leader = self.cluster.retrying(
                    lambda target=target: self.cluster.leader_of(target),  # type: ignore[misc]
                    [target.topic],
                )
            except ApiError as error:
                for batch in self._ready.pop(target):
                    self._fail(batch, error)
                continue
            batch = queue[0]
            size = sizes.get(leader, 0) + batch.size_bytes
            if leader in groups and size > self._max_request_size:
                continue
            groups.setdefault(leader, []).append(batch)
            sizes[leader] = size
        return groups

    def _post(self, leader: int, batches: list[OutgoingBatch]) -> None:
        if self._is_idempotent and not self._identity.is_known:
            self._identity.obtain(self.cluster)
        for batch in batches:
            queue = self._ready[batch.partition]
            queue.popleft()
            if not queue:
                del self._ready[batch.partition]
        try:
            connection = self.cluster.connection(leader)
            request = self._request(connection, batches)
            connection.post(
                request, is_answered=self._acks != 0, max_version=self._newest_version()
            )
        except ConnectionFailed as failure:
            self._retry(self._drain() + [(batch, _lost(failure)) for batch in batches])
            return
        except SecurityError as error:
            # Retrying cannot fix this.
            for batch in batches:
                self._fail(batch, error)
            self._forget_producer()
            return
        if self._acks == 0:
            for batch in batches:
                batch.succeed(-1, -1)
        else:
            self._in_flight.append(_InFlight(connection, batches))
            self._opening.update(each.partition for each in batches if each.base_sequence == 0)

    def _newest_version(self) -> int:
        identity = self._identity
        is_explicit = identity.is_transactional and not identity.adds_partitions
        return _LAST_WITH_EXPLICIT_TRANSACTIONS if is_explicit else NEWEST

    def _request(self, connection: Connection, batches: list[OutgoingBatch]) -> ProduceRequest:
        version = connection.version_of(_PRODUCE_KEY, self._newest_version())
        topics: dict[str, TopicProduceData] = {}
        identity = self._identity
        for batch in batches:
            name = batch.partition.topic
            identity.number(batch)
            if name not in topics:
                topics[name] = (
                    TopicProduceData(topic_id=self.cluster.topic(name).topic_id)
                    if version >= _FIRST_WITH_TOPIC_IDS
                    else TopicProduceData(name=name)
                )
            records = batch.encode(
                identity.producer_id,
                identity.producer_epoch,
                is_transactional=identity.is_transactional,
            )
            topics[name].partition_data.append(
                PartitionProduceData(batch.partition.partition, records)
            )
        timeout_ms = int(self.cluster.timeout_s * 1000)
        return ProduceRequest(
            identity.transactional_id, self._acks, timeout_ms, list(topics.values())
        )

    def _take_answer(self) -> None:
        """Process the oldest response; if a batch in it must be retried, process all of them."""
        producer_id = self._identity.producer_id
        failed = self._answer(self._in_flight.popleft())
        if not failed and self._identity.producer_id == producer_id:
            return
        failed += self._drain()
        if failed:
            self._retry(failed)

    def _drain(self) -> list[tuple[OutgoingBatch, ApiError]]:
        """Process all outstanding responses.

        Nothing new may be sent before: a batch after a failed one fails too, because of its
        sequence, unless the broker does not know the producer yet; then it would overtake.
        """
        failed: list[tuple[OutgoingBatch, ApiError]] = []
        while self._in_flight:
            failed += self._answer(self._in_flight.popleft())
        return failed

    def _answer(self, request: _InFlight) -> list[tuple[OutgoingBatch, ApiError]]:
        """Complete the batches that succeeded; return the others with their errors."""
        self._opening.difference_update(batch.partition for batch in request.batches)
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
        self, batch: OutgoingBatch, answer: PartitionProduceResponse | None
    ) -> ApiError | None:
        """Complete a batch that succeeded or cannot be retried; otherwise return its error."""
        if answer is None:
            # The name is missing only if the topic has been dropped from the cache.
            return ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"no answer for {batch.partition}")
        code = error_code(answer.error_code)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            batch.succeed(answer.base_offset, answer.log_append_time_ms)
            return None
        plain = code.name.lower().replace("_", " ")
        error = ApiError(code, f"{batch.partition}: {answer.error_message or plain}")
        if code.retriable or code in _LOST_SEQUENCE or self._is_to_split(batch, code):
            return error
        messages = {
            each.batch_index: each.batch_index_error_message or "" for each in answer.record_errors
        }
        named = {index: f"{batch.partition}: {text}" for index, text in messages.items()}
        self._fail(batch, error, named)
        # The sequence has a gap now; a new producer id starts a new one.
        self._forget_producer()
        return None

    def _retry(self, failed: list[tuple[OutgoingBatch, ApiError]]) -> None:
        """Put batches back at the front of their queues, in their original order."""
        first_errors: dict[TopicPartition, ApiError] = {}
        for batch, error in failed:
            batch.last_error = error
            first_errors.setdefault(batch.partition, error)
        # A sequence error follows from an earlier failure, or else the broker has
        # lost the state of this producer, which then starts again with a new id.
        lost = {each for each, error in first_errors.items() if error.code in _LOST_SEQUENCE}
        if lost and self._identity.is_transactional:
            for batch, _ in failed:
                if batch.partition in lost:
                    self._fail(batch, first_errors[batch.partition])
            failed = [(batch, error) for batch, error in failed if batch.partition not in lost]
        for batch, error in reversed(failed):
            queue = self._ready.setdefault(batch.partition, deque())
            if self._is_to_split(batch, error.code):
                queue.extendleft(reversed(batch.halves()))
                self._forget_producer()
            else:
                queue.appendleft(batch)
        if lost:
            self._forget_producer()
        moved = [each for each, error in failed if error.code not in _NOT_MOVED]
        self.cluster.forget({batch.partition.topic for batch in moved})
        codes = {error.code for batch, error in failed if not self._is_to_split(batch, error.code)}
        if codes == {ErrorCode.CONCURRENT_TRANSACTIONS}:
            time.sleep(_NEXT_TRANSACTION_BACKOFF_S)
        elif codes:
            time.sleep(_RETRY_BACKOFF_S)

    def _fail_expired(self) -> None:
        """Fail the batches whose delivery timeout has passed."""
        oldest = time.monotonic() - self._delivery_timeout_s
        for target, queue in list(self._ready.items()):
            while queue and queue[0].created_s < oldest:
                batch = queue.popleft()
                message = f"{target}: not delivered within {self._delivery_timeout_s:g} s"
                if batch.last_error is not None:
                    message += f"; last error: {batch.last_error}"
                self._fail(batch, ApiError(ErrorCode.REQUEST_TIMED_OUT, message))
                self._forget_producer()
            if not queue:
                del self._ready[target]

    def _is_to_split(self, batch: OutgoingBatch, code: ErrorCode) -> bool:
        return code in self._splits and batch.count > 1

    def _forget_producer(self) -> None:
        """Start a new sequence under a new producer id with the next request."""
        if not self._is_idempotent or self._identity.is_transactional:
            return
        self._identity.forget()
        for queue in self._ready.values():
            for batch in queue:
                batch.unsequence()


def _lost(failure: ConnectionFailed) -> ApiError:
    return ApiError(ErrorCode.NETWORK_EXCEPTION, str(failure))

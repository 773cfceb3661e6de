"""Produce: one batch per partition, checked, appended, acknowledged (KIP-98, KIP-467, KIP-951).

If a request has two batches for one partition, both are appended and acknowledged. Apache Kafka
acknowledges but keeps only the last; no producer can rely on that, and none sends such requests.

Most requests are handled in one turn of the event loop. A request with many batches takes several,
and a batch that takes long to validate is passed to a thread (``record_checks``); other requests
are served in the meantime. The connection is muted until all batches are appended, so the batches
of one producer stay in order. Other producers do not wait: a batch has no offset before it is
appended.
"""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, NO_UUID, TopicPartition
from moldau.network.session import CloseConnection, Overlapping
from moldau.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.record.fitting import MAX_NAMED_RECORDS
from moldau.record.header import COMPRESSION_MASK, TRANSACTIONAL_FLAG
from moldau.record.produced import ProducedBatch
from moldau.record.validator import (
    RecordErrors,
    TakesLong,
    check_produce_version,
    validate_produced,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext
    from moldau.broker.partition import Partition

ADMIN_CLIENT_ID: Final = "__admin_client"
# The position of the flags in a batch (see record.header).
ATTRIBUTES_LOW_BYTE: Final = 22
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
MAX_NAMED_FAILURES: Final = 10
# Errors of the log. From the log start offset, a refused producer can tell that its state on the
# broker was deleted with its records (KIP-360).
ERRORS_WITH_LOG_START: Final = frozenset(
    (
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    )
)


# How much of a request is handled in one turn of the loop, in units of a small batch: every
# additional 16 KiB count as another one, and a compressed batch as many as it may take.
TURN: Final = 256
PACKED_BATCH: Final = 16


def handle(
    broker: "Broker", request: ProduceRequest, context: "RequestContext"
) -> "ProduceResponse | Awaitable[ProduceResponse | None] | Overlapping | None":
    producing = Producing(broker, request, context)
    if not producing.go_on():
        return producing.finish()
    if producing.flushes is not None:
        # Everything is appended: later requests of the connection need not wait for the flush.
        return Overlapping(producing.flush_and_answer())
    return producing.answer()


class Producing:
    """One request, and its progress."""

    __slots__ = (
        "acks",
        "broker",
        "context",
        "flushes",
        "has_errors",
        "name",
        "nameable",
        "now_ms",
        "place",
        "responses",
        "results",
        "takes_long",
        "topic_id",
        "topic_place",
        "topics",
    )

    def __init__(
        self, broker: "Broker", request: ProduceRequest, context: "RequestContext"
    ) -> None:
        self.broker = broker
        self.topics = request.topic_data
        self.acks = request.acks
        self.context = context
        self.now_ms = broker.clock.now_ms()
        self.has_errors = False
        # The number of record errors that may still be added to the response, which could
        # otherwise be many times as large as the request.
        self.nameable = MAX_NAMED_RECORDS
        # Whether the next batch takes long to validate.
        self.takes_long = False
        # Batches that are acknowledged only when they are on the device (``flush.messages``).
        self.flushes: list[tuple[PartitionProduceResponse, asyncio.Future[None]]] | None = None
        self.responses: list[TopicProduceResponse] = []
        # The current topic, and its next batch.
        self.topic_place = 0
        self.place = 0
        self.name: str | None = None
        self.topic_id = NO_UUID
        self.results: list[PartitionProduceResponse] = []

    def go_on(self) -> bool:
        """Append as much as one turn of the loop allows; returns whether everything is done."""
        topics = self.topics
        left = TURN
        turns = self.broker.turns
        packed_end = 0.0
        while self.topic_place < len(topics):
            if left <= 0:
                return False
            topic = topics[self.topic_place]
            if len(self.responses) == self.topic_place:
                self._begin(topic)
            partition_data = topic.partition_data
            while self.place < len(partition_data):
                if left <= 0:
                    return False
                data = partition_data[self.place]
                try:
                    result = self._append(data)
                except ApiError as error:
                    result = self._refuse(data, error)
                except TakesLong:
                    self.takes_long = True
                    return False
                self.results.append(result)
                self.place += 1
                if self.place < len(partition_data) or self.topic_place + 1 < len(topics):
                    share = _share(data)
                    left -= share
                    if share == PACKED_BATCH:
                        # How long decompressing took shows only on the clock.
                        now = turns.now()
                        if packed_end == 0.0:
                            packed_end = now + turns.share_s
                        elif now >= packed_end:
                            left = 0
            self.place = 0
            self.topic_place += 1
            left -= 1
        return True

    async def finish(self) -> ProduceResponse | None:
        """Append the rest, in as many turns as it takes, and return the response."""
        is_done = False
        while not is_done:
            if self.takes_long:
                await self._append_next_apart()
            else:
                await asyncio.sleep(0)
            self.now_ms = self.broker.clock.now_ms()
            is_done = self.go_on()
        return await self.flush_and_answer()

    async def flush_and_answer(self) -> ProduceResponse | None:
        """Wait for the flushes, and return the response."""
        for result, flushed in self.flushes or ():
            try:
                await flushed
            except ApiError as error:
                self.has_errors = True
                result.error_code = error.code
                result.error_message = error.message
                result.base_offset = -1
        return self.answer()

    def answer(self) -> ProduceResponse | None:
        if self.acks == 0:
            if self.has_errors:
                # No response is expected: closing the connection is the only way to report it.
                raise CloseConnection(f"a produce with acks=0 failed: {_summary(self.responses)}")
            return None
        return ProduceResponse(responses=self.responses)

    def _begin(self, topic: TopicProduceData) -> None:
        self.name = topic.name
        self.topic_id = NO_UUID
        if self.context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
            self.topic_id = topic.topic_id
            self.name = self.broker.replicas.topic_name(topic.topic_id)
        self.results = []
        self.responses.append(
            TopicProduceResponse(
                name=topic.name, topic_id=self.topic_id, partition_responses=self.results
            )
        )

    def _append(self, data: PartitionProduceData) -> PartitionProduceResponse:
        """Validate a batch and append it.

        Raises:
            ApiError: the batch is refused.
            TakesLong: it takes long to validate.
        """
        partition = self._find(data)
        records = data.records
        assert records is not None, "the partition was found, so there are records"
        batch = validate_produced(records, partition.log.config, self.now_ms, may_take_long=False)
        return self._append_checked(data, partition, batch)

    async def _append_next_apart(self) -> None:
        """Validate the next batch in a thread, and append it."""
        self.takes_long = False
        data = self.topics[self.topic_place].partition_data[self.place]
        try:
            partition = self._find(data)
            records = data.records
            assert records is not None, "the partition was found, so there are records"
            batch = await self.broker.record_checks.check(
                records, partition.log.config, self.now_ms
            )
            # The topic may have been deleted in the meantime.
            result = self._append_checked(data, self._find(data), batch)
        except ApiError as error:
            result = self._refuse(data, error)
        self.results.append(result)
        self.place += 1
        if self.place == len(self.topics[self.topic_place].partition_data):
            self.place = 0
            self.topic_place += 1

    def _append_checked(
        self, data: PartitionProduceData, partition: "Partition", batch: ProducedBatch
    ) -> PartitionProduceResponse:
        info = partition.append(batch, self.acks, self.now_ms)
        result = PartitionProduceResponse(
            index=data.index,
            error_code=0,
            base_offset=info.first_offset,
            log_append_time_ms=info.log_append_time,
            log_start_offset=info.log_start_offset,
        )
        if info.must_flush:
            if self.flushes is None:
                self.flushes = []
            self.flushes.append((result, partition.flushed()))
        return result

    def _find(self, data: PartitionProduceData) -> "Partition":
        """The partition, if it can be appended to and the request has records for it."""
        topic = self.name
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self.broker.replicas.partition(topic, data.index)
        acks = self.acks
        if not -1 <= acks <= 1:
            message = f"acks={acks}: must be -1 (all), 0 or 1"
            raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, message)
        if topic in INTERNAL_TOPICS and self.context.client_id != ADMIN_CLIENT_ID:
            message = f"{topic} is written by the broker itself, not by producers"
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        records = data.records
        if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
            message = "a produce request must carry one record batch"
            raise ApiError(ErrorCode.INVALID_RECORD, message)
        check_produce_version(records, self.context.api_version)
        if records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:
            message = "this broker has no transactions yet: produce without a transactional.id"
            raise ApiError(ErrorCode.INVALID_TXN_STATE, message)
        partition.check_append(acks)
        return partition

    def _refuse(self, data: PartitionProduceData, error: ApiError) -> PartitionProduceResponse:
        self.has_errors = True
        result = _refused(data.index, error, self.nameable)
        self.nameable -= len(result.record_errors)
        if error.code in ERRORS_WITH_LOG_START or isinstance(error, RecordErrors):
            assert self.name is not None, "only a partition's log refuses like this"
            partition = self.broker.replicas.find(TopicPartition(self.name, data.index))
            if partition is not None:
                result.log_start_offset = partition.log.log_start_offset
        return result


def _share(data: PartitionProduceData) -> int:
    """The part of ``TURN`` that a batch may take."""
    records = data.records
    if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
        return 1
    if records[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK:
        return PACKED_BATCH
    return 1 + (len(records) >> 14)


def _refused(index: int, error: ApiError, nameable: int) -> PartitionProduceResponse:
    """The response with ``error``, and at most ``nameable`` record errors."""
    record_errors = []
    if isinstance(error, RecordErrors):
        record_errors = [
            BatchIndexAndErrorMessage(batch_index=batch_index, batch_index_error_message=message)
            for batch_index, message in error.record_errors[:nameable]
        ]
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        record_errors=record_errors,
        error_message=error.message,
    )


def _summary(responses: list[TopicProduceResponse]) -> str:
    """The errors of the first refused batches; there may be many thousands."""
    failed: list[str] = []
    for topic in responses:
        for result in topic.partition_responses:
            if result.error_code:
                code = ErrorCode(result.error_code).name
                failed.append(f"{topic.name}-{result.index}: {code}")
                if len(failed) == MAX_NAMED_FAILURES:
                    return ", ".join(failed) + ", ..."
    return ", ".join(failed)

"""Produce requests with a transactional id: what must be known before they are appended.

As in Kafka, a request may have batches that are not transactional: they are appended as if there
were no transactional id (KAFKA-14916). All transactional ones must be of one producer.
"""

from collections.abc import Awaitable
from typing import Final

from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.transaction_verification import (
    Admission,
    Support,
    TransactionVerification,
    Writes,
)
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.produce import ProduceRequest, TopicProduceData
from moldau.record.header import TRANSACTIONAL_FLAG, CorruptBatch, read_header

FIRST_VERSION_WITH_ABORTABLE: Final = 11
FIRST_VERSION_THAT_ADDS: Final = 12
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
FEW_PARTITIONS: Final = 10
# The position of the flags in a batch (see record.header).
ATTRIBUTES_LOW_BYTE: Final = 22
# Errors on which old producers would not retry correctly. On this one they do, and without asking
# for new metadata.
_NOT_VERIFIED: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class TransactionalProduce:
    """Asks the coordinators of transactions about Produce requests."""

    def __init__(
        self, replicas: ReplicaManager, verification: TransactionVerification, turns: Turns
    ) -> None:
        self._replicas = replicas
        self._verification = verification
        self._turns = turns

    def admit(
        self, request: ProduceRequest, api_version: int
    ) -> Admission | Awaitable[Admission | None] | None:
        """What the request may write to; None if it has no transactional batches."""
        reading = _Reading(self._replicas, request, api_version)
        if reading.is_small:
            reading.read_all()
            return self._admit(reading)
        steps = self._turns.run(reading.steps())
        if isinstance(steps, _Reading):
            return self._admit(reading)
        return self._admit_later(reading, steps)

    def _admit(self, reading: "_Reading") -> Admission | Awaitable[Admission | None] | None:
        try:
            writes = reading.writes()
        except ApiError as error:
            return Admission(error=error)
        if writes is None:
            return None
        admission = self._verification.admit(writes)
        if isinstance(admission, Admission):
            return _for_producers(admission, writes.support)
        return _when_admitted(admission, writes.support)

    async def _admit_later(
        self, reading: "_Reading", steps: "Awaitable[_Reading]"
    ) -> Admission | None:
        await steps
        admission = self._admit(reading)
        if admission is None or isinstance(admission, Admission):
            return admission
        return await admission


async def _when_admitted(admission: Awaitable[Admission], support: Support) -> Admission:
    return _for_producers(await admission, support)


def _for_producers(admission: Admission, support: Support) -> Admission:
    """Replace the errors that producers do not expect."""
    for topic_partition, error in admission.errors.items():
        is_concurrent = error.code is ErrorCode.CONCURRENT_TRANSACTIONS
        if error.code in _NOT_VERIFIED or (is_concurrent and not support.adds_partitions):
            shown = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, error.message)
            admission.errors[topic_partition] = shown
    return admission


class _Reading:
    """Collects the transactional batches of a request, from their headers alone."""

    def __init__(self, replicas: ReplicaManager, request: ProduceRequest, api_version: int) -> None:
        self._replicas = replicas
        self._request = request
        self._api_version = api_version
        self._producers: set[tuple[int, int]] = set()
        self._sequences: dict[TopicPartition, int] = {}

    @property
    def is_small(self) -> bool:
        """Whether it is read in less time than steps take to set up."""
        topics = self._request.topic_data
        return len(topics) == 1 and len(topics[0].partition_data) <= FEW_PARTITIONS

    def read_all(self) -> None:
        """All batches of a small request."""
        for topic in self._request.topic_data:
            name = self._name_of(topic)
            if name is not None:
                for data in topic.partition_data:
                    self._read(TopicPartition(name, data.index), data.records)

    def _name_of(self, topic: TopicProduceData) -> str | None:
        if self._api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
            return self._replicas.topic_name(topic.topic_id)
        return topic.name

    def steps(self) -> "Steps[_Reading]":
        for topic in self._request.topic_data:
            name = self._name_of(topic)
            if name is not None:
                for data in topic.partition_data:
                    self._read(TopicPartition(name, data.index), data.records)
                    yield
            yield
        return self

    def _read(self, topic_partition: TopicPartition, records: memoryview | bytes | None) -> None:
        if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
            return
        if not records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:
            return
        try:
            header = read_header(records, 0)
        except CorruptBatch:
            # It is refused when it is validated.
            return
        if header.producer_id < 0:
            return
        self._producers.add((header.producer_id, header.producer_epoch))
        lowest = self._sequences.get(topic_partition)
        if lowest is None or header.base_sequence < lowest:
            self._sequences[topic_partition] = header.base_sequence

    def writes(self) -> Writes | None:
        """Raises ApiError: INVALID_PRODUCER_ID_MAPPING."""
        if not self._producers:
            return None
        if len(self._producers) > 1:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"the transactional batches of one request are of {len(self._producers)} "
                "producers or epochs: send them in separate requests",
            )
        ((producer_id, producer_epoch),) = self._producers
        transactional_id = self._request.transactional_id
        assert transactional_id is not None, "only such requests are read"
        version = self._api_version
        return Writes(
            transactional_id,
            producer_id,
            producer_epoch,
            self._sequences,
            Support(version >= FIRST_VERSION_WITH_ABORTABLE, version >= FIRST_VERSION_THAT_ADDS),
        )

"""Makes sure that a transaction includes a partition before anything is written there (KIP-890).

A leader that is about to append the first batch of a transaction asks its coordinator: is the
partition part of it? Clients of transaction version 2 do not add partitions themselves; for them
the question adds the partition. Later batches need no question: the log knows that the
transaction is open.

The coordinator may be this broker. Then the answer is usually there in the same turn of the event
loop, and so is the append. Otherwise the question goes over the network
(``add_partitions_sending``), and a guard makes sure that the answer still holds when it arrives
(``storage.log.verification``).

A coordinator that still ends the previous transaction answers CONCURRENT_TRANSACTIONS. A client of
version 2 meets that often, if it begins the next transaction at once, so the question is repeated
for up to ``add.partitions.to.txn.retry.backoff.max.ms`` before the client hears of it.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Final, Protocol

from moldau.broker.add_partitions_sending import (
    AddPartitionsSender,
    Channels,
    Refused,
    refused_all,
    refused_in,
)
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.replica_manager import ReplicaManager
from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TRANSACTIONS_TOPIC, TopicPartition
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.storage.log.verification import NOT_REQUIRED, VerificationGuard

NO_LEADER: Final = -1


class LocalCoordinator(Protocol):
    """The coordinator of transactions on this broker."""

    def partition_for(self, transactional_id: str) -> int: ...

    def add_partitions(
        self, transaction: AddPartitionsToTxnTransaction
    ) -> AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]:
        """Raises ApiError if it cannot answer; so does the awaitable."""
        ...


class Support:
    """What a client can do, by the version of its request."""

    __slots__ = ("adds_partitions", "knows_abortable")

    def __init__(self, knows_abortable: bool, adds_partitions: bool) -> None:
        # Knows TRANSACTION_ABORTABLE.
        self.knows_abortable = knows_abortable
        # Transaction version 2: partitions are added by writing to them.
        self.adds_partitions = adds_partitions


class Writes:
    """What a request writes in a transaction: the first sequence of each partition."""

    __slots__ = ("producer_epoch", "producer_id", "sequences", "support", "transactional_id")

    def __init__(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        sequences: Mapping[TopicPartition, int],
        support: Support,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.sequences = sequences
        self.support = support


class Admission:
    """The partitions that a request may write to, and why it may not write to the others."""

    __slots__ = ("error", "errors", "guards", "is_required")

    def __init__(self, *, is_required: bool = True, error: ApiError | None = None) -> None:
        self.is_required = is_required
        # Of the whole request.
        self.error = error
        # Only of partitions where the transaction is not open yet.
        self.guards: dict[TopicPartition, VerificationGuard] = {}
        self.errors: dict[TopicPartition, ApiError] = {}

    def guard(self, topic_partition: TopicPartition) -> VerificationGuard | None:
        """What the log must be given with the batch.

        Raises:
            ApiError: the batch must not be appended.
        """
        error = self.errors.get(topic_partition) if self.error is None else self.error
        if error is not None:
            raise error
        return self.guards.get(topic_partition) if self.is_required else NOT_REQUIRED


class TransactionVerification:
    """Admits the first writes of transactions to the partitions led by this broker."""

    def __init__(
        self,
        node_id: int,
        configs: DynamicConfig,
        metadata: MetadataCache,
        replicas: ReplicaManager,
        coordinator: LocalCoordinator,
        channels: Channels,
        clock: Clock,
    ) -> None:
        self._node_id = node_id
        self._configs = configs
        self._metadata = metadata
        self._replicas = replicas
        self._coordinator = coordinator
        self._sender = AddPartitionsSender(channels)
        self._clock = clock

    def admit(self, writes: Writes) -> Admission | Awaitable[Admission]:
        """Ask the coordinator where necessary; an awaitable if its answer is not there yet."""
        is_required = self._configs.broker.transaction_partition_verification_enable
        if not is_required and not writes.support.adds_partitions:
            return Admission(is_required=False)
        admission = self._begin(writes, is_required)
        if not admission.guards:
            return admission
        answer = self._ask(writes, admission)
        if not isinstance(answer, dict):
            return self._admit_later(writes, admission, answer)
        if _is_to_be_repeated(answer, writes):
            return self._admit_later(writes, admission, _known(answer))
        _refuse(admission, answer, writes.support)
        return admission

    async def _admit_later(
        self, writes: Writes, admission: Admission, answer: Awaitable[Refused]
    ) -> Admission:
        config = self._configs.broker
        limit_ms = min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms)
        deadline_ms = self._clock.monotonic_ms() + limit_ms
        refused = await answer
        while _is_to_be_repeated(refused, writes) and self._clock.monotonic_ms() < deadline_ms:
            await asyncio.sleep(config.add_partitions_to_txn_retry_backoff_ms / 1000)
            admission = self._begin(writes, admission.is_required)
            if not admission.guards:
                return admission
            again = self._ask(writes, admission)
            refused = again if isinstance(again, dict) else await again
        _refuse(admission, refused, writes.support)
        return admission

    def _begin(self, writes: Writes, is_required: bool) -> Admission:
        """Get a guard of each partition in which the transaction is not open."""
        admission = Admission(is_required=is_required)
        wall_ms = self._clock.wall_ms()
        for topic_partition, sequence in writes.sequences.items():
            try:
                partition = self._replicas.partition(*topic_partition)
                partition.check_append(0)
                guard = partition.log.producers.begin_verification(
                    writes.producer_id,
                    writes.producer_epoch,
                    sequence,
                    wall_ms,
                    supports_epoch_bump=writes.support.adds_partitions,
                )
            except ApiError as error:
                admission.errors[topic_partition] = error
            else:
                if guard is not None:
                    admission.guards[topic_partition] = guard
        return admission

    def _ask(self, writes: Writes, admission: Admission) -> Refused | Awaitable[Refused]:
        transaction = _question(writes, admission)
        index = self._coordinator.partition_for(writes.transactional_id)
        leader = self._leader_of(index)
        if leader == NO_LEADER:
            return refused_all(transaction, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if leader != self._node_id:
            return self._sender.ask(leader, transaction)
        try:
            result = self._coordinator.add_partitions(transaction)
        except ApiError as error:
            return refused_all(transaction, error.code)
        if isinstance(result, AddPartitionsToTxnResult):
            return refused_in(result) if _has_errors(result) else {}
        return _answered(transaction, result)

    def _leader_of(self, index: int) -> int:
        topic = self._metadata.image.topics_by_name.get(TRANSACTIONS_TOPIC)
        registration = None if topic is None else topic.partitions.get(index)
        return NO_LEADER if registration is None else registration.leader


def _has_errors(result: AddPartitionsToTxnResult) -> bool:
    for topic in result.topic_results:
        for each in topic.results_by_partition:
            if each.partition_error_code:
                return True
    return False


async def _answered(
    transaction: AddPartitionsToTxnTransaction, result: Awaitable[AddPartitionsToTxnResult]
) -> Refused:
    try:
        return refused_in(await result)
    except ApiError as error:
        return refused_all(transaction, error.code)


async def _known(answer: Refused) -> Refused:
    return answer


def _question(writes: Writes, admission: Admission) -> AddPartitionsToTxnTransaction:
    topics: dict[str, AddPartitionsToTxnTopic] = {}
    for name, index in admission.guards:
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = AddPartitionsToTxnTopic(name)
        topic.partitions.append(index)
    return AddPartitionsToTxnTransaction(
        writes.transactional_id,
        writes.producer_id,
        writes.producer_epoch,
        verify_only=not writes.support.adds_partitions,
        topics=list(topics.values()),
    )


def _is_to_be_repeated(refused: Refused, writes: Writes) -> bool:
    if not refused:
        return False
    return writes.support.adds_partitions and ErrorCode.CONCURRENT_TRANSACTIONS in refused.values()


def _refuse(admission: Admission, refused: Refused, support: Support) -> None:
    for topic_partition, code in refused.items():
        shown = _shown(code, support)
        message = f"{topic_partition} could not be added to the transaction: {code.name}"
        admission.errors[topic_partition] = ApiError(shown, message)


def _shown(code: ErrorCode, support: Support) -> ErrorCode:
    """The error of the coordinator, as a client that writes expects it."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and not support.knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return code

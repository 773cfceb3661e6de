"""The transaction coordinator of this broker: a shard per partition of ``__transaction_state``.

A transactional id belongs to the partition that it hashes to, and the leader of that partition
coordinates its transactions. ``coordinator_runtime`` keeps the shards, and ``marker_sending``
carries out what they have decided.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from moldau.broker.committed_answer import when_committed
from moldau.broker.coordinator_runtime import CoordinatorRuntime
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.group_runtime import group_hash
from moldau.broker.hosted_shard import HostedShard
from moldau.broker.late_imports import TRANSACTION_COORDINATOR
from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.partition import Partition
from moldau.broker.producer_ids import ProducerIds
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.topic_creation import TopicCreation
from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, TRANSACTIONS_TOPIC
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import TRANSACTION_VERSION
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from moldau.transaction_coordinator.add_partitions import one_result, result_of
from moldau.transaction_coordinator.context import LAST_CLIENT_ADD_PARTITIONS, TransactionContext

if TYPE_CHECKING:
    from moldau.broker.marker_sending import MarkerSender
    from moldau.transaction_coordinator.shard import TransactionShard

    HostedTransactions = HostedShard[TransactionShard]

# The version of AddPartitionsToTxn of a broker that adds or verifies partitions.
BROKER_ADD_PARTITIONS: Final = 5
NO_COMPRESSION: Final = 0

logger = logging.getLogger(__name__)


class TransactionRuntime:
    """Finds the shard of a transactional id."""

    def __init__(
        self,
        configs: DynamicConfig,
        metadata: MetadataCache,
        replicas: ReplicaManager,
        topic_creation: TopicCreation,
        producer_ids: ProducerIds,
        new_sender: "Callable[[], MarkerSender]",
        clock: Clock,
        turns: Turns,
    ) -> None:
        self._configs = configs
        self._metadata = metadata
        self._producer_ids = producer_ids
        self._new_sender = new_sender
        self._clock = clock
        self._sender: MarkerSender | None = None
        self._runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            TRANSACTIONS_TOPIC,
            configs.static.node_id,
            self._host,
            TRANSACTION_COORDINATOR,
            replicas,
            topic_creation,
            clock,
            turns,
        )

    # --- look-ups, on the hot path

    def shard_of(self, transactional_id: str) -> "HostedTransactions":
        """The shard that coordinates a transactional id.

        Raises:
            ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self._runtime.shard_at(self.partition_for(transactional_id))

    def partition_for(self, transactional_id: str) -> int:
        count = self._runtime.partition_count
        if not count:
            count = self._configs.broker.transaction_state_log_num_partitions
        return group_hash(transactional_id) % count

    def all_shards(self) -> "list[HostedTransactions]":
        """Every active shard of this broker, by partition.

        Raises:
            ApiError: COORDINATOR_LOAD_IN_PROGRESS unless all of them are loaded.
        """
        return self._runtime.all_loaded()

    # --- partitions of a transaction

    def add_partitions(
        self, transaction: AddPartitionsToTxnTransaction, api_version: int = BROKER_ADD_PARTITIONS
    ) -> AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]:
        """Add partitions to a transaction, or verify that they are part of it.

        The result is committed. If one of the partitions cannot be added, none is.
        """
        is_client = api_version <= LAST_CLIENT_ADD_PARTITIONS
        for topic in transaction.topics:
            for index in topic.partitions:
                if self._error_of(topic.name, index, is_client):
                    return _at_once(self.refusal(transaction, api_version))
        return self.add_existing(transaction, TransactionContext(api_version))

    def add_existing(
        self, transaction: AddPartitionsToTxnTransaction, context: TransactionContext
    ) -> AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]:
        """Like ``add_partitions``, for partitions that are known to exist."""
        if not transaction.transactional_id:
            return _refused(transaction, context, ErrorCode.INVALID_REQUEST)
        try:
            hosted = self.shard_of(transaction.transactional_id)
            if transaction.verify_only:
                return _verified(hosted, transaction, context)
            result: AddPartitionsToTxnResult | asyncio.Future[AddPartitionsToTxnResult] = (
                hosted.run(hosted.shard.handle_add_partitions, transaction, context)
            )
        except ApiError as error:
            return _refused(transaction, context, error.code)
        if isinstance(result, asyncio.Future):
            return _added(result, transaction, context)
        return result

    def refusal(
        self, transaction: AddPartitionsToTxnTransaction, api_version: int
    ) -> Steps[AddPartitionsToTxnResult | None]:
        """The result if a partition cannot be added, in steps; None if all of them can."""
        is_client = api_version <= LAST_CLIENT_ADD_PARTITIONS
        result = AddPartitionsToTxnResult(transaction.transactional_id)
        is_refused = False
        for topic in transaction.topics:
            found = AddPartitionsToTxnTopicResult(topic.name)
            result.topic_results.append(found)
            yield
            for index in topic.partitions:
                code = self._error_of(topic.name, index, is_client)
                is_refused = is_refused or code != ErrorCode.NONE
                code = code or ErrorCode.OPERATION_NOT_ATTEMPTED
                found.results_by_partition.append(AddPartitionsToTxnPartitionResult(index, code))
                yield
        return result if is_refused else None

    def _error_of(self, topic: str, index: int, is_client: bool) -> ErrorCode:
        """Why a partition cannot be added, as in Kafka. NONE if it can."""
        if is_client and topic in INTERNAL_TOPICS:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if self._metadata.image.partition(topic, index) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    # --- the end of a transaction

    def first_attempt(self, transactional_id: str) -> "asyncio.Future[None] | None":
        """Done when the markers that can be written here at once are written, or None if so."""
        return None if self._sender is None else self._sender.first_attempt(transactional_id)

    # --- metadata changes

    def start(self, image: MetadataImage) -> None:
        self._runtime.start(image)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply a change, after the replica manager and the groups."""
        self._runtime.apply(image, delta)
        if self._sender is not None:
            self._sender.retry()

    def follow_when_settled(self) -> None:
        """Create the shards of partitions whose logs are still being created, when they exist."""
        self._runtime.follow_when_settled()

    async def settled(self) -> None:
        """Return when every partition that is led here has a shard."""
        await self._runtime.settled()

    def stop(self) -> None:
        """Close every shard: waiting requests get an error, and no transaction is finished here."""
        self._runtime.stop()
        if self._sender is not None:
            self._sender.stop()

    def _host(
        self, partition: Partition, give_up: "Callable[[HostedTransactions], None]"
    ) -> "HostedTransactions":
        # Imported late: a broker without transactions starts faster.
        from moldau.broker.transaction_loading import TransactionLoader
        from moldau.transaction_coordinator.shard import TransactionShard

        config = self._configs.broker
        if self._sender is None:
            self._sender = self._new_sender()
        shard = TransactionShard(config, self._transaction_version, self._producer_ids.take)
        max_bytes = config.transaction_state_log_load_buffer_size
        return HostedShard(
            partition,
            shard,
            TransactionLoader(partition, shard, max_bytes).load,
            shard.encode_record,
            self._clock,
            NO_COMPRESSION,
            config.request_timeout_ms,
            give_up,
            self._sender.finish,
            postpones_time_outs=True,
        )

    def _transaction_version(self) -> int:
        return self._metadata.image.features.get(TRANSACTION_VERSION, 0)

    async def create_topic(self) -> None:
        """Create ``__transaction_state``; concurrent calls share one creation."""
        await self._runtime.create_topic()


def _verified(
    hosted: "HostedTransactions",
    transaction: AddPartitionsToTxnTransaction,
    context: TransactionContext,
) -> AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]:
    """Only reads: it is possible also while nothing can be written."""
    result: AddPartitionsToTxnResult = hosted.decide(
        hosted.shard.handle_add_partitions, transaction, context, may_only_read=True
    )
    commitment = hosted.committed()
    if commitment is None:
        return result
    return _added(when_committed(result, commitment), transaction, context)


async def _added(
    result: Awaitable[AddPartitionsToTxnResult],
    transaction: AddPartitionsToTxnTransaction,
    context: TransactionContext,
) -> AddPartitionsToTxnResult:
    try:
        return await result
    except ApiError as error:
        return _refused(transaction, context, error.code)


def _refused(
    transaction: AddPartitionsToTxnTransaction, context: TransactionContext, code: ErrorCode
) -> AddPartitionsToTxnResult:
    return one_result(code) if context.has_one_result else result_of(transaction, code)


def _at_once(steps: Steps[AddPartitionsToTxnResult | None]) -> AddPartitionsToTxnResult:
    """The result of a few steps."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result = end.value
    assert isinstance(result, AddPartitionsToTxnResult)
    return result

"""Transactions: writes to many partitions become visible together, or not at all.

A transactional id has one owner at a time. ``begin`` without a producer id takes it over: the
coordinator aborts the previous owner's open transaction and fences its later requests. Each
``begin`` bumps the epoch, so that a late write cannot become part of the next transaction, and
the sequence of every partition starts at 0 again (KIP-360; since KIP-890 brokers do it).

Any process that has the identity can add partitions and write to them, so one transaction can be
written by many processes. They must make sure that only one of them writes to each partition.

Partitions are added explicitly and the epoch is bumped in ``begin``: the request versions are those
before the second part of KIP-890, which older brokers understand too.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeVar

from moldau.client.cluster import Cluster, raise_for
from moldau.client.connection import NEWEST
from moldau.client.coordinators import CoordinatorKind, Coordinators
from moldau.client.group_offsets import CommittedOffset
from moldau.client.producer_identity import NO_PRODUCER_ID, ProducerIdentity
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.message import Message
from moldau.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

R = TypeVar("R", bound=Message)

# The last versions for clients in which the broker does not bump the epoch (KIP-890).
_ADD_PARTITIONS_VERSION: Final = 3
_END_TXN_VERSION: Final = 4
_TXN_OFFSET_COMMIT_VERSION: Final = 4
_INIT_PRODUCER_ID_VERSION: Final = 5
_ADD_PARTITIONS_KEY: Final = 24
_MOVED: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class TransactionIdentity(NamedTuple):
    """The identity of a transaction's producer; another process can take part with it."""

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1

    def producer(self) -> ProducerIdentity:
        """The identity for a ``Sender``."""
        return ProducerIdentity(self.producer_id, self.producer_epoch, self.transactional_id)


def supports_transactions(cluster: Cluster) -> bool:
    return cluster.connection().supports(_ADD_PARTITIONS_KEY)


class Transactions:
    """Sends requests to transaction coordinators, with retries where they can help."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._coordinators = Coordinators(cluster, CoordinatorKind.TRANSACTION)
        self._group_coordinators = Coordinators(cluster)

    def begin(self, identity: TransactionIdentity, timeout_ms: int) -> TransactionIdentity:
        """Bump the epoch; without a producer id, take over the transactional id.

        The coordinator aborts the transaction if it takes longer than ``timeout_ms``.

        Raises:
            ApiError: PRODUCER_FENCED if another process has taken over the transactional id.
        """
        request = InitProducerIdRequest(
            identity.transactional_id, timeout_ms, identity.producer_id, identity.producer_epoch
        )

        def ask() -> TransactionIdentity:
            response = self._ask(
                identity.transactional_id,
                request,
                InitProducerIdResponse,
                _INIT_PRODUCER_ID_VERSION,
            )
            self._check(identity, response.error_code, "beginning the transaction of")
            return identity._replace(
                producer_id=response.producer_id, producer_epoch=response.producer_epoch
            )

        return self._cluster.retrying(ask)

    def add_partitions(
        self, identity: TransactionIdentity, partitions: Collection[TopicPartition]
    ) -> None:
        """Add the partitions that the transaction will write to."""
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, partition in sorted(partitions):
            topics.setdefault(topic, AddPartitionsToTxnTopic(topic)).partitions.append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=identity.transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.producer_epoch,
            v3_and_below_topics=list(topics.values()),
        )

        def ask() -> None:
            response = self._ask(
                identity.transactional_id,
                request,
                AddPartitionsToTxnResponse,
                _ADD_PARTITIONS_VERSION,
            )
            # If one cannot be added, none is: the others have OPERATION_NOT_ATTEMPTED.
            errors = [
                (each.partition_error_code, TopicPartition(topic.name, each.partition_index))
                for topic in response.results_by_topic_v3_and_below
                for each in topic.results_by_partition
                if each.partition_error_code != ErrorCode.NONE
            ]
            errors.sort(key=lambda error: error[0] == ErrorCode.OPERATION_NOT_ATTEMPTED)
            for code, partition in errors:
                self._check(identity, code, f"adding {partition} to the transaction of")

        self._cluster.retrying(ask)

    def commit_offsets(
        self,
        identity: TransactionIdentity,
        group_id: str,
        offsets: Mapping[TopicPartition, CommittedOffset],
    ) -> None:
        """Commit offsets of a group as part of the transaction."""
        self._cluster.retrying(lambda: self._add_group(identity, group_id))
        self._cluster.retrying(lambda: self._commit_offsets(identity, group_id, offsets))

    def end(self, identity: TransactionIdentity, *, is_committed: bool) -> None:
        """Commit or abort. Repeating the same call has no effect; it cannot be reversed."""
        request = EndTxnRequest(
            identity.transactional_id, identity.producer_id, identity.producer_epoch, is_committed
        )

        def ask() -> None:
            response = self._ask(
                identity.transactional_id, request, EndTxnResponse, _END_TXN_VERSION
            )
            what = "committing" if is_committed else "aborting"
            self._check(identity, response.error_code, f"{what} the transaction of")

        self._cluster.retrying(ask)

    def _add_group(self, identity: TransactionIdentity, group_id: str) -> None:
        request = AddOffsetsToTxnRequest(
            identity.transactional_id, identity.producer_id, identity.producer_epoch, group_id
        )
        response = self._ask(identity.transactional_id, request, AddOffsetsToTxnResponse)
        self._check(identity, response.error_code, f"adding group {group_id} to the transaction of")

    def _commit_offsets(
        self,
        identity: TransactionIdentity,
        group_id: str,
        offsets: Mapping[TopicPartition, CommittedOffset],
    ) -> None:
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for partition, committed in offsets.items():
            topic = topics.setdefault(partition.topic, TxnOffsetCommitRequestTopic(partition.topic))
            topic.partitions.append(
                TxnOffsetCommitRequestPartition(
                    partition.partition,
                    committed.offset,
                    committed.leader_epoch,
                    committed.metadata,
                )
            )
        request = TxnOffsetCommitRequest(
            identity.transactional_id,
            group_id,
            identity.producer_id,
            identity.producer_epoch,
            topics=list(topics.values()),
        )
        try:
            response = self._group_coordinators.request(
                group_id, request, TxnOffsetCommitResponse, max_version=_TXN_OFFSET_COMMIT_VERSION
            )
        except BaseException:
            self._group_coordinators.forget(group_id)
            raise
        for answered in response.topics:
            for each in answered.partitions:
                if each.error_code in _MOVED:
                    self._group_coordinators.forget(group_id)
                where = TopicPartition(answered.name, each.partition_index)
                raise_for(each.error_code, None, f"commit of group {group_id} for {where}")

    def _ask(
        self,
        transactional_id: str,
        request: Message,
        response_class: type[R],
        max_version: int = NEWEST,
    ) -> R:
        try:
            return self._coordinators.request(
                transactional_id, request, response_class, max_version=max_version
            )
        except BaseException:
            # The coordinator may have moved: look it up again on the next attempt.
            self._coordinators.forget(transactional_id)
            raise

    def _check(self, identity: TransactionIdentity, code: int, what: str) -> None:
        if code in _MOVED:
            self._coordinators.forget(identity.transactional_id)
        if code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
            raise ApiError(
                ErrorCode.PRODUCER_FENCED,
                f"{what} {identity.transactional_id}: another process has taken it over or it took "
                "longer than its timeout and was aborted",
            )
        raise_for(code, None, f"{what} {identity.transactional_id}")

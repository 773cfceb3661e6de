"""Transactions: writes to many partitions become visible together, or not at all.

A transactional id has one owner at a time. ``begin`` without a producer id takes it over: the
coordinator aborts the previous owner's open transaction and fences its later requests. Each
transaction has an epoch of its own, so that a late write cannot become part of the next one, and
the sequence of every partition starts at 0 again.

Who bumps the epoch depends on the feature ``transaction.version`` of the cluster. From level 2 on
(KIP-890), the end of a transaction does, and partitions and groups are added by the requests that
write to them. Below it, ``next`` bumps it (KIP-360), and partitions and groups are added by
requests of their own.

Any process that has the identity can add partitions and write to them, so one transaction can be
written by many processes. They must make sure that only one of them writes to each partition.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeVar

from moldau.client.cluster import Cluster, raise_for
from moldau.client.connection import NEWEST
from moldau.client.coordinators import CoordinatorKind, Coordinators
from moldau.client.group_offsets import NOBODY, CommittedOffset, Membership
from moldau.client.producer_identity import FIRST_IMPLICIT, NO_PRODUCER_ID, ProducerIdentity
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

FEATURE: Final = "transaction.version"
# The last version for clients; later ones are for brokers.
_ADD_PARTITIONS_VERSION: Final = 3
# The last versions with which the broker neither bumps the epoch nor adds a group by itself.
_EXPLICIT_END_TXN_VERSION: Final = 4
_EXPLICIT_TXN_OFFSET_COMMIT_VERSION: Final = 4
_INIT_PRODUCER_ID_VERSION: Final = 5
_ADD_PARTITIONS_KEY: Final = 24
_MOVED: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
FENCED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class TransactionIdentity(NamedTuple):
    """The identity of a transaction's producer; another process can take part with it."""

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    # The level of the feature when the producer id was obtained: all who take part must agree.
    transaction_version: int = 0

    @property
    def is_implicit(self) -> bool:
        """Whether brokers add partitions by themselves and the end bumps the epoch."""
        return self.transaction_version >= FIRST_IMPLICIT

    def producer(self) -> ProducerIdentity:
        """The identity for a ``Sender``."""
        return ProducerIdentity(
            self.producer_id,
            self.producer_epoch,
            self.transactional_id,
            self.transaction_version,
        )


def supports_transactions(cluster: Cluster) -> bool:
    return cluster.connection().supports(_ADD_PARTITIONS_KEY)


class Transactions:
    """Sends requests to transaction coordinators, with retries where they can help."""

    def __init__(self, cluster: Cluster, max_transaction_version: int = FIRST_IMPLICIT) -> None:
        """``max_transaction_version`` below 2 uses the protocol before KIP-890 on any cluster."""
        self._cluster = cluster
        self._max_transaction_version = max_transaction_version
        self._coordinators = Coordinators(cluster, CoordinatorKind.TRANSACTION)
        self._group_coordinators = Coordinators(cluster)

    def begin(self, identity: TransactionIdentity, timeout_ms: int) -> TransactionIdentity:
        """Bump the epoch; without a producer id, take over the transactional id.

        The coordinator aborts the transaction if it takes longer than ``timeout_ms``.

        Raises:
            ApiError: PRODUCER_FENCED if another process has taken over the transactional id.
        """
        name = identity.transactional_id
        request = InitProducerIdRequest(
            name, timeout_ms, identity.producer_id, identity.producer_epoch
        )

        def ask() -> TransactionIdentity:
            response = self._ask(name, request, InitProducerIdResponse, _INIT_PRODUCER_ID_VERSION)
            self._check(identity, response.error_code, "beginning the transaction of")
            level = self._coordinators.connection(name).feature(FEATURE)
            return identity._replace(
                producer_id=response.producer_id,
                producer_epoch=response.producer_epoch,
                transaction_version=min(level, self._max_transaction_version),
            )

        return self._cluster.retrying(ask)

    def next(self, identity: TransactionIdentity, timeout_ms: int) -> TransactionIdentity:
        """The identity of the next transaction of the same producer, after ``begin`` or ``end``."""
        return identity if identity.is_implicit else self.begin(identity, timeout_ms)

    def add_partitions(
        self, identity: TransactionIdentity, partitions: Collection[TopicPartition]
    ) -> None:
        """Add the partitions that the transaction will write to, unless brokers do it."""
        if identity.is_implicit:
            return
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
        membership: Membership = NOBODY,
    ) -> None:
        """Commit offsets of a group as part of the transaction."""
        if not identity.is_implicit:
            self._cluster.retrying(lambda: self._add_group(identity, group_id))
        request = TxnOffsetCommitRequest(
            identity.transactional_id,
            group_id,
            identity.producer_id,
            identity.producer_epoch,
            membership.generation_id,
            membership.member_id,
            membership.instance_id,
            _topics_of(offsets),
        )
        self._cluster.retrying(lambda: self._commit_offsets(identity, request))

    def end(self, identity: TransactionIdentity, *, is_committed: bool) -> TransactionIdentity:
        """Commit or abort; returns the identity to continue with.

        Repeating the same call has no effect; it cannot be reversed.
        """
        request = EndTxnRequest(
            identity.transactional_id, identity.producer_id, identity.producer_epoch, is_committed
        )
        version = NEWEST if identity.is_implicit else _EXPLICIT_END_TXN_VERSION

        def ask() -> TransactionIdentity:
            response = self._ask(identity.transactional_id, request, EndTxnResponse, version)
            what = "committing" if is_committed else "aborting"
            self._check(identity, response.error_code, f"{what} the transaction of")
            if not identity.is_implicit:
                return identity
            return identity._replace(
                producer_id=response.producer_id, producer_epoch=response.producer_epoch
            )

        return self._cluster.retrying(ask)

    def _add_group(self, identity: TransactionIdentity, group_id: str) -> None:
        request = AddOffsetsToTxnRequest(
            identity.transactional_id, identity.producer_id, identity.producer_epoch, group_id
        )
        response = self._ask(identity.transactional_id, request, AddOffsetsToTxnResponse)
        self._check(identity, response.error_code, f"adding group {group_id} to the transaction of")

    def _commit_offsets(
        self, identity: TransactionIdentity, request: TxnOffsetCommitRequest
    ) -> None:
        group_id = request.group_id
        version = NEWEST if identity.is_implicit else _EXPLICIT_TXN_OFFSET_COMMIT_VERSION
        try:
            response = self._group_coordinators.request(
                group_id, request, TxnOffsetCommitResponse, max_version=version
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
        if code in FENCED:
            raise ApiError(
                ErrorCode.PRODUCER_FENCED,
                f"{what} {identity.transactional_id}: another process has taken it over or it took "
                "longer than its timeout and was aborted",
            )
        raise_for(code, None, f"{what} {identity.transactional_id}")


def _topics_of(
    offsets: Mapping[TopicPartition, CommittedOffset],
) -> list[TxnOffsetCommitRequestTopic]:
    topics: dict[str, TxnOffsetCommitRequestTopic] = {}
    for partition, committed in offsets.items():
        topic = topics.setdefault(partition.topic, TxnOffsetCommitRequestTopic(partition.topic))
        topic.partitions.append(
            TxnOffsetCommitRequestPartition(
                partition.partition, committed.offset, committed.leader_epoch, committed.metadata
            )
        )
    return list(topics.values())

"""Transactions: what is written to many partitions becomes visible together, or not at all.

A transactional id has one owner at a time. ``begin`` with no identity takes it over: it ends what
a dead owner left open, and whatever that one still has under way is refused from then on. Each
``begin`` moves the epoch, so a write that comes late cannot fall into the next transaction, and
every partition's sequence begins at 0 again (KIP-360; KIP-890 later made the brokers do it).

Whoever knows the identity may add partitions and write to them, so one transaction can be written
by many processes. That each partition is written by one of them only is theirs to see to.

Partitions are added by name and the epoch moves in ``begin``: requests stay in the versions before
KIP-890's second part, which brokers of every age understand.
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

# The last versions for clients, and without the epoch's own movement (KIP-890).
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
    """In whose name a transaction is written: enough to take part in it from elsewhere."""

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1

    def producer(self) -> ProducerIdentity:
        """The same for a sender of batches."""
        return ProducerIdentity(self.producer_id, self.producer_epoch, self.transactional_id)


def supports_transactions(cluster: Cluster) -> bool:
    return cluster.connection().supports(_ADD_PARTITIONS_KEY)


class Transactions:
    """Asks the coordinator of a transactional id, and tries again where that may help."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._coordinators = Coordinators(cluster, CoordinatorKind.TRANSACTION)
        self._group_coordinators = Coordinators(cluster)

    def begin(self, identity: TransactionIdentity, timeout_ms: int) -> TransactionIdentity:
        """Move the epoch on; with no producer id yet, take the transactional id over.

        The coordinator ends the transaction by itself if it takes longer than ``timeout_ms``.

        Raises:
            ApiError: PRODUCER_FENCED, if somebody else has taken it over.
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
        """Tell the coordinator where the transaction is about to write."""
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
            # Where one cannot be added, none is: the others say only that.
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
        """Make offsets of a group part of the transaction."""
        self._cluster.retrying(lambda: self._add_group(identity, group_id))
        self._cluster.retrying(lambda: self._commit_offsets(identity, group_id, offsets))

    def end(self, identity: TransactionIdentity, *, is_committed: bool) -> None:
        """Commit or abort. Said twice, it is done once; what is done cannot be undone."""
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
            # It may have moved; the next try asks where it is.
            self._coordinators.forget(transactional_id)
            raise

    def _check(self, identity: TransactionIdentity, code: int, what: str) -> None:
        if code in _MOVED:
            self._coordinators.forget(identity.transactional_id)
        if code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
            raise ApiError(
                ErrorCode.PRODUCER_FENCED,
                f"{what} {identity.transactional_id}: somebody else has taken it over, or it took "
                "longer than its timeout and was aborted",
            )
        raise_for(code, None, f"{what} {identity.transactional_id}")

"""Writes the markers that end transactions into the partitions led by this broker (KIP-98).

A marker is a control batch: it commits or aborts all that its producer has written to the
partition since the last one. Into ``__consumer_offsets`` it goes through the shard of that
partition, which then stores or drops the offsets of the transaction. Where these are very many the
shard is settled in the following turns of the loop; whoever asks meanwhile sees no difference.

A marker may be written twice, because the coordinator retries until it knows that all are there:
the second one ends nothing. What the log refuses is a marker of an old producer epoch or of an old
coordinator.
"""

from typing import TYPE_CHECKING, Final

from moldau.broker.commit_queue import Commitment
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.replica_manager import ReplicaManager
from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC, TopicPartition
from moldau.network.turns import Turns
from moldau.record.control import ControlType, EndTxnBatch, built_end_txn_batch
from moldau.storage.log.producer_state import AppendOrigin

if TYPE_CHECKING:
    from moldau.broker.group_runtime import HostedGroups

_COORDINATOR: Final = AppendOrigin.COORDINATOR
_ABORT: Final = int(ControlType.ABORT)
_COMMIT: Final = int(ControlType.COMMIT)
ALL_IN_SYNC: Final = -1
# What coordinators of transactions do not expect of a partition: they retry on the other one.
_GROUP_COORDINATOR_ERRORS: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class Marker:
    """The end of a transaction, the same in every partition of it.

    A plain class, because mypyc makes instances of it faster than named tuples.
    """

    __slots__ = (
        "coordinator_epoch",
        "is_commit",
        "producer_epoch",
        "producer_id",
        "transaction_version",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.is_commit = is_commit
        self.coordinator_epoch = coordinator_epoch
        # From 2 on, the producer epoch is one higher than that of the transaction (KIP-890).
        self.transaction_version = transaction_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Marker):
            return NotImplemented
        return (
            self.producer_id == other.producer_id
            and self.producer_epoch == other.producer_epoch
            and self.is_commit == other.is_commit
            and self.coordinator_epoch == other.coordinator_epoch
            and self.transaction_version == other.transaction_version
        )

    def __hash__(self) -> int:
        return hash(
            (
                self.producer_id,
                self.producer_epoch,
                self.is_commit,
                self.coordinator_epoch,
                self.transaction_version,
            )
        )


class MarkerWriter:
    """Appends markers to local partitions."""

    def __init__(
        self, replicas: ReplicaManager, groups: GroupRuntime, clock: Clock, turns: Turns
    ) -> None:
        self._replicas = replicas
        self._groups = groups
        self._clock = clock
        self._turns = turns

    def write(
        self, marker: Marker, topic_partition: TopicPartition, timeout_ms: int
    ) -> Commitment | None:
        """Append the marker; None if it is committed, or else a future as of ``committed``.

        Raises:
            ApiError: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER (also if the groups of a
                partition are being loaded), NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH,
                TRANSACTION_COORDINATOR_FENCED, or an error of the disk.
        """
        partition = self._replicas.partition(topic_partition.topic, topic_partition.partition)
        wall_ms = self._clock.wall_ms()
        batch = built_end_txn_batch(
            _COMMIT if marker.is_commit else _ABORT,
            marker.coordinator_epoch,
            marker.producer_id,
            marker.producer_epoch,
            wall_ms,
        )
        if topic_partition.topic == OFFSETS_TOPIC:
            self._end_for_groups(marker, topic_partition.partition, batch)
        else:
            partition.append(
                batch,
                ALL_IN_SYNC,
                wall_ms,
                _COORDINATOR,
                transaction_version=marker.transaction_version,
            )
        return partition.committed(partition.log.log_end_offset, timeout_ms)

    def _end_for_groups(self, marker: Marker, index: int, batch: EndTxnBatch) -> None:
        try:
            hosted = self._groups.shard_at(index)
        except ApiError as error:
            if error.code in _GROUP_COORDINATOR_ERRORS:
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, error.message) from error
            raise
        shard = hosted.shard
        hosted.end_transaction(
            batch,
            marker.transaction_version,
            lambda: shard.replay_end_transaction(marker.producer_id, is_commit=marker.is_commit),
        )
        self._settle(hosted)

    def _settle(self, hosted: "HostedGroups") -> None:
        if not hosted.is_closed and not hosted.shard.settle():
            self._turns.later(lambda: self._settle(hosted))

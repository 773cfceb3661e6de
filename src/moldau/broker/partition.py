"""One partition hosted by this broker: its log, its leader, and the fetches waiting for it.

The log has bytes and offsets; the metadata image has leaders and ISRs. A ``Partition`` combines
the two: it refuses requests that only the leader may serve, advances the high watermark, and wakes
the fetches that wait for it.
"""

import asyncio
from typing import Final, Protocol

from moldau.broker.shared_flush import SharedFlush
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.registrations import PartitionRegistration
from moldau.record.produced import ProducedBatch
from moldau.storage.log_results import LogAppendInfo
from moldau.storage.partition_log import PartitionLog
from moldau.storage.producer_state import AppendOrigin

NO_EPOCH: Final = -1
_CLIENT: Final = AppendOrigin.CLIENT


def _no_more_to_do(error: BaseException) -> None:
    """Do nothing: the log has reported the failed flush, and the waiting requests get the error."""


class Waiter(Protocol):
    """A request that waits for partitions to change."""

    def check(self, partition: "Partition") -> None:
        """Check again whether there is enough data: ``partition`` has changed."""
        ...

    def finish(self) -> None:
        """Respond with the data available now."""
        ...


class Partition:
    """A replica on this broker. Built by the replica manager from the metadata image."""

    __slots__ = (
        "_flush",
        "_held",
        "_local_id",
        "_waiters",
        "bytes_appended",
        "is_leader",
        "leader_epoch",
        "log",
        "registration",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        local_id: int,
        registration: PartitionRegistration,
        log: PartitionLog,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.registration = registration
        self.is_leader = False
        self.leader_epoch = NO_EPOCH
        # Never decreases: a waiting fetch compares it with an earlier value, to know how much has
        # been appended without reading.
        self.bytes_appended = 0
        self._local_id = local_id
        self._waiters: dict[int, Waiter] = {}
        # For topics with ``flush.messages``: batches that are not visible until they are on the
        # device, each with the offset after it and its size.
        self._flush: SharedFlush | None = None
        self._held: list[tuple[int, int]] = []
        self.update(registration)

    def update(self, registration: PartitionRegistration) -> None:
        """Apply the metadata. Waiting fetches check again, because they may be fenced now."""
        self.registration = registration
        self.leader_epoch = registration.leader_epoch
        self.is_leader = registration.leader == self._local_id
        if self.is_leader and not self.log.is_closed and not self._held:
            # The epoch is added to the epoch cache of the log with its first record; otherwise a
            # start with thousands of idle partitions would write thousands of files.
            self.log.update_high_watermark(self.log.log_end_offset)
        self.wake()

    def append(
        self,
        records: memoryview | bytes | ProducedBatch,
        acks: int,
        now_ms: int,
        origin: AppendOrigin = _CLIENT,
    ) -> LogAppendInfo:
        """Append one batch from a producer, or from a coordinator of this broker.

        If the result has ``must_flush``, the batch is not visible to consumers, and must not be
        acknowledged, before the future of ``flushed`` is done.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, or an error of the log.
        """
        self.check_append(acks)
        log = self.log
        info = log.append_as_leader(records, self.leader_epoch, now_ms, origin=origin)
        if info.must_flush:
            self._held.append((log.log_end_offset, info.size_bytes))
            return info
        # A single replica is the whole ISR, so everything in its log is committed.
        log.update_high_watermark(log.log_end_offset)
        self.bytes_appended += info.size_bytes
        if self._waiters:
            self.wake()
        return info

    def flushed(self) -> "asyncio.Future[None]":
        """Flush the log in another thread; the future is done when all of it is durable.

        It fails with KAFKA_STORAGE_ERROR if the disk fails.
        """
        if self._flush is None:
            self._flush = SharedFlush(self.log, self._on_flushed, _no_more_to_do)
        return self._flush.begin()

    def _on_flushed(self, end_offset: int) -> None:
        """Make records below ``end_offset`` visible to consumers: they are on the device."""
        log = self.log
        if end_offset > log.high_watermark:
            log.update_high_watermark(end_offset)
        held = self._held
        self._held = [each for each in held if each[0] > end_offset]
        self.bytes_appended += sum(size for end, size in held if end <= end_offset)
        self.wake()

    def check_append(self, acks: int) -> None:
        """Check whether a batch may be appended here now, regardless of its contents.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS.
        """
        if not self.is_leader:
            raise self._not_leader()
        if acks == -1 and len(self.registration.isr) < self.log.config.min_insync_replicas:
            self._check_in_sync()

    def _check_in_sync(self) -> None:
        """Check whether enough replicas are in sync.

        As in Kafka, min.insync.replicas is capped at the number of replicas: with one replica,
        min.insync.replicas=2 means one.
        """
        registration = self.registration
        wanted = min(self.log.config.min_insync_replicas, len(registration.replicas))
        if len(registration.isr) < wanted:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition} has {len(registration.isr)} of {wanted} replicas in "
                f"sync; min.insync.replicas={self.log.config.min_insync_replicas}",
            )

    def replace_log(self, log: PartitionLog) -> None:
        """Use ``log``, which has the same records, after a move to another log directory."""
        self.log = log
        self._flush = None
        self.wake()

    def check_leader(self, current_leader_epoch: int) -> None:
        """Check that this broker leads, in the leader epoch that the client sent (KIP-320)."""
        if not self.is_leader:
            raise self._not_leader()
        if current_leader_epoch == NO_EPOCH or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            code, age = ErrorCode.FENCED_LEADER_EPOCH, "older"
        else:
            code, age = ErrorCode.UNKNOWN_LEADER_EPOCH, "newer"
        raise ApiError(
            code,
            f"leader epoch {current_leader_epoch} for {self.topic_partition} is {age} than "
            f"the current one, {self.leader_epoch}",
        )

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """The epoch and end offset for OffsetForLeaderEpoch; (-1, -1) if unknown."""
        log = self.log
        if leader_epoch == self.leader_epoch:
            return leader_epoch, log.log_end_offset
        latest = log.leader_epochs.latest_epoch
        if latest is not None and latest < leader_epoch < self.leader_epoch:
            # An epoch without records ends where it began: at the log end offset.
            return latest, log.log_end_offset
        return log.end_offset_for_epoch(leader_epoch)

    def add_waiter(self, waiter: Waiter) -> None:
        self._waiters[id(waiter)] = waiter

    def remove_waiter(self, waiter: Waiter) -> None:
        self._waiters.pop(id(waiter), None)

    def wake(self) -> None:
        """Let every waiting fetch check again whether there is enough data."""
        for waiter in list(self._waiters.values()):
            waiter.check(self)

    def release_waiters(self) -> None:
        """Complete every waiting fetch with the data available now."""
        for waiter in list(self._waiters.values()):
            waiter.finish()

    def _not_leader(self) -> ApiError:
        return ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"broker {self._local_id} does not lead {self.topic_partition}; "
            f"broker {self.registration.leader} does",
        )

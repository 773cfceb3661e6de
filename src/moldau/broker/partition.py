"""One partition as this broker hosts it: its log, who leads it, and who waits for it.

The log knows bytes and offsets; the metadata image knows leaders and ISRs. A
``Partition`` is where both meet: it refuses what a non-leader must refuse, moves the
high watermark, and wakes the fetches that wait for it to move.
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
    """The log itself has told of a failed flush, and those who wait get the error."""


class Waiter(Protocol):
    """A request that sleeps on partitions."""

    def check(self, partition: "Partition") -> None:
        """Look again whether there is enough: ``partition`` has changed."""
        ...

    def finish(self) -> None:
        """Answer with what there is."""
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
        # Counts up for ever: a waiting fetch compares it with what it saw, and so
        # learns how much has arrived without reading anything.
        self.bytes_appended = 0
        self._local_id = local_id
        self._waiters: dict[int, Waiter] = {}
        # For topics with ``flush.messages``: batches that nobody may see before they are on the
        # device, each by the offset after it and its size.
        self._flush: SharedFlush | None = None
        self._held: list[tuple[int, int]] = []
        self.update(registration)

    def update(self, registration: PartitionRegistration) -> None:
        """Follow the metadata image. A fetch that waits must look again: it may be fenced now."""
        self.registration = registration
        self.leader_epoch = registration.leader_epoch
        self.is_leader = registration.leader == self._local_id
        if self.is_leader and not self.log.is_closed and not self._held:
            # The epoch enters the log's own list with its first record: a start of thousands
            # of idle partitions would else write thousands of files.
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

        If the answer says ``must_flush``, consumers do not see the batch, and the producer shall
        not be answered, before ``flushed`` has come true.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, or what the log refuses.
        """
        self.check_append(acks)
        log = self.log
        info = log.append_as_leader(records, self.leader_epoch, now_ms, origin=origin)
        if info.must_flush:
            self._held.append((log.log_end_offset, info.size_bytes))
            return info
        # A lone replica is the whole ISR: what it has is what all have.
        log.update_high_watermark(log.log_end_offset)
        self.bytes_appended += info.size_bytes
        if self._waiters:
            self.wake()
        return info

    def flushed(self) -> "asyncio.Future[None]":
        """Have the log flushed by another thread; the future says when all of it is durable.

        It fails with KAFKA_STORAGE_ERROR if the disk does.
        """
        if self._flush is None:
            self._flush = SharedFlush(self.log, self._on_flushed, _no_more_to_do)
        return self._flush.begin()

    def _on_flushed(self, end_offset: int) -> None:
        """What lies below is on the device: now consumers may see it."""
        log = self.log
        if end_offset > log.high_watermark:
            log.update_high_watermark(end_offset)
        held = self._held
        self._held = [each for each in held if each[0] > end_offset]
        self.bytes_appended += sum(size for end, size in held if end <= end_offset)
        self.wake()

    def check_append(self, acks: int) -> None:
        """Raise unless a batch may be appended here now, whatever is in it.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS.
        """
        if not self.is_leader:
            raise self._not_leader()
        if acks == -1 and len(self.registration.isr) < self.log.config.min_insync_replicas:
            self._check_in_sync()

    def _check_in_sync(self) -> None:
        """Raise unless enough replicas are in sync.

        A partition need not have more in sync than it has: min.insync.replicas=2 of a topic
        with one replica means one, as in Kafka.
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
        """The replica moved to another log directory: the same records, in other files."""
        self.log = log
        self._flush = None
        self.wake()

    def check_leader(self, current_leader_epoch: int) -> None:
        """Raise unless this broker leads, in the epoch that the client believes in (KIP-320)."""
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
        """Epoch and end offset that answer OffsetForLeaderEpoch; (-1, -1) if unknown."""
        log = self.log
        if leader_epoch == self.leader_epoch:
            return leader_epoch, log.log_end_offset
        latest = log.leader_epochs.latest_epoch
        if latest is not None and latest < leader_epoch < self.leader_epoch:
            # An epoch in which nothing was written ends where it began: at the end.
            return latest, log.log_end_offset
        return log.end_offset_for_epoch(leader_epoch)

    def add_waiter(self, waiter: Waiter) -> None:
        self._waiters[id(waiter)] = waiter

    def remove_waiter(self, waiter: Waiter) -> None:
        self._waiters.pop(id(waiter), None)

    def wake(self) -> None:
        """Let every waiting fetch look again whether it has enough."""
        for waiter in list(self._waiters.values()):
            waiter.check(self)

    def release_waiters(self) -> None:
        """Nothing more will come: let every waiting fetch answer with what there is."""
        for waiter in list(self._waiters.values()):
            waiter.finish()

    def _not_leader(self) -> ApiError:
        return ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"broker {self._local_id} does not lead {self.topic_partition}; "
            f"broker {self.registration.leader} does",
        )

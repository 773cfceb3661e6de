"""What this broker does as the leader of one partition that has followers.

The decisions are those of ``replica/leader_state``. Here they get what they depend on (the time,
the brokers in the metadata, the log), and their effects happen: the high watermark moves, and
changes of the ISR are sent to the controller. A partition with a single replica has no
``Leadership``; it commits what it appends.
"""

import logging
from typing import TYPE_CHECKING

from moldau.broker.commit_queue import Commitment, CommitQueue
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import PartitionRegistration
from moldau.replica.leader_state import (
    NO_BROKER_EPOCH,
    IsrChange,
    LeaderAndIsr,
    LeaderState,
)
from moldau.replica.remote_replica import RemoteReplica

if TYPE_CHECKING:
    from moldau.broker.led_partitions import LedPartitions
    from moldau.broker.partition import Partition

logger = logging.getLogger(__name__)


class Leadership:
    """One partition that this broker leads, in one leader epoch."""

    __slots__ = ("_deletions", "_led", "_partition", "state")

    def __init__(
        self,
        partition: "Partition",
        led: "LedPartitions",
        registration: PartitionRegistration,
    ) -> None:
        self._partition = partition
        self._led = led
        self.state = LeaderState(
            led.node_id, registration, partition.epoch_start_offset, led.now_ms()
        )
        # Requests that wait until followers have deleted records, by offset.
        self._deletions: CommitQueue | None = None
        led.add(self)

    @property
    def key(self) -> tuple[bytes, int]:
        """The id of the topic, and the number of the partition."""
        return self._partition.topic_id, self._partition.topic_partition.partition

    def update(self, registration: PartitionRegistration) -> None:
        """Apply metadata of the same leader epoch."""
        self.state.update(registration)
        self._complete_deletions()

    def end(self, error: ApiError) -> None:
        """Stop: this broker does not lead any more, or in another leader epoch."""
        self.state.pending = None
        self._led.remove(self)
        self.release(error)

    def release(self, error: ApiError) -> None:
        """Complete all requests that wait for followers with ``error``."""
        if self._deletions is not None:
            self._deletions.fail(error)

    # --- followers

    def check_follower(self, replica_id: int, broker_epoch: int) -> bool:
        """Whether the broker is a follower of this partition.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER if it has been restarted since it sent the request.
        """
        if replica_id not in self.state.followers:
            return False
        if broker_epoch != NO_BROKER_EPOCH:
            broker = self._led.brokers.get(replica_id)
            if broker is not None and broker.epoch > broker_epoch:
                raise ApiError(
                    ErrorCode.NOT_LEADER_OR_FOLLOWER,
                    f"broker {replica_id} fetched {self._partition.topic_partition} in its "
                    f"incarnation {broker_epoch}, and has been restarted as {broker.epoch} since",
                )
        return True

    def follower_fetched(
        self,
        replica_id: int,
        broker_epoch: int,
        fetch_offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        now_ms: int,
    ) -> None:
        """Note what a follower has, and draw the conclusions."""
        state = self.state
        follower = state.followers.get(replica_id)
        if follower is None:
            return
        has_more = fetch_offset != follower.log_end_offset
        follower.fetched(broker_epoch, fetch_offset, log_start_offset, leader_end_offset, now_ms)
        if replica_id not in state.maximal_isr:
            self._expand(follower)
        if has_more:
            self.advance(now_ms)
        if self._deletions is not None:
            self._complete_deletions()

    def _expand(self, follower: RemoteReplica) -> None:
        """Ask to add ``follower`` to the ISR, if it may join."""
        led = self._led
        high_watermark = self._partition.log.high_watermark
        change = self.state.expand(follower, high_watermark, led.broker_epoch(), led.brokers)
        if change is not None:
            led.isr_changes.submit(self, change)

    # --- the high watermark

    def appended(self, first_offset: int) -> None:
        """Note a batch that was appended; it is committed if this is the only replica in sync."""
        now_ms = self._led.now_ms()
        self.state.appended(first_offset, now_ms)
        self.advance(now_ms)

    def advance(self, now_ms: int) -> None:
        """Commit what all replicas have that count, unless too few are in sync (KIP-966)."""
        partition = self._partition
        if partition.is_under_min_isr:
            return
        led = self._led
        partition.advance(
            self.state.high_watermark(
                partition.local_end_offset,
                partition.log.log_end_offset,
                now_ms,
                led.max_lag_ms,
                led.brokers,
            )
        )

    # --- the ISR

    def check_isr(self, now_ms: int) -> None:
        """Ask to remove followers that lag; stop waiting for others that do."""
        led = self._led
        partition = self._partition
        if partition.log.is_closed:
            return
        state = self.state
        change = state.shrink(
            partition.log.log_end_offset, now_ms, led.max_lag_ms, led.broker_epoch()
        )
        if change is not None:
            logger.info(
                "%s: the ISR should shrink from %s to %s: the others have not caught up for %d ms",
                partition.topic_partition,
                list(state.isr),
                list(change.isr),
                led.max_lag_ms,
            )
            led.isr_changes.submit(self, change)
        self.advance(now_ms)
        self._complete_deletions()

    def is_pending(self, change: IsrChange) -> bool:
        """Whether the outcome of ``change`` still matters."""
        return change is self.state.pending

    def isr_changed(self, change: IsrChange, answer: LeaderAndIsr) -> None:
        """Apply the controller's answer to a change of the ISR."""
        if not self.state.confirm(change, answer):
            return
        partition = self._partition
        logger.info(
            "%s: the ISR is %s now, in partition epoch %d",
            partition.topic_partition,
            list(answer.isr),
            answer.partition_epoch,
        )
        partition.registration = partition.registration.with_isr(answer.isr, answer.partition_epoch)
        # Those that lagged count no more (KAFKA-13091).
        now_ms = self._led.now_ms()
        self.advance(now_ms)
        log_end_offset = partition.log.log_end_offset
        follower = self.state.next_to_join(log_end_offset, now_ms, self._led.max_lag_ms)
        if follower is not None:
            self._expand(follower)

    def isr_refused(self, change: IsrChange, code: ErrorCode) -> None:
        """Apply the controller's refusal, and ask again if that makes sense."""
        if not self.is_pending(change):
            return
        topic_partition = self._partition.topic_partition
        if self.state.refuse(change, code):
            logger.warning(
                "%s: the controller answers %s to the ISR %s; asking again",
                topic_partition,
                code.name,
                list(change.isr),
            )
            self._led.isr_changes.submit_again(self, change)
        else:
            logger.info(
                "%s: the controller refuses the ISR %s: %s",
                topic_partition,
                list(change.isr),
                code.name,
            )
            # Those that may not join count no more.
            self.advance(self._led.now_ms())

    # --- deleted records

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all live replicas; -1 if one has not fetched yet."""
        return self.state.low_watermark(self._partition.log.log_start_offset, self._led.brokers)

    def deleted(self, offset: int, timeout_ms: int) -> Commitment | None:
        """See ``Partition.deleted``."""
        if self.low_watermark >= offset:
            return None
        if self._deletions is None:
            self._deletions = CommitQueue(self._led.timeouts)
        return self._deletions.add(offset, timeout_ms)

    def _complete_deletions(self) -> None:
        if self._deletions is not None:
            self._deletions.complete(self.low_watermark, None)
            if self._deletions.is_empty:
                self._deletions = None

"""One partition hosted by this broker: its log, its leader, and the requests waiting for it.

The log has bytes and offsets; the metadata image has leaders and ISRs. A ``Partition`` combines
the two: it refuses requests that only the leader may serve, advances the high watermark, and
completes the requests that wait for it.

Appended and committed are two events. An append moves the log end offset, for which followers
wait. The high watermark moves when all in-sync replicas have the records; consumers and everyone
who acknowledges records wait for that (``committed``). A partition with a single replica does both
in the same call, and nobody has to wait; the leader of one with followers has a ``Leadership``,
which decides.

Rules this module keeps:

* The high watermark moves only in ``advance``, and in ``append`` as its short form for a lone
  replica. It never moves back while this broker leads.
* Metadata is applied in the order of partition epochs. The controller's answer to a change of the
  ISR may arrive before the metadata that has it, and is not undone by it.
* It stands still while the ISR is smaller than ``min.insync.replicas`` (KIP-966).
* A batch that must be flushed before it is acknowledged (``flush.messages``) is not counted as
  one that this replica has before it is on the device.
* Whoever waits is completed when this broker stops leading: with an error if records were to be
  acknowledged, because they may be truncated now.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, Protocol

from moldau.broker.commit_queue import Commitment, CommitQueue
from moldau.broker.counted_end import CountedEnd
from moldau.broker.leadership import Leadership
from moldau.broker.led_partitions import LedPartitions
from moldau.broker.uncommitted_bytes import UncommittedBytes
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.registrations import PartitionRegistration
from moldau.record.produced import ProducedBatch
from moldau.replica.remote_replica import NEVER_MS, RemoteReplica
from moldau.storage.log.log_results import LogAppendInfo
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.log.verification import VerificationGuard

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
# What a waiting fetch waits for: see ``Partition.readable_bytes``.
LOG_END: Final = 0
HIGH_WATERMARK: Final = 1
LAST_STABLE_OFFSET: Final = 2
_CLIENT: Final = AppendOrigin.CLIENT


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
        "_commits",
        "_end_waiters",
        "_flush",
        "_is_lone",
        "_leadership",
        "_led",
        "_local_id",
        "_uncommitted",
        "_waiters",
        "bytes_appended",
        "consumer_read_ms",
        "epoch_start_offset",
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
        led: LedPartitions,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.registration = registration
        self.is_leader = False
        self.leader_epoch = NO_EPOCH
        # Where the log ended when this broker was elected in the current leader epoch; NO_OFFSET
        # if another one was.
        self.epoch_start_offset = NO_OFFSET
        # Never decreases: a waiting fetch compares it with an earlier value, to know how much has
        # been appended without reading.
        self.bytes_appended = 0
        # When a consumer last read from this broker as a follower.
        self.consumer_read_ms = NEVER_MS
        self._local_id = local_id
        # Whether this broker leads and there is no other replica.
        self._is_lone = False
        self._led = led
        # While this broker leads and there are others.
        self._leadership: Leadership | None = None
        self._end_waiters: dict[int, Waiter] = {}
        self._waiters: dict[int, Waiter] = {}
        self._commits: CommitQueue | None = None
        self._uncommitted = UncommittedBytes()
        # Only for topics with ``flush.messages``.
        self._flush: CountedEnd | None = None
        log.listen(self)
        self.update(registration)

    def update(self, registration: PartitionRegistration) -> None:
        """Apply the metadata. Waiting fetches check again, because they may be fenced now."""
        known = self.registration.partition_epoch
        leadership = self._leadership
        if registration.partition_epoch < known or (
            leadership is not None and registration.partition_epoch == known
        ):
            # The controller has answered this already, or more. What this leader has asked for
            # since must stay pending (KAFKA-12686).
            return
        was_leader = self.is_leader
        is_new_epoch = not was_leader or registration.leader_epoch > self.leader_epoch
        self.registration = registration
        self.leader_epoch = registration.leader_epoch
        self.is_leader = registration.leader == self._local_id
        if not self.is_leader:
            self.epoch_start_offset = NO_OFFSET
            if was_leader:
                self._stop_leading(self._not_leader())
        else:
            if is_new_epoch:
                self.epoch_start_offset = self.log.log_end_offset
            self._lead(registration, is_new_epoch)
            if not self.log.is_closed:
                # The epoch is added to the epoch cache of the log with its first record; otherwise
                # a start with thousands of idle partitions would write thousands of files.
                self._on_local_end()
                if not was_leader:
                    self._count_uncommitted()
        self.wake_all()

    def _lead(self, registration: PartitionRegistration, is_new_epoch: bool) -> None:
        """Begin to lead, or go on with other replicas."""
        self._is_lone = len(registration.replicas) == 1
        if self._is_lone:
            self._forget_followers()
        elif self._leadership is None or is_new_epoch:
            self._forget_followers()
            self._leadership = Leadership(self, self._led, registration)
        else:
            self._leadership.update(registration)

    def _forget_followers(self) -> None:
        if self._leadership is not None:
            self._leadership.end(self._not_leader())
            self._leadership = None

    def close(self, error: ApiError) -> None:
        """Serve nothing any more: the topic is deleted, or its log is offline.

        Acknowledgements that wait fail with ``error``; fetches find out when they read again.
        """
        self.is_leader = False
        self._stop_leading(error)
        self._finish_waiters()

    def _stop_leading(self, error: ApiError) -> None:
        self._is_lone = False
        self._forget_followers()
        if self._commits is not None:
            self._commits.fail(error)
        self._uncommitted.clear()

    def _count_uncommitted(self) -> None:
        """Count the bytes above the high watermark: nobody did when they were appended."""
        log = self.log
        self._uncommitted.clear()
        if log.high_watermark < log.log_end_offset:
            size_bytes = self._bytes_between(log.high_watermark, log.log_end_offset)
            self._uncommitted.add(log.log_end_offset, size_bytes)
            self.bytes_appended += size_bytes

    # --- appending

    def append(
        self,
        records: memoryview | bytes | ProducedBatch,
        acks: int,
        wall_ms: int,
        origin: AppendOrigin = _CLIENT,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> LogAppendInfo:
        """Append one batch from a producer, or from a coordinator of this broker.

        With acks=all it must not be acknowledged before it is ``committed``. If the result has
        ``must_flush``, it must not be acknowledged at all before the future of ``flushed`` is done.
        ``guard`` and ``transaction_version`` are those of ``PartitionLog.append_as_leader``.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, or an error of the log.
        """
        self.check_append(acks)
        log = self.log
        info = log.append_as_leader(
            records,
            self.leader_epoch,
            wall_ms,
            origin=origin,
            guard=guard,
            transaction_version=transaction_version,
        )
        self.bytes_appended += info.size_bytes
        if (
            self._is_lone
            and not info.must_flush
            and self._flush is None
            and self._uncommitted.is_empty
        ):
            # A lone replica is the whole ISR: the batch is committed. The short form of the rest
            # of this method.
            log.update_high_watermark(log.log_end_offset)
            if self._waiters:
                self._wake(self._waiters)
            if self._end_waiters:
                self._wake(self._end_waiters)
            return info
        if info.size_bytes:
            self._uncommitted.add(log.log_end_offset, info.size_bytes)
        if info.must_flush:
            self._flush_first(log.log_end_offset if info.is_duplicate else info.first_offset)
        if self._leadership is None:
            self._on_local_end()
        elif info.size_bytes:
            self._leadership.appended(info.first_offset)
        if self._end_waiters:
            self._wake(self._end_waiters)
        return info

    # --- commitment

    def committed(self, offset: int, timeout_ms: int) -> Commitment | None:
        """None if the records below ``offset`` are committed, or else a future of that.

        To be called in the same turn as the append: the future then stands for those records,
        not for others that may have their offsets later. Its result is None, or the error:
        NOT_LEADER_OR_FOLLOWER if this broker has lost leadership, NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        REQUEST_TIMED_OUT, or why the log is gone. Then the records may be committed or lost.
        """
        if offset <= self.log.high_watermark:
            return None
        if self._commits is None:
            self._commits = CommitQueue(self._led.timeouts)
        commitment = self._commits.add(offset, timeout_ms)
        if not self.is_leader:
            self._commits.fail(self._not_leader())
        return commitment

    def advance(self, high_watermark: int) -> None:
        """Move the high watermark up: all in-sync replicas have the records below it."""
        log = self.log
        if high_watermark <= log.high_watermark:
            return
        reached = log.update_high_watermark(high_watermark)
        self._uncommitted.committed(reached)
        if self._commits is not None:
            error = None
            if self.is_under_min_isr:
                error = self._too_few_in_sync(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
            self._commits.complete(reached, error)
        if self._waiters:
            self._wake(self._waiters)

    @property
    def local_end_offset(self) -> int:
        """How far this replica counts towards the high watermark."""
        return self.log.log_end_offset if self._flush is None else self._flush.offset

    def _on_local_end(self) -> None:
        """Commit what this replica has, as far as the others that count have it too."""
        if self._is_lone:
            self.advance(self.local_end_offset)
        elif self._leadership is not None:
            self._leadership.advance(self._led.now_ms())

    # --- followers

    def check_follower(self, replica_id: int, broker_epoch: int, current_leader_epoch: int) -> None:
        """Check that a fetch comes from a follower, in its current incarnation.

        As in Kafka, one that knows the leader epoch is told to wait: its assignment may not have
        reached this broker yet.

        Raises:
            ApiError: UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER.
        """
        leadership = self._leadership
        if leadership is not None and leadership.check_follower(replica_id, broker_epoch):
            return
        code = ErrorCode.UNKNOWN_LEADER_EPOCH
        if current_leader_epoch == NO_EPOCH:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        raise ApiError(code, f"broker {replica_id} is no follower of {self.topic_partition}")

    def follower_fetched(
        self,
        replica_id: int,
        broker_epoch: int,
        fetch_offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        now_ms: int,
    ) -> None:
        """Note that a follower has everything below ``fetch_offset``.

        To be called after a read without an error and without a diverging epoch, in the same turn.
        ``leader_end_offset`` is the log end offset when it was read, ``log_start_offset`` is the
        follower's. It may move the high watermark, and ask the controller for a larger ISR.
        """
        if self._leadership is not None:
            self._leadership.follower_fetched(
                replica_id, broker_epoch, fetch_offset, log_start_offset, leader_end_offset, now_ms
            )

    def followers(self) -> Iterable[RemoteReplica]:
        """What this broker, as the leader, knows about its followers."""
        return () if self._leadership is None else self._leadership.state.followers.values()

    def deleted(self, offset: int, timeout_ms: int) -> Commitment | None:
        """None if all live replicas have deleted what is below ``offset``, or a future of that.

        The result of the future is None, or the error: NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT.
        """
        if self._leadership is None:
            return None
        return self._leadership.deleted(offset, timeout_ms)

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all live replicas; -1 if one has not fetched yet."""
        if self._leadership is None:
            return self.log.log_start_offset
        return self._leadership.low_watermark

    # --- flushing

    def flushed(self) -> "asyncio.Future[None]":
        """A future that is done when all of the log is durable; for what ``must_flush``.

        It fails with KAFKA_STORAGE_ERROR if the disk fails.
        """
        assert self._flush is not None, "the append has begun the flush"
        return self._flush.flushed()

    @property
    def is_flushing(self) -> bool:
        """Whether there are batches that must not be acknowledged yet, not to a leader either."""
        return self._flush is not None and self._flush.offset < self.log.log_end_offset

    def _flush_first(self, offset: int) -> None:
        """Begin to flush the log; until it is done, this replica counts up to ``offset``."""
        if self._flush is None:
            self._flush = CountedEnd(self.log, self._on_local_end, self._on_flush_failed)
        self._flush.request(offset)

    def _on_flush_failed(self, error: BaseException) -> None:
        """The log has reported it; what waits for the device must not wait until its timeout."""
        if self._commits is not None:
            self._commits.fail(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))

    # --- checks

    def check_append(self, acks: int) -> None:
        """Check whether a batch may be appended here now, regardless of its contents.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS.
        """
        if not self.is_leader:
            raise self._not_leader()
        if acks == -1 and self.is_under_min_isr:
            raise self._too_few_in_sync(ErrorCode.NOT_ENOUGH_REPLICAS)

    @property
    def is_under_min_isr(self) -> bool:
        """Whether fewer replicas are in sync than acks=all requires.

        As in Kafka, min.insync.replicas is capped at the number of replicas: with one replica,
        min.insync.replicas=2 means one.
        """
        registration = self.registration
        count = len(registration.isr)
        return count < self.log.config.min_insync_replicas and count < len(registration.replicas)

    def _too_few_in_sync(self, code: ErrorCode) -> ApiError:
        registration = self.registration
        wanted = self.log.config.min_insync_replicas
        return ApiError(
            code,
            f"{self.topic_partition} has {len(registration.isr)} of "
            f"{min(wanted, len(registration.replicas))} replicas in sync; "
            f"min.insync.replicas={wanted}",
        )

    def replace_log(self, log: PartitionLog) -> None:
        """Use ``log``, which has the same records, after a move to another log directory."""
        # Verifications that are under way go on.
        log.producers.verifications = self.log.producers.verifications
        self.log = log
        if self._flush is not None:
            self._flush = self._flush.moved_to(log)
        log.listen(self)
        self.wake_all()

    def check_leader(self, current_leader_epoch: int) -> None:
        """Check that this broker leads, in the leader epoch that the client sent (KIP-320).

        As in Kafka, the epoch comes first: a client that knows an older leader is told so, also
        by a broker that does not lead any more.
        """
        if current_leader_epoch != self.leader_epoch:
            self.check_epoch(current_leader_epoch)
        if not self.is_leader:
            raise self._not_leader()

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Check the leader epoch that the client sent, whoever leads."""
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

    @property
    def is_catching_up(self) -> bool:
        """Whether the high watermark may be older than what consumers have already seen.

        A new leader learns from its followers what its predecessor had committed (KIP-207).
        """
        return self.log.high_watermark < self.epoch_start_offset

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """The epoch and end offset for OffsetForLeaderEpoch; (-1, -1) if unknown."""
        log = self.log
        if leader_epoch == self.leader_epoch:
            return leader_epoch, log.log_end_offset
        latest = log.leader_epochs.latest_epoch
        if latest < leader_epoch < self.leader_epoch:
            # Nothing was written in the current epoch, which begins at the log end offset. That is
            # where all others end, also if no other one is known.
            return leader_epoch if latest == NO_EPOCH else latest, log.log_end_offset
        return log.end_offset_for_epoch(leader_epoch)

    # --- waiting fetches

    def readable_bytes(self, limit: int) -> int:
        """A count that grows by the size of what has become readable up to ``limit``.

        Followers read up to the log end, consumers up to the high watermark, and those with
        ``read_committed`` up to the last stable offset. Only differences have a meaning.
        """
        if limit == LOG_END:
            return self.bytes_appended
        committed = self.bytes_appended - self._uncommitted.total
        if limit == LAST_STABLE_OFFSET:
            log = self.log
            stable = log.last_stable_offset
            if stable < log.high_watermark:
                return committed - self._bytes_between(stable, log.high_watermark)
        return committed

    def _bytes_between(self, start_offset: int, end_offset: int) -> int:
        """The size of the batches between two offsets; 0 if the disk has just failed.

        Then the log is offline, and whoever reads next gets the error: it must not hit those who
        only caused the count.
        """
        try:
            return self.log.readable_bytes(start_offset, end_offset)
        except ApiError:
            return 0

    def readable_offset(self, limit: int) -> int:
        """The offset up to which ``limit`` lets a reader read."""
        if limit == LOG_END:
            return self.log.log_end_offset
        if limit == LAST_STABLE_OFFSET:
            return self.log.last_stable_offset
        return self.log.high_watermark

    def add_waiter(self, waiter: Waiter, limit: int) -> None:
        """Let ``waiter`` check again when this partition has more to read up to ``limit``."""
        # A follower must not be woken by the high watermark alone (KAFKA-9952): it would fetch
        # again at once, and its fetch would move the high watermark.
        waiters = self._end_waiters if limit == LOG_END else self._waiters
        waiters[id(waiter)] = waiter

    def remove_waiter(self, waiter: Waiter) -> None:
        self._end_waiters.pop(id(waiter), None)
        self._waiters.pop(id(waiter), None)

    def _wake(self, waiters: dict[int, Waiter]) -> None:
        for waiter in list(waiters.values()):
            waiter.check(self)

    def wake_all(self) -> None:
        """Let everyone who waits or watches check again, for whatever reason."""
        if self._waiters:
            self._wake(self._waiters)
        if self._end_waiters:
            self._wake(self._end_waiters)

    # --- following

    def read_by_consumer(self, now_ms: int) -> None:
        """Note that a consumer reads from this follower (KIP-392)."""
        self.consumer_read_ms = now_ms
        if self._uncommitted.is_empty:
            # They may be from before a start, an election or a truncation. A consumer that waits
            # is woken by the size of what has been committed.
            self._count_uncommitted()

    def check_following(self, leader_epoch: int) -> None:
        """Check that this broker follows, in the leader epoch in which it has asked the leader.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER if it leads, FENCED_LEADER_EPOCH if there is another
                leader now. What the former one has answered must not change the log any more.
        """
        if self.is_leader:
            message = f"broker {self._local_id} leads {self.topic_partition} and follows nobody"
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
        if leader_epoch != self.leader_epoch:
            raise ApiError(
                ErrorCode.FENCED_LEADER_EPOCH,
                f"{self.topic_partition} is in leader epoch {self.leader_epoch} by now, not "
                f"{leader_epoch}",
            )

    def append_as_follower(
        self, records: memoryview | bytes, leader_epoch: int
    ) -> LogAppendInfo | None:
        """Append batches that the leader of ``leader_epoch`` has sent; None if there are none.

        Batches of a later epoch are left out: they were not there when the leader was asked
        (KAFKA-18723). If the result has ``must_flush``, the leader must not be asked for what
        follows before the future of ``flushed`` is done: that would acknowledge them.

        Raises:
            ApiError: those of ``check_following``, or an error of the log.
        """
        self.check_following(leader_epoch)
        log_start_offset = self.log.log_start_offset
        starts_within = self.log.log_end_offset == log_start_offset and self.log.start_within(
            records
        )
        if starts_within:
            self._on_truncated()
        info = None
        try:
            info = self.log.append_as_follower(records, leader_epoch, can_wait=True)
        finally:
            if starts_within and info is None:
                # A full disk: a log must not end before it starts, it may be the next leader's.
                self.log.give_up_within(log_start_offset)
                self._on_truncated()
        if info is not None:
            self.bytes_appended += info.size_bytes
            self._uncommitted.add(self.log.log_end_offset, info.size_bytes)
            if info.must_flush:
                self._flush_first(info.first_offset)
        return info

    def truncate_to(self, offset: int, leader_epoch: int) -> None:
        """Remove the records from ``offset`` on, which the leader of ``leader_epoch`` lacks."""
        self.check_following(leader_epoch)
        try:
            self.log.truncate_to(offset)
        finally:
            # On a full disk the records may be gone all the same.
            self._on_truncated()

    def truncate_fully_and_start_at(self, offset: int, leader_epoch: int) -> None:
        """Remove all records: the log of the leader of ``leader_epoch`` begins at ``offset``."""
        self.check_following(leader_epoch)
        try:
            self.log.truncate_fully_and_start_at(offset)
        finally:
            self._on_truncated()

    def follow_high_watermark(
        self, high_watermark: int, log_start_offset: int, leader_epoch: int
    ) -> None:
        """Advance both offsets to what the leader has said, as far as this log goes.

        To be called after the records of the same answer are appended, and never with an answer
        that says where the logs diverge: the high watermark would cover records that are about to
        be truncated (KAFKA-14704). It does not move back here: a new leader learns the one of its
        predecessor from its followers.
        """
        self.check_following(leader_epoch)
        self.advance(min(high_watermark, self.log.log_end_offset))
        self.log.move_log_start_offset(min(log_start_offset, self.log.high_watermark))

    def _on_truncated(self) -> None:
        if self._flush is not None:
            self._flush.truncated(self.log.log_end_offset)
        # Waiting consumers check once too often, which is harmless.
        self._uncommitted.clear()
        self.wake_all()

    def log_start_moved(self) -> None:
        """Called by the log: responses from now on have another log start offset."""
        self.wake_all()

    def release_waiters(self) -> None:
        """Complete everything that waits: the broker is stopping."""
        error = ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the broker is stopping")
        if self._commits is not None:
            self._commits.fail(error)
        if self._leadership is not None:
            self._leadership.release(error)
        self._finish_waiters()

    def _finish_waiters(self) -> None:
        for waiters in (self._waiters, self._end_waiters):
            for waiter in list(waiters.values()):
                waiter.finish()

    def _not_leader(self) -> ApiError:
        return ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"broker {self._local_id} does not lead {self.topic_partition}; "
            f"broker {self.registration.leader} does",
        )

"""Fetches the partitions that this broker follows from one of their leaders.

``replica/followed_partitions`` says what to ask for, and ``replica/follower_state`` what an answer
means; this is what sends, appends and truncates. It has two lanes. The first one has the fetch
session, whose request waits at the leader until there are records. The other one is used while
partitions are to be fetched that the waiting request does not name.

Rules this module keeps:

* The next request of a lane is sent when all of the answer before is in the log: to ask for an
  offset is to acknowledge what is before it.
* Answers are taken in steps, between which other requests are served. Whatever may have changed
  in between is checked at each step.
* A partition that fails by itself waits by itself; the others go on.
"""

import asyncio
import functools
import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.broker.fetch_lane import FIRST_PAUSE_MS, FetchLane
from moldau.broker.leader_requests import LeaderRequests
from moldau.broker.lost_leaders import LeaderContact
from moldau.broker.partition import Partition
from moldau.broker.replication_quota import ReplicationQuota
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.network.network import Network
from moldau.network.outgoing import Disconnected, OutboundSettings
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.fetch import FetchResponse, PartitionData
from moldau.replica.followed_partitions import FollowedPartitions, PlannedFetch
from moldau.replica.follower_state import (
    NOT_AWAITED,
    FollowerState,
    Phase,
    Step,
    reset_for,
    truncation_offset,
)
from moldau.replica.record_slices import slices
from moldau.timers import DeadlineTimer, call_after

if TYPE_CHECKING:
    from moldau.network.outbound import Outbound

logger = logging.getLogger(__name__)

# For how long a consumer that has read here (KIP-392) is expected to come again.
READ_RECENTLY_MS: Final = 10_000


class ReplicaFetcher:
    """The fetches from one leader. To be used on one event loop."""

    def __init__(
        self,
        name: str,
        find_address: Callable[[], tuple[str, int] | None],
        requests: LeaderRequests,
        config: BrokerConfig,
        network: Network,
        clock: Clock,
        rng: random.Random,
        turns: Turns,
        quota: ReplicationQuota,
        on_truncated: Callable[[], None],
        contact: LeaderContact,
    ) -> None:
        """``find_address`` returns where the leader listens now, if it is known.

        ``on_truncated`` is called when logs have become shorter.
        """
        self._quota = quota
        self._on_truncated = on_truncated
        self._contact = contact
        self._has_truncated = False
        self._find_address = find_address
        self._requests = requests
        self._network = network
        self._clock = clock
        self._rng = rng
        self._turns = turns
        self._backoff_ms = config.replica_fetch_backoff_ms
        self._settings = OutboundSettings(
            client_id=name,
            request_timeout_ms=config.replica_socket_timeout_ms,
            connection_setup_timeout_ms=config.socket_connection_setup_timeout_ms,
            connection_setup_timeout_max_ms=config.socket_connection_setup_timeout_max_ms,
            reconnect_backoff_ms=min(FIRST_PAUSE_MS, self._backoff_ms),
            reconnect_backoff_max_ms=self._backoff_ms,
        )
        self._followed = FollowedPartitions(config.replica_fetch_max_bytes)
        self._partitions: dict[TopicPartition, Partition] = {}
        self._session = FetchLane(self, self._connect, rng, self._backoff_ms)
        self._beside = FetchLane(self, self._connect, rng, self._backoff_ms)
        self._timer = DeadlineTimer(clock, self._wake)
        # What asks for the offsets of the leader, in order: a simulation must replay.
        self._asking: dict[asyncio.Task[None], None] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._followed)

    # --- what is fetched

    def follow(self, partition: Partition) -> None:
        """Fetch a partition from this leader, in its current leader epoch."""
        log = partition.log
        if log.leader_epochs.latest_epoch < 0 and log.log_end_offset > log.high_watermark:
            # Without epochs nobody can say where the logs diverge; what is committed is the same.
            partition.truncate_to(log.high_watermark, partition.leader_epoch)
        self._partitions[partition.topic_partition] = partition
        state = FollowerState(
            partition.topic_partition,
            partition.topic_id,
            partition.leader_epoch,
            log.log_end_offset,
            log.leader_epochs.latest_epoch,
            log.log_start_offset,
        )
        if not self._followed.follow(state):
            return
        if partition.is_flushing:
            self._flush_first(partition, state)
        self._wake()

    def forget(self, topic_partition: TopicPartition) -> None:
        """Fetch a partition no more, and drop answers on their way."""
        self._followed.forget(topic_partition)
        self._partitions.pop(topic_partition, None)

    def partitions(self) -> list[Partition]:
        return list(self._partitions.values())

    def note_log_start(self, partition: Partition) -> None:
        """Tell the leader, with the next request, if retention here has moved the log start."""
        state = self._followed.find(partition.topic_partition)
        if state is not None and state.log_start_offset != partition.log.log_start_offset:
            state.log_start_offset = partition.log.log_start_offset
            self._followed.changed(state)

    def close(self) -> None:
        """Stop at once; ``closed`` waits for the end of it."""
        self._is_closed = True
        self._contact.close()
        self._timer.cancel()
        for task in list(self._asking):
            task.cancel()
        self._session.close()
        self._beside.close()

    async def closed(self) -> None:
        if self._asking:
            await asyncio.wait(list(self._asking))
        await self._session.closed()
        await self._beside.closed()

    # --- requests

    def _wake(self) -> None:
        """Something is to be fetched, now or later."""
        if self._is_closed:
            return
        self._session.wake()
        if self._session.is_waiting:
            self._beside.wake()
        self._timer.set(self._followed.next_due_ms())

    async def fetch_once(self, lane: FetchLane) -> bool:
        """See ``Fetching``."""
        planned = self._plan(lane)
        if planned is None:
            return False
        lane.is_waiting = True
        try:
            response = await self._requests.fetch(lane.outbound(), planned)
        except Disconnected:
            self._followed.failed(planned, None)
            self._contact.lost()
            raise
        finally:
            lane.is_waiting = False
        self._contact.found()
        code = ErrorCode(response.error_code)
        if code != ErrorCode.NONE:
            self._followed.failed(planned, code)
            raise ApiError(code)
        await self._turns.complete(self._taking(planned, response))
        return True

    def _plan(self, lane: FetchLane) -> PlannedFetch | None:
        now_ms = self._clock.monotonic_ms()
        excess_ms = self._quota.excess_ms
        if lane is self._session:
            planned = self._followed.plan(now_ms, excess_ms)
        elif self._session.is_waiting:
            planned = self._followed.plan_beside(now_ms, excess_ms)
        else:
            # The next request of the session names everything.
            planned = None
        self._timer.set(self._followed.next_due_ms())
        return planned

    # --- answers

    def _taking(self, planned: PlannedFetch, response: FetchResponse) -> Steps[None]:
        """Take the answers; a step is one answer, or a slice of its records."""
        for state, asked, answer in self._followed.answered(planned, response):
            if self._followed.is_current(state):
                yield from self._take(state, state.judge(asked, answer), answer)
            yield
        if self._has_truncated:
            # Once for all of them: it looks at every log.
            self._has_truncated = False
            self._on_truncated()

    def _take(self, state: FollowerState, step: Step, answer: PartitionData) -> Steps[None]:
        partition = self._partitions[state.topic_partition]
        try:
            if step is Step.APPEND:
                yield from self._append(partition, state, answer)
            elif step is Step.TRUNCATE:
                self._truncate(partition, state, answer)
            elif step is Step.ASK_OFFSETS:
                self._ask_offsets(partition, state)
            elif step is Step.STOP:
                logger.info("%s has another leader epoch by now", state.topic_partition)
                self._followed.hold(state, Phase.STOPPED)
            elif step is Step.DELAY:
                self._delay(state, ErrorCode(answer.error_code).name)
        except ApiError as error:
            self._failed(partition, state, error)
        except Exception:
            logger.exception("%s is not fetched any more", state.topic_partition)
            self._followed.hold(state, Phase.STOPPED)

    def _append(
        self, partition: Partition, state: FollowerState, answer: PartitionData
    ) -> Steps[None]:
        log = partition.log
        assert log.log_end_offset == state.fetch_offset, f"{log} was changed by somebody else"
        must_flush = False
        for records in slices(answer.records):
            info = partition.append_as_follower(records, state.leader_epoch)
            if info is not None:
                if info.must_flush:
                    must_flush = True
                    # From now on: between two slices the other lane may send a request.
                    self._followed.hold(state, Phase.FLUSHING)
                self._moved(partition, state)
            if info is None or info.size_bytes < len(records):
                # The rest is of a later leader epoch, or incomplete.
                break
            yield
            if not self._followed.is_current(state):
                return
        partition.follow_high_watermark(
            answer.high_watermark, answer.log_start_offset, state.leader_epoch
        )
        state.failures = 0
        self._moved(partition, state)
        if answer.records and log.config.follower_replication_throttled_replicas:
            self._throttle(partition, state, len(answer.records), answer.high_watermark)
        if must_flush:
            self._flush_first(partition, state)

    def _throttle(
        self, partition: Partition, state: FollowerState, size_bytes: int, high_watermark: int
    ) -> None:
        """Count what a throttled replica has received (KIP-73), and pause it if that is too much.

        One that has caught up is not paused: it would leave the ISR.
        """
        quota = self._quota
        if not quota.is_throttled(partition.topic_partition.partition, partition.log.config):
            return
        quota.record(size_bytes)
        excess_ms = quota.excess_ms
        if excess_ms > 0 and state.fetch_offset < high_watermark:
            self._followed.throttle(state, self._clock.monotonic_ms(), excess_ms)

    def _flush_first(self, partition: Partition, state: FollowerState) -> None:
        """Do not go on: that would acknowledge what is not on the device yet."""
        self._followed.hold(state, Phase.FLUSHING)
        self._go_on_when_flushed(partition, state)

    def _go_on_when_flushed(self, partition: Partition, state: FollowerState) -> None:
        if self._is_closed or partition.log.is_closed or not self._followed.is_current(state):
            return
        flushed = partition.flushed()
        flushed.add_done_callback(functools.partial(self._flushed, partition, state))

    def _flushed(
        self, partition: Partition, state: FollowerState, future: "asyncio.Future[None]"
    ) -> None:
        if future.cancelled() or future.exception() is not None:
            # Either the disk has failed, and the directory goes offline; or it is full, the flush
            # could not even begin, and nobody else would try again.
            call_after(self._backoff_ms, self._go_on_when_flushed, partition, state)
        elif state.phase is Phase.FLUSHING:
            self._followed.resume(state)
            self._wake()

    def _truncate(self, partition: Partition, state: FollowerState, answer: PartitionData) -> None:
        diverging = answer.diverging_epoch
        assert diverging is not None
        offset = truncation_offset(partition.log, diverging)
        logger.info(
            "%s is truncated to %d: leader epoch %d ends at %d in the leader's log",
            state.topic_partition,
            offset,
            diverging.epoch,
            diverging.end_offset,
        )
        before = state.asking
        # Before: on a full disk the records may be gone all the same.
        self._has_truncated = True
        partition.truncate_to(offset, state.leader_epoch)
        self._moved(partition, state)
        if state.asking == before:
            self._delay(state, "truncating changed nothing")

    def _moved(self, partition: Partition, state: FollowerState) -> None:
        log = partition.log
        state.moved_to(log.log_end_offset, log.leader_epochs.latest_epoch, log.log_start_offset)
        is_read = self._clock.monotonic_ms() - partition.consumer_read_ms < READ_RECENTLY_MS
        # Without consumers here, the high watermark comes with the next records (KAFKA-9952).
        state.high_watermark = log.high_watermark if is_read else NOT_AWAITED
        self._followed.changed(state)

    def _failed(self, partition: Partition, state: FollowerState, error: ApiError) -> None:
        """An answer could not be taken."""
        if partition.log.is_closed:
            # Its directory has failed; the metadata will say who goes on.
            self._followed.hold(state, Phase.STOPPED)
            return
        # A full disk, or damaged records, which the leader may send undamaged the next time. One
        # line for a lasting problem, not one for each attempt.
        level = logging.DEBUG if state.failures else logging.ERROR
        logger.log(level, "%s cannot take what its leader sent: %s", state.topic_partition, error)
        self._moved(partition, state)
        if partition.is_flushing:
            # Slices before this one. If it fails again, there is nothing new to flush.
            self._flush_first(partition, state)
        else:
            self._delay(state, str(error))

    def _delay(self, state: FollowerState, reason: str) -> None:
        logger.debug("%s is not fetched for now: %s", state.topic_partition, reason)
        self._followed.delay(state, self._clock.monotonic_ms(), self._backoff_ms)
        self._timer.set(self._followed.next_due_ms())

    # --- offsets of the leader

    def _ask_offsets(self, partition: Partition, state: FollowerState) -> None:
        """The end of our log is not in the leader's: ask where that begins and ends."""
        self._followed.hold(state, Phase.ASKING)
        asking = asyncio.get_running_loop().create_task(self._reset(partition, state))
        self._asking[asking] = None
        asking.add_done_callback(self._asking.pop)

    async def _reset(self, partition: Partition, state: FollowerState) -> None:
        try:
            start, end = await self._requests.offsets(
                self._beside.outbound(), state.topic_partition, state.leader_epoch
            )
            if self._followed.is_current(state):
                self._go_on_within(partition, state, start, end)
        except ApiError as error:
            self._cannot_reset(state, str(error))
        except Disconnected as failure:
            self._cannot_reset(state, str(failure))
        self._wake()

    def _cannot_reset(self, state: FollowerState, reason: str) -> None:
        if self._followed.is_current(state):
            self._delay(state, f"the offsets of its leader are not known: {reason}")

    def _go_on_within(
        self, partition: Partition, state: FollowerState, leader_start: int, leader_end: int
    ) -> None:
        """Truncate to what the leader's log has, from ``leader_start`` to ``leader_end``."""
        reset = reset_for(partition.log.log_end_offset, leader_start, leader_end)
        logger.warning(
            "%s ends at %d and its leader has %d to %d: going on at %d",
            state.topic_partition,
            partition.log.log_end_offset,
            leader_start,
            leader_end,
            reset.offset,
        )
        before = state.asking
        if reset.is_full:
            # The new log begins behind the end of the old one, so it has not become shorter. After
            # a long absence that is so for all partitions.
            partition.truncate_fully_and_start_at(reset.offset, state.leader_epoch)
        else:
            partition.truncate_to(reset.offset, state.leader_epoch)
            self._on_truncated()
        self._followed.resume(state)
        self._moved(partition, state)
        if state.asking == before:
            self._delay(state, "it was out of range, and is not any more")

    # --- the way to the leader

    def _connect(self) -> "Outbound | None":
        address = self._find_address()
        if address is None:
            return None
        # Imported late: a node that is alone needs none of it.
        from moldau.network.outbound import Outbound

        return Outbound(self._network, *address, self._settings, self._rng, logger)

    def is_current(self, outbound: "Outbound") -> bool:
        """See ``Fetching``."""
        return self._find_address() == (outbound.host, outbound.port)

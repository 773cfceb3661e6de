"""What a leader knows about the replicas of a partition in one leader epoch, and what follows.

Two things are decided here. The *in-sync replicas* (ISR) are those that are caught up; the leader
asks the controller to change them (AlterPartition), one change at a time, and the controller
decides. The *high watermark* is the offset below which all of them have all records.

Rules this module keeps:

* A replica counts towards the high watermark from the moment the leader *asks* to add it to the
  ISR, until the controller *confirms* its removal: the maximal ISR. The controller may have
  decided already, and may elect that replica. Erring this way may delay an acknowledgement, but
  never loses an acknowledged record.
* A follower outside the ISR that is caught up and may join it is waited for as well. Otherwise the
  high watermark could run ahead of it for ever, and it would never join.
* A follower joins when it has reached the high watermark and the offset at which the leader epoch
  began. Before, the high watermark may be older than what an earlier leader has committed
  (KAFKA-7128).
* A broker that is fenced, stopping, or restarted since its last fetch does not join (KIP-841,
  KIP-903).
* An answer of the controller counts only while the change that it answers is the pending one, and
  newer metadata is never replaced by it (KAFKA-12686).

Nothing of this outlives the leader epoch: in another one, followers may have truncated their logs.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.metadata.registrations import BrokerRegistration, PartitionRegistration
from moldau.replica.remote_replica import NEVER_MS, NOT_FETCHED, RemoteReplica

# A fetch without a broker epoch, and a replica whose epoch the controller should not check.
NO_BROKER_EPOCH: Final = -1

# The controller has certainly not made the change, and the partition epoch is right.
_NOT_APPLIED: Final = frozenset((ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA))
# The metadata on the way here says more; until then nobody knows what the controller has.
_AWAITING_METADATA: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    )
)

Brokers = Mapping[int, BrokerRegistration]


class IsrChange(NamedTuple):
    """An ISR that a leader asks for. ``broker_epochs`` are those of the replicas in ``isr``."""

    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class LeaderAndIsr(NamedTuple):
    """What the controller answers to a change: the partition as it is now."""

    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int


class LeaderState:
    """The replicas of one partition that this broker leads, with at least one follower."""

    __slots__ = (
        "epoch_start_offset",
        "followers",
        "isr",
        "leader_epoch",
        "local_id",
        "maximal_isr",
        "partition_epoch",
        "pending",
    )

    def __init__(
        self,
        local_id: int,
        registration: PartitionRegistration,
        epoch_start_offset: int,
        now_ms: int,
    ) -> None:
        """``epoch_start_offset`` is where the log ended when this leader epoch began."""
        self.local_id = local_id
        self.leader_epoch = registration.leader_epoch
        self.epoch_start_offset = epoch_start_offset
        self.followers: dict[int, RemoteReplica] = {}
        # What the controller has confirmed.
        self.isr: tuple[int, ...] = ()
        self.maximal_isr: tuple[int, ...] = ()
        self.partition_epoch = -1
        # The change that the controller has not answered yet, or whose outcome is unknown.
        self.pending: IsrChange | None = None
        for broker_id in registration.isr:
            if broker_id != local_id:
                # It was in sync with the previous leader, and gets time to fetch from this one.
                self.followers[broker_id] = RemoteReplica(broker_id, now_ms)
        self.update(registration)

    def update(self, registration: PartitionRegistration) -> None:
        """Apply metadata of the same leader epoch: it replaces what was pending."""
        known = self.followers
        # In the order of the assignment, so that a simulation repeats itself.
        self.followers = {
            broker_id: known.get(broker_id) or RemoteReplica(broker_id, NEVER_MS)
            for broker_id in registration.replicas
            if broker_id != self.local_id
        }
        self._commit(registration.isr, registration.partition_epoch)

    def _commit(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        self.isr = isr
        self.maximal_isr = isr
        self.partition_epoch = partition_epoch
        self.pending = None

    def appended(self, end_offset_before: int, now_ms: int) -> None:
        """Note that the log has grown: who was at its end has had everything until now.

        So a follower of an idle partition need not fetch it to stay caught up.
        """
        for follower in self.followers.values():
            if follower.log_end_offset == end_offset_before:
                follower.last_caught_up_ms = now_ms

    # --- watermarks

    def high_watermark(
        self,
        local_end_offset: int,
        log_end_offset: int,
        now_ms: int,
        max_lag_ms: int,
        brokers: Brokers,
    ) -> int:
        """The offset below which every replica that counts has all records; may be -1.

        ``local_end_offset`` is how far the leader itself counts, which may be less than its log if
        records must be flushed first.
        """
        lowest = local_end_offset
        for follower in self.followers.values():
            if follower.log_end_offset < lowest and (
                follower.broker_id in self.maximal_isr
                or (
                    follower.is_caught_up(log_end_offset, now_ms, max_lag_ms)
                    and self._may_join(follower, brokers)
                )
            ):
                lowest = follower.log_end_offset
        return lowest

    def low_watermark(self, log_start_offset: int, brokers: Brokers) -> int:
        """The smallest log start offset of all live replicas; -1 if one has not fetched yet."""
        lowest = log_start_offset
        for follower in self.followers.values():
            broker = brokers.get(follower.broker_id)
            if broker is not None and not broker.fenced:
                lowest = min(lowest, follower.log_start_offset)
        return lowest

    # --- the ISR

    def expand(
        self,
        follower: RemoteReplica,
        high_watermark: int,
        local_epoch: int,
        brokers: Brokers,
    ) -> IsrChange | None:
        """The change that adds ``follower``, pending from now; None if it cannot join now."""
        if self.pending is not None or follower.broker_id in self.isr:
            return None
        end_offset = follower.log_end_offset
        if end_offset < high_watermark or end_offset < self.epoch_start_offset:
            return None
        if not self._may_join(follower, brokers):
            return None
        isr = (*self.isr, follower.broker_id)
        # The controller may have added it before this broker hears of it.
        self.maximal_isr = isr
        return self._ask_for(isr, local_epoch)

    def next_to_join(
        self, log_end_offset: int, now_ms: int, max_lag_ms: int
    ) -> RemoteReplica | None:
        """A follower that could join without another fetch, if there is one.

        There is one change at a time: those that had to wait should not have to fetch once more.
        One that was removed because it lags is not caught up, whatever the high watermark is.
        """
        if self.pending is not None:
            return None
        for follower in self.followers.values():
            if (
                follower.broker_id not in self.isr
                and now_ms - follower.last_fetch_ms <= max_lag_ms
                and follower.is_caught_up(log_end_offset, now_ms, max_lag_ms)
            ):
                return follower
        return None

    def shrink(
        self, log_end_offset: int, now_ms: int, max_lag_ms: int, local_epoch: int
    ) -> IsrChange | None:
        """The change that removes those that lag, pending from now; None if there are none."""
        if self.pending is not None:
            return None
        isr = tuple(
            broker_id
            for broker_id in self.isr
            if broker_id == self.local_id
            or self._is_caught_up(broker_id, log_end_offset, now_ms, max_lag_ms)
        )
        if len(isr) == len(self.isr):
            return None
        # Those that lag count until they are removed: the controller may refuse.
        return self._ask_for(isr, local_epoch)

    def confirm(self, change: IsrChange, answer: LeaderAndIsr) -> bool:
        """Apply the answer to ``change``; returns whether it counts.

        If not, the metadata has overtaken it, or will say what the ISR is.
        """
        if change is not self.pending:
            return False
        if answer.leader_epoch != self.leader_epoch:
            return False
        if answer.partition_epoch < self.partition_epoch:
            return False
        self._commit(answer.isr, answer.partition_epoch)
        return True

    def refuse(self, change: IsrChange, code: ErrorCode) -> bool:
        """Apply an error of the controller; returns whether to ask for ``change`` again."""
        if change is not self.pending:
            return False
        if code in _NOT_APPLIED:
            self._commit(self.isr, self.partition_epoch)
            return False
        return code not in _AWAITING_METADATA

    def _ask_for(self, isr: tuple[int, ...], local_epoch: int) -> IsrChange:
        epochs = tuple(
            local_epoch if broker_id == self.local_id else self._broker_epoch(broker_id)
            for broker_id in isr
        )
        self.pending = IsrChange(isr, epochs, self.leader_epoch, self.partition_epoch)
        return self.pending

    def _broker_epoch(self, broker_id: int) -> int:
        """The epoch of a replica in a change.

        One that was in the ISR before its first fetch needs none: if it restarts, the controller
        removes it, and the change has an old partition epoch.
        """
        follower = self.followers.get(broker_id)
        if follower is None or follower.broker_epoch == NOT_FETCHED:
            return NO_BROKER_EPOCH
        return follower.broker_epoch

    def _is_caught_up(
        self, broker_id: int, log_end_offset: int, now_ms: int, max_lag_ms: int
    ) -> bool:
        follower = self.followers.get(broker_id)
        return follower is not None and follower.is_caught_up(log_end_offset, now_ms, max_lag_ms)

    def _may_join(self, follower: RemoteReplica, brokers: Brokers) -> bool:
        """Whether the broker may be in an ISR, in the incarnation that fetched last."""
        broker = brokers.get(follower.broker_id)
        if broker is None or not broker.is_active:
            return False
        return follower.broker_epoch in (NO_BROKER_EPOCH, broker.epoch)

"""A leader with two followers, whose fetches the test makes up."""

from collections.abc import Sequence

from moldau.ids import NO_UUID
from moldau.metadata.registrations import BrokerRegistration, PartitionRegistration
from moldau.replica.leader_state import IsrChange, LeaderState

LEADER = 1
ALL = (1, 2, 3)
MAX_LAG_MS = 30_000
# Broker epochs are offsets of the metadata log.
EPOCHS = {1: 101, 2: 102, 3: 103}


def registration(
    isr: Sequence[int] = ALL,
    replicas: Sequence[int] = ALL,
    *,
    leader_epoch: int = 5,
    partition_epoch: int = 7,
) -> PartitionRegistration:
    return PartitionRegistration(
        tuple(replicas),
        (NO_UUID,) * len(replicas),
        tuple(isr),
        LEADER,
        leader_epoch,
        partition_epoch,
    )


def broker(
    broker_id: int, *, epoch: int | None = None, fenced: bool = False, stopping: bool = False
) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id,
        EPOCHS[broker_id] if epoch is None else epoch,
        NO_UUID,
        (),
        {},
        None,
        fenced,
        stopping,
        (),
        None,
    )


class Leading:
    """A leader epoch that began at ``start_offset`` at time 0."""

    def __init__(self, isr: Sequence[int] = ALL, *, start_offset: int = 0) -> None:
        self.state = LeaderState(LEADER, registration(isr), start_offset, 0)
        self.brokers = {each: broker(each) for each in ALL}
        self.log_end_offset = start_offset
        self.high_watermark = 0

    def fetch(
        self,
        broker_id: int,
        offset: int,
        now_ms: int = 0,
        *,
        broker_epoch: int | None = None,
        log_start_offset: int = 0,
    ) -> IsrChange | None:
        """Let a follower fetch; returns the change that it causes, if any."""
        follower = self.state.followers[broker_id]
        epoch = EPOCHS[broker_id] if broker_epoch is None else broker_epoch
        follower.fetched(epoch, offset, log_start_offset, self.log_end_offset, now_ms)
        change = self.expand(broker_id)
        self.high_watermark = max(self.high_watermark, self.watermark(now_ms))
        return change

    def expand(self, broker_id: int) -> IsrChange | None:
        follower = self.state.followers[broker_id]
        return self.state.expand(follower, self.high_watermark, EPOCHS[LEADER], self.brokers)

    def shrink(self, now_ms: int) -> IsrChange | None:
        return self.state.shrink(self.log_end_offset, now_ms, MAX_LAG_MS, EPOCHS[LEADER])

    def watermark(self, now_ms: int = 0) -> int:
        end_offset = self.log_end_offset
        return self.state.high_watermark(end_offset, end_offset, now_ms, MAX_LAG_MS, self.brokers)

"""What a leader knows about one of its followers, in one leader epoch.

A follower cannot say "I have the records up to 41"; it asks for 42. So every fetch is also an
acknowledgement of everything before its offset.

A follower is caught up as long as it has, within ``replica.lag.time.max.ms``, everything that the
leader had. Under steady load it never asks for the very end, because new records arrive while
its fetch is under way. So if it asks for what was the end when it fetched *before*, then it was
caught up at that time. And one that had everything when new records arrived was caught up then:
while nothing is appended, it need not fetch.
"""

from typing import Final

NO_OFFSET: Final = -1
# The broker epoch of a follower that has not fetched yet. -1 is what a fetch says that has none.
NOT_FETCHED: Final = -2
# A time before all others; the monotonic clock may begin anywhere.
NEVER_MS: Final = -(1 << 62)


class RemoteReplica:
    """One follower. All times are monotonic."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int, last_caught_up_ms: int) -> None:
        self.broker_id = broker_id
        # The incarnation of the broker that fetched last (KIP-903).
        self.broker_epoch = NOT_FETCHED
        self.log_start_offset = NO_OFFSET
        self.log_end_offset = NO_OFFSET
        self.last_caught_up_ms = last_caught_up_ms
        self.last_fetch_ms = NEVER_MS
        # The end of the leader's log at the last fetch.
        self.last_fetch_leader_end = NO_OFFSET

    def fetched(
        self,
        broker_epoch: int,
        fetch_offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        now_ms: int,
    ) -> None:
        """Note a fetch; ``leader_end_offset`` is where the leader's log ended when it was read."""
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.broker_epoch = broker_epoch
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_end = max(self.last_fetch_leader_end, leader_end_offset)
        self.last_fetch_ms = now_ms

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        """Whether it has everything, or had everything not longer than ``max_lag_ms`` ago."""
        if self.log_end_offset == leader_end_offset:
            return True
        return now_ms - self.last_caught_up_ms <= max_lag_ms

"""Expiry of committed offsets after ``offsets.retention.minutes`` (KIP-211).

The offsets of topics that a group with members is subscribed to do not expire. For a group
without members, the time counts from when the last member left. For a group that never had
members (it only stores offsets), and for topics that a group no longer subscribes to, it counts
from the last commit.
"""

from moldau.group_coordinator.classic_group import NO_TIMESTAMP, ClassicGroup, ClassicState
from moldau.protocol.records.offset_commit import OffsetCommitValue


class Expiry:
    """Whether an offset of one group has expired by ``wall_ms``."""

    __slots__ = ("_base_timestamp_ms", "_retention_ms", "_wall_ms")

    def __init__(
        self, wall_ms: int, retention_ms: int, base_timestamp_ms: int = NO_TIMESTAMP
    ) -> None:
        self._wall_ms = wall_ms
        self._retention_ms = retention_ms
        # The start of the retention time of all offsets; None: each one's commit.
        self._base_timestamp_ms = base_timestamp_ms

    def has_expired(self, offset: OffsetCommitValue) -> bool:
        if offset.expire_timestamp != -1:
            # An old client set the retention time of this offset.
            return self._wall_ms >= offset.expire_timestamp
        base_ms = self._base_timestamp_ms
        if base_ms == NO_TIMESTAMP:
            base_ms = offset.commit_timestamp
        return self._wall_ms - base_ms >= self._retention_ms


def expiry_of_classic(group: ClassicGroup, wall_ms: int, retention_ms: int) -> Expiry | None:
    """The expiry rule of a classic group; None if nothing expires now."""
    if group.protocol_type is None:
        return Expiry(wall_ms, retention_ms)
    if group.is_empty:
        return Expiry(wall_ms, retention_ms, group.state_timestamp_ms)
    is_stable = group.state is ClassicState.STABLE
    if group.uses_consumer_protocol and group.subscribed_topics is not None and is_stable:
        return Expiry(wall_ms, retention_ms)
    return None

"""Which replica a consumer should read from (KIP-392).

A consumer that says in which rack it is may be sent to a follower there, which saves traffic
between racks. The leader decides, with every fetch that it gets; a follower serves whoever comes.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class ReplicaView(NamedTuple):
    """A replica that has the records from the consumer's offset on."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    lag_ms: int
    """since when it is not caught up any more"""


def select_by_rack(
    rack_id: str, leader_rack: str | None, followers: Iterable[ReplicaView]
) -> int | None:
    """The follower to read from; None for the leader.

    The leader, if it is in the rack, or else the follower there that lags least; as in Kafka's
    RackAwareReplicaSelector.
    """
    if not rack_id or rack_id == leader_rack:
        return None
    best: ReplicaView | None = None
    for view in followers:
        if view.rack == rack_id and (best is None or _order(view) > _order(best)):
            best = view
    return None if best is None else best.broker_id


def _order(view: ReplicaView) -> tuple[int, int, int]:
    return view.log_end_offset, -view.lag_ms, view.broker_id

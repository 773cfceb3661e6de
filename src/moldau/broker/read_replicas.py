"""Sends consumers to a replica that is near to them, if there is one (KIP-392)."""

import logging
from collections.abc import Iterator

from moldau.broker.current_leaders import CurrentLeaders
from moldau.broker.partition import Partition
from moldau.replica.replica_selector import RACK_AWARE, ReplicaView, select_by_rack

logger = logging.getLogger(__name__)


class ReadReplicas:
    """Finds the preferred read replica of partitions that this broker leads."""

    def __init__(
        self, selector_class: str | None, rack: str | None, leaders: CurrentLeaders
    ) -> None:
        """``selector_class`` is replica.selector.class, ``rack`` that of this broker."""
        self.is_rack_aware = selector_class == RACK_AWARE
        self._rack = rack
        self._leaders = leaders
        if selector_class and not self.is_rack_aware:
            logger.warning(
                "replica.selector.class=%s is not known, only %s is: consumers read from leaders",
                selector_class,
                RACK_AWARE,
            )

    def preferred(
        self, partition: Partition, offset: int, rack_id: str, listener: str, now_ms: int
    ) -> int | None:
        """The follower from which a consumer in ``rack_id`` should read ``offset``, if any."""
        return select_by_rack(rack_id, self._rack, self._views(partition, offset, listener, now_ms))

    def _views(
        self, partition: Partition, offset: int, listener: str, now_ms: int
    ) -> Iterator[ReplicaView]:
        """The followers that have the offset.

        Only those in the ISR: one that lags would lag with its consumers, and the leader would
        choose it again and again.
        """
        isr = partition.registration.isr
        for follower in partition.followers():
            if (
                follower.broker_id in isr
                and follower.log_start_offset <= offset <= follower.log_end_offset
            ):
                node = self._leaders.node(follower.broker_id, listener)
                if node is not None:
                    lag_ms = now_ms - follower.last_caught_up_ms
                    yield ReplicaView(node.id, node.rack, follower.log_end_offset, lag_ms)

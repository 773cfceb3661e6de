"""The throttles of replication (KIP-73): what a reassignment may take from everybody else.

A topic names its throttled replicas (``leader.replication.throttled.replicas`` and
``follower.replication.throttled.replicas``: ``*``, or pairs of partition and broker), and a broker
the bytes per second that they may use together, as a leader that sends them and as a follower that
receives them. A throttled replica waits while the rate is exceeded, unless it is in sync: it would
be removed from the ISR for that.
"""

from collections.abc import Callable
from typing import Final

from moldau.broker.dynamic_config import DynamicConfig
from moldau.clock import Clock
from moldau.config.topic import LogConfig
from moldau.network.rate import Rate, RateWindow

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
ALL_REPLICAS: Final = ("*",)


class ReplicationQuota:
    """The quota of one side, leader or follower, on this broker."""

    def __init__(
        self,
        setting: str,
        throttled_replicas: Callable[[LogConfig], tuple[str, ...]],
        configs: DynamicConfig,
        clock: Clock,
    ) -> None:
        self._setting = setting
        self._throttled_replicas = throttled_replicas
        self._configs = configs
        self._clock = clock
        broker = configs.static
        samples = broker.replication_quota_window_num
        self._rate = Rate(RateWindow(samples, broker.replication_quota_window_size_seconds * 1000))

    def is_throttled(self, partition: int, config: LogConfig) -> bool:
        """Whether the settings of its topic name the replica of a partition on this broker."""
        replicas = self._throttled_replicas(config)
        if not replicas:
            return False
        return replicas == ALL_REPLICAS or f"{partition}:{self._configs.static.node_id}" in replicas

    def may_send(
        self, partition: int, config: LogConfig, size_bytes: int, is_in_sync: bool
    ) -> bool:
        """Whether a follower gets ``size_bytes`` now; if so, they count.

        One in sync gets them in any case: otherwise it would have to leave the ISR.
        """
        if not self.is_throttled(partition, config):
            return True
        if self.is_exceeded and not is_in_sync:
            return False
        self.record(size_bytes)
        return True

    def record(self, size_bytes: int) -> None:
        """Count what a throttled replica has sent or received."""
        self._rate.record(size_bytes, self._clock.monotonic_ms())

    @property
    def is_exceeded(self) -> bool:
        return self.excess_ms > 0

    @property
    def excess_ms(self) -> int:
        """How long throttled replicas should wait; 0 if the rate is within the quota."""
        limit = self._limit()
        return 0 if limit is None else self._rate.excess_ms(limit, self._clock.monotonic_ms())

    def _limit(self) -> int | None:
        configs = self._configs
        value = configs.per_broker().get(self._setting, configs.cluster_wide().get(self._setting))
        return None if value is None else int(value)


def leader_quota(configs: DynamicConfig, clock: Clock) -> ReplicationQuota:
    return ReplicationQuota(
        LEADER_RATE,
        lambda config: config.leader_replication_throttled_replicas,
        configs,
        clock,
    )


def follower_quota(configs: DynamicConfig, clock: Clock) -> ReplicationQuota:
    return ReplicationQuota(
        FOLLOWER_RATE,
        lambda config: config.follower_replication_throttled_replicas,
        configs,
        clock,
    )

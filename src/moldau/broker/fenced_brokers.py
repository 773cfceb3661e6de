"""Brokers that were fenced a moment ago, which Metadata still lists.

A broker that dies is fenced within a second, where Apache Kafka takes a whole session timeout. So a
client often learns in the same Metadata response that its partition has a new leader and that the
old one is no longer among the brokers. librdkafka (2.10 and later) then drops the old broker while
the partition is on its way to the new one; if it loses that race, the partition belongs to nobody
until it asks again, a second later. Clients that hear of the new leader first lose nothing.

So a broker stays in the list as long as it would in Apache Kafka: for a session timeout. It leads
nothing, and is not listed by DescribeCluster, which asks who is alive. A broker that has shut down
has handed over its leaderships before, and leaves the list at once.
"""

from moldau.broker.metadata_cache import MetadataCache
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.metadata.delta import MetadataDelta


class FencedBrokers:
    """To be used on one event loop."""

    def __init__(self, config: BrokerConfig, metadata: MetadataCache, clock: Clock) -> None:
        self._is_enabled = config.moldau_failure_detection_enable
        self._listed_ms = config.broker_session_timeout_ms
        self._metadata = metadata
        self._clock = clock
        # Until when each is listed, in monotonic time.
        self._until_ms: dict[int, int] = {}

    def listed(self) -> tuple[int, ...]:
        """Those that are to be listed although they are fenced."""
        if not self._until_ms:
            return ()
        now_ms = self._clock.monotonic_ms()
        brokers = self._metadata.image.brokers
        self._until_ms = {
            broker_id: until_ms
            for broker_id, until_ms in self._until_ms.items()
            if now_ms < until_ms and broker_id in brokers and brokers[broker_id].fenced
        }
        return tuple(sorted(self._until_ms))

    def apply(self, delta: MetadataDelta) -> None:
        """A change of the metadata."""
        if not self._is_enabled:
            return
        until_ms = self._clock.monotonic_ms() + self._listed_ms
        for broker_id, broker in delta.changed_brokers.items():
            before = delta.base.brokers.get(broker_id)
            if broker is None or before is None or before.fenced:
                continue
            if broker.fenced and not broker.in_controlled_shutdown:
                self._until_ms[broker_id] = until_ms

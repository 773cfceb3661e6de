"""Settings of consumer groups: the group's own, or else the broker's."""

from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.group_checks import assignor_name
from moldau.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, MetadataImage

# The shortest time between two resolutions of patterns after new topics; the regular interval
# is group.consumer.regex.refresh.interval.ms.
REGEX_REFRESH_MIN_INTERVAL_MS: Final = 10_000
# The subscribed topics are checked when they change, and at least this often.
METADATA_REFRESH_INTERVAL_MS: Final = 2**31 - 1

_UPGRADES: Final = ("upgrade", "bidirectional")
_DOWNGRADES: Final = ("downgrade", "bidirectional")


class GroupSettings:
    """The values of ``group.consumer.*`` and ``consumer.*`` for one group.

    A group's own value is checked against the brokers' bounds when it is set. If the bounds
    have changed since, the nearest value within them is used.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        names = [assignor_name(text) for text in config.group_consumer_assignors]
        self.assignors = tuple(dict.fromkeys(names))
        self.max_size = config.group_consumer_max_size
        self.classic_max_size = config.group_max_size
        self.regex_refresh_interval_ms = config.group_consumer_regex_refresh_interval_ms
        policy = config.group_consumer_migration_policy.lower()
        self.may_upgrade = policy in _UPGRADES
        self.may_downgrade = policy in _DOWNGRADES

    def session_timeout_ms(self, group_id: str, image: MetadataImage) -> int:
        config = self._config
        own = image.config(GROUP_RESOURCE, group_id).get("consumer.session.timeout.ms")
        if own is None:
            return config.group_consumer_session_timeout_ms
        lowest = config.group_consumer_min_session_timeout_ms
        return max(lowest, min(int(own), config.group_consumer_max_session_timeout_ms))

    def heartbeat_interval_ms(self, group_id: str, image: MetadataImage) -> int:
        config = self._config
        own = image.config(GROUP_RESOURCE, group_id).get("consumer.heartbeat.interval.ms")
        if own is None:
            return config.group_consumer_heartbeat_interval_ms
        lowest = config.group_consumer_min_heartbeat_interval_ms
        return max(lowest, min(int(own), config.group_consumer_max_heartbeat_interval_ms))

    def assignment_interval_ms(self, group_id: str, image: MetadataImage) -> int:
        config = self._config
        own = image.config(GROUP_RESOURCE, group_id).get("consumer.assignment.interval.ms")
        if own is None:
            # The only one of these settings that can change while the broker runs.
            name = "group.consumer.assignment.interval.ms"
            own = image.config(BROKER_RESOURCE, "").get(name)
        if own is None:
            return config.group_consumer_assignment_interval_ms
        lowest = config.group_consumer_min_assignment_interval_ms
        return max(lowest, min(int(own), config.group_consumer_max_assignment_interval_ms))

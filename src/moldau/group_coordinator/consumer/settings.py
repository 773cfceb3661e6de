"""Settings of consumer groups: the broker's, unless the group has its own."""

from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.group_coordinator.consumer.assignors import ASSIGNORS
from moldau.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, MetadataImage

# A group looks at all topics again at most this often for new ones, and at least that often.
REGEX_REFRESH_MIN_INTERVAL_MS: Final = 10_000
REGEX_REFRESH_MAX_INTERVAL_MS: Final = 600_000
# The subscribed topics are looked at when they change, and anyway after this time.
METADATA_REFRESH_INTERVAL_MS: Final = 2**31 - 1

_UPGRADES: Final = ("upgrade", "bidirectional")
_DOWNGRADES: Final = ("downgrade", "bidirectional")


class GroupSettings:
    """What ``group.consumer.*`` and ``consumer.*`` say about one group."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.assignors = _assignor_names(config.group_consumer_assignors)
        self.max_size = config.group_consumer_max_size
        self.classic_max_size = config.group_max_size
        policy = config.group_consumer_migration_policy.lower()
        self.may_upgrade = policy in _UPGRADES
        self.may_downgrade = policy in _DOWNGRADES

    def session_timeout_ms(self, group_id: str, image: MetadataImage) -> int:
        own = image.config(GROUP_RESOURCE, group_id).get("consumer.session.timeout.ms")
        return self._config.group_consumer_session_timeout_ms if own is None else int(own)

    def heartbeat_interval_ms(self, group_id: str, image: MetadataImage) -> int:
        own = image.config(GROUP_RESOURCE, group_id).get("consumer.heartbeat.interval.ms")
        return self._config.group_consumer_heartbeat_interval_ms if own is None else int(own)

    def assignment_interval_ms(self, group_id: str, image: MetadataImage) -> int:
        own = image.config(GROUP_RESOURCE, group_id).get("consumer.assignment.interval.ms")
        if own is None:
            # The one of these settings that may change while the broker runs.
            name = "group.consumer.assignment.interval.ms"
            own = image.config(BROKER_RESOURCE, "").get(name)
        return self._config.group_consumer_assignment_interval_ms if own is None else int(own)


def _assignor_names(given: tuple[str, ...]) -> tuple[str, ...]:
    """Kafka takes names, and class names too; classes of other people cannot run here."""
    known = {f"{name.capitalize()}Assignor": name for name in ASSIGNORS}
    names = [known.get(name.rpartition(".")[2], name) for name in given]
    return tuple(name for name in names if name in ASSIGNORS) or tuple(ASSIGNORS)

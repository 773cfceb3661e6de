"""The cluster as of one offset of the metadata log: an immutable value.

An image is a consistent view; nothing in it ever changes. A new image shares every unchanged
part with the previous one (``metadata/delta.py`` builds it), so the cost of a new image is the
changes and a copy of the tables they affect.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    METADATA_VERSION,
)
from moldau.metadata.registrations import (
    BrokerRegistration,
    ControllerRegistration,
    PartitionRegistration,
)

# Numbers of Kafka's ConfigResource.Type, as the wire and the log hold them.
UNKNOWN_RESOURCE: Final = 0
TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
BROKER_LOGGER_RESOURCE: Final = 8
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32


class ConfigResource(NamedTuple):
    """What a setting belongs to. The broker resource "" holds the cluster-wide defaults."""

    type: int
    name: str


# The settings of all brokers, overridden by a broker's own.
CLUSTER_DEFAULT: Final = ConfigResource(BROKER_RESOURCE, "")

# A client quota's entity: (entity type, name or None for the default), sorted by type.
QuotaEntity = tuple[tuple[str, str | None], ...]


class TopicImage:
    """One topic and its partitions."""

    __slots__ = ("id", "name", "partitions")

    def __init__(
        self, name: str, topic_id: bytes, partitions: Mapping[int, PartitionRegistration]
    ) -> None:
        self.name = name
        self.id = topic_id
        self.partitions = partitions

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TopicImage)
            and self.name == other.name
            and self.id == other.id
            and self.partitions == other.partitions
        )

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"TopicImage({self.name!r}, {self.id.hex()}, {dict(self.partitions)!r})"


class ScramCredential(NamedTuple):
    """The stored credential of a user for one SCRAM mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class AclEntry(NamedTuple):
    """One access control entry, with Kafka's numbers for its enums."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class DelegationToken(NamedTuple):
    """A delegation token, as issued."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int


class MetadataImage(NamedTuple):
    """The state after all metadata records up to and including ``offset``."""

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1
    features: Mapping[str, int] = {}
    brokers: Mapping[int, BrokerRegistration] = {}
    controllers: Mapping[int, ControllerRegistration] = {}
    topics_by_name: Mapping[str, TopicImage] = {}
    topics_by_id: Mapping[bytes, TopicImage] = {}
    configs: Mapping[ConfigResource, Mapping[str, str]] = {}
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = {}
    next_producer_id: int = -1
    acls: Mapping[bytes, AclEntry] = {}
    scram: Mapping[tuple[int, str], ScramCredential] = {}
    delegation_tokens: Mapping[str, DelegationToken] = {}

    @property
    def metadata_version(self) -> int:
        """The finalised level; -1 before the bootstrap records."""
        return self.features.get(METADATA_VERSION, -1)

    @property
    def is_elr_enabled(self) -> bool:
        return self.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The dynamic settings of one resource; empty if it has none."""
        return self.configs.get(ConfigResource(resource_type, name), {})

    def partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        """A partition, or None if the topic or the partition does not exist."""
        image = self.topics_by_name.get(topic)
        return None if image is None else image.partitions.get(partition)

    def has_same_content(self, other: "MetadataImage") -> bool:
        """Equality without regard to the offset."""
        return self[3:] == other[3:]


EMPTY_IMAGE: Final = MetadataImage()

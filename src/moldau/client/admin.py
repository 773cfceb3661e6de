"""Administration of a cluster: topics, settings, offsets, log directories.

Every method returns a result or raises ``ApiError`` with the broker's code and a message that
names the topic, partition or resource concerned.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from moldau.client.cluster import BrokerAddress, Cluster, TopicMetadata, raise_for
from moldau.client.offsets import FoundOffset, list_offsets
from moldau.client.security import PLAINTEXT, Security
from moldau.config.describe import ConfigEntry, ConfigSource, ConfigSynonym
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from moldau.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from moldau.client.group_admin import GroupAdmin
    from moldau.client.node_admin import NodeAdmin
    from moldau.client.partition_admin import PartitionAdmin


class ResourceType(IntEnum):
    """The kinds of resource with settings, numbered as in DescribeConfigs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigChange(IntEnum):
    """The operations of IncrementalAlterConfigs on a setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class CreatedTopic(NamedTuple):
    """A topic as the broker created it."""

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int


class ClusterDescription(NamedTuple):
    """The brokers of a cluster, its id and its controller."""

    cluster_id: str
    controller_id: int
    brokers: list[BrokerAddress]


class LogDirReplica(NamedTuple):
    """One partition's log in a directory."""

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    """One log directory of a broker; sizes are -1 if the broker does not report them."""

    path: str
    error: ErrorCode
    total_bytes: int
    usable_bytes: int
    replicas: list[LogDirReplica]


class Admin:
    """Administers a cluster. Use as a context manager, or call ``close()``."""

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "moldau-admin",
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
    ) -> None:
        self.cluster = Cluster(
            bootstrap, client_id=client_id, timeout_s=timeout_s, security=security
        )
        self._timeout_ms = int(timeout_s * 1000)

    @cached_property
    def groups(self) -> "GroupAdmin":
        """Consumer groups and their offsets, over the same connections."""
        # Imported here because most users of this module need no groups.
        from moldau.client.group_admin import GroupAdmin

        return GroupAdmin(self.cluster)

    @cached_property
    def partitions(self) -> "PartitionAdmin":
        """Replicas, reassignments and leaders of partitions, over the same connections."""
        from moldau.client.partition_admin import PartitionAdmin

        return PartitionAdmin(self.cluster)

    @cached_property
    def nodes(self) -> "NodeAdmin":
        """Brokers, and the controllers of the quorum, over the same connections."""
        from moldau.client.node_admin import NodeAdmin

        return NodeAdmin(self.cluster)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        configs: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] = (),
        validate_only: bool = False,
    ) -> CreatedTopic:
        """Create a topic; -1 means the broker's default, ``assignments`` replaces both numbers."""
        topic = CreatableTopic(
            name=name,
            num_partitions=-1 if assignments else partitions,
            replication_factor=-1 if assignments else replication_factor,
            assignments=[
                CreatableReplicaAssignment(index, list(brokers))
                for index, brokers in enumerate(assignments)
            ],
            configs=[CreatableTopicConfig(key, value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest([topic], self._timeout_ms, validate_only)
        response = self.cluster.request(request, CreateTopicsResponse)
        result = response.topics[0]
        raise_for(result.error_code, result.error_message, f"topic {name}")
        return CreatedTopic(name, result.topic_id, result.num_partitions, result.replication_factor)

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics. If some fail, the others are deleted and the first error is raised."""
        wanted = list(names)
        request = DeleteTopicsRequest(timeout_ms=self._timeout_ms)
        if self.cluster.connection().version_of(request.API_KEY) >= 6:
            request.topics = [DeleteTopicState(name=name, topic_id=NO_UUID) for name in wanted]
        else:
            request.topic_names = wanted
        response = self.cluster.request(request, DeleteTopicsResponse)
        self.cluster.forget(wanted)
        for result in response.responses:
            raise_for(result.error_code, result.error_message, f"topic {result.name}")

    def list_topics(self, *, include_internal: bool = False) -> list[TopicMetadata]:
        """All topics, sorted by name."""
        self.cluster.refresh(None)
        return [
            topic
            for _, topic in sorted(self.cluster.topics.items())
            if include_internal or not topic.is_internal
        ]

    def describe_topics(self, names: Iterable[str]) -> list[TopicMetadata]:
        """The topics with these names, in the same order."""
        wanted = list(names)
        self.cluster.retrying(lambda: self.cluster.refresh(wanted), wanted)
        return [self.cluster.topics[name] for name in wanted]

    def create_partitions(
        self,
        name: str,
        count: int,
        *,
        assignments: Sequence[Sequence[int]] = (),
        validate_only: bool = False,
    ) -> None:
        """Increase the number of partitions of a topic to ``count``."""
        added = [CreatePartitionsAssignment(list(brokers)) for brokers in assignments]
        topic = CreatePartitionsTopic(name, count, added or None)
        request = CreatePartitionsRequest([topic], self._timeout_ms, validate_only)
        response = self.cluster.request(request, CreatePartitionsResponse)
        self.cluster.forget([name])
        for result in response.results:
            raise_for(result.error_code, result.error_message, f"topic {name}")

    def describe_configs(
        self, resource: ResourceType, name: str, names: Collection[str] | None = None
    ) -> list[ConfigEntry]:
        """The settings of a resource, sorted by name; broker ``""`` means the cluster-wide ones."""
        wanted = DescribeConfigsResource(
            resource_type=resource,
            resource_name=name,
            configuration_keys=None if names is None else list(names),
        )
        request = DescribeConfigsRequest(
            [wanted], include_synonyms=True, include_documentation=True
        )
        node_id = self._node_of(resource, name)
        response = self.cluster.request(request, DescribeConfigsResponse, node_id)
        result = response.results[0]
        raise_for(result.error_code, result.error_message, _title(resource, name))
        entries = [
            ConfigEntry(
                entry.name,
                entry.value,
                entry.read_only,
                ConfigSource(entry.config_source),
                entry.is_sensitive,
                [
                    ConfigSynonym(synonym.name, synonym.value, ConfigSource(synonym.source))
                    for synonym in entry.synonyms
                ],
                entry.config_type,
                entry.documentation or "",
            )
            for entry in result.configs
        ]
        return sorted(entries, key=lambda entry: entry.name)

    def alter_configs(
        self,
        resource: ResourceType,
        name: str,
        changes: Iterable[tuple[str, ConfigChange, str | None]],
        *,
        validate_only: bool = False,
    ) -> None:
        """Change the given settings and leave all others unchanged."""
        altered = AlterConfigsResource(
            resource_type=resource,
            resource_name=name,
            configs=[AlterableConfig(key, int(change), value) for key, change, value in changes],
        )
        request = IncrementalAlterConfigsRequest([altered], validate_only)
        node_id = self._node_of(resource, name)
        response = self.cluster.request(request, IncrementalAlterConfigsResponse, node_id)
        for result in response.responses:
            raise_for(result.error_code, result.error_message, _title(resource, name))

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete the records before an offset (-1: all); returns the new log start offsets."""

        def ask() -> dict[TopicPartition, int]:
            starts: dict[TopicPartition, int] = {}
            for leader, partitions in self.cluster.by_leader(offsets).items():
                topics: dict[str, DeleteRecordsTopic] = {}
                for partition in partitions:
                    topic = topics.setdefault(partition.topic, DeleteRecordsTopic(partition.topic))
                    topic.partitions.append(
                        DeleteRecordsPartition(partition.partition, offsets[partition])
                    )
                request = DeleteRecordsRequest(list(topics.values()), self._timeout_ms)
                response = self.cluster.request(request, DeleteRecordsResponse, leader)
                for answered in response.topics:
                    for each in answered.partitions:
                        partition = TopicPartition(answered.name, each.partition_index)
                        raise_for(each.error_code, None, str(partition))
                        starts[partition] = each.low_watermark
            return starts

        return self.cluster.retrying(ask, {partition.topic for partition in offsets})

    def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, FoundOffset]:
        """The first offset at or after a timestamp, ``EARLIEST`` or ``LATEST``."""
        return list_offsets(self.cluster, timestamps, read_committed=read_committed)

    def describe_log_dirs(self, node_id: int) -> list[LogDir]:
        """The log directories of one broker, with the replicas in them."""
        request = DescribeLogDirsRequest(topics=None)
        response = self.cluster.request(request, DescribeLogDirsResponse, node_id)
        raise_for(response.error_code, None, f"broker {node_id}")
        return [
            LogDir(
                result.log_dir,
                ErrorCode(result.error_code),
                result.total_bytes,
                result.usable_bytes,
                [
                    LogDirReplica(
                        TopicPartition(topic.name, each.partition_index),
                        each.partition_size,
                        each.offset_lag,
                        each.is_future_key,
                    )
                    for topic in result.topics
                    for each in topic.partitions
                ],
            )
            for result in response.results
        ]

    def describe_cluster(self) -> ClusterDescription:
        """The cluster id, the controller and the brokers."""
        response = self.cluster.request(DescribeClusterRequest(), DescribeClusterResponse)
        raise_for(response.error_code, response.error_message, "cluster")
        brokers = [
            BrokerAddress(broker.broker_id, broker.host, broker.port, broker.rack)
            for broker in response.brokers
        ]
        return ClusterDescription(response.cluster_id, response.controller_id, sorted(brokers))

    def close(self) -> None:
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _node_of(self, resource: ResourceType, name: str) -> int | None:
        """The broker that must answer: settings of one broker are known to that broker only."""
        if resource not in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) or not name:
            return None
        if not name.isdigit():
            message = f"{name!r} is not a broker id: it must be a number"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        return int(name)


def _title(resource: ResourceType, name: str) -> str:
    if resource is ResourceType.BROKER and not name:
        return "all brokers"
    return f"{resource.name.lower().replace('_', ' ')} {name}"

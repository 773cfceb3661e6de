"""Administration of partitions: their replicas, reassignments and leaders."""

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster, error_code, raise_for
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from moldau.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

_TOPIC_RESOURCE: Final = 2
_MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_DESCRIBE_TOPIC_PARTITIONS_KEY: Final = 75


class PartitionState(NamedTuple):
    """The replicas of a partition; ``leader`` is -1 if there is none.

    The eligible leader replicas (KIP-966) left the ISR when it was as small as
    ``min.insync.replicas`` allows, and have everything that was acknowledged. They are empty if
    the broker does not report them.
    """

    partition: TopicPartition
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    eligible_leader_replicas: list[int]
    last_known_elr: list[int]
    offline_replicas: list[int]


class Reassignment(NamedTuple):
    """A reassignment in progress; ``replicas`` are the old and the new ones together."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]

    @property
    def target(self) -> list[int]:
        return [each for each in self.replicas if each not in self.removing]


class ElectionType(IntEnum):
    """Whom ElectLeaders elects: the first replica, or, losing records, one not in sync."""

    PREFERRED = 0
    UNCLEAN = 1


class PartitionAdmin:
    """Administers partitions. Where requests name several, errors are returned for each."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def describe(self, topics: Collection[str] | None = None) -> list[PartitionState]:
        """The partitions of ``topics`` (None: of all topics), sorted.

        Raises:
            ApiError: UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist.
        """
        if topics is not None and not topics:
            return []
        if not self.cluster.connection().supports(_DESCRIBE_TOPIC_PARTITIONS_KEY):
            return self._describe_by_metadata(topics)
        states: list[PartitionState] = []
        request = DescribeTopicPartitionsRequest([TopicRequest(name) for name in topics or ()])
        while True:
            response = self.cluster.request(request, DescribeTopicPartitionsResponse)
            for topic in response.topics:
                name = topic.name or ""
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    raise ApiError(code, f"topic {name} does not exist")
                raise_for(topic.error_code, None, f"topic {name}")
                states += (
                    PartitionState(
                        TopicPartition(name, each.partition_index),
                        each.leader_id,
                        each.leader_epoch,
                        list(each.replica_nodes),
                        list(each.isr_nodes),
                        list(each.eligible_leader_replicas or ()),
                        list(each.last_known_elr or ()),
                        list(each.offline_replicas),
                    )
                    for each in topic.partitions
                )
            if response.next_cursor is None:
                return sorted(states)
            request.cursor = response.next_cursor

    def min_insync_replicas(self, topics: Iterable[str]) -> dict[str, int]:
        """``min.insync.replicas`` of each topic."""
        found = self.topic_settings(topics, [_MIN_INSYNC_REPLICAS])
        return {topic: int(values[_MIN_INSYNC_REPLICAS]) for topic, values in found.items()}

    def topic_settings(
        self, topics: Iterable[str], names: Collection[str]
    ) -> dict[str, dict[str, str]]:
        """Some settings of many topics, with one request."""
        resources = [DescribeConfigsResource(_TOPIC_RESOURCE, each, list(names)) for each in topics]
        if not resources:
            return {}
        response = self.cluster.request(DescribeConfigsRequest(resources), DescribeConfigsResponse)
        found = {}
        for result in response.results:
            raise_for(result.error_code, result.error_message, f"topic {result.resource_name}")
            found[result.resource_name] = {each.name: each.value or "" for each in result.configs}
        return found

    def reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The reassignments in progress: all of them, or those of ``partitions``."""
        wanted = None
        if partitions is not None:
            wanted = [
                ListPartitionReassignmentsTopics(topic, numbers)
                for topic, numbers in _by_topic(partitions).items()
            ]
        request = ListPartitionReassignmentsRequest(self._timeout_ms, wanted)
        response = self.cluster.request(request, ListPartitionReassignmentsResponse)
        raise_for(response.error_code, response.error_message, "reassignments")
        return {
            TopicPartition(topic.name, each.partition_index): Reassignment(
                list(each.replicas), list(each.adding_replicas), list(each.removing_replicas)
            )
            for topic in response.topics
            for each in topic.partitions
        }

    def reassign(
        self, targets: Mapping[TopicPartition, list[int] | None]
    ) -> dict[TopicPartition, ApiError]:
        """Give partitions other replicas; None cancels a reassignment. Returns what failed."""
        topics = [
            ReassignableTopic(
                topic,
                [
                    ReassignablePartition(number, targets[TopicPartition(topic, number)])
                    for number in numbers
                ],
            )
            for topic, numbers in _by_topic(targets).items()
        ]
        request = AlterPartitionReassignmentsRequest(self._timeout_ms, topics=topics)
        response = self.cluster.request(request, AlterPartitionReassignmentsResponse)
        raise_for(response.error_code, response.error_message, "reassignment")
        failed = {}
        for topic in response.responses:
            for each in topic.partitions:
                if each.error_code != ErrorCode.NONE:
                    partition = TopicPartition(topic.name, each.partition_index)
                    failed[partition] = _error(each.error_code, each.error_message, partition)
        self.cluster.forget(_by_topic(targets))
        return failed

    def elect_leaders(
        self, election: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, ApiError | None]:
        """Elect leaders of ``partitions`` (None: of all). Returns an error or None for each.

        ELECTION_NOT_NEEDED means that the leader is right already; where all partitions were
        asked for, such partitions are left out.
        """
        wanted = None
        if partitions is not None:
            wanted = [
                TopicPartitions(topic, numbers) for topic, numbers in _by_topic(partitions).items()
            ]
        request = ElectLeadersRequest(int(election), wanted, self._timeout_ms)
        response = self.cluster.request(request, ElectLeadersResponse)
        raise_for(response.error_code, None, "election")
        results: dict[TopicPartition, ApiError | None] = {}
        for topic in response.replica_election_results:
            for each in topic.partition_result:
                partition = TopicPartition(topic.topic, each.partition_id)
                failure = _error(each.error_code, each.error_message, partition)
                results[partition] = failure if each.error_code != ErrorCode.NONE else None
        self.cluster.forget(_by_topic(results))
        return results

    @property
    def _timeout_ms(self) -> int:
        return int(self.cluster.timeout_s * 1000)

    def _describe_by_metadata(self, topics: Collection[str] | None) -> list[PartitionState]:
        self.cluster.refresh(topics)
        names = self.cluster.topics if topics is None else topics
        return sorted(
            PartitionState(
                TopicPartition(name, each.partition),
                each.leader,
                each.leader_epoch,
                each.replicas,
                each.isr,
                [],
                [],
                each.offline_replicas,
            )
            for name in names
            for each in self.cluster.topics[name].partitions
        )


def _error(code: int, message: str | None, partition: TopicPartition) -> ApiError:
    error = error_code(code)
    return ApiError(error, f"{partition}: {message or error.name.lower().replace('_', ' ')}")


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics

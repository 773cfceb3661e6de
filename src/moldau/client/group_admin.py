"""Administration of consumer groups: members, committed offsets, deletion.

Groups of both protocols have the same description: ``describe`` asks for a consumer group
(KIP-848) first, and for a classic group if there is none.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from moldau.client import group_offsets
from moldau.client.cluster import Cluster, raise_for
from moldau.client.consumer_protocol import PROTOCOL_TYPE, decode_assignment, decode_subscription
from moldau.client.coordinators import Coordinators
from moldau.client.group_offsets import CommittedOffset
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages import consumer_group_describe as consumer_groups
from moldau.protocol.messages import describe_groups as classic_groups
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from moldau.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from moldau.protocol.reading import MalformedMessage

T = TypeVar("T")

_CONSUMER_GROUP_DESCRIBE_KEY: Final = 69
DEAD: Final = "Dead"


class GroupListing(NamedTuple):
    """A listed group; state and type are empty if the broker does not report them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupMember(NamedTuple):
    """One member with its assignment and, in a consumer group, its target assignment."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    topics: list[str]
    assignment: list[TopicPartition]
    # Only in consumer groups (KIP-848).
    epoch: int | None = None
    target: list[TopicPartition] | None = None
    topic_regex: str | None = None
    is_classic: bool = False


class GroupDescription(NamedTuple):
    """A group with its members; only consumer groups (KIP-848) have epochs."""

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: list[GroupMember]
    epoch: int | None = None
    assignment_epoch: int | None = None


class GroupAdmin:
    """Administers groups over the connections of ``cluster``, which it does not close."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._coordinators = Coordinators(cluster)

    def list_groups(
        self, *, states: Collection[str] = (), types: Collection[str] = ()
    ) -> list[GroupListing]:
        """All groups of all brokers, sorted by name, filtered by ``states`` and ``types``."""

        def ask() -> list[GroupListing]:
            self._cluster.refresh(())
            found: dict[str, GroupListing] = {}
            for node_id in self._cluster.brokers:
                request = ListGroupsRequest(list(states), list(types))
                response = self._cluster.request(request, ListGroupsResponse, node_id)
                raise_for(response.error_code, None, f"groups of broker {node_id}")
                for each in response.groups:
                    found[each.group_id] = GroupListing(
                        each.group_id, each.protocol_type, each.group_state, each.group_type
                    )
            return sorted(found.values())

        return self._cluster.retrying(ask)

    def describe(self, group_id: str) -> GroupDescription:
        """One group of either protocol.

        Raises:
            ApiError: GROUP_ID_NOT_FOUND, or another error of the coordinator.
        """
        return self._asking(group_id, lambda: self._describe(group_id))

    def offsets(
        self,
        group_id: str,
        partitions: Collection[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
    ) -> dict[TopicPartition, CommittedOffset]:
        """The committed offsets of a group, for ``partitions`` or for all."""
        return self._asking(
            group_id,
            lambda: group_offsets.fetch(
                self._cluster,
                self._coordinators.connection(group_id),
                group_id,
                partitions,
                require_stable=require_stable,
            ),
        )

    def alter_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Set the committed offsets of a group without members.

        Raises:
            ApiError: NON_EMPTY_GROUP if it has members, or another error of the coordinator.
        """
        commits = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}

        def ask() -> None:
            connection = self._coordinators.connection(group_id)
            group_offsets.commit(self._cluster, connection, group_id, commits)

        try:
            self._asking(group_id, ask)
        except ApiError as error:
            # Kafka's answer to a commit by a non-member while the group has members.
            if error.code is not ErrorCode.UNKNOWN_MEMBER_ID:
                raise
            message = f"group {group_id} has members: its offsets can be set once they have left"
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, message) from None

    def delete(self, group_id: str) -> None:
        """Delete a group without members, with its offsets."""

        def ask() -> None:
            request = DeleteGroupsRequest([group_id])
            response = self._coordinators.request(group_id, request, DeleteGroupsResponse)
            raise_for(response.results[0].error_code, None, f"group {group_id}")

        self._asking(group_id, ask)

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Delete committed offsets of topics that the group is not subscribed to."""
        topics: dict[str, OffsetDeleteRequestTopic] = {}
        for name, partition in partitions:
            topic = topics.setdefault(name, OffsetDeleteRequestTopic(name))
            topic.partitions.append(OffsetDeleteRequestPartition(partition))

        def ask() -> None:
            request = OffsetDeleteRequest(group_id, list(topics.values()))
            response = self._coordinators.request(group_id, request, OffsetDeleteResponse)
            raise_for(response.error_code, None, f"group {group_id}")
            for topic in response.topics:
                for each in topic.partitions:
                    where = TopicPartition(topic.name, each.partition_index)
                    raise_for(each.error_code, None, f"offset of group {group_id} for {where}")

        self._asking(group_id, ask)

    def _asking(self, group_id: str, operation: Callable[[], T]) -> T:
        """Retry where that can help, looking up the coordinator again each time."""

        def ask() -> T:
            try:
                return operation()
            except Exception:
                self._coordinators.forget(group_id)
                raise

        return self._cluster.retrying(ask)

    def _describe(self, group_id: str) -> GroupDescription:
        connection = self._coordinators.connection(group_id)
        if connection.supports(_CONSUMER_GROUP_DESCRIBE_KEY):
            request = consumer_groups.ConsumerGroupDescribeRequest([group_id])
            response = connection.request(request, consumer_groups.ConsumerGroupDescribeResponse)
            group = response.groups[0]
            if group.error_code not in _NOT_A_CONSUMER_GROUP:
                raise_for(group.error_code, group.error_message, f"group {group_id}")
                return _from_consumer(group, self._coordinators.node_id(group_id))
        return self._describe_classic(group_id)

    def _describe_classic(self, group_id: str) -> GroupDescription:
        request = classic_groups.DescribeGroupsRequest([group_id])
        response = self._coordinators.request(
            group_id, request, classic_groups.DescribeGroupsResponse
        )
        group = response.groups[0]
        # Before version 6, a group that does not exist is reported as Dead.
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or (
            group.error_code == ErrorCode.NONE and group.group_state == DEAD
        ):
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id}")
        raise_for(group.error_code, group.error_message, f"group {group_id}")
        return _from_classic(group, self._coordinators.node_id(group_id))


_NOT_A_CONSUMER_GROUP: Final = frozenset(
    (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
)


def _from_consumer(group: consumer_groups.DescribedGroup, node_id: int) -> GroupDescription:
    members = [
        GroupMember(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            list(each.subscribed_topic_names),
            _partitions(each.assignment),
            each.member_epoch,
            _partitions(each.target_assignment),
            each.subscribed_topic_regex or None,
            each.member_type == 0,
        )
        for each in group.members
    ]
    return GroupDescription(
        group.group_id,
        "Consumer",
        group.group_state,
        PROTOCOL_TYPE,
        group.assignor_name,
        node_id,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def _partitions(assignment: consumer_groups.Assignment | None) -> list[TopicPartition]:
    if assignment is None:
        return []
    return sorted(
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )


def _from_classic(group: classic_groups.DescribedGroup, node_id: int) -> GroupDescription:
    members = []
    for each in group.members:
        topics: list[str] = []
        assignment: list[TopicPartition] = []
        if group.protocol_type == PROTOCOL_TYPE:
            try:
                topics = decode_subscription(each.member_metadata)
                assignment = decode_assignment(each.member_assignment)
            except MalformedMessage:
                # Members may use another embedded protocol; it is not shown.
                pass
        members.append(
            GroupMember(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                topics,
                assignment,
            )
        )
    return GroupDescription(
        group.group_id,
        "Classic",
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        node_id,
        members,
    )

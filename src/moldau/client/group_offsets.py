"""Fetches and commits the offsets of a group (OffsetFetch, OffsetCommit).

The newest versions of the requests use topic ids, older ones names; callers always use names.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster, raise_for
from moldau.client.connection import Connection
from moldau.ids import NO_UUID, TopicPartition
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)

_FETCH_KEY: Final = 9
_COMMIT_KEY: Final = 8
_FIRST_WITH_GROUPS: Final = 8
_FIRST_WITH_TOPIC_IDS: Final = 10
_FIRST_WITH_STABLE: Final = 7
_NOTHING_COMMITTED: Final = -1


class CommittedOffset(NamedTuple):
    """The next offset that a group will read, as committed."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class Membership(NamedTuple):
    """The member that commits; the default is no member, for groups without members."""

    member_id: str = ""
    generation_id: int = -1
    instance_id: str | None = None


NOBODY: Final = Membership()


def fetch(
    cluster: Cluster,
    coordinator: Connection,
    group_id: str,
    partitions: Collection[TopicPartition] | None = None,
    *,
    require_stable: bool = False,
) -> dict[TopicPartition, CommittedOffset]:
    """The committed offsets for ``partitions`` (None: all), without uncommitted partitions.

    Raises:
        ApiError: the coordinator's error for the group or for a partition.
    """
    version = coordinator.version_of(_FETCH_KEY)
    by_topic = None if partitions is None else _by_topic(partitions)
    request = OffsetFetchRequest(require_stable=require_stable and version >= _FIRST_WITH_STABLE)
    if version < _FIRST_WITH_GROUPS:
        request.group_id = group_id
        request.topics = (
            None
            if by_topic is None
            else [OffsetFetchRequestTopic(name, indexes) for name, indexes in by_topic.items()]
        )
        response = coordinator.request(request, OffsetFetchResponse)
        raise_for(response.error_code, None, f"offsets of group {group_id}")
        return _found((topic.name, each) for topic in response.topics for each in topic.partitions)
    with_ids = version >= _FIRST_WITH_TOPIC_IDS
    topics: list[OffsetFetchRequestTopics] | None = None
    if by_topic is not None:
        topics = [
            OffsetFetchRequestTopics("", cluster.topic(name).topic_id, indexes)
            if with_ids
            else OffsetFetchRequestTopics(name, NO_UUID, indexes)
            for name, indexes in by_topic.items()
        ]
    request.groups = [OffsetFetchRequestGroup(group_id, topics=topics)]
    response = coordinator.request(request, OffsetFetchResponse)
    group = response.groups[0]
    raise_for(group.error_code, None, f"offsets of group {group_id}")
    names: dict[bytes, str] = {}
    if with_ids:
        if by_topic is None:
            cluster.refresh(None)
        names = {topic.topic_id: topic.name for topic in cluster.topics.values()}
    return _found(
        (topic.name or names[topic.topic_id], each)
        for topic in group.topics
        if not with_ids or topic.topic_id in names
        for each in topic.partitions
    )


def commit(
    cluster: Cluster,
    coordinator: Connection,
    group_id: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
    membership: Membership = NOBODY,
) -> None:
    """Commit offsets.

    Raises:
        ApiError: the coordinator's error for the first partition that has one.
    """
    with_ids = coordinator.version_of(_COMMIT_KEY) >= _FIRST_WITH_TOPIC_IDS
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for partition, committed in offsets.items():
        name = partition.topic
        if name not in topics:
            topics[name] = (
                OffsetCommitRequestTopic("", cluster.topic(name).topic_id)
                if with_ids
                else OffsetCommitRequestTopic(name)
            )
        topics[name].partitions.append(
            OffsetCommitRequestPartition(
                partition.partition, committed.offset, committed.leader_epoch, committed.metadata
            )
        )
    request = OffsetCommitRequest(
        group_id,
        membership.generation_id,
        membership.member_id,
        membership.instance_id,
        topics=list(topics.values()),
    )
    response = coordinator.request(request, OffsetCommitResponse)
    names = {topic.topic_id: name for name, topic in topics.items()}
    for topic in response.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for each in topic.partitions:
            where = TopicPartition(name, each.partition_index)
            raise_for(each.error_code, None, f"commit of group {group_id} for {where}")


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def _found(
    answers: Iterable[tuple[str, OffsetFetchResponsePartition | OffsetFetchResponsePartitions]],
) -> dict[TopicPartition, CommittedOffset]:
    found: dict[TopicPartition, CommittedOffset] = {}
    for name, each in answers:
        partition = TopicPartition(name, each.partition_index)
        raise_for(each.error_code, None, f"offset of {partition}")
        if each.committed_offset != _NOTHING_COMMITTED:
            found[partition] = CommittedOffset(
                each.committed_offset, each.committed_leader_epoch, each.metadata or ""
            )
    return dict(sorted(found.items()))

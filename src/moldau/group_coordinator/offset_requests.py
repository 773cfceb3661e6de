"""OffsetCommit, OffsetFetch and OffsetDelete, and their checks for classic groups."""

from collections.abc import Callable

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup, ClassicState
from moldau.group_coordinator.offsets import OffsetStore
from moldau.group_coordinator.records import offset_commit_record, offset_tombstone
from moldau.ids import NO_UUID
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from moldau.protocol.records.offset_commit import OffsetCommitValue

# Called with topic name, topic id and partition; raises ApiError.
CommitCheck = Callable[[str, bytes, int], None]

_NO_OFFSET = -1
_LATEST_MS = 2**63 - 1


def validate_classic_commit(group: ClassicGroup, request: OffsetCommitRequest) -> None:
    """Members of the generation may commit; any client may while the group is empty.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, or
            REBALANCE_IN_PROGRESS for a member that has joined the new generation but not
            synced yet.
    """
    generation_id = request.generation_id_or_member_epoch
    if generation_id < 0 and group.is_empty:
        return
    if generation_id >= 0 or request.member_id or request.group_instance_id is not None:
        group.validate_member(request.member_id, request.group_instance_id)
        if generation_id != group.generation_id:
            message = f"{group.group_id} is at generation {group.generation_id}"
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, message)
    elif not group.is_empty:
        message = f"{group.group_id} has members: only they may commit"
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
    if group.state is ClassicState.COMPLETING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def commit(
    request: OffsetCommitRequest,
    check: CommitCheck | None,
    image: MetadataImage,
    max_metadata_size: int,
    wall_ms: int,
) -> tuple[list[CoordinatorRecord], OffsetCommitResponse]:
    """Records and response; ``check`` may raise ApiError for the whole request."""
    records: list[CoordinatorRecord] = []
    response = OffsetCommitResponse()
    retention_ms = request.retention_time_ms
    # A retention time of the largest integer means for ever; the record has room for no more.
    expire_timestamp_ms = -1 if retention_ms == -1 else min(wall_ms + retention_ms, _LATEST_MS)
    for topic in request.topics:
        topic_id = topic.topic_id
        if topic_id == NO_UUID:
            topic_image = image.topics_by_name.get(topic.name)
            topic_id = NO_UUID if topic_image is None else topic_image.id
        answers: list[OffsetCommitResponsePartition] = []
        response.topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, answers))
        for partition in topic.partitions:
            index = partition.partition_index
            metadata = partition.committed_metadata or ""
            if metadata_length(metadata) > max_metadata_size:
                too_large = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
                answers.append(OffsetCommitResponsePartition(index, too_large))
                continue
            if check is not None:
                check(topic.name, topic_id, index)
            answers.append(OffsetCommitResponsePartition(index))
            record = offset_commit_record(
                request.group_id,
                topic.name,
                index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp_ms=wall_ms,
                expire_timestamp_ms=expire_timestamp_ms,
                topic_id=topic_id,
            )
            records.append(record)
    return records, response


def commit_error(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """A response with the same error for every partition: it has no other error field."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponsePartition(partition.partition_index, int(error))
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetch(
    request: OffsetFetchRequestGroup,
    store: OffsetStore,
    *,
    group_exists: bool,
    require_stable: bool,
) -> OffsetFetchResponseGroup:
    """The committed offsets of a group; -1 where there is none."""
    group_id = request.group_id
    topics: dict[str, OffsetFetchResponseTopics] = {}
    if request.topics is None:
        for name, index, value in store.of_group(group_id) if group_exists else ():
            is_unstable = require_stable and store.is_unstable(group_id, name, index)
            answer = topics.setdefault(name, OffsetFetchResponseTopics(name))
            answer.partitions.append(_fetched(index, value, is_unstable))
        return OffsetFetchResponseGroup(group_id, list(topics.values()))

    answers: list[OffsetFetchResponseTopics] = []
    for topic in request.topics:
        answer = OffsetFetchResponseTopics(topic.name, topic.topic_id)
        answers.append(answer)
        for index in topic.partition_indexes:
            found = store.get(group_id, topic.name, index) if group_exists else None
            if found is not None and _is_other_topic(found.topic_id, topic.topic_id):
                found = None
            is_unstable = require_stable and store.is_unstable(group_id, topic.name, index)
            answer.partitions.append(_fetched(index, found, is_unstable))
    return OffsetFetchResponseGroup(group_id, answers)


def validate_classic_delete_offsets(group: ClassicGroup) -> None:
    """With members, offsets can be deleted only if the subscribed topics are known."""
    if not group.is_empty and not group.uses_consumer_protocol:
        message = f"{group.group_id} has members of type {group.protocol_type}"
        raise ApiError(ErrorCode.NON_EMPTY_GROUP, message)


def delete(
    request: OffsetDeleteRequest, store: OffsetStore, is_subscribed: Callable[[str], bool]
) -> tuple[list[CoordinatorRecord], OffsetDeleteResponse]:
    """Delete offsets of topics that the group is not subscribed to."""
    records: list[CoordinatorRecord] = []
    response = OffsetDeleteResponse()
    for topic in request.topics:
        in_use = is_subscribed(topic.name)
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if in_use else ErrorCode.NONE
        answer = OffsetDeleteResponseTopic(topic.name)
        response.topics.append(answer)
        for partition in topic.partitions:
            index = partition.partition_index
            answer.partitions.append(OffsetDeleteResponsePartition(index, int(error)))
            is_known = store.get(request.group_id, topic.name, index) is not None
            is_pending = store.is_unstable(request.group_id, topic.name, index)
            if not in_use and (is_known or is_pending):
                records.append(offset_tombstone(request.group_id, topic.name, index))
    return records, response


def _fetched(
    index: int, value: OffsetCommitValue | None, is_unstable: bool
) -> OffsetFetchResponsePartitions:
    if is_unstable:
        unstable = int(ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return OffsetFetchResponsePartitions(index, _NO_OFFSET, -1, "", unstable)
    if value is None:
        return OffsetFetchResponsePartitions(index, _NO_OFFSET, -1, "")
    return OffsetFetchResponsePartitions(index, value.offset, value.leader_epoch, value.metadata)


def _is_other_topic(committed: bytes, asked: bytes) -> bool:
    """Whether the topic was recreated since the commit; a missing id matches any topic."""
    return NO_UUID not in (committed, asked) and committed != asked


def metadata_length(text: str) -> int:
    """In UTF-16 code units, as Kafka counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2

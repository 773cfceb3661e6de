"""Offsets of groups: OffsetCommit, OffsetFetch, OffsetDelete.

Topics are checked here, against the metadata, and offsets there, by the shard that holds
them. From version 10 on clients say topic ids (KIP-848); the shard knows both.
"""

from typing import TYPE_CHECKING, Final

from moldau.broker.handlers.groups import check_group_id, group_context
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

FIRST_VERSION_WITH_TOPIC_IDS: Final = 10
FIRST_FETCH_WITH_GROUP_ERROR: Final = 2
FIRST_FETCH_OF_MANY_GROUPS: Final = 8
NO_OFFSET: Final = -1


# --- OffsetCommit


def commit(
    broker: "Broker", request: OffsetCommitRequest, context: "RequestContext"
) -> OffsetCommitResponse:
    by_id = context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
    image = broker.image
    refused: list[OffsetCommitResponseTopic] | None = None
    for topic in request.topics:
        known = (
            image.topics_by_id.get(topic.topic_id)
            if by_id
            else image.topics_by_name.get(topic.name)
        )
        if known is not None:
            topic.name = known.name
            topic.topic_id = known.id
            partitions = known.partitions
            for each in topic.partitions:
                if each.partition_index not in partitions:
                    break
            else:
                continue
        # Seldom: something in this request does not exist.
        refused = _refuse_unknown(request, image, by_id)
        break
    if refused is not None and not request.topics:
        return OffsetCommitResponse(topics=refused)
    try:
        hosted = broker.groups.shard_of(request.group_id)
        response = hosted.run(hosted.shard.handle_offset_commit, request, group_context(context))
        assert isinstance(response, OffsetCommitResponse), "a commit is answered at once"
    except ApiError as error:
        response = OffsetCommitResponse(
            topics=[_commit_refused(topic, error.code) for topic in request.topics]
        )
    if refused is not None:
        response.topics = _merge_commits(refused, response.topics)
    return response


def _refuse_unknown(
    request: OffsetCommitRequest, image: MetadataImage, by_id: bool
) -> list[OffsetCommitResponseTopic]:
    """Take what does not exist out of the request, and give the answers to it."""
    refused = []
    topics = []
    for topic in request.topics:
        if by_id:
            known = image.topics_by_id.get(topic.topic_id)
        else:
            known = image.topics_by_name.get(topic.name)
        if known is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_commit_refused(topic, code))
            continue
        topic.name = known.name
        topic.topic_id = known.id
        unknown = [p for p in topic.partitions if p.partition_index not in known.partitions]
        if unknown:
            part = OffsetCommitRequestTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=unknown
            )
            refused.append(_commit_refused(part, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            topic.partitions = [
                p for p in topic.partitions if p.partition_index in known.partitions
            ]
        if topic.partitions:
            topics.append(topic)
    request.topics = topics
    return refused


def _commit_refused(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
            for each in topic.partitions
        ],
    )


def _merge_commits(
    refused: list[OffsetCommitResponseTopic], answered: list[OffsetCommitResponseTopic]
) -> list[OffsetCommitResponseTopic]:
    by_name = {topic.name: topic for topic in refused}
    for topic in answered:
        existing = by_name.get(topic.name)
        if existing is None:
            refused.append(topic)
        else:
            existing.partitions.extend(topic.partitions)
    return refused


# --- OffsetFetch


def fetch(
    broker: "Broker", request: OffsetFetchRequest, context: "RequestContext"
) -> OffsetFetchResponse:
    version = context.api_version
    if version >= FIRST_FETCH_OF_MANY_GROUPS:
        return OffsetFetchResponse(
            groups=[
                _fetch_group(broker, group, request.require_stable, version)
                for group in request.groups
            ]
        )
    topics = request.topics
    group = OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in topics
        ],
    )
    return _as_single(_fetch_group(broker, group, request.require_stable, version))


def _fetch_group(
    broker: "Broker", group: OffsetFetchRequestGroup, require_stable: bool, version: int
) -> OffsetFetchResponseGroup:
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    unknown: list[OffsetFetchResponseTopics] = []
    if by_id and group.topics is not None:
        unknown = _resolve_fetched(broker.image, group)
    try:
        shard = broker.groups.shard_of(group.group_id).shard
        answer = shard.handle_offset_fetch(group, require_stable, broker.clock.now_ms())
    except ApiError as error:
        return _fetch_refused(group, error.code, version)
    if answer.error_code:
        if version < FIRST_FETCH_WITH_GROUP_ERROR:
            return _fetch_refused(group, ErrorCode(answer.error_code), version)
        return answer
    if by_id and group.topics is None:
        _fill_in_ids(broker.image, answer)
    if unknown:
        answer.topics.extend(unknown)
    return answer


def _resolve_fetched(
    image: MetadataImage, group: OffsetFetchRequestGroup
) -> list[OffsetFetchResponseTopics]:
    """Put names to the ids of the request; topics without are taken out, and answered."""
    assert group.topics is not None
    unknown = []
    topics = []
    for topic in group.topics:
        known = image.topics_by_id.get(topic.topic_id)
        if known is not None:
            topic.name = known.name
            topics.append(topic)
        else:
            unknown.append(_fetch_topic_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID))
    group.topics = topics
    return unknown


def _fill_in_ids(image: MetadataImage, answer: OffsetFetchResponseGroup) -> None:
    """Topics that are no more have no id, and so no place in the answer."""
    topics = []
    for topic in answer.topics:
        if topic.topic_id == NO_UUID:
            known = image.topics_by_name.get(topic.name)
            if known is None:
                continue
            topic.topic_id = known.id
        topics.append(topic)
    answer.topics = topics


def _fetch_refused(
    group: OffsetFetchRequestGroup, code: ErrorCode, version: int
) -> OffsetFetchResponseGroup:
    """In version 1 there is no place for a group's error but its partitions."""
    if version >= FIRST_FETCH_WITH_GROUP_ERROR:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[_fetch_topic_refused(topic, code) for topic in group.topics or []],
    )


def _fetch_topic_refused(
    topic: OffsetFetchRequestTopics, code: ErrorCode
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=NO_OFFSET, error_code=code
            )
            for index in topic.partition_indexes
        ],
    )


def _as_single(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """The answer as it was before version 8, when a request was about one group."""
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


# --- OffsetDelete


def delete(
    broker: "Broker", request: OffsetDeleteRequest, context: "RequestContext"
) -> OffsetDeleteResponse:
    check_group_id(request.group_id)
    known: list[OffsetDeleteRequestTopic] = []
    refused: dict[str, list[OffsetDeleteResponsePartition]] = {}
    for topic in request.topics:
        image = broker.image.topics_by_name.get(topic.name)
        partitions = {} if image is None else image.partitions
        valid: list[OffsetDeleteRequestPartition] = []
        for each in topic.partitions:
            if each.partition_index in partitions:
                valid.append(each)
            else:
                unknown = OffsetDeleteResponsePartition(
                    partition_index=each.partition_index,
                    error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                )
                refused.setdefault(topic.name, []).append(unknown)
        if valid:
            known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=valid))
    request.topics = known
    hosted = broker.groups.shard_of(request.group_id)
    response = hosted.run(hosted.shard.handle_offset_delete, request, group_context(context))
    assert isinstance(response, OffsetDeleteResponse), "a deletion is answered at once"
    if refused and not response.error_code:
        for topic_response in response.topics:
            topic_response.partitions.extend(refused.pop(topic_response.name, []))
        response.topics.extend(
            OffsetDeleteResponseTopic(name=name, partitions=partitions)
            for name, partitions in refused.items()
        )
    return response

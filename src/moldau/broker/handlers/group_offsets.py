"""Offsets of groups: OffsetCommit, OffsetFetch, OffsetDelete.

Topics are validated here, against the metadata; offsets are validated by their shard. From version
10 on, clients send topic ids (KIP-848); the shard stores both names and ids.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.handlers.groups import check_group_id, group_context
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Steps
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
# The work of a fraction of a millisecond.
OFFSETS_PER_STEP: Final = 500
# The size of an offset on the wire, without its metadata.
OFFSET_BYTES: Final = 20


# --- OffsetCommit


def commit(
    broker: "Broker", request: OffsetCommitRequest, context: "RequestContext"
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
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
        # Rare: a topic or partition does not exist.
        refused = _refuse_unknown(request, image, by_id)
        break
    if refused is not None and not request.topics:
        return OffsetCommitResponse(topics=refused)
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    if count > OFFSETS_PER_STEP:
        return context.in_turns(_commit_many(broker, request, context, refused))
    response = _commit(broker, request, context)
    if refused is not None:
        response.topics = _merge_commits(refused, response.topics)
    return response


def _commit(
    broker: "Broker", request: OffsetCommitRequest, context: "RequestContext"
) -> OffsetCommitResponse:
    try:
        hosted = broker.groups.shard_of(request.group_id)
        response = hosted.run(hosted.shard.handle_offset_commit, request, group_context(context))
        assert isinstance(response, OffsetCommitResponse), "a commit is answered at once"
    except ApiError as error:
        response = OffsetCommitResponse(
            topics=[_commit_refused(topic, error.code) for topic in request.topics]
        )
    return response


def _commit_many(
    broker: "Broker",
    request: OffsetCommitRequest,
    context: "RequestContext",
    refused: list[OffsetCommitResponseTopic] | None,
) -> Steps[OffsetCommitResponse]:
    """Commit a few offsets per step."""
    topics: list[OffsetCommitResponseTopic] = []
    for topic in request.topics:
        answer = OffsetCommitResponseTopic(topic.name, topic.topic_id)
        topics.append(answer)
        for begin in range(0, len(topic.partitions), OFFSETS_PER_STEP):
            offsets = topic.partitions[begin : begin + OFFSETS_PER_STEP]
            part = OffsetCommitRequest(
                request.group_id,
                request.generation_id_or_member_epoch,
                request.member_id,
                request.group_instance_id,
                request.retention_time_ms,
                [OffsetCommitRequestTopic(topic.name, topic.topic_id, offsets)],
            )
            answer.partitions += _commit(broker, part, context).topics[0].partitions
            yield
    return OffsetCommitResponse(
        topics=topics if refused is None else _merge_commits(refused, topics)
    )


def _refuse_unknown(
    request: OffsetCommitRequest, image: MetadataImage, by_id: bool
) -> list[OffsetCommitResponseTopic]:
    """Remove unknown topics and partitions from the request; returns the responses for them."""
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
) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
    return context.in_turns(_fetched(broker, request, context))


def _fetched(
    broker: "Broker", request: OffsetFetchRequest, context: "RequestContext"
) -> Steps[OffsetFetchResponse]:
    version = context.api_version
    if version >= FIRST_FETCH_OF_MANY_GROUPS:
        groups = yield from _fetch_groups(broker, request, context)
        return OffsetFetchResponse(groups=groups)
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
    answer = yield from _fetch_group(broker, group, request.require_stable, version)
    context.expect(_size_bytes(answer))
    return _as_single(answer)


def _fetch_groups(
    broker: "Broker", request: OffsetFetchRequest, context: "RequestContext"
) -> Steps[list[OffsetFetchResponseGroup]]:
    """Each group; all offsets of a duplicate group are looked up once."""
    version = context.api_version
    answers: list[OffsetFetchResponseGroup] = []
    known: dict[tuple[str, str | None, int], tuple[OffsetFetchResponseGroup, int]] = {}
    answer_bytes = 0
    for group in request.groups:
        key = (group.group_id, group.member_id, group.member_epoch)
        found = known.get(key) if group.topics is None else None
        if found is None:
            answer = yield from _fetch_group(broker, group, request.require_stable, version)
            size_bytes = _size_bytes(answer)
            if group.topics is None:
                known[key] = (answer, size_bytes)
        else:
            answer, size_bytes = found
        answer_bytes += size_bytes
        if answer_bytes > MAX_ANSWER_BYTES:
            answer_bytes -= size_bytes
            answer = _fetch_refused(group, answer_too_large().code, version)
        answers.append(answer)
        yield
    context.expect(answer_bytes)
    return answers


def _size_bytes(answer: OffsetFetchResponseGroup) -> int:
    """The approximate size of the response on the wire."""
    size = len(answer.group_id)
    for topic in answer.topics:
        size += len(topic.name)
        for each in topic.partitions:
            size += OFFSET_BYTES + len(each.metadata or "")
    return size


def _fetch_group(
    broker: "Broker", group: OffsetFetchRequestGroup, require_stable: bool, version: int
) -> Steps[OffsetFetchResponseGroup]:
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    wants_all = group.topics is None
    unknown: list[OffsetFetchResponseTopics] = []
    if by_id and not wants_all:
        unknown = _resolve_fetched(broker.image, group)
    try:
        answer = yield from _committed(broker, group, require_stable)
    except ApiError as error:
        return _fetch_refused(group, error.code, version)
    if answer.error_code:
        if version < FIRST_FETCH_WITH_GROUP_ERROR:
            return _fetch_refused(group, ErrorCode(answer.error_code), version)
        return answer
    if by_id and wants_all:
        _fill_in_ids(broker.image, answer)
    if unknown:
        answer.topics.extend(unknown)
    return answer


def _committed(
    broker: "Broker", group: OffsetFetchRequestGroup, require_stable: bool
) -> Steps[OffsetFetchResponseGroup]:
    """The response of the shard; many offsets are looked up in several steps.

    Raises:
        ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
    """
    shard = broker.groups.shard_of(group.group_id).shard
    topics = shard.committed_topics(group.group_id) if group.topics is None else group.topics
    if sum(len(topic.partition_indexes) for topic in topics) <= OFFSETS_PER_STEP:
        return shard.handle_offset_fetch(group, require_stable, broker.clock.now_ms())
    whole = OffsetFetchResponseGroup(group.group_id)
    part = OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch)
    for topic in topics:
        answer = OffsetFetchResponseTopics(topic.name, topic.topic_id)
        whole.topics.append(answer)
        for begin in range(0, len(topic.partition_indexes), OFFSETS_PER_STEP):
            indexes = topic.partition_indexes[begin : begin + OFFSETS_PER_STEP]
            part.topics = [OffsetFetchRequestTopics(topic.name, topic.topic_id, indexes)]
            shard = broker.groups.shard_of(group.group_id).shard
            found = shard.handle_offset_fetch(part, require_stable, broker.clock.now_ms())
            if found.error_code:
                return found
            answer.partitions += found.topics[0].partitions
            yield
    if group.topics is None:
        _leave_out_missing(whole)
    return whole


def _leave_out_missing(group: OffsetFetchResponseGroup) -> None:
    """Remove offsets that were deleted while the others were looked up."""
    for topic in group.topics:
        topic.partitions = [
            each
            for each in topic.partitions
            if each.committed_offset != NO_OFFSET or each.error_code
        ]
    group.topics = [topic for topic in group.topics if topic.partitions]


def _resolve_fetched(
    image: MetadataImage, group: OffsetFetchRequestGroup
) -> list[OffsetFetchResponseTopics]:
    """Set the names of topics by their ids; remove unknown ones, and return their responses."""
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
    """Set the ids of topics by their names; remove deleted topics, which have no id."""
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
    """The response with an error of the group; version 1 has errors in partitions only."""
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
    """The response before version 8, when a request had one group."""
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

"""Offsets of groups: OffsetCommit and OffsetFetch.

Topics are validated here, against the metadata; offsets are validated by their shard. From version
10 on, clients send topic ids (KIP-848); the shard stores both names and ids.
"""

import functools
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.commit_queue import Commitment
from moldau.broker.committed_answer import CommittedAnswer
from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.handlers.groups import group_context
from moldau.broker.hosted_shard import as_coordinator_error
from moldau.broker.metadata_cache import MetadataCache
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
    from moldau.broker.dispatch import RequestContext
    from moldau.group_coordinator.shard import GroupCoordinatorShard

FIRST_VERSION_WITH_TOPIC_IDS: Final = 10
FIRST_FETCH_WITH_GROUP_ERROR: Final = 2
FIRST_FETCH_OF_MANY_GROUPS: Final = 8
NO_OFFSET: Final = -1
# The work of a fraction of a millisecond.
OFFSETS_PER_STEP: Final = 500
# The size of an offset on the wire, without its metadata.
OFFSET_BYTES: Final = 20


class GroupOffsets:
    """Commits and fetches the offsets of groups."""

    def __init__(self, groups: GroupRuntime, metadata: MetadataCache) -> None:
        self._groups = groups
        self._metadata = metadata

    # --- OffsetCommit

    def commit(
        self, request: OffsetCommitRequest, context: "RequestContext"
    ) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
        if not context.is_large and _resolve(self._metadata.image, request, context):
            try:
                hosted = self._groups.shard_of(request.group_id)
                response: OffsetCommitResponse = hosted.decide(
                    hosted.shard.handle_offset_commit, request, group_context(context)
                )
            except ApiError as error:
                topics = [_commit_refused(topic, error.code) for topic in request.topics]
                return OffsetCommitResponse(topics=topics)
            commitment = hosted.committed()
            return response if commitment is None else _acknowledged(response, commitment)
        # Rare: it is large, or a topic or partition does not exist.
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._commit_in_parts(request, context, committed)))

    def _commit_in_parts(
        self,
        request: OffsetCommitRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[OffsetCommitResponse]:
        """Commit a few offsets per step; partitions that do not exist are refused."""
        by_id = context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
        image = self._metadata.image
        response = OffsetCommitResponse()
        part = _CommitPart()
        for topic in request.topics:
            if by_id:
                known = image.topics_by_id.get(topic.topic_id)
            else:
                known = image.topics_by_name.get(topic.name)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if known is not None:
                topic.name = known.name
                topic.topic_id = known.id
            elif by_id:
                code = ErrorCode.UNKNOWN_TOPIC_ID
            answer = OffsetCommitResponseTopic(topic.name, topic.topic_id)
            response.topics.append(answer)
            yield
            for begin in range(0, len(topic.partitions), OFFSETS_PER_STEP):
                valid = []
                for each in topic.partitions[begin : begin + OFFSETS_PER_STEP]:
                    if known is not None and each.partition_index in known.partitions:
                        valid.append(each)
                    else:
                        refused = OffsetCommitResponsePartition(each.partition_index, code)
                        answer.partitions.append(refused)
                if part.size + len(valid) > OFFSETS_PER_STEP:
                    part.commit(self._groups, request, context, committed)
                    part = _CommitPart()
                if valid:
                    part.add(OffsetCommitRequestTopic(topic.name, topic.topic_id, valid), answer)
                yield
        if part.size:
            part.commit(self._groups, request, context, committed)
        return response

    # --- OffsetFetch

    def fetch(
        self, request: OffsetFetchRequest, context: "RequestContext"
    ) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._fetched(request, context, committed)))

    def _fetched(
        self,
        request: OffsetFetchRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[OffsetFetchResponse]:
        version = context.api_version
        image = self._metadata.image
        if version >= FIRST_FETCH_OF_MANY_GROUPS:
            groups = yield from self._fetch_groups(request, context, committed)
            return OffsetFetchResponse(groups=groups)
        topics: list[OffsetFetchRequestTopics] = []
        for topic in request.topics or ():
            topics.append(OffsetFetchRequestTopics(topic.name, NO_UUID, topic.partition_indexes))
            yield
        group = OffsetFetchRequestGroup(
            request.group_id, topics=None if request.topics is None else topics
        )
        reading = _Reading(self._groups, image, request.require_stable, version, committed)
        answer = yield from _fetch_group(reading, group)
        size_bytes = yield from _size_bytes(answer)
        context.expect(size_bytes)
        response = yield from _as_single(answer)
        reading.answer = response
        return response

    def _fetch_groups(
        self,
        request: OffsetFetchRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[list[OffsetFetchResponseGroup]]:
        """Each group; all offsets of a duplicate group are looked up once."""
        version = context.api_version
        image = self._metadata.image
        answers: list[OffsetFetchResponseGroup] = []
        known: dict[tuple[str, str | None, int], tuple[OffsetFetchResponseGroup, int]] = {}
        answer_bytes = 0
        for group in request.groups:
            key = (group.group_id, group.member_id, group.member_epoch)
            found = known.get(key) if group.topics is None else None
            if found is None:
                reading = _Reading(self._groups, image, request.require_stable, version, committed)
                answer = yield from _fetch_group(reading, group)
                reading.answer = answer
                size_bytes = yield from _size_bytes(answer)
                if group.topics is None:
                    known[key] = (answer, size_bytes)
            else:
                answer, size_bytes = found
            answer_bytes += size_bytes
            if answer_bytes > MAX_ANSWER_BYTES:
                answer_bytes -= size_bytes
                code = answer_too_large().code
                answer = OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
            answers.append(answer)
            yield
        context.expect(answer_bytes)
        return answers


async def _acknowledged(
    response: OffsetCommitResponse, commitment: Commitment
) -> OffsetCommitResponse:
    error = await commitment
    if error is not None:
        _refuse_commits(response.topics, as_coordinator_error(error).code)
    return response


def _refuse_commits(topics: list[OffsetCommitResponseTopic], code: ErrorCode) -> None:
    for topic in topics:
        for each in topic.partitions:
            each.error_code = code


def _resolve(image: MetadataImage, request: OffsetCommitRequest, context: "RequestContext") -> bool:
    """Set the names and ids of the topics; False if a topic or partition does not exist."""
    by_id = context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
    for topic in request.topics:
        known = (
            image.topics_by_id.get(topic.topic_id)
            if by_id
            else image.topics_by_name.get(topic.name)
        )
        if known is None:
            return False
        topic.name = known.name
        topic.topic_id = known.id
        partitions = known.partitions
        for each in topic.partitions:
            if each.partition_index not in partitions:
                return False
    return True


class _CommitPart:
    """Offsets that are committed together, and the answers that their results are added to."""

    def __init__(self) -> None:
        self.topics: list[OffsetCommitRequestTopic] = []
        self.answers: list[OffsetCommitResponseTopic] = []
        self.size = 0

    def add(self, topic: OffsetCommitRequestTopic, answer: OffsetCommitResponseTopic) -> None:
        self.topics.append(topic)
        self.answers.append(answer)
        self.size += len(topic.partitions)

    def commit(
        self,
        groups: GroupRuntime,
        whole: OffsetCommitRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> None:
        request = OffsetCommitRequest(
            whole.group_id,
            whole.generation_id_or_member_epoch,
            whole.member_id,
            whole.group_instance_id,
            whole.retention_time_ms,
            self.topics,
        )
        topics: list[OffsetCommitResponseTopic]
        try:
            hosted = groups.shard_of(request.group_id)
            commit = hosted.shard.handle_offset_commit
            topics = hosted.decide(commit, request, group_context(context)).topics
            committed.depends_on(hosted, functools.partial(_refuse_commits, topics))
        except ApiError as error:
            topics = [_commit_refused(topic, error.code) for topic in self.topics]
        for answer, topic in zip(self.answers, topics, strict=True):
            answer.partitions += topic.partitions


def _commit_refused(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
            for each in topic.partitions
        ],
    )


class _Reading:
    """The read of one group in progress, and its answer, which is refused if it is lost."""

    __slots__ = ("_committed", "_groups", "answer", "image", "require_stable", "version")

    def __init__(
        self,
        groups: GroupRuntime,
        image: MetadataImage,
        require_stable: bool,
        version: int,
        committed: CommittedAnswer,
    ) -> None:
        self.image = image
        self.require_stable = require_stable
        self.version = version
        self.answer: OffsetFetchResponse | OffsetFetchResponseGroup | None = None
        self._groups = groups
        self._committed = committed

    def shard_of(self, group_id: str) -> "GroupCoordinatorShard":
        """The shard of the group, to be read in this turn."""
        hosted = self._groups.shard_of(group_id)
        self._committed.depends_on(hosted, self._refuse)
        return hosted.shard

    def _refuse(self, code: ErrorCode) -> None:
        answer = self.answer
        assert answer is not None, "the answer is complete before it waits"
        if self.version >= FIRST_FETCH_WITH_GROUP_ERROR:
            answer.error_code = code
            answer.topics = []
            return
        for topic in answer.topics:
            for each in topic.partitions:
                each.committed_offset = NO_OFFSET
                each.metadata = ""
                each.error_code = code


def _size_bytes(answer: OffsetFetchResponseGroup) -> Steps[int]:
    """The approximate size of the response on the wire."""
    size = len(answer.group_id)
    for topic in answer.topics:
        size += len(topic.name)
        for begin in range(0, len(topic.partitions), OFFSETS_PER_STEP):
            for each in topic.partitions[begin : begin + OFFSETS_PER_STEP]:
                size += OFFSET_BYTES + len(each.metadata or "")
            yield
    return size


def _fetch_group(
    reading: _Reading, group: OffsetFetchRequestGroup
) -> Steps[OffsetFetchResponseGroup]:
    image = reading.image
    by_id = reading.version >= FIRST_VERSION_WITH_TOPIC_IDS
    wants_all = group.topics is None
    unknown: list[OffsetFetchResponseTopics] = []
    if by_id and not wants_all:
        unknown = yield from _resolve_fetched(image, group)
    try:
        answer = yield from _committed(reading, group)
    except ApiError as error:
        answer = OffsetFetchResponseGroup(group.group_id, error_code=error.code)
    if answer.error_code:
        if reading.version < FIRST_FETCH_WITH_GROUP_ERROR:
            answer = yield from _refused_by_partition(group, ErrorCode(answer.error_code))
        return answer
    if by_id and wants_all:
        _fill_in_ids(image, answer)
    if unknown:
        answer.topics.extend(unknown)
    return answer


def _committed(
    reading: _Reading, group: OffsetFetchRequestGroup
) -> Steps[OffsetFetchResponseGroup]:
    """The response of the shard; many offsets are looked up in several steps.

    Raises:
        ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
    """
    shard = reading.shard_of(group.group_id)
    topics = group.topics
    if topics is None:
        topics = yield from shard.committed_topics(group.group_id)
        shard = reading.shard_of(group.group_id)
    size = 0
    for topic in topics:
        size += 1 + len(topic.partition_indexes)
        if size > OFFSETS_PER_STEP:
            break
    else:
        return shard.handle_offset_fetch(group, reading.require_stable)
    whole = OffsetFetchResponseGroup(group.group_id)
    part = OffsetFetchRequestGroup(group.group_id, group.member_id, group.member_epoch)
    for topic in topics:
        answer = OffsetFetchResponseTopics(topic.name, topic.topic_id)
        whole.topics.append(answer)
        yield
        for begin in range(0, len(topic.partition_indexes), OFFSETS_PER_STEP):
            indexes = topic.partition_indexes[begin : begin + OFFSETS_PER_STEP]
            part.topics = [OffsetFetchRequestTopics(topic.name, topic.topic_id, indexes)]
            shard = reading.shard_of(group.group_id)
            found = shard.handle_offset_fetch(part, reading.require_stable)
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
) -> Steps[list[OffsetFetchResponseTopics]]:
    """Set the names of topics by their ids; remove unknown ones, and return their responses."""
    assert group.topics is not None
    unknown = []
    topics = []
    for topic in group.topics:
        yield
        known = image.topics_by_id.get(topic.topic_id)
        if known is not None:
            topic.name = known.name
            topics.append(topic)
        else:
            refused = yield from _fetch_topic_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID)
            unknown.append(refused)
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


def _refused_by_partition(
    group: OffsetFetchRequestGroup, code: ErrorCode
) -> Steps[OffsetFetchResponseGroup]:
    """The error of a group, for version 1: it has errors in partitions only."""
    refused = OffsetFetchResponseGroup(group.group_id)
    for topic in group.topics or ():
        answer = yield from _fetch_topic_refused(topic, code)
        refused.topics.append(answer)
    return refused


def _fetch_topic_refused(
    topic: OffsetFetchRequestTopics, code: ErrorCode
) -> Steps[OffsetFetchResponseTopics]:
    answer = OffsetFetchResponseTopics(topic.name, topic.topic_id)
    for index in topic.partition_indexes:
        answer.partitions.append(
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=NO_OFFSET, error_code=code
            )
        )
        yield
    return answer


def _as_single(group: OffsetFetchResponseGroup) -> Steps[OffsetFetchResponse]:
    """The response before version 8, when a request had one group."""
    response = OffsetFetchResponse(error_code=group.error_code)
    for topic in group.topics:
        answer = OffsetFetchResponseTopic(topic.name)
        response.topics.append(answer)
        for each in topic.partitions:
            answer.partitions.append(
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
            )
            yield
    return response

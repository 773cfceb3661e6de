"""OffsetDelete: delete committed offsets of topics that the group is not subscribed to."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.committed_answer import CommittedAnswer
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.handlers.groups import check_group_id, group_context
from moldau.broker.metadata_cache import MetadataCache
from moldau.errors import ErrorCode
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Steps
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# A fraction of a millisecond; the offsets of a step share one append.
DELETED_PER_STEP: Final = 200

# Responses by the name of their topic.
Answers = dict[str, OffsetDeleteResponseTopic]


class OffsetDelete:
    """Deletes committed offsets."""

    def __init__(self, groups: GroupRuntime, metadata: MetadataCache) -> None:
        self._groups = groups
        self._metadata = metadata

    def handle(
        self, request: OffsetDeleteRequest, context: "RequestContext"
    ) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
        check_group_id(request.group_id)
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._deleting(request, context, committed)))

    def _deleting(
        self,
        request: OffsetDeleteRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[OffsetDeleteResponse]:
        """A few offsets per step.

        An error of the group ends the request. Offsets that earlier steps deleted stay deleted, as
        if the client had sent several requests.
        """
        # The group first: without it, nothing is made for each partition that is freed at once.
        checked = self._delete(request.group_id, [], context, committed)
        if checked.error_code:
            return checked
        refused: Answers = {}
        parts = yield from _split(self._metadata.image, request, refused)
        answers: Answers = {}
        for part in parts:
            response = self._delete(request.group_id, part, context, committed)
            if response.error_code:
                return response
            for topic in response.topics:
                _answer_of(answers, topic.name).partitions += topic.partitions
            yield
        for name, topic in refused.items():
            _answer_of(answers, name).partitions += topic.partitions
            yield
        return OffsetDeleteResponse(topics=list(answers.values()))

    def _delete(
        self,
        group_id: str,
        topics: list[OffsetDeleteRequestTopic],
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> OffsetDeleteResponse:
        """The response of the shard, which may have moved since the last step.

        Raises:
            ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
        """
        hosted = self._groups.shard_of(group_id)
        request = OffsetDeleteRequest(group_id, topics)
        response: OffsetDeleteResponse = hosted.decide(
            hosted.shard.handle_offset_delete, request, group_context(context)
        )
        committed.depends_on(hosted)
        return response


def _split(
    image: MetadataImage, request: OffsetDeleteRequest, refused: Answers
) -> Steps[list[list[OffsetDeleteRequestTopic]]]:
    """The existing partitions in parts of ``DELETED_PER_STEP``; adds the others to ``refused``."""
    part: list[OffsetDeleteRequestTopic] = []
    parts: list[list[OffsetDeleteRequestTopic]] = []
    size = DELETED_PER_STEP
    for topic in request.topics:
        known = image.topics_by_name.get(topic.name)
        existing = {} if known is None else known.partitions
        for begin in range(0, len(topic.partitions), DELETED_PER_STEP):
            valid: list[OffsetDeleteRequestPartition] = []
            for each in topic.partitions[begin : begin + DELETED_PER_STEP]:
                if each.partition_index in existing:
                    valid.append(each)
                else:
                    _refuse(refused, topic.name, each.partition_index)
            if size + len(valid) > DELETED_PER_STEP:
                part, size = [], 0
                parts.append(part)
            if valid:
                part.append(OffsetDeleteRequestTopic(topic.name, valid))
                size += len(valid)
            yield
    return parts


def _refuse(refused: Answers, topic: str, index: int) -> None:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    _answer_of(refused, topic).partitions.append(OffsetDeleteResponsePartition(index, code))


def _answer_of(answers: Answers, topic: str) -> OffsetDeleteResponseTopic:
    answer = answers.get(topic)
    if answer is None:
        answer = answers[topic] = OffsetDeleteResponseTopic(topic)
    return answer

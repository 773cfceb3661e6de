"""DescribeTopicPartitions: topics in pages, for clusters with many partitions (KIP-966)."""

import heapq
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.handlers.topic_metadata import TOPIC_OPERATIONS, why_unknown
from moldau.broker.metadata_cache import MetadataCache
from moldau.errors import ErrorCode
from moldau.ids import INTERNAL_TOPICS
from moldau.metadata.image import TopicImage
from moldau.metadata.registrations import PartitionRegistration
from moldau.network.turns import Steps
from moldau.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

SORTED_PER_STEP: Final = 2_000


class TopicPartitions:
    """Describes topics, a page at a time."""

    def __init__(
        self,
        metadata: MetadataCache,
        configs: DynamicConfig,
    ) -> None:
        self._metadata = metadata
        self._configs = configs

    def handle(
        self, request: DescribeTopicPartitionsRequest, context: "RequestContext"
    ) -> DescribeTopicPartitionsResponse | Awaitable[DescribeTopicPartitionsResponse]:
        return context.in_turns(self._pages(request))

    def _pages(
        self, request: DescribeTopicPartitionsRequest
    ) -> Steps[DescribeTopicPartitionsResponse]:
        """One topic per step."""
        wants_all = not request.topics
        image = self._metadata.image
        cursor = request.cursor
        first = cursor.topic_name if cursor is not None else ""
        named: dict[str, None] = {}
        for asked in image.topics_by_name if wants_all else request.topics:
            name = asked if isinstance(asked, str) else asked.name
            if name >= first:
                named[name] = None
            yield
        names = list(named)
        parts = []
        for begin in range(0, len(names), SORTED_PER_STEP):
            parts.append(sorted(names[begin : begin + SORTED_PER_STEP]))
            yield
        response = DescribeTopicPartitionsResponse()
        if cursor is not None and not _is_valid(cursor, wants_all, named):
            for each in request.topics:
                response.topics.append(_failed(each.name, ErrorCode.INVALID_REQUEST))
                yield
            return response

        limit = min(
            self._configs.broker.max_request_partition_size_limit, request.response_partition_limit
        )
        remaining = max(1, limit)
        for name in heapq.merge(*parts):
            yield
            if remaining == 0:
                response.next_cursor = Cursor(topic_name=name, partition_index=0)
                break
            topic = self._metadata.image.topics_by_name.get(name)
            if topic is None:
                if not wants_all:
                    response.topics.append(_failed(name, why_unknown(name)))
                continue
            start = cursor.partition_index if cursor is not None and name == first else 0
            indexes = [index for index in sorted(topic.partitions) if index >= start]
            response.topics.append(_described(topic, indexes[:remaining]))
            if len(indexes) > remaining:
                next_index = indexes[remaining]
                response.next_cursor = Cursor(topic_name=name, partition_index=next_index)
                break
            remaining -= len(indexes)
        return response


def _is_valid(cursor: Cursor, wants_all: bool, asked: dict[str, None]) -> bool:
    """Whether the cursor has a requested topic and a non-negative partition."""
    return cursor.partition_index >= 0 and (wants_all or cursor.topic_name in asked)


def _described(topic: TopicImage, indexes: list[int]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(index, topic.partitions[index]) for index in indexes],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(
    index: int, registration: PartitionRegistration
) -> DescribeTopicPartitionsResponsePartition:
    has_leader = registration.leader >= 0
    return DescribeTopicPartitionsResponsePartition(
        error_code=0 if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=registration.leader,
        leader_epoch=registration.leader_epoch,
        replica_nodes=list(registration.replicas),
        isr_nodes=list(registration.isr),
        eligible_leader_replicas=list(registration.elr),
        last_known_elr=list(registration.last_known_elr),
        offline_replicas=[] if has_leader else list(registration.replicas),
    )


def _failed(name: str, code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )

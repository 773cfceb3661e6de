"""DescribeTopicPartitions: topics in pages, for clusters with many partitions (KIP-966)."""

import heapq
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.handlers.cluster import TOPIC_OPERATIONS, why_unknown
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
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

SORTED_PER_STEP: Final = 2_000


def handle(
    broker: "Broker", request: DescribeTopicPartitionsRequest, context: "RequestContext"
) -> DescribeTopicPartitionsResponse | Awaitable[DescribeTopicPartitionsResponse]:
    return context.in_turns(_pages(broker, request))


def _pages(
    broker: "Broker", request: DescribeTopicPartitionsRequest
) -> Steps[DescribeTopicPartitionsResponse]:
    """One topic per step."""
    wants_all = not request.topics
    names = broker.image.topics_by_name if wants_all else [each.name for each in request.topics]
    cursor = request.cursor
    first = cursor.topic_name if cursor is not None else ""
    asked = list(dict.fromkeys(name for name in names if name >= first))
    yield
    parts = []
    for begin in range(0, len(asked), SORTED_PER_STEP):
        parts.append(sorted(asked[begin : begin + SORTED_PER_STEP]))
        yield
    if cursor is not None and not _is_valid(cursor, wants_all, asked):
        return DescribeTopicPartitionsResponse(
            topics=[_failed(each.name, ErrorCode.INVALID_REQUEST) for each in request.topics]
        )

    limit = min(broker.config.max_request_partition_size_limit, request.response_partition_limit)
    remaining = max(1, limit)
    response = DescribeTopicPartitionsResponse()
    for name in heapq.merge(*parts):
        yield
        if remaining == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = broker.image.topics_by_name.get(name)
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


def _is_valid(cursor: Cursor, wants_all: bool, asked: list[str]) -> bool:
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

"""Requests that name a partition twice, or a limit below zero, are answered as by Apache Kafka.

But for Produce: Apache Kafka drops all but the last batch of a partition and acknowledges.
"""

import uuid

import pytest

from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.batches import batch
from tests.broker.producing import fetch_request, produce_request
from tests.compat.broker_talk import Both, Side

LOWEST = -(1 << 31)
MANY = 1 << 20
# Which partitions are named, with an offset each; one list for each time the topic is named.
NAMED = [
    [[(0, 0), (0, 4)]],
    [[(0, 4), (0, 0)]],
    [[(0, 0), (1, 0), (0, 99)]],
    [[(9, 0), (9, 1)]],
    [[(0, 0)], [(0, 2)]],
    [[(0, 0)], [(1, 0)]],
]

Named = list[list[tuple[int, int]]]


@pytest.fixture
def topic(both: Both) -> str:
    """Six records in one partition, one in the other."""
    name = f"twice-{uuid.uuid4().hex[:8]}"
    both.create(name, 2)
    for _ in range(3):
        both.same(produce_request(name, batch(b"a" * 100, b"b" * 100, timestamp=1000)), 12)
    both.same(produce_request(name, batch(b"c", timestamp=1000), partition=1), 12)
    return name


def fetched(topic: str, named: Named, session_epoch: int, topic_id: bytes) -> FetchRequest:
    topics = [
        FetchTopic(
            topic=topic,
            topic_id=topic_id,
            partitions=[
                FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=MANY)
                for index, offset in each
            ],
        )
        for each in named
    ]
    return FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=MANY, session_epoch=session_epoch, topics=topics
    )


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("session_epoch", [0, -1])
def test_fetches_are_answered_alike(
    both: Both, topic: str, named: Named, session_epoch: int
) -> None:
    def request(side: Side) -> FetchRequest:
        return fetched(topic, named, session_epoch, side.topic_id(topic))

    for version in (4, 12, 16):
        both.same(request, version, "session_id")


@pytest.mark.parametrize("limit", [LOWEST, -1, 0])
@pytest.mark.parametrize("field", ["max_bytes", "partition_max_bytes", "min_bytes", "max_wait_ms"])
def test_limits_below_zero_are_answered_alike(
    both: Both, topic: str, field: str, limit: int
) -> None:
    for offset in (0, 3, 6):
        fields = {"min_bytes": 1, "max_wait_ms": 50, field: limit}
        request = fetch_request(topic, offset, **fields)
        both.same(request, 12)
        size = request.topics[0].partitions[0].partition_max_bytes
        second = FetchPartition(partition=1, fetch_offset=0, partition_max_bytes=size)
        request.topics[0].partitions.append(second)
        both.same(request, 12)


@pytest.mark.parametrize("named", NAMED)
def test_offsets_are_found_alike(both: Both, topic: str, named: Named) -> None:
    times = [
        ListOffsetsTopic(
            name=topic,
            partitions=[ListOffsetsPartition(index, timestamp=time) for index, time in each],
        )
        for each in named
    ]
    epochs = [
        OffsetForLeaderTopic(
            topic=topic,
            partitions=[
                OffsetForLeaderPartition(partition=index, leader_epoch=epoch)
                for index, epoch in each
            ],
        )
        for each in named
    ]
    for version in (1, 4, 10):
        both.same(ListOffsetsRequest(replica_id=-1, topics=times), version)
    both.same(OffsetForLeaderEpochRequest(replica_id=-1, topics=epochs), 4)


@pytest.mark.parametrize("named", NAMED)
def test_records_are_deleted_alike(both: Both, topic: str, named: Named) -> None:
    topics = [
        DeleteRecordsTopic(
            name=topic,
            partitions=[DeleteRecordsPartition(index, offset) for index, offset in each],
        )
        for each in named
    ]
    both.same(DeleteRecordsRequest(topics=topics, timeout_ms=1000), 2)
    # What is left begins where it begins with Apache Kafka.
    both.same(fetch_request(topic, 5), 12)

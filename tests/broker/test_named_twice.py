"""Requests with a duplicate partition: one response, in which the last entry counts."""

from moldau.errors import ErrorCode
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
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.record.header import iter_headers
from tests.broker.batches import batch
from tests.broker.producing import create_topic, produce, read_all, values
from tests.running import WireClient

LATEST, EARLIEST = -1, -2
FULL = 0


def fill(client: WireClient) -> None:
    create_topic(client, "t", partitions=2)
    for value in (b"a", b"b", b"c"):
        produce(client, "t", batch(value))
    produce(client, "t", batch(b"d"), partition=1)


def fetch_topic(*offsets: tuple[int, int]) -> FetchTopic:
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000)
        for index, offset in offsets
    ]
    return FetchTopic(topic="t", partitions=partitions)


def test_a_fetch_reads_from_the_last_offset_that_was_named(client: WireClient) -> None:
    fill(client)
    for topics in (
        [fetch_topic((0, 0), (1, 0), (0, 2))],
        [fetch_topic((0, 0)), fetch_topic((1, 0), (0, 2))],
    ):
        request = FetchRequest(session_epoch=FULL, topics=topics, min_bytes=0)
        (topic,) = client.send(request, 12).responses
        found = [
            (data.partition_index, [header.base_offset for _, header in iter_headers(data.records)])
            for data in topic.partitions
        ]
        assert found == [(0, [2]), (1, [0])]


def test_offsets_asked_for_twice_are_refused_once(client: WireClient) -> None:
    fill(client)
    twice = [ListOffsetsPartition(0, timestamp=LATEST), ListOffsetsPartition(0, timestamp=EARLIEST)]
    other = [ListOffsetsPartition(1, timestamp=LATEST)]
    for parts in ([twice + other], [twice[:1], other + twice[1:]]):
        topics = [ListOffsetsTopic(name="t", partitions=part) for part in parts]
        (topic,) = client.send(ListOffsetsRequest(replica_id=-1, topics=topics), 9).topics
        found = {each.partition_index: (each.error_code, each.offset) for each in topic.partitions}
        assert found == {0: (ErrorCode.INVALID_REQUEST, -1), 1: (0, 1)}
        assert len(topic.partitions) == 2


def test_records_are_deleted_up_to_the_last_offset_that_was_named(client: WireClient) -> None:
    fill(client)
    offsets = [DeleteRecordsPartition(0, offset) for offset in (3, 1)]
    for parts in ([offsets], [offsets[:1], offsets[1:]]):
        topics = [DeleteRecordsTopic(name="t", partitions=part) for part in parts]
        response = client.send(DeleteRecordsRequest(topics=topics, timeout_ms=1000), 2)
        (topic,) = response.topics
        assert [each.low_watermark for each in topic.partitions] == [1]


def test_both_batches_of_a_produce_request_are_kept(client: WireClient) -> None:
    """Apache Kafka acknowledges but keeps only the last, which no client can rely on."""
    create_topic(client, "t")
    data = [PartitionProduceData(index=0, records=batch(value)) for value in (b"a", b"b")]
    topics = [TopicProduceData(name="t", partition_data=data)]
    response = client.send(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 12)
    answers = response.responses[0].partition_responses
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, 0), (0, 1)]
    assert values(read_all(client, "t")) == [b"a", b"b"]

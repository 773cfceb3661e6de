"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers: requests about one log."""

from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
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
from tests.broker.batches import batch, idempotent
from tests.broker.producing import create_topic, fetch, produce, read_all, values
from tests.running import RunningBroker, WireClient

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


def list_offset(client: WireClient, timestamp: int, version: int = 9, **fields: Any) -> Any:
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp, **fields)
    topics = [ListOffsetsTopic(name="t", partitions=[wanted])]
    response = client.send(ListOffsetsRequest(replica_id=-1, topics=topics), version)
    return response.topics[0].partitions[0]


@pytest.fixture
def filled(client: WireClient) -> WireClient:
    """Three batches of one record, with timestamps 1000, 3000 and 2000."""
    create_topic(client, "t")
    for timestamp in (1000, 3000, 2000):
        produce(client, "t", batch(b"%d" % timestamp, timestamp=timestamp))
    return client


@pytest.mark.parametrize("version", range(1, 12))
def test_earliest_and_latest(filled: WireClient, version: int) -> None:
    assert list_offset(filled, EARLIEST, version).offset == 0
    assert list_offset(filled, LATEST, version).offset == 3


def test_an_empty_log_begins_in_the_epoch_of_its_leader(client: WireClient) -> None:
    create_topic(client, "t")
    for timestamp in (EARLIEST, EARLIEST_LOCAL):
        found = list_offset(client, timestamp)
        assert (found.offset, found.leader_epoch) == (0, 0)


@pytest.mark.parametrize(
    "timestamp,expected",
    [(0, (1000, 0)), (1000, (1000, 0)), (1001, (3000, 1)), (3000, (3000, 1)), (3001, (-1, -1))],
)
def test_the_first_record_at_or_after_a_time(
    filled: WireClient, timestamp: int, expected: tuple[int, int]
) -> None:
    found = list_offset(filled, timestamp)
    assert (found.timestamp, found.offset) == expected


def test_the_largest_timestamp_is_found(filled: WireClient) -> None:
    found = list_offset(filled, MAX_TIMESTAMP)
    assert (found.timestamp, found.offset) == (3000, 1)
    assert list_offset(filled, MAX_TIMESTAMP, 6).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_local_and_tiered_offsets_without_tiers(filled: WireClient) -> None:
    assert list_offset(filled, EARLIEST_LOCAL).offset == 0
    assert list_offset(filled, LATEST_TIERED).offset == -1


def test_an_empty_log_has_no_largest_timestamp(client: WireClient) -> None:
    create_topic(client, "t")
    assert list_offset(client, MAX_TIMESTAMP).offset == -1
    assert list_offset(client, 0).offset == -1
    assert list_offset(client, LATEST).offset == 0


def test_a_partition_asked_for_twice_is_an_error(filled: WireClient) -> None:
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=LATEST)] * 2
    topics = [ListOffsetsTopic(name="t", partitions=wanted)]
    response = filled.send(ListOffsetsRequest(replica_id=-1, topics=topics), 9)
    codes = {each.error_code for each in response.topics[0].partitions}
    assert codes == {ErrorCode.INVALID_REQUEST}


def test_a_wrong_leader_epoch_is_refused(filled: WireClient) -> None:
    refused = list_offset(filled, LATEST, current_leader_epoch=9)
    assert refused.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def end_of_epoch(client: WireClient, epoch: int) -> tuple[int, int, int]:
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
    topics = [OffsetForLeaderTopic(topic="t", partitions=[wanted])]
    response = client.send(OffsetForLeaderEpochRequest(topics=topics), 4)
    found = response.topics[0].partitions[0]
    return found.error_code, found.leader_epoch, found.end_offset


def test_an_epoch_ends_where_the_next_begins(broker: RunningBroker, filled: WireClient) -> None:
    assert end_of_epoch(filled, 0) == (0, 0, 3)
    assert end_of_epoch(filled, 9) == (0, -1, -1)
    broker.stop()
    with RunningBroker(broker.data_dir) as again, again.connect() as client:
        produce(client, "t", batch(b"x"))
        newest = list_offset(client, LATEST).leader_epoch
        assert newest > 1
        assert end_of_epoch(client, newest - 1) == (0, 0, 3), "nothing was written in it"
        assert end_of_epoch(client, 0) == (0, 0, 3)
        assert end_of_epoch(client, newest) == (0, newest, 4)


def delete_before(client: WireClient, offset: int) -> tuple[int, int]:
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    topics = [DeleteRecordsTopic(name="t", partitions=[wanted])]
    response = client.send(DeleteRecordsRequest(topics=topics, timeout_ms=1000), 2)
    result = response.topics[0].partitions[0]
    return result.error_code, result.low_watermark


def test_deleted_records_are_gone_for_good(broker: RunningBroker, filled: WireClient) -> None:
    assert delete_before(filled, 2) == (0, 2)
    assert fetch(filled, "t", 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert list_offset(filled, EARLIEST).offset == 2
    assert delete_before(filled, 4) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    broker.stop()
    with RunningBroker(broker.data_dir) as again, again.connect() as client:
        assert list_offset(client, EARLIEST).offset == 2
        assert delete_before(client, -1) == (0, 3)
        produce(client, "t", batch(b"next"))
        data = fetch(client, "t", 3)
        assert (data.error_code, data.log_start_offset) == (0, 3)


def test_records_of_a_compacted_topic_cannot_be_deleted(client: WireClient) -> None:
    create_topic(client, "t", cleanup_policy="compact")
    assert delete_before(client, 0)[0] == ErrorCode.POLICY_VIOLATION


def test_active_producers_are_described(client: WireClient) -> None:
    create_topic(client, "t")
    produce(client, "t", idempotent(77, 0, b"a", b"b"))
    wanted = TopicRequest(name="t", partition_indexes=[0, 1])
    topic = client.send(DescribeProducersRequest(topics=[wanted]), 0).topics[0]
    known, unknown = topic.partitions
    producer = known.active_producers[0]
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (77, 0, 1)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_everything_is_there_after_a_restart(broker: RunningBroker, client: WireClient) -> None:
    create_topic(client, "t")
    for index in range(50):
        produce(client, "t", batch(b"%d" % index))
    broker.stop()
    with RunningBroker(broker.data_dir) as again, again.connect() as reconnected:
        assert values(read_all(reconnected, "t")) == [b"%d" % index for index in range(50)]
        assert produce(reconnected, "t", batch(b"50")).base_offset == 50

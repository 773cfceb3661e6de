"""What a version cannot say is refused, dropped or defaulted as Kafka does it."""

import struct

import pytest

from moldau.ids import NO_UUID
from moldau.protocol.message import PackedRows
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest
from moldau.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Topology,
)
from moldau.protocol.records.client_data import LeaderChangeMessage, Voter
from moldau.protocol.records.group_coordinator import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from moldau.protocol.records.metadata import PartitionChangeRecord
from moldau.protocol.records.offset_commit import OffsetCommitValue
from moldau.protocol.records.transaction_coordinator import TransactionLogValue


def test_a_value_that_the_version_lacks_is_refused_by_name() -> None:
    request = FindCoordinatorRequest(coordinator_keys=["a"])
    with pytest.raises(ValueError, match=r"coordinator_keys.*version 3"):
        request.encode(3)


def test_a_default_that_the_version_lacks_is_left_out() -> None:
    assert FindCoordinatorRequest(key="g").encode(0) == b"\x00\x01g"


def test_an_ignorable_value_that_the_version_lacks_is_dropped() -> None:
    with_rack = FetchRequest(rack_id="r", max_wait_ms=5)
    assert with_rack.encode(10) == FetchRequest(max_wait_ms=5).encode(10)


def test_a_null_is_refused_where_the_version_allows_none() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
    with pytest.raises(ValueError, match=r"MetadataRequestTopic\.name.*version 9"):
        request.encode(9)
    assert request.encode(10)


@pytest.mark.parametrize("count", [1, 3, 200])
@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_what_is_packed_is_written_as_its_items_are(version: int, count: int) -> None:
    items = [AbortedTransaction(1 << 40 | each, each - 100) for each in range(count)]
    one_by_one = PartitionData(aborted_transactions=items, records=b"records")
    packed = PartitionData(aborted_transactions=[], records=b"records")
    rows = b"".join(
        b"__" + struct.pack(">qq", each.producer_id, each.first_offset) + b"____" for each in items
    )
    packed.packed_aborted_transactions = PackedRows(rows, row_bytes=22, at=2)
    written = [response_of(each).encode(version) for each in (one_by_one, packed)]
    assert written[0] == written[1]


@pytest.mark.parametrize("count", [1, 3, 200])
@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_what_can_be_packed_is_decoded_when_it_is_read(version: int, count: int) -> None:
    items = [AbortedTransaction(1 << 40 | each, each - 100) for each in range(count)]
    sent = response_of(PartitionData(aborted_transactions=items, records=b"records"))
    frame = sent.encode(version)

    received, _ = FetchResponse.decode(frame, 0, version)
    data = received.responses[0].partitions[0]
    assert data.packed_aborted_transactions is not None
    assert received.encode(version) == frame
    assert data.packed_aborted_transactions is not None, "encoding does not unpack it"
    assert data.aborted_transactions == items
    assert data.aborted_transactions is data.aborted_transactions
    assert received == sent
    assert received.encode(version) == frame

    data.aborted_transactions = None
    again, _ = FetchResponse.decode(received.encode(version), 0, version)
    assert again.responses[0].partitions[0].aborted_transactions is None


def test_items_with_tags_that_nobody_knows_are_not_packed() -> None:
    items = [AbortedTransaction(7, 5), AbortedTransaction(8, 6)]
    sent = response_of(PartitionData(aborted_transactions=items, records=b"records"))
    first, second = (struct.pack(">qqb", each.producer_id, each.first_offset, 0) for each in items)
    # One tag, number 9, of two bytes.
    tagged = first[:-1] + b"\x01\x09\x02ab"
    frame = sent.encode(12)
    assert frame.count(first + second) == 1
    received, end = FetchResponse.decode(frame.replace(first + second, tagged + second), 0, 12)
    assert received == sent
    assert end == len(frame) + 4


def response_of(data: PartitionData) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[data])])


def test_null_and_empty_arrays_differ() -> None:
    assert MetadataRequest(topics=None).encode(1) == b"\xff\xff\xff\xff"
    assert MetadataRequest(topics=[]).encode(1) == b"\x00\x00\x00\x00"
    assert MetadataRequest().topics == []
    assert (
        OffsetFetchRequest.decode(OffsetFetchRequest(topics=None).encode(5), 0, 5)[0].topics is None
    )


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="ProduceResponse has no version 14"):
        ProduceResponse().encode(14)
    with pytest.raises(ValueError, match="ProduceResponse has no version 2"):
        ProduceResponse().encode(2)


def test_a_tagged_struct_of_defaults_is_not_sent_and_reads_as_none() -> None:
    def response(leader: LeaderIdAndEpoch | None) -> bytes:
        partition = PartitionProduceResponse(current_leader=leader)
        topic = TopicProduceResponse(partition_responses=[partition])
        return ProduceResponse(responses=[topic]).encode(10)

    assert response(LeaderIdAndEpoch()) == response(None)
    decoded, _ = ProduceResponse.decode(response(LeaderIdAndEpoch(3, 4)), 0, 10)
    assert decoded.responses[0].partition_responses[0].current_leader == LeaderIdAndEpoch(3, 4)
    decoded, _ = ProduceResponse.decode(response(None), 0, 10)
    assert decoded.responses[0].partition_responses[0].current_leader is None


def test_a_null_struct_is_a_signed_byte_in_the_body() -> None:
    with_topology = StreamsGroupHeartbeatRequest(topology=Topology())
    without = StreamsGroupHeartbeatRequest()
    position = len(without.encode(0)) - 11
    assert without.encode(0)[position] == 0xFF
    assert with_topology.encode(0)[position] == 1


def test_a_null_struct_is_a_varint_among_the_tags() -> None:
    assert ConsumerGroupMemberMetadataValue(classic_member_metadata=None).encode(0)[-4:] == bytes(
        (1, 0, 1, 0)
    )
    value = ConsumerGroupMemberMetadataValue()
    assert value.classic_member_metadata == ClassicMemberMetadata()
    assert value.encode(0)[-1] == 0


def test_tags_are_written_in_their_order_and_not_in_that_of_the_fields() -> None:
    record = PartitionChangeRecord(directories=[NO_UUID], last_known_elr=[1])
    tags = record.encode(2)[20:]
    assert tags[:2] == bytes((2, 7))
    assert bytes((8, 17, 2)) in tags


def test_a_tag_of_a_later_version_is_refused_in_an_earlier_one() -> None:
    with pytest.raises(ValueError, match="directories"):
        PartitionChangeRecord(directories=[NO_UUID]).encode(0)
    with pytest.raises(ValueError, match="next_producer_id"):
        TransactionLogValue(next_producer_id=5).encode(0)


def test_a_field_may_live_in_versions_from_the_middle() -> None:
    value = OffsetCommitValue(offset=1, metadata="", expire_timestamp=9)
    assert len(value.encode(1)) == 8 + 2 + 8 + 8
    assert len(value.encode(2)) == 8 + 2 + 8


def test_a_field_named_version_is_told_from_the_version_of_the_message() -> None:
    message = LeaderChangeMessage(version=7, leader_id=1, voters=[Voter(1)])
    assert LeaderChangeMessage.decode(message.encode(0), 0, 0)[0].version == 7


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1])
def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="i32"):
        FetchRequest(max_wait_ms=number).encode(4)


def test_a_string_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="32768"):
        FindCoordinatorRequest(key="x" * 32768).encode(0)


def test_messages_show_their_fields() -> None:
    assert repr(LeaderIdAndEpoch(3, 4)) == "LeaderIdAndEpoch(leader_id=3, leader_epoch=4)"
    assert LeaderIdAndEpoch(3, 4) != LeaderIdAndEpoch(3, 5)
    assert LeaderIdAndEpoch(3, 4) != (3, 4)

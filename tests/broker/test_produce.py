"""Produce, as a client sees it."""

import struct

import pytest

from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.record.compression import Codec
from tests.broker.batches import batch, idempotent
from tests.broker.producing import create_topic, produce, produce_request, read_all, values
from tests.broker.transactional import transactional
from tests.running import RunningBroker, WireClient

EVERY_VERSION_WITH_NAMES = range(3, 13)


@pytest.mark.parametrize("version", EVERY_VERSION_WITH_NAMES)
def test_a_batch_is_appended_and_read_back(client: WireClient, version: int) -> None:
    create_topic(client, "t")
    first = produce(client, "t", batch(b"a", b"b"), version=version)
    second = produce(client, "t", batch(b"c"), version=version)
    assert (first.error_code, first.base_offset, second.base_offset) == (0, 0, 2)
    assert values(read_all(client, "t")) == [b"a", b"b", b"c"]


def test_a_topic_can_be_named_by_its_id(client: WireClient) -> None:
    create_topic(client, "t")
    metadata = client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
    topic_id = metadata.topics[0].topic_id
    assert topic_id != NO_UUID
    data = PartitionProduceData(index=0, records=batch(b"x"))
    topic = TopicProduceData(topic_id=topic_id, partition_data=[data])
    response = client.send(ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic]), 13)
    assert response.responses[0].topic_id == topic_id
    assert response.responses[0].partition_responses[0].error_code == 0
    topic.topic_id = bytes(range(16))
    response = client.send(ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic]), 13)
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_batch_waits_for_the_log_of_its_new_partition(broker: RunningBroker) -> None:
    """Refused, it could come after the next one, which a new log takes for the first."""
    partitions = 200
    topic = CreatableTopic(name="t", num_partitions=partitions, replication_factor=1)
    with broker.connect() as admin, broker.connect() as producer:
        admin.post(CreateTopicsRequest(topics=[topic]), 7)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        while code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            code = produce(producer, "t", batch(b"x"), partition=partitions - 1).error_code
    assert code == ErrorCode.NONE


def test_acks_zero_has_no_answer_but_keeps_its_place(client: WireClient) -> None:
    create_topic(client, "t")
    client.post(produce_request("t", batch(b"quiet"), acks=0), 9)
    assert produce(client, "t", batch(b"loud")).base_offset == 1


def test_acks_zero_that_fails_closes_the_connection(client: WireClient) -> None:
    client.post(produce_request("nowhere", batch(b"x"), acks=0), 9)
    assert client.is_closed_by_peer()


@pytest.mark.parametrize("acks", [2, -2, 7])
def test_acks_must_be_minus_one_zero_or_one(client: WireClient, acks: int) -> None:
    create_topic(client, "t")
    assert (
        produce(client, "t", batch(b"x"), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    )


def test_an_unknown_topic_or_partition_is_named(client: WireClient) -> None:
    create_topic(client, "t")
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(client, "nowhere", batch(b"x")).error_code == unknown
    assert produce(client, "t", batch(b"x"), partition=1).error_code == unknown


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_comes_back_as_it_was_sent(client: WireClient, codec: Codec) -> None:
    create_topic(client, "t")
    sent = [b"%d" % i * 50 for i in range(20)]
    assert produce(client, "t", batch(*sent, codec=codec)).error_code == 0
    assert values(read_all(client, "t")) == sent


def test_zstd_needs_version_seven(client: WireClient) -> None:
    create_topic(client, "t")
    refused = produce(client, "t", batch(b"x", codec=Codec.ZSTD), version=6)
    assert refused.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_damaged_batch_is_refused_and_harms_nobody(client: WireClient) -> None:
    create_topic(client, "t")
    damaged = bytearray(batch(b"hello"))
    damaged[-3] ^= 0x40
    assert produce(client, "t", bytes(damaged)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert produce(client, "t", batch(b"fine")).base_offset == 0


@pytest.mark.parametrize("records", [None, b"", b"\0" * 20])
def test_no_batch_at_all_is_refused(client: WireClient, records: bytes | None) -> None:
    create_topic(client, "t")
    assert produce(client, "t", records).error_code == ErrorCode.INVALID_RECORD


def test_two_batches_in_one_request_are_refused(client: WireClient) -> None:
    create_topic(client, "t")
    assert produce(client, "t", batch(b"a") + batch(b"b")).error_code == ErrorCode.INVALID_RECORD


def test_control_batches_are_refused(client: WireClient) -> None:
    create_topic(client, "t")
    control = batch(b"x", key=struct.pack(">hh", 0, 1), is_control=True)
    assert produce(client, "t", control).error_code == ErrorCode.INVALID_RECORD


def test_a_transactional_batch_without_a_transactional_id_is_refused(client: WireClient) -> None:
    create_topic(client, "t")
    refused = produce(client, "t", transactional(1, 0, b"x"))
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert values(read_all(client, "t")) == []


def test_a_batch_over_max_message_bytes_is_refused(client: WireClient) -> None:
    create_topic(client, "t", max_message_bytes="1000")
    assert produce(client, "t", batch(b"x" * 1000)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(client, "t", batch(b"x" * 800)).error_code == 0


def test_a_timestamp_out_of_bounds_names_the_record(client: WireClient) -> None:
    create_topic(client, "t", message_timestamp_before_max_ms="60000")
    refused = produce(client, "t", batch(b"old", timestamp=1_000))
    assert refused.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.record_errors] == [0]


def test_log_append_time_stamps_the_batch(client: WireClient) -> None:
    create_topic(client, "t", message_timestamp_type="LogAppendTime")
    answer = produce(client, "t", batch(b"x", timestamp=1_000))
    assert answer.log_append_time_ms > 1_000
    assert read_all(client, "t")[0].timestamp == answer.log_append_time_ms


def test_internal_topics_are_not_for_producers(client: WireClient) -> None:
    unknown = produce(client, "__consumer_offsets", batch(b"x"))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
    refused = produce(client, "__consumer_offsets", batch(b"x"))
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("acks", [-1, 1])
def test_a_lone_replica_need_not_have_others_in_sync(client: WireClient, acks: int) -> None:
    create_topic(client, "t", min_insync_replicas="2")
    assert produce(client, "t", batch(b"x"), acks=acks).error_code == 0


def test_too_few_replicas_in_sync_refuse_acks_all_only(
    broker: RunningBroker, client: WireClient
) -> None:
    create_topic(client, "t", min_insync_replicas="2")

    async def lose_a_follower() -> None:
        partition = broker.node.broker.replicas.partition("t", 0)
        partition.update(PartitionRegistration((1, 2), (NO_UUID, NO_UUID), (1,), leader=1))

    broker.call(lose_a_follower())
    assert produce(client, "t", batch(b"x")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce(client, "t", batch(b"x"), acks=1).error_code == 0


def test_what_a_log_refuses_is_answered_with_its_start(client: WireClient) -> None:
    create_topic(client, "t", cleanup_policy="compact")
    create_topic(client, "small", max_message_bytes="100")
    produce(client, "t", idempotent(7, 0, b"", key=b"k"))
    keyless = produce(client, "t", batch(b"x"))
    assert (keyless.error_code, keyless.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)
    gap = produce(client, "t", idempotent(7, 5, b"", key=b"k"))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert gap.log_start_offset == 0
    large = produce(client, "small", batch(b"x" * 100))
    assert (large.error_code, large.log_start_offset) == (ErrorCode.MESSAGE_TOO_LARGE, -1)


@pytest.mark.parametrize(
    "request_",
    [
        InitProducerIdRequest(transactional_id=None, producer_id=5),
        InitProducerIdRequest(transactional_id=None, producer_epoch=5),
        InitProducerIdRequest(transactional_id=""),
    ],
)
def test_an_odd_request_for_a_producer_id_gets_none(
    client: WireClient, request_: InitProducerIdRequest
) -> None:
    refused = client.send(request_, 5)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert (refused.producer_id, refused.producer_epoch) == (-1, -1)


class TestIdempotence:
    """Sequences are checked per producer and partition (KIP-98)."""

    @pytest.fixture
    def producer_id(self, client: WireClient) -> int:
        create_topic(client, "t")
        answer = client.send(InitProducerIdRequest(transactional_id=None), 5)
        assert (answer.error_code, answer.producer_epoch) == (0, 0)
        return int(answer.producer_id)

    def test_every_producer_gets_an_id_of_its_own(
        self, client: WireClient, producer_id: int
    ) -> None:
        ids = {
            client.send(InitProducerIdRequest(transactional_id=None), 5).producer_id
            for _ in range(1100)
        }
        assert len(ids | {producer_id}) == 1101, "also across the end of a block"

    def test_the_last_five_batches_may_be_sent_again(
        self, client: WireClient, producer_id: int
    ) -> None:
        for sequence in range(6):
            produce(client, "t", idempotent(producer_id, sequence, b"%d" % sequence))
        for sequence in range(1, 6):
            again = produce(client, "t", idempotent(producer_id, sequence, b"%d" % sequence))
            assert (again.error_code, again.base_offset) == (0, sequence)
        too_old = produce(client, "t", idempotent(producer_id, 0, b"0"))
        assert too_old.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER or (
            too_old.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        )
        assert len(read_all(client, "t")) == 6

    def test_a_gap_is_refused(self, client: WireClient, producer_id: int) -> None:
        produce(client, "t", idempotent(producer_id, 0, b"a"))
        gap = produce(client, "t", idempotent(producer_id, 2, b"c"))
        assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_an_old_epoch_is_fenced(self, client: WireClient, producer_id: int) -> None:
        produce(client, "t", idempotent(producer_id, 0, b"a", epoch=1))
        fenced = produce(client, "t", idempotent(producer_id, 1, b"b", epoch=0))
        assert fenced.error_code == ErrorCode.INVALID_PRODUCER_EPOCH

    def test_sequences_survive_a_restart(
        self, broker: RunningBroker, client: WireClient, producer_id: int
    ) -> None:
        produce(client, "t", idempotent(producer_id, 0, b"a"))
        broker.stop()
        with RunningBroker(broker.data_dir) as again, again.connect() as reconnected:
            repeated = produce(reconnected, "t", idempotent(producer_id, 0, b"a"))
            assert (repeated.error_code, repeated.base_offset) == (0, 0)
            gap = produce(reconnected, "t", idempotent(producer_id, 5, b"x"))
            assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert values(read_all(reconnected, "t")) == [b"a"]

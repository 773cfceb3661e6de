"""Reading from anywhere."""

from collections.abc import Callable

import pytest

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.producer import Producer
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.records import BatchBuilder


@pytest.fixture
def topic(bootstrap: str, new_topic: Callable[[], str]) -> str:
    """Ten records a second apart in partition 0, in batches of one."""
    name = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(name, 2)
    with Producer(bootstrap, linger_ms=0) as producer:
        for number in range(10):
            producer.send(
                name, b"%d" % number, partition=0, timestamp=1_700_000_000_000 + 1000 * number
            )
            producer.flush()
    return name


def values(consumer: Consumer, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        came = consumer.poll(10)
        assert came
        found += [record.value for record in came]
    return found


def test_reading_begins_at_the_offset_asked_for(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(topic, 0): 7})
        assert values(consumer, 3) == [b"7", b"8", b"9"]
        assert consumer.positions == {TopicPartition(topic, 0): 10}
        assert consumer.high_watermarks == {TopicPartition(topic, 0): 10}
        consumer.seek(TopicPartition(topic, 0), 9)
        assert values(consumer, 1) == [b"9"]


def test_an_offset_inside_a_batch_skips_what_is_before_it(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    name = new_topic()
    with Producer(bootstrap, linger_ms=60_000) as producer:
        for number in range(10):
            producer.send(name, b"%d" % number)
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(name, 0): 6})
        assert values(consumer, 4) == [b"6", b"7", b"8", b"9"]


def test_times_become_offsets(bootstrap: str, topic: str) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with Consumer(bootstrap) as consumer:
        assert consumer.partitions_of(topic) == [first, second]
        assert consumer.offsets_at({first: 1_700_000_004_500}) == {first: 5}
        assert consumer.offsets_at({first: 1_900_000_000_000}) == {first: 10}
        assert consumer.offsets_at({first: EARLIEST, second: LATEST}) == {first: 0, second: 0}


def test_nothing_new_is_waited_for_and_no_longer(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 0})
        assert consumer.poll(0.05) == []
        with Producer(bootstrap) as producer:
            producer.send(topic, b"new", partition=1)
        (record,) = consumer.poll(10)
        assert (record.partition, record.offset, record.value) == (1, 0, b"new")
        assert record.leader_epoch == 0


def test_without_partitions_there_is_nothing_to_wait_for(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(topic, 0): 0})
        consumer.unassign(TopicPartition(topic, 0))
        assert consumer.poll(60) == []


def test_an_offset_that_is_not_there_names_the_range(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(topic, 0): 99})
        with pytest.raises(ApiError, match="begins at 0 and ends before 10") as caught:
            consumer.poll(10)
        assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_offset_that_is_not_there_may_be_reset(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign({TopicPartition(topic, 0): 99})
        assert values(consumer, 1)[0] == b"0"


def test_small_limits_still_bring_everything(bootstrap: str, topic: str) -> None:
    with Consumer(bootstrap, max_bytes=1, max_partition_bytes=1) as consumer:
        consumer.assign({TopicPartition(topic, 0): 0})
        assert values(consumer, 10) == [b"%d" % number for number in range(10)]


def test_append_time_is_told_apart(bootstrap: str, new_topic: Callable[[], str]) -> None:
    name = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(name, configs={"message.timestamp.type": "LogAppendTime"})
    with Producer(bootstrap) as producer:
        delivery = producer.send(name, b"x", timestamp=5)
    with Consumer(bootstrap) as consumer:
        consumer.assign({TopicPartition(name, 0): 0})
        (record,) = consumer.poll(10)
    assert record.is_log_append_time
    assert record.timestamp == delivery.timestamp > 1_600_000_000_000


def test_a_topic_that_does_not_exist_is_named(bootstrap: str) -> None:
    with Consumer(bootstrap) as consumer, pytest.raises(ApiError, match="nope does not exist"):
        consumer.partitions_of("nope")


def test_a_wrong_reset_is_refused() -> None:
    with pytest.raises(ValueError, match="earliest, latest or none"):
        Consumer("localhost:1", auto_offset_reset="sometimes")


def transactional(offset: int, producer_id: int, value: bytes) -> bytes:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    builder.append(0, None, value)
    return builder.build()


@pytest.mark.parametrize(
    ("read_committed", "expected"),
    [(True, [b"kept", b"later", b"plain"]), (False, [b"lost", b"kept", b"later", b"plain"])],
)
def test_markers_are_never_shown_and_aborted_records_only_if_wanted(
    read_committed: bool, expected: list[bytes]
) -> None:
    plain = BatchBuilder(base_offset=6)
    plain.append(0, None, b"plain")
    batches = [
        transactional(0, 1, b"lost"),
        transactional(1, 2, b"kept"),
        end_txn_batch(ControlType.ABORT, 0, 1, 0, 0, base_offset=2),
        end_txn_batch(ControlType.COMMIT, 0, 2, 0, 0, base_offset=3),
        transactional(4, 1, b"later"),
        end_txn_batch(ControlType.COMMIT, 0, 1, 0, 0, base_offset=5),
        plain.build(),
        end_txn_batch(ControlType.COMMIT, 0, 1, 0, 0, base_offset=7),
    ]
    aborted = [AbortedTransaction(producer_id=1, first_offset=0)] if read_committed else None
    data = PartitionData(
        partition_index=0,
        high_watermark=8,
        aborted_transactions=aborted,
        records=memoryview(b"".join(batches)),
    )
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])
    consumer = Consumer("localhost:1", read_committed=read_committed)
    consumer._positions = {TopicPartition("t", 0): 0}
    assert [record.value for record in consumer._take([response])] == expected
    assert consumer.positions == {TopicPartition("t", 0): 8}

"""Batches that were encoded elsewhere, through the sender."""

import time
from collections.abc import Callable

import pytest

from moldau.client.admin import Admin
from moldau.client.batches import EncodedBatch
from moldau.client.cluster import Cluster
from moldau.client.producer_identity import ProducerIdentity
from moldau.client.sender import Sender
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder
from tests.client.reading import read_all

Outcome = list[ApiError | None]
NewPartition = Callable[..., TopicPartition]


@pytest.fixture
def new_partition(bootstrap: str, new_topic: Callable[[], str]) -> NewPartition:
    """Creates a topic with one partition and optional settings."""

    def create(configs: dict[str, str] | None = None) -> TopicPartition:
        topic = new_topic()
        with Admin(bootstrap) as admin:
            admin.create_topic(topic, 1, configs=configs)
        return TopicPartition(topic, 0)

    return create


def values_in(bootstrap: str, target: TopicPartition, count: int) -> list[bytes | None]:
    return [record.value for record in read_all(bootstrap, target.topic, count)]


def encoded(target: TopicPartition, values: list[bytes], outcomes: Outcome) -> EncodedBatch:
    builder = BatchBuilder()
    for number, value in enumerate(values):
        builder.append(1000 + number, None, value, [("h", b"x")])
    return EncodedBatch(
        target,
        time.monotonic(),
        builder.build()[BATCH_HEADER_SIZE:],
        count=len(values),
        base_timestamp=1000,
        max_timestamp=1000 + len(values) - 1,
        on_done=lambda _, error: outcomes.append(error),
    )


def test_batches_arrive_in_order_and_once_however_often_the_connection_breaks(
    bootstrap: str, new_partition: NewPartition
) -> None:
    target = new_partition()
    outcomes: Outcome = []
    values = [[b"%d-%d" % (batch, number) for number in range(3)] for batch in range(20)]
    with Cluster(bootstrap) as cluster:
        sender = Sender(cluster, ProducerIdentity())
        for number, each in enumerate(values):
            sender.add(encoded(target, each, outcomes))
            sender.send_ready()
            if number % 7 == 3:
                cluster.close()
        sender.flush()
    assert outcomes == [None] * 20
    assert values_in(bootstrap, target, 60) == [value for each in values for value in each]


def test_the_first_batch_of_a_partition_is_there_before_the_second_leaves(
    bootstrap: str, new_partition: NewPartition
) -> None:
    target = new_partition()
    outcomes: Outcome = []
    with Cluster(bootstrap) as cluster:
        sender = Sender(cluster, ProducerIdentity())
        for value in (b"first", b"second", b"third"):
            sender.add(encoded(target, [value], outcomes))
        sender.send_ready()
        # The others are in flight together, without waiting for each other.
        assert outcomes == [None]
        sender.flush()
    assert outcomes == [None, None, None]


def test_a_batch_that_is_too_large_is_halved_until_it_fits(
    bootstrap: str, new_partition: NewPartition
) -> None:
    target = new_partition({"max.message.bytes": "300"})
    outcomes: Outcome = []
    values = [bytes([number]) * 50 for number in range(16)]
    with Cluster(bootstrap) as cluster:
        sender = Sender(cluster, ProducerIdentity())
        sender.add(encoded(target, values, outcomes))
        sender.flush()
    assert set(outcomes) == {None}
    assert values_in(bootstrap, target, 16) == values


def test_one_record_that_is_too_large_fails_with_the_broker_s_reason(
    bootstrap: str, new_partition: NewPartition
) -> None:
    target = new_partition({"max.message.bytes": "300"})
    outcomes: Outcome = []
    with Cluster(bootstrap) as cluster:
        sender = Sender(cluster, ProducerIdentity())
        sender.add(encoded(target, [b"x" * 500], outcomes))
        sender.flush()
        sender.add(encoded(target, [b"small"], outcomes))
        sender.flush()
    failed, passed = outcomes
    assert failed is not None
    assert failed.code is ErrorCode.MESSAGE_TOO_LARGE
    assert passed is None


def test_halves_share_the_place_in_the_sequence_of_the_whole() -> None:
    batch = encoded(TopicPartition("t", 0), [b"a", b"b", b"c"], [])
    batch.base_sequence = 0x7FFFFFFF
    first, second = batch.halves()
    assert (first.count, first.base_sequence) == (1, 0x7FFFFFFF)
    assert (second.count, second.base_sequence) == (2, 0)


def test_what_is_abandoned_does_not_disturb_what_comes_after(
    bootstrap: str, new_partition: NewPartition
) -> None:
    target = new_partition()
    outcomes: Outcome = []
    with Cluster(bootstrap) as cluster:
        sender = Sender(cluster, None)
        sender.add(encoded(target, [b"under way"], outcomes))
        sender.send_ready()
        sender.abandon()
        assert sender.is_idle
        assert outcomes == []
        sender.add(encoded(target, [b"next"], outcomes))
        sender.flush()
    assert outcomes == [None]

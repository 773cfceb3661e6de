"""Our client's transactions on Apache Kafka, read back by somebody else's consumer."""

import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer
from tools.brokers import Broker

from moldau.client.admin import Admin
from moldau.client.batches import EncodedBatch
from moldau.client.cluster import Cluster
from moldau.client.group_admin import GroupAdmin
from moldau.client.group_offsets import CommittedOffset
from moldau.client.sender import Sender
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder

TIMEOUT_MS = 60_000


@pytest.fixture
def cluster(apache_kafka: Broker, topic: str) -> Iterator[Cluster]:
    with Admin(apache_kafka.bootstrap) as admin:
        # Its records are of 1970, and would go with the next look at what is too old.
        admin.create_topic(topic, 2, configs={"retention.ms": "-1"})
    with Cluster(apache_kafka.bootstrap) as running:
        yield running


def write(cluster: Cluster, identity: TransactionIdentity, topic: str, *values: bytes) -> None:
    """Each value to both partitions, in batches of their own."""
    targets = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    Transactions(cluster).add_partitions(identity, targets)
    errors: list[ApiError] = []
    sender = Sender(cluster, identity.producer())
    for value in values:
        builder = BatchBuilder()
        builder.append(1000, None, value)
        for target in targets:
            batch = EncodedBatch(
                target,
                time.monotonic(),
                builder.build()[BATCH_HEADER_SIZE:],
                count=1,
                base_timestamp=1000,
                max_timestamp=1000,
                on_done=lambda _, error: errors.append(error) if error else None,
            )
            sender.add(batch)
        sender.send_ready()
    sender.flush()
    for error in errors:
        raise error


def read(cluster: Cluster, topic: str, last: bytes) -> list[bytes | None]:
    """What was committed, until ``last`` has come from both partitions."""
    host, port = cluster.bootstrap[0]
    consumer = Consumer(
        {
            "bootstrap.servers": f"{host}:{port}",
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    found: list[bytes | None] = []
    deadline = time.monotonic() + 60
    try:
        while found.count(last) < 2:
            assert time.monotonic() < deadline, found
            found += [message.value() for message in consumer.consume(100, 0.5)]
    finally:
        consumer.close()
    return found


def test_what_was_committed_is_read_and_what_was_aborted_is_not(
    cluster: Cluster, topic: str
) -> None:
    transactions = Transactions(cluster)
    identity = TransactionIdentity(f"id-of-{topic}")
    for number in range(6):
        identity = transactions.begin(identity, TIMEOUT_MS)
        write(cluster, identity, topic, b"%d" % number, b"%d again" % number)
        transactions.end(identity, is_committed=number % 2 == 0)
        # An answer that was lost is asked for again.
        transactions.end(identity, is_committed=number % 2 == 0)
    identity = transactions.begin(identity, TIMEOUT_MS)
    write(cluster, identity, topic, b"end")
    transactions.end(identity, is_committed=True)
    expected = [b"0", b"0 again", b"2", b"2 again", b"4", b"4 again", b"end"]
    assert sorted(value or b"" for value in read(cluster, topic, b"end")) == sorted(expected * 2)


def test_whoever_is_taken_over_cannot_write_any_more(cluster: Cluster, topic: str) -> None:
    transactions = Transactions(cluster)
    name = TransactionIdentity(f"id-of-{topic}")
    zombie = transactions.begin(name, TIMEOUT_MS)
    write(cluster, zombie, topic, b"of the dead")
    # Takes over, which aborts what is open.
    heir = transactions.begin(name, TIMEOUT_MS)
    for attempt in (
        lambda: write(cluster, zombie, topic, b"too late"),
        lambda: transactions.end(zombie, is_committed=True),
        lambda: transactions.begin(zombie, TIMEOUT_MS),
    ):
        with pytest.raises(ApiError) as refused:
            attempt()
        assert refused.value.code is ErrorCode.PRODUCER_FENCED
    write(cluster, heir, topic, b"of the heir")
    transactions.end(heir, is_committed=True)
    assert read(cluster, topic, b"of the heir") == [b"of the heir"] * 2


def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    cluster: Cluster, topic: str
) -> None:
    transactions = Transactions(cluster)
    identity = TransactionIdentity(f"id-of-{topic}")
    group, partition = f"group-of-{topic}", TopicPartition(topic, 0)
    for offset, is_committed in ((7, True), (8, False)):
        identity = transactions.begin(identity, TIMEOUT_MS)
        transactions.commit_offsets(identity, group, {partition: CommittedOffset(offset)})
        transactions.end(identity, is_committed=is_committed)
    # The next one begins when the last has ended everywhere.
    transactions.begin(identity, TIMEOUT_MS)
    assert GroupAdmin(cluster).offsets(group)[partition].offset == 7

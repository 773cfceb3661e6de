"""Our client's transactions, in both protocols, read back by somebody else's consumer."""

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
from moldau.client.group_consumer import GroupConsumer
from moldau.client.group_offsets import CommittedOffset
from moldau.client.producer import Producer
from moldau.client.sender import Sender
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder

TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def bootstrap(transaction_broker: Broker) -> str:
    return transaction_broker.bootstrap


@pytest.fixture(params=[1, 2], ids=["TV1", "TV2"])
def level(request: pytest.FixtureRequest) -> int:
    """The protocol before KIP-890, and with it."""
    number: int = request.param
    return number


@pytest.fixture
def cluster(bootstrap: str, topic: str) -> Iterator[Cluster]:
    with Admin(bootstrap) as admin:
        # Its records are of 1970, and would go with the next look at what is too old.
        admin.create_topic(topic, 2, configs={"retention.ms": "-1"})
    with Cluster(bootstrap) as running:
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
    deadline = time.monotonic() + 180
    try:
        while found.count(last) < 2:
            assert time.monotonic() < deadline, found
            found += [message.value() for message in consumer.consume(100, 0.5)]
    finally:
        consumer.close()
    return found


def test_what_was_committed_is_read_and_what_was_aborted_is_not(
    cluster: Cluster, topic: str, level: int
) -> None:
    transactions = Transactions(cluster, level)
    identity = TransactionIdentity(f"id-of-{topic}")
    identity = transactions.begin(identity, TIMEOUT_MS)
    for number in range(6):
        write(cluster, identity, topic, b"%d" % number, b"%d again" % number)
        ended = transactions.end(identity, is_committed=number % 2 == 0)
        # An answer that was lost is asked for again.
        assert transactions.end(identity, is_committed=number % 2 == 0) == ended
        identity = transactions.next(ended, TIMEOUT_MS)
    write(cluster, identity, topic, b"end")
    transactions.end(identity, is_committed=True)
    expected = [b"0", b"0 again", b"2", b"2 again", b"4", b"4 again", b"end"]
    assert sorted(value or b"" for value in read(cluster, topic, b"end")) == sorted(expected * 2)


def test_whoever_is_taken_over_cannot_write_any_more(
    cluster: Cluster, topic: str, level: int
) -> None:
    transactions = Transactions(cluster, level)
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
        assert refused.value.code in (
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.INVALID_PRODUCER_EPOCH,
        )
    write(cluster, heir, topic, b"of the heir")
    transactions.end(heir, is_committed=True)
    assert read(cluster, topic, b"of the heir") == [b"of the heir"] * 2


def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    cluster: Cluster, topic: str, level: int
) -> None:
    transactions = Transactions(cluster, level)
    identity = TransactionIdentity(f"id-of-{topic}")
    group, partition = f"group-of-{topic}", TopicPartition(topic, 0)
    identity = transactions.begin(identity, TIMEOUT_MS)
    for offset, is_committed in ((7, True), (8, False)):
        transactions.commit_offsets(identity, group, {partition: CommittedOffset(offset)})
        ended = transactions.end(identity, is_committed=is_committed)
        identity = transactions.next(ended, TIMEOUT_MS)
    # The next one begins when the last has ended everywhere.
    transactions.begin(identity, TIMEOUT_MS)
    assert GroupAdmin(cluster).offsets(group)[partition].offset == 7


def test_a_producer_of_the_one_protocol_takes_over_from_one_of_the_other(
    cluster: Cluster, bootstrap: str, topic: str, level: int
) -> None:
    name = f"id-of-{topic}"
    with (
        Producer(bootstrap, transactional_id=name, max_transaction_version=3 - level) as old,
        Producer(bootstrap, transactional_id=name, max_transaction_version=level) as new,
    ):
        with old.transaction():
            old.send(topic, b"old", partition=0)
        old.begin_transaction()
        old.send(topic, b"never seen", partition=0)
        old.flush()
        with new.transaction():
            new.send(topic, b"new", partition=0)
            new.send(topic, b"end", partition=0)
            new.send(topic, b"end", partition=1)
        with pytest.raises(ApiError, match="another producer uses the same transactional_id"):
            old.commit_transaction()
    found = read(cluster, topic, b"end")
    assert sorted(value or b"" for value in found) == [b"end", b"end", b"new", b"old"]


def test_records_are_read_processed_and_written_each_once(
    cluster: Cluster, bootstrap: str, topic: str, level: int
) -> None:
    """Every second attempt fails after it has written: it is aborted, and read again."""
    source, group = f"{topic}-source", f"group-of-{topic}"
    with Producer(bootstrap) as feed:
        for number in range(20):
            feed.send(source, b"%d" % number)
    name = f"id-of-{topic}"
    done, attempts = 0, 0
    with (
        Producer(bootstrap, transactional_id=name, max_transaction_version=level) as producer,
        GroupConsumer(
            bootstrap,
            group,
            [source],
            auto_offset_reset="earliest",
            commit_interval_ms=None,
            read_committed=True,
        ) as member,
    ):
        while done < 20:
            records = member.poll(120)[:4]
            attempts += 1
            try:
                with producer.transaction():
                    for record in records:
                        producer.send(topic, record.value, partition=0)
                    following = {TopicPartition(source, 0): records[-1].offset + 1}
                    producer.send_offsets_to_transaction(following, member)
                    if attempts % 2:
                        raise ZeroDivisionError
                done += len(records)
            except ZeroDivisionError:
                pass
            member.rewind()
        with producer.transaction():
            for partition in range(2):
                producer.send(topic, b"end", partition=partition)
    found = [value for value in read(cluster, topic, b"end") if value != b"end"]
    assert found == [b"%d" % number for number in range(20)]
    assert GroupAdmin(cluster).offsets(group)[TopicPartition(source, 0)].offset == 20

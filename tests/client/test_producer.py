"""Records are delivered once and in order, or fail with a reason."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moldau.client.admin import Admin
from moldau.client.login import Login
from moldau.client.partitioner import partition_of_key
from moldau.client.producer import CODECS, Producer
from moldau.client.security import PLAINTEXT, Security
from moldau.client.security_error import SecurityError
from moldau.clock import ManualClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from tests.client.faulty_proxy import FaultyProxy
from tests.client.reading import read_all
from tests.running import RunningBroker


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_sent_is_read_back(
    bootstrap: str, new_topic: Callable[[], str], codec: str
) -> None:
    topic = new_topic()
    with Producer(bootstrap, compression=codec) as producer:
        sent = [
            producer.send(
                topic,
                b"value-%d" % number * 20,
                b"key-%d" % number,
                timestamp=1_700_000_000_000 + number,
                headers=[("name", b"content"), ("null", None), ("name", b"")],
            )
            for number in range(200)
        ]
    read = read_all(bootstrap, topic, 200)
    assert all(delivery.is_done and delivery.error is None for delivery in sent)
    assert [delivery.offset for delivery in sent] == list(range(200))
    assert [record.value for record in read] == [b"value-%d" % number * 20 for number in range(200)]
    assert [record.key for record in read] == [b"key-%d" % number for number in range(200)]
    assert read[7].timestamp == 1_700_000_000_007
    assert read[7].headers == (("name", b"content"), ("null", None), ("name", b""))


def test_empty_null_and_large_values_survive(bootstrap: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    values = [b"", None, os.urandom(900_000)]
    with Producer(bootstrap) as producer:
        for value in values:
            producer.send(topic, value)
    read = read_all(bootstrap, topic, 3)
    assert [record.value for record in read] == values
    assert [record.key for record in read] == [None, None, None]


def test_another_topic_may_be_named_while_records_are_under_way(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topics = [new_topic() for _ in range(4)]
    with Producer(bootstrap, linger_ms=0) as producer:
        for topic in topics:
            sent = [producer.send(topic, b"%d" % number) for number in range(3)]
            assert not sent[-1].is_done
    for topic in topics:
        assert [record.value for record in read_all(bootstrap, topic, 3)] == [b"0", b"1", b"2"]


def test_keys_find_the_partition_of_their_hash(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 5)
    with Producer(bootstrap) as producer:
        sent = [producer.send(topic, b"v", b"key-%d" % number) for number in range(50)]
    for number, delivery in enumerate(sent):
        assert delivery.partition == partition_of_key(b"key-%d" % number, 5)


def test_records_without_a_key_fill_batches_of_all_partitions(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 3)
    with Producer(bootstrap, batch_size=1000, linger_ms=60_000) as producer:
        sent = [producer.send(topic, b"v" * 100) for _ in range(200)]
    assert {delivery.partition for delivery in sent} == {0, 1, 2}
    partitions = [delivery.partition for delivery in sent]
    changes = sum(left != right for left, right in itertools.pairwise(partitions))
    assert changes < 60, "a partition does not stick"


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_every_number_of_acks_delivers(
    bootstrap: str, new_topic: Callable[[], str], acks: int
) -> None:
    topic = new_topic()
    with Producer(bootstrap, acks=acks) as producer:
        delivery = producer.send(topic, b"x")
    assert delivery.is_done
    assert delivery.offset == (-1 if acks == 0 else 0)
    assert len(read_all(bootstrap, topic, 1)) == 1


def test_a_record_gets_the_producers_time(bootstrap: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    with Producer(bootstrap, clock=ManualClock(1_650_000_000_000)) as producer:
        delivery = producer.send(topic, b"x")
    assert delivery.timestamp == 1_650_000_000_000
    assert read_all(bootstrap, topic, 1)[0].timestamp == 1_650_000_000_000


def test_a_callback_hears_of_every_record(bootstrap: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    heard: list[int] = []
    with Producer(bootstrap) as producer:
        for _ in range(3):
            producer.send(topic, b"x", on_delivery=lambda delivery: heard.append(delivery.offset))
        assert heard == []
    assert heard == [0, 1, 2]


def test_a_batch_that_is_too_large_is_split(bootstrap: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, configs={"max.message.bytes": "2000"})
    values = [os.urandom(400) for _ in range(50)]
    with Producer(bootstrap, batch_size=30_000) as producer:
        sent = [producer.send(topic, value) for value in values]
    assert [delivery.error for delivery in sent] == [None] * 50
    assert [record.value for record in read_all(bootstrap, topic, 50)] == values


def test_one_record_that_is_too_large_fails_alone(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, configs={"max.message.bytes": "2000"})
    with Producer(bootstrap, batch_size=30_000) as producer:
        sent = [producer.send(topic, b"x" * size) for size in (10, 5000, 20)]
    errors = [delivery.error for delivery in sent]
    assert errors[0] is None
    assert errors[2] is None
    assert errors[1] is not None
    assert errors[1].code is ErrorCode.MESSAGE_TOO_LARGE
    assert [len(record.value or b"") for record in read_all(bootstrap, topic, 2)] == [10, 20]


def test_a_partition_that_is_not_there_is_refused(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        producer.send(topic, b"x", partition=0)
        with pytest.raises(ApiError, match=r"there is no partition 3 in .*, which has 0 to 0"):
            producer.send(topic, b"x", partition=3)


def test_a_broker_that_no_longer_lets_us_in_fails_records_at_once(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        producer.send(topic, b"before")
        producer.flush()
        # The broker does not support logins, so retrying cannot help.
        producer.cluster.security = Security(login=Login("PLAIN", (("username", "alice"),)))
        producer.cluster.close()
        refused = producer.send(topic, b"after")
        producer.flush()
        assert isinstance(refused.error, SecurityError)
        assert "does not accept logins" in str(refused.error)
        # Nor is it lost for ever.
        producer.cluster.security = PLAINTEXT
        assert producer.send(topic, b"again").error is None
    assert [record.value for record in read_all(bootstrap, topic, 2)] == [b"before", b"again"]


def test_a_topic_deleted_under_way_fails_its_records(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Producer(bootstrap, linger_ms=60_000) as producer, Admin(bootstrap) as admin:
        admin.create_topic(topic)
        delivery = producer.send(topic, b"x")
        admin.delete_topics([topic])
        producer.flush()
    assert delivery.error is not None
    assert delivery.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"acks": 2}, "must be 0, 1 or -1"),
        ({"compression": "rar"}, "one of none, gzip"),
        ({"idempotent": True, "acks": 1}, "needs acks=-1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Producer("localhost:1", **settings)  # type: ignore[arg-type]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[FaultyProxy]:
    """A broker whose advertised address is the proxy."""
    with FaultyProxy() as made:
        settings = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{made.port}"}
        with RunningBroker(tmp_path / "data", settings) as running:
            made.target_port = running.port
            yield made


@pytest.mark.parametrize("lost", [{1}, {2}, {1, 2, 3}, {3, 6}])
@pytest.mark.parametrize("kind", ["answers", "requests"])
def test_a_lost_connection_costs_neither_records_nor_order(
    proxy: FaultyProxy, lost: set[int], kind: str
) -> None:
    setattr(proxy, f"lost_{kind}", lost)
    address = f"127.0.0.1:{proxy.port}"
    with Producer(address, batch_size=200) as producer:
        sent = [producer.send("t", b"value-%d" % number) for number in range(60)]
    assert [delivery.error for delivery in sent] == [None] * 60
    records = read_all(address, "t", 60)
    assert [record.value for record in records] == [b"value-%d" % number for number in range(60)]
    assert [delivery.offset for delivery in sent] == list(range(60))


def test_what_cannot_be_delivered_in_time_fails(proxy: FaultyProxy) -> None:
    proxy.lost_requests = set(range(1, 100))
    with Producer(f"127.0.0.1:{proxy.port}", delivery_timeout_s=0.2) as producer:
        delivery = producer.send("t", b"x")
    assert delivery.error is not None
    assert delivery.error.code is ErrorCode.REQUEST_TIMED_OUT
    assert "closed the connection" in str(delivery.error)


def test_a_producer_that_the_broker_forgot_starts_anew(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer, Admin(bootstrap) as admin:
        producer.send(topic, b"0")
        producer.flush()
        partition = TopicPartition(topic, 0)
        # As if sequences had been lost: the next one leaves a gap.
        assert producer._identity is not None
        producer._identity.sequences[partition] = 7
        delivery = producer.send(topic, b"1")
        producer.flush()
        assert admin.list_offsets({partition: -1})[partition].offset == 2
    assert delivery.error is None
    assert [record.value for record in read_all(bootstrap, topic, 2)] == [b"0", b"1"]

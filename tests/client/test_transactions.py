"""Transactions of our client on a broker: what is read, what is fenced, what is read again."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.group_consumer import GroupConsumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.producer import Producer
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from tests.running import RunningBroker

_ids = itertools.count()


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20",
        "transaction.state.log.num.partitions": "2",
        "offsets.topic.num.partitions": "2",
    }
    with RunningBroker(tmp_path_factory.mktemp("broker") / "data", settings) as running:
        yield running.bootstrap


@pytest.fixture
def topic(bootstrap: str, new_topic: Callable[[], str]) -> str:
    name = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(name, 2)
    return name


@pytest.fixture(params=[1, 2], ids=["TV1", "TV2"])
def new_producer(
    request: pytest.FixtureRequest, bootstrap: str
) -> Iterator[Callable[..., Producer]]:
    """Producers of one new id, in both protocols."""
    opened: list[Producer] = []
    name = f"id-{next(_ids)}"

    def new(timeout_ms: int = 60_000) -> Producer:
        opened.append(
            Producer(
                bootstrap,
                transactional_id=name,
                transaction_timeout_ms=timeout_ms,
                max_transaction_version=request.param,
            )
        )
        return opened[-1]

    yield new
    for producer in opened:
        producer.close()


def read(bootstrap: str, topic: str, *, read_committed: bool = True) -> list[bytes | None]:
    """Everything up to the end, or to the first open transaction."""
    found: list[bytes | None] = []
    with Consumer(bootstrap, read_committed=read_committed) as consumer:
        places = consumer.partitions_of(topic)
        ends = consumer.offsets_at(dict.fromkeys(places, LATEST))
        consumer.assign(consumer.offsets_at(dict.fromkeys(places, EARLIEST)))
        while any(consumer.positions[place] < ends[place] for place in places):
            found += [record.value for record in consumer.poll(1.0)]
    return found


def test_committed_records_of_both_partitions_are_read_and_aborted_ones_are_not(
    bootstrap: str, topic: str, new_producer: Callable[..., Producer]
) -> None:
    producer = new_producer()
    for number in range(10):
        producer.begin_transaction()
        for partition in range(2):
            producer.send(topic, b"%d" % number, partition=partition)
        if number % 2:
            producer.flush()
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    committed = [b"%d" % number for number in range(0, 10, 2)]
    assert sorted(value or b"" for value in read(bootstrap, topic)) == sorted(2 * committed)
    assert len(read(bootstrap, topic, read_committed=False)) == 20


def test_large_transactions_of_many_batches_arrive_in_order(
    bootstrap: str, topic: str, new_producer: Callable[..., Producer]
) -> None:
    producer = new_producer()
    values = [b"%04d" % number * 100 for number in range(500)]
    for start in (0, 250):
        with producer.transaction():
            for value in values[start : start + 250]:
                producer.send(topic, value, partition=0)
    assert read(bootstrap, topic) == values


def test_a_successor_aborts_what_is_open_and_fences_its_predecessor(
    bootstrap: str, topic: str, new_producer: Callable[..., Producer]
) -> None:
    old, new = new_producer(), new_producer()
    old.begin_transaction()
    old.send(topic, b"old", partition=0)
    old.flush()
    with new.transaction():
        new.send(topic, b"new", partition=0)
    with pytest.raises(ApiError, match="another producer uses the same transactional_id") as fenced:
        old.commit_transaction()
    assert fenced.value.code is ErrorCode.PRODUCER_FENCED
    assert read(bootstrap, topic) == [b"new"]


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_says_so(
    bootstrap: str, topic: str, new_producer: Callable[..., Producer]
) -> None:
    producer = new_producer(timeout_ms=50)
    producer.begin_transaction()
    producer.send(topic, b"too late", partition=0)
    producer.flush()
    with Producer(bootstrap) as plain:
        plain.send(topic, b"after it", partition=0)
    # Readers get past it when the coordinator has aborted it.
    with Consumer(bootstrap, read_committed=True) as consumer:
        consumer.assign({TopicPartition(topic, 0): 0})
        assert [record.value for record in consumer.poll(10)] == [b"after it"]
    with pytest.raises(ApiError, match="longer than transaction_timeout_ms=50") as late:
        producer.commit_transaction()
    if late.value.code is ErrorCode.PRODUCER_FENCED:
        assert "continue with a new Producer" in str(late.value)
        producer = new_producer()
    else:
        producer.abort_transaction()
    with producer.transaction():
        producer.send(topic, b"in time", partition=0)
    assert read(bootstrap, topic) == [b"after it", b"in time"]


def test_after_an_abort_a_member_reads_again_what_it_had_read(
    bootstrap: str, topic: str, new_topic: Callable[[], str], new_producer: Callable[..., Producer]
) -> None:
    target = new_topic()
    with Producer(bootstrap) as feed:
        for number in range(6):
            feed.send(topic, b"%d" % number, partition=0)
    producer = new_producer()
    seen: list[list[bytes | None]] = []
    with GroupConsumer(
        bootstrap,
        f"group-of-{target}",
        [topic],
        auto_offset_reset="earliest",
        commit_interval_ms=None,
        read_committed=True,
    ) as member:
        for is_committed in (False, True):
            records = member.poll(20)
            seen.append([record.value for record in records])
            producer.begin_transaction()
            for record in records:
                producer.send(target, record.value, partition=0)
            producer.send_offsets_to_transaction(member.positions, member)
            if is_committed:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
                member.rewind()
        member.rewind()
        assert member.positions[TopicPartition(topic, 0)] == 6
    assert seen[0] == seen[1]
    assert read(bootstrap, target) == [b"%d" % number for number in range(6)]


def test_a_former_member_s_offsets_are_refused_and_its_transaction_can_only_be_aborted(
    bootstrap: str, topic: str, new_producer: Callable[..., Producer]
) -> None:
    producer = new_producer()
    member = GroupConsumer(bootstrap, f"group-of-{topic}", [topic], commit_interval_ms=None)
    with member:
        member.poll(0)
    producer.begin_transaction()
    producer.send(topic, b"never", partition=0)
    with pytest.raises(ApiError, match="may belong to another member: abort, and poll again"):
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, member)
    with pytest.raises(ApiError, match=r"call abort_transaction\(\)"):
        producer.commit_transaction()
    producer.abort_transaction()
    assert read(bootstrap, topic) == []

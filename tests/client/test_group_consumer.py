"""Members of a group share the partitions, and continue at committed offsets."""

import threading
from collections.abc import Callable, Iterator

import pytest

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from tests.running import RunningBroker

PARTITIONS = 4
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker without initial rebalance delay, which allows short sessions."""
    settings = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "100"}
    with RunningBroker(tmp_path_factory.mktemp("broker") / "data", settings) as running:
        yield running.bootstrap


@pytest.fixture
def topic(bootstrap: str, new_topic: Callable[[], str]) -> str:
    name = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(name, PARTITIONS)
    produce(bootstrap, name, range(20))
    return name


def produce(bootstrap: str, topic: str, numbers: range) -> None:
    with Producer(bootstrap) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)


def member(bootstrap: str, topic: str, **options: object) -> GroupConsumer:
    settings: dict[str, object] = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 50}
    settings.update(options)
    return GroupConsumer(bootstrap, f"group-of-{topic}", [topic], **settings)  # type: ignore[arg-type]


def read(consumer: GroupConsumer, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        came = consumer.poll(PATIENCE_S)
        assert came, f"{len(found)} of {count} records came"
        found += [int(record.value or b"") for record in came]
    return sorted(found)


class Background:
    """A member that polls on its own thread until it is stopped."""

    def __init__(self, consumer: GroupConsumer) -> None:
        self.consumer = consumer
        self.values: list[int] = []
        self.failure: BaseException | None = None
        self._changed = threading.Condition()
        self._is_over = False
        self._leaves = True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._is_over:
                came = self.consumer.poll(0.05)
                with self._changed:
                    self.values += [int(record.value or b"") for record in came]
                    self._changed.notify_all()
            if self._leaves:
                self.consumer.close()
        except BaseException as failure:
            self.failure = failure

    def wait_for(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE_S), self.failure

    def stop(self, *, leaves: bool = True) -> None:
        self._leaves = leaves
        self._is_over = True
        self._thread.join(PATIENCE_S)
        assert self.failure is None


def test_one_member_reads_everything_and_commits_when_it_leaves(bootstrap: str, topic: str) -> None:
    with member(bootstrap, topic) as consumer:
        assert read(consumer, 20) == list(range(20))
        assert set(consumer.positions.values()) == {5}
    with Admin(bootstrap) as admin:
        offsets = GroupAdmin(admin.cluster).offsets(consumer.group_id)
    assert {partition.partition: each.offset for partition, each in offsets.items()} == {
        0: 5,
        1: 5,
        2: 5,
        3: 5,
    }
    assert {each.leader_epoch for each in offsets.values()} == {0}


def test_the_next_member_goes_on_where_the_last_one_stopped(bootstrap: str, topic: str) -> None:
    with member(bootstrap, topic, commit_interval_ms=None) as consumer:
        read(consumer, 20)
        consumer.commit({TopicPartition(topic, 0): 3, TopicPartition(topic, 1): 5})
    with member(bootstrap, topic, auto_offset_reset="latest") as consumer:
        assert read(consumer, 2) == [12, 16]
        produce(bootstrap, topic, range(20, 24))
        assert read(consumer, 4) == [20, 21, 22, 23]


def test_two_members_share_the_partitions_and_one_takes_over_what_the_other_leaves(
    bootstrap: str, topic: str
) -> None:
    first = Background(member(bootstrap, topic))
    first.wait_for(lambda: len(first.values) == 20)
    second = Background(member(bootstrap, topic))
    first.wait_for(lambda: len(first.consumer.positions) == 2)
    second.wait_for(lambda: len(second.consumer.positions) == 2)
    assert sorted([*first.consumer.positions, *second.consumer.positions]) == [
        TopicPartition(topic, n) for n in range(PARTITIONS)
    ]
    produce(bootstrap, topic, range(20, 40))
    first.wait_for(lambda: len(first.values) == 30)
    second.wait_for(lambda: len(second.values) == 10)
    second.stop()
    first.wait_for(lambda: len(first.consumer.positions) == PARTITIONS)
    produce(bootstrap, topic, range(40, 60))
    first.wait_for(lambda: len(first.values) == 50)
    first.stop()
    assert sorted(first.values + second.values) == list(range(60))


def test_a_member_that_says_nothing_is_replaced_and_comes_back(bootstrap: str, topic: str) -> None:
    silent = member(bootstrap, topic, session_timeout_ms=500, rebalance_timeout_ms=1000)
    assert read(silent, 20) == list(range(20))
    silent.commit()
    other = Background(member(bootstrap, topic))
    other.wait_for(lambda: len(other.consumer.positions) == PARTITIONS)
    with pytest.raises(ApiError) as refused:
        silent.commit({TopicPartition(topic, 0): 1})
    assert refused.value.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
    back = Background(silent)
    back.wait_for(lambda: len(silent.positions) == 2)
    other.wait_for(lambda: len(other.consumer.positions) == 2)
    back.stop()
    other.stop()
    assert other.values == []


def test_a_static_member_comes_back_to_its_partitions_without_a_new_round(
    bootstrap: str, topic: str
) -> None:
    with member(bootstrap, topic, instance_id="one") as consumer:
        read(consumer, 20)
        generation = consumer.generation_id
    with member(bootstrap, topic, instance_id="one") as consumer:
        produce(bootstrap, topic, range(20, 24))
        assert read(consumer, 4) == [20, 21, 22, 23]
        assert consumer.generation_id == generation


def test_a_member_without_partitions_waits_in_peace(bootstrap: str, topic: str) -> None:
    members = [Background(member(bootstrap, topic)) for _ in range(PARTITIONS + 1)]
    for each in members:
        each.wait_for(
            lambda: (
                sum(len(one.consumer.positions) for one in members) == PARTITIONS
                and all(one.consumer.is_member for one in members)
                and max(len(one.consumer.positions) for one in members) == 1
            )
        )
    for each in members:
        each.stop()
    assert sorted(value for each in members for value in each.values) == list(range(20))


def test_an_unseen_record_is_not_committed_after_a_seek(bootstrap: str, topic: str) -> None:
    with member(bootstrap, topic) as consumer:
        read(consumer, 20)
        consumer.seek(TopicPartition(topic, 2), 4)
    with member(bootstrap, topic) as consumer:
        assert read(consumer, 1) == [18]


def test_a_group_without_a_name_is_refused(bootstrap: str, topic: str) -> None:
    with (
        GroupConsumer(bootstrap, "", [topic]) as consumer,
        pytest.raises(ApiError) as refused,
    ):
        consumer.poll(1.0)
    assert refused.value.code is ErrorCode.INVALID_GROUP_ID

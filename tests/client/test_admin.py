"""Topics, settings, offsets and disks."""

from collections.abc import Callable, Iterator

import pytest

from moldau.client.admin import Admin, ConfigChange, ResourceType
from moldau.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from moldau.client.producer import Producer
from moldau.config.describe import ConfigSource
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(bootstrap) as connected:
        yield connected


def test_a_topic_lives_from_creation_to_deletion(
    admin: Admin, new_topic: Callable[[], str]
) -> None:
    name = new_topic()
    made = admin.create_topic(name, 3, 1, configs={"retention.ms": "1000"})
    assert (made.partitions, made.replication_factor) == (3, 1)
    assert made.topic_id != NO_UUID
    (described,) = admin.describe_topics([name])
    assert described.topic_id == made.topic_id
    assert [each.partition for each in described.partitions] == [0, 1, 2]
    assert all(each.leader == 1 and each.isr == [1] for each in described.partitions)
    admin.create_partitions(name, 4)
    assert len(admin.describe_topics([name])[0].partitions) == 4
    admin.delete_topics([name])
    assert name not in [topic.name for topic in admin.list_topics()]
    with pytest.raises(ApiError, match=f"topic {name} does not exist"):
        admin.describe_topics([name])


def test_checking_only_makes_nothing(admin: Admin, new_topic: Callable[[], str]) -> None:
    name = new_topic()
    admin.create_topic(name, 2, 1, validate_only=True)
    assert name not in [topic.name for topic in admin.list_topics()]


def test_replicas_can_be_placed_by_hand(admin: Admin, new_topic: Callable[[], str]) -> None:
    name = new_topic()
    admin.create_topic(name, assignments=[[1], [1]])
    assert len(admin.describe_topics([name])[0].partitions) == 2


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (lambda admin: admin.create_topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (lambda admin: admin.create_topic("x", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (lambda admin: admin.create_topic("x", 1, 5), ErrorCode.INVALID_REPLICATION_FACTOR),
        (lambda admin: admin.create_topic("x", configs={"no": "1"}), ErrorCode.INVALID_CONFIG),
        (lambda admin: admin.delete_topics(["nope"]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda admin: admin.create_partitions("nope", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (
            lambda admin: admin.describe_configs(ResourceType.TOPIC, "nope"),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        (
            lambda admin: admin.describe_configs(ResourceType.BROKER, "77"),
            ErrorCode.BROKER_NOT_AVAILABLE,
        ),
        (lambda admin: admin.describe_configs(ResourceType.BROKER, "x"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_the_broker_refuses_is_raised(
    admin: Admin, action: Callable[[Admin], object], code: ErrorCode
) -> None:
    with pytest.raises(ApiError) as caught:
        action(admin)
    assert caught.value.code is code


def test_settings_change_one_by_one(admin: Admin, new_topic: Callable[[], str]) -> None:
    name = new_topic()
    admin.create_topic(name, configs={"retention.ms": "1000", "cleanup.policy": "delete"})
    admin.alter_configs(
        ResourceType.TOPIC,
        name,
        [
            ("retention.ms", ConfigChange.DELETE, None),
            ("flush.ms", ConfigChange.SET, "5"),
            ("cleanup.policy", ConfigChange.APPEND, "compact"),
        ],
    )
    shown = {entry.name: entry for entry in admin.describe_configs(ResourceType.TOPIC, name)}
    assert len(shown) == 33
    assert shown["flush.ms"].value == "5"
    assert shown["cleanup.policy"].value == "delete,compact"
    assert shown["retention.ms"].source is ConfigSource.DEFAULT_CONFIG
    only = admin.describe_configs(ResourceType.TOPIC, name, ["flush.ms"])
    assert [entry.name for entry in only] == ["flush.ms"]


def test_a_change_that_is_only_checked_is_not_made(
    admin: Admin, new_topic: Callable[[], str]
) -> None:
    name = new_topic()
    admin.create_topic(name)
    changes = [("flush.ms", ConfigChange.SET, "5")]
    admin.alter_configs(ResourceType.TOPIC, name, changes, validate_only=True)
    (entry,) = admin.describe_configs(ResourceType.TOPIC, name, ["flush.ms"])
    assert entry.source is ConfigSource.DEFAULT_CONFIG


def test_brokers_have_settings_of_their_own_and_in_common(admin: Admin) -> None:
    admin.alter_configs(
        ResourceType.BROKER, "", [("message.max.bytes", ConfigChange.SET, "2000000")]
    )
    (own,) = admin.describe_configs(ResourceType.BROKER, "1", ["message.max.bytes"])
    assert own.value == "2000000"
    assert own.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    admin.alter_configs(ResourceType.BROKER, "", [("message.max.bytes", ConfigChange.DELETE, None)])


def test_offsets_are_found_and_records_deleted(
    admin: Admin, bootstrap: str, new_topic: Callable[[], str]
) -> None:
    name = new_topic()
    admin.create_topic(name)
    partition = TopicPartition(name, 0)
    with Producer(bootstrap) as producer:
        for second in range(5):
            producer.send(name, b"x", timestamp=1_700_000_000_000 + second * 1000)
            producer.flush()

    def offset(timestamp: int) -> int:
        return admin.list_offsets({partition: timestamp})[partition].offset

    assert (offset(EARLIEST), offset(LATEST)) == (0, 5)
    assert offset(1_700_000_001_500) == 2
    assert offset(1_800_000_000_000) == -1
    found = admin.list_offsets({partition: MAX_TIMESTAMP})[partition]
    assert (found.offset, found.timestamp) == (4, 1_700_000_004_000)
    assert admin.delete_records({partition: 3}) == {partition: 3}
    assert (offset(EARLIEST), offset(LATEST)) == (3, 5)
    with pytest.raises(ApiError, match=f"{partition}") as caught:
        admin.delete_records({partition: 99})
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_cluster_and_its_disks_are_described(
    admin: Admin, bootstrap: str, new_topic: Callable[[], str]
) -> None:
    name = new_topic()
    admin.create_topic(name)
    cluster = admin.describe_cluster()
    assert len(cluster.cluster_id) == 22
    assert [f"{broker.host}:{broker.port}" for broker in cluster.brokers] == [bootstrap]
    (log_dir,) = admin.describe_log_dirs(1)
    assert log_dir.error is ErrorCode.NONE
    assert log_dir.total_bytes >= log_dir.usable_bytes > 0
    assert TopicPartition(name, 0) in [replica.partition for replica in log_dir.replicas]

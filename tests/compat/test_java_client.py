"""What only the Java clients ask: the newest versions of the admin requests, idempotence, ids."""

import pytest

from tests.compat.clients.base import Client, ClientError
from tests.compat.clients.driver import JavaClient
from tests.compat.sample import text_records, wait_until

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_REPLICATION_FACTOR = 38


@pytest.fixture
def driver(java: Client) -> JavaClient:
    assert isinstance(java, JavaClient)
    return java


def test_the_cluster_describes_itself(driver: JavaClient, bootstrap: str) -> None:
    cluster = driver.call("describe_cluster")
    assert cluster["nodes"] == [bootstrap]
    assert len(cluster["cluster_id"]) == 22


def test_a_topic_is_described_by_name_and_by_id(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic, 3)
    wait_until(lambda: topic in driver.list_topics())
    described = driver.call("describe_topic", topic=topic)
    assert described["name_by_id"] == topic
    assert len(described["id"]) == 22
    partitions = described["partitions"]
    assert [one["partition"] for one in partitions] == [0, 1, 2]
    assert {(one["replicas"], one["isr"]) for one in partitions} == {(1, 1)}


def test_validating_a_topic_creates_nothing(driver: JavaClient, topic: str) -> None:
    driver.call("create_topic", topic=topic, partitions=3, validate_only=True)
    with pytest.raises(ClientError) as failure:
        driver.call("create_topic", topic=topic, replication_factor=2, validate_only=True)
    assert failure.value.code == INVALID_REPLICATION_FACTOR
    assert topic not in driver.list_topics()


def test_validating_a_setting_changes_nothing(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic)
    wait_until(lambda: topic in driver.list_topics())
    driver.call("set_topic_config", topic=topic, configs={"retention.ms": "77"}, validate_only=True)
    assert driver.topic_config(topic)["retention.ms"] == "604800000"


def test_partitions_are_added_and_written_to(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic, 1)
    driver.call("add_partitions", topic=topic, count=4)
    wait_until(lambda: len(driver.call("describe_topic", topic=topic)["partitions"]) == 4)
    assert driver.produce(topic, text_records(1, partition=3)) == [0]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("earliest", 0), ("latest", 10), ("max_timestamp", 4), ("earliest_local", 0)],
)
def test_offsets_are_listed_by_specification(
    driver: JavaClient, topic: str, spec: str, expected: int
) -> None:
    driver.create_topic(topic)
    records = text_records(10)
    records[4] = records[4]._replace(timestamp=records[9].timestamp + 1)
    driver.produce(topic, records)
    listed = driver.call("list_offsets", topic=topic, partition=0, spec=spec)
    assert listed["offset"] == expected
    if spec == "max_timestamp":
        assert listed["timestamp"] == records[4].timestamp


def test_deleted_records_are_no_longer_read(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, text_records(10))
    answer = driver.call("delete_records", topic=topic, partition=0, offset=6)
    assert answer["low_watermark"] == 6
    assert driver.offset_at(topic, 0, -2) == 6
    assert [r.offset for r in driver.consume(topic, {0: 6}, 4)] == [6, 7, 8, 9]


def test_the_idempotent_producer_is_known_to_the_partition(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, text_records(25))
    (producer,) = driver.call("describe_producers", topic=topic, partition=0)["producers"]
    assert producer["producer_id"] >= 0
    assert producer["epoch"] == 0
    assert producer["last_sequence"] == 24


def test_log_directories_tell_the_size_of_each_partition(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic, 2)
    driver.produce(topic, text_records(50))
    sizes = driver.call("log_dirs", topic=topic)["sizes"]
    assert sizes["0"] > 500
    assert sizes["1"] == 0


def test_producing_to_an_unknown_topic_creates_it(driver: JavaClient, topic: str) -> None:
    assert driver.produce(topic, text_records(3)) == [0, 1, 2]
    assert topic in driver.list_topics()


def test_asking_for_a_partition_that_is_not_there_fails(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic)
    wait_until(lambda: topic in driver.list_topics())
    with pytest.raises(ClientError) as failure:
        driver.call("describe_topic", topic=f"{topic}-missing")
    assert failure.value.code == UNKNOWN_TOPIC_OR_PARTITION


def test_log_append_time_replaces_the_producers_time(driver: JavaClient, topic: str) -> None:
    driver.create_topic(topic, configs={"message.timestamp.type": "LogAppendTime"})
    records = text_records(5)
    driver.produce(topic, records)
    found = driver.consume(topic, {0: 0}, 5)
    assert len({record.timestamp for record in found}) == 1
    assert found[0].timestamp > records[4].timestamp


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_a_topic_with_a_codec_of_its_own_recompresses(
    driver: JavaClient, topic: str, codec: str
) -> None:
    driver.create_topic(topic, configs={"compression.type": codec})
    records = text_records(200)
    driver.produce(topic, records, codec="gzip" if codec != "gzip" else "none")
    found = driver.consume(topic, {0: 0}, 200)
    assert [record.value for record in found] == [record.value for record in records]
    assert [record.timestamp for record in found] == [record.timestamp for record in records]

"""Spark on both brokers, by our source and by Spark's own: everybody reads the same.

Spark's own Kafka connector comes from Maven (tools/install-spark-connector); ``format("moldau")``
must give the rows that ``format("kafka")`` gives, of Moldau and of Apache Kafka.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from tools.brokers import Broker

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.ids import TopicPartition
from tests.compat.spark_session import connector_jars, own_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FORMATS = ("moldau", "kafka")
PER_CODEC = 40


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    if not connector_jars():
        pytest.skip("Spark's Kafka connector is not there (tools/install-spark-connector)")
    with own_session("compat") as running:
        yield running


@pytest.fixture(params=["broker under test", "apache-kafka"])
def address(request: pytest.FixtureRequest) -> str:
    """Each broker in turn."""
    if request.param == "apache-kafka":
        broker: Broker = request.getfixturevalue("apache_kafka")
        return broker.bootstrap
    bootstrap: str = request.getfixturevalue("bootstrap")
    return bootstrap


def fill(bootstrap: str, topic: str) -> int:
    """A topic of three partitions with every codec, headers and nulls; gives its records."""
    with Admin(bootstrap) as admin:
        # Its records are old, and would go with the broker's next look at what is too old.
        admin.create_topic(topic, 3, configs={"retention.ms": "-1"})
    for codec in CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
        for number in range(PER_CODEC):
            producer.produce(
                topic,
                key=None if number % 5 == 0 else f"{codec}-{number}",
                value=None if number % 7 == 0 else f"value {number} " * 20,
                headers=[("codec", codec.encode()), ("none", None)] if number % 2 else None,
                timestamp=1_700_000_000_000 + number,
            )
        assert producer.flush(120) == 0
    return len(CODECS) * PER_CODEC


def load(spark: "SparkSession", source: str, bootstrap: str, **options: Any) -> "DataFrame":
    reader = spark.read.format(source).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()


def rows(frame: "DataFrame") -> list[Any]:
    found = frame.collect()
    return sorted(found, key=lambda row: (row.topic, row.partition, row.offset))


def test_both_sources_read_the_same(spark: "SparkSession", address: str, topic: str) -> None:
    count = fill(address, topic)
    ours, theirs = (
        load(spark, source, address, subscribe=topic, includeHeaders=True) for source in FORMATS
    )
    assert ours.schema.simpleString() == theirs.schema.simpleString()
    read = rows(theirs)
    assert len(read) == count
    assert rows(ours) == read


def test_both_sources_take_the_same_options(
    spark: "SparkSession", address: str, topic: str
) -> None:
    fill(address, topic)
    for options in (
        {
            "assign": f'{{"{topic}": [0, 2]}}',
            "startingOffsets": f'{{"{topic}": {{"0": 5, "2": -2}}}}',
            "endingOffsets": f'{{"{topic}": {{"0": 9, "2": -1}}}}',
            "minPartitions": "7",
        },
        {
            "subscribePattern": f"{topic}.*",
            "startingTimestamp": str(1_700_000_000_010),
            "endingTimestamp": str(1_700_000_000_020),
        },
    ):
        ours, theirs = (rows(load(spark, source, address, **options)) for source in FORMATS)
        assert ours == theirs
        assert ours


def test_only_what_was_committed_is_read(
    spark: "SparkSession", apache_kafka: Broker, topic: str
) -> None:
    bootstrap = apache_kafka.bootstrap
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 1)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": topic,
            # One stays open while Spark runs queries.
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(120)
    for number in range(6):
        producer.begin_transaction()
        for _ in range(10):
            producer.produce(topic, f"{number}".encode())
        producer.flush(120)
        if number % 2:
            producer.abort_transaction(120)
        else:
            producer.commit_transaction(120)
    # And one that is still open when the query begins.
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(120)
    committed = {"kafka.isolation.level": "read_committed"}
    ours, theirs = (
        rows(load(spark, source, bootstrap, subscribe=topic, **committed)) for source in FORMATS
    )
    assert [row.value for row in ours] == [b"0"] * 10 + [b"2"] * 10 + [b"4"] * 10
    assert ours == theirs
    everything = {"kafka.isolation.level": "read_uncommitted"}
    assert load(spark, "moldau", bootstrap, subscribe=topic, **everything).count() == 61
    producer.abort_transaction(120)


# A query that changes its source goes on from the same checkpoint.
@pytest.mark.parametrize("sources", [("moldau",) * 2, ("kafka",) * 2, ("kafka", "moldau")])
def test_a_stream_goes_on_from_its_checkpoint(
    spark: "SparkSession", address: str, topic: str, sources: tuple[str, str], tmp_path: Path
) -> None:
    found: list[tuple[int, int]] = []
    batches = itertools.count()

    def take(frame: "DataFrame", _: int) -> None:
        next(batches)
        found.extend((row.partition, row.offset) for row in frame.collect())

    count = fill(address, topic)
    for source in sources:
        group = {"groupId": f"group-of-{topic}"} if source == "moldau" else {}
        stream = spark.readStream.format(source).option("kafka.bootstrap.servers", address)
        query = (
            stream.options(
                subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=120, **group
            )
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert len(found) == len(set(found)) == count
        producer = Producer({"bootstrap.servers": address})
        for partition in range(3):
            producer.produce(topic, b"more", partition=partition)
        assert producer.flush(120) == 0
        count += 3
    assert next(batches) >= 3
    if group:
        with Admin(address) as admin:
            committed = GroupAdmin(admin.cluster).offsets(group["groupId"])
        assert sum(each.offset for each in committed.values()) == count - 3
        assert set(committed) == {TopicPartition(topic, number) for number in range(3)}


SINK_ROWS = """
    select if(id % 5 = 0, null, concat('key-', id)) as key,
           if(id % 7 = 0, null, repeat(concat('value ', id, ' '), 20)) as value,
           if(id % 11 = 0, 1, null) as partition,
           if(id % 2 = 0, array(named_struct('key', 'h', 'value', cast('x' as binary))), null)
               as headers
    from range(500)
"""


@pytest.mark.parametrize("codec", CODECS)
def test_what_our_sink_writes_both_sources_read(
    spark: "SparkSession", address: str, topic: str, codec: str
) -> None:
    with Admin(address) as admin:
        admin.create_topic(topic, 3)
    written = spark.sql(SINK_ROWS)
    writer = written.write.format("moldau").option("kafka.bootstrap.servers", address)
    writer.options(topic=topic, **{"kafka.compression.type": codec}).mode("append").save()
    ours, theirs = (
        rows(load(spark, source, address, subscribe=topic, includeHeaders=True))
        for source in FORMATS
    )
    assert ours == theirs
    expected = [
        (
            row.key and row.key.encode(),
            row.value and row.value.encode(),
            [tuple(pair) for pair in row.headers or []],
        )
        for row in written.collect()
    ]
    found = [(row.key, row.value, [tuple(pair) for pair in row.headers or []]) for row in ours]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_both_sinks_put_keys_into_the_same_partitions(
    spark: "SparkSession", address: str, topic: str
) -> None:
    placed = []
    for sink in FORMATS:
        name = f"{topic}-{sink}"
        with Admin(address) as admin:
            admin.create_topic(name, 7)
        keyed = spark.sql(SINK_ROWS).where("key is not null")
        writer = keyed.write.format(sink).option("kafka.bootstrap.servers", address)
        writer.option("topic", name).mode("append").save()
        read = rows(load(spark, "moldau", address, subscribe=name))
        placed.append({row.key: row.partition for row in read})
    assert placed[0] == placed[1]
    assert len(placed[0]) == 400

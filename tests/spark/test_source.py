"""``format("moldau")`` in a real Spark session, on a real broker."""

import socket
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark import PipelineError, readable_errors
from tests.spark.conftest import NewTopic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def load(spark: "SparkSession", bootstrap: str, **options: Any) -> "DataFrame":
    reader = spark.read.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()


def run_stream(
    spark: "SparkSession", bootstrap: str, checkpoint: Path, **options: Any
) -> list[list[Any]]:
    """The rows of each batch of what is there; the next run goes on from the checkpoint."""
    batches: list[list[Any]] = []
    stream = spark.readStream.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    query = (
        stream.options(startingOffsets="earliest", columns="value,offset", **options)
        .load()
        .writeStream.foreachBatch(lambda frame, _: batches.append(sorted(frame.collect())))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return batches


def test_rows_are_those_of_sparks_own_source(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic()
    for codec in CODECS:
        with Producer(bootstrap, compression=codec) as producer:
            producer.send(topic, b"value of " + codec.encode(), b"key", timestamp=1_700_000_000_123)
            producer.send(topic, None, None, timestamp=5, headers=[("h", b"x"), ("n", None)])
    frame = load(spark, bootstrap, subscribe=topic, includeHeaders=True)
    assert frame.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    rows = frame.orderBy("offset").collect()
    assert [row.offset for row in rows] == list(range(10))
    for row, codec in zip(rows[::2], CODECS, strict=True):
        assert (row.key, row.value) == (b"key", b"value of " + codec.encode())
        assert (row.topic, row.partition, row.timestampType) == (topic, 0, 0)
        assert row.timestamp.astimezone(UTC) == datetime.fromtimestamp(1_700_000_000.123, UTC)
        assert row.headers is None
    for row in rows[1::2]:
        assert (row.key, row.value) == (None, None)
        assert [tuple(pair) for pair in row.headers] == [("h", b"x"), ("n", None)]


def test_filters_reach_the_source_and_columns_are_pruned(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic
) -> None:
    frame = load(spark, bootstrap, subscribe=new_topic(10, 10), columns="offset,partition,value")
    chosen = frame.where("partition = 1 and offset >= 4 and offset < 6 and value != '1:5'")
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    (filtered,) = [line for line in plan.splitlines() if "Filter" in line and "Runtime" not in line]
    assert "value" in filtered
    assert "offset" not in filtered
    assert chosen.collect() == [(4, 1, b"1:4")]


def test_nothing_to_read_is_no_error(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic
) -> None:
    assert load(spark, bootstrap, subscribe=new_topic(0)).count() == 0


def test_an_error_is_one_line(spark: "SparkSession", bootstrap: str) -> None:
    with pytest.raises(PipelineError) as failed, readable_errors():
        load(spark, bootstrap, subscribe="nope").collect()
    assert str(failed.value) == "topic nope does not exist"


def test_a_stream_goes_on_from_its_checkpoint_and_shows_its_progress(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(6, 6)
    options = {"subscribe": topic, "groupId": f"group-of-{topic}", "maxOffsetsPerTrigger": 8}
    batches = run_stream(spark, bootstrap, tmp_path, **options)
    assert [len(batch) for batch in batches] == [8, 4]
    with Admin(bootstrap) as admin:
        admin.create_partitions(topic, 3)
    with Producer(bootstrap) as producer:
        producer.send(topic, b"more", partition=0)
        producer.send(topic, b"in a new partition", partition=2)
    (batch,) = run_stream(spark, bootstrap, tmp_path, **options)
    assert batch == [(b"in a new partition", 0), (b"more", 6)]
    with Admin(bootstrap) as admin:
        committed = GroupAdmin(admin.cluster).offsets(f"group-of-{topic}")
    expected = {0: 7, 1: 6, 2: 1}
    assert {each.partition: found.offset for each, found in committed.items()} == expected


def test_data_that_is_lost_under_the_checkpoint_stops_the_query_with_one_line(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(6)
    run_stream(spark, bootstrap, tmp_path, subscribe=topic)
    with Producer(bootstrap) as producer:
        for _ in range(6):
            producer.send(topic, b"x", partition=0)
    with Admin(bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): 9})
    with pytest.raises(PipelineError) as failed, readable_errors():
        run_stream(spark, bootstrap, tmp_path, subscribe=topic)
    said = f"{topic}-0 has no offset 6: it begins at 9 and ends at 12; {topic}-0 from 6 to 12"
    assert str(failed.value).startswith(said)


def test_a_database_that_a_users_function_cannot_reach_costs_no_rows(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(3)
    stream = spark.readStream.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    rows = stream.options(subscribe=topic, startingOffsets="earliest", columns="value").load()
    stored: list[bytes] = []

    # Bound but not listening: nobody else gets the port, and whoever connects is refused.
    with closing(socket.socket()) as database:
        database.bind(("127.0.0.1", 0))

        def store(frame: "DataFrame", _: int) -> None:
            with socket.create_connection(database.getsockname(), timeout=30):
                stored.extend(row.value for row in frame.collect())

        def run() -> None:
            query = rows.writeStream.foreachBatch(store).trigger(availableNow=True)
            with readable_errors():
                query.option("checkpointLocation", str(tmp_path)).start().awaitTermination()

        with pytest.raises(PipelineError) as failed:
            run()
        assert str(failed.value) == "ConnectionRefusedError: [Errno 111] Connection refused"
        database.listen()
        run()
    assert sorted(stored) == [b"0:0", b"0:1", b"0:2"]

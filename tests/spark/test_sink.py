"""``write`` and ``writeStream`` with ``format("moldau")`` in a real Spark session."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moldau.client.partitioner import partition_of_key
from moldau.spark import PipelineError, exactly_once, readable_errors
from tests.client.fake_leaders import FakeLeaders, record_at
from tests.spark.conftest import NewTopic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: "SparkSession", bootstrap: str, topic: str) -> list[Any]:
    reader = spark.read.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    rows = reader.options(subscribe=topic, includeHeaders=True).load().collect()
    return sorted(rows, key=lambda row: (row.partition, row.offset))


def save(rows: "DataFrame", bootstrap: str, **options: Any) -> None:
    writer = rows.write.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    with readable_errors():
        writer.options(**options).mode("append").save()


def test_rows_are_written_with_all_that_a_record_has(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(0, 0, 0)
    rows = spark.sql(
        f"""
        select '{topic}' as topic, cast(id as string) as key,
               concat('value ', id) as value,
               if(id % 10 = 0, 2, null) as partition,
               timestamp_millis(1700000000000 + id) as timestamp,
               if(id % 2 = 0, array(named_struct('key', 'h', 'value', cast('x' as binary))), null)
                   as headers,
               id as left_out
        from range(100)
        """
    )
    save(rows.repartition(3), bootstrap, **{"kafka.compression.type": "lz4"})
    found = {int(row.key): row for row in read(spark, bootstrap, topic)}
    assert sorted(found) == list(range(100))
    for number, row in found.items():
        assert row.value == b"value %d" % number
        by_key = partition_of_key(str(number).encode(), 3)
        assert row.partition == (2 if number % 10 == 0 else by_key)
        moment = datetime.fromtimestamp(1_700_000_000 + number / 1000, UTC)
        assert row.timestamp.astimezone(UTC) == moment
        headers = [("h", b"x")] if number % 2 == 0 else []
        assert [tuple(pair) for pair in row.headers or []] == headers


def test_what_was_read_can_be_written_as_it_is(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic
) -> None:
    source, target = new_topic(20, 30), new_topic(0, 0)
    reader = spark.read.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    save(reader.option("subscribe", source).load(), bootstrap, topic=target)
    wanted = [
        (row.partition, row.offset, row.key, row.value, row.timestamp)
        for row in read(spark, bootstrap, source)
    ]
    assert [
        (row.partition, row.offset, row.key, row.value, row.timestamp)
        for row in read(spark, bootstrap, target)
    ] == wanted
    assert len(wanted) == 50


def test_nothing_to_write_is_no_error(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic()
    save(spark.sql("select 'x' as value where false"), bootstrap, topic=topic)
    assert read(spark, bootstrap, topic) == []


@pytest.mark.parametrize(
    "query, options, said",
    [
        ("select 1 as value", {"topic": "t"}, "column value is int: string or binary can be"),
        ("select 'x' as value", {}, "no topic is named: set option topic, or give rows a column"),
        ("select 'x' as value, cast(null as string) as topic", {}, "a row has no topic (null)"),
        ("select 'x' as value", {"topic": "t", "kafka.acks": "two"}, "option kafka.acks=two"),
        ("select 'x' as value", {"topic": "a/b"}, "topic a/b"),
        ("select repeat('x', 2000000) as value", {"topic": "t"}, "larger than kafka.max.request"),
    ],
)
def test_an_error_is_one_line(
    spark: "SparkSession", bootstrap: str, query: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(PipelineError) as failed:
        save(spark.sql(query), bootstrap, **options)
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_stream_is_written_and_goes_on_from_its_checkpoint(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    source, target = new_topic(40, 40), new_topic(0, 0, 0)
    stream = spark.readStream.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    rows = stream.options(
        subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=30
    ).load()
    for _ in range(2):
        query = (
            rows.selectExpr("value as key", "value", "timestamp")
            .writeStream.format("moldau")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("topic", target)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    values = [row.value for row in read(spark, bootstrap, target)]
    expected = [b"%d:%d" % (partition, offset) for partition in range(2) for offset in range(40)]
    assert sorted(values) == sorted(expected)


def test_a_stream_is_written_exactly_once_and_goes_on_from_its_checkpoint(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    source, target = new_topic(40, 40), new_topic(0, 0, 0)
    stream = spark.readStream.format("moldau").option("kafka.bootstrap.servers", bootstrap)
    rows = stream.options(
        subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=30
    ).load()
    for _ in range(2):
        query = exactly_once(
            rows.selectExpr("value as key", "value"),
            checkpoint=str(tmp_path),
            bootstrap=bootstrap,
            topic=target,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
    values = [row.value for row in read(spark, bootstrap, target)]
    expected = [b"%d:%d" % (partition, offset) for partition in range(2) for offset in range(40)]
    assert sorted(values) == sorted(expected)


def test_exactly_once_without_transactions_is_refused_at_once(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = spark.readStream.format("rate").load().selectExpr("cast(value as string) as value")
    with (
        FakeLeaders(record_at) as without,
        pytest.raises(PipelineError, match="has no transactions, which exactly once needs"),
    ):
        exactly_once(rows, checkpoint=str(tmp_path), bootstrap=without.bootstrap, topic="t")

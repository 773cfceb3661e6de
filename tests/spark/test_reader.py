"""A batch query, planned and read as by Spark, on a real broker but without Spark."""

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

import json
import pickle
from typing import Any

from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan
from pyspark.sql.types import StringType, StructField, StructType

from moldau.client.admin import Admin
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.spark.reading import ReadTask
from moldau.spark.source import MoldauDataSource
from tests.running import RunningBroker
from tests.spark.conftest import NewTopic

START_MS = 1_700_000_000_000


def source(bootstrap: str, **options: Any) -> MoldauDataSource:
    """Options as Spark hands them over: in lower case."""
    given = {"kafka.bootstrap.servers": bootstrap, "columns": "value", **options}
    return MoldauDataSource({name.lower(): str(value) for name, value in given.items()})


def tasks(bootstrap: str, *filters: Any, **options: Any) -> tuple[Any, list[ReadTask]]:
    made = source(bootstrap, **options)
    reader: Any = made.reader(made.schema())
    assert list(reader.pushFilters(list(filters))) == [
        each for each in filters if each.attribute == ("timestamp",)
    ]
    planned = reader.partitions()
    return reader, planned


def read(bootstrap: str, *filters: Any, **options: Any) -> list[str]:
    """The values that come, in order of partition and offset."""
    reader, planned = tasks(bootstrap, *filters, **options)
    # Readers and tasks travel to the workers.
    reader, planned = pickle.loads(pickle.dumps((reader, planned)))
    found = [
        row["value"].decode()
        for task in planned
        for made in reader.read(task)
        for row in made.to_pylist()
    ]
    return sorted(found, key=lambda text: [int(part) for part in text.split(":")])


def values(partition: int, *offsets: int) -> list[str]:
    return [f"{partition}:{offset}" for offset in offsets]


def test_all_of_a_topic_is_read_and_small_partitions_share_a_task(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(7, 0, 5)
    assert read(bootstrap, subscribe=topic) == values(0, *range(7)) + values(2, *range(5))
    _, planned = tasks(bootstrap, subscribe=topic)
    assert len(planned) == 1
    _, planned = tasks(bootstrap, subscribe=topic, minPartitions=4)
    assert len(planned) >= 4


def test_topics_are_named_matched_or_assigned(bootstrap: str, new_topic: NewTopic) -> None:
    first, second = new_topic(2, 2), new_topic(1)
    everything = [*values(0, 0, 0, 1), *values(1, 0, 1)]
    assert read(bootstrap, subscribe=f"{first},{second}") == everything
    assert read(bootstrap, subscribePattern=f"{first}|{second}") == everything
    assert read(bootstrap, assign=json.dumps({first: [1]})) == values(1, 0, 1)
    assert read(bootstrap, subscribePattern="no-such-topic.*") == []


def test_offsets_are_taken_as_named(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(10, 10)
    starting = json.dumps({topic: {"0": 8, "1": -2}})
    ending = json.dumps({topic: {"0": -1, "1": 2}})
    found = read(bootstrap, subscribe=topic, startingOffsets=starting, endingOffsets=ending)
    assert found == values(0, 8, 9) + values(1, 0, 1)


def test_times_stand_for_the_first_record_as_late(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(10, 10)
    found = read(
        bootstrap,
        subscribe=topic,
        startingTimestamp=START_MS + 6500,
        endingTimestamp=START_MS + 8000,
    )
    assert found == values(0, 7) + values(1, 7)
    moments = json.dumps({topic: {"0": START_MS + 9000, "1": START_MS + 8001}})
    found = read(bootstrap, subscribe=topic, startingOffsetsByTimestamp=moments)
    assert found == values(0, 9) + values(1, 9)
    # No record is as late: the end of the log.
    late = START_MS + 99_000
    assert len(read(bootstrap, subscribe=topic, endingTimestamp=late)) == 20
    with pytest.raises(PipelineError, match=f"{topic}-0 has no record at or after {late}"):
        read(bootstrap, subscribe=topic, startingTimestamp=late)
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    assert read(bootstrap, subscribe=topic, startingTimestamp=late, **strategy) == []


def test_filters_bound_what_is_read(bootstrap: str, new_topic: NewTopic) -> None:
    from datetime import UTC, datetime

    topic = new_topic(10, 10)
    on_offset = [GreaterThanOrEqual(("offset",), 3), LessThan(("offset",), 5)]
    on_partition = EqualTo(("partition",), 1)
    assert read(bootstrap, *on_offset, on_partition, subscribe=topic) == values(1, 3, 4)
    # Of a batch with an old and a new record Spark drops the old one itself.
    moment = datetime.fromtimestamp(START_MS / 1000 + 8, UTC)
    since = GreaterThanOrEqual(("timestamp",), moment)
    found = read(bootstrap, since, on_partition, subscribe=topic)
    assert found[-2:] == values(1, 8, 9)
    assert len(found) < 10
    assert read(bootstrap, EqualTo(("topic",), "other"), subscribe=topic) == []


def test_a_schema_may_choose_columns_but_not_change_them(
    bootstrap: str, new_topic: NewTopic
) -> None:
    made = source(bootstrap, subscribe=new_topic(1))
    with pytest.raises(PipelineError, match="gives value the type string: it is read as binary"):
        made.reader(StructType([StructField("value", StringType())]))
    with pytest.raises(PipelineError, match="a column amount, which records do not have"):
        made.reader(StructType([StructField("amount", StringType())]))


@pytest.mark.parametrize(
    "options, said",
    [
        ({"subscribe": "nope"}, "topic nope does not exist"),
        ({"assign": '{"TOPIC": [7]}'}, "names TOPIC-7, which does not exist"),
        ({"startingOffsets": '{"TOPIC": {"0": 1}}'}, "TOPIC-1 is missing"),
        ({"startingOffsets": '{"TOPIC": {"0": 1, "1": 1, "2": 1}}'}, "TOPIC-2 is not read"),
        ({"startingOffsets": '{"TOPIC": {"0": 9, "1": 1}}'}, "offset 9 of TOPIC-0, which has 0 to"),
        (
            {
                "startingOffsets": '{"TOPIC": {"0": 3, "1": 1}}',
                "endingOffsets": '{"TOPIC": {"0": 2, "1": 1}}',
            },
            "TOPIC-0 would be read from 3 to 2",
        ),
        ({"kafka.bootstrap.servers": "127.0.0.1:1"}, "cannot connect to 127.0.0.1:1"),
    ],
)
def test_what_cannot_be_read_is_said_when_the_query_is_planned(
    bootstrap: str, new_topic: NewTopic, options: dict[str, str], said: str
) -> None:
    topic = new_topic(3, 3)
    named = {name: value.replace("TOPIC", topic) for name, value in options.items()}
    if "assign" not in named:
        named.setdefault("subscribe", topic)
    with pytest.raises(PipelineError) as failed:
        tasks(bootstrap, **named)
    assert said.replace("TOPIC", topic) in str(failed.value)


def test_an_offset_that_is_gone_is_an_error_or_passed_over(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(10)
    reader, planned = tasks(bootstrap, subscribe=topic)
    lenient, _ = tasks(bootstrap, subscribe=topic, failOnDataLoss="false")
    with Admin(bootstrap) as admin:
        admin.delete_records({TopicPartition(topic, 0): 6})
        with pytest.raises(PipelineError, match=r"it begins at 6 and ends at 10.*failOnDataLoss"):
            list(reader.read(planned[0]))
        found = [row["value"] for made in lenient.read(planned[0]) for row in made.to_pylist()]
        assert found == [b"0:6", b"0:7", b"0:8", b"0:9"]
        admin.delete_topics([topic])
    with pytest.raises(PipelineError, match=f"topic {topic} does not exist"):
        list(reader.read(planned[0]))
    assert list(lenient.read(planned[0])) == []


def test_a_damaged_batch_is_named_with_its_partition_and_offset(
    pipeline_broker: RunningBroker, new_topic: NewTopic
) -> None:
    topic = new_topic(5)
    reader, planned = tasks(pipeline_broker.bootstrap, subscribe=topic)
    segment = pipeline_broker.data_dir / f"{topic}-0" / "00000000000000000000.log"
    data = bytearray(segment.read_bytes())
    data[data.index(b"0:2")] ^= 1
    segment.write_bytes(data)
    with pytest.raises(PipelineError, match=f"{topic}-0 cannot be read: the checksum of the batch"):
        list(reader.read(planned[0]))

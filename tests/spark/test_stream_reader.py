"""A stream, driven as Spark drives it, on a real broker but without Spark."""

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

import json
from typing import Any

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.spark.source import MoldauDataSource
from tests.spark.conftest import NewTopic


class Stream:
    """A query: where it is, and what it has read."""

    def __init__(self, bootstrap: str, topic: str, **options: Any) -> None:
        given = {
            "kafka.bootstrap.servers": bootstrap,
            "columns": "value",
            "subscribe": topic,
            "startingOffsets": "earliest",
            **options,
        }
        source = MoldauDataSource({name.lower(): str(value) for name, value in given.items()})
        self.reader: Any = source.streamReader(source.schema())
        # Spark keeps positions as text.
        self.position = json.dumps(self.reader.initialOffset())

    def trigger(self) -> list[str]:
        """One micro-batch; nothing if nothing is new."""
        limit = self.reader.getDefaultReadLimit()
        end = json.dumps(self.reader.latestOffset(json.loads(self.position), limit))
        if end == self.position:
            return []
        found = self.read(end)
        self.position = end
        return found

    def read(self, end: str) -> list[str]:
        planned = self.reader.partitions(json.loads(self.position), json.loads(end))
        return sorted(
            row["value"].decode()
            for task in planned
            for made in self.reader.read(task)
            for row in made.to_pylist()
        )


def send(bootstrap: str, topic: str, *values: bytes, partition: int = 0) -> None:
    with Producer(bootstrap) as producer:
        for value in values:
            producer.send(topic, value, partition=partition)


def test_each_trigger_brings_what_is_new(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    stream = Stream(bootstrap, topic)
    assert stream.trigger() == ["0:0", "0:1"]
    assert stream.trigger() == []
    send(bootstrap, topic, b"more")
    assert stream.trigger() == ["more"]
    assert stream.reader.reportLatestOffset() == {topic: {"0": 3}}


def test_by_default_a_stream_begins_at_the_end(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    stream = Stream(bootstrap, topic, startingOffsets="latest")
    assert stream.trigger() == []
    send(bootstrap, topic, b"more")
    assert stream.trigger() == ["more"]


def test_a_first_batch_that_is_repeated_begins_where_it_began(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    crashed = Stream(bootstrap, topic, startingOffsets="latest")
    send(bootstrap, topic, b"a", b"b")
    limit = crashed.reader.getDefaultReadLimit()
    end = json.dumps(crashed.reader.latestOffset(json.loads(crashed.position), limit))
    send(bootstrap, topic, b"c")
    # Spark asks for the initial offsets again, and "latest" is behind the batch by now.
    again = Stream(bootstrap, topic, startingOffsets="latest")
    assert again.read(end) == ["a", "b"]
    again.position = end
    assert again.trigger() == ["c"]


def test_a_limit_admits_so_many_at_a_time(bootstrap: str, new_topic: NewTopic) -> None:
    stream = Stream(bootstrap, new_topic(6, 2), maxOffsetsPerTrigger=4)
    assert stream.reader.getDefaultReadLimit() == ReadMaxRows(4)
    assert stream.trigger() == ["0:0", "0:1", "0:2", "1:0"]
    assert stream.trigger() == ["0:3", "0:4", "0:5", "1:1"]
    assert stream.trigger() == []


def test_too_little_is_waited_for_but_not_for_ever(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(1)
    patient = Stream(bootstrap, topic, minOffsetsPerTrigger=3)
    hasty = Stream(bootstrap, topic, minOffsetsPerTrigger=3, maxTriggerDelay="0ms")
    # The first batch takes what is there.
    assert patient.trigger() == hasty.trigger() == ["0:0"]
    send(bootstrap, topic, b"a", b"b")
    assert patient.trigger() == []
    assert hasty.trigger() == ["a", "b"]
    send(bootstrap, topic, b"c")
    assert patient.trigger() == ["a", "b", "c"]


def test_available_now_stops_at_what_was_there_when_it_began(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(3)
    stream = Stream(bootstrap, topic, maxOffsetsPerTrigger=2, minOffsetsPerTrigger=2)
    stream.reader.prepareForTriggerAvailableNow()
    send(bootstrap, topic, b"too late")
    assert stream.trigger() == ["0:0", "0:1"]
    assert stream.trigger() == ["0:2"]
    assert stream.trigger() == []


def test_a_trigger_without_limit_takes_everything(bootstrap: str, new_topic: NewTopic) -> None:
    stream = Stream(bootstrap, topic := new_topic(5), maxOffsetsPerTrigger=2)
    start = json.loads(stream.position)
    end = stream.reader.latestOffset(start, ReadAllAvailable())
    assert end[topic] == {"0": 5}


def test_new_partitions_and_new_topics_appear(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(1)
    stream = Stream(bootstrap, "", subscribe="", subscribePattern=f"{topic}.*")
    assert stream.trigger() == ["0:0"]
    with Admin(bootstrap) as admin:
        admin.create_partitions(topic, 2)
        admin.create_topic(f"{topic}-too", 1)
    send(bootstrap, topic, b"in a new partition", partition=1)
    send(bootstrap, f"{topic}-too", b"in a new topic")
    assert stream.trigger() == ["in a new partition", "in a new topic"]


def test_progress_shows_as_a_consumer_group(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(5)
    group = f"group-of-{topic}"
    stream = Stream(bootstrap, topic, groupId=group, maxOffsetsPerTrigger=3)

    def committed() -> int | None:
        with Admin(bootstrap) as admin:
            found = GroupAdmin(admin.cluster).offsets(group).get(TopicPartition(topic, 0))
            return None if found is None else found.offset

    stream.trigger()
    assert committed() is None, "the batch is not done yet"
    stream.reader.commit(json.loads(stream.position))
    assert committed() == 3
    stream.trigger()
    # After its last batch Spark commits nothing, but it asks once more for what is new.
    assert stream.trigger() == []
    assert committed() == 5


def test_a_group_that_consumers_use_is_refused(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(1)
    group = f"group-of-{topic}"
    stream = Stream(bootstrap, topic, groupId=group)
    stream.trigger()
    with GroupConsumer(bootstrap, group, [topic], auto_offset_reset="earliest") as consumer:
        assert consumer.poll(20)
        with pytest.raises(PipelineError, match=f"groupId={group}: group {group} has members"):
            stream.reader.commit(json.loads(stream.position))


def test_without_a_group_nothing_is_committed(bootstrap: str, new_topic: NewTopic) -> None:
    stream = Stream(bootstrap, new_topic(1))
    stream.trigger()
    stream.reader.commit(json.loads(stream.position))
    assert stream.reader._progress is None


def test_a_topic_made_anew_under_a_checkpoint_is_lost_data(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(5)
    strict = Stream(bootstrap, topic)
    lenient = Stream(bootstrap, topic, failOnDataLoss="false")
    assert len(strict.trigger()) == len(lenient.trigger()) == 5
    with Admin(bootstrap) as admin:
        admin.delete_topics([topic])
        admin.create_topic(topic, 1)
    send(bootstrap, topic, b"a")
    with pytest.raises(PipelineError, match=f"{topic}-0 may be lost: its end went back from 5 to"):
        strict.trigger()
    assert lenient.trigger() == []
    send(bootstrap, topic, b"b")
    assert lenient.trigger() == ["b"]

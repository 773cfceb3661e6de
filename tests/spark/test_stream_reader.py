"""A stream reader, called as by Spark, on a real broker but without Spark."""

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
from moldau.spark import positions
from moldau.spark.errors import PipelineError
from moldau.spark.source import MoldauDataSource
from tests.spark.conftest import NewTopic


def open_reader(bootstrap: str, topic: str, **options: Any) -> Any:
    """What a run of a query asks."""
    given = {
        "kafka.bootstrap.servers": bootstrap,
        "columns": "value",
        "subscribe": topic,
        "startingOffsets": "earliest",
        **options,
    }
    source = MoldauDataSource({name.lower(): str(value) for name, value in given.items()})
    return source.streamReader(source.schema())


class Stream:
    """A query: where it is, and what it has read."""

    def __init__(self, bootstrap: str, topic: str, **options: Any) -> None:
        self.reader = open_reader(bootstrap, topic, **options)
        # Spark keeps positions as text.
        self.position = json.dumps(self.reader.initialOffset())

    @classmethod
    def restarted(cls, bootstrap: str, topic: str, position: str, **options: Any) -> "Stream":
        """Another run of a query whose checkpoint is at ``position``."""
        stream = cls(bootstrap, topic, **options)
        stream.position = position
        return stream

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


def test_streams_begin_at_the_end_of_a_topic_that_is_being_written(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(1)
    for number in range(20):
        stream = Stream(bootstrap, topic, startingOffsets="latest")
        # Spark plans a first batch even if nothing is new, and asks again where it begins.
        limit = stream.reader.getDefaultReadLimit()
        end = json.dumps(stream.reader.latestOffset(json.loads(stream.position), limit))
        send(bootstrap, topic, b"%d" % number)
        stream.position = json.dumps(stream.reader.initialOffset())
        assert stream.read(end) == []
        stream.position = end
        assert stream.trigger() == [str(number)]


def test_a_first_batch_without_records_may_be_repeated(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(1)
    crashed = Stream(bootstrap, topic, startingOffsets="latest")
    send(bootstrap, topic, b"a")
    again = Stream(bootstrap, topic, startingOffsets="latest")
    assert again.read(crashed.position) == []
    again.position = crashed.position
    assert again.trigger() == ["a"]


def test_available_now_may_begin_behind_what_was_there(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(1)
    reader = open_reader(bootstrap, topic, startingOffsets="latest")
    reader.prepareForTriggerAvailableNow()
    send(bootstrap, topic, b"a")
    start = reader.initialOffset()
    assert reader.partitions(start, reader.latestOffset(start, ReadAllAvailable())) == []


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
        assert consumer.poll(120)
        with pytest.raises(PipelineError, match=f"groupId={group}: group {group} has members"):
            stream.reader.commit(json.loads(stream.position))


def test_without_a_group_nothing_is_committed(bootstrap: str, new_topic: NewTopic) -> None:
    stream = Stream(bootstrap, new_topic(1))
    stream.trigger()
    stream.reader.commit(json.loads(stream.position))
    assert stream.reader._progress is None


def remake(bootstrap: str, topic: str, *values: bytes) -> None:
    with Admin(bootstrap) as admin:
        admin.delete_topics([topic])
        admin.create_topic(topic, 1)
    send(bootstrap, topic, *values)


def plan(stream: Stream) -> str:
    """What Spark writes to its checkpoint before a batch."""
    limit = stream.reader.getDefaultReadLimit()
    return json.dumps(stream.reader.latestOffset(json.loads(stream.position), limit))


@pytest.mark.parametrize("count", [1, 5, 9])
def test_a_topic_made_anew_under_a_checkpoint_is_lost_data(
    count: int, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(5)
    strict = Stream(bootstrap, topic)
    lenient = Stream(bootstrap, topic, failOnDataLoss="false")
    assert len(strict.trigger()) == len(lenient.trigger()) == 5
    values = [b"%d" % number for number in range(count)]
    remake(bootstrap, topic, *values)
    for stream in (strict, Stream.restarted(bootstrap, topic, strict.position)):
        with pytest.raises(PipelineError, match=f"{topic}-0 may be lost: the topic was deleted"):
            plan(stream)
    # All of the new topic is read, whether it has more or fewer records than the old one had.
    restarted = Stream.restarted(bootstrap, topic, lenient.position, failOnDataLoss="false")
    for stream in (lenient, restarted):
        assert stream.trigger() == [value.decode() for value in values]
        assert stream.trigger() == []
    send(bootstrap, topic, b"more")
    assert lenient.trigger() == ["more"]


def test_a_topic_that_is_deleted_while_its_end_is_asked_for_is_lost_data(
    bootstrap: str, new_topic: NewTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = new_topic(2)
    stream = Stream(bootstrap, topic, subscribe="", subscribePattern=topic)
    assert stream.trigger() == ["0:0", "0:1"]
    list_offsets = positions.list_offsets

    def delete_before(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(positions, "list_offsets", list_offsets)
        with Admin(bootstrap) as admin:
            admin.delete_topics([topic])
        return list_offsets(*args, **kwargs)

    monkeypatch.setattr(positions, "list_offsets", delete_before)
    with pytest.raises(PipelineError, match=f"{topic}-0 may be lost: it is not there any more"):
        stream.trigger()


def test_a_batch_is_not_repeated_on_a_topic_made_anew(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    crashed = Stream(bootstrap, topic)
    end = plan(crashed)
    remake(bootstrap, topic, b"a", b"b", b"c")
    again = Stream.restarted(bootstrap, topic, crashed.position)
    with pytest.raises(PipelineError, match=f"{topic}-0 may be lost: the topic was deleted"):
        again.read(end)
    lenient = Stream.restarted(bootstrap, topic, crashed.position, failOnDataLoss="false")
    assert lenient.read(end) == []
    lenient.position = end
    assert lenient.trigger() == ["a", "b", "c"]


def test_a_checkpoint_without_topic_ids_goes_on(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(5)
    position = json.dumps({topic: {"0": 3}})
    assert Stream.restarted(bootstrap, topic, position).trigger() == ["0:3", "0:4"]
    remake(bootstrap, topic, b"a")
    with pytest.raises(PipelineError, match=f"{topic}-0 may be lost: its end went back from 3 to"):
        plan(Stream.restarted(bootstrap, topic, position))


def test_another_topic_under_a_checkpoint_is_refused_before_the_batch_is_planned(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic, other = new_topic(3), new_topic(2)
    stream = Stream(bootstrap, topic)
    stream.trigger()
    mistaken = Stream.restarted(bootstrap, other, stream.position)
    with pytest.raises(PipelineError, match=f"{topic}-0 may be lost: .* does not subscribe to it"):
        plan(mistaken)
    send(bootstrap, topic, b"more")
    assert Stream.restarted(bootstrap, topic, stream.position).trigger() == ["more"]


def test_a_topic_that_was_left_out_for_a_while_goes_on_where_it_was(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic, other = new_topic(3), new_topic(2)
    stream = Stream(bootstrap, topic, failOnDataLoss="false")
    stream.trigger()
    mistaken = Stream.restarted(bootstrap, other, stream.position, failOnDataLoss="false")
    assert mistaken.trigger() == ["0:0", "0:1"]
    assert mistaken.trigger() == []
    send(bootstrap, topic, b"more")
    back = Stream.restarted(bootstrap, topic, mistaken.position)
    # The other one is what is left out now.
    with pytest.raises(PipelineError, match=f"{other}-0 may be lost: .* does not subscribe to it"):
        plan(back)
    back = Stream.restarted(bootstrap, topic, mistaken.position, failOnDataLoss="false")
    assert back.trigger() == ["more"]
    remake(bootstrap, other, b"a", b"b", b"c")
    both = Stream.restarted(bootstrap, f"{topic},{other}", back.position, failOnDataLoss="false")
    assert both.trigger() == ["a", "b", "c"]


def test_a_checkpoint_that_an_older_version_spoiled_is_told_its_remedy(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic, other = new_topic(3), new_topic(2)
    stream = Stream.restarted(bootstrap, topic, json.dumps({topic: {"0": 1}}))
    spoiled = json.dumps({other: {"0": 2}})
    with pytest.raises(PipelineError, match="delete the newest file in offsets/"):
        stream.read(spoiled)

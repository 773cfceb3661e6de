"""When a task is done its rows are in the topic: on a real broker, without Spark."""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tools.brokers import free_port

from moldau.client.admin import Admin
from moldau.client.partitioner import partition_of_key
from moldau.spark.errors import PipelineError
from moldau.spark.sink_options import parse_sink_options
from moldau.spark.writing import send_rows, write_rows
from tests.client.reading import read_all
from tests.running import RunningBroker
from tests.spark.conftest import NewTopic


def write(bootstrap: str, *batches: pa.RecordBatch, **options: str) -> int:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    parsed = parse_sink_options({"kafka.bootstrap.servers": bootstrap, **dotted})
    return write_rows(iter(batches), parsed)


def numbered(first: int, last: int, width: int = 50) -> pa.RecordBatch:
    """Rows whose keys and values say their number."""
    keys = [b"key-%d" % (number % 17) for number in range(first, last)]
    values = [b"%d " % number * width for number in range(first, last)]
    return pa.RecordBatch.from_pydict({"key": keys, "value": values})


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_rows_of_several_batches_arrive_in_order_by_key(
    bootstrap: str, new_topic: NewTopic, codec: str
) -> None:
    topic = new_topic(0, 0, 0)
    options = {"topic": topic, "kafka__compression__type": codec, "kafka__batch__size": "2000"}
    assert write(bootstrap, numbered(0, 300), numbered(300, 500), **options) == 500
    # The same process writes on, as a worker does with its next task.
    assert write(bootstrap, numbered(500, 600), **options) == 100
    records = read_all(bootstrap, topic, 600)
    numbers: dict[bytes, list[int]] = {}
    for record in records:
        assert record.key is not None
        assert record.value is not None
        assert record.partition == partition_of_key(record.key, 3)
        numbers.setdefault(record.key, []).append(int(record.value.split()[0]))
    assert all(found == sorted(found) for found in numbers.values())
    assert sorted(number for found in numbers.values() for number in found) == list(range(600))


def test_rows_find_their_topics(bootstrap: str, new_topic: NewTopic) -> None:
    topics = [new_topic(0), new_topic(0, 0)]
    rng = random.Random(1)
    chosen = [rng.choice(topics) for _ in range(50)]
    batch = pa.RecordBatch.from_pydict({"topic": chosen, "value": [b"x"] * 50})
    assert write(bootstrap, batch) == 50
    for topic in topics:
        assert len(read_all(bootstrap, topic, chosen.count(topic))) == chosen.count(topic)


def test_more_partitions_are_used_by_the_next_task(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(0)
    write(bootstrap, numbered(0, 20), topic=topic)
    with Admin(bootstrap) as admin:
        admin.create_partitions(topic, 4)
    write(bootstrap, numbered(20, 100), topic=topic)
    assert {record.partition for record in read_all(bootstrap, topic, 100)} == {0, 1, 2, 3}


def test_a_record_that_the_topic_refuses_is_an_error_with_the_remedy(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(configs={"max.message.bytes": "1000"})
    with pytest.raises(PipelineError, match=r"max\.message\.bytes of the topic: raise that"):
        write(bootstrap, numbered(0, 10, width=1000), topic=topic)
    # And the next task is not disturbed by what this one has left behind.
    assert write(bootstrap, numbered(0, 10, width=10), topic=topic) == 10


def test_batches_that_the_topic_refuses_are_made_smaller(
    bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(configs={"max.message.bytes": "1000"})
    assert write(bootstrap, numbered(0, 200, width=10), topic=topic) == 200
    assert len(read_all(bootstrap, topic, 200)) == 200


def test_a_broker_that_is_not_there_is_named() -> None:
    port = free_port()
    with pytest.raises(PipelineError, match=f"cannot connect to 127.0.0.1:{port}"):
        write(f"127.0.0.1:{port}", numbered(0, 1), topic="orders")


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that creates no topics by itself."""
    directory: Path = tmp_path_factory.mktemp("strict") / "data"
    with RunningBroker(directory, {"auto.create.topics.enable": "false"}) as running:
        yield running.bootstrap


def test_a_topic_that_does_not_exist_is_named(strict: str) -> None:
    with pytest.raises(PipelineError, match="topic nope does not exist"):
        write(strict, numbered(0, 1), topic="nope")


def test_rows_that_cannot_be_written_are_left_out_where_that_is_asked_for(
    bootstrap: str, new_topic: NewTopic
) -> None:
    small = new_topic(configs={"max.message.bytes": "1000"})
    keyed = new_topic(configs={"cleanup.policy": "compact"})
    rows: list[tuple[str, int | None, bytes | None, bytes]] = [
        *((small, None, None, b"small %d" % number) for number in range(20)),
        (small, None, None, b"x" * 2000),
        (small, None, None, b"after"),
        (small, 7, None, b"nowhere"),
        (small, None, None, b"y" * 20_000),
        ("not/a topic", None, None, b"invalid"),
        *((keyed, None, b"k%d" % number, b"keyed %d" % number) for number in range(20)),
        (keyed, None, None, b"no key"),
        (keyed, None, b"last", b"keyed last"),
    ]
    topics, partitions, keys, values = zip(*rows, strict=True)
    batch = pa.RecordBatch.from_pydict(
        {
            "topic": topics,
            "partition": pa.array(partitions, pa.int32()),
            "key": pa.array(keys, pa.binary()),
            "value": values,
        }
    )
    settings = {"kafka.bootstrap.servers": bootstrap, "kafka.max.request.size": "10000"}
    left_out: list[tuple[int, str]] = []
    writer = send_rows(
        iter([batch]),
        parse_sink_options(settings),
        lambda count, reason: left_out.append((count, reason)),
    )
    # Records without a key go to a compacted topic no more than large ones; the others stay.
    assert writer.written == 42
    assert [record.value for record in read_all(bootstrap, small, 21)] == [
        *(b"small %d" % number for number in range(20)),
        b"after",
    ]
    assert [record.value for record in read_all(bootstrap, keyed, 21)] == [
        *(b"keyed %d" % number for number in range(20)),
        b"keyed last",
    ]
    assert [count for count, _ in left_out] == [1] * 5
    said = "\n".join(reason for _, reason in left_out)
    for words in ("max.request.size=10000", "partition 7", "not/a topic", "max.message.bytes"):
        assert words in said, said


def test_brokers_that_are_away_leave_no_row_out() -> None:
    batch = pa.RecordBatch.from_pydict({"topic": ["any"], "value": [b"x"]})
    refused: list[str] = []
    parsed = parse_sink_options({"kafka.bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(PipelineError):
        send_rows(iter([batch]), parsed, lambda _, reason: refused.append(reason))
    assert refused == []

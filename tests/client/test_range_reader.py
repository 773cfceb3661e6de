"""A range of a partition: all of it, in order, whatever happens on the way."""

from collections.abc import Callable

import pytest

from moldau.client.admin import Admin
from moldau.client.cluster import Cluster
from moldau.client.producer import Producer
from moldau.client.range_reader import FetchSettings, RangeReader
from moldau.client.visibility import visible_batches
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.records import decode_records

RECORDS = 50


@pytest.fixture(scope="module")
def partition(bootstrap: str, new_topic: Callable[[], str]) -> TopicPartition:
    """Fifty records in batches of a few."""
    name = new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(name, 1)
    with Producer(bootstrap, batch_size=100) as producer:
        for number in range(RECORDS):
            producer.send(name, b"%d" % number, partition=0)
    return TopicPartition(name, 0)


def offsets(reader: RangeReader, partition: TopicPartition, start: int, end: int) -> list[int]:
    found: list[int] = []
    for fetched in reader.read(partition, start, end):
        for position, _ in visible_batches(
            fetched.data, fetched.batches, fetched.position, read_committed=True
        ):
            found += [record.offset for record in decode_records(fetched.batches, position)]
    return found


@pytest.mark.parametrize("max_bytes", [1, 300, 1 << 20])
def test_every_record_of_a_range_comes_once(
    bootstrap: str, partition: TopicPartition, max_bytes: int
) -> None:
    with Cluster(bootstrap) as cluster:
        reader = RangeReader(cluster, FetchSettings(max_bytes=max_bytes))
        found = offsets(reader, partition, 13, 37)
    # Batches are complete: they may begin before and end after the range.
    assert found == list(range(found[0], found[-1] + 1))
    assert found[0] <= 13
    assert found[-1] >= 36


def test_a_reader_that_stops_half_way_leaves_nothing_for_the_next_to_stumble_over(
    bootstrap: str, partition: TopicPartition
) -> None:
    with Cluster(bootstrap) as cluster:
        reader = RangeReader(cluster, FetchSettings(max_bytes=1))
        half = reader.read(partition, 0, RECORDS)
        next(half)
        half.close()  # type: ignore[attr-defined]
        assert offsets(reader, partition, 0, RECORDS) == list(range(RECORDS))


def test_a_connection_that_breaks_is_made_again(bootstrap: str, partition: TopicPartition) -> None:
    with Cluster(bootstrap) as cluster:
        reader = RangeReader(cluster, FetchSettings(max_bytes=1))
        found: list[int] = []
        for fetched in reader.read(partition, 0, RECORDS):
            found += [record.offset for record in decode_records(fetched.batches)]
            for connection in cluster._connections.values():
                connection._socket.close()
        assert found == list(range(RECORDS))


@pytest.mark.parametrize("start", [-5, RECORDS + 1])
def test_an_offset_that_is_not_there_names_what_is(
    bootstrap: str, partition: TopicPartition, start: int
) -> None:
    with Cluster(bootstrap) as cluster:
        reader = RangeReader(cluster, FetchSettings())
        with pytest.raises(ApiError, match=f"begins at 0 and ends at {RECORDS}") as failed:
            offsets(reader, partition, start, RECORDS + 5)
    assert failed.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_range_that_is_longer_than_the_log_is_waited_for_and_then_refused(
    bootstrap: str, partition: TopicPartition
) -> None:
    with Cluster(bootstrap, timeout_s=0.2) as cluster:
        reader = RangeReader(cluster, FetchSettings(max_wait_ms=50))
        with pytest.raises(ApiError, match=f"no offset {RECORDS}"):
            offsets(reader, partition, 0, RECORDS + 1)


def test_a_topic_made_anew_is_found_under_its_new_id(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    name = new_topic()
    partition = TopicPartition(name, 0)
    with Admin(bootstrap) as admin, Cluster(bootstrap) as cluster:
        reader = RangeReader(cluster, FetchSettings())
        for _ in range(2):
            admin.create_topic(name, 1)
            with Producer(bootstrap) as producer:
                producer.send(name, b"x", partition=0)
            assert offsets(reader, partition, 0, 1) == [0]
            admin.delete_topics([name])
        with pytest.raises(ApiError, match=f"topic {name} does not exist"):
            offsets(reader, partition, 0, 1)

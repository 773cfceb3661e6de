"""A source is polled ahead of its query, on a thread that may block."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from moldau.connect.connector import OffsetReader, SourceConnector
from moldau.connect.data.errors import RetriableError
from moldau.connect.data.record import SourceRecord
from moldau.connect.engine.polling import MANY_ROWS, Poller, StoredReader, last_offsets
from moldau.connect.engine.runs import RunDirectory
from moldau.connect.engine.source_rows import as_batch

PLACE = {"file": "a", "part": 1}


def record(number: int, partition: dict[str, Any] | None = None) -> SourceRecord:
    return SourceRecord(
        "t",
        value=str(number).encode(),
        source_partition=partition or PLACE,
        source_offset={"next": number + 1},
    )


class Scripted(SourceConnector):
    """Returns or raises one thing after the other, then nothing."""

    def __init__(self, *steps: list[SourceRecord] | Exception) -> None:
        self._steps = iter(steps)
        self.committed: list[Any] = []
        self.polls = 0
        self.is_stopped = threading.Event()

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        pass

    def poll(self) -> list[SourceRecord]:
        self.polls += 1
        step = next(self._steps, [])
        if isinstance(step, Exception):
            raise step
        return step

    def commit(self, offsets: Any) -> None:
        self.committed.append(offsets)

    def stop(self) -> None:
        self.is_stopped.set()


def rows(records: list[SourceRecord]) -> pa.RecordBatch:
    return as_batch([(each.topic, None, None, each.value, None, None) for each in records])


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


@pytest.fixture
def started(directory: RunDirectory) -> Iterator[Any]:
    made: list[Poller] = []

    def start(source: SourceConnector, stored: Any = (), begin: Any = lambda: None) -> Poller:
        poller = Poller(source, begin, rows, lambda _: None, directory, StoredReader(list(stored)))
        poller.start()
        made.append(poller)
        return poller

    yield start
    for poller in made:
        poller.stop()


def values(poller: Poller, wanted: int) -> tuple[list[str], Any]:
    found: list[str] = []
    offsets = None
    while len(found) < wanted:
        polled = poller.take(10.0)
        assert polled is not None
        offsets = polled.offsets
        for batch in polled.batches:
            found += [each.decode() for each in batch.column("value").to_pylist()]
    return found, offsets


def test_everything_that_was_polled_is_taken_once_with_the_last_offsets(started: Any) -> None:
    poller = started(Scripted([record(1), record(2)], [], [record(3)]))
    found, offsets = values(poller, 3)
    assert found == ["1", "2", "3"]
    assert offsets == [(PLACE, {"next": 4})]
    assert poller.take(0.01) is None


def test_after_many_records_more_are_collected_until_there_are_none(
    directory: RunDirectory,
) -> None:
    may_poll = {1: threading.Event(), 2: threading.Event()}

    class Stream(Scripted):
        def poll(self) -> list[SourceRecord]:
            if self.polls in may_poll:
                may_poll[self.polls].wait(60)
            return super().poll()

    source = Stream([record(0)] * MANY_ROWS, [record(1)], [record(2)])
    poller = Poller(
        source, lambda: None, rows, lambda _: None, directory, StoredReader([]), linger_s=3600
    )
    poller.start()
    assert len(values(poller, MANY_ROWS)[0]) == MANY_ROWS
    may_poll[1].set()
    # The source has given a record since, or will soon; it may have more.
    assert poller.take(0.05) is None
    may_poll[2].set()
    assert values(poller, 2)[0] == ["1", "2"]
    poller.stop()


def test_an_error_comes_after_the_records_before_it(started: Any) -> None:
    poller = started(Scripted([record(1)], OSError("gone")))
    assert values(poller, 1)[0] == ["1"]
    with pytest.raises(OSError, match="gone"):
        poller.take(10.0)


def test_what_may_pass_is_polled_again(started: Any) -> None:
    poller = started(Scripted(RetriableError("later"), [record(1)]))
    assert values(poller, 1)[0] == ["1"]


def test_records_wait_for_their_topics_until_brokers_are_back(directory: RunDirectory) -> None:
    tries = iter([RetriableError("no broker"), RetriableError("no broker"), None])

    def prepare(_: pa.RecordBatch) -> None:
        if error := next(tries):
            raise error

    source = Scripted([record(1), record(2)])
    poller = Poller(source, lambda: None, rows, prepare, directory, StoredReader([]), retry_s=0.01)
    poller.start()
    assert values(poller, 2)[0] == ["1", "2"]
    poller.stop()
    assert source.is_stopped.is_set()


def test_a_source_can_be_stopped_while_its_records_wait(directory: RunDirectory) -> None:
    has_tried = threading.Event()

    def prepare(_: pa.RecordBatch) -> None:
        has_tried.set()
        raise RetriableError("no broker")

    source = Scripted([record(1)])
    poller = Poller(source, lambda: None, rows, prepare, directory, StoredReader([]))
    poller.start()
    assert has_tried.wait(60)
    poller.stop()
    assert source.is_stopped.wait(60)
    assert poller.take(0.01) is None


def test_a_start_that_fails_is_raised_and_a_source_that_blocks_does_not_block(
    started: Any,
) -> None:
    def fail() -> None:
        raise ValueError("no such table")

    with pytest.raises(ValueError, match="no such table"):
        started(Scripted(), begin=fail).take(10.0)
    blocked = threading.Event()
    poller = started(Scripted(), begin=blocked.wait)
    assert poller.take(0.01) is None
    blocked.set()


def test_the_source_hears_what_is_durable(started: Any, directory: RunDirectory) -> None:
    directory.put_durable([(PLACE, {"next": 7})])
    source = Scripted([record(7)])
    values(started(source), 1)
    assert source.committed == [[(PLACE, {"next": 7})]]


def test_stopping_stops_the_source(started: Any) -> None:
    source = Scripted()
    started(source).stop()
    assert source.is_stopped.is_set()


def test_a_partition_keeps_the_order_in_which_it_is_stored(started: Any) -> None:
    stored = [({"part": 1, "file": "a"}, {"next": 1})]
    _, offsets = values(started(Scripted([record(1)]), stored), 1)
    assert [list(partition) for partition, _ in offsets] == [["part", "file"]]


def test_the_last_offset_of_each_partition_counts() -> None:
    other = {"file": "b"}
    records = [record(1), record(2, other), record(3), record(4, other), record(5, other)]
    assert last_offsets(records) == [(PLACE, {"next": 4}), (other, {"next": 6})]

"""The polling source, on SQLite."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import free_port

from moldau.clock import ManualClock
from moldau.connect.connector import SourcePartition
from moldau.connect.connectors.jdbc.polled_table import Progress
from moldau.connect.connectors.jdbc.source import JdbcSource
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.data.record import SourceRecord


class Offsets:
    """Stored progress."""

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        self._stored = stored

    def get(self, partition: SourcePartition) -> dict[str, Any] | None:
        return self._stored

    def items(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "source.db"
    with sqlite3.connect(made) as connection:
        connection.execute(
            "CREATE TABLE t "
            "(id INTEGER PRIMARY KEY, name TEXT NOT NULL, changed TIMESTAMP NOT NULL)"
        )
    return made


def insert(path: Path, *rows: tuple[int, str, str]) -> None:
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT OR REPLACE INTO t VALUES (?, ?, ?)", rows)


class Source:
    def __init__(
        self, path: Path, mode: str, stored: dict[str, Any] | None = None, **options: str
    ) -> None:
        self.clock = ManualClock()
        self.config = {
            "connection.url": f"jdbc:sqlite:{path}",
            "mode": mode,
            "topic.prefix": "db-",
            "table.whitelist": "t",
            "poll.interval.ms": "1000",
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        self.source = JdbcSource(self.clock)
        self.source.start(self.config, Offsets(stored))

    def poll(self) -> list[SourceRecord]:
        """All that there is now."""
        self.clock.advance(1000)
        found: list[SourceRecord] = []
        while records := self.source.poll():
            found += records
        return found

    def names(self) -> list[str]:
        return [record.value.get("name") for record in self.poll()]


@pytest.fixture
def sources() -> Iterator[list[Source]]:
    made: list[Source] = []
    yield made
    for source in made:
        source.source.stop()


DAY = "2020-01-01 00:00:0"


def test_a_growing_column_finds_new_rows(path: Path, sources: list[Source]) -> None:
    insert(path, (1, "a", f"{DAY}1"), (2, "b", f"{DAY}2"))
    source = Source(path, "incrementing", batch_max_rows="1")
    sources.append(source)
    records = source.poll()
    assert [(r.topic, r.value.get("id"), r.source_offset) for r in records] == [
        ("db-t", 1, {"incrementing": 1}),
        ("db-t", 2, {"incrementing": 2}),
    ]
    assert records[0].source_partition == {"protocol": "1", "table": "t"}
    insert(path, (1, "changed", f"{DAY}9"), (3, "c", f"{DAY}3"))
    assert source.names() == ["c"]
    again = Source(path, "incrementing", {"incrementing": 2})
    sources.append(again)
    assert again.names() == ["c"]


def test_a_timestamp_finds_changed_rows_and_keeps_equal_ones_together(
    path: Path, sources: list[Source]
) -> None:
    insert(path, *((number, f"n{number}", f"{DAY}1") for number in range(5)))
    insert(path, (9, "late", f"{DAY}2"))
    source = Source(path, "timestamp", timestamp_column_name="changed", batch_max_rows="3")
    sources.append(source)
    first = source.source.poll()
    assert first is not None
    # More rows than a batch has the same timestamp: an offset between them could not be stored.
    assert [r.value.get("name") for r in first] == ["n0", "n1", "n2", "n3", "n4"]
    assert first[-1].source_offset == {"timestamp": 1577836801000, "timestamp_nanos": 0}
    assert source.names() == ["late"]
    insert(path, (1, "changed", f"{DAY}3.5"))
    assert source.names() == ["changed"]


@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
@pytest.mark.parametrize("fraction", ["1237", "1235", "0005", "9999", "999999", "123", "1"])
def test_a_row_with_fractions_of_a_millisecond_is_read_once(
    path: Path, sources: list[Source], mode: str, fraction: str
) -> None:
    """SQLite rounds them where it compares timestamps."""
    insert(path, (1, "a", f"{DAY}1.{fraction}"))
    source = Source(path, mode, timestamp_column_name="changed")
    sources.append(source)
    first = source.source.poll()
    assert first is not None
    assert [r.value.get("name") for r in first] == ["a"]
    source.clock.advance(1000)
    assert source.source.poll() is None
    insert(path, (2, "b", f"{DAY}2.002"))
    again = Source(path, mode, first[0].source_offset, timestamp_column_name="changed")
    sources.append(again)
    assert again.names() == ["b"]


def test_both_together_give_each_row_a_position(path: Path, sources: list[Source]) -> None:
    insert(path, *((number, f"n{number}", f"{DAY}1") for number in range(1, 6)))
    source = Source(
        path, "timestamp+incrementing", timestamp_column_name="changed", batch_max_rows="2"
    )
    sources.append(source)
    records = source.poll()
    assert [r.value.get("id") for r in records] == [1, 2, 3, 4, 5]
    stored = records[2].source_offset
    assert stored == {"incrementing": 3, "timestamp": 1577836801000, "timestamp_nanos": 0}
    again = Source(path, "timestamp+incrementing", stored, timestamp_column_name="changed")
    sources.append(again)
    assert again.names() == ["n4", "n5"]


def test_bulk_gives_everything_each_time(path: Path, sources: list[Source]) -> None:
    insert(path, (1, "a", f"{DAY}1"), (2, "b", f"{DAY}2"), (3, "c", f"{DAY}2"))
    source = Source(path, "bulk", batch_max_rows="2")
    sources.append(source)
    assert source.names() == ["a", "b", "c"]
    assert source.names() == ["a", "b", "c"]


def test_a_query_can_be_polled(path: Path, sources: list[Source]) -> None:
    insert(path, (1, "a", f"{DAY}1"), (2, "b", f"{DAY}2"))
    source = Source(
        path,
        "incrementing",
        query="SELECT id, name || '!' AS name FROM t",
        table_whitelist="",
        incrementing_column_name="id",
    )
    sources.append(source)
    records = source.poll()
    assert [(r.topic, r.value.get("name"), r.source_partition) for r in records] == [
        ("db-", "a!", {"query": "query"}),
        ("db-", "b!", {"query": "query"}),
    ]


@pytest.mark.parametrize(
    ("options", "name", "message"),
    [
        ({"mode": "timestamp"}, "timestamp.column.name", "needs a column"),
        ({"mode": "timestamp", "timestamp.column.name": "x"}, "mode", "no column x"),
        ({"mode": "incrementing", "table.whitelist": "none"}, "table.whitelist", "no table"),
        ({"mode": "often"}, "mode", "bulk"),
        ({"catalog.pattern": "x"}, "catalog.pattern", "not supported: remove it"),
        ({"query": "SELECT 1", "mode": "bulk"}, "query", "no tables can be named"),
        ({"mode": "bulk", "exactly.once.support": "required"}, "exactly.once.support", "offsets"),
        ({"connection.url": "jdbc:sqlite:/nowhere/x.db"}, "connection.url", "unable to open"),
    ],
)
def test_problems_are_told_before_the_start(
    path: Path, options: dict[str, str], name: str, message: str
) -> None:
    config = {
        "connection.url": f"jdbc:sqlite:{path}",
        "mode": "incrementing",
        "topic.prefix": "p",
        "table.whitelist": "t",
        **options,
    }
    problems = JdbcSource.validate(config)
    assert [problem.name for problem in problems] == [name]
    assert message in problems[0].message


def test_offsets_keep_microseconds() -> None:
    progress = Progress(1_577_836_801_234_567, 5)
    offset = progress.to_offset()
    assert offset == {
        "incrementing": 5,
        "timestamp": 1_577_836_801_234,
        "timestamp_nanos": 234_567_000,
    }
    assert Progress.from_offset(offset) == progress
    with pytest.raises(ConnectError, match="incrementing='x'"):
        JdbcSource.alter_offsets({}, [({}, {"incrementing": "x"})])


def test_a_database_that_is_away_at_the_start_is_waited_for() -> None:
    source = JdbcSource()
    config = {
        "connection.url": f"jdbc:postgresql://127.0.0.1:{free_port()}/shop",
        "mode": "bulk",
        "topic.prefix": "db-",
    }
    source.start(config, Offsets())
    with pytest.raises(RetriableError, match="cannot connect"):
        source.poll()
    source.stop()

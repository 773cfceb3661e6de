"""The sink of tables, on SQLite: real files, real SQL."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.connect.connectors.jdbc.encode import copy_encoder
from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.connectors.jdbc.sink import JdbcSink
from moldau.connect.connectors.jdbc.sqlite import SqliteDatabase
from moldau.connect.connectors.jdbc.staging import Staged, stage_prefix
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import Schema, array, struct
from moldau.connect.data.struct import Struct
from moldau.ids import TopicPartition

KEY = struct("key", {"id": schemas.INT32})
VALUE = struct("value", {"name": schemas.STRING, "age": schemas.OPTIONAL_INT64})
WIDER = struct(
    "value",
    {"name": schemas.STRING, "age": schemas.OPTIONAL_INT64, "city": schemas.OPTIONAL_STRING},
)
PARTITION = TopicPartition("people", 0)


class Task:
    """A task of Spark, as the engine describes it. Errors are tolerated if ``bad`` is a list."""

    connector = "sink"
    batch_id = 0
    task_id = 0
    attempt = 0

    def __init__(self, bad: list[tuple[int, str]] | None = None) -> None:
        self.bad = bad

    def report(self, record: SinkRecord, error: Exception) -> None:
        if self.bad is None:
            raise error
        self.bad.append((record.offset, str(error)))


class Sink:
    """The driver and a task of one connector."""

    def __init__(self, path: Path, **options: str) -> None:
        self.config = {
            "name": "sink",
            "connection.url": f"jdbc:sqlite:{path}",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "auto.create": "true",
            "max.retries": "0",
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        self.driver = JdbcSink()
        self.driver.start(self.config)
        self.task = JdbcSink()
        self.task.open(self.config, Task())
        self.offset = self.driver.stored_offsets().get(PARTITION, 0)

    def stage(self, records: list[SinkRecord], task: Task | None = None) -> list[Staged]:
        return self.task.write(iter(records), task or Task())

    def write(self, *records: SinkRecord, task: Task | None = None) -> None:
        staged = self.stage(list(records), task)
        self.offset += len(records)
        self.driver.commit([staged], {PARTITION: self.offset}, 0)

    def stop(self) -> None:
        self.driver.stop()
        self.task.stop()


def record(
    key: int, value: dict[str, Any] | None, schema: Schema = VALUE, offset: int = 0
) -> SinkRecord:
    made = Struct(schema, value) if value is not None else None
    return SinkRecord(
        "people",
        0,
        KEY,
        Struct(KEY, {"id": key}),
        schema if value is not None else None,
        made,
        offset=offset,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "target.db"


@pytest.fixture
def sink(path: Path) -> Iterator[Sink]:
    made = Sink(path, delete_enabled="true")
    yield made
    made.stop()


def rows(path: Path, query: str = "SELECT * FROM people ORDER BY 1") -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


def drop(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE people")


def test_the_last_record_of_a_key_counts(sink: Sink, path: Path) -> None:
    sink.write(
        record(1, {"name": "Ada"}),
        record(2, {"name": "Bob", "age": 5}),
        record(1, {"name": "Ada L.", "age": 36}),
    )
    assert rows(path) == [(1, "Ada L.", 36), (2, "Bob", 5)]
    sink.write(record(2, {"name": "Bob", "age": 6}), record(3, {"name": "Eve"}))
    assert rows(path) == [(1, "Ada L.", 36), (2, "Bob", 6), (3, "Eve", None)]


def test_tombstones_delete_in_their_order(sink: Sink, path: Path) -> None:
    sink.write(record(1, {"name": "a"}), record(2, {"name": "b"}), record(3, {"name": "c"}))
    sink.write(
        record(1, None),
        record(2, None),
        record(2, {"name": "again"}),
        record(3, {"name": "last"}),
        record(3, None),
        record(9, None),
    )
    assert rows(path) == [(2, "again", None)]


@pytest.mark.parametrize("topic", ["s", "S", "t", "excluded", 'order"by', "a.b-c"])
def test_a_topic_may_have_any_name(path: Path, topic: str) -> None:
    sink = Sink(path, delete_enabled="true")
    records = [record(1, {"name": "a"}), record(2, {"name": "b"}), record(1, None)]
    for each in records:
        each.topic = topic
    sink.write(*records[:2])
    sink.write(records[2])
    sink.stop()
    table = topic.replace('"', '""')
    assert rows(path, f'SELECT * FROM "{table}"') == [(2, "b", None)]


@pytest.mark.parametrize("topic", ["s", "S", "t"])
def test_a_topic_may_have_any_name_in_update_mode(path: Path, topic: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {topic} (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
        connection.execute(f"INSERT INTO {topic} VALUES (1, 'a', 1), (2, 'b', 2)")
    sink = Sink(path, insert_mode="update")
    changed = record(2, {"name": "c"})
    changed.topic = topic
    sink.write(changed)
    sink.stop()
    assert rows(path, f"SELECT * FROM {topic} ORDER BY 1") == [(1, "a", 1), (2, "c", None)]


def test_a_null_key_of_an_optional_schema_is_a_bad_record(path: Path) -> None:
    sink = Sink(path)
    optional = KEY.optional()
    records = [record(number, {"name": "a"}, offset=number) for number in (1, 2, 3)]
    for each in records:
        each.key_schema = optional
        each.key = None if each.offset == 2 else Struct(optional, {"id": each.offset})
    bad: list[tuple[int, str]] = []
    sink.write(*records, task=Task(bad))
    sink.stop()
    assert bad == [(2, "record people-0@2: pk.mode=record_key, but the key is null")]
    assert rows(path, "SELECT id FROM people") == [(1,), (3,)]


def test_a_tombstone_without_a_table_deletes_nothing(sink: Sink, path: Path) -> None:
    sink.write(record(1, None))
    assert rows(path, "SELECT name FROM sqlite_master WHERE name = 'people'") == []
    assert sink.driver.stored_offsets() == {PARTITION: 1}


def test_offsets_are_stored_with_the_rows(sink: Sink, path: Path) -> None:
    sink.write(record(1, {"name": "a"}))
    sink.stop()
    again = Sink(path)
    assert again.driver.stored_offsets() == {PARTITION: 1}
    again.stop()


def test_a_user_can_set_stored_offsets_and_forget_them(sink: Sink) -> None:
    sink.write(record(1, {"name": "a"}), record(2, {"name": "b"}))
    assert JdbcSink.alter_offsets(sink.config, {PARTITION: 1, TopicPartition("people", 1): 9})
    stored = {PARTITION: 1, TopicPartition("people", 1): 9}
    assert sink.driver.stored_offsets() == stored
    assert JdbcSink.alter_offsets(sink.config, {PARTITION: None})
    assert sink.driver.stored_offsets() == {TopicPartition("people", 1): 9}


def test_a_batch_that_fails_leaves_nothing(path: Path) -> None:
    sink = Sink(path, insert_mode="insert")
    sink.write(record(1, {"name": "a"}))
    staged = sink.stage([record(2, {"name": "b"}), record(1, {"name": "twice"})])
    with pytest.raises(ConnectError, match="UNIQUE"):
        sink.driver.commit([staged], {PARTITION: 3}, 1)
    assert rows(path) == [(1, "a", None)]
    assert sink.driver.stored_offsets() == {PARTITION: 1}
    sink.stop()


def test_a_commit_that_is_repeated_changes_nothing(path: Path) -> None:
    sink = Sink(path, insert_mode="insert")
    staged = sink.stage([record(1, {"name": "a"})])
    sink.driver.commit([staged], {PARTITION: 1}, 0)
    # The driver did not learn that it came through.
    sink.driver._offsets = {}
    sink.driver.commit([staged], {PARTITION: 1}, 0)
    assert rows(path) == [(1, "a", None)]
    sink.stop()


def test_a_worker_that_was_replaced_cannot_write(path: Path) -> None:
    old, new = Sink(path), Sink(path)
    new.write(record(1, {"name": "new"}))
    staged = old.stage([record(1, {"name": "old"}), record(2, {"name": "old"})])
    with pytest.raises(ConnectError, match="another worker has written for connector sink"):
        old.driver.commit([staged], {PARTITION: 2}, 0)
    assert rows(path) == [(1, "new", None)]
    old.stop()
    new.stop()


def test_what_a_crash_left_behind_is_dropped_at_the_next_start(path: Path) -> None:
    sink = Sink(path)
    sink.stage([record(1, {"name": "a"})])
    sink.stop()
    query = "SELECT count(*) FROM sqlite_master WHERE name LIKE '\\_moldau%' ESCAPE '\\'"
    assert rows(path, query) == [(1,)]
    Sink(path).stop()
    assert rows(path, query) == [(0,)]


def test_no_staging_table_stays_after_a_commit(sink: Sink, path: Path) -> None:
    sink.write(record(1, {"name": "a"}), record(1, {"name": "b", "age": 1}))
    names = [name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert sorted(names) == ["moldau_connect_offsets", "people"]


def test_columns_are_added_only_if_asked_for(path: Path) -> None:
    sink = Sink(path)
    sink.write(record(1, {"name": "a"}))
    with pytest.raises(ConnectError, match=r"no columns city.*auto.evolve=true.*ADD COLUMN"):
        sink.write(record(2, {"name": "b", "city": "Wien"}, WIDER))
    sink.stop()
    evolving = Sink(path, auto_evolve="true")
    # Records of both schemas in one batch keep their order.
    evolving.write(
        record(2, {"name": "b", "city": "Wien"}, WIDER),
        record(2, {"name": "c"}),
        record(3, {"name": "d", "city": "Graz"}, WIDER),
    )
    assert rows(path) == [(1, "a", None, None), (2, "c", None, "Wien"), (3, "d", None, "Graz")]
    required = struct("value", {"name": schemas.STRING, "zip": schemas.STRING})
    with pytest.raises(
        ConnectError, match=r"table people need a default for the required field zip"
    ):
        evolving.write(record(4, {"name": "x", "zip": "1"}, required))
    evolving.stop()


def test_a_missing_table_is_named_with_the_statement_that_makes_it(path: Path) -> None:
    sink = Sink(path, auto_create="false")
    with pytest.raises(ConnectError, match=r'auto\.create=true, or run: CREATE TABLE.*"people"'):
        sink.write(record(1, {"name": "a"}))
    sink.stop()


def test_a_table_that_was_dropped_is_created_again_if_that_is_allowed(
    sink: Sink, path: Path
) -> None:
    sink.write(record(1, {"name": "a"}), record(2, None))
    drop(path)
    # There is nothing to delete.
    sink.write(record(1, None))
    assert rows(path, "SELECT name FROM sqlite_master WHERE name = 'people'") == []
    sink.write(record(2, None), record(3, {"name": "c"}))
    assert rows(path) == [(3, "c", None)]


def test_a_table_or_a_column_that_was_dropped_is_named(path: Path) -> None:
    sink = Sink(path)
    sink.write(record(1, {"name": "a"}))
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE people DROP COLUMN age")
    with pytest.raises(ConnectError, match=r"no columns age.*auto.evolve=true.*ADD COLUMN"):
        sink.write(record(2, {"name": "b"}))
    sink.stop()
    drop(path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INT)")
    sink = Sink(path, auto_create="false")
    sink.write(record(1, {"name": "a"}))
    drop(path)
    with pytest.raises(ConnectError, match=r'auto\.create=true, or run: CREATE TABLE.*"people"'):
        sink.write(record(2, {"name": "b"}))
    sink.stop()


def test_null_for_a_required_column_names_the_record(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INT NOT NULL)"
        )
    sink = Sink(path)
    with pytest.raises(
        DataError, match="record people-0@7: column age of table people is NOT NULL"
    ):
        sink.stage([record(1, {"name": "a"}, offset=7)])
    bad: list[tuple[int, str]] = []
    sink.write(
        record(1, {"name": "a"}, offset=7),
        record(2, {"name": "b", "age": 2}, offset=8),
        task=Task(bad),
    )
    assert rows(path) == [(2, "b", 2)]
    assert [offset for offset, _ in bad] == [7]
    sink.stop()


def test_a_value_that_cannot_be_written_is_a_bad_record(
    sink: Sink, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL cannot store a NUL character: the encoders say so, not the database."""
    copied = [copy_encoder(Column(name, schemas.STRING, False)) for name in ("id", "name", "age")]
    monkeypatch.setattr(SqliteDatabase, "encoders", lambda db, columns: copied)
    bad: list[tuple[int, str]] = []
    names = ("ann", "b\0b", "cid")
    people = [record(n, {"name": name, "age": n}, offset=n) for n, name in enumerate(names)]
    sink.write(*people, task=Task(bad))
    assert [row[1] for row in rows(path)] == ["ann", "cid"]
    assert [offset for offset, _ in bad] == [1]
    assert "record people-0@1: field name has a NUL character" in bad[0][1]


def test_a_field_for_which_there_is_no_type_makes_bad_records_also_where_its_column_exists(
    path: Path,
) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, tags TEXT)")
    connection.close()
    tagged = struct("value", {"name": schemas.STRING, "tags": array(schemas.STRING)})
    named = struct("value", {"name": schemas.STRING})
    sink, bad = Sink(path), list[tuple[int, str]]()
    sink.write(
        record(1, {"name": "ann"}, named),
        record(2, {"name": "bob", "tags": ["a"]}, tagged, offset=1),
        task=Task(bad),
    )
    sink.stop()
    assert rows(path, "SELECT id, name FROM people") == [(1, "ann")]
    assert [offset for offset, _ in bad] == [1]
    assert "field tags is a" in bad[0][1]


def test_update_mode_changes_only_rows_that_exist(path: Path) -> None:
    Sink(path).write(record(1, {"name": "a", "age": 1}))
    sink = Sink(path, insert_mode="update")
    sink.write(record(1, {"name": "b"}), record(1, {"name": "c"}), record(2, {"name": "new"}))
    assert rows(path) == [(1, "c", None)]
    sink.stop()


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ({"pk_mode": "none", "insert_mode": "insert"}, ["name", "age"]),
        (
            {"pk_mode": "kafka", "insert_mode": "insert"},
            ["__connect_topic", "__connect_partition", "__connect_offset", "name", "age"],
        ),
        ({"pk_mode": "kafka", "pk_fields": "t,p,o"}, ["t", "p", "o", "name", "age"]),
        ({"pk_mode": "record_value", "pk_fields": "name"}, ["name", "age"]),
        ({"pk_mode": "record_key", "fields_whitelist": "age"}, ["id", "age"]),
    ],
)
def test_the_primary_key_comes_from_where_the_options_say(
    path: Path, options: dict[str, str], columns: list[str]
) -> None:
    sink = Sink(path, **options)
    sink.write(record(1, {"name": "a", "age": 1}))
    assert [row[1] for row in rows(path, "PRAGMA table_info(people)")] == columns
    sink.stop()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (SinkRecord("people", 0, KEY, Struct(KEY, {"id": 1}), None, {"a": 1}), "no schema"),
        (SinkRecord("people", 0, None, None, VALUE, Struct(VALUE, {"name": "a"})), "key is null"),
        (
            SinkRecord("people", 0, schemas.STRING, "k", VALUE, Struct(VALUE, {"name": "a"})),
            "pk.fields must name one column",
        ),
        (record(1, None), "delete.enabled=true"),
    ],
)
def test_records_without_what_the_options_need_are_refused(
    path: Path, made: SinkRecord, message: str
) -> None:
    sink = Sink(path)
    with pytest.raises(DataError, match=message):
        sink.write(made)
    sink.stop()


def test_names_of_staging_tables_are_short_and_apart() -> None:
    assert stage_prefix("a") != stage_prefix("A")
    assert len(stage_prefix("x" * 200)) + 20 < 63


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"insert.mode": "upsert"}, "pk.mode"),
        ({"delete.enabled": "true"}, "delete.enabled"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "pk.fields"),
        ({"connection.url": "jdbc:mysql://h/d"}, "connection.url"),
        ({"dialect.name": "PostgreSqlDatabaseDialect"}, "dialect.name"),
        ({"db.timezone": "Europe/Prague"}, "db.timezone"),
    ],
)
def test_options_that_do_not_go_together_are_named(
    path: Path, options: dict[str, str], option: str
) -> None:
    problems = JdbcSink.validate({"connection.url": f"jdbc:sqlite:{path}", **options})
    assert [problem.name for problem in problems] == [option]

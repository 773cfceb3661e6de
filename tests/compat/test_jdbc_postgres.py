"""The sink and the polling source of tables, on a real PostgreSQL."""

import datetime
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.connectors.jdbc.sink import JdbcSink, StageLostError
from moldau.connect.connectors.jdbc.source import JdbcSource
from moldau.connect.data import logical
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import Schema, array, struct
from moldau.connect.data.struct import Struct
from moldau.ids import TopicPartition
from tests.compat.captures import Offsets
from tests.compat.postgres_server import HOST, PostgresServer

KEY = struct("key", {"id": schemas.INT32})
VALUE = struct("value", {"name": schemas.OPTIONAL_STRING, "age": schemas.OPTIONAL_INT64})
PARTITION = TopicPartition("people", 0)
LIMIT_S = 120


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


@pytest.fixture
def database(server: PostgresServer, request: pytest.FixtureRequest) -> str:
    name = f"d{abs(hash(request.node.name)) % 10**9}"
    server.create_database(name)
    return name


class Task:
    connector = "sink"
    batch_id = 0
    task_id = 0
    attempt = 0

    def __init__(self) -> None:
        self.bad: list[tuple[int, str]] = []
        self.tolerates = False

    def report(self, record: SinkRecord, error: Exception) -> None:
        if not self.tolerates:
            raise error
        self.bad.append((record.offset, str(error)))


class Sink:
    """The driver and a task of one connector."""

    def __init__(self, server: PostgresServer, database: str, **options: str) -> None:
        config = {
            "name": "sink",
            "connection.url": f"jdbc:postgresql://{HOST}:{server.port}/{database}",
            "connection.user": "postgres",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "auto.create": "true",
            "auto.evolve": "true",
            "max.retries": "3",
            "retry.backoff.ms": "100",
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        self.driver = JdbcSink()
        self.driver.start(config)
        self.task = JdbcSink()
        self.context = Task()
        self.task.open(config, self.context)
        self.offset = self.driver.stored_offsets().get(PARTITION, 0)

    def stage(self, records: list[SinkRecord]) -> Any:
        return self.task.write(iter(records), self.context)

    def write(self, *records: SinkRecord) -> None:
        staged = self.stage(list(records))
        self.driver.commit([staged], {PARTITION: self.offset + len(records)}, 0)
        self.offset += len(records)

    def stop(self) -> None:
        self.driver.stop()
        self.task.stop()


def record(
    key: int, value: dict[str, Any] | None, schema: Schema = VALUE, offset: int = 0
) -> SinkRecord:
    made = Struct(schema, value) if value is not None else None
    key_struct = Struct(KEY, {"id": key})
    value_schema = schema if value is not None else None
    return SinkRecord("people", 0, KEY, key_struct, value_schema, made, offset=offset)


def rows(server: PostgresServer, database: str, query: str = "TABLE people ORDER BY 1") -> Any:
    with server.connect(database) as connection:
        return connection.execute(query.encode()).fetchall()


def test_names_that_postgresql_would_cut_off_are_refused(
    server: PostgresServer, database: str
) -> None:
    sink = Sink(server, database)
    long = "t" * 63
    fits = record(1, {"name": "a"})
    fits.topic = long
    sink.write(fits)
    for topic in (f"{long}-eu", "s." + "\u00e9" * 32):
        fits.topic = topic
        with pytest.raises(ConnectError, match=r"63 bytes.*table\.name\.format") as refused:
            sink.stage([fits])
        # It is no matter of one record: errors.tolerance does not apply.
        assert not isinstance(refused.value, DataError)
        assert topic in str(refused.value)
    wide = struct("value", {"f" * 64: schemas.OPTIONAL_STRING})
    with pytest.raises(ConnectError, match="ReplaceField"):
        sink.stage([record(1, {"f" * 64: "a"}, wide)])
    sink.stop()
    assert rows(server, database, f"SELECT name FROM {long}") == [("a",)]


def test_rows_are_upserted_and_deleted_in_their_order(
    server: PostgresServer, database: str
) -> None:
    sink = Sink(server, database)
    sink.write(*(record(number, {"name": f"n{number}"}) for number in range(5000)))
    sink.write(
        record(1, {"name": "new", "age": 5}),
        record(2, None),
        record(3, None),
        record(3, {"name": "back"}),
        record(4, {"name": "gone"}),
        record(4, None),
    )
    found = rows(server, database)
    assert len(found) == 4998
    assert found[:3] == [(0, "n0", None), (1, "new", 5), (3, "back", None)]
    offsets = rows(server, database, "TABLE moldau_connect_offsets")
    assert offsets == [("sink", "people", 0, 5006)]
    stages = "SELECT relname FROM pg_class WHERE starts_with(relname, '_moldau')"
    assert rows(server, database, stages) == []
    sink.stop()


def test_every_type_arrives(server: PostgresServer, database: str) -> None:
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 6000, datetime.UTC)
    fields: dict[str, tuple[Schema, Any]] = {
        "i8": (schemas.INT8, -1),
        "i16": (schemas.INT16, 2),
        "i64": (schemas.INT64, 2**63 - 1),
        "f": (schemas.FLOAT64, float("-inf")),
        "b": (schemas.BOOLEAN, True),
        "s": (schemas.STRING, "tab\tline\n\\N \\. é"),
        "raw": (schemas.BYTES, b"\x00\xff\\"),
        "dec": (logical.decimal_schema(3), Decimal("1.500")),
        "day": (logical.DATE, moment.date()),
        "clock": (logical.TIME, moment.time()),
        "moment": (logical.TIMESTAMP, moment),
        "tags": (array(schemas.OPTIONAL_STRING), ['a"b', None, "\\", "c,d"]),
    }
    schema = struct("value", {name: kind for name, (kind, _) in fields.items()})
    sink = Sink(server, database)
    sink.write(record(1, {name: value for name, (_, value) in fields.items()}, schema))
    (row,) = rows(server, database)
    assert list(row) == [1, *(v for _, v in fields.values())][:11] + [
        moment.replace(tzinfo=None),
        ['a"b', None, "\\", "c,d"],
    ]
    sink.stop()


def test_values_that_do_not_fit_name_the_record(server: PostgresServer, database: str) -> None:
    server.run(database, "CREATE TABLE people (id int PRIMARY KEY, name varchar(3), age smallint)")
    sink = Sink(server, database)
    with pytest.raises(DataError, match=r"record people-0@5: column age: .*out of range"):
        sink.stage([record(1, {"name": "a", "age": 99999}, offset=5)])
    sink.context.tolerates = True
    sink.write(
        record(1, {"name": "a", "age": 99999}, offset=5),
        record(2, {"name": "good"}, offset=6),
        record(3, {"name": "ok", "age": 3}, offset=7),
    )
    assert rows(server, database) == [(3, "ok", 3)]
    assert [offset for offset, _ in sink.context.bad] == [5, 6]
    sink.stop()


def test_a_constraint_fails_the_whole_batch(server: PostgresServer, database: str) -> None:
    server.run(
        database, "CREATE TABLE people (id int PRIMARY KEY, name text, age int CHECK (age > 0))"
    )
    sink = Sink(server, database)
    sink.write(record(1, {"name": "a", "age": 1}))
    staged = sink.stage([record(2, {"name": "b", "age": 2}), record(3, {"name": "c", "age": -1})])
    with pytest.raises(ConnectError, match="people_age_check"):
        sink.driver.commit([staged], {PARTITION: 3}, 1)
    assert rows(server, database) == [(1, "a", 1)]
    assert sink.driver.stored_offsets() == {PARTITION: 1}
    sink.stop()


def test_a_deadlock_is_tried_again(server: PostgresServer, database: str) -> None:
    sink = Sink(server, database)
    sink.write(record(1, {"name": "a"}), record(2, {"name": "b"}))
    server.run(database, "CREATE TABLE other (id int PRIMARY KEY);\nINSERT INTO other VALUES (1)")
    # Merging row 1 waits for a row of another table, whose owner waits for ours.
    server.run(
        database,
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM * FROM other FOR UPDATE; RETURN NEW; END'",
    )
    server.run(
        database, "CREATE TRIGGER t BEFORE UPDATE ON people FOR EACH ROW EXECUTE FUNCTION wait()"
    )
    with server.connect(database) as rival:
        rival.execute("SET deadlock_timeout = '10s'")
        rival.execute("BEGIN")
        rival.execute("SELECT * FROM other FOR UPDATE")
        staged = sink.stage([record(2, {"name": "c"}), record(1, {"name": "d"})])
        merge = threading.Thread(
            target=sink.driver.commit, args=([staged], {PARTITION: 4}, 1), daemon=True
        )
        merge.start()
        _wait_for_lock(server, database)
        rival.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
        rival.execute("COMMIT")
    merge.join(LIMIT_S)
    assert not merge.is_alive()
    # A session adds what it has counted once it is idle.
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    _wait_for_rows(server, database, deadlocks, [(1,)])
    assert rows(server, database) == [(1, "d", None), (2, "c", None)]
    sink.stop()


def _wait_for_lock(server: PostgresServer, database: str) -> None:
    query = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    _wait_for_rows(server, database, query, [(True,)])


def _wait_for_rows(server: PostgresServer, database: str, query: str, wanted: object) -> None:
    deadline = time.monotonic() + LIMIT_S
    while (found := rows(server, database, query)) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def test_a_crash_of_the_server_between_staging_and_merging_loses_nothing(
    server: PostgresServer, database: str
) -> None:
    sink = Sink(server, database)
    sink.write(record(1, {"name": "a"}))
    batch = [record(1, {"name": "b"}), record(2, {"name": "c"})]
    staged = sink.stage(batch)
    server.kill()
    server.start()
    # Staging tables have no log: they are empty now, which must not pass for an empty batch.
    with pytest.raises(StageLostError, match="0 of 2 rows"):
        sink.driver.commit([staged], {PARTITION: 3}, 1)
    assert rows(server, database) == [(1, "a", None)]
    with pytest.raises(RetriableError):
        sink.stage(batch)
    sink.write(*batch)
    assert rows(server, database) == [(1, "b", None), (2, "c", None)]
    sink.stop()


def test_a_stop_does_not_wait_for_others(server: PostgresServer, database: str) -> None:
    sink = Sink(server, database)
    sink.write(record(1, {"name": "a"}))
    staged = sink.stage([record(1, {"name": "b"})])
    errors: list[Exception] = []

    def merge() -> None:
        try:
            sink.driver.commit([staged], {PARTITION: 2}, 1)
        except ConnectError as error:
            errors.append(error)

    with server.connect(database) as rival:
        rival.execute("BEGIN")
        rival.execute("LOCK TABLE people")
        merging = threading.Thread(target=merge)
        merging.start()
        _wait_for_lock(server, database)
        sink.stop()
        merging.join(LIMIT_S)
        assert not merging.is_alive()
        rival.execute("COMMIT")
    assert "cancel" in str(errors[0])
    assert rows(server, database) == [(1, "a", None)]


def test_a_stop_ends_retries(server: PostgresServer, database: str) -> None:
    sink = Sink(server, database, retry_backoff_ms="600000")
    staged = sink.stage([record(1, {"name": "b"})])
    server.kill()
    errors: list[Exception] = []

    def merge() -> None:
        try:
            sink.driver.commit([staged], {PARTITION: 1}, 1)
        except ConnectError as error:
            errors.append(error)

    merging = threading.Thread(target=merge)
    merging.start()
    time.sleep(0.5)
    sink.driver.stop()
    merging.join(LIMIT_S)
    assert not merging.is_alive()
    assert len(errors) == 1
    server.start()


def test_two_tasks_make_the_same_table_at_once(server: PostgresServer, database: str) -> None:
    sinks = [Sink(server, database) for _ in range(4)]
    messages: list[Any] = [None] * 4
    errors = []

    def stage(place: int) -> None:
        try:
            messages[place] = sinks[place].stage([record(place, {"name": f"n{place}"})])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=stage, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    sinks[0].driver.commit(messages, {PARTITION: 4}, 0)
    assert rows(server, database, "SELECT name FROM people ORDER BY 1") == [
        ("n0",),
        ("n1",),
        ("n2",),
        ("n3",),
    ]
    for sink in sinks:
        sink.stop()


def test_tables_are_polled(server: PostgresServer, database: str) -> None:
    server.run(
        database,
        "CREATE TABLE t (id serial PRIMARY KEY, name text, price numeric(8, 2), doc jsonb, "
        "changed timestamptz NOT NULL DEFAULT now());\n"
        "INSERT INTO t (name, price, doc) SELECT 'n' || n, n, '{}' FROM generate_series(1, 250) n",
    )
    source = JdbcSource()
    config = {
        "connection.url": f"jdbc:postgresql://{HOST}:{server.port}/{database}?user=postgres",
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "changed",
        "topic.prefix": "db-",
        "table.whitelist": "t",
        "poll.interval.ms": "0",
    }
    assert JdbcSource.validate(config) == []
    source.start(config, Offsets(None))
    found = []
    while records := source.poll():
        found += records
    assert [r.value.get("id") for r in found] == list(range(1, 251))
    assert found[0].topic == "db-t"
    first = found[0].value
    assert (first.get("price"), first.get("doc")) == (Decimal("1.00"), "{}")
    assert found[0].source_partition == {"protocol": "1", "table": "public.t"}
    server.run(database, "UPDATE t SET name = 'x', changed = now() WHERE id = 7")
    again = source.poll()
    assert again is not None
    assert [r.value.get("id") for r in again] == [7]
    source.stop()
    other = JdbcSource()
    other.start(config, Offsets(found[100].source_offset))
    rest = other.poll()
    assert rest is not None
    assert rest[0].value.get("id") == 102
    other.stop()
    query = JdbcSource()
    options = {"query": "SELECT id, doc FROM t", "mode": "bulk", "batch.max.rows": "100"}
    options |= {"table.whitelist": "", "topic.prefix": "q"}
    query.start({**config, **options}, Offsets(None))
    sizes = [len(query.poll() or []) for _ in range(3)]
    assert sizes == [100, 100, 50]
    query.stop()


@pytest.mark.parametrize("topic", ["s", "__last", "user", "my.Table"])
def test_a_topic_may_have_any_name(server: PostgresServer, database: str, topic: str) -> None:
    server.run(database, "CREATE SCHEMA my")
    sink = Sink(server, database)
    records = [record(1, {"name": "a"}), record(2, {"name": "b"}), record(1, None)]
    for each in records:
        each.topic = topic
    sink.write(*records[:2])
    sink.write(records[2])
    sink.stop()
    table = ".".join(f'"{part}"' for part in topic.split("."))
    assert rows(server, database, f"TABLE {table}") == [(2, "b", None)]


def test_columns_and_queries_may_have_question_marks(server: PostgresServer, database: str) -> None:
    server.run(
        database,
        """CREATE TABLE t (id serial PRIMARY KEY, "is ok?" bool, "100%" int, "a""?" text, j jsonb);
        INSERT INTO t ("is ok?", "100%", "a""?", j) VALUES (true, 1, 'what?', '{"a": 1}'),
        (false, 2, 'that''s?', '{"b": 1}')""",
    )
    config = {
        "connection.url": f"jdbc:postgresql://{HOST}:{server.port}/{database}?user=postgres",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": "db-",
    }
    tables = JdbcSource()
    tables.start({**config, "table.whitelist": "t"}, Offsets(None))
    found = [record.value for record in tables.poll() or ()]
    assert [(each.get("is ok?"), each.get("100%"), each.get('a"?')) for each in found] == [
        (True, 1, "what?"),
        (False, 2, "that's?"),
    ]
    tables.stop()
    # As with JDBC's driver, two are the operator.
    text = "SELECT * FROM t WHERE j ?? 'a' AND \"a\"\"?\" <> '?' AND 'it''s?' <> '%'"
    query = JdbcSource()
    query.start({**config, "query": text}, Offsets(None))
    assert [record.value.get("id") for record in query.poll() or ()] == [1]
    query.stop()

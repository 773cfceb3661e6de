"""Change data capture from a real PostgreSQL."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from moldau.connect.connectors.postgres.connector import PostgresSource
from moldau.connect.data.errors import ConnectError, RetriableError
from tests.compat.captures import LIMIT_S, Capture, Offsets, plain, table_of
from tests.compat.postgres_server import HOST, PostgresServer

TOPIC = "srv.public.t"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


@pytest.fixture
def database(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database of the test; its slots are dropped afterwards."""
    name = f"d{abs(hash(request.node.name)) % 10**9}"
    server.create_database(name)
    server.run(name, "CREATE TABLE t (id int PRIMARY KEY, v text)")
    yield name
    with server.connect("postgres") as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE database = %s",
            (name,),
        )


def config_of(server: PostgresServer, database: str, **options: str) -> dict[str, str]:
    return {
        "database.hostname": HOST,
        "database.port": str(server.port),
        "database.user": "postgres",
        "database.dbname": database,
        "topic.prefix": "srv",
        "plugin.name": "pgoutput",
        "slot.name": database,
        "poll.interval.ms": "10",
        **{name.replace("_", "."): value for name, value in options.items()},
    }


def values(rows: dict[Any, Any]) -> dict[Any, Any]:
    return {key[0]: row["v"] for key, row in rows.items()}


def test_rows_come_first_and_then_changes(server: PostgresServer, database: str) -> None:
    server.run(database, "INSERT INTO t SELECT n, 'old' FROM generate_series(1, 5000) n")
    capture = Capture(config_of(server, database))
    # These are in the stream, since the snapshot was taken before.
    server.run(database, "UPDATE t SET v = 'new' WHERE id <= 3;\nDELETE FROM t WHERE id = 5000")
    records = capture.until(5005)
    ops = [record.value.get("op") if record.value else "tombstone" for record in records]
    assert ops == ["r"] * 5000 + ["u"] * 3 + ["d", "tombstone"]
    marks = [record.value.get("source").get("snapshot") for record in records[:5000]]
    assert (marks[0], set(marks[1:-1]), marks[-1]) == ("first", {"true"}, "last")
    state = values(table_of(records, TOPIC))
    assert len(state) == 4999
    assert [state[key] for key in (1, 3, 4)] == ["new", "new", "old"]
    capture.stop()


@pytest.mark.parametrize("portion", [1, 7, 2048])
def test_a_restart_at_any_record_repeats_and_misses_nothing(
    server: PostgresServer, database: str, portion: int
) -> None:
    config = config_of(server, database, max_batch_size=str(portion))
    server.run(database, "INSERT INTO t VALUES (0, 'there before')")
    capture = Capture(config)
    capture.until(1)
    # COPY writes many rows with one position in the log; transactions overlap.
    with server.connect(database) as first, server.connect(database) as second:
        first.execute("BEGIN")
        second.execute("BEGIN")
        first.execute("INSERT INTO t VALUES (1, 'a')")
        second.execute("INSERT INTO t VALUES (2, 'b')")
        first.execute("INSERT INTO t VALUES (3, 'c')")
        second.execute("COMMIT")
        first.execute("COMMIT")
        with first.cursor().copy("COPY t FROM STDIN") as copy:
            for number in range(100, 150):
                copy.write_row((number, "copied"))
        first.execute("UPDATE t SET id = id + 1000 WHERE id BETWEEN 1 AND 3")
    found: list[str] = []
    stored = capture.stored
    capture.stop()
    while True:
        # Each poll is by a new process that knows only what was stored, before a commit came.
        capture = Capture(config, stored)
        records = next((r for _ in range(5) if (r := capture.poll(confirms=False))), [])
        capture.stop()
        if not records:
            break
        found += [f"{plain(r.key)} {r.value.get('op') if r.value else '-'}" for r in records]
        stored = records[-1].source_offset
    copied = [f"{{'id': {number}}} c" for number in range(100, 150)]
    moved = [f"{{'id': {key}}} {op}" for key in (2, 1, 3) for op in ("d", "-")]
    inserts = ["{'id': 2} c", "{'id': 1} c", "{'id': 3} c"]
    assert found[:53] == inserts + copied
    assert sorted(found[53:]) == sorted(
        moved + [f"{{'id': {key}}} c" for key in (1001, 1002, 1003)]
    )


def test_confirmed_log_is_released(server: PostgresServer, database: str) -> None:
    capture = Capture(config_of(server, database))
    capture.poll()
    server.run(database, "INSERT INTO t SELECT n, 'x' FROM generate_series(1, 100) n")
    capture.until(100)
    with server.connect(database) as connection:
        row = connection.execute(
            "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = %s",
            (database,),
        ).fetchone()
    assert row is not None
    assert capture.stored is not None
    assert row[0] > capture.stored["lsn_proc"]
    capture.stop()


def test_a_slot_that_is_ahead_of_the_offsets_is_not_moved_back(
    server: PostgresServer, database: str
) -> None:
    """While only others write, the slot moves along and no offset is stored."""
    config = config_of(server, database, max_batch_size="10")
    capture = Capture(config)
    capture.poll()
    server.run(database, "INSERT INTO t VALUES (-1, 'x');\nINSERT INTO t VALUES (0, 'x')")
    capture.until(2)
    stored = capture.stored
    capture.stop()
    server.run(
        database,
        "SELECT pg_replication_slot_advance(slot_name, pg_current_wal_flush_lsn()) "
        "FROM pg_replication_slots WHERE database = current_database();\n"
        "INSERT INTO t SELECT n, 'x' FROM generate_series(1, 100) n",
    )
    capture = Capture(config, stored)
    # In the middle of the transaction only what is before it can be confirmed.
    capture.until(10)
    assert capture.source._is_open
    capture.until(90)
    capture.stop()


def test_changes_of_a_table_that_was_dropped_have_keys(
    server: PostgresServer, database: str
) -> None:
    capture = Capture(config_of(server, database))
    capture.poll()
    server.run(
        database,
        "INSERT INTO t VALUES (1, 'a');\nALTER TABLE t RENAME id TO number;\n"
        "INSERT INTO t VALUES (2, 'b');\nDROP TABLE t",
    )
    records = capture.until(2)
    assert [plain(record.key) for record in records] == [{"id": 1}, {"number": 2}]
    assert [plain(record.value)["after"]["v"] for record in records] == ["a", "b"]
    capture.stop()


def test_changes_before_a_column_of_the_key_was_renamed_have_keys(
    server: PostgresServer, database: str
) -> None:
    capture = Capture(config_of(server, database))
    capture.poll()
    server.run(
        database,
        "INSERT INTO t VALUES (1, 'a');\nALTER TABLE t RENAME id TO number;\n"
        "INSERT INTO t VALUES (2, 'b')",
    )
    records = capture.until(2)
    assert [plain(record.key) for record in records] == [{"id": 1}, {"number": 2}]
    capture.stop()


def test_a_large_transaction_is_read_in_portions(server: PostgresServer, database: str) -> None:
    capture = Capture(config_of(server, database))
    capture.poll()
    server.run(
        database, "INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 100000) n"
    )
    sizes: list[int] = []
    while sum(sizes) < 100_000:
        sizes.append(len(capture.poll()))
    assert sum(sizes) == 100_000
    assert max(sizes) < 5000
    capture.stop()


def test_reading_goes_on_however_late_the_commits_come(
    server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if a hundred thousand changes were read and not yet durable.
    monkeypatch.setattr("moldau.connect.connectors.postgres.slot.PEEK_CHANGES", 10)
    capture = Capture(config_of(server, database))
    capture.poll()
    server.run(database, ";\n".join(f"INSERT INTO t VALUES ({n}, 'x')" for n in range(300)))
    records = capture.until(300, confirms=False)
    assert [plain(record.key)["id"] for record in records] == list(range(300))
    capture.stop()


def test_altered_tables_have_new_schemas_from_that_change_on(
    server: PostgresServer, database: str
) -> None:
    capture = Capture(config_of(server, database))
    capture.poll()
    server.run(
        database,
        "INSERT INTO t VALUES (1, 'a');\n"
        "ALTER TABLE t ADD COLUMN n int NOT NULL DEFAULT 7;\n"
        "INSERT INTO t VALUES (2, 'b', 8);\n"
        "ALTER TABLE t DROP COLUMN v;\n"
        "INSERT INTO t VALUES (3, 9)",
    )
    rows = [plain(record.value)["after"] for record in capture.until(3)]
    assert rows == [{"id": 1, "v": "a"}, {"id": 2, "v": "b", "n": 8}, {"id": 3, "n": 9}]
    capture.stop()


def test_heartbeats_carry_the_position(server: PostgresServer, database: str) -> None:
    config = config_of(
        server,
        database,
        heartbeat_interval_ms="1",
        heartbeat_action_query="INSERT INTO public.beats DEFAULT VALUES",
        table_include_list="public.t",
    )
    server.run(database, "CREATE TABLE beats (id serial PRIMARY KEY)")
    capture = Capture(config)
    capture.poll()
    beats = capture.until(3)
    assert {record.topic for record in beats} == {"__debezium-heartbeat.srv"}
    assert beats[-1].source_offset["lsn"] > beats[0].source_offset["lsn"]
    capture.stop()


def test_a_server_that_crashes_is_waited_for(database: str, server: PostgresServer) -> None:
    capture = Capture(config_of(server, database, retriable_restart_connector_wait_ms="50"))
    capture.poll()
    server.run(database, "INSERT INTO t VALUES (1, 'before')")
    found = capture.until(1)
    server.kill()
    assert capture.poll() == []
    server.start()
    server.run(database, "INSERT INTO t VALUES (2, 'after')")
    found += capture.until(1)
    assert values(table_of(found, TOPIC)) == {1: "before", 2: "after"}
    server.kill()
    impatient = PostgresSource()
    config = config_of(server, database, errors_max_retries="0")
    impatient.start(config, Offsets(capture.stored))
    with pytest.raises(RetriableError, match="cannot connect"):
        impatient.poll()
    server.start()
    capture.stop()


def test_writers_and_crashes_of_the_capture_lose_nothing(
    server: PostgresServer, database: str
) -> None:
    """Records that were not stored are read again; what they add up to is the table."""
    config = config_of(server, database, max_batch_size="50")
    stop = threading.Event()

    def write() -> None:
        with server.connect(database) as connection:
            number = 0
            while not stop.is_set() and number < 2000:
                number += 1
                connection.execute(
                    "INSERT INTO t VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
                    (number % 97, str(number)),
                )
                if number % 10 == 0:
                    connection.execute("DELETE FROM t WHERE id = %s", (number % 97,))

    writer = threading.Thread(target=write)
    writer.start()
    records = []
    stored = None
    try:
        for round_ in range(12):
            capture = Capture(config, stored)
            for poll in range(4):
                got = capture.poll(confirms=poll % 2 == 0)
                records += got
                # The last poll of every third round is lost with the process.
                if got and not (round_ % 3 == 0 and poll == 3):
                    stored = got[-1].source_offset
            capture.stop()
    finally:
        stop.set()
        writer.join()
    with server.connect(database) as connection:
        wanted = dict(connection.execute("SELECT id, v FROM t").fetchall())
    last = Capture(config, stored)
    deadline = time.monotonic() + LIMIT_S
    while values(table_of(records, TOPIC)) != wanted and time.monotonic() < deadline:
        records += last.poll()
    # Nor does anything come afterwards that changes it.
    while got := next((r for _ in range(5) if (r := last.poll())), []):
        records += got
    last.stop()
    assert values(table_of(records, TOPIC)) == wanted


def test_a_lost_slot_fails_and_says_what_to_do(server: PostgresServer, database: str) -> None:
    capture = Capture(config_of(server, database))
    server.run(database, "INSERT INTO t VALUES (1, 'a')")
    capture.until(1)
    capture.stop()
    with server.connect(database) as connection:
        connection.execute("SELECT pg_drop_replication_slot(%s)", (database,))
    with pytest.raises(ConnectError, match=r"does not exist any more.*new snapshot is needed"):
        Capture(capture.config, capture.stored)
    needed = Capture({**capture.config, "snapshot.mode": "when_needed"}, capture.stored)
    assert [record.value.get("op") for record in needed.until(1)] == ["r"]
    needed.stop()


def test_a_slot_that_has_lost_its_log_fails_and_says_what_to_do() -> None:
    """The server throws away the log that a slot needs: more than max_slot_wal_keep_size."""
    with PostgresServer(max_slot_wal_keep_size="1MB") as small:
        small.run("postgres", "CREATE TABLE t (id int PRIMARY KEY, v text)")
        capture = Capture(config_of(small, "postgres"))
        small.run("postgres", "INSERT INTO t VALUES (1, 'a')")
        capture.until(1)
        capture.stop()
        with small.connect("postgres") as connection:
            status = "SELECT wal_status FROM pg_replication_slots"
            for number in range(2, 50):
                connection.execute("INSERT INTO t VALUES (%s, 'lost')", (number,))
                connection.execute("SELECT pg_switch_wal()")
                connection.execute("CHECKPOINT")
                if connection.execute(status).fetchone() == ("lost",):
                    break
            assert connection.execute(status).fetchone() == ("lost",)
        [problem] = PostgresSource.validate(capture.config)
        assert problem.name == "slot.name"
        assert "SELECT pg_drop_replication_slot('postgres');" in problem.message
        with pytest.raises(ConnectError, match=r"has lost its log.*new snapshot is needed"):
            Capture(capture.config, capture.stored)
        needed = Capture({**capture.config, "snapshot.mode": "when_needed"}, capture.stored)
        found = needed.until(number)
        assert {record.value.get("op") for record in found} == {"r"}
        needed.stop()


def test_a_slot_that_is_dropped_under_a_running_capture_fails_it(
    server: PostgresServer, database: str
) -> None:
    capture = Capture(config_of(server, database))
    server.run(database, "INSERT INTO t VALUES (1, 'a')")
    capture.until(1)
    with server.connect(database) as connection:
        connection.execute("SELECT pg_drop_replication_slot(%s)", (database,))
    server.run(database, "INSERT INTO t VALUES (2, 'b')")
    with pytest.raises(ConnectError, match=database) as caught:
        capture.until(1)
    assert not isinstance(caught.value, RetriableError), caught.value
    capture.stop()


@pytest.mark.parametrize(
    ("change", "option", "remedy"),
    [
        ({"database.password": "x", "database.user": "nobody"}, "database.user", "CREATE ROLE"),
        ({"database.dbname": "nowhere"}, "database.dbname", 'CREATE DATABASE "nowhere";'),
        ({"database.port": "1"}, "database.hostname", "Is PostgreSQL running there?"),
        (
            {"publication.autocreate.mode": "disabled"},
            "publication.name",
            'CREATE PUBLICATION "dbz_publication" FOR ALL TABLES;',
        ),
        ({"table.include.list": "public.none"}, "table.include.list", "no table"),
        (
            {"table.include.list": "public.bare"},
            "table.include.list",
            'ALTER TABLE "public"."bare" REPLICA IDENTITY FULL;',
        ),
        ({"database.user": "reader"}, "database.user", 'ALTER ROLE "reader" REPLICATION;'),
        ({"snapshot.isolation.mode": "read_committed"}, "snapshot.isolation.mode", "remove it"),
    ],
)
def test_problems_are_told_with_the_statement_that_mends_them(
    server: PostgresServer, database: str, change: dict[str, str], option: str, remedy: str
) -> None:
    server.run(database, "CREATE TABLE bare (a int)")
    with server.connect(database) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE reader LOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
    config = config_of(server, database, table_include_list="public.t")
    problems = PostgresSource.validate({**config, **change})
    assert (option, True) in [(p.name, remedy in p.message) for p in problems], problems
    assert PostgresSource.validate(config) == []


def test_a_server_without_logical_log_is_told_how_to_get_it() -> None:
    with PostgresServer(wal_level="replica") as plain_server:
        problems = PostgresSource.validate(config_of(plain_server, "postgres"))
        assert "ALTER SYSTEM SET wal_level = 'logical'" in problems[0].message


def test_a_wrong_password_is_told() -> None:
    with PostgresServer() as server:
        with server.connect("postgres") as connection:
            connection.execute("ALTER ROLE postgres PASSWORD 'right'")
        access = server.directory / "data" / "pg_hba.conf"
        access.write_text(f"host all all {HOST}/32 scram-sha-256\n")
        with psycopg.connect(
            host=HOST, port=server.port, user="postgres", password="right", autocommit=True
        ) as connection:
            connection.execute("SELECT pg_reload_conf()")
        config = config_of(server, "postgres", database_password="wrong")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(host=HOST, port=server.port, user="postgres", password="wrong")
        problems = PostgresSource.validate(config)
        assert [problem.name for problem in problems] == ["database.password"]
        assert "wrong" not in problems[0].message
        with pytest.raises(ConnectError, match="password authentication failed"):
            Capture(config)

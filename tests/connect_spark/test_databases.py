"""A database that is down or has another password: retried, then FAILED, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.connect.engine_api import State
from moldau.ids import TopicPartition
from tests.compat.postgres_server import HOST, PostgresServer
from tests.connect_spark.world import JSON, World
from tests.running import RunningBroker

PASSWORD = "first"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


def require_password(server: PostgresServer) -> None:
    """The role ``writer`` needs a password from now on."""
    with server.connect("postgres") as connection:
        connection.execute(f"CREATE ROLE writer LOGIN SUPERUSER PASSWORD '{PASSWORD}'".encode())
        access = server.directory / "data" / "pg_hba.conf"
        others = f"host all all {HOST}/32 trust\n"
        access.write_text(f"host all writer {HOST}/32 scram-sha-256\n{others}")
        connection.execute("SELECT pg_reload_conf()")


def test_a_database_that_goes_away_or_changes_its_password_fails_the_sink(
    server: PostgresServer, tmp_path: Path
) -> None:
    require_password(server)
    with (
        RunningBroker(tmp_path / "data") as broker,
        World(broker, tmp_path) as world,
    ):
        topic = world.new_topic()
        config = {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "topics": topic,
            "connection.url": f"jdbc:postgresql://{HOST}:{server.port}/postgres",
            "connection.user": "writer",
            "connection.password": PASSWORD,
            "table.name.format": "copy",
            "auto.create": "true",
            "pk.mode": "none",
            "insert.mode": "insert",
            "max.retries": "1",
            "retry.backoff.ms": "100",
            "moldau.sink.retry.timeout.ms": "1000",
            "value.converter": JSON,
        }

        def done(count: int) -> bool:
            return bool(world.committed("sink") == {TopicPartition(topic, 0): count})

        world.run("sink", config)
        world.produce(topic, number(1))
        world.until("the first", lambda: done(1))

        server.stop()
        world.produce(topic, number(2), number(3))
        trace = world.seen.wait("sink", State.FAILED) or ""
        assert "RetriableException" in trace
        assert HOST in trace or "terminating connection" in trace
        assert done(1)
        world.engine.stop("sink")

        server.start()
        world.run("sink", config)
        world.seen.wait("sink", State.RUNNING)
        world.until("the others", lambda: done(3))
        with server.connect("postgres") as admin:
            admin.execute("ALTER ROLE writer PASSWORD 'second'")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE 'moldau%'"
            )
        world.produce(topic, number(4))
        trace = world.seen.wait("sink", State.FAILED) or ""
        assert "password authentication failed" in trace
        assert PASSWORD not in trace
        assert done(3)
        world.engine.stop("sink")

        world.run("sink", {**config, "connection.password": "second"})
        world.until("the last", lambda: done(4))
        world.engine.stop("sink")
        assert rows(server) == [(1,), (2,), (3,), (4,)]


def rows(server: PostgresServer) -> list[tuple[int]]:
    with server.connect("postgres") as connection:
        return connection.execute("TABLE copy ORDER BY 1").fetchall()


def number(n: int) -> bytes:
    schema = '{"type": "struct", "fields": [{"field": "n", "type": "int32"}]}'
    return f'{{"schema": {schema}, "payload": {{"n": {n}}}}}'.encode()

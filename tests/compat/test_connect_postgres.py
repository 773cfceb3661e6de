"""PostgreSQL to a topic and back, through the engine: capture, transform, sink."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.postgres_server import HOST, PostgresServer
from tests.compat.spark_session import own_jvm

world_module = pytest.importorskip("tests.connect_spark.world")
running = pytest.importorskip("tests.running")


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


def test_changes_arrive_in_another_table_exactly_once(
    server: PostgresServer, tmp_path: Path
) -> None:
    server.run("postgres", "CREATE TABLE t (id int PRIMARY KEY, v text, n numeric(8, 2))")
    server.run("postgres", "INSERT INTO t SELECT n, 'old', n FROM generate_series(1, 3000) n")
    at = {
        "database.hostname": HOST,
        "database.port": str(server.port),
        "database.user": "postgres",
        "database.dbname": "postgres",
    }
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    converters = {"key.converter": json_converter, "value.converter": json_converter}
    capture = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "srv",
        "plugin.name": "pgoutput",
        "table.include.list": "public.t",
        **at,
        **converters,
    }
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": "srv.public.t",
        "connection.url": f"jdbc:postgresql://{HOST}:{server.port}/postgres?user=postgres",
        "table.name.format": "copy",
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "delete.enabled": "true",
        "auto.create": "true",
        "transforms": "after",
        "transforms.after.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.after.field": "after",
        **converters,
    }
    with (
        own_jvm(),
        running.RunningBroker(tmp_path / "data") as broker,
        world_module.World(broker, tmp_path) as world,
    ):
        world.run("capture", capture)
        world.until("the topic exists", lambda: ("capture", "srv.public.t") in world.seen.topics)
        world.run("sink", sink)
        _until_equal(server, 3000)
        server.run(
            "postgres", "UPDATE t SET v = 'new' WHERE id % 3 = 0;\nDELETE FROM t WHERE id > 2900"
        )
        server.run("postgres", "UPDATE t SET id = id + 10000 WHERE id <= 10")
        _until_equal(server, 2900)
        for name in ("capture", "sink"):
            world.engine.stop(name)


def _until_equal(server: PostgresServer, count: int) -> None:
    deadline = time.monotonic() + 240
    query = (
        "SELECT (SELECT count(*) FROM copy), "
        "(SELECT count(*) FROM (TABLE t EXCEPT SELECT id, v, n FROM copy) d)"
    )
    seen = None
    while seen != (count, 0):
        assert time.monotonic() < deadline, seen
        time.sleep(0.5)
        with server.connect("postgres") as connection:
            has_copy = connection.execute("SELECT to_regclass('copy') IS NOT NULL").fetchone()
            if has_copy == (True,):
                seen = connection.execute(query).fetchone()

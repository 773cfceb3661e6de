"""Records of topics in files and tables, each exactly once; and over HTTP, at least once."""

import json
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from moldau.client.admin import Admin
from moldau.connect.engine_api import State
from moldau.ids import TopicPartition
from tests.connect.http.server import Answer, running
from tests.connect_spark.test_recovery import processes_with
from tests.connect_spark.world import JSON, World

CONNECTORS = "tests.connect_spark.lake_connectors"
SCHEMA = {
    "type": "struct",
    "fields": [{"field": "id", "type": "int64"}, {"field": "name", "type": "string"}],
}
ROWS = 400

# The rows of a place, as other tools read them.
Read = Callable[[], list[dict[str, Any]]]


def value(number: int) -> bytes:
    payload = {"id": number, "name": f"number {number}"}
    return json.dumps({"schema": SCHEMA, "payload": payload}).encode()


def parquet(folder: Path) -> tuple[dict[str, str], Read]:
    def read() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            ds.dataset(folder, format="parquet").to_table().to_pylist() if folder.exists() else []
        )
        return found

    return {"path": str(folder)}, read


def delta(folder: Path) -> tuple[dict[str, str], Read]:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    table = str(folder / "table")

    def read() -> list[dict[str, Any]]:
        if not deltalake.DeltaTable.is_deltatable(table):
            return []
        found: list[dict[str, Any]] = deltalake.DeltaTable(table).to_pyarrow_table().to_pylist()
        return found

    return {"path": table}, read


def iceberg(folder: Path) -> tuple[dict[str, str], Read]:
    catalogs = pytest.importorskip("pyiceberg.catalog", reason="pyiceberg is not installed")
    folder.mkdir()
    options = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }

    def read() -> list[dict[str, Any]]:
        catalog = catalogs.load_catalog("iceberg", **options)
        if not catalog.table_exists("lake.numbers"):
            return []
        found: list[dict[str, Any]] = (
            catalog.load_table("lake.numbers").scan().to_arrow().to_pylist()
        )
        return found

    config = {f"iceberg.catalog.{name}": each for name, each in options.items()}
    config |= {"iceberg.tables": "lake.numbers", "iceberg.tables.auto-create-enabled": "true"}
    return config, read


def has_failed(world: World, name: str, reason: str) -> bool:
    state, trace = world.seen.states.get((name, 0), (None, None))
    return state is State.FAILED and reason in (trace or "")


@pytest.mark.parametrize("lake", ["Parquet", "Delta", "Iceberg"])
def test_a_lake_has_each_record_once_whatever_dies(world: World, lake: str) -> None:
    make = {"Parquet": parquet, "Delta": delta, "Iceberg": iceberg}[lake]
    topic, name = world.new_topic(partitions=2), world.name(lake.lower())
    options, read = make(world.folder / name)
    config = {
        "connector.class": f"{CONNECTORS}.Crashing{lake}",
        "topics": topic,
        "value.converter": JSON,
        "moldau.batch.max.records": "100",
        "metadata.columns": "_partition,_offset",
        "commits.file": str(world.file(f"{name}.commits")),
        **options,
    }
    world.produce(topic, *(value(number) for number in range(ROWS)))
    for when in ("before the commit", "after the commit"):
        world.run(name, config)
        world.until(f"it fails {when}", partial(has_failed, world, name, when))
        world.engine.stop(name)
    assert set(world.committed(name).values()) == {0}
    world.run(name, config)
    world.until("all are there", lambda: len(read()) >= ROWS)
    # Python workers of Spark die with -9; their batch is written again.
    for process in processes_with("pyspark.daemon"):
        os.kill(process, signal.SIGKILL)
    world.produce(topic, *(value(number) for number in range(ROWS, 2 * ROWS)))
    world.until("all are there", lambda: len(read()) >= 2 * ROWS)
    world.until("progress moves", lambda: sum(world.committed(name).values()) == 2 * ROWS)
    world.engine.stop(name)
    # The offsets in the target decide, not those of the group.
    with Admin(world.bootstrap) as admin:
        again = dict.fromkeys((TopicPartition(topic, each) for each in range(2)), 0)
        admin.groups.alter_offsets(f"connect-{name}", again)
    world.produce(topic, value(2 * ROWS))
    world.run(name, config)
    world.until("the last is there", lambda: len(read()) > 2 * ROWS)
    world.until("progress moves", lambda: sum(world.committed(name).values()) > 0)
    world.engine.stop(name)
    rows = read()
    assert sorted(row["id"] for row in rows) == list(range(2 * ROWS + 1))
    assert all(row["name"] == f"number {row['id']}" for row in rows)
    places = {(row["_partition"], row["_offset"]) for row in rows}
    assert len(places) == len(rows)


def test_a_record_that_a_lake_cannot_store_is_a_dead_letter(world: World) -> None:
    topic, letters, name = world.new_topic(), world.new_topic(), world.name("picky")
    options, read = parquet(world.folder / name)
    world.produce(topic, value(1), b'{"schema":null,"payload":{"id":2}}', value(3))
    world.run(
        name,
        {
            "connector.class": "io.moldau.connect.ParquetSink",
            "topics": topic,
            "value.converter": JSON,
            "schemaless.values": "refuse",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": "1",
            **options,
        },
    )
    world.until("two are there", lambda: len(read()) == 2)
    world.until("one is a dead letter", lambda: len(world.values(letters)) == 1)
    world.engine.stop(name)
    assert sorted(row["id"] for row in read()) == [1, 3]


def test_records_are_sent_to_a_server(world: World) -> None:
    topic, name = world.new_topic(), world.name("http")
    world.produce(topic, *(b"record %d" % number for number in range(50)))
    with running() as server:
        server.plan = [Answer(503, {"Retry-After": "0"}), Answer(429, {"Retry-After": "0"})]
        world.run(
            name,
            {
                "connector.class": "io.moldau.connect.HttpSink",
                "topics": topic,
                "url": server.url,
                "batch.size": "10",
                "retry.backoff.ms": "10",
            },
        )
        world.until("all are sent", lambda: sum(world.committed(name).values()) == 50)
        world.engine.stop(name)
        # Two were refused for a while, and came again.
        sent = [each for body in server.bodies[2:] for each in json.loads(body)]
    assert sent == [f"record {number}" for number in range(50)]

"""A worker whose lakes are in S3 is killed with -9: each record is there once.

Everything dies at once: the worker, its JVM and the Python processes of Spark, at a random moment
after rows have appeared. ``KILLS=30`` kills more often than three times.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.spark.errors import PipelineError
from moldau.spark.java import find_java, wheel_home
from tests.running import RunningBroker

pytest.importorskip("pyspark", reason="pyspark is not installed (moldau[spark,connect])")
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from tools.brokers import free_port

from tests.compat.kills import KILLS, SEED
from tests.connect.lake.s3_server import BUCKET, S3Server, running_s3

LIMIT_S = 240
ROWS_PER_KILL = 5000
ROOT = f"s3://{BUCKET}"
SCHEMA = {"type": "struct", "fields": [{"field": "id", "type": "int64"}]}
COMMON = """
topics=numbers
value.converter=org.apache.kafka.connect.json.JsonConverter
moldau.batch.max.records=500
"""


@pytest.fixture(autouse=True)
def _needed() -> None:
    try:
        find_java(os.environ, wheel_home())
    except PipelineError as reason:
        pytest.skip(str(reason))


class Place(NamedTuple):
    """Where the lakes are, with the options that reach them there."""

    s3: S3Server
    catalog: dict[str, str]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with running_s3() as s3:
        catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
        catalog |= {"warehouse": f"{ROOT}/warehouse", **s3.iceberg_options}
        yield Place(s3, catalog)


def configure(folder: Path, bootstrap: str, place: Place) -> list[str]:
    """Write the files of a standalone worker and its connectors."""
    port = free_port()
    kinds = {
        "parquet": {"class": "ParquetSink", "path": f"{ROOT}/parquet", **place.s3.options},
        "delta": {"class": "DeltaSink", "path": f"{ROOT}/delta", **place.s3.options},
        "iceberg": {
            "class": "IcebergSink",
            "iceberg.tables": "lake.numbers",
            "iceberg.tables.auto-create-enabled": "true",
            **{f"iceberg.catalog.{name}": value for name, value in place.catalog.items()},
        },
    }
    (folder / "worker.properties").write_text(
        f"bootstrap.servers={bootstrap}\n"
        "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
        "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
        f"offset.storage.file.filename={folder}/offsets\n"
        f"listeners=http://127.0.0.1:{port}\n"
        "moldau.trigger.ms=100\n"
    )
    for name, options in kinds.items():
        kind = options.pop("class")
        lines = [f"name={name}", f"connector.class=io.moldau.connect.{kind}"]
        lines += [f"{option}={value}" for option, value in options.items()]
        (folder / f"{name}.properties").write_text("\n".join(lines) + COMMON)
    files = [str(folder / f"{name}.properties") for name in ("worker", *kinds)]
    return [sys.executable, "-m", "moldau", "connect", "standalone", *files]


def readers(place: Place) -> dict[str, Callable[[], list[int]]]:
    """What other tools see, by lake: never a row twice."""
    return {
        name: lambda read=read: _once(read(place))  # type: ignore[misc]
        for name, read in (("parquet", _parquet), ("delta", _delta), ("iceberg", _iceberg))
    }


def _once(ids: list[int]) -> list[int]:
    assert len(ids) == len(set(ids)), "there are doubles"
    return ids


def _parquet(place: Place) -> list[int]:
    store = place.s3.store
    paths = place.s3.paths("parquet/numbers")
    contents = [bytes(store.get(path).bytes()) for path in paths]
    return [each for data in contents for each in _ids(pq.read_table(pa.BufferReader(data)))]


def _delta(place: Place) -> list[int]:
    path, options = f"{ROOT}/delta", place.s3.delta_options
    if not DeltaTable.is_deltatable(path, options):
        return []
    return _ids(DeltaTable(path, storage_options=options).to_pyarrow_table())


def _iceberg(place: Place) -> list[int]:
    catalog = load_catalog("iceberg", **place.catalog)
    if not catalog.table_exists("lake.numbers"):
        return []
    return _ids(catalog.load_table("lake.numbers").scan().to_arrow())


def _ids(table: Any) -> list[int]:
    found: list[int] = table["id"].to_pylist() if "id" in table.column_names else []
    return found


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.3)


def produce(bootstrap: str, numbers: range) -> None:
    with Producer(bootstrap) as producer:
        for number in numbers:
            value = {"schema": SCHEMA, "payload": {"id": number}}
            producer.send("numbers", json.dumps(value).encode(), b"%d" % number)


@pytest.mark.timeout(300 * (KILLS + 1))
def test_lakes_have_each_record_once_after_kills(tmp_path: Path, place: Place) -> None:
    chance = random.Random(SEED)
    read = readers(place)
    written = 0
    with RunningBroker(tmp_path / "data", {"group.initial.rebalance.delay.ms": "0"}) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topic("numbers", 3)
        command = configure(tmp_path, broker.bootstrap, place)
        for run in range(KILLS + 1):
            produce(broker.bootstrap, range(written, written + ROWS_PER_KILL))
            before, written = written, written + ROWS_PER_KILL
            with (tmp_path / f"worker-{run}.log").open("w") as log:
                worker = subprocess.Popen(
                    command, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True
                )
                try:
                    # The last run works off everything, the others are killed on the way.
                    wanted = written if run == KILLS else before + ROWS_PER_KILL // 10
                    for lake, ids in read.items():
                        what = f"{lake} has {wanted} rows in run {run}"
                        wait_for(what, lambda ids=ids, n=wanted: len(ids()) >= n)  # type: ignore[misc]
                    time.sleep(0 if run == KILLS else chance.random())
                finally:
                    os.killpg(worker.pid, signal.SIGKILL)
                    worker.wait()
        for lake, ids in read.items():
            assert sorted(ids()) == list(range(written)), f"{lake} misses some"

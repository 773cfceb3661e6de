"""Parquet files, Delta tables and Iceberg tables on an S3 server: each row once."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from moldau.connect.connector import SinkConnector
from moldau.connect.connectors.lake.delta import DeltaSink
from moldau.connect.connectors.lake.iceberg import IcebergSink
from moldau.connect.connectors.lake.parquet import ParquetSink
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, ends, order
from tests.connect.lake.s3_server import BUCKET, S3Server, running_s3

ORDERS = TopicPartition("orders", 0)
KINDS = ("parquet", "delta", "iceberg")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


class Lake(NamedTuple):
    """A sink, its options, and what others see of it."""

    kind: type[SinkConnector]
    config: dict[str, str]
    ids: Callable[[], list[int]]


def lake(kind: str, s3: S3Server, folder: Path, bucket: str = BUCKET) -> Lake:
    prefix = f"{kind}-{next(_numbers)}"
    make = {"parquet": _parquet, "delta": _delta, "iceberg": _iceberg}[kind]
    return make(s3, bucket, prefix, folder)


def _parquet(s3: S3Server, bucket: str, prefix: str, folder: Path) -> Lake:
    def ids() -> list[int]:
        found = []
        for path in s3.paths(f"{prefix}/orders"):
            data = bytes(s3.store.get(path).bytes())
            found += pq.read_table(pa.BufferReader(data))["id"].to_pylist()
        return sorted(found)

    return Lake(ParquetSink, {"path": f"s3://{bucket}/{prefix}", **s3.options}, ids)


def _delta(s3: S3Server, bucket: str, prefix: str, folder: Path) -> Lake:
    path = f"s3://{bucket}/{prefix}"

    def ids() -> list[int]:
        table = DeltaTable(path, storage_options=s3.delta_options).to_pyarrow_table()
        return sorted(table["id"].to_pylist())

    return Lake(DeltaSink, {"path": path, "topics": "orders", **s3.options}, ids)


def _iceberg(s3: S3Server, bucket: str, prefix: str, folder: Path) -> Lake:
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"s3://{bucket}/{prefix}",
        **s3.iceberg_options,
    }

    def ids() -> list[int]:
        table = load_catalog("iceberg", **catalog).load_table("lake.orders")
        return sorted(table.scan().to_arrow()["id"].to_pylist())

    config = {f"iceberg.catalog.{name}": value for name, value in catalog.items()}
    config |= {
        "topics": "orders",
        "iceberg.tables": "lake.orders",
        "iceberg.tables.auto-create-enabled": "true",
    }
    return Lake(IcebergSink, config, ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_that_was_not_committed_is_written_again(
    s3: S3Server, tmp_path: Path, kind: str
) -> None:
    sink, config, ids = lake(kind, s3, tmp_path)
    assert sink.validate({"name": "sink", **config}) == []
    Driven(sink, config).write(order(0), order(1, partition=1))
    Driven(sink, config).stage([order(1), order(2, partition=1)])
    again = Driven(sink, config)
    assert again.offsets == {ORDERS: 1, TopicPartition("orders", 1): 2}
    again.write(order(1), order(3, partition=1))
    assert ids() == [0, 1, 1, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_whose_answer_is_lost_is_not_done_twice(
    s3: S3Server, tmp_path: Path, kind: str
) -> None:
    sink, config, ids = lake(kind, s3, tmp_path)
    driven = Driven(sink, config)
    message = driven.stage([order(0), order(1)])
    for _ in range(2):
        driven.driver.commit([message], {ORDERS: 2}, 0)
    assert ids() == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_was_replaced_cannot_commit(s3: S3Server, tmp_path: Path, kind: str) -> None:
    sink, config, ids = lake(kind, s3, tmp_path)
    Driven(sink, config).write(order(0))
    old = Driven(sink, config)
    records = [order(1), order(2)]
    message = old.stage(records)
    Driven(sink, config).write(order(1))
    with pytest.raises(ConnectError, match="another worker"):
        old.driver.commit([message], ends(records), 0)
    assert ids() == [0, 1]


def problem_of(sink: type[SinkConnector], config: dict[str, str]) -> str:
    """What is said at validation; without a word there, at the start, and for the first batch."""
    for problem in sink.validate({"name": "sink", **config}):
        return problem.message
    with pytest.raises(ConnectError) as raised:
        Driven(sink, config).write(order(0))
    return str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bucket_that_is_missing_is_named(s3: S3Server, tmp_path: Path, kind: str) -> None:
    sink, config, _ = lake(kind, s3, tmp_path, bucket="missing-bucket")
    assert "there is no bucket missing-bucket" in problem_of(sink, config)


@pytest.mark.parametrize("kind", KINDS)
def test_credentials_that_are_refused_are_said(s3: S3Server, tmp_path: Path, kind: str) -> None:
    with s3.checking_credentials():
        right = lake(kind, s3, tmp_path)
        Driven(right.kind, right.config).write(order(0))
        (tmp_path / "wrong").mkdir()
        s3.key = "AKIAWRONGWRONGWRONG0"
        wrong = lake(kind, s3, tmp_path / "wrong")
        said = problem_of(wrong.kind, wrong.config)
    assert "refuses access" in said
    assert s3.secret not in said


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_server_that_does_not_answer_may_come_back(
    s3: S3Server, tmp_path: Path, kind: str
) -> None:
    sink, config, _ = lake(kind, s3, tmp_path)
    nobody = "127.0.0.1:9"
    config["storage.aws_endpoint_url"] = f"http://{nobody}"
    with pytest.raises(RetriableError, match=nobody):
        Driven(sink, config)
    [problem] = sink.validate({"name": "sink", **config})
    assert nobody in problem.message


def test_options_that_no_store_knows_are_said_at_validation(s3: S3Server) -> None:
    config: dict[str, Any] = {"path": f"s3://{BUCKET}/x", **s3.options, "storage.colour": "red"}
    [problem] = ParquetSink.validate(config)
    assert problem.name == "path"
    assert "colour" in problem.message


def test_a_large_file_is_sent_in_parts(s3: S3Server, tmp_path: Path) -> None:
    sink, config, ids = lake("parquet", s3, tmp_path)
    noise = "".join(chr(32 + (n * n * 7919 + n // 3) % 90) for n in range(1000))
    rows = [order(n, item=noise[n % 900 :] + str(n * 7919) * 40) for n in range(30_000)]
    Driven(sink, {**config, "parquet.codec": "none"}).write(*rows)
    assert ids() == list(range(30_000))
    [path] = s3.paths(config["path"].removeprefix(f"s3://{BUCKET}/") + "/orders")
    assert s3.store.head(path)["size"] > 2 * 5_000_000

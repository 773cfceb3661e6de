"""The reader process of a source, without Spark: pieces of rows, and what is said of failures."""

import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from moldau.connect import providers
from moldau.connect.engine.runs import RunDirectory
from moldau.connect.engine.source_reader import ConnectReader, Piece, interval_ms
from moldau.connect.engine.source_rows import last_offsets
from moldau.connect.engine.source_write import _Rows
from moldau.connect.engine_api import ConnectorSpec
from moldau.spark.errors import PipelineError

STRING = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {"bootstrap.servers": "127.0.0.1:1", "key.converter": STRING, "value.converter": STRING}
LIMIT = ReadAllAvailable()
Make = Callable[..., ConnectReader]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Make]:
    made: list[ConnectReader] = []
    # A reader limits the memory of its process, which here is that of all tests.
    limits = resource.getrlimit(resource.RLIMIT_DATA)

    def make(
        kind: str, *, is_local: bool = True, next_: int = 0, secrets: dict[str, str] | None = None
    ) -> ConnectReader:
        directory = RunDirectory(tmp_path)
        name = f"tests.connect_spark.connectors.{kind}"
        config = {"connector.class": name, "topic": "t", "until": "250"}
        stored: Any = [({"counter": "one"}, {"next": next_})] if next_ else []
        directory.put_spec(ConnectorSpec("c", config, WORKER, secrets=secrets or {}), stored)
        made.append(ConnectReader(directory, 10.0, is_local=is_local))
        return made[-1]

    yield make
    for each in made:
        each.stop()
    resource.setrlimit(resource.RLIMIT_DATA, limits)


def read_all(reader: ConnectReader, until: int) -> tuple[list[bytes], list[str]]:
    """All values and the progress, piece by piece."""
    position = reader.initialOffset()
    values: list[bytes] = []
    progress: list[str] = []
    while len(values) < until:
        end = reader.latestOffset(position, LIMIT)
        assert end["piece"] == position["piece"] + 1
        for piece in reader.partitions(position, end):
            [row] = reader.read(piece)
            names = ("path", "data", "progress")
            batch = pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True))])
            rows = _Rows([batch])
            for records in rows.records():
                values += records.column("value").to_pylist()
            progress += rows.progress
        reader.commit(end)
        position = end
    return values, progress


@pytest.mark.parametrize("is_local", [True, False])
def test_rows_come_in_pieces_with_the_progress_after_them(reader: Make, is_local: bool) -> None:
    made = reader("Numbers", is_local=is_local, next_=100)
    values, progress = read_all(made, 150)
    assert values == [b"number %d" % number for number in range(100, 250)]
    assert last_offsets(progress) == [({"counter": "one"}, {"next": 250})]
    # What is committed is deleted.
    assert made._pieces == {}
    assert list(made._directory.path.glob("piece-*")) == []


def test_a_piece_is_planned_again_as_it_was(reader: Make) -> None:
    made = reader("Numbers")
    start = made.initialOffset()
    end = made.latestOffset(start, LIMIT)
    assert made.latestOffset(start, LIMIT) == end
    [piece] = made.partitions(start, end)
    assert isinstance(piece, Piece)
    assert piece.data is None


def test_the_trace_of_a_failure_is_left_for_the_driver(reader: Make) -> None:
    made = reader("RaisingSource")
    with pytest.raises(OSError, match="the machine is not there"):
        made.latestOffset(made.initialOffset(), LIMIT)
    trace = made._directory.failure() or ""
    assert trace.startswith("OSError: the machine is not there\n\tat poll(connectors.py:")


def test_secrets_are_not_in_what_spark_is_told_of_a_failure(
    reader: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark logs it. The trace is for the worker, which leaves them out itself."""
    monkeypatch.setattr(providers, "_logged", {})
    made = reader("RaisingSource", secrets={"machine": "${env:MACHINE}"})
    with (
        redirect_stdout(sys.stdout),
        redirect_stderr(sys.stderr),
        pytest.raises(PipelineError, match=r"^the \$\{env:MACHINE\} is not there$") as raised,
    ):
        made.latestOffset(made.initialOffset(), LIMIT)
    assert "machine" not in "".join(traceback.format_exception(raised.value))
    assert "the machine is not there" in (made._directory.failure() or "")


def test_transactions_by_interval_hold_rows_back() -> None:
    config = {"transaction.boundary": "interval"}
    assert interval_ms(ConnectorSpec("c", {}, {})) == 0
    assert interval_ms(ConnectorSpec("c", config, {})) == 60_000
    assert interval_ms(ConnectorSpec("c", config, {"offset.flush.interval.ms": "5"})) == 5
    own = {**config, "transaction.boundary.interval.ms": "7"}
    assert interval_ms(ConnectorSpec("c", own, {})) == 7

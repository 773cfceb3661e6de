"""The file sink by itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from moldau.connect.connector import SinkTask
from moldau.connect.connectors.file_sink import FileStreamSink
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import INT32, struct
from moldau.connect.data.struct import Struct

NO_TASK = cast(SinkTask, None)


def opened(path: Path) -> FileStreamSink:
    sink = FileStreamSink()
    sink.start({"file": str(path)})
    sink.open({"file": str(path)}, NO_TASK)
    return sink


def record(value: Any, schema: Any = None) -> SinkRecord:
    return SinkRecord("t", 0, value_schema=schema, value=value)


def test_values_are_lines_as_java_prints_them(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before\n")
    schema = struct("row", {"a": INT32})
    values = [
        record("text"),
        record(None),
        record(b"bytes"),
        record(True),
        record({"a": [1, "b"]}),
        record(Struct(schema, {"a": 1}), schema),
    ]
    sink = opened(path)
    sink.write(iter(values), NO_TASK)
    sink.stop()
    assert path.read_text() == "before\ntext\nnull\nbytes\ntrue\n{a=[1, b]}\nStruct{a=1}\n"


def test_columns_give_the_same_lines(tmp_path: Path) -> None:
    path = tmp_path / "out"
    values = pa.array([b"one", None, "zwölf".encode()], pa.binary())
    sink = opened(path)
    sink.write_arrow(iter([pa.RecordBatch.from_arrays([values], names=["value"])]), NO_TASK)
    assert path.read_text() == "one\nnull\nzwölf\n"
    assert opened(path)._file.tell() == len(path.read_bytes())


def test_a_batch_that_fails_leaves_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = opened(path)
    sink.write(iter([record("kept")]), NO_TASK)

    def failing() -> Iterator[SinkRecord]:
        for number in range(6000):
            yield record(f"lost {number}")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        sink.write(failing(), NO_TASK)
    sink.write(iter([record("again")]), NO_TASK)
    assert path.read_text() == "kept\nagain\n"


def test_what_cannot_be_opened_is_named_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"file=.*nowhere/out cannot be opened"):
        FileStreamSink().start({"file": str(tmp_path / "nowhere" / "out")})
    with pytest.raises(ConnectError, match="standard output"):
        FileStreamSink().start({})

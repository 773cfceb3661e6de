"""Records as columns give the same as records one by one: in sinks, sources and the file sink."""

import datetime
from collections import deque
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.connector import ArrowRecords, SinkTask
from moldau.connect.connectors.file_sink import FileStreamSink
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import SinkRecord
from moldau.connect.engine.error_policy import ErrorHandler, ErrorPolicy, Failure
from moldau.connect.engine.sink_columns import SinkPart, columns_of
from moldau.connect.engine.sink_stage import RecordReader, Task
from moldau.connect.engine.source_rows import RowMaker, source_records
from moldau.connect.engine.stages import Stages
from moldau.connect.engine_api import ConnectorSpec

STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

HOIST = {"type": "HoistField$Value", "field": "line"}
STATIC = {"type": "InsertField$Value", "static.field": "s!", "static.value": "fixed"}
PLACE = {"type": "InsertField$Value", "topic.field": "t", "partition.field": "p"}
OFFSET = {"type": "InsertField$Value", "offset.field": "o!", "topic.field": "t"}
TIME = {"type": "InsertField$Value", "timestamp.field": "at"}
RENAME = {"type": "ReplaceField$Value", "renames": "line:text,s:source"}
NOTHING = {"type": "ReplaceField$Value", "include": "none of them"}
EXTRACT = {"type": "ExtractField$Value", "field": "line"}
EXTRACT_OFFSET = {"type": "ExtractField$Value", "field": "o"}
MASK = {"type": "MaskField$Value", "fields": "line,s"}
KEY = {"type": "ValueToKey", "fields": "line"}
HOIST_KEY = {"type": "HoistField$Key", "field": "k"}
ROUTE = {"type": "RegexRouter", "regex": "(.*)s", "replacement": "$1-routed"}
CHAINS = [
    [],
    [ROUTE],
    [HOIST],
    [HOIST, STATIC, RENAME],
    [HOIST, PLACE, STATIC, MASK],
    [HOIST, OFFSET, KEY],
    [HOIST, OFFSET, EXTRACT_OFFSET],
    [HOIST, TIME, ROUTE],
    [HOIST, NOTHING],
    [HOIST, EXTRACT, HOIST],
    [HOIST, HOIST],
    [HOIST_KEY, HOIST],
    [STATIC],
    [{"type": "Filter"}],
]
LINES = st.lists(st.one_of(st.binary(max_size=5), st.text(max_size=5).map(str.encode)), min_size=1)


def config(chain: list[dict[str, str]], value: str = STRING, **others: str) -> dict[str, str]:
    made = {"transforms": ",".join(f"x{number}" for number, _ in enumerate(chain)), **others}
    for number, options in enumerate(chain):
        for name, text in options.items():
            text = f"org.apache.kafka.connect.transforms.{text}" if name == "type" else text
            made[f"transforms.x{number}.{name}"] = text
    return {**made, "key.converter": STRING, "value.converter": value}


def rows(values: list[bytes | None], key: bytes | None = None) -> pa.RecordBatch:
    count = len(values)
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    columns: dict[str, pa.Array] = {
        "key": pa.array([key] * count, pa.binary()),
        "value": pa.array(values, pa.binary()),
        "topic": pa.array(["lines"] * count, pa.string()),
        "partition": pa.array([3] * count, pa.int32()),
        "offset": pa.array(range(7, 7 + count), pa.int64()),
        "timestamp": pa.array([MOMENT] * count, pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array([0] * count, pa.int32()),
        "headers": pa.nulls(count, headers),
    }
    return pa.RecordBatch.from_pydict(columns)


def reader(stages: Stages, seen: list[Failure]) -> RecordReader:
    handler = ErrorHandler(ErrorPolicy(is_tolerant=True), seen.append)
    return RecordReader(stages, Task("c", 0, 0, 0, handler, "Sink", deque()))


def parts(settings: dict[str, str], batch: pa.RecordBatch) -> tuple[SinkPart, list[SinkRecord]]:
    """The records as they are given to sinks, and the same one by one."""
    stages = Stages(ConnectorSpec("c", settings, {}))
    made = reader(stages, [])
    [part] = made.parts([batch])
    return part, list(made._one_by_one(batch))


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "-".join(x["type"] for x in chain))
@pytest.mark.parametrize("converter", [STRING, BYTES])
@given(values=LINES, key=st.sampled_from([None, b"k", b"\xff"]))
def test_a_sink_gets_the_same_records(
    chain: list[dict[str, str]], converter: str, values: list[bytes], key: bytes | None
) -> None:
    part, expected = parts(config(chain, converter), rows(list(values), key))
    assert list(part.records()) == expected


@pytest.mark.parametrize(
    "chain", [each for each in CHAINS if {"type": "Filter"} not in each and each != [STATIC]]
)
def test_plain_texts_are_columns(chain: list[dict[str, str]]) -> None:
    part, expected = parts(config(chain), rows([b"one", b"two"], b"k"))
    # A struct in a struct is none.
    assert (part.columns is None) == (chain == [HOIST, HOIST])
    assert len(expected) == 2


@pytest.mark.parametrize("values", [[b"a", None], [b"a\xff"], [b"\xed\xa0\x80"]])
def test_nulls_and_bytes_that_are_no_text_are_looked_at_one_by_one(values: list[Any]) -> None:
    part, expected = parts(config([HOIST, STATIC]), rows(values))
    assert part.columns is None
    assert list(part.records()) == expected


def test_headers_and_other_partitions_are_looked_at_one_by_one() -> None:
    stages = Stages(ConnectorSpec("c", config([HOIST]), {}))
    batch = rows([b"a", b"b"])
    assert columns_of(batch, stages) is not None
    there = batch.schema.get_field_index("partition")
    assert columns_of(batch.set_column(there, "partition", pa.array([1, 2])), stages) is None
    headers = pa.array([None, [{"key": "h", "value": b""}]], batch.column("headers").type)
    there = batch.schema.get_field_index("headers")
    assert columns_of(batch.set_column(there, "headers", headers), stages) is None


def test_what_fails_is_found_one_by_one() -> None:
    seen: list[Failure] = []
    settings = config([HOIST, {"type": "ExtractField$Value", "field": "none"}])
    stages = Stages(ConnectorSpec("c", settings, {}))
    assert list(reader(stages, seen).records([rows([b"a", b"b"])])) == []
    assert [failure.record.offset for failure in seen] == [7, 8]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "-".join(x["type"] for x in chain))
@pytest.mark.parametrize("converter", [STRING, JSON])
@given(values=st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
def test_a_source_writes_the_same_rows(
    chain: list[dict[str, str]], converter: str, values: list[str]
) -> None:
    records = ArrowRecords("lines", pa.array(values), [({"f": 1}, {"p": 2})], timestamp_ms=17)
    stages = Stages(ConnectorSpec("c", config(chain, converter), {}))
    maker = RowMaker(stages, ErrorHandler(ErrorPolicy(is_tolerant=True), lambda _: None))
    assert maker.arrow_rows(records) == maker.rows(source_records(records))


def test_a_source_that_fails_says_so_as_ever() -> None:
    records = ArrowRecords("lines", pa.array(["a"]), [({"f": 1}, {"p": 2})])
    stages = Stages(ConnectorSpec("c", config([HOIST, OFFSET]), {}))
    maker = RowMaker(stages, ErrorHandler(ErrorPolicy(), lambda _: None))
    with pytest.raises(ConnectError) as raised:
        maker.arrow_rows(records)
    assert str(raised.value).startswith("A record could not be processed (p=2 of f=1, at TRANSF")
    cause = raised.value.__cause__
    assert cause is not None
    # The quick attempt failed for the same reason, and would double the trace.
    assert cause.__context__ is None


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "-".join(x["type"] for x in chain))
@pytest.mark.parametrize("values", [[b"one", "zwölf".encode(), b""], [None], [b"\xff", None]])
def test_the_file_sink_writes_the_same_lines(
    chain: list[dict[str, str]], values: list[bytes | None], tmp_path: Path
) -> None:
    part, expected = parts(config(chain), rows(values))
    files = [tmp_path / "columns", tmp_path / "records"]
    for path in files:
        sink = FileStreamSink()
        sink.open({"file": str(path)}, cast(SinkTask, None))
        if path == files[0]:
            sink.write_columns(iter([part]), cast(SinkTask, None))
        else:
            sink.write(iter(expected), cast(SinkTask, None))
        sink.stop()
    assert files[0].read_bytes() == files[1].read_bytes()

"""Records of a sink in a task, without Spark."""

import datetime
from collections import deque
from typing import Any

import pyarrow as pa
import pytest

from moldau.client.connection import ConnectionFailed
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.connect.engine.error_policy import ErrorHandler, ErrorPolicy, Failure, Stage
from moldau.connect.engine.raw_record import RawRecord
from moldau.connect.engine.sink_stage import RecordReader, Report, Task, failed_report, raw_records
from moldau.connect.engine.stages import Stages, is_verbatim
from moldau.connect.engine.traces import trace_of
from moldau.connect.engine_api import ConnectorSpec
from moldau.connect.plugins import Plugins
from moldau.ids import TopicPartition

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "key.converter": STRING,
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
}
MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
MOMENT_MS = int(MOMENT.timestamp() * 1000)


def batch(*values: bytes, first_offset: int = 0) -> pa.RecordBatch:
    rows = [
        {
            "key": b"k",
            "value": value,
            "topic": "t",
            "partition": 1,
            "offset": first_offset + number,
            "timestamp": MOMENT,
            "timestampType": 0,
            "headers": [{"key": "h", "value": b"1"}] if number == 0 else None,
        }
        for number, value in enumerate(values)
    ]
    kinds = {"offset": pa.int64(), "timestamp": pa.timestamp("us", tz="UTC")}
    table = pa.RecordBatch.from_pylist(rows)
    fields = [pa.field(each.name, kinds.get(each.name, each.type)) for each in table.schema]
    return table.cast(pa.schema(fields))


def task(policy: ErrorPolicy, seen: list[Failure]) -> Task:
    return Task("c", 0, 0, 0, ErrorHandler(policy, seen.append), "Sink", deque())


def read(config: dict[str, str], *batches: pa.RecordBatch) -> tuple[list[Any], list[Failure]]:
    seen: list[Failure] = []
    stages = Stages(ConnectorSpec("c", config, WORKER))
    reader = RecordReader(stages, task(ErrorPolicy.parse(config), seen))
    return list(reader.records(batches)), seen


def test_records_are_what_was_read() -> None:
    assert next(raw_records(batch(b"1", first_offset=5))) == RawRecord(
        b"k", b"1", "t", 1, 5, MOMENT_MS, "CreateTime", [("h", b"1")]
    )


def test_records_are_converted_and_transformed() -> None:
    config = {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "t",
        "transforms.route.replacement": "other",
    }
    [record], seen = read(config, batch(b'{"a": 1}', first_offset=7))
    assert (record.topic, record.original_topic, record.offset) == ("other", "t", 7)
    assert (record.key, record.value, record.timestamp_ms) == ("k", {"a": 1}, MOMENT_MS)
    assert [(each.name, each.value) for each in record.headers] == [("h", 1)]
    assert seen == []


def test_a_record_that_fails_is_left_out_with_its_stage_and_class() -> None:
    records, [failure] = read({"errors.tolerance": "all"}, batch(b"1", b"{", b"3"))
    assert [record.value for record in records] == [1, 3]
    assert (failure.stage, failure.class_name) == (Stage.VALUE_CONVERTER, JSON)
    assert failure.record.offset == 1
    # The quick attempt failed for the same reason, and would double the trace.
    assert trace_of(failure.error).count("DataException") == 1


def test_a_failing_transform_is_named_by_its_class() -> None:
    kind = "org.apache.kafka.connect.transforms.ExtractField$Value"
    config = {"transforms": "x", "transforms.x.type": kind, "transforms.x.field": "a"}
    records, [failure] = read(
        {**config, "errors.tolerance": "all"}, batch(b'{"a": 1}', b'"no map"')
    )
    assert [record.value for record in records] == [1]
    assert (failure.stage, failure.class_name) == (Stage.TRANSFORMATION, kind)
    with pytest.raises(ConnectError, match=r"errors\.tolerance is none"):
        read(config, batch(b'"no map"'))


def test_a_sink_reports_a_record_as_it_was_read() -> None:
    seen: list[Failure] = []
    made = task(ErrorPolicy(is_tolerant=True), seen)
    made.recent.extend([batch(b"1", b"2", first_offset=10), batch(b"3", first_offset=12)])
    made.report(
        SinkRecord("renamed", 9, offset=11, original_topic="t", original_partition=1), OSError()
    )
    assert [each.record.value for each in seen] == [b"2"]
    assert seen[0].stage == Stage.TASK_PUT


def test_offsets_of_a_report() -> None:
    assert Report(0, None, '[["a", 1, 17]]', 3, []).next_offsets() == {TopicPartition("a", 1): 17}


@pytest.mark.parametrize(
    ("config", "is_so"),
    [
        ({"value.converter": STRING}, True),
        ({"value.converter": "ByteArrayConverter"}, True),
        ({}, False),
        ({"value.converter": STRING, "value.converter.converter.encoding": "UTF-16"}, False),
        ({"value.converter": STRING, "transforms": "a"}, False),
    ],
)
def test_only_texts_and_bytes_without_transforms_pass_unseen(
    config: dict[str, str], is_so: bool
) -> None:
    assert is_verbatim(ConnectorSpec("c", config, WORKER), Plugins()) is is_so


def test_an_error_is_retriable_wherever_in_its_causes_that_is_said() -> None:
    def report(error: Exception, cause: Exception | None) -> Report:
        error.__cause__ = cause
        return failed_report(3, error)

    closed = OSError("server closed the connection")
    assert report(RetriableError("the database is away"), closed).is_retriable
    assert report(ConnectError("no row was written"), RetriableError("busy")).is_retriable
    assert not report(ConnectError("no such column"), closed).is_retriable
    away = report(ConnectError("a dead letter was not written"), ConnectionFailed("refused"))
    assert (away.is_retriable, away.is_outage, away.task) == (False, True, 3)
    assert (away.failure or "").startswith("org.apache.kafka.connect.errors.ConnectException: a d")

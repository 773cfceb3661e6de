"""A sink's part that runs in Spark's tasks: ranges of offsets in, records written, a report out.

Reading, converting, transforming and writing are one function, so records never become rows of
Spark. A task does not raise for what its connector does wrong: it reports it with the
trace, so that Spark does not run it again on its own.
"""

import contextlib
import json
import os
import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from moldau.client.connection import ConnectionFailed
from moldau.connect.connector import SinkConnector
from moldau.connect.data.errors import RetriableError
from moldau.connect.data.headers import Header
from moldau.connect.data.record import SinkRecord
from moldau.connect.engine.clients import new_dead_letter_producer
from moldau.connect.engine.dead_letters import DeadLetters
from moldau.connect.engine.error_policy import (
    ErrorHandler,
    ErrorPolicy,
    Failure,
    Skipped,
    Stage,
    log_line,
)
from moldau.connect.engine.hidden_output import hide_in_output
from moldau.connect.engine.memory_limit import memory_limit, memory_mb
from moldau.connect.engine.raw_record import TIMESTAMP_TYPES, RawRecord
from moldau.connect.engine.sink_columns import SinkPart, columns_of, records_of, timestamps_ms
from moldau.connect.engine.stages import Stages
from moldau.connect.engine.topic_ranges import RangeInput
from moldau.connect.engine.traces import trace_of
from moldau.connect.engine_api import ConnectorSpec
from moldau.connect.plugins import Plugins
from moldau.ids import TopicPartition
from moldau.spark.errors import BrokersAway
from moldau.spark.worker_garbage import freeze_modules

REPORT: Final = (
    "task int, message binary, offsets string, records long, log array<string>, "
    "failure string, is_retriable boolean, is_outage boolean"
)
_REPORT: Final = pa.schema(
    [
        ("task", pa.int32()),
        ("message", pa.binary()),
        ("offsets", pa.string()),
        ("records", pa.int64()),
        ("log", pa.list_(pa.string())),
        ("failure", pa.string()),
        ("is_retriable", pa.bool_()),
        ("is_outage", pa.bool_()),
    ]
)
# The log of a task with very many bad records is cut: they are all alike.
_MOST_LOG_LINES: Final = 100


class Report(NamedTuple):
    """What a task of a sink has done."""

    task: int
    # Pickled.
    message: bytes | None
    # JSON: [[topic, partition, next offset], ...].
    offsets: str
    records: int
    log: list[str]
    # The trace, if the connector failed.
    failure: str | None = None
    is_retriable: bool = False
    # The brokers could not be reached.
    is_outage: bool = False

    def next_offsets(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(topic, each): next_ for topic, each, next_ in json.loads(self.offsets)
        }


@dataclass(frozen=True)
class SinkPlan:
    """What every task of one run of a connector is given."""

    spec: ConnectorSpec
    # The options by which topics are read.
    reading: dict[str, str]
    # Different for each start of the connector: state in reused processes is not carried over.
    run_id: str
    is_arrow: bool


@dataclass
class Task:
    """A task's view of itself, and the policy for its errors (see ``connector.SinkTask``)."""

    connector: str
    batch_id: int
    task_id: int
    attempt: int
    handler: ErrorHandler
    class_name: str
    # As they were read, for ``report``: all of this task if there are dead letters to be written.
    recent: deque[pa.RecordBatch]

    def report(self, record: SinkRecord, error: Exception) -> None:
        original = self._original(record)
        self.handler.failed(Failure(Stage.TASK_PUT, self.class_name, error, original))

    def _original(self, record: SinkRecord) -> RawRecord | None:
        place = (record.original_topic, record.original_partition, record.offset)
        for batch in reversed(self.recent):
            row = pc.index(batch.column("offset"), pa.scalar(record.offset, pa.int64())).as_py()
            for raw in raw_records(batch.slice(row)) if row >= 0 else ():
                if (raw.topic, raw.partition, raw.offset) == place:
                    return raw
        return None


def run_task(
    rows: Iterator[pa.RecordBatch], plan: SinkPlan, batch_id: int
) -> Iterator[pa.RecordBatch]:
    """Write the records of the offsets in ``rows``; yields the task's report."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "runs in a task of Spark"
    task_id, attempt = context.partitionId(), context.attemptNumber()
    limit_mb = memory_mb(plan.spec.config, plan.spec.worker)
    hide_in_output(plan.spec.secrets)
    try:
        with memory_limit(limit_mb):
            report = _writer_of(plan).run(rows, batch_id, task_id, attempt)
    except Exception as error:
        forget(plan.spec.name)
        report = failed_report(task_id, error)
    arrays = [pa.array([each], field.type) for each, field in zip(report, _REPORT, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, schema=_REPORT)
    freeze_modules()


def failed_report(task_id: int, error: BaseException) -> Report:
    """The report of a task that ended with ``error``.

    A retriable error may have a cause, such as that of a database driver, and be one itself.
    """
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    is_away = any(isinstance(each, BrokersAway | ConnectionFailed) for each in chain)
    is_retriable = any(isinstance(each, RetriableError) for each in chain)
    return Report(task_id, None, "[]", 0, [], trace_of(error), is_retriable, is_away)


class TaskWriter:
    """A connector with its converters and transforms, in one process of Spark's."""

    def __init__(self, plan: SinkPlan) -> None:
        plugins = Plugins()
        spec = plan.spec
        plugin = plugins.find_connector(spec.config["connector.class"])
        kind = plugin.load()
        assert issubclass(kind, SinkConnector), kind
        self._plan = plan
        self._kind = kind
        self._class_name = plugin.class_name
        self._policy = ErrorPolicy.parse(spec.config)
        self._stages = None if plan.is_arrow else Stages(spec, plugins)
        self._log: list[str] = []
        self._letters = DeadLetters(
            spec.name,
            self._policy.dead_letter_topic,
            lambda: new_dead_letter_producer(spec),
            has_headers=self._policy.dead_letter_headers,
        )
        self._sink: SinkConnector | None = None

    def run(
        self, rows: Iterator[pa.RecordBatch], batch_id: int, task_id: int, attempt: int
    ) -> Report:
        name = self._plan.spec.name
        self._log = []
        handler = ErrorHandler(self._policy, self._failed)
        kept: deque[pa.RecordBatch] = deque(maxlen=None if self._policy.dead_letter_topic else 2)
        task = Task(name, batch_id, task_id, attempt, handler, self._class_name, kept)
        sink = self._sink
        if sink is None:
            sink = self._kind()
            sink.open(self._plan.spec.config, task)
            self._sink = sink
        records = RangeInput(rows, self._plan.reading)
        if self._stages is None:
            message = sink.write_arrow(records.batches(), task)
        else:
            reader = RecordReader(self._stages, task)
            if sink.takes_columns:
                message = sink.write_columns(reader.parts(records.batches()), task)
            else:
                message = sink.write(reader.records(records.batches()), task)
        if not records.is_complete:
            raise RuntimeError(f"{self._class_name} has not read all its records: write must do so")
        self._letters.flush()
        ends = sorted(records.next_offsets().items())
        offsets = json.dumps([[*place, end] for place, end in ends])
        return Report(task_id, pickle.dumps(message), offsets, records.records, self._log)

    def close(self) -> None:
        self._letters.close()
        if self._stages is not None:
            self._stages.close()
        if self._sink is not None:
            self._sink.stop()

    def _failed(self, failure: Failure) -> None:
        if self._policy.is_logged and len(self._log) < _MOST_LOG_LINES:
            line = log_line(self._plan.spec.name, failure, self._policy)
            self._log.append(f"{line}\n{trace_of(failure.error)}")
        if self._policy.dead_letter_topic:
            self._letters.add(failure)


class RecordReader:
    """Converts and transforms the records of one task."""

    def __init__(self, stages: Stages, task: Task) -> None:
        self._stages = stages
        self._task = task

    def records(self, batches: Iterable[pa.RecordBatch]) -> Iterator[SinkRecord]:
        """The records that are left, in order; those that fail are handled by the policy."""
        for part in self.parts(batches):
            yield from part.records()

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[SinkPart]:
        """The same records, as columns where they can be."""
        stages = self._stages
        for batch in batches:
            self._task.recent.append(batch)
            columns = columns_of(batch, stages) if stages.has_columns else None
            if columns is None:
                yield SinkPart(None, partial(self._one_by_one, batch))
            else:
                yield SinkPart(columns, partial(records_of, columns, batch))

    def _one_by_one(self, batch: pa.RecordBatch) -> Iterator[SinkRecord]:
        for raw in raw_records(batch):
            try:
                record = self._quickly(raw)
            except Exception:
                has_failed = True
            else:
                has_failed = False
            # Outside of the handler: the trace of its error would contain the first one as well.
            if has_failed:
                record = self._carefully(raw)
            if record is not None:
                yield record

    def _quickly(self, raw: RawRecord) -> SinkRecord | None:
        key_value_headers = (
            self._stages.key.to_connect(raw.topic, (), raw.key),
            self._stages.value.to_connect(raw.topic, (), raw.value),
            [self._header(raw.topic, name, data) for name, data in raw.headers],
        )
        # A record that fails is made anew, so the chain may change this one.
        record = self._stages.chain.apply(_sink_record(raw, *key_value_headers), is_own=True)
        # Transforms return copies of what they get.
        return cast("SinkRecord | None", record)

    def _carefully(self, raw: RawRecord) -> SinkRecord | None:
        """Stage by stage, with retries: only for a record that failed. None if left out."""
        execute = self._task.handler.execute
        stages = self._stages
        key = execute(
            Stage.KEY_CONVERTER,
            stages.key_class,
            lambda: stages.key.to_connect(raw.topic, (), raw.key),
            raw,
        )
        if isinstance(key, Skipped):
            return None
        value = execute(
            Stage.VALUE_CONVERTER,
            stages.value_class,
            lambda: stages.value.to_connect(raw.topic, (), raw.value),
            raw,
        )
        if isinstance(value, Skipped):
            return None
        headers = execute(
            Stage.HEADER_CONVERTER,
            stages.header_class,
            lambda: [self._header(raw.topic, name, data) for name, data in raw.headers],
            raw,
        )
        if isinstance(headers, Skipped):
            return None
        record = _sink_record(raw, key, value, headers)
        return cast("SinkRecord | None", stages.transform(record, self._task.handler, raw))

    def _header(self, topic: str, name: str, data: bytes | None) -> Header:
        return Header(name, *self._stages.headers.to_connect_header(topic, name, data))


def _sink_record(
    raw: RawRecord, key: tuple[Any, Any], value: tuple[Any, Any], headers: list[Header]
) -> SinkRecord:
    return SinkRecord(
        raw.topic,
        raw.partition,
        key[0],
        key[1],
        value[0],
        value[1],
        raw.timestamp_ms,
        headers,
        raw.offset,
        raw.timestamp_type,
        raw.topic,
        raw.partition,
    )


def raw_records(batch: pa.RecordBatch) -> Iterator[RawRecord]:
    """The rows of ``format("moldau")`` as records."""
    times = timestamps_ms(batch).to_pylist()
    kinds = [TIMESTAMP_TYPES[kind] for kind in batch.column("timestampType").to_pylist()]
    headers = [
        [] if each is None else [(pair["key"], pair["value"]) for pair in each]
        for each in batch.column("headers").to_pylist()
    ]
    plain = (
        batch.column(name).to_pylist() for name in ("key", "value", "topic", "partition", "offset")
    )
    return map(RawRecord, *plain, times, kinds, headers)


# The connectors of this process. Spark reuses it for all connectors, one task at a time.
_writers: dict[str, tuple[str, int, TaskWriter]] = {}


def _writer_of(plan: SinkPlan) -> TaskWriter:
    name = plan.spec.name
    known = _writers.get(name)
    # A forked process must not share connections with its parent.
    if known is not None and known[:2] == (plan.run_id, os.getpid()):
        return known[2]
    forget(name)
    writer = TaskWriter(plan)
    _writers[name] = (plan.run_id, os.getpid(), writer)
    return writer


def forget(name: str) -> None:
    """Close this process's part of a connector, which has failed or was started again."""
    known = _writers.pop(name, None)
    if known is None or known[1] != os.getpid():
        return
    # What is left of a failed connector has nothing to say.
    with contextlib.suppress(Exception):
        known[2].close()

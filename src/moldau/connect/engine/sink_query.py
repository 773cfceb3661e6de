"""A sink as a streaming query: the driver's part.

Each micro-batch is read, converted, transformed and written by one job; then the sink commits it
and at last the group's offsets move. A crash in between repeats the batch: sinks that store the
offsets together with the data start after it, the others write it twice.
"""

import logging
import pickle
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import pyarrow as pa

from moldau.client.cluster import Cluster
from moldau.connect.connector import SinkConnector
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.engine.clients import (
    connection_settings,
    group_of,
    new_admin,
    new_cluster,
    offset_reset,
    reads_committed,
    spark_options,
)
from moldau.connect.engine.error_policy import ErrorPolicy, delay_ms
from moldau.connect.engine.failures import Stopping, TaskFailed, for_spark
from moldau.connect.engine.runs import Run
from moldau.connect.engine.session import parallel_tasks
from moldau.connect.engine.sink_progress import SinkProgress
from moldau.connect.engine.sink_stage import REPORT, Report, SinkPlan, run_task
from moldau.connect.engine.sink_start import (
    logs_of,
    made_again,
    partitions_of,
    starting_offsets,
    starting_option,
    topic_pattern,
)
from moldau.connect.engine.stages import is_verbatim
from moldau.connect.engine.topic_ranges import FORMAT, INTERVAL_MS
from moldau.connect.plugins import Plugins
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.spark.errors import BrokersAway

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

T = TypeVar("T")

_log = logging.getLogger(__name__)

# A backlog is worked off in batches of this size, so that progress is committed now and then.
MAX_RECORDS: Final = "moldau.batch.max.records"
_DEFAULT_MAX_RECORDS: Final = 500_000
# How long writes that raise RetriableError are repeated; -1 for ever.
RETRY_TIMEOUT: Final = "moldau.sink.retry.timeout.ms"
_DEFAULT_RETRY_TIMEOUT_MS: Final = 60_000
_RETRY_DELAY_MAX_MS: Final = 10_000
_DEAD_LETTER_PARTITIONS: Final = 1


class OnTopic(Protocol):
    def __call__(self, run: Run, topic: str) -> None: ...


class SinkQuery:
    """Starts the query of a sink, and handles its batches."""

    def __init__(self, run: Run, plugins: Plugins, on_topic: OnTopic) -> None:
        spec = run.spec
        kind = plugins.connector(spec.config["connector.class"])
        self._run = run
        self._on_topic = on_topic
        self._policy = ErrorPolicy.parse(spec.config)
        self._pattern = topic_pattern(spec.config)
        self._sink: SinkConnector = kind()
        self._is_arrow = kind.takes_arrow and is_verbatim(spec, plugins)
        self._plan: SinkPlan | None = None
        self._is_single = kind.is_single_writer
        self._cluster: Cluster = new_cluster(spec, "consumer")
        self._progress = SinkProgress(self._cluster, group_of(spec), run.stopping)
        # What the target has at the start; None if it stores no offsets.
        self._stored: dict[TopicPartition, int] | None = None
        self._retry_timeout_ms = int(spec.config.get(RETRY_TIMEOUT, _DEFAULT_RETRY_TIMEOUT_MS))

    def start(self, spark: "SparkSession", trigger_ms: int) -> "StreamingQuery":
        """Start the query from the stored progress.

        Raises:
            ConnectError: the connector cannot start.
            ApiError: the cluster refuses something.
        """
        spec = self._run.spec
        self._make_dead_letter_topic()
        self._sink.clients = connection_settings(spec, "producer")
        partitions = partitions_of(self._cluster, self._pattern)
        self._sink.topics = sorted({each.topic for each in partitions})
        self._sink.start(spec.config)
        where = self._starting_offsets(partitions)
        limit = spec.config.get(MAX_RECORDS, str(_DEFAULT_MAX_RECORDS))
        reading = {
            **spark_options(spec, "consumer"),
            "subscribePattern": self._pattern,
            "startingOffsets": starting_option(where, offset_reset(spec)),
            "maxOffsetsPerTrigger": limit,
        }
        self._plan = SinkPlan(spec, reading, self._run.run_id, self._is_arrow)
        rows = (
            spark.readStream.format(FORMAT)
            .options(**reading)
            .option(INTERVAL_MS, str(trigger_ms))
            .load()
        )
        # The reader itself waits: a trigger would make even a backlog wait for its time.
        return (
            rows.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", self._run.directory.checkpoint)
            .start()
        )

    def renew(self, now_s: float) -> None:
        """Called now and then while the query runs."""
        self._progress.renew(now_s)

    def close(self) -> None:
        self._sink.stop()
        self._cluster.close()

    def _starting_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        spec = self._run.spec
        self._stored = stored = self._sink.stored_offsets()
        committed = self._progress.read()
        logs = logs_of(self._cluster, partitions, read_committed=reads_committed(spec))
        where = starting_offsets(
            spec, logs, committed, stored, offset_reset(spec), has_parts=self._sink.has_parts
        )
        self._progress.begin({each: committed[each] for each in where if each in committed})
        new = {each: offset for each, offset in where.items() if each not in committed}
        if stored is not None and new:
            self._progress.commit(new)
        return where

    def _batch(self, rows: "DataFrame", batch_id: int) -> None:
        try:
            offsets = self._retrying(lambda: self._write(rows, batch_id), batch_id)
        except BaseException as error:
            self._run.error = self._run.error or error
            raise for_spark(error, is_stopping=self._run.stopping.is_set()) from None
        self._run.has_progress = True
        for topic in sorted({each.topic for each in offsets}):
            self._on_topic(self._run, topic)

    def _write(self, rows: "DataFrame", batch_id: int) -> dict[TopicPartition, int]:
        """Write and commit a batch; returns the next offsets of its partitions."""
        reports = self._run_tasks(rows, batch_id)
        for report in reports:
            for line in report.log:
                _log.error("%s", line)
        failed = [each for each in reports if each.failure is not None]
        # An error that retrying cannot fix comes first.
        for report in sorted(failed, key=lambda each: (each.is_retriable, each.is_outage)):
            trace = report.failure or ""
            if report.is_retriable:
                raise RetriableError(trace)
            if report.is_outage:
                raise BrokersAway(trace.partition("\n")[0])
            raise TaskFailed(trace)
        offsets = {place: at for each in reports for place, at in each.next_offsets().items()}
        # From here on the batch would count as done.
        self._check_running()
        if offsets:
            messages = [pickle.loads(each.message) for each in reports if each.message]
            if any(each.records for each in reports):
                if self._stored is not None:
                    self._check_new({**self._stored, **self._sink.found_offsets(messages)}, offsets)
                    self._progress.announce(offsets)
                self._sink.commit(messages, offsets, batch_id)
            self._progress.commit(offsets)
        return offsets

    def _check_new(
        self, stored: Mapping[TopicPartition, int], partitions: Iterable[TopicPartition]
    ) -> None:
        """Refuse a topic that came since the start, if the target has records of that name."""
        for each in self._progress.new(partitions):
            if stored.get(each):
                raise made_again(self._run.spec, each, stored[each])

    def _retrying(self, write: Callable[[], T], batch_id: int) -> T:
        """Repeat ``write`` while it fails for a reason that may pass, within the time limit."""
        timeout_ms = self._retry_timeout_ms
        deadline_s = float("inf") if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
        attempt = 0
        while True:
            try:
                return write()
            except RetriableError as error:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise
                reason = str(error).partition("\n")[0]
            _log.warning(
                "connector %s: batch %d is written again: %s",
                self._run.spec.name,
                batch_id,
                reason,
            )
            delay_s = delay_ms(attempt, _RETRY_DELAY_MAX_MS, random.Random()) / 1000
            self._run.stopping.wait(min(delay_s, left_s))
            self._check_running()
            attempt += 1

    def _run_tasks(self, rows: "DataFrame", batch_id: int) -> list[Report]:
        plan = self._plan
        assert plan is not None, "it is made before the query starts"

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return run_task(batches, plan, batch_id)

        tasks = 1 if self._is_single else parallel_tasks(rows.sparkSession)
        return [Report(*row) for row in rows.coalesce(tasks).mapInArrow(write, REPORT).collect()]

    def _check_running(self) -> None:
        if self._run.stopping.is_set():
            raise Stopping(f"connector {self._run.spec.name} is being stopped")

    def _make_dead_letter_topic(self) -> None:
        topic = self._policy.dead_letter_topic
        if not topic:
            return
        try:
            with new_admin(self._run.spec) as admin:
                if any(each.name == topic for each in admin.list_topics()):
                    return
                factor = self._policy.dead_letter_replication_factor
                admin.create_topic(topic, _DEAD_LETTER_PARTITIONS, factor)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise ConnectError(
                    f"errors.deadletterqueue.topic.name={topic} cannot be created: {error}"
                ) from error

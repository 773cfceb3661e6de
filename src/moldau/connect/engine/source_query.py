"""A source as a streaming query: the driver's part.

Each micro-batch is written to its topics, and then the source's offsets to the offsets topic; only
then the connector is told. A crash in between reads the records again: at least once. With
``exactly.once.source.support=enabled`` records and offsets are one transaction, under the id that
Kafka uses for the task: taking it over aborts what a dead worker left open, and fences it.
"""

import logging
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from moldau.client.cluster import Cluster
from moldau.client.connection import ConnectionFailed
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.connect.config.errors import ConfigError
from moldau.connect.connector import SourceConnector
from moldau.connect.engine.clients import new_cluster, write_options
from moldau.connect.engine.error_policy import ErrorPolicy, delay_ms
from moldau.connect.engine.failures import Stopping, for_spark
from moldau.connect.engine.hidden_output import hide_in_output
from moldau.connect.engine.runs import Run, StoredOffsets
from moldau.connect.engine.session import is_local
from moldau.connect.engine.sink_query import OnTopic
from moldau.connect.engine.source_reader import DIRECTORY, FORMAT, IS_LOCAL, WAIT_MS
from moldau.connect.engine.source_rows import last_offsets
from moldau.connect.engine.source_write import REPORT, InTransaction, WriteReport, write_task
from moldau.connect.engine_api import SourceOffsets
from moldau.connect.plugins import Plugins
from moldau.errors import ApiError
from moldau.spark.errors import BrokersAway, PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

SUPPORT: Final = "exactly.once.source.support"


class SourceQuery:
    """Starts the query of a source, and handles its batches."""

    def __init__(
        self, run: Run, plugins: Plugins, offsets: SourceOffsets, on_topic: OnTopic
    ) -> None:
        spec = run.spec
        kind = plugins.connector(spec.config["connector.class"])
        self._run = run
        self._offsets = offsets
        self._on_topic = on_topic
        self._options = write_options(spec)
        self._policy = ErrorPolicy.parse(spec.config)
        self._offsets_topic = transaction_topic(kind, run, offsets)
        self._cluster: Cluster = new_cluster(spec, "producer")
        self._transactions = Transactions(self._cluster)
        self._identity = TransactionIdentity(transactional_id(run))

    def claim(self) -> None:
        """Take over the transactions: what an earlier run left open is aborted.

        Before ``start``, which waits for the open transactions of all sources: as long as they all
        claim theirs without waiting for each other, it does not wait long.
        """
        if self._offsets_topic is not None:
            self._identity = self._transactions.begin(self._identity, self._timeout_ms)

    def start(self, spark: "SparkSession", trigger_ms: int) -> "StreamingQuery":
        """Start the query from the stored offsets, which no earlier run can change any more."""
        spec, directory = self._run.spec, self._run.directory
        directory.put_spec(spec, self._offsets.read(spec.name))
        rows = (
            spark.readStream.format(FORMAT)
            .option(DIRECTORY, str(directory.path))
            .option(WAIT_MS, str(trigger_ms))
            .option(IS_LOCAL, str(is_local(spark)).lower())
            .load()
        )
        # The reader itself waits for records: a trigger would only add to that.
        return (
            rows.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", directory.checkpoint)
            .start()
        )

    def close(self) -> None:
        self._cluster.close()

    @property
    def _timeout_ms(self) -> int:
        return self._options.producing.transaction_timeout_ms

    def _batch(self, rows: "DataFrame", batch_id: int) -> None:
        try:
            report, offsets = self._write(rows)
        except BaseException as error:
            self._run.error = self._run.error or error
            raise for_spark(error, is_stopping=self._run.stopping.is_set()) from None
        self._run.has_progress = True
        if offsets:
            self._run.directory.put_durable(offsets)
        for topic in report.topics:
            self._on_topic(self._run, topic)

    def _write(self, rows: "DataFrame") -> tuple[WriteReport, StoredOffsets]:
        if self._offsets_topic is not None:
            return self._in_transaction(rows, self._offsets_topic)
        report = self._run_task(rows, None)
        offsets = last_offsets(report.progress)
        self._check_running()
        if offsets:
            self._store(offsets)
        return report, offsets

    def _store(self, offsets: StoredOffsets) -> None:
        """Store offsets, again while no broker answers: the records are written already."""
        attempt = 0
        while True:
            try:
                self._offsets.write(self._run.spec.name, offsets)
                return
            except (ApiError, ConnectionFailed) as error:
                if isinstance(error, ApiError) and not error.code.retriable:
                    raise
                _log.warning("connector %s: offsets not stored: %s", self._run.spec.name, error)
            self._run.stopping.wait(delay_ms(attempt, 10_000, random.Random()) / 1000)
            self._check_running()
            attempt += 1

    def _in_transaction(
        self, rows: "DataFrame", offsets_topic: str
    ) -> tuple[WriteReport, StoredOffsets]:
        identity = self._transactions.next(self._identity, self._timeout_ms)
        try:
            transaction = InTransaction(identity, self._run.spec.name, offsets_topic)
            report = self._run_task(rows, transaction)
            self._check_running()
        except BaseException:
            self._abort(identity)
            raise
        # Spark runs a first batch even if there is nothing; brokers know nothing of it.
        is_empty = not report.progress
        self._identity = (
            identity if is_empty else self._transactions.end(identity, is_committed=True)
        )
        return report, last_offsets(report.progress)

    def _abort(self, identity: TransactionIdentity) -> None:
        try:
            self._transactions.end(identity, is_committed=False)
        except (ApiError, ConnectionFailed) as error:
            # The next run aborts it, or the coordinator after the transaction timeout.
            _log.warning("%s not aborted: %s", identity.transactional_id, error)

    def _run_task(self, rows: "DataFrame", transaction: InTransaction | None) -> WriteReport:
        options, is_tolerant = self._options, self._policy.is_tolerant
        secrets = self._run.spec.secrets

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            hide_in_output(secrets)
            return write_task(batches, options, transaction, is_tolerant=is_tolerant)

        reports = [
            WriteReport(*row) for row in rows.coalesce(1).mapInArrow(write, REPORT).collect()
        ]
        for report in reports:
            if report.failure is not None:
                raise (BrokersAway if report.is_outage else PipelineError)(report.failure)
            self._log_left_out(report)
        return reports[0] if reports else WriteReport([], [], 0)

    def _log_left_out(self, report: WriteReport) -> None:
        """Say that records are left out, and with ``errors.log.enable`` why each of them is."""
        if not report.left_out:
            return
        name = self._run.spec.name
        _log.warning(
            "connector %s: %d records are left out (errors.tolerance=all), the first because: %s",
            name,
            report.left_out,
            report.reasons[0],
        )
        if self._policy.is_logged:
            for reason in report.reasons:
                _log.error("Task %s-0 failed on a record at KAFKA_PRODUCE: %s", name, reason)

    def _check_running(self) -> None:
        if self._run.stopping.is_set():
            raise Stopping(f"connector {self._run.spec.name} is being stopped")


def transactional_id(run: Run) -> str:
    """Kafka's id for the transactions of a source task."""
    group = run.spec.worker.get("group.id", "connect-cluster")
    return f"{group}-{run.spec.name}-0"


def transaction_topic(kind: type[SourceConnector], run: Run, offsets: SourceOffsets) -> str | None:
    """The offsets topic if the connector writes in transactions, else None.

    Raises:
        ConfigError: exactly once is required, and this worker or connector cannot do it.
    """
    config, worker = run.spec.config, run.spec.worker
    is_enabled = worker.get(SUPPORT, "disabled").strip().lower() == "enabled"
    if config.get("exactly.once.support", "requested").strip().lower() == "required":
        if not is_enabled:
            raise ConfigError(
                f"exactly.once.support=required needs {SUPPORT}=enabled in the worker"
            )
        if not kind.exactly_once:
            raise ConfigError(
                "exactly.once.support=required, but this connector cannot deliver exactly once: "
                "set it to requested"
            )
    return offsets.topic if is_enabled else None

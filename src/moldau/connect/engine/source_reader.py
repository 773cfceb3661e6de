"""The stream of a source in Spark: runs the connector in the reader process of its query.

Spark starts that process on the machine of the driver, asks it for rows again and again, and ends
it with the query. What to run is in the directory of the run: options of a query are shown in
plans and logs, and a config has secrets.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

from moldau.connect.connector import SourceConnector
from moldau.connect.engine.error_policy import ErrorHandler, ErrorPolicy, Failure, log_line
from moldau.connect.engine.hidden_output import hide_in_output
from moldau.connect.engine.memory_limit import (
    allow_a_report,
    exceeded,
    limit_memory,
    memory_mb,
)
from moldau.connect.engine.polling import Polled, Poller, StoredReader
from moldau.connect.engine.runs import RunDirectory
from moldau.connect.engine.source_rows import SCHEMA, RowMaker, arrow_rows, progress_text
from moldau.connect.engine.stages import Stages, is_verbatim
from moldau.connect.engine.topic_creation import TopicMaker
from moldau.connect.engine.traces import trace_of
from moldau.connect.engine_api import ConnectorSpec
from moldau.connect.plugins import Plugins
from moldau.connect.providers import hidden
from moldau.spark.errors import PipelineError, one_line
from moldau.spark.worker_garbage import freeze_modules

_log = logging.getLogger(__name__)

FORMAT: Final = "moldau-connect"
DIRECTORY: Final = "directory"
WAIT_MS: Final = "wait"
# Whether tasks run on this machine, and can read its files.
IS_LOCAL: Final = "local"
COLUMNS: Final = "path string, data binary, progress string"
_DEFAULT_FLUSH_MS: Final = 60_000
# How long many records are collected, at most: longer batches would cost little less.
_LINGER_S: Final = 1.0


class ConnectSource(DataSource):
    """The format in which the engine reads a source connector."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> "ConnectReader":  # noqa: N802
        directory = RunDirectory(Path(self.options[DIRECTORY]))
        is_local = self.options[IS_LOCAL] == "true"
        return ConnectReader(directory, int(self.options[WAIT_MS]) / 1000, is_local=is_local)


@dataclass
class Piece(InputPartition):
    """What was read at a time: rows as an Arrow stream in a file, or here."""

    path: str | None
    data: bytes | None
    # How far the source is read with these rows, as JSON.
    progress: str


class ConnectReader(DataSourceStreamReader):
    """The rows pass Spark as they are: only where they are goes through the JVM.

    Offsets of the stream are numbers of pieces: what they mean to the source is in the pieces.
    """

    def __init__(self, directory: RunDirectory, wait_s: float, *, is_local: bool) -> None:
        self._directory = directory
        self._wait_s = wait_s
        self._is_local = is_local
        self._poller: Poller | None = None
        # Pieces that are not yet written.
        self._pieces: dict[int, Piece] = {}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"piece": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        number = int(start["piece"])
        if number + 1 in self._pieces:
            return {"piece": number + 1}
        try:
            if self._poller is None:
                self._directory.put_process()
                self._poller = new_poller(self._directory, min(self._wait_s, _LINGER_S))
                self._poller.start()
            polled = self._poller.take(self._wait_s)
        except BaseException as error:
            # Spark passes on only a part of it.
            allow_a_report()
            trace = self._trace(error)
            self._directory.put_failure(trace)
            if hidden(trace) != trace:
                # Spark logs what it passes on.
                raise PipelineError(hidden(one_line(error))) from None
            raise
        if polled is None:
            return start
        self._pieces[number + 1] = self._piece(number + 1, polled)
        return {"piece": number + 1}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [self._pieces[each] for each in range(start["piece"] + 1, end["piece"] + 1)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str | None, bytes | None, str]]:
        assert isinstance(partition, Piece), partition
        yield partition.path, partition.data, partition.progress
        freeze_modules()

    def commit(self, end: dict[str, Any]) -> None:
        for number in [each for each in self._pieces if each <= end["piece"]]:
            piece = self._pieces.pop(number)
            if piece.path is not None:
                Path(piece.path).unlink(missing_ok=True)

    def stop(self) -> None:
        if self._poller is not None:
            self._poller.stop()

    def _trace(self, error: BaseException) -> str:
        if not isinstance(error, MemoryError):
            return trace_of(error)
        spec, _ = self._directory.spec()
        reason = exceeded(memory_mb(spec.config, spec.worker))
        reason.__cause__ = error
        return trace_of(reason)

    def _piece(self, number: int, polled: Polled) -> Piece:
        progress = progress_text(polled.offsets)
        path = self._directory.path / f"piece-{number}"
        sink = pa.OSFile(str(path), "wb") if self._is_local else pa.BufferOutputStream()
        with sink, pa.ipc.new_stream(sink, SCHEMA) as writer:
            for batch in polled.batches:
                writer.write_batch(batch)
        if self._is_local:
            return Piece(str(path), None, progress)
        return Piece(None, sink.getvalue().to_pybytes(), progress)


def new_poller(directory: RunDirectory, linger_s: float) -> Poller:
    """The connector of a run with everything that its records pass through, not yet started."""
    spec, offsets = directory.spec()
    hide_in_output(spec.secrets)
    stored = StoredReader(offsets)
    plugins = Plugins()
    source = plugins.connector(spec.config["connector.class"])()
    assert isinstance(source, SourceConnector), source
    policy = ErrorPolicy.parse(spec.config)

    def failed(failure: Failure) -> None:
        if policy.is_logged:
            line = log_line(spec.name, failure, policy)
            _log.error("%s\n%s", line, trace_of(failure.error))

    stages = Stages(spec, plugins)
    maker = RowMaker(stages, ErrorHandler(policy, failed))
    is_passed_on = is_verbatim(spec, plugins)
    is_arrow = source.gives_arrow and (is_passed_on or maker.has_columns)
    if not is_arrow and stages.writes_json is not None:
        source.write_json(*stages.writes_json)
    topics = TopicMaker(spec)

    def prepare(rows: pa.RecordBatch) -> None:
        for topic in pc.unique(rows.column("topic")).to_pylist():
            topics.ensure(topic)

    def begin() -> None:
        # For the rest of this process, which is this connector's alone.
        limit_memory(memory_mb(spec.config, spec.worker))
        source.start(spec.config, stored)

    return Poller(
        source,
        begin,
        None if is_arrow else maker.rows,
        prepare,
        directory,
        stored,
        make_arrow_rows=arrow_rows if is_passed_on else maker.arrow_rows,
        interval_s=interval_ms(spec) / 1000,
        linger_s=linger_s,
    )


def interval_ms(spec: ConnectorSpec) -> int:
    """How often at most rows are handed over: with ``transaction.boundary=interval``."""
    if spec.config.get("transaction.boundary", "poll").strip().lower() != "interval":
        return 0
    flush = spec.worker.get("offset.flush.interval.ms", str(_DEFAULT_FLUSH_MS))
    return int(spec.config.get("transaction.boundary.interval.ms", flush))

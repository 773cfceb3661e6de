"""The life of one connector: starts its query, watches it, and decides what its end means.

    start -> RUNNING -> the query ends: stopped by us    -> (PAUSED, or forgotten)
                                        by the connector -> FAILED, until somebody restarts it
                                        by anything else -> started again, with back-off

Each connector has a thread for this, so none waits for another.
"""

import contextlib
import logging
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Final

from moldau.connect.config.errors import ConfigError
from moldau.connect.connector import SinkConnector, SourceConnector
from moldau.connect.engine.failures import own_failure
from moldau.connect.engine.runs import Run
from moldau.connect.engine.session import SessionHolder
from moldau.connect.engine.sink_query import SinkQuery
from moldau.connect.engine.source_query import SourceQuery
from moldau.connect.engine.start_turns import StartTurns, await_start
from moldau.connect.engine_api import ConnectorSpec, Listener, SourceOffsets, State
from moldau.connect.plugins import Plugins
from moldau.spark.errors import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

TRIGGER: Final = "moldau.trigger.ms"
_DEFAULT_TRIGGER_MS: Final = 1000
_FIRST_BACKOFF_S: Final = 0.5
_LAST_BACKOFF_S: Final = 60.0
# How often a running query is looked at.
_LOOK_S: Final = 2
_POOL: Final = "spark.scheduler.pool"
# What Spark says of a query that has looked for data and waits.
_BETWEEN_TRIGGERS: Final = "Waiting for "


class Runner:
    """Runs one connector until it is stopped."""

    def __init__(
        self,
        spec: ConnectorSpec,
        session: SessionHolder,
        offsets: SourceOffsets,
        listener: Listener,
        plugins: Plugins,
        turns: StartTurns,
    ) -> None:
        self.spec = spec
        self._session = session
        self._offsets = offsets
        self._listener = listener
        self._plugins = plugins
        self._turns = turns
        self._stopping = threading.Event()
        self._run: Run | None = None
        self._query: StreamingQuery | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._live, name=f"connect-{spec.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        """Stop the connector; returns within ``timeout_s``, whatever its code does.

        From the first moment on nothing is committed any more.
        """
        deadline_s = time.monotonic() + timeout_s
        with self._lock:
            self._stopping.set()
            run, query = self._run, self._query
        if run is not None:
            run.stopping.set()
        if query is not None:
            stopper = threading.Thread(target=_stop_query, args=(query,), daemon=True)
            stopper.start()
            stopper.join(max(0.0, deadline_s - time.monotonic() - 1.0))
            if stopper.is_alive() and run is not None:
                _kill_reader(run)
        if self._thread is not threading.current_thread():
            self._thread.join(max(0.1, deadline_s - time.monotonic()))
        if self._thread.is_alive():
            _log.warning(
                "connector %s did not stop within %.0f s: it is left behind, and commits nothing",
                self.spec.name,
                timeout_s,
            )

    def _live(self) -> None:
        attempt = 0
        while not self._stopping.is_set():
            started_s = time.monotonic()
            run = self._new_run()
            if run is not None:
                try:
                    trace = self._once(run)
                finally:
                    run.directory.remove()
                if self._stopping.is_set():
                    return
                if trace is not None:
                    # As in Kafka it is the task that fails; the connector has been looked at.
                    self._listener.on_status(self.spec.name, None, State.RUNNING, None)
                    self._report_task(State.FAILED, trace)
                    return
                if run.has_progress or time.monotonic() - started_s > _LAST_BACKOFF_S:
                    attempt = 0
                self._report_task(State.RESTARTING, run.last_error)
            delay_s = min(_LAST_BACKOFF_S, _FIRST_BACKOFF_S * 2**attempt)
            attempt += 1
            self._stopping.wait(delay_s)

    def _new_run(self) -> Run | None:
        """None if there is no directory for it, as on a full disk: that may pass."""
        try:
            run = Run(self.spec)
        except OSError as error:
            _log.warning("connector %s is started again: %s", self.spec.name, error)
            self._report_task(State.RESTARTING, one_line(error))
            return None
        # A stop that came in between must reach this run too.
        with self._lock:
            self._run = run
            if self._stopping.is_set():
                run.stopping.set()
        return run

    def _once(self, run: Run) -> str | None:
        """Run the query once, to its end; returns the trace if the connector itself failed."""
        spark = self._session.wait(run.stopping)
        if spark is None:
            return None
        part: SinkQuery | SourceQuery | None = None
        try:
            part = self._part(run)
            if isinstance(part, SourceQuery):
                part.claim()
            query = self._start_in_turn(part, spark, run)
            if query is not None:
                self._watch(query, part)
        except BaseException as error:
            return self._judge(run, error)
        finally:
            with self._lock:
                self._query = None
            if part is not None:
                _close(part, self.spec.name)
        return None

    def _judge(self, run: Run, error: BaseException) -> str | None:
        """The trace if the connector itself failed; None if it is to be started again."""
        reason = run.error or error
        run.last_error = one_line(reason)
        trace = run.directory.failure()
        if trace is None and not self._session.is_dead_after(reason):
            trace = own_failure(reason)
        if trace is None and not run.stopping.is_set():
            _log.warning("connector %s is started again: %s", self.spec.name, run.last_error)
        return trace

    def _part(self, run: Run) -> SinkQuery | SourceQuery:
        name = self.spec.config.get("connector.class", "")
        kind = self._plugins.connector(name)
        if issubclass(kind, SinkConnector):
            return SinkQuery(run, self._plugins, self._on_topic)
        if issubclass(kind, SourceConnector):
            return SourceQuery(run, self._plugins, self._offsets, self._on_topic)
        raise ConfigError(f"connector.class={name} is neither a source nor a sink")

    def _start_in_turn(
        self, part: SinkQuery | SourceQuery, spark: "SparkSession", run: Run
    ) -> "StreamingQuery | None":
        with self._turns.turn(run.stopping) as has_turn:
            query = self._start(part, spark, run) if has_turn else None
            if query is not None:
                await_start(lambda: _is_started(query, run), run.stopping)
        return query

    def _start(
        self, part: SinkQuery | SourceQuery, spark: "SparkSession", run: Run
    ) -> "StreamingQuery | None":
        settings = {**self.spec.worker, **self.spec.config}
        trigger_ms = int(settings.get(TRIGGER, _DEFAULT_TRIGGER_MS))
        # The thread of the query inherits it.
        spark.sparkContext.setLocalProperty(_POOL, self.spec.name)
        query = part.start(spark, trigger_ms)
        with self._lock:
            if not self._stopping.is_set():
                self._query = query
        if self._stopping.is_set():
            _stop_query(query)
            return None
        self._listener.on_status(self.spec.name, None, State.RUNNING, None)
        self._report_task(State.RUNNING, None)
        return query

    def _watch(self, query: "StreamingQuery", part: SinkQuery | SourceQuery) -> None:
        """Wait for the end of the query; raises what ended it."""
        while not self._stopping.is_set():
            if query.awaitTermination(_LOOK_S):
                if not self._stopping.is_set():
                    raise RuntimeError("the query was stopped by somebody else")
                return
            if isinstance(part, SinkQuery):
                part.renew(time.monotonic())

    def _report_task(self, state: State, trace: str | None) -> None:
        if not self._stopping.is_set():
            self._listener.on_status(self.spec.name, 0, state, trace)

    def _on_topic(self, run: Run, topic: str) -> None:
        if topic not in run.topics:
            run.topics.add(topic)
            self._listener.on_topic(self.spec.name, topic)


def _is_started(query: "StreamingQuery", run: Run) -> bool:
    """Whether the Python process of a query has called back, or the query has ended."""
    if run.directory.process() is not None or run.has_progress or not query.isActive:
        return True
    return str(query.status["message"]).startswith(_BETWEEN_TRIGGERS)


def _close(part: SinkQuery | SourceQuery, name: str) -> None:
    try:
        part.close()
    except Exception as error:
        _log.warning("connector %s did not close: %s", name, error)


def _stop_query(query: "StreamingQuery") -> None:
    try:
        query.stop()
    except Exception as error:
        # It has ended by itself, or with its JVM.
        _log.debug("query not stopped: %s", error)


def _kill_reader(run: Run) -> None:
    """Kill the process in which a source runs: its code does not return."""
    process = run.directory.process()
    if process is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)

"""Runs an app: creates topics, starts a session and a query for each sink and cut, and waits.

Cheap checks come first: the topology is checked before the brokers are contacted, the brokers
before Java is started.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from moldau.clock import SystemClock
from moldau.spark import readable_errors, session
from moldau.spark.errors import BrokersAway, PipelineError, is_outage, one_line, pipeline_errors
from moldau.spark.session import HIDE_TRACES, SHUFFLES, require_spark, running_session
from moldau.streams.checkpoints import local_path
from moldau.streams.compiling import compile_query
from moldau.streams.delivery import Target
from moldau.streams.inputs import TopicInputs
from moldau.streams.outages import BrokerWatch, Patience, watched_brokers
from moldau.streams.progress import QueryProgress
from moldau.streams.progress_view import ProgressView, Report
from moldau.streams.queries import Query
from moldau.streams.run_lock import running_alone
from moldau.streams.topics import (
    create_topics,
    group_of,
    ledger_of,
    source_topics,
    topic_of,
    upstream_first,
)
from moldau.streams.watching import OnProgress, Watch, stop_queries, stopped_by_signals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from moldau.streams.app import App

LOG_NAME: Final = "spark.log"
_STDERR: Final = 2
_TABLE_INTERVAL_S: Final = 1.0
_LINES_INTERVAL_S: Final = 10.0


@dataclass(frozen=True)
class RunOptions:
    """How an app is run; see ``App.run``."""

    master: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    trigger: str | None = None
    once: bool = False
    report: Report = Report.AUTO
    interval_s: float | None = None
    debug: bool = False
    patience_s: float | None = None

    @property
    def spark_trigger(self) -> dict[str, Any]:
        """For ``DataStreamWriter.trigger``; empty means that batches follow immediately."""
        if self.once:
            return {"availableNow": True}
        return {} if self.trigger is None else {"processingTime": self.trigger}

    def interval(self, report: Report) -> float:
        if self.interval_s is not None:
            return self.interval_s
        return _TABLE_INTERVAL_S if report is Report.TABLE else _LINES_INTERVAL_S


def run_app(app: "App", options: RunOptions, on_progress: OnProgress | None) -> None:
    """Run ``app`` until it is stopped or fails. See ``App.run``."""
    queries = upstream_first(app.queries())
    require_spark()
    app.stopping.clear()
    with ExitStack() as stack:
        if local_path(app.checkpoint_dir) is not None:
            stack.enter_context(running_alone(app.local_folder(), app.name))
        with pipeline_errors(), app.admin() as admin:
            app.delivery.require_support(admin)
            claim = app.claim()
            claim.require_alone(admin, app.stopping)
            create_topics(admin, queries, with_ledgers=app.delivery.uses_ledgers)
            sizes = {each.name: len(each.partitions) for each in admin.list_topics()}
        stack.enter_context(claim.held())
        stack.enter_context(readable_errors(debug=options.debug))
        stack.enter_context(_naming_log(app, options))
        spark = _session(app, options, stack)
        stack.enter_context(stopped_by_signals(app.stopping))
        brokers = stack.enter_context(watched_brokers(app))
        watch = _watch(app, options, on_progress, brokers)
        patience = Patience(brokers, app.stopping, options.patience_s)
        run = _Run(app, spark, options, watch, patience, sizes)
        if options.once:
            # Each reads everything that the ones before it have written.
            for query in queries:
                if not app.stopping.is_set():
                    run.together([query])
        else:
            run.together(queries)


def _session(app: "App", options: RunOptions, stack: ExitStack) -> "SparkSession":
    """The session of this process; if it is created here, it ends with the run."""
    running = running_session()
    had_one = running is not None
    before = None if running is None else running.conf.get(HIDE_TRACES)
    with nullcontext() if had_one or options.debug else _errors_to(_log_of(app)):
        spark = session(
            app.name,
            master=options.master,
            config=options.config,
            # A short run should start fast; a long one should reach full speed.
            is_short=options.once,
            debug=options.debug,
            log_traces=True,
        )
    if not had_one:
        stack.callback(spark.stop)
    elif options.debug:
        # The session hides the tracebacks of Python workers: restore that after the run.
        assert before is not None, "Spark has a default for it"
        stack.callback(spark.conf.set, HIDE_TRACES, before)
    return spark


@contextmanager
def _naming_log(app: "App", options: RunOptions) -> Iterator[None]:
    """Add the path of Spark's log to errors that are raised in this block."""
    log = _log_of(app)
    if options.debug or log == os.devnull or running_session() is not None:
        yield
        return
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PipelineError, PySparkException, Py4JError) as error:
        raise PipelineError(f"{one_line(error)} (more in {log})") from None


def _log_of(app: "App") -> str:
    """The file for Spark's own log: the terminal shows an error in one line only."""
    folder = local_path(app.checkpoint_dir)
    return os.devnull if folder is None else str(app.local_folder() / LOG_NAME)


@contextmanager
def _errors_to(path: str) -> Iterator[None]:
    """Processes that are started in this block have ``path`` as their standard error."""
    sys.stderr.flush()
    before = os.dup(_STDERR)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(target, _STDERR)
    os.close(target)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, _STDERR)
        os.close(before)


def _watch(
    app: "App", options: RunOptions, on_progress: OnProgress | None, brokers: BrokerWatch
) -> Watch:
    clock = SystemClock()
    report = options.report.on(sys.stdout)
    view = ProgressView(app.name, report, sys.stdout)

    def show(progress: Sequence[QueryProgress], elapsed_s: float) -> None:
        outage = brokers.outage
        if outage is not None:
            away_s = time.monotonic() - outage.since_s
            progress = [each.without_brokers(away_s, outage.reason) for each in progress]
        view.show(progress, elapsed_s, clock.wall_ms())
        if on_progress is not None:
            on_progress(progress, elapsed_s)

    return Watch(app.stopping, show, interval_s=options.interval(report), debug=options.debug)


class _Run:
    """The queries of an app; restarts those that fail because brokers are unavailable."""

    def __init__(
        self,
        app: "App",
        spark: "SparkSession",
        options: RunOptions,
        watch: Watch,
        patience: Patience,
        topic_sizes: Mapping[str, int],
    ) -> None:
        self._app = app
        self._spark = spark
        self._options = options
        self._watch = watch
        self._patience = patience
        self._topic_sizes = topic_sizes
        # Locally it is the number of cores, and a user's setting is not changed.
        self._chooses_shuffles = not (
            (spark.sparkContext.master or "").startswith("local")
            or spark.sparkContext.getConf().contains(SHUFFLES)
        )

    def together(self, queries: Sequence[Query]) -> None:
        """Run ``queries`` until all have ended, or the app stops."""
        running: dict[str, StreamingQuery] = {}
        # Processing-time timers may always be due later: those are left to the next run.
        ends_idle = self._options.once and any(query.by_clock for query in queries)
        try:
            while True:
                try:
                    self._start_missing(queries, running)
                    self._watch.until_end(running, ends_idle=ends_idle)
                    break
                except BrokersAway as failure:
                    for _ in self._patience.wait(str(failure)):
                        self._watch.show_if_due(running)
                if self._app.stopping.is_set():
                    break
        finally:
            stop_queries(running)
        self._watch.show(running)

    def _start_missing(
        self, queries: Sequence[Query], running: "dict[str, StreamingQuery]"
    ) -> None:
        """Start queries that were not started yet, and those that an outage has ended."""
        for query in queries:
            known = running.get(query.name)
            if known is None or _was_cut_off(known):
                running[query.name] = self._start(query)

    def _start(self, query: Query) -> "StreamingQuery":
        app = self._app
        if self._chooses_shuffles:
            # A query uses the value at its start, and its state the value at its very first start.
            shuffles = shuffle_partitions(source_topics(query), self._topic_sizes)
            self._spark.conf.set(SHUFFLES, str(shuffles))
        group = group_of(app.name, query)
        inputs = TopicInputs(
            self._spark,
            app.bootstrap,
            group=group,
            options=app.reading_options(),
            delivery=app.delivery,
        )
        has_ledger = query.is_cut and app.delivery.uses_ledgers
        return Target(app.bootstrap, app.delivery, app.writing_options()).start(
            compile_query(query, inputs),
            name=group,
            topic=topic_of(query),
            output_mode=query.output_mode,
            checkpoint=f"{app.checkpoint_dir}/{app.name}/{query.name}",
            trigger=self._options.spark_trigger,
            ledger=ledger_of(topic_of(query)) if has_ledger else None,
        )


def shuffle_partitions(topics: Iterable[str], topic_sizes: Mapping[str, int]) -> int:
    """The number of shuffle partitions of a query: the partitions of its largest topic.

    Kafka Streams would have as many tasks. Spark's default of 200 means 200 small state files and
    200 tasks in each batch, however few records there are.
    """
    return max((topic_sizes.get(topic, 1) for topic in topics), default=1)


def _was_cut_off(query: "StreamingQuery") -> bool:
    failure = None if query.isActive else query.exception()
    return failure is not None and is_outage(failure)

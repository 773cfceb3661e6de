"""A run of an app: topics made, a session started, a query for each sink and cut, until the end.

What can be wrong is found in the order of what it costs to find it: the topology before the
brokers are asked, the brokers before Java is started.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from moldau.clock import SystemClock
from moldau.spark import readable_errors, session
from moldau.spark.errors import pipeline_errors
from moldau.spark.session import HIDE_TRACES, require_spark
from moldau.streams.checkpoints import local_path
from moldau.streams.compiling import compile_query
from moldau.streams.delivery import Target
from moldau.streams.inputs import TopicInputs
from moldau.streams.progress import QueryProgress
from moldau.streams.progress_view import ProgressView, Report
from moldau.streams.queries import Query
from moldau.streams.run_lock import running_alone
from moldau.streams.topics import create_topics, group_of, topic_of, upstream_first
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

    @property
    def spark_trigger(self) -> dict[str, Any]:
        """For ``DataStreamWriter.trigger``; nothing means a batch after the other."""
        if self.once:
            return {"availableNow": True}
        return {} if self.trigger is None else {"processingTime": self.trigger}

    def interval(self, report: Report) -> float:
        if self.interval_s is not None:
            return self.interval_s
        return _TABLE_INTERVAL_S if report is Report.TABLE else _LINES_INTERVAL_S


def run_app(app: "App", options: RunOptions, on_progress: OnProgress | None) -> None:
    """Run ``app`` until it is told to stop, or fails. See ``App.run``."""
    queries = upstream_first(app.queries())
    require_spark()
    app.stopping.clear()
    with ExitStack() as stack:
        if local_path(app.checkpoint_dir) is not None:
            stack.enter_context(running_alone(app.local_folder(), app.name))
        with pipeline_errors(), app.admin() as admin:
            app.delivery.require_support(admin)
            create_topics(admin, queries)
        stack.enter_context(readable_errors(debug=options.debug))
        spark = _session(app, options, stack)
        stack.enter_context(stopped_by_signals(app.stopping))
        watch = _watch(app, options, on_progress)
        if options.once:
            # Each finds all that those before it have written.
            for query in queries:
                if not app.stopping.is_set():
                    _run_together(app, spark, [query], options, watch)
        else:
            _run_together(app, spark, queries, options, watch)


def _session(app: "App", options: RunOptions, stack: ExitStack) -> "SparkSession":
    """The session of this process; one that is made here ends with the run."""
    had_one = _has_session()
    with nullcontext() if had_one or options.debug else _errors_to(_log_of(app)):
        spark = session(
            app.name,
            master=options.master,
            config=options.config,
            # What ends soon should start soon; what stays should be fast in the end.
            is_short=options.once,
            debug=options.debug,
        )
    if not had_one:
        stack.callback(spark.stop)
    elif options.debug:
        # One that was made for users hides what went on in Python's workers.
        before = spark.conf.get(HIDE_TRACES)
        assert before is not None, "Spark has a default for it"
        stack.callback(spark.conf.set, HIDE_TRACES, before)
        spark.conf.set(HIDE_TRACES, "false")
    return spark


def _has_session() -> bool:
    # Where it was never imported there is none, and it may not even be installed.
    pyspark = sys.modules.get("pyspark.sql")
    return pyspark is not None and pyspark.SparkSession.getActiveSession() is not None


def _log_of(app: "App") -> str:
    """Where Spark's own words go: a failure is told in one line, and need not be in a hundred."""
    folder = local_path(app.checkpoint_dir)
    return os.devnull if folder is None else str(app.local_folder() / LOG_NAME)


@contextmanager
def _errors_to(path: str) -> Iterator[None]:
    """What is started within this block has ``path`` as its standard error, for good."""
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


def _watch(app: "App", options: RunOptions, on_progress: OnProgress | None) -> Watch:
    clock = SystemClock()
    report = options.report.on(sys.stdout)
    view = ProgressView(app.name, report, sys.stdout)

    def show(progress: Sequence[QueryProgress], elapsed_s: float) -> None:
        view.show(progress, elapsed_s, clock.now_ms())
        if on_progress is not None:
            on_progress(progress, elapsed_s)

    return Watch(app.stopping, show, interval_s=options.interval(report), debug=options.debug)


def _run_together(
    app: "App", spark: "SparkSession", queries: Sequence[Query], options: RunOptions, watch: Watch
) -> None:
    running: dict[str, StreamingQuery] = {}
    try:
        for query in queries:
            running[query.name] = _start(app, spark, query, options)
        # By the clock there may always be something to do later: that is for the next run.
        ends_idle = options.once and any(query.by_clock for query in queries)
        watch.until_end(running, ends_idle=ends_idle)
    finally:
        stop_queries(running)
    watch.show(running)


def _start(
    app: "App", spark: "SparkSession", query: Query, options: RunOptions
) -> "StreamingQuery":
    group = group_of(app.name, query)
    inputs = TopicInputs(spark, app.bootstrap, group=group, options=app.reading_options())
    return Target(app.bootstrap, app.delivery, app.writing_options()).start(
        compile_query(query, inputs),
        name=group,
        topic=topic_of(query),
        output_mode=query.output_mode,
        checkpoint=f"{app.checkpoint_dir}/{app.name}/{query.name}",
        trigger=options.spark_trigger,
    )

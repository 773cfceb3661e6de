"""Watches the running queries of an app, and stops them between batches.

If one query fails the app stops: otherwise the queries that read its topics would stall without
anyone noticing. A stop waits for the current batches, so that the next start has nothing to
repeat.
"""

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

from moldau.spark.errors import BrokersAway, PipelineError, is_outage, one_line
from moldau.streams.progress import Meter, QueryProgress

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

# Gets the progress of the queries, and for how many seconds they have run.
OnProgress = Callable[[Sequence[QueryProgress], float], None]

_POLL_S: Final = 0.1
# Spark's error classes for state that does not fit the operator.
_OTHER_STATE: Final = re.compile(r"STATE_STORE_\w*SCHEMA_(?:NOT_COMPATIBLE|INCOMPATIBLE|EVOLUTION)")
_OTHER_SOURCES: Final = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
_BEGIN_ANEW: Final = (
    "moldau stream reset lets the app start over, another name= in .to() this query alone"
)
# How long a stop waits for a batch before it is interrupted, and repeated at the next start.
_GRACE_S: Final = 10.0


class Watch:
    """Watches running queries until they end, one fails, or a stop is requested."""

    def __init__(
        self,
        stopping: threading.Event,
        on_progress: OnProgress,
        *,
        interval_s: float,
        debug: bool = False,
    ) -> None:
        self._stopping = stopping
        self._on_progress = on_progress
        self._interval_s = interval_s
        self._debug = debug
        self._started_s = time.monotonic()
        self._due_s = self._started_s + interval_s
        self._meters: dict[str, Meter] = {}

    def until_end(
        self, queries: "Mapping[str, StreamingQuery]", *, ends_idle: bool = False
    ) -> None:
        """Return when all ``queries`` have ended by themselves, or a stop is requested.

        With ``ends_idle`` a query need not end: it is enough that it has nothing more to read.
        The caller shows the final progress after stopping them.

        Raises:
            PipelineError: one of them failed; with ``debug`` Spark's own exception is raised.
            BrokersAway: one of them failed because brokers are unavailable.
        """
        while not self._stopping.wait(_POLL_S):
            active = [
                name
                for name, query in queries.items()
                if self._is_active(name, query) and not (ends_idle and is_idle(query))
            ]
            if not active:
                break
            self.show_if_due(queries)

    def show_if_due(self, queries: "Mapping[str, StreamingQuery]") -> None:
        """Show the progress if the interval has passed since the last time."""
        if time.monotonic() >= self._due_s:
            self.show(queries)
            self._due_s = time.monotonic() + self._interval_s

    def show(self, queries: "Mapping[str, StreamingQuery]") -> None:
        """Pass the current progress of the queries to the callback."""
        now_s = time.monotonic()
        progress = []
        for name, query in queries.items():
            meter = self._meters.setdefault(name, Meter(name, self._started_s))
            progress.append(meter.observe(query.recentProgress, now_s))
        self._on_progress(progress, now_s - self._started_s)

    def _is_active(self, name: str, query: "StreamingQuery") -> bool:
        if query.isActive:
            return True
        failure = query.exception()
        if failure is None:
            return False
        if is_outage(failure):
            raise BrokersAway(f"query {name} failed: {one_line(failure)}")
        if self._debug:
            raise failure
        raise PipelineError(f"query {name} failed: {one_line(failure)}{remedy(str(failure))}")


def remedy(failure: str) -> str:
    """The remedy for a failure whose message from Spark does not include one."""
    if _OTHER_SOURCES.search(failure) is not None:
        return f": {_BEGIN_ANEW}"
    if _OTHER_STATE.search(failure) is None:
        return ""
    return f" What it computes has changed since its checkpoint was written: {_BEGIN_ANEW}"


def is_idle(query: "StreamingQuery") -> bool:
    """Whether the query has nothing more to read: its last batch was empty.

    The first batch does not count. It may be an empty one in which the previous run was stopped,
    and is repeated before anything is read.
    """
    batches = query.recentProgress
    return len(batches) > 1 and batches[-1]["numInputRows"] == 0


def stop_queries(queries: "Mapping[str, StreamingQuery]") -> None:
    """Stop all queries, each after its current batch."""
    before = {name: _last_report(query) for name, query in queries.items()}
    deadline_s = time.monotonic() + _GRACE_S
    for name, query in queries.items():
        while (
            query.isActive
            and query.status["isTriggerActive"]
            and _last_report(query) == before[name]
            and time.monotonic() < deadline_s
        ):
            time.sleep(_POLL_S / 10)
        query.stop()


def _last_report(query: "StreamingQuery") -> str:
    last = query.lastProgress
    return "" if last is None else str(last["timestamp"])


@contextmanager
def stopped_by_signals(stopping: threading.Event) -> Iterator[None]:
    """In this block Ctrl-C and SIGTERM request a stop; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can handle signals; in others, use ``App.stop``.
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()

    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

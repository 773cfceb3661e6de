"""The queries of an app while they run: watched, and stopped between batches.

One query that fails stops the app: what the others would go on to compute from its topics would
stand still without anybody noticing. A stop waits for the batches under way, so that a start
after it has nothing to do twice.
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

# Gets how the queries are doing, and for how many seconds they have run.
OnProgress = Callable[[Sequence[QueryProgress], float], None]

_POLL_S: Final = 0.1
# How Spark calls state that does not fit the operator that finds it.
_OTHER_STATE: Final = re.compile(r"STATE_STORE_\w*SCHEMA_(?:NOT_COMPATIBLE|INCOMPATIBLE|EVOLUTION)")
_OTHER_SOURCES: Final = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
_BEGIN_ANEW: Final = (
    "moldau stream reset lets the app begin anew, another name= in .to() this query alone"
)
# How long a stop waits for a batch to end before it is cut off, to be done again later.
_GRACE_S: Final = 10.0


class Watch:
    """Looks after running queries until they end, one fails, or somebody says stop."""

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
        """Return when all ``queries`` have ended by themselves, or a stop is asked for.

        With ``ends_idle`` a query need not end: it is enough that it finds nothing more to read.
        Their last word is for ``show``, when they have stopped.

        Raises:
            PipelineError: one of them failed; with ``debug`` what Spark has to say about it.
            BrokersAway: one of them failed because brokers are away.
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
        """Show the progress if that is long enough ago."""
        if time.monotonic() >= self._due_s:
            self.show(queries)
            self._due_s = time.monotonic() + self._interval_s

    def show(self, queries: "Mapping[str, StreamingQuery]") -> None:
        """Hand on how the queries are doing now."""
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
    """What to do about a failure that Spark describes without saying it."""
    if _OTHER_SOURCES.search(failure) is not None:
        return f": {_BEGIN_ANEW}"
    if _OTHER_STATE.search(failure) is None:
        return ""
    return f" What it computes has changed since its checkpoint was written: {_BEGIN_ANEW}"


def is_idle(query: "StreamingQuery") -> bool:
    """Whether the query finds nothing more to read: its last batch was empty.

    The first batch does not say so. It may be that of a run before, which was stopped in an empty
    one, and is done again before anything is read.
    """
    batches = query.recentProgress
    return len(batches) > 1 and batches[-1]["numInputRows"] == 0


def stop_queries(queries: "Mapping[str, StreamingQuery]") -> None:
    """Stop all, each after the batch that it is at."""
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
    """Within this block Ctrl-C and SIGTERM ask for a stop; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may; an app elsewhere is stopped by ``App.stop``.
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

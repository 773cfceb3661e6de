"""``process``: a Python class with state for each key and timers, on Spark's transformWithState.

    class Silence(Processor):
        def init(self, states):
            self.last = states.value("last")

        def process(self, context, key, value):
            self.last.set(value)
            context.set_timer(context.timestamp_ms + 60_000)
            return []

        def on_timer(self, context, key):
            yield f"nothing for a minute since {self.last.get()}"

    pings.process(Silence(), returns="string")

The returned values become records with the same key. The class is pickled and sent to Spark's
workers: keep state in ``states``, because attributes are lost with the worker.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation
from moldau.streams.durations import Duration, duration, readable
from moldau.streams.rows import Rows
from moldau.streams.topology import APPEND, Node, NodeKind
from moldau.streams.windows import with_watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from moldau.streams.keyed_state import States

_TIME_MODES: Final = {"event": "EventTime", "processing": "ProcessingTime"}


class Context:
    """The times and timers of the current key."""

    def __init__(self, handle: Any, timestamp_ms: int, now_ms: int) -> None:
        # The timestamp of the record, or the time of the timer.
        self.timestamp_ms = timestamp_ms
        # The current time for timers: the watermark or, with processing time, the clock.
        self.now_ms = now_ms
        self._handle = handle

    def set_timer(self, at_ms: int) -> None:
        """Call ``on_timer`` for this key at the given time."""
        self._handle.registerTimer(at_ms)

    def delete_timer(self, at_ms: int) -> None:
        self._handle.deleteTimer(at_ms)

    def timers(self) -> list[int]:
        return list(self._handle.listTimers())


class Processor(ABC):
    """Processes records with state per key; to be subclassed by users."""

    def init(self, states: "States") -> None:  # noqa: B027
        """Create the state: ``self.last = states.value("last")``; also ``list`` and ``map``."""

    @abstractmethod
    def process(self, context: Context, key: Any, value: Any) -> Iterable[Any] | None:
        """Process a record; returns the values to emit. A struct is a dict, in and out."""

    def on_timer(self, context: Context, key: Any) -> Iterable[Any] | None:
        """Handle a timer of this key that is due; returns the values to emit."""
        return ()


def add_processor(
    stream: Rows,
    processor: Processor,
    returns: str,
    *,
    time: str,
    grace: Duration,
    name: str | None,
) -> Node:
    if time not in _TIME_MODES:
        raise PipelineError(f"time={time!r} is not known: it can be {' or '.join(_TIME_MODES)}")
    late = duration(grace)

    def build(compilation: Compilation, rows: "DataFrame") -> "DataFrame":
        return _transformed(
            with_watermark(rows, late) if time == "event" else rows,
            processor,
            returns,
            time_mode=_TIME_MODES[time],
            output_mode=compilation.output_mode,
        )

    by = f"event time, grace {readable(late)}" if time == "event" else "processing time"
    return stream.topology.add(
        NodeKind.STATEFUL,
        "process",
        stream.node,
        name=name,
        detail=f"{type(processor).__name__}, timers by {by}",
        spark="groupBy(key).transformWithState",
        build=build,
        modes=(APPEND,),
        by_clock=time == "processing",
    )


def _transformed(
    rows: "DataFrame", processor: Processor, returns: str, *, time_mode: str, output_mode: str
) -> "DataFrame":
    from pyspark.sql import functions as F

    from moldau.streams.keyed_state import struct_type, transform, with_offset
    from moldau.streams.user_processor import UserProcessor

    # A column that Spark does not recognize as the event time: otherwise it would drop records
    # that are behind the watermark, but a processor must get all of them.
    moment = F.timestamp_micros(F.unix_micros("timestamp")).alias("timestamp")
    rows = with_offset(rows).where(F.col("key").isNotNull())
    rows = rows.select("key", "value", moment, "offset")
    types = struct_type(key=rows.schema["key"].dataType, value=returns, timestamp="timestamp")
    return transform(
        rows,
        ["key"],
        UserProcessor(processor, is_event_time=time_mode == "EventTime"),
        types,
        output_mode=output_mode,
        time_mode=time_mode,
    )

"""Windows over event time, and how long they accept late records.

Time is the timestamp of the records. ``grace`` is how long after its end a window accepts late
records; it becomes the delay of Spark's watermark behind the latest timestamp. A record for a
window that the watermark has passed is dropped, as in Kafka Streams. The watermark advances
between micro-batches, not with every record: within one batch no record is late, and the
timestamps of a batch close windows in the next batch and drop records from the one after that.

    tumbling("5 minutes", grace="30 seconds")                 # one after the other
    hopping("1 hour", every="5 minutes", grace="1 minute")    # overlapping
    sliding("10 minutes", grace="0 seconds")                  # the 10 minutes before each record
    session("30 minutes", grace="0 seconds")                  # activity, ended by 30 quiet minutes
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from moldau.spark.errors import PipelineError
from moldau.streams.durations import Duration, duration, readable, spark_interval
from moldau.streams.topology import APPEND, UPDATE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class TimeWindows:
    """Windows of a fixed size that start at a fixed interval: tumbling if both are equal."""

    size: timedelta
    every: timedelta
    grace: timedelta

    @property
    def modes(self) -> tuple[str, ...]:
        return (UPDATE, APPEND)

    def column(self) -> "Column":
        from pyspark.sql import functions as F

        size = spark_interval(self.size)
        return F.window("timestamp", size, spark_interval(self.every)).alias("window")

    def __str__(self) -> str:
        if self.size == self.every:
            return f"tumbling {readable(self.size)}, grace {readable(self.grace)}"
        size, every = readable(self.size), readable(self.every)
        return f"hopping {size} every {every}, grace {readable(self.grace)}"


@dataclass(frozen=True)
class SlidingWindows:
    """For each record, the window that ends with it."""

    difference: timedelta
    grace: timedelta

    @property
    def modes(self) -> tuple[str, ...]:
        return (APPEND,)

    def __str__(self) -> str:
        return f"sliding {readable(self.difference)}, grace {readable(self.grace)}"


@dataclass(frozen=True)
class SessionWindows:
    """Windows of activity, separated by gaps without records."""

    gap: timedelta
    grace: timedelta

    @property
    def modes(self) -> tuple[str, ...]:
        # Sessions merge: Spark emits them only when they are final.
        return (APPEND,)

    def column(self) -> "Column":
        from pyspark.sql import functions as F

        return F.session_window("timestamp", spark_interval(self.gap)).alias("window")

    def __str__(self) -> str:
        return f"session {readable(self.gap)}, grace {readable(self.grace)}"


Windows = TimeWindows | SlidingWindows | SessionWindows


def tumbling(size: Duration, *, grace: Duration) -> TimeWindows:
    """Windows of ``size`` that follow each other without a gap."""
    length = _positive("size", size)
    return TimeWindows(length, length, duration(grace))


def hopping(size: Duration, *, every: Duration, grace: Duration) -> TimeWindows:
    """Overlapping windows of ``size`` that start at intervals of ``every``."""
    length, step = _positive("size", size), _positive("every", every)
    if step > length:
        raise PipelineError(
            f"windows of {readable(length)} every {readable(step)} leave gaps: "
            "'every' can be at most the size"
        )
    return TimeWindows(length, step, duration(grace))


def sliding(difference: Duration, *, grace: Duration) -> SlidingWindows:
    """For each record, the records of its key up to ``difference`` before it, itself included."""
    return SlidingWindows(_positive("difference", difference), duration(grace))


def session(gap: Duration, *, grace: Duration) -> SessionWindows:
    """Windows of activity: a record belongs to a session if it is less than ``gap`` away."""
    return SessionWindows(_positive("gap", gap), duration(grace))


def with_watermark(rows: "DataFrame", grace: timedelta) -> "DataFrame":
    """``rows`` with a watermark on their timestamp, unless an earlier operator has set one."""
    if "spark.watermarkDelayMs" in rows.schema["timestamp"].metadata:
        return rows
    return rows.withWatermark("timestamp", spark_interval(grace))


def _positive(what: str, given: Duration) -> timedelta:
    length = duration(given)
    if not length:
        raise PipelineError(f"the {what} of a window cannot be {given!r}")
    return length

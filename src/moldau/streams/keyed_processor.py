"""What all processors with state have in common, so that each says only what is its own.

Spark's ``StatefulProcessor`` is five methods in Java's spelling. Here a processor is three:
``prepare`` gets its states, ``changed`` says what the rows of a key in this micro-batch give out,
and ``expired`` what a timer does.

The shuffle hands over the rows of a key in no order. There are two, and they are not the same:

* Records of a stream go by time. With a new key (``key_by``, ``merge``) they come from several
  partitions, whose offsets do not compare; offsets only decide within one moment.
* Changes of a table go by offset. A key has one partition, and what is later in it replaces what is
  earlier whatever the timestamps say, as in a compacted topic.

Timestamps come as microseconds since 1970 (``keyed_state.transform``). Spark would hand them over
as datetimes of the local time zone, which do not tell the two hours apart when summer time ends.
What goes out are datetimes in UTC.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from moldau.streams.keyed_state import States

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class StreamProcessor(StatefulProcessor):
    """Records of a stream, with state for each key."""

    # Timers are set here.
    handle: StatefulProcessorHandle
    # The watermark and the clock of this micro-batch.
    times: TimerValues

    @abstractmethod
    def prepare(self, states: States) -> None:
        """Get the states, once."""

    @abstractmethod
    def changed(self, key: Any, rows: list[Any]) -> Iterable[Row]:
        """What ``rows``, at least one and in order, give out; ``key`` is a tuple of columns."""

    def expired(self, key: Any, at_ms: int) -> Iterable[Row]:
        """What a timer that was set to ``at_ms`` gives out."""
        return ()

    def in_order(self, rows: Iterable[Any]) -> list[Any]:
        return sorted(rows, key=lambda row: (micros_of(row["timestamp"]), row["offset"]))

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.prepare(States(handle))

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        self.times = timerValues
        return iter(self.changed(key, self.in_order(rows)))

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        self.times = timerValues
        return iter(self.expired(key, expiredTimerInfo.getExpiryTimeInMs()))

    def close(self) -> None:
        pass


class TableProcessor(StreamProcessor):
    """Changes of tables, with state for each key."""

    def in_order(self, rows: Iterable[Any]) -> list[Any]:
        return sorted(rows, key=lambda row: row["offset"])


def newest(rows: Iterable[Any]) -> datetime:
    """The latest of the timestamps of ``rows``."""
    return latest_of(row["timestamp"] for row in rows)


def latest_of(times: Iterable[datetime | int]) -> datetime:
    """The latest of ``times``."""
    return moment_of(max(map(micros_of, times)))


def moment_of(time: datetime | int) -> datetime:
    """A time that a processor was given, or has kept, as it is given out."""
    return _EPOCH + timedelta(microseconds=micros_of(time))


def micros_of(time: datetime | int) -> int:
    """Microseconds since 1970; states of older versions have datetimes."""
    if isinstance(time, int):
        return time
    return (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)

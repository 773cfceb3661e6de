"""The base classes of all processors with state.

Spark's ``StatefulProcessor`` has five methods with Java's naming. A processor here has three:
``prepare`` creates its states, ``changed`` processes the rows of a key in a micro-batch, and
``expired`` handles a timer.

After a shuffle the rows of a key are in no order. They are sorted in one of two ways:

* Records of a stream by timestamp. With a new key (``key_by``, ``merge``) they come from several
  partitions, whose offsets cannot be compared; offsets only order records of equal timestamps.
* Changes of a table by offset. A key is in one partition, and a later record replaces an earlier
  one whatever the timestamps are, as in a compacted topic.

Timestamps are passed as microseconds since 1970 (``keyed_state.transform``). Spark would pass them
as datetimes of the local time zone, which are ambiguous in the hour when daylight saving time ends.
The output has datetimes in UTC.
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
    """Processes records of a stream, with state for each key."""

    # For setting timers.
    handle: StatefulProcessorHandle
    # The watermark and the clock of this micro-batch.
    times: TimerValues

    @abstractmethod
    def prepare(self, states: States) -> None:
        """Create the states; called once."""

    @abstractmethod
    def changed(self, key: Any, rows: list[Any]) -> Iterable[Row]:
        """The results for ``rows``, at least one and in order; ``key`` is a tuple of columns."""

    def expired(self, key: Any, at_ms: int) -> Iterable[Row]:
        """The results for a timer that was set to ``at_ms``."""
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
    """Processes changes of tables, with state for each key."""

    def in_order(self, rows: Iterable[Any]) -> list[Any]:
        return sorted(rows, key=lambda row: row["offset"])


def newest(rows: Iterable[Any]) -> datetime:
    """The latest timestamp of ``rows``."""
    return latest_of(row["timestamp"] for row in rows)


def latest_of(times: Iterable[datetime | int]) -> datetime:
    """The latest of ``times``."""
    return moment_of(max(map(micros_of, times)))


def moment_of(time: datetime | int) -> datetime:
    """A timestamp from the input or the state, as a datetime for the output."""
    return _EPOCH + timedelta(microseconds=micros_of(time))


def micros_of(time: datetime | int) -> int:
    """Microseconds since 1970; states of older versions have datetimes."""
    if isinstance(time, int):
        return time
    return (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)

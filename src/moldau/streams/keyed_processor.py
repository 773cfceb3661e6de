"""A user's ``Processor`` as the stateful processor that Spark calls."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from moldau.streams.keyed_state import States, in_order
from moldau.streams.processing import Context, Processor


class KeyedProcessor(StatefulProcessor):
    def __init__(self, processor: Processor, *, is_event_time: bool) -> None:
        self._processor = processor
        self._is_event_time = is_event_time

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._processor.init(States(handle))

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        now_ms = self._now_ms(timerValues)
        for row in in_order(rows):
            moment: datetime = row["timestamp"]
            context = Context(self._handle, round(moment.timestamp() * 1000), now_ms)
            given = self._processor.process(context, key[0], row["value"])
            yield from _rows(key[0], given, moment)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        at_ms = expiredTimerInfo.getExpiryTimeInMs()
        context = Context(self._handle, at_ms, self._now_ms(timerValues))
        given = self._processor.on_timer(context, key[0])
        yield from _rows(key[0], given, datetime.fromtimestamp(at_ms / 1000, UTC))

    def close(self) -> None:
        pass

    def _now_ms(self, timer_values: Any) -> int:
        now_ms: int = (
            timer_values.getCurrentWatermarkInMs()
            if self._is_event_time
            else timer_values.getCurrentProcessingTimeInMs()
        )
        return now_ms


def _rows(key: Any, values: Iterable[Any] | None, moment: datetime) -> Iterator[Row]:
    for value in values or ():
        yield Row(key=key, value=value, timestamp=moment)

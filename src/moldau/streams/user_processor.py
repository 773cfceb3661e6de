"""Adapts a user's ``Processor`` to Spark's stateful processor."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Row

from moldau.streams.keyed_processor import StreamProcessor, micros_of, moment_of
from moldau.streams.keyed_state import States
from moldau.streams.processing import Context, Processor


class UserProcessor(StreamProcessor):
    def __init__(self, processor: Processor, *, is_event_time: bool) -> None:
        self._processor = processor
        self._is_event_time = is_event_time

    def prepare(self, states: States) -> None:
        self._processor.init(states)

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        for row in rows:
            context = self._context(micros_of(row["timestamp"]) // 1000)
            given = self._processor.process(context, key[0], row["value"])
            yield from _rows(key[0], given, moment_of(row["timestamp"]))

    def expired(self, key: Any, at_ms: int) -> Iterator[Row]:
        given = self._processor.on_timer(self._context(at_ms), key[0])
        return _rows(key[0], given, datetime.fromtimestamp(at_ms / 1000, UTC))

    def _context(self, timestamp_ms: int) -> Context:
        times = self.times
        now_ms: int = (
            times.getCurrentWatermarkInMs()
            if self._is_event_time
            else times.getCurrentProcessingTimeInMs()
        )
        return Context(self.handle, timestamp_ms, now_ms)


def _rows(key: Any, values: Iterable[Any] | None, moment: datetime) -> Iterator[Row]:
    for value in values or ():
        yield Row(key=key, value=value, timestamp=moment)

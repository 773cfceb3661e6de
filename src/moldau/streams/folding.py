"""``reduce`` and ``fold``: a Python function over the values of a key, or of a key and window.

The state is what the function gave last. Without windows it stays for ever; of a window it is
forgotten when the watermark has passed the end. In update mode a change is given out with the
micro-batch that made it; in append mode the timer at the window's end gives out the final value.
"""

import copy
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import DataType

from moldau.streams.durations import milliseconds
from moldau.streams.keyed_state import States, in_order, struct_type, transform, with_offset
from moldau.streams.topology import APPEND, UPDATE
from moldau.streams.windows import TimeWindows, with_watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Fold = Callable[[Any, Any], Any]


def fold_rows(
    rows: "DataFrame",
    function: Fold,
    initial: Any,
    returns: str | None,
    windows: TimeWindows | None,
    output_mode: str,
) -> "DataFrame":
    """A row for each key (and window) that changed; ``returns`` is None for ``reduce``."""
    values = rows.schema["value"].dataType
    result = values if returns is None else DataType.fromDDL(returns)
    key = rows.schema["key"].dataType
    step = _Step(function, initial, is_reduce=returns is None)
    rows = with_offset(rows).select("key", "value", "timestamp", "offset")
    if windows is None:
        types = struct_type(key=key, value=result, timestamp="timestamp")
        return transform(rows, ["key"], _FoldKey(step), types, output_mode=UPDATE)
    return _fold_windows(rows, step, windows, output_mode, key, result)


def _fold_windows(
    rows: "DataFrame",
    step: "_Step",
    windows: TimeWindows,
    output_mode: str,
    key: DataType,
    result: DataType,
) -> "DataFrame":
    size_ms = milliseconds(windows.size)
    # Of the two columns that know the event time only the window is left: Spark then drops a
    # record when its window is over, not when the record itself is older than the watermark.
    rows = (
        with_watermark(rows, windows.grace)
        .withColumn("window", windows.column())
        .withColumn("start_ms", F.unix_millis("window.start"))
        .withColumn("at", F.unix_micros("timestamp"))
        .select("key", "start_ms", "window", "value", F.col("at").alias("timestamp"), "offset")
    )
    types = struct_type(key=key, start_ms="long", value=result)
    folded = transform(
        rows,
        ["key", "start_ms"],
        _FoldWindow(step, size_ms, is_final_only=output_mode == APPEND),
        types,
        output_mode=output_mode,
        time_mode="EventTime",
    )
    end_ms = F.col("start_ms") + size_ms
    return folded.select(
        "key",
        F.struct(
            F.timestamp_millis("start_ms").alias("start"), F.timestamp_millis(end_ms).alias("end")
        ).alias("window"),
        "value",
        F.timestamp_micros(end_ms * 1000 - 1).alias("timestamp"),
    )


class _Step:
    """One value more."""

    def __init__(self, function: Fold, initial: Any, *, is_reduce: bool) -> None:
        self._function = function
        self._initial = initial
        self._is_reduce = is_reduce

    def first(self, value: Any) -> Any:
        if self._is_reduce:
            return value
        # Every key begins with its own, whatever the function does to it.
        initial = self._initial() if callable(self._initial) else copy.deepcopy(self._initial)
        return self._function(initial, value)

    def over(self, kept: tuple[Any] | None, values: list[Any]) -> Any:
        """``kept`` is what was, in a tuple, for None may be a value as well."""
        for value in values:
            kept = (self.first(value) if kept is None else self._function(kept[0], value),)
        assert kept is not None
        return kept[0]


class _FoldKey(StatefulProcessor):
    def __init__(self, step: _Step) -> None:
        self._step = step

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = States(handle).value("folded")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        ordered = in_order(rows)
        kept, newest = self._state.get((None, None))
        value = self._step.over(kept, [row["value"] for row in ordered])
        newest = max([row["timestamp"] for row in ordered] + ([newest] if newest else []))
        assert isinstance(newest, datetime)
        self._state.set(((value,), newest))
        yield Row(key=key[0], value=value, timestamp=newest)

    def close(self) -> None:
        pass


class _FoldWindow(StatefulProcessor):
    def __init__(self, step: _Step, size_ms: int, *, is_final_only: bool) -> None:
        self._step = step
        self._size_ms = size_ms
        self._is_final_only = is_final_only

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = States(handle).value("folded")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        of_key, start_ms = key
        kept = self._state.get()
        before = None if kept is None else (kept.value,)
        value = self._step.over(before, [row["value"] for row in in_order(rows)])
        row = Row(key=of_key, start_ms=start_ms, value=value)
        self._state.set(row)
        if kept is None:
            self._handle.registerTimer(start_ms + self._size_ms)
        if not self._is_final_only:
            yield row

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        kept = self._state.get()
        self._state.clear()
        if self._is_final_only and kept is not None:
            yield kept

    def close(self) -> None:
        pass

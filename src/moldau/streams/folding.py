"""``reduce`` and ``fold``: a Python function over the values of a key, or of a key and window.

The state is the last result of the function. Without windows it is kept forever; for a tumbling or
hopping window it is deleted when the watermark has passed the window's end. In update mode each
micro-batch emits its changes; in append mode the timer at the window's end emits the final value.

Sessions merge and sliding windows overlap arbitrarily, so neither has a single value to continue
from. They are emitted once, when final: until then Spark keeps their records as a list
(``aggregate`` with ``collected``), and then the function is applied to the list (``fold_lists``).
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from moldau.streams.arrow_columns import mapping_column
from moldau.streams.durations import milliseconds
from moldau.streams.keyed_processor import StreamProcessor, latest_of, micros_of, newest
from moldau.streams.keyed_state import States, struct_type, transform, with_offset
from moldau.streams.topology import APPEND, UPDATE
from moldau.streams.windows import TimeWindows, with_watermark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Step:
    """The function of a ``reduce``, or of a ``fold`` that starts with ``initial``.

    ``returns`` is the type of the result as Spark's DDL; None, for ``reduce``, is that of the
    values.
    """

    def __init__(
        self, function: Callable[[Any, Any], Any], initial: Any, returns: str | None
    ) -> None:
        self._function = function
        self._initial = initial
        self._returns = returns

    def result_type(self, values: DataType) -> DataType:
        return values if self._returns is None else DataType.fromDDL(self._returns)

    def over(self, kept: tuple[Any] | None, values: Iterable[Any]) -> Any:
        """Apply the function to ``values``, starting with ``kept``.

        ``kept`` is the result so far in a tuple, because it may be None.
        """
        for value in values:
            kept = (self._first(value) if kept is None else self._function(kept[0], value),)
        assert kept is not None
        return kept[0]

    def _first(self, value: Any) -> Any:
        return value if self._returns is None else self._function(first(self._initial), value)


def first(initial: Any) -> Any:
    """The initial value of a key: a copy, because the function may change it."""
    return initial() if callable(initial) else copy.deepcopy(initial)


def fold_keys(rows: "DataFrame", step: Step) -> "DataFrame":
    """A row for each key that changed."""
    result = step.result_type(rows.schema["value"].dataType)
    types = struct_type(key=rows.schema["key"].dataType, value=result, timestamp="timestamp")
    rows = with_offset(rows).select("key", "value", "timestamp", "offset")
    return transform(rows, ["key"], _FoldKey(step), types, output_mode=UPDATE)


def fold_windows(
    rows: "DataFrame", step: Step, windows: TimeWindows, output_mode: str
) -> "DataFrame":
    """A row for each key and window that changed or, in append mode, that is final."""
    size_ms = milliseconds(windows.size)
    result = step.result_type(rows.schema["value"].dataType)
    types = struct_type(key=rows.schema["key"].dataType, start_ms="long", value=result)
    # Of the two event-time columns only the window is kept: Spark then drops a record if its window
    # has ended, not if the record itself is older than the watermark.
    rows = (
        with_watermark(with_offset(rows), windows.grace)
        .withColumn("window", windows.column())
        .withColumn("start_ms", F.unix_millis("window.start"))
        .withColumn("at", F.unix_micros("timestamp"))
        .select("key", "start_ms", "window", "value", F.col("at").alias("timestamp"), "offset")
    )
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


def collected(rows: "DataFrame") -> "Column":
    """An aggregate: the list of values of ``rows``, with the columns to sort by."""
    offset = F.col("offset") if "offset" in rows.columns else F.lit(0)
    return F.collect_list(F.struct("timestamp", offset.alias("offset"), "value"))


def fold_lists(rows: "DataFrame", step: Step) -> "DataFrame":
    """Replace each list from ``collected`` in ``rows`` with its folded result."""
    lists = rows.schema["value"].dataType
    assert isinstance(lists, ArrayType)
    assert isinstance(lists.elementType, StructType)
    result = step.result_type(lists.elementType["value"].dataType)

    def folded(records: list[dict[str, Any]]) -> Any:
        ordered = sorted(records, key=lambda each: (micros_of(each["timestamp"]), each["offset"]))
        return step.over(None, [each["value"] for each in ordered])

    return rows.withColumn("value", mapping_column(folded, result)(F.col("value")))


class _FoldKey(StreamProcessor):
    def __init__(self, step: Step) -> None:
        self._step = step

    def prepare(self, states: States) -> None:
        self._state = states.value("folded")

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        kept, latest = self._state.get((None, None))
        value = self._step.over(kept, [row["value"] for row in rows])
        moment = newest(rows) if latest is None else latest_of([newest(rows), latest])
        self._state.set(((value,), moment))
        yield Row(key=key[0], value=value, timestamp=moment)


class _FoldWindow(StreamProcessor):
    def __init__(self, step: Step, size_ms: int, *, is_final_only: bool) -> None:
        self._step = step
        self._size_ms = size_ms
        self._is_final_only = is_final_only

    def prepare(self, states: States) -> None:
        self._state = states.value("folded")

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        of_key, start_ms = key
        kept = self._state.get()
        before = None if kept is None else (kept.value,)
        value = self._step.over(before, [row["value"] for row in rows])
        row = Row(key=of_key, start_ms=start_ms, value=value)
        self._state.set(row)
        if kept is None:
            self.handle.registerTimer(start_ms + self._size_ms)
        if not self._is_final_only:
            yield row

    def expired(self, key: Any, at_ms: int) -> Iterator[Row]:
        kept = self._state.get()
        self._state.clear()
        if self._is_final_only and kept is not None:
            yield kept

"""A stream grouped by key: counted, aggregated or reduced, as a whole or by windows.

There are two kinds of functions:

* ``aggregate`` takes Spark's own aggregates (``F.sum(value.amount)``). They run in the JVM, combine
  rows before the shuffle, and keep only their results as state. Use them wherever possible.
* ``reduce`` and ``fold`` take any Python function of two values. Each row goes through Python and
  the state through a socket (transformWithState): several times slower, but any computation is
  possible. For session and sliding windows the records are kept until the window is final.

The result is a table: one value per key, or per key and window, emitted whenever it has changed;
for session and sliding windows only when it is final. The timestamp of a value is that of its
latest record; for a window, the window's last instant. Records without a key or a value are
ignored, as in Kafka Streams.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation
from moldau.streams.durations import spark_interval
from moldau.streams.functions import Function, call, column
from moldau.streams.table import Table
from moldau.streams.topology import UPDATE, Build, Node, NodeKind, Topology
from moldau.streams.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    Windows,
    with_watermark,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    Aggregate = Callable[[DataFrame], Column]


class GroupedStream:
    """A stream grouped by key."""

    def __init__(self, topology: Topology, node: Node, windows: Windows | None = None) -> None:
        self._topology = topology
        self._node = node
        self._windows = windows

    def windowed_by(self, windows: Windows) -> "GroupedStream":
        """Group by key and window: ``windowed_by(tumbling("5 minutes", grace="30 seconds"))``."""
        return GroupedStream(self._topology, self._node, windows)

    def count(self, *, name: str | None = None) -> Table:
        """Count the records."""

        def counted(_: "DataFrame") -> "Column":
            from pyspark.sql import functions as F

            return F.count(F.lit(1))

        return self._aggregated("count", counted, name)

    def aggregate(
        self, function: Function | None = None, *, name: str | None = None, **fields: Function
    ) -> Table:
        """Aggregate with Spark's functions; one is the value, several are the fields of a struct:

        ``aggregate(lambda value: F.sum(value.amount))``,
        ``aggregate(total=lambda value: F.sum(value.amount), orders=lambda value: F.count("*"))``
        """
        if callable(name):
            raise PipelineError("name= names the operator: give the field another name")
        if (function is None) == (not fields):
            raise PipelineError("aggregate takes either one function or named ones")

        def aggregated(rows: "DataFrame") -> "Column":
            if function is not None:
                return column(call(function, rows))
            return column({field: call(each, rows) for field, each in fields.items()})

        return self._aggregated("aggregate", aggregated, name)

    def reduce(self, function: Callable[[Any, Any], Any], *, name: str | None = None) -> Table:
        """Combine the result so far with each new value, in Python: ``lambda a, b: max(a, b)``.

        Values are plain Python (a struct is a dict), and the result has the type of the values.
        """
        return self._folded("reduce", function, None, None, name)

    def fold(
        self,
        initial: Any,
        function: Callable[[Any, Any], Any],
        returns: str,
        *,
        name: str | None = None,
    ) -> Table:
        """Combine the result so far, at first ``initial``, with each value: Kafka's aggregator.

        ``returns`` is the type of the result as Spark's DDL; values are plain Python.
        """
        return self._folded("fold", function, initial, returns, name)

    def _aggregated(self, operator: str, aggregate: "Aggregate", name: str | None) -> Table:
        windows = self._windows

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            return _aggregate(rows, windows, aggregate)

        # For these Spark propagates the event time through a query.
        chains = isinstance(windows, TimeWindows)
        return self._table(operator, name, build, _spark_words(windows), chains=chains)

    def _folded(
        self,
        operator: str,
        function: Callable[[Any, Any], Any],
        initial: Any,
        returns: str | None,
        name: str | None,
    ) -> Table:
        windows = self._windows

        def build(compilation: Compilation, rows: "DataFrame") -> "DataFrame":
            from moldau.streams import folding

            step = folding.Step(function, initial, returns)
            if windows is None:
                return folding.fold_keys(_countable(rows), step)
            if isinstance(windows, TimeWindows):
                mode = compilation.output_mode
                return folding.fold_windows(_countable(rows), step, windows, mode)
            return folding.fold_lists(_aggregate(rows, windows, folding.collected), step)

        if windows is None:
            spark = "groupBy(key).transformWithState"
        elif isinstance(windows, TimeWindows):
            spark = "withWatermark, groupBy(key, window).transformWithState"
        else:
            spark = f"{_spark_words(windows)}(collect_list), arrow_udf"
        return self._table(operator, name, build, spark)

    def _table(
        self, operator: str, name: str | None, build: Build, spark: str, *, chains: bool = False
    ) -> Table:
        windows = self._windows
        node = self._topology.add(
            NodeKind.STATEFUL,
            operator,
            self._node,
            name=name,
            detail=str(windows or ""),
            spark=spark,
            build=build,
            modes=windows.modes if windows is not None else (UPDATE,),
            chains=chains,
            is_table=True,
        )
        return Table(self._topology, node, windows)


def _aggregate(rows: "DataFrame", windows: Windows | None, aggregate: "Aggregate") -> "DataFrame":
    from pyspark.sql import functions as F

    value = aggregate(rows).alias("value")
    rows = _countable(rows)
    if windows is None:
        newest = F.max("timestamp").alias("timestamp")
        return rows.groupBy("key").agg(value, newest)
    if isinstance(windows, SlidingWindows):
        from moldau.streams.sliding import aggregate_sliding

        return aggregate_sliding(rows, windows, value)
    grouped = with_watermark(rows, windows.grace).groupBy("key", windows.column()).agg(value)
    if isinstance(windows, SessionWindows):
        # In Spark a session includes the gap, in Kafka Streams it ends with its last record.
        start, gap = F.col("window.start"), F.expr(f"interval {spark_interval(windows.gap)}")
        last = F.col("window.end") - gap
        window = F.struct(start.alias("start"), last.alias("end")).alias("window")
        return grouped.select("key", window, "value", last.alias("timestamp"))
    # The window's last instant, in a column that Spark still recognizes as the event time.
    return grouped.withColumn("timestamp", F.window_time("window"))


def _countable(rows: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F

    # A window of an earlier operator is not needed: the timestamp is in it.
    return rows.where(F.col("key").isNotNull() & F.col("value").isNotNull()).drop("window")


def _spark_words(windows: Windows | None) -> str:
    if windows is None:
        return "groupBy(key).agg"
    if isinstance(windows, SlidingWindows):
        return "withWatermark, self join, groupBy.agg"
    kind = "window" if isinstance(windows, TimeWindows) else "session_window"
    return f"withWatermark, groupBy(key, {kind}).agg"

"""A stream: a sequence of independent records.

The operators are those of Kafka Streams, and take functions on Columns (``functions``). Calling
them runs nothing: they only add nodes to the topology.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation
from moldau.streams.decoding import FAIL, SKIP, check_on_error, decode_records, poison_records
from moldau.streams.durations import Duration
from moldau.streams.functions import Function, call, column, condition, pair
from moldau.streams.grouped import GroupedStream
from moldau.streams.rows import Rows, map_values, unchanged
from moldau.streams.serdes import STRING, Serde
from moldau.streams.stream_joins import join_streams, join_with_table
from moldau.streams.table import Table
from moldau.streams.topology import TO_TABLE, NodeKind, Topology

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from moldau.streams.processing import Processor


class Stream(Rows):
    """Records of key, value and timestamp."""

    @staticmethod
    def source(
        topology: Topology,
        topic: str,
        *,
        key: Serde = STRING,
        value: Serde = STRING,
        on_error: str = FAIL,
        dead_letter: str | None = None,
        name: str | None = None,
    ) -> "Stream":
        """The records of a topic.

        A record that cannot be decoded fails the query; with ``on_error="skip"`` it is skipped,
        with ``dead_letter`` it is copied to that topic, with headers that give its origin.
        """
        check_on_error(on_error)
        fields: dict[str, Any] = {"topic": topic, "key_serde": key, "value_serde": value}
        if dead_letter is not None:
            on_error = SKIP
            poison = topology.add(
                NodeKind.SOURCE,
                "poison",
                detail="what cannot be decoded",
                spark="readStream, where",
                build=poison_records(key, value),
                **fields,
            )
            topology.add(
                NodeKind.SINK,
                "to",
                poison,
                topic=dead_letter,
                detail="dead letters",
                spark="writeStream",
                build=unchanged,
            )
        node = topology.add(
            NodeKind.SOURCE,
            "source",
            name=name,
            detail=f"key {key}, value {value}",
            spark="readStream",
            build=decode_records(key, value, on_error),
            **fields,
        )
        return Stream(topology, node)

    def map(self, function: Function, *, name: str | None = None) -> "Stream":
        """New keys and values: ``lambda key, value: (value.customer, value.amount)``."""

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            key, value = pair(function, call(function, rows))
            # Both at once: each may be computed from the other.
            return rows.select(key.alias("key"), value.alias("value"), *_others(rows))

        return Stream(self.topology, self._stateless("map", "select", build, name))

    def map_values(self, function: Function, *, name: str | None = None) -> "Stream":
        """New values: ``lambda value: value.amount * 2``. A null value stays null."""
        node = self._stateless("map_values", "withColumn", map_values(function), name)
        return self._with(node)

    def filter(self, function: Function, *, name: str | None = None) -> "Stream":
        """Only the records for which ``function`` is true; null is not true."""

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            return rows.where(condition(function, rows))

        return self._with(self._stateless("filter", "where", build, name))

    def flat_map(self, function: Function, *, name: str | None = None) -> "Stream":
        """Any number of records for one.

        ``function`` returns a list of ``(key, value)``, or a Column that is an array of structs
        with the fields key and value.
        """

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            from pyspark.sql import functions as F

            result = call(function, rows)
            if isinstance(result, Sequence):
                pairs = [pair(function, each) for each in result]
                result = F.array(
                    *(F.struct(key.alias("key"), value.alias("value")) for key, value in pairs)
                )
            exploded = rows.select(F.explode(result).alias("each"), *_others(rows))
            return exploded.select("each.key", "each.value", *_others(rows))

        return Stream(self.topology, self._stateless("flat_map", "explode", build, name))

    def flat_map_values(self, function: Function, *, name: str | None = None) -> "Stream":
        """Any number of values for one: ``lambda value: F.split(value, " ")``, an array."""

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            from pyspark.sql import functions as F

            return rows.withColumn("value", F.explode(column(call(function, rows))))

        return self._with(self._stateless("flat_map_values", "explode", build, name))

    def key_by(self, function: Function, *, name: str | None = None) -> "Stream":
        """New keys: ``lambda value: value.customer``."""

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            return rows.withColumn("key", column(call(function, rows))).drop("window")

        return Stream(self.topology, self._stateless("key_by", "withColumn", build, name))

    def branch(self, *conditions: Function) -> "tuple[Stream, ...]":
        """One stream for each condition: a record goes to the first one that is true.

        ``lambda value: True`` as the last one takes all others; without it they are dropped.
        """
        if not conditions:
            raise PipelineError("branch needs at least one condition")
        return tuple(
            self._with(self._stateless("branch", "where", _first_true(conditions, at), None))
            for at in range(len(conditions))
        )

    def merge(self, *others: "Stream", name: str | None = None) -> "Stream":
        """The records of all these streams, in no particular order."""
        if any((other.windows is None) != (self.windows is None) for other in others):
            raise PipelineError(
                f"what is merged with {self.node.name} must have windows beside the keys, or not, "
                "as it has: map() and key_by() give keys without windows"
            )

        def build(_: Compilation, rows: "DataFrame", *more: "DataFrame") -> "DataFrame":
            for each in more:
                rows = rows.unionByName(each, allowMissingColumns=True)
            # Offsets of different topics cannot be compared.
            return rows.drop("offset")

        node = self.topology.add(
            NodeKind.STATELESS,
            "merge",
            self.node,
            *(other.node for other in others),
            name=name,
            spark="unionByName",
            build=build,
        )
        return self._with(node)

    def through(
        self,
        topic: str,
        *,
        key: Serde = STRING,
        value: Serde = STRING,
        name: str | None = None,
    ) -> "Stream":
        """Write to ``topic``, and continue with a stream that reads it, in another query."""
        self.refuse_windows(f"go through {topic}")
        self.to(topic, key=key, value=value)
        return Stream.source(self.topology, topic, key=key, value=value, name=name)

    def to_table(self, *, name: str | None = None) -> Table:
        """The stream as a table: a record replaces the previous one with its key, null deletes it.

        For joins and groupings it is written to an internal topic, where the records of a key are
        in one partition, in order. A topic that already has the right keys needs no copy: use
        ``app.table(topic)``.
        """

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            from pyspark.sql import functions as F

            return rows.where(F.col("key").isNotNull())

        node = self.topology.add(
            NodeKind.STATELESS,
            TO_TABLE,
            self.node,
            name=name,
            spark="where",
            build=build,
            is_table=True,
        )
        return Table(self.topology, node, self.windows)

    def group_by_key(self) -> GroupedStream:
        """The stream grouped by key, for aggregations. Records without a key are dropped."""
        return GroupedStream(self.topology, self.node)

    def group_by(self, function: Function, *, name: str | None = None) -> GroupedStream:
        """The stream grouped by new keys: ``lambda value: value.customer``."""
        return self.key_by(function, name=name).group_by_key()

    def join(
        self,
        other: "Stream | Table",
        joiner: Function | None = None,
        *,
        how: str = "inner",
        within: Duration | None = None,
        grace: Duration = "0 seconds",
        on: Function | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Join with another stream, or look up each record in a table.

        ``joiner`` gets the two values and returns the new one; by default that is a struct of
        ``left`` and ``right``. A missing value is null.

        With a stream: records with the same key whose timestamps are at most ``within`` apart;
        ``how`` is inner, left or outer. A record without a match is emitted when none can arrive
        any more, which is ``within`` plus ``grace`` later in event time.

        With a table: the latest value of the record's key as of this micro-batch, or of another
        key with ``on=lambda value: value.customer``; ``how`` is inner or left.
        """
        if isinstance(other, Table):
            if within is not None:
                raise PipelineError("within is for two streams: a table has one value for each key")
            return self._with(join_with_table(self, other, joiner, how=how, on=on, name=name))

        if on is not None:
            raise PipelineError("two streams join on their keys: set them with key_by()")
        node = join_streams(self, other, joiner, how=how, within=within, grace=grace, name=name)
        return Stream(self.topology, node)

    def process(
        self,
        processor: "Processor",
        returns: str,
        *,
        time: str = "event",
        grace: Duration = "0 seconds",
        name: str | None = None,
    ) -> "Stream":
        """A Python class with state for each key, and timers: see ``Processor``.

        ``returns`` is the type of its results as Spark's DDL (``"amount double"``).
        ``time`` is the time of its timers: ``event`` (the timestamps of the records less
        ``grace``) or ``processing`` (the clock). A run with ``once`` ends when everything is read;
        processing-time timers that are not due by then are left to the next run.
        """
        from moldau.streams.processing import add_processor

        return Stream(
            self.topology,
            add_processor(self, processor, returns, time=time, grace=grace, name=name),
        )


def _others(rows: "DataFrame") -> list[str]:
    return [name for name in rows.columns if name not in ("key", "value", "window")]


def _first_true(conditions: Sequence[Function], at: int) -> Any:
    def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        def is_true(function: Function) -> "Column":
            takes_the_rest = function is conditions[-1]
            said = condition(function, rows, may_be_constant=takes_the_rest)
            return F.coalesce(said, F.lit(False))

        chosen = is_true(conditions[at])
        for earlier in conditions[:at]:
            chosen = chosen & ~is_true(earlier)
        return rows.where(chosen)

    return build

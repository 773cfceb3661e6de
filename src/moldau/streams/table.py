"""A table: the latest value of each key, as a stream of changes.

A table is read from a compacted topic or is the result of a grouping. Its rows are changes: a
value replaces the previous one with the same key, null deletes it. The result of an operator on a
table is a table again, and the topic that it is written to should be compacted.
"""

from typing import TYPE_CHECKING

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation
from moldau.streams.decoding import FAIL, check_on_error, decode_records
from moldau.streams.functions import Function, condition
from moldau.streams.rows import Rows, map_values, unchanged
from moldau.streams.serdes import STRING, Serde
from moldau.streams.topology import APPEND, SUPPRESS, NodeKind, Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from moldau.streams.grouped_table import GroupedTable
    from moldau.streams.stream import Stream


class Table(Rows):
    """The latest value of each key."""

    @staticmethod
    def source(
        topology: Topology,
        topic: str,
        *,
        key: Serde = STRING,
        value: Serde = STRING,
        on_error: str = FAIL,
        name: str | None = None,
    ) -> "Table":
        """A compacted topic: the latest value of each key; a null value deletes the key."""
        check_on_error(on_error)
        node = topology.add(
            NodeKind.TABLE,
            "table",
            name=name,
            topic=topic,
            detail=f"key {key}, value {value}",
            spark="readStream; looked up: read, max_by(value, offset) by key",
            build=decode_records(key, value, on_error),
            is_table=True,
            key_serde=key,
            value_serde=value,
        )
        return Table(topology, node)

    def map_values(self, function: Function, *, name: str | None = None) -> "Table":
        """New values: ``lambda value: value.name``. A deletion stays a deletion."""
        node = self._stateless("map_values", "withColumn", map_values(function), name)
        return self._with(node)

    def filter(self, function: Function, *, name: str | None = None) -> "Table":
        """Only the keys for whose value ``function`` is true; the others are deleted."""

        def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
            from pyspark.sql import functions as F

            # Without a row the previous value would stay.
            kept = F.when(condition(function, rows), F.col("value"))
            return rows.withColumn("value", kept)

        return self._with(self._stateless("filter", "withColumn", build, name))

    def suppress(self, *, name: str | None = None) -> "Table":
        """Only the final value of each window, after its end and the grace period.

        Raises:
            PipelineError: there are no windows, so no value is final.
        """
        if self.windows is None:
            raise PipelineError(
                f"{self.node.name} cannot be suppressed: without windows no value is final. "
                "Use windowed_by(...) before it"
            )
        if APPEND not in self.windows.modes:
            raise PipelineError(f"{self.node.name} cannot be suppressed")

        return self._with(self._stateless(SUPPRESS, "output mode append", unchanged, name))

    def to_stream(self, *, name: str | None = None) -> "Stream":
        """The changes as records: a null value where a key was deleted."""
        from moldau.streams.stream import Stream

        node = self.topology.add(
            NodeKind.STATELESS, "to_stream", self.node, name=name, spark="nothing", build=unchanged
        )
        return Stream(self.topology, node, self.windows)

    def group_by(self, function: Function, *, name: str | None = None) -> "GroupedTable":
        """The rows grouped by other keys: ``lambda value: value.city``; null is in no group.

        In a windowed table each window of a key is a separate row, and remains one after the
        window has ended: ``lambda window: window.start`` groups all keys of a window.
        """
        from moldau.streams.grouped_table import GroupedTable
        from moldau.streams.pointing import pointing

        detail = "in which group each row is, and was before"
        return GroupedTable(self.topology, pointing(self, function, "group_by", detail, name=name))

    def join(
        self,
        other: "Table",
        joiner: Function | None = None,
        *,
        how: str = "inner",
        on: Function | None = None,
        name: str | None = None,
    ) -> "Table":
        """Join two tables; the result changes whenever one of them does.

        ``joiner`` gets the two values and returns the new one; by default that is a struct of
        ``left`` and ``right``. ``how`` is inner, left or outer.

        With ``on`` it is a foreign-key join: ``on=lambda value: value.customer`` is the key in
        ``other``, and the result has the keys of this table; ``how`` is inner or left.
        """
        from moldau.streams.table_joins import join_on_foreign_key, join_tables

        if on is None:
            node = join_tables(self, other, joiner, how=how, name=name)
        else:
            node = join_on_foreign_key(self, other, joiner, on=on, how=how, name=name)
        return Table(self.topology, node)

"""A table grouped by other keys: its current rows are counted or folded.

A row of a table replaces the previous one, whose contribution must be removed: by a second
function, the subtractor, as in Kafka Streams. A group gets its rows from ``pointing`` and keeps
them: so it knows what to subtract, and a change within the group is a single step.

The functions are Python functions on plain values. Spark's own aggregates cannot subtract.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moldau.streams.compiling import Compilation
from moldau.streams.keyed_state import struct_type, transform
from moldau.streams.pointing import by_place
from moldau.streams.table import Table
from moldau.streams.topology import UPDATE, Node, NodeKind, Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Fold = Callable[[Any, Any], Any]


class GroupedTable:
    """A table grouped by new keys."""

    def __init__(self, topology: Topology, node: Node) -> None:
        self._topology = topology
        self._node = node

    def count(self, *, name: str | None = None) -> Table:
        """Count the rows; a group that has lost its last row has the count 0."""
        return self._folded("count", 0, _one_more, _one_less, "long", name)

    def reduce(self, adder: Fold, subtractor: Fold, *, name: str | None = None) -> Table:
        """Combine the result so far with values that are added and removed:

        ``reduce(lambda total, new: total + new, lambda total, old: total - old)``

        The result has the type of the values. If a function returns None, the group is deleted.
        """
        return self._folded("reduce", None, adder, subtractor, None, name)

    def fold(
        self,
        initial: Any,
        adder: Fold,
        subtractor: Fold,
        returns: str,
        *,
        name: str | None = None,
    ) -> Table:
        """As ``reduce``, starting with ``initial``, and with a result of the type ``returns``."""
        return self._folded("fold", initial, adder, subtractor, returns, name)

    def _folded(
        self,
        operator: str,
        initial: Any,
        adder: Fold,
        subtractor: Fold,
        returns: str | None,
        name: str | None,
    ) -> Table:
        def build(_: Compilation, messages: "DataFrame") -> "DataFrame":
            from pyspark.sql import functions as F

            from moldau.streams.folding import Step
            from moldau.streams.table_processors import FoldPointed

            step = Step(adder, initial, returns)
            messages = by_place(messages)
            message: Any = messages.schema["value"].dataType
            types = struct_type(
                key=messages.schema["key"].dataType,
                value=step.result_type(message["row"].dataType),
                timestamp="timestamp",
            )
            # Rows with a null key are in no group.
            rows = messages.where(F.col("key").isNotNull())
            return transform(
                rows, ["key"], FoldPointed(step, subtractor), types, output_mode=UPDATE
            )

        node = self._topology.add(
            NodeKind.STATEFUL,
            operator,
            self._node,
            name=name,
            detail="rows that change are subtracted",
            spark="groupBy(key).transformWithState",
            build=build,
            modes=(UPDATE,),
            is_table=True,
        )
        return Table(self._topology, node)


def _one_more(count: int, _: Any) -> int:
    return count + 1


def _one_less(count: int, _: Any) -> int:
    return count - 1

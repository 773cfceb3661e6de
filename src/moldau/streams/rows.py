"""The base of streams and tables: rows of key, value and timestamp, computed by a node."""

from typing import TYPE_CHECKING, Any, Self

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation, compile_node
from moldau.streams.decoding import encode_rows
from moldau.streams.functions import Function, call, column
from moldau.streams.serdes import Serde
from moldau.streams.topology import Node, NodeKind, Topology
from moldau.streams.windowed_keys import WindowedKey
from moldau.streams.windows import SessionWindows, Windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Rows:
    """The rows of one node of a topology; immutable, every operator returns a new object."""

    def __init__(self, topology: Topology, node: Node, windows: Windows | None = None) -> None:
        self.topology = topology
        self.node = node
        # Set if the rows have a ``window`` in addition to their key.
        self.windows = windows

    @property
    def df(self) -> "DataFrame":
        """The DataFrame of these rows, for direct use of Spark.

        Raises:
            PipelineError: the topology has no inputs.
        """
        if self.topology.inputs is None:
            raise PipelineError(f"{self.node.name} belongs to no app that says where to read from")
        return compile_node(self.node, self.topology.inputs())

    def to(
        self,
        topic: str,
        *,
        key: Serde | None = None,
        value: Serde | None = None,
        name: str | None = None,
    ) -> None:
        """Write the rows to ``topic``; the default serdes depend on the types.

        Text is written as text, numbers as by Kafka's serializers, other types as JSON. The key of
        a windowed row is followed by the start of the window, as in Kafka Streams.
        """
        key_serde: Serde | None = key
        if self.windows is not None:
            key_serde = WindowedKey(key, is_session=isinstance(self.windows, SessionWindows))
        self.topology.add(
            NodeKind.SINK,
            "to",
            self.node,
            name=name,
            topic=topic,
            detail=_serdes(key_serde, value),
            spark="writeStream",
            build=encode_rows(key_serde, value),
            is_table=self.node.is_table,
            key_serde=key_serde,
            value_serde=value,
        )

    def refuse_windows(self, what: str) -> None:
        """Raise PipelineError if there are windows, saying that ``what`` is not possible."""
        if self.windows is not None:
            raise PipelineError(
                f"{self.node.name} has windows beside its keys and cannot {what}: "
                "give its stream keys with map() or key_by() before"
            )

    def _stateless(self, operator: str, spark: str, build: Any, name: str | None) -> Node:
        return self.topology.add(
            NodeKind.STATELESS,
            operator,
            self.node,
            name=name,
            spark=spark,
            build=build,
            is_table=self.node.is_table,
        )

    def _with(self, node: Node) -> Self:
        return type(self)(self.topology, node, self.windows)


def unchanged(_: Compilation, rows: "DataFrame") -> "DataFrame":
    """The same rows, for operators that only change their meaning."""
    return rows


def map_values(function: Function) -> Any:
    """Builds rows with new values; a null value, which is a deletion, stays null."""

    def build(_: Compilation, rows: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        value = column(call(function, rows))
        return rows.withColumn("value", F.when(F.col("value").isNotNull(), value))

    return build


def _serdes(key: Serde | None, value: Serde | None) -> str:
    given = {"key": key, "value": value}
    return ", ".join(f"{name} {serde}" for name, serde in given.items() if serde is not None)

"""Compiles the nodes of a query to the DataFrame that Spark runs.

Every node computes its DataFrame from those of its parents; this module only traverses them. A
node can be compiled in two ways: as a stream, which for a table is its changes, or for lookups, as
a batch DataFrame with the latest value of every key. Spark reads the latter again in each
micro-batch, so a stream that is joined with a table sees the table as of that batch.

``Inputs`` provides the source rows: topics of a broker, or rows in a test.
"""

from typing import TYPE_CHECKING, Final, Protocol

from moldau.spark.errors import PipelineError, one_line
from moldau.streams.topology import UPDATE, Node, NodeKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from moldau.streams.queries import Query

_STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG: Final = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


class Inputs(Protocol):
    """Provides the rows of sources and tables.

    Both methods return the columns of ``format("moldau")``: key and value (binary), topic,
    partition, offset, timestamp, and headers if requested. They may be called for any topic of the
    topology, even one that the query itself does not read: a query downstream of a cut gets the
    types of its rows from the nodes before the cut.
    """

    def stream(self, node: Node) -> "DataFrame":
        """The records of the topic of a source or a table, as a stream."""
        ...

    def table(self, node: Node) -> "DataFrame":
        """All records currently in the topic of a table, as a batch."""
        ...


class Compilation:
    """The compilation of one query; passed to each node's ``build``."""

    def __init__(self, inputs: Inputs, output_mode: str) -> None:
        self.output_mode = output_mode
        self._inputs = inputs
        # By the id() of the node, and whether it is looked up.
        self._frames: dict[tuple[int, bool], DataFrame] = {}

    def frame(self, node: Node, *, is_lookup: bool = False) -> "DataFrame":
        """The rows of ``node``; each node is built once.

        Raises:
            PipelineError: a user's function or its arguments do not fit the rows.
        """
        known = self._frames.get((id(node), is_lookup))
        if known is None:
            known = self._frames[id(node), is_lookup] = self._build(node, is_lookup)
        return known

    def _build(self, node: Node, is_lookup: bool) -> "DataFrame":
        from pyspark.errors import PySparkException

        if is_lookup and node.kind in (NodeKind.STATEFUL, NodeKind.SOURCE):
            raise PipelineError(
                f"{node.name} is looked up, which needs its internal topic: run the application "
                "instead of using the DataFrame of what follows it"
            )
        frames = self._parents(node, is_lookup)
        assert node.build is not None, f"{node.name} cannot be built"
        try:
            return node.build(self, *frames)
        except PySparkException as error:
            raise PipelineError(f"{node.name}: {one_line(error)}") from error

    def _parents(self, node: Node, is_lookup: bool) -> "list[DataFrame]":
        if node.kind is NodeKind.TABLE and is_lookup:
            return [latest_per_key(self._inputs.table(node))]
        if node.kind in (NodeKind.SOURCE, NodeKind.TABLE):
            return [self._inputs.stream(node)]
        return [
            self.frame(parent, is_lookup=is_lookup or parent is node.lookup)
            for parent in node.parents
        ]


def compile_query(query: "Query", inputs: Inputs) -> "DataFrame":
    """The records to be written to the topic of the query's sink.

    The columns are key and value (binary), timestamp, and headers if there are any.
    """
    return compile_in(Compilation(inputs, query.output_mode), query)


def compile_in(compilation: Compilation, query: "Query") -> "DataFrame":
    """The same, for callers that also need other nodes of the compilation."""
    frame = compilation.frame(query.sink)
    if any(node.kind is NodeKind.STATEFUL for node in query.nodes):
        use_rocksdb(frame.sparkSession)
    return frame


def compile_node(node: Node, inputs: Inputs, output_mode: str = UPDATE) -> "DataFrame":
    """The rows of one node, with the topology upstream of it not cut."""
    frame = Compilation(inputs, output_mode).frame(node)
    use_rocksdb(frame.sparkSession)
    return frame


def use_rocksdb(spark: "SparkSession") -> None:
    """Keep state in RocksDB: on disk instead of on the heap, and required for state in Python.

    A query that continues from a checkpoint keeps its store, whatever is set here.
    """
    spark.conf.set(_STATE_STORE, _ROCKSDB)
    if spark.conf.get(_CHANGELOG, None) is None:
        # A batch then commits only its changes, and snapshots are created in the background: 10
        # instead of 140 ms for one operator on two partitions, 15 instead of 480 for a stream join.
        spark.conf.set(_CHANGELOG, "true")


def latest_per_key(records: "DataFrame") -> "DataFrame":
    """A compacted topic as a table: the newest record of every key, without deleted keys.

    All records of a key are in one partition, so the one with the highest offset is the newest.
    """
    from pyspark.sql import functions as F

    others = [name for name in records.columns if name != "key"]
    newest = F.max_by(F.struct(*others), F.col("offset")).alias("newest")
    return (
        records.where(F.col("key").isNotNull())
        .groupBy("key")
        .agg(newest)
        .select("key", "newest.*")
        .where(F.col("value").isNotNull())
    )

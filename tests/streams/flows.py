"""Runs a topology as in a real run, on files instead of topics.

As in test mode (``moldau.streams.testing``), but a topic is given as lists of rows, and each list
is one micro-batch: the first lists of all topics together, then the second ones, and so on.
Timestamps are in seconds since 1970, in the input and the output.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from moldau.streams.compiling import Compilation
from moldau.streams.queries import Query, plan_queries
from moldau.streams.rows import Rows
from moldau.streams.serdes import LONG, STRING, Json, Serde
from moldau.streams.stream import Stream
from moldau.streams.table import Table
from moldau.streams.testing import FileInputs, Record, run_query
from moldau.streams.topology import Node, Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Key, value and the second of its timestamp.
Given = tuple[Any, Any, float]
Split = Callable[[list[Record]], list[list[Record]]]


class Out(NamedTuple):
    """A record that was written; the key of a windowed row is ``(key, start_ms)``."""

    key: Any
    value: Any
    second: float


class Flow:
    """Makes streams and tables out of rows, and runs what is computed from them."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self.topology = Topology()
        self.topology.inputs = lambda: _Batch(spark, folder / "topics")
        self._spark = spark
        self._inputs = FileInputs(spark, folder / "topics")
        self._checkpoints = folder / "checkpoints"

    def stream(
        self,
        topic: str,
        *batches: Sequence[Given],
        key: Serde = STRING,
        value: Serde = LONG,
        **how: Any,
    ) -> Stream:
        self._put(topic, batches, key, value)
        return Stream.source(self.topology, topic, key=key, value=value, **how)

    def table(
        self, topic: str, *batches: Sequence[Given], key: Serde = STRING, value: Serde = LONG
    ) -> Table:
        self._put(topic, batches, key, value)
        return Table.source(self.topology, topic, key=key, value=value)

    def put_raw(self, topic: str, *records: Record) -> None:
        self._inputs.put(topic, records)

    def rows(self, rows: Rows) -> list[Any]:
        """The rows of a stateless flow, all at once and in order: quicker than a stream."""
        return rows.df.collect()

    def run(self, rows: Rows, split: Split | None = None) -> list[Out]:
        """What is written when ``rows`` go to a topic, in the order of writing."""
        rows.to("out", key=Json(), value=Json())
        return [_out(record, self.queries()[-1].sink) for record in self.run_all(split)["out"]]

    def queries(self) -> list[Query]:
        return plan_queries(self.topology, "app")

    def run_all(self, split: Split | None = None) -> dict[str, list[Record]]:
        """What is written to each topic of the topology.

        ``split`` says in which micro-batches the records of an internal topic are read.
        """
        written: dict[str, list[Record]] = {}
        for query in self.queries():
            assert query.sink.topic is not None
            checkpoint = self._checkpoints / query.name
            compilation = Compilation(self._inputs, query.output_mode)
            records = run_query(self._spark, query, compilation, checkpoint)
            written[query.sink.topic] = records
            self._inputs.put(query.sink.topic, *([records] if split is None else split(records)))
        return written

    def _put(
        self, topic: str, batches: Sequence[Sequence[Given]], key: Serde, value: Serde
    ) -> None:
        def dumped(serde: Serde, given: Any) -> bytes | None:
            return None if given is None else serde.dumps(given)

        self._inputs.put(
            topic,
            *(
                [
                    Record(
                        dumped(key, each[0]),
                        dumped(value, each[1]),
                        datetime.fromtimestamp(each[2], UTC),
                    )
                    for each in batch
                ]
                for batch in batches
            ),
        )


class _Batch(FileInputs):
    """All that the topics hold, in order."""

    def stream(self, node: Node) -> "DataFrame":
        return self.table(node).orderBy("offset")


def _out(record: Record, sink: Node) -> Out:
    assert sink.key_serde is not None
    assert sink.value_serde is not None
    key = None if record.key is None else sink.key_serde.loads(record.key)
    value = None if record.value is None else sink.value_serde.loads(record.value)
    return Out(key, value, record.timestamp.timestamp())

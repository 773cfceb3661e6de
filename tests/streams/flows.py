"""A topology run as it would run for real, on files instead of topics.

Each topic is a directory and each list of rows one file of it, which Spark takes as one
micro-batch: the first lists of all topics together, then the second ones, and so on. What the
queries write is collected; internal topics become directories in their turn. Seconds since 1970 are
the time.
"""

import itertools
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from moldau.streams.compiling import compile_query
from moldau.streams.queries import Query, plan_queries
from moldau.streams.rows import Rows
from moldau.streams.serdes import LONG, STRING, Json, Serde
from moldau.streams.stream import Stream
from moldau.streams.table import Table
from moldau.streams.topology import Node, Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Key, value and the second of its timestamp.
Given = tuple[Any, Any, float]

RAW = pa.schema(
    {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
)
_DDL = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
_names = itertools.count()


class Out(NamedTuple):
    """A record that was written; the key of a windowed row is ``(key, start_ms)``."""

    key: Any
    value: Any
    second: float


class Flow:
    """Makes streams and tables out of rows, and runs what is computed from them."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self.topology = Topology()
        self.topology.inputs = lambda: _Files(spark, folder, is_stream=False)
        self._spark = spark
        self._folder = folder

    def stream(
        self,
        topic: str,
        *batches: Sequence[Given],
        key: Serde = STRING,
        value: Serde = LONG,
        **how: Any,
    ) -> Stream:
        self.put(topic, *batches, key=key, value=value)
        return Stream.source(self.topology, topic, key=key, value=value, **how)

    def table(
        self, topic: str, *batches: Sequence[Given], key: Serde = STRING, value: Serde = LONG
    ) -> Table:
        self.put(topic, *batches, key=key, value=value)
        return Table.source(self.topology, topic, key=key, value=value)

    def put(self, topic: str, *batches: Sequence[Given], key: Serde, value: Serde) -> None:
        self.put_raw(
            topic,
            *(
                [
                    (
                        None if each[0] is None else key.dumps(each[0]),
                        None if each[1] is None else value.dumps(each[1]),
                        datetime.fromtimestamp(each[2], UTC),
                    )
                    for each in batch
                ]
                for batch in batches
            ),
        )

    def put_raw(
        self, topic: str, *batches: Sequence[tuple[bytes | None, bytes | None, datetime]]
    ) -> None:
        folder = self._folder / "topics" / topic
        folder.mkdir(parents=True, exist_ok=True)
        offsets = itertools.count()
        for number, batch in enumerate(batches):
            rows = [
                {
                    "key": key,
                    "value": value,
                    "topic": topic,
                    "partition": 0,
                    "offset": next(offsets),
                    "timestamp": moment,
                }
                for key, value, moment in batch
            ]
            path = folder / f"{number}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema=RAW), path)
            # Spark takes the files in the order of these.
            os.utime(path, (1_000_000 + number, 1_000_000 + number))

    def rows(self, rows: Rows) -> list[Any]:
        """The rows of a stateless flow, all at once and in order: quicker than a stream."""
        return rows.df.collect()

    def run(self, rows: Rows) -> list[Out]:
        """What is written when ``rows`` go to a topic, in the order of writing."""
        rows.to("out", key=Json(), value=Json())
        return [self._out(record, self.queries()[-1].sink) for record in self.run_all()["out"]]

    def queries(self) -> list[Query]:
        return plan_queries(self.topology, "app")

    def run_all(self) -> dict[str, list[Any]]:
        """What is written to each topic of the topology."""
        written: dict[str, list[Any]] = {}
        read = {source.topic for query in self.queries() for source in query.sources}
        for query in self.queries():
            records = self._run_query(query)
            assert query.sink.topic is not None
            written[query.sink.topic] = records
            if query.sink.topic in read:
                batch = [(record["key"], record["value"], _utc(record)) for record in records]
                self.put_raw(query.sink.topic, batch)
        return written

    def run_until(self, rows: Rows, count: int) -> list[Out]:
        """As ``run``, for what goes by the clock and never ends: until so many are written."""
        rows.to("out", key=Json(), value=Json())
        [query] = self.queries()
        return [self._out(record, query.sink) for record in self._run_query(query, count)]

    def _run_query(self, query: Query, count: int | None = None) -> list[Any]:
        name = f"flow_{next(_names)}"
        frame = compile_query(query, _Files(self._spark, self._folder, is_stream=True))
        writer = (
            frame.writeStream.format("memory")
            .queryName(name)
            .outputMode(query.output_mode)
            .option("checkpointLocation", str(self._folder / "checkpoints" / query.name))
        )
        running = (writer if count is not None else writer.trigger(availableNow=True)).start()
        try:
            if count is None:
                running.awaitTermination()
            else:
                while self._spark.table(name).count() < count:
                    assert not running.awaitTermination(timeout=0.2)
            return self._spark.table(name).collect()
        finally:
            running.stop()
            self._spark.catalog.dropTempView(name)

    def _out(self, record: Any, sink: Node) -> Out:
        assert sink.key_serde is not None
        assert sink.value_serde is not None
        key = None if record["key"] is None else sink.key_serde.loads(bytes(record["key"]))
        value = None if record["value"] is None else sink.value_serde.loads(bytes(record["value"]))
        return Out(key, value, _utc(record).timestamp())


class _Files:
    def __init__(self, spark: "SparkSession", folder: Path, *, is_stream: bool) -> None:
        self._spark = spark
        self._folder = folder
        self._is_stream = is_stream

    def stream(self, node: Node) -> "DataFrame":
        if not self._is_stream:
            return self.table(node)
        reader = self._spark.readStream.schema(_DDL).option("maxFilesPerTrigger", 1)
        return reader.parquet(self._path(node))

    def table(self, node: Node) -> "DataFrame":
        return self._spark.read.schema(_DDL).parquet(self._path(node)).orderBy("offset")

    def _path(self, node: Node) -> str:
        assert node.topic is not None
        path = self._folder / "topics" / node.topic
        path.mkdir(parents=True, exist_ok=True)
        return str(path)


def _utc(record: Any) -> datetime:
    # Spark gives the time of the machine's zone, without saying so.
    moment: datetime = record["timestamp"]
    return moment.astimezone(UTC)

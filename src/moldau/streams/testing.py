"""Tests an app without a broker, on files instead of topics.

The queries are those of a real run, streaming and stateful, so Spark refuses here what it would
refuse there. Only the inputs and outputs differ: the rows of a topic are in files, one for each
micro-batch, and the output of a query is collected, and becomes the files for its readers. The
settings are for a few rows (``quick``).
"""

import os
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import Compilation, compile_in
from moldau.streams.queries import Query
from moldau.streams.queryable import written_serdes
from moldau.streams.serdes import STRING, Serde, default_serde
from moldau.streams.topics import source_topics, topic_of, upstream_first
from moldau.streams.topology import Node
from moldau.streams.watching import is_idle, stop_queries
from moldau.streams.windowed_keys import WindowedKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A record in a test: (key, value) or (key, value, timestamp).
Row = tuple[Any, ...]

COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
# For queries that read a handful of rows: one task after a shuffle, one state store for each
# operator, and no code generation, which takes longer than it saves.
_QUICK: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# Rows without a timestamp are a second apart, starting here.
FIRST_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
# Spark's type stubs allow only whole seconds.
_POLL_S: Final[Any] = 0.05


class Record(NamedTuple):
    """A record as it is stored in a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: datetime
    # As in Spark: structs of key and value.
    headers: list[dict[str, Any]] | None = None


def run_test(
    spark: "SparkSession",
    queries: Sequence[Query],
    rows: Mapping[str, Iterable[Row]],
    *,
    rows_per_batch: int | None = None,
) -> dict[str, list[tuple[Any, Any]]]:
    """Return what the queries write to each topic, as ``(key, value)`` in the order written.

    Raises:
        PipelineError: the app does not read a topic, or a row does not fit its serdes.
    """
    topics = {name: list(_encoded(name, each, queries)) for name, each in rows.items()}
    written: dict[str, list[tuple[Any, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="moldau-test-") as folder, quick(spark):
        inputs = FileInputs(spark, Path(folder) / "topics")
        for query in upstream_first(queries):
            for topic in source_topics(query):
                inputs.put(topic, *_batches(topics.get(topic, []), rows_per_batch))
            compilation = Compilation(inputs, query.output_mode)
            checkpoint = Path(folder) / "checkpoints" / query.name
            records = run_query(spark, query, compilation, checkpoint)
            topics.setdefault(topic_of(query), []).extend(records)
            if not query.is_cut:
                key, value = _sink_serdes(query, compilation)
                written.setdefault(topic_of(query), []).extend(
                    (_loaded(key, each.key), _loaded(value, each.value)) for each in records
                )
    return written


@contextmanager
def quick(spark: "SparkSession") -> Iterator[None]:
    """Configure ``spark`` for a few rows in this block."""
    before = {name: spark.conf.get(name, None) for name in _QUICK}
    for name, value in _QUICK.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, given in before.items():
            if given is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, given)


class FileInputs:
    """Topics as directories of files; a file for each micro-batch."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self._spark = spark
        self._folder = folder

    def put(self, topic: str, *batches: Sequence[Record]) -> None:
        """Set the content of a topic; each of ``batches`` is read as one micro-batch."""
        import pyarrow.parquet as pq

        folder = self._at(topic)
        folder.mkdir(parents=True, exist_ok=True)
        first_offset = 0
        for number, records in enumerate(batches):
            path = folder / f"{number:06}.parquet"
            pq.write_table(_table(topic, first_offset, records), path)
            # Spark reads the oldest file first, with a resolution of one second.
            os.utime(path, (1_000_000 + number, 1_000_000 + number))
            first_offset += len(records)

    def stream(self, node: Node) -> "DataFrame":
        reader = self._spark.readStream.schema(self._schema()).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._existing(node)))

    def table(self, node: Node) -> "DataFrame":
        return self._spark.read.schema(self._schema()).parquet(str(self._existing(node)))

    def _existing(self, node: Node) -> Path:
        """The directory of a topic, which Spark requires to exist even if it is empty."""
        assert node.topic is not None, f"{node.name} reads no topic"
        folder = self._at(node.topic)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _at(self, topic: str) -> Path:
        return self._folder / topic

    def _schema(self) -> Any:
        from moldau.spark.schema import source_schema

        return source_schema(COLUMNS)


def _batches(records: Sequence[Record], size: int | None) -> list[Sequence[Record]]:
    """Batches of ``size``, or a single one; an empty one if there are no records."""
    if size is None or not records:
        return [records]
    return [records[first : first + size] for first in range(0, len(records), size)]


def run_query(
    spark: "SparkSession", query: Query, compilation: Compilation, checkpoint: Path
) -> list[Record]:
    """Run the query until it has read everything, and return what it wrote."""
    # The memory sink creates a table with this name.
    name = f"moldau_test_{os.getpid()}_{id(query)}"
    frame = compile_in(compilation, query)
    running = (
        frame.writeStream.format("memory")
        .queryName(name)
        .outputMode(query.output_mode)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        while not running.awaitTermination(timeout=_POLL_S):
            if query.by_clock and is_idle(running):
                break
        return [_record(row.asDict()) for row in spark.table(name).collect()]
    finally:
        stop_queries({name: running})
        spark.catalog.dropTempView(name)


def _record(row: Mapping[str, Any]) -> Record:
    key, value, moment = row["key"], row["value"], row.get("timestamp")
    headers = row.get("headers")
    return Record(
        None if key is None else bytes(key),
        None if value is None else bytes(value),
        FIRST_MOMENT if moment is None else moment.astimezone(UTC),
        None if headers is None else [each.asDict() for each in headers],
    )


def _encoded(topic: str, rows: Iterable[Row], queries: Sequence[Query]) -> Iterator[Record]:
    node = _reader_of(topic, queries)
    for number, row in enumerate(rows):
        if not isinstance(row, tuple) or len(row) not in (2, 3):
            raise PipelineError(
                f"row {number} of {topic} is {row!r}: write (key, value) or (key, value, timestamp)"
            )
        moment = row[2] if len(row) == 3 else FIRST_MOMENT + number * _SECOND
        try:
            key = _dumped(node.key_serde, row[0])
            value = _dumped(node.value_serde, row[1])
        except (TypeError, ValueError, ArithmeticError, AttributeError, struct.error) as error:
            raise PipelineError(
                f"row {number} of {topic}, {row!r}, does not fit key {node.key_serde} and value "
                f"{node.value_serde}: {error}"
            ) from None
        yield Record(key, value, _moment(moment))


def _reader_of(topic: str, queries: Sequence[Query]) -> Node:
    nodes = [node for query in queries for node in query.sources]
    for node in nodes:
        if node.topic == topic and node.key_serde is not None:
            return node
    known = sorted({node.topic for node in nodes if node.topic and node.key_serde is not None})
    raise PipelineError(f"the app does not read topic {topic}: it reads {', '.join(known)}")


def _sink_serdes(query: Query, compilation: Compilation) -> tuple[Serde, Serde]:
    """The serdes that the query writes with: explicit, or the defaults for the column types."""
    sink = query.sink
    known = written_serdes(sink)
    if known is not None:
        return known
    schema = compilation.frame(sink.parents[0]).schema
    key = sink.key_serde or default_serde(schema["key"].dataType)
    if isinstance(key, WindowedKey) and key.inner is None:
        key = WindowedKey(default_serde(schema["key"].dataType), is_session=key.is_session)
    return key, sink.value_serde or default_serde(schema["value"].dataType)


def _dumped(serde: Serde | None, value: Any) -> bytes | None:
    """Bytes are used unchanged, so that a test can have malformed records."""
    if value is None or isinstance(value, bytes):
        return value
    return (serde or STRING).dumps(value)


def _loaded(serde: Serde, data: bytes | None) -> Any:
    return None if data is None else serde.loads(data)


def _moment(given: Any) -> datetime:
    """From a datetime (UTC if it has no time zone), or milliseconds since 1970."""
    if isinstance(given, datetime):
        return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    if isinstance(given, int | float):
        return datetime.fromtimestamp(given / 1000, UTC)
    raise PipelineError(f"timestamp {given!r}: a datetime or milliseconds are expected")


def _table(topic: str, first_offset: int, records: Sequence[Record]) -> Any:
    """As Arrow, with the columns of ``format("moldau")``."""
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    schema = pa.schema(
        {
            "key": pa.binary(),
            "value": pa.binary(),
            "topic": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "timestamp": pa.timestamp("us", tz="UTC"),
            "headers": pa.list_(header),
        }
    )
    rows = [
        {
            "key": record.key,
            "value": record.value,
            "topic": topic,
            "partition": 0,
            "offset": first_offset + index,
            "timestamp": record.timestamp,
            "headers": record.headers,
        }
        for index, record in enumerate(records)
    ]
    return pa.Table.from_pylist(rows, schema=schema)

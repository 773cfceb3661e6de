"""Spark with Moldau's connector and with its own: the same queries on one broker, alternately.

The broker is the same for both, so "Moldau" in the table means ``format("moldau")`` here, and
"Apache Kafka" means ``format("kafka")``. In the last row both write with ``format("moldau")``:
there "Moldau" means exactly once, and "Apache Kafka" at least once.
"""

import contextlib
import os
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Consumer, Producer
from tools.brokers import PROJECT, Broker

from benchmarks.clients import UnavailableError
from benchmarks.rows import Figures, Workbench
from moldau.spark import exactly_once, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOLDAU, SPARK = "moldau", "kafka"
SIDES = {"moldau": MOLDAU, "kafka": SPARK}
PARTITIONS = 6
SIZES = {"100 B": 100, "1 KiB": 1024}
# The number of records, sent one after the other, for the median latency.
ROUNDS = 60
WARM_UP_ROUNDS = 15


class SparkRow(NamedTuple):
    """One measurement for each connector."""

    name: str
    measure: Callable[["SparkBench", str], Figures]
    targets: Sequence[tuple[str, str, float]]


def spark_rows() -> list[SparkRow]:
    rows = []
    for size, read, stream, write in (("100 B", 2.5, 1.8, 1.5), ("1 KiB", 1.4, 1.3, 1.0)):
        for what, how, ratio in (
            ("batch read", SparkBench.batch_read, read),
            ("streaming read", SparkBench.streaming_read, stream),
            ("write", SparkBench.write, write),
        ):
            rows.append(_throughput_row(what, how, size, ratio))
    latency = [("p50_ms", "at most", 1.3)]
    rows.append(
        SparkRow(
            "Spark, small micro-batches, topic to topic, by format moldau and format kafka",
            SparkBench.round_trips,
            latency,
        )
    )
    delivery = [("krec_s", "at least", 0.75)]
    name = "Spark, topic to topic, 100 B records, exactly once to at least once"
    rows.append(SparkRow(name, SparkBench.copy, delivery))
    return rows


def _throughput_row(
    what: str, how: Callable[["SparkBench", str, int], Figures], size: str, ratio: float
) -> SparkRow:
    def measure(bench: "SparkBench", side: str) -> Figures:
        return how(bench, side, SIZES[size])

    name = f"Spark, {what}, {size} records, by format moldau and format kafka"
    return SparkRow(name, measure, [("krec_s", "at least", ratio)])


class SparkBench:
    """A session with both connectors, and a broker that they share."""

    def __init__(self, bench: Workbench, broker: Broker) -> None:
        folder = os.environ.get("SPARK_CONNECTOR_DIR") or PROJECT / ".cache" / "spark-connector"
        jars = sorted(Path(folder, "jars").glob("*.jar"))
        if not jars:
            raise UnavailableError(
                "Spark's Kafka connector is not installed (tools/install-spark-connector)"
            )
        self._bench = bench
        self._broker = broker
        self._folder = Path(tempfile.mkdtemp(prefix="moldau-spark-bench-"))
        self._inputs: dict[int, DataFrame] = {}
        self._filled: dict[int, str] = {}
        self._topics = contextlib.ExitStack()
        self.spark: SparkSession = session(
            "benchmark",
            master="local[2]",
            is_short=False,
            config={"spark.jars": ",".join(map(str, jars)), "spark.driver.memory": "3g"},
        )

    def close(self) -> None:
        self._topics.close()
        self.spark.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def count(self, size: int) -> int:
        return self._bench.amounts.throughput_bytes // size

    def rows(self, size: int) -> "DataFrame":
        """This many rows of this size, cached in memory."""
        if size not in self._inputs:
            value = f"rpad(sha2(cast(id as string), 256), {size}, cast(id as string))"
            frame = self.spark.range(0, self.count(size), 1, PARTITIONS)
            rows = frame.selectExpr("cast(id as string) as key", f"{value} as value").cache()
            rows.count()
            self._inputs[size] = rows
        return self._inputs[size]

    def filled_topic(self, size: int) -> str:
        """A topic with all rows of this size."""
        if size not in self._filled:
            topic = self._topics.enter_context(self._bench.topic(self._broker, PARTITIONS))
            self._save(self.rows(size), MOLDAU, topic)
            self._filled[size] = topic
        return self._filled[size]

    def batch_read(self, side: str, size: int) -> Figures:
        topic = self.filled_topic(size)
        reader = self.spark.read.format(side).options(**self._reading(topic))
        return self._rate(size, lambda: _discard(reader.load()))

    def streaming_read(self, side: str, size: int) -> Figures:
        rows = self._stream(side, self.filled_topic(size))

        def run() -> None:
            query = (
                rows.writeStream.format("noop")
                .option("checkpointLocation", self._checkpoint())
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()

        return self._rate(size, run)

    def write(self, side: str, size: int) -> Figures:
        rows = self.rows(size)
        with self._bench.topic(self._broker, PARTITIONS) as topic:
            return self._rate(size, lambda: self._save(rows, side, topic))

    def copy(self, side: str) -> Figures:
        """Topic to topic: exactly once as "moldau", at least once as "kafka"."""
        rows = self._stream(MOLDAU, self.filled_topic(100)).select("key", "value")
        bootstrap = self._broker.bootstrap
        once = {"availableNow": True}
        with self._bench.topic(self._broker, PARTITIONS) as topic:

            def run() -> None:
                checkpoint = self._checkpoint()
                if side == MOLDAU:
                    query = exactly_once(
                        rows, checkpoint=checkpoint, bootstrap=bootstrap, topic=topic, trigger=once
                    )
                else:
                    query = self._start(rows, MOLDAU, topic, checkpoint, once)
                query.awaitTermination()

            return self._rate(100, run)

    def round_trips(self, side: str) -> Figures:
        """The latency from a record in one topic to its copy in another, in a running query."""
        bootstrap = self._broker.bootstrap
        with self._bench.topic(self._broker) as source, self._bench.topic(self._broker) as target:
            rows = self._stream(side, source).select("value")
            query = self._start(
                rows, side, target, self._checkpoint(), {"processingTime": "0 seconds"}
            )
            try:
                times = _round_trips(bootstrap, source, target)
            finally:
                query.stop()
        return {"p50_ms": statistics.median(times) * 1000}

    def _rate(self, size: int, work: Callable[[], None]) -> Figures:
        began = time.monotonic()
        work()
        return {"krec_s": self.count(size) / (time.monotonic() - began) / 1000}

    def _reading(self, topic: str) -> dict[str, str]:
        bootstrap = self._broker.bootstrap
        return {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }

    def _stream(self, side: str, topic: str) -> "DataFrame":
        return self.spark.readStream.format(side).options(**self._reading(topic)).load()

    def _start(
        self, rows: "DataFrame", side: str, topic: str, checkpoint: str, trigger: dict[str, Any]
    ) -> Any:
        writer = rows.writeStream.format(side).option("topic", topic)
        writer = writer.option("kafka.bootstrap.servers", self._broker.bootstrap)
        return writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()

    def _save(self, rows: "DataFrame", side: str, topic: str) -> None:
        writer = rows.write.format(side).option("topic", topic)
        writer.option("kafka.bootstrap.servers", self._broker.bootstrap).mode("append").save()

    def _checkpoint(self) -> str:
        return str(self._folder / uuid.uuid4().hex)


@contextlib.contextmanager
def spark_bench(bench: Workbench, broker: Broker) -> Iterator[SparkBench]:
    running = SparkBench(bench, broker)
    try:
        yield running
    finally:
        running.close()


def _discard(rows: "DataFrame") -> None:
    rows.write.format("noop").mode("overwrite").save()


def _round_trips(bootstrap: str, source: str, target: str) -> list[float]:
    """The seconds from writing a record to reading its copy, one record at a time."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"bench-{uuid.uuid4().hex[:8]}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.subscribe([target])
    times = []
    try:
        for number in range(WARM_UP_ROUNDS + ROUNDS):
            began = time.monotonic()
            producer.produce(source, b"%d" % number)
            producer.flush()
            message = None
            while message is None or message.value() != b"%d" % number:
                message = consumer.poll(0.1)
                if time.monotonic() - began > 120:
                    raise RuntimeError(f"record {number} did not arrive in {target}")
            times.append(time.monotonic() - began)
    finally:
        consumer.close()
    return times[WARM_UP_ROUNDS:]

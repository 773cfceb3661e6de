"""Lookups see the current content of a table's topic, on a broker."""

from pathlib import Path
from typing import TYPE_CHECKING

from moldau.client.producer import Producer
from moldau.streams.compiling import compile_query
from moldau.streams.inputs import TopicInputs
from moldau.streams.queries import plan_queries
from moldau.streams.serdes import STRING
from moldau.streams.stream import Stream
from moldau.streams.table import Table
from moldau.streams.topology import Topology
from tests.spark.conftest import NewTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_micro_batch_sees_the_table_as_it_is_then(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    orders, names = new_topic(), new_topic()
    topology = Topology()
    table = Table.source(topology, names)
    named = Stream.source(topology, orders).join(table, lambda order, name: name, how="left")
    named.to("out", value=STRING)
    [query] = plan_queries(topology, "app")

    def send(topic: str, value: bytes | None) -> None:
        with Producer(bootstrap) as producer:
            producer.send(topic, value, b"a")

    running = (
        compile_query(query, TopicInputs(spark, bootstrap))
        .writeStream.format("memory")
        .queryName("lookups")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        for name in (b"Ann", b"Anna", None):
            send(names, name)
            send(orders, b"order")
            running.processAllAvailable()
        assert [row["value"] for row in spark.table("lookups").collect()] == [b"Ann", b"Anna", None]
    finally:
        running.stop()
        spark.catalog.dropTempView("lookups")

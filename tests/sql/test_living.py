"""Streaming tables and materialized views: what a batch writes to the table's topic.

Run in this process, as in a worker, with a Spark session of its own.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.producer import Producer
from moldau.connect.connectors.sql_query import SqlQuery
from moldau.ids import TopicPartition
from moldau.sql import client
from moldau.sql.errors import Span, SqlError
from moldau.sql.living import STREAMING_TABLE, LivingQuery
from moldau.sql.plan import Parsed, Relation
from moldau.sql.settings import SqlSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = TopicPartition("clicks", 0)


@pytest.fixture(scope="module")
def spark(environment: Mapping[str, str]) -> "Iterator[SparkSession]":
    from moldau.spark import session

    # One JVM at a time is enough.
    client.stop(environment)
    running = session("living", master="local[2]")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def clicks(bootstrap: str) -> str:
    with Admin(bootstrap) as admin:
        admin.create_topic(SOURCE.topic, 1)
    return SOURCE.topic


def produce(bootstrap: str, *pages: str) -> None:
    with Producer(bootstrap) as producer:
        for page in pages:
            producer.send(SOURCE.topic, json.dumps({"page": page}).encode(), key=page.encode())


def content(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """All records of a topic with one partition."""
    partition = TopicPartition(topic, 0)
    with Consumer(bootstrap) as consumer:
        end = consumer.offsets_at({partition: -1})[partition]
        consumer.assign({partition: 0})
        found: list[tuple[bytes | None, bytes | None]] = []
        while len(found) < end:
            found += [(each.key, each.value) for each in consumer.poll(timeout_s=10)]
        return found


def started(bootstrap: str, kind: str, query: str, topic: str) -> SqlQuery:
    sink = SqlQuery()
    sink.clients = {"bootstrap.servers": bootstrap}
    sink.start({"sql.kind": kind, "sql.query": query, "sql.topic": topic})
    return sink


@pytest.mark.usefixtures("spark", "clicks")
def test_tables_and_views_follow_their_topic(bootstrap: str) -> None:
    table_query = "SELECT _key, upper(value:page::string) AS page FROM STREAM clicks"
    table = started(bootstrap, "streaming-table", table_query, "pages")
    view_query = "SELECT value:page::string AS _key, count(*) AS n FROM clicks GROUP BY 1"
    view = started(bootstrap, "materialized-view", view_query, "counts")
    produce(bootstrap, "a", "b", "a")
    # The last record is of another batch: a table has what its batch has, a view everything.
    for sink in (table, view):
        sink.commit([{SOURCE: 1}, {SOURCE: 0}], {SOURCE: 2}, 0)
    assert content(bootstrap, "pages") == [(b"a", b'{"page":"A"}'), (b"b", b'{"page":"B"}')]
    assert sorted(content(bootstrap, "counts"), key=str) == [
        (b"a", b'{"n":2}'),
        (b"b", b'{"n":1}'),
    ]
    # A batch that is repeated changes nothing in a view.
    view.commit([{SOURCE: 0}], {SOURCE: 2}, 0)
    assert len(content(bootstrap, "counts")) == 2
    # Rows that have changed are written, and those that are gone are deleted.
    with Admin(bootstrap) as admin:
        admin.delete_records({SOURCE: 2})
    produce(bootstrap, "c")
    view.commit([{SOURCE: 2}], {SOURCE: 4}, 1)
    assert sorted(content(bootstrap, "counts")[2:], key=str) == [
        (b"a", b'{"n":1}'),
        (b"b", None),
        (b"c", b'{"n":1}'),
    ]
    # Nothing is left in the session of a query that runs for ever.
    left = table._query._spark.sql("SHOW TABLES").collect()
    assert left == []
    for sink in (table, view):
        sink.stop()


@pytest.mark.usefixtures("spark", "clicks")
def test_a_query_that_cannot_run_fails_with_a_remedy(bootstrap: str) -> None:
    sink = started(bootstrap, "materialized-view", "SELECT nothing FROM clicks", "broken")
    with pytest.raises(SqlError, match="there is no column nothing"):
        sink.commit([{SOURCE: 2}], {SOURCE: 3}, 0)
    sink.stop()


def test_the_tasks_note_where_a_batch_begins() -> None:
    def batch(topic: str, partition: int, *offsets: int) -> pa.RecordBatch:
        rows = [{"topic": topic, "partition": partition, "offset": each} for each in offsets]
        return pa.RecordBatch.from_pylist(rows)

    batches = iter([batch("t", 0, 5, 6), batch("t", 1, 9), batch("t", 0, 7)])
    first = SqlQuery().write_arrow(batches, task=None)  # type: ignore[arg-type]
    assert first == {TopicPartition("t", 0): 5, TopicPartition("t", 1): 9}


def test_nothing_is_read_of_a_partition_in_which_a_batch_has_no_record(bootstrap: str) -> None:
    """It has moved over the end of a transaction, say, and records have come since."""
    zero, one, two = (TopicPartition("divided", each) for each in range(3))
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topic("divided", 3)
        for partition in (zero, one, two):
            for _ in range(4):
                producer.send("divided", b"{}", partition=partition.partition)
        producer.flush()
    stream = Relation(("divided",), Span(0, 1), Span(0, 1), is_stream=True)
    query = LivingQuery(SqlSettings(bootstrap), STREAMING_TABLE, "", "t")
    try:
        parsed = query._cut(Parsed("", None, "", (stream,)), {zero: 1}, {zero: 3, one: 2})
    finally:
        query.close()
    options = parsed.relations[0].options
    assert json.loads(options["startingOffsets"]) == {"divided": {"0": 1, "1": 2, "2": 4}}
    assert json.loads(options["endingOffsets"]) == {"divided": {"0": 3, "1": 2, "2": 4}}

"""A query of SQL that lives on: what CREATE STREAMING TABLE and CREATE MATERIALIZED VIEW make.

A sink of the topics that the query reads. The tasks only note which offsets a batch has; when it
is committed, the query runs on the driver and writes to the topic of the table, in the worker's
cluster and with its security settings. At least once.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.config.validators import ValidString
from moldau.connect.connector import ConfigProblem, SinkConnector, SinkTask
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import SinkRecord
from moldau.ids import TopicPartition
from moldau.spark.session import running_session

# SQL is a package beside this one and knows nothing of it; it is loaded when such a query is used.
_LIVING = "moldau.sql.living"
_SETTINGS = "moldau.sql.settings"

_PLACE = ["topic", "partition", "offset"]
_FIRST = [("offset", "min")]

First = dict[TopicPartition, int]


class SqlQuery(SinkConnector):
    """Runs a query on each batch."""

    config = (
        ConfigDef()
        .define(
            "sql.kind",
            Type.STRING,
            validator=ValidString("streaming-table", "materialized-view"),
            importance=Importance.HIGH,
            doc="A streaming table appends rows, a materialized view is computed again.",
        )
        .define("sql.query", Type.STRING, importance=Importance.HIGH, doc="The SELECT statement.")
        .define(
            "sql.topic",
            Type.STRING,
            importance=Importance.HIGH,
            doc="The topic of the table, which is made if it does not exist.",
        )
        .define(
            "sql.registry",
            Type.STRING,
            default=None,
            importance=Importance.LOW,
            doc="The schema registry of topics with Avro records.",
        )
    )
    takes_arrow = True

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        target = config.get("sql.topic", "")
        if target in [each.strip() for each in config.get("topics", "").split(",")]:
            message = f"sql.topic {target} is among the topics that the query reads: name another"
            return [ConfigProblem("sql.topic", message)]
        return []

    def start(self, config: Mapping[str, str]) -> None:
        clients = dict(self.clients)
        settings = importlib.import_module(_SETTINGS).SqlSettings(
            clients.pop("bootstrap.servers"), clients, config.get("sql.registry")
        )
        living = importlib.import_module(_LIVING)
        self._query = living.LivingQuery(
            settings, config["sql.kind"], config["sql.query"], config["sql.topic"]
        )
        self._query.make_topic()

    def write(self, records: Iterator[SinkRecord], task: SinkTask) -> First:
        first: First = {}
        for each in records:
            # Records that were read from a topic have a partition.
            assert each.partition is not None
            first.setdefault(TopicPartition(each.topic, each.partition), each.offset)
        return first

    def write_arrow(self, batches: Iterator[pa.RecordBatch], task: SinkTask) -> First:
        first: First = {}
        for batch in batches:
            places = (
                pa.Table.from_batches([batch.select(_PLACE)]).group_by(_PLACE[:2]).aggregate(_FIRST)
            )
            for topic, partition, offset in zip(*places.to_pydict().values(), strict=True):
                first.setdefault(TopicPartition(topic, partition), offset)
        return first

    def commit(
        self, messages: list[Any], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        starts: First = {}
        for message in messages:
            for partition, offset in message.items():
                starts[partition] = min(offset, starts.get(partition, offset))
        spark = running_session()
        if spark is None:
            raise ConnectError("there is no session of Spark in this process")
        self._query.run(spark, starts, offsets)

    def stop(self) -> None:
        query = getattr(self, "_query", None)
        if query is not None:
            query.close()

"""Reads the topics of an app with ``format("moldau")``, as streams or for lookups."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moldau.spark.errors import PipelineError
from moldau.streams.delivery import Delivery
from moldau.streams.topics import ledger_of
from moldau.streams.topology import Node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TopicInputs:
    """Reads from a cluster. ``options`` are those of the source, such as ``failOnDataLoss``.

    Options that start with ``kafka.`` also apply to tables. Starting offsets apply to users' topics
    only: an internal topic is always read from the beginning.
    """

    def __init__(
        self,
        spark: "SparkSession",
        bootstrap: str,
        *,
        group: str | None = None,
        options: Mapping[str, str] | None = None,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
    ) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._group = group
        self._options = dict(options or {})
        self._delivery = delivery

    def stream(self, node: Node) -> "DataFrame":
        """By default from the beginning of the topic, as in Kafka Streams."""
        reader = self._spark.readStream.format(self._format(node))
        reader = reader.option("startingOffsets", "earliest")
        if self._group is not None:
            reader = reader.option("groupId", self._group)
        options = {
            name: value
            for name, value in self._options.items()
            if not (node.is_internal and name.lower().startswith("starting"))
        }
        return reader.options(**{**self._common(node), **options}).load()

    def table(self, node: Node) -> "DataFrame":
        """The whole topic at the time a batch is planned."""
        return self._spark.read.format(self._format(node)).options(**self._common(node)).load()

    def _has_ledger(self, node: Node) -> bool:
        return node.is_internal and self._delivery.uses_ledgers

    def _format(self, node: Node) -> str:
        return "moldau-ledger" if self._has_ledger(node) else "moldau"

    def _common(self, node: Node) -> dict[str, str]:
        if node.topic is None:
            raise PipelineError(f"{node.name} reads no topic")
        connecting = {
            name: value for name, value in self._options.items() if name.startswith("kafka.")
        }
        ledger = {"ledger": ledger_of(node.topic)} if self._has_ledger(node) else {}
        return {
            **connecting,
            **ledger,
            "kafka.bootstrap.servers": self._bootstrap,
            "subscribe": node.topic,
            "includeHeaders": "true",
        }

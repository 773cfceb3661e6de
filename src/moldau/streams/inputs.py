"""The topics of an app as Spark reads them: ``format("moldau")``, streamed or looked up."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moldau.spark.errors import PipelineError
from moldau.streams.topology import Node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TopicInputs:
    """Reads from a cluster. ``options`` are those of the source, such as ``failOnDataLoss``.

    Those that begin with ``kafka.`` say how to reach the cluster, and hold for tables as well.
    """

    def __init__(
        self,
        spark: "SparkSession",
        bootstrap: str,
        *,
        group: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._group = group
        self._options = dict(options or {})

    def stream(self, node: Node) -> "DataFrame":
        """From the beginning of the topic on, as Kafka Streams does by default."""
        reader = self._spark.readStream.format("moldau").option("startingOffsets", "earliest")
        if self._group is not None:
            reader = reader.option("groupId", self._group)
        return reader.options(**{**self._common(node), **self._options}).load()

    def table(self, node: Node) -> "DataFrame":
        """All of the topic as it is when a batch is planned."""
        return self._spark.read.format("moldau").options(**self._common(node)).load()

    def _common(self, node: Node) -> dict[str, str]:
        if node.topic is None:
            raise PipelineError(f"{node.name} reads no topic")
        connecting = {
            name: value for name, value in self._options.items() if name.startswith("kafka.")
        }
        return {
            **connecting,
            "kafka.bootstrap.servers": self._bootstrap,
            "subscribe": node.topic,
            "includeHeaders": "true",
        }

"""Topics as temporary views of a Spark session.

A view is made anew for every statement that names its topic. Spark asks a source for its offsets
only once, so the view of an earlier statement would not show what was written since; and the format
of the topic may have changed.
"""

import hashlib
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # as everybody imports it

from moldau.sql.settings import SqlSettings
from moldau.sql.statements import quoted
from moldau.sql.tables import METADATA, VALUE, TopicTable, key_sql, value_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


class TopicViews:
    """The views that were made in one session."""

    def __init__(self, spark: "SparkSession", settings: SqlSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._made: set[str] = set()

    def make(
        self,
        table: TopicTable,
        options: "Mapping[str, str] | None" = None,
        *,
        is_stream: bool = False,
        is_renamed: bool = False,
    ) -> str:
        """Make the view of a topic, or make it again, and return its name.

        It is the topic's own name, unless ``is_renamed``, or there are ``options``, or it is a
        stream.
        """
        given = dict(options or {})
        name = table.topic
        if given or is_stream or is_renamed:
            facts = repr((table.topic, is_stream, sorted(given.items())))
            name = f"{table.topic}@{hashlib.sha256(facts.encode()).hexdigest()[:8]}"
        self.frame(table, given, is_stream=is_stream).createOrReplaceTempView(quoted(name))
        # Spark's names of views do not depend on case, those of topics do.
        self._made.add(name.lower())
        return name

    def drop(self) -> None:
        """Drop all views: a query that runs for ever would collect one for each batch."""
        for name in self._made:
            self._spark.catalog.dropTempView(name)
        self._made.clear()

    def is_made(self, name: str) -> bool:
        """Whether a view of this name was made of a topic."""
        return name.lower() in self._made

    def frame(
        self, table: TopicTable, options: "Mapping[str, str]", *, is_stream: bool
    ) -> "DataFrame":
        """The records of a topic as a table."""
        reader: Any = self._spark.readStream if is_stream else self._spark.read
        reader = reader.format("moldau").options(
            **{
                **self._settings.source_options(),
                "subscribe": table.topic,
                "columns": "key,value,partition,offset,timestamp,headers",
                **options,
            }
        )
        return _select(reader.load(), table, self._settings.registry)


def _select(records: "DataFrame", table: TopicTable, registry: str | None) -> "DataFrame":
    if registry is None or (table.key_schema is None and table.value_schema is None):
        return records.selectExpr(*_expressions(table))
    key = F.expr(key_sql(table.key.encoding))
    if table.key_schema is not None:
        key = _avro("key", table, table.key_schema, registry)
    metadata = [
        key.alias(METADATA[0]),
        *(F.col(each.removeprefix("_")).alias(each) for each in METADATA[1:]),
    ]
    schema = table.value_schema
    if schema is None:
        return records.select(*metadata, F.expr(value_sql(table.value.encoding)).alias(VALUE))
    value = _avro("value", table, schema, registry)
    if not (isinstance(schema.schema, dict) and schema.schema.get("type") == "record"):
        return records.select(*metadata, value.alias(VALUE))
    return records.select(*metadata, value.alias(VALUE)).select(*METADATA, f"{VALUE}.*")


def _expressions(table: TopicTable) -> list[str]:
    """The columns as SQL: one call to Java, not several for each function and each name."""
    return [
        f"{key_sql(table.key.encoding)} AS {METADATA[0]}",
        *(f"`{each.removeprefix('_')}` AS {each}" for each in METADATA[1:]),
        f"{value_sql(table.value.encoding)} AS {VALUE}",
    ]


def _avro(column: str, table: TopicTable, schema: Any, registry: str) -> Any:
    from moldau.sql.avro_values import decoded

    return decoded(column, f"{column} of {table.topic}", registry, schema.id, schema.schema)

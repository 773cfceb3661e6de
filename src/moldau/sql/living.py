"""Queries that live on in a Connect worker: streaming tables and materialized views.

The worker reads the topics of the query in batches and keeps the progress; this module computes
what a batch means for the table's topic.

* A *streaming table* runs its query on the records of the batch alone, and appends the rows. So
  the query must treat each record by itself: aggregates belong into a view.
* A *materialized view* computes its query again on everything that is there, compares the rows with
  the table's topic, and writes what has changed: new rows, and tombstones for those that are gone.
  Its topic is compacted. The key of a row is its column ``_key``, or else the whole row.

Both are at least once: after a crash the batch is computed again. For a view that changes nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from moldau.client.admin import Admin
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.sql import inserting
from moldau.sql.as_of import offsets_option
from moldau.sql.diagnosis import Context, diagnose
from moldau.sql.errors import Span, SqlError
from moldau.sql.plan import Parsed, parse
from moldau.sql.resolving import Resolver
from moldau.sql.rewriting import Rewritten
from moldau.sql.sessions import activate, new_session
from moldau.sql.settings import SqlSettings
from moldau.sql.topics import TopicCatalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STREAMING_TABLE: Final = "streaming-table"
MATERIALIZED_VIEW: Final = "materialized-view"
# Nodes of a plan that look at more than one record.
_OVER_RECORDS: Final = (
    "Aggregate",
    "Distinct",
    "Sort",
    "GlobalLimit",
    "UnresolvedHaving",
    "Window",
)

Offsets = Mapping[TopicPartition, int]


def check_query(parsed: Parsed, kind: str, analyzed: Any) -> None:
    """Refuse a query that cannot live on; ``analyzed`` is its plan after Spark's analysis.

    Raises:
        SqlError: a streaming table does not read exactly one stream, or looks at several records.
    """
    if kind != STREAMING_TABLE:
        return
    streams = [each for each in parsed.relations if each.is_stream]
    if not parsed.relations:
        raise SqlError("a streaming table reads a topic", "write FROM STREAM t", Span(0, 6))
    if len(streams) != 1:
        raise SqlError(
            f"a streaming table reads one stream, and this query {len(streams) or 'none'}",
            "write FROM STREAM t once; a materialized view may join topics",
            streams[1].span if len(streams) > 1 else parsed.relations[0].span,
        )
    if _looks_at_several(analyzed):
        raise SqlError(
            "a streaming table treats each record by itself, without aggregates, sorting or LIMIT",
            "write CREATE MATERIALIZED VIEW ... FROM t, without STREAM",
            streams[0].span,
        )


def _looks_at_several(node: Any) -> bool:
    if node.nodeName() in _OVER_RECORDS:
        return True
    children = node.children()
    return any(_looks_at_several(children.apply(i)) for i in range(children.size()))


class LivingQuery:
    """One such query, in the process that has the Spark session."""

    def __init__(self, settings: SqlSettings, kind: str, query: str, topic: str) -> None:
        self._settings = settings
        self._kind = kind
        self._query = query
        self._topic = topic
        self._catalog = TopicCatalog(settings)
        self._spark: SparkSession | None = None

    def make_topic(self) -> None:
        """Make the table's topic if there is none; that of a view is compacted."""
        configs = {"cleanup.policy": "compact"} if self._kind == MATERIALIZED_VIEW else {}
        security = self._settings.parsed_security()
        with Admin(self._settings.bootstrap, security=security) as admin:
            try:
                admin.create_topic(self._topic, configs=configs)
            except ApiError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise

    def run(self, running: "SparkSession", starts: Offsets, ends: Offsets) -> int:
        """Do what a batch of the records from ``starts`` to ``ends`` means.

        Returns the number of records that were written.

        Raises:
            SqlError: the query cannot run any more.
        """
        from pyspark.errors import AnalysisException

        if self._spark is None:
            self._spark = new_session(running)
            self._resolver = Resolver(self._spark, self._settings, self._catalog)
        activate(self._spark)
        try:
            return self._run(self._spark, self._resolver, starts, ends)
        except AnalysisException as error:
            # A topic or a column that is gone: no retry can fix it.
            rewritten = Rewritten(self._query, self._query)
            raise diagnose(error, Context(rewritten)) from error
        finally:
            self._resolver.views.drop()

    def _run(
        self, spark: "SparkSession", resolver: Resolver, starts: Offsets, ends: Offsets
    ) -> int:
        resolver.begin()
        parsed = parse(spark, self._query)
        if self._kind == STREAMING_TABLE:
            parsed = self._cut(parsed, starts, ends)
        frame = spark.sql(resolver.with_views(parsed).text)
        if self._kind == STREAMING_TABLE:
            return inserting.write(frame, self._topic, self._settings)
        return inserting.write_records(self._changes(frame), self._topic, self._settings)

    def close(self) -> None:
        self._catalog.close()

    def _cut(self, parsed: Parsed, starts: Offsets, ends: Offsets) -> Parsed:
        """The query on a part of its stream."""
        relations = []
        for relation in parsed.relations:
            if relation.is_stream:
                # Every partition has to be named; nothing is read of those without new records.
                there = self._catalog.partitions(relation.name)
                until = {**self._catalog.latest(there), **ends}
                options = {
                    "startingOffsets": offsets_option(
                        relation.name, {each: starts.get(each, until[each]) for each in there}
                    ),
                    "endingOffsets": offsets_option(
                        relation.name, {each: until[each] for each in there}
                    ),
                }
                relation = replace(relation, is_stream=False, options=options)
            relations.append(relation)
        return replace(parsed, relations=tuple(relations))

    def _changes(self, frame: "DataFrame") -> "DataFrame":
        """The records that make the table's topic equal to the rows of ``frame``."""
        from pyspark.sql import functions as F  # as everybody imports it

        assert self._spark is not None
        rows = inserting.records(frame)
        value = F.col("value").cast("string")
        key = F.col("key").cast("string") if "key" in rows.columns else value
        now = rows.select(key.alias("key"), value.alias("value")).dropDuplicates(["key"])
        reader = self._spark.read.format("moldau").options(
            **self._settings.source_options(),
            subscribe=self._topic,
            columns="key,value,partition,offset",
        )
        before = (
            reader.load()
            .groupBy(F.col("key").cast("string").alias("key"))
            .agg(F.expr("max_by(cast(value AS STRING), offset)").alias("before"))
            .where("before IS NOT NULL")
        )
        joined = now.join(before, "key", "full_outer")
        return joined.where("NOT (value <=> before)").select("key", "value")

"""Finds the topics that a statement names, and makes them views that Spark can find.

Names of the user's own views come first, then topics, then files (``parquet.`path```). A relation
with STREAM, AS OF or WITH (...) becomes a view with a name of its own, which replaces it in the
statement.
"""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from moldau.sql.as_of import check_moment, offsets_option, version_cut
from moldau.sql.errors import Span, SqlError, nearest
from moldau.sql.plan import Parsed, Relation
from moldau.sql.registry import SchemaLookup
from moldau.sql.rewriting import Replacement, Rewritten, rewrite
from moldau.sql.settings import SqlSettings
from moldau.sql.statements import quoted, shown
from moldau.sql.tables import TopicTable, table_of
from moldau.sql.topics import TopicCatalog
from moldau.sql.views import TopicViews

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES: Final = ("parquet", "csv", "json", "orc", "text", "binaryfile", "avro", "delta")


@dataclass(frozen=True)
class Recipe:
    """How the view of a topic was made, so that it can be made again."""

    topic: str
    options: dict[str, str] = field(default_factory=dict)
    is_stream: bool = False
    is_renamed: bool = False


class Resolver:
    """The topics of one session as views."""

    def __init__(self, spark: "SparkSession", settings: SqlSettings, catalog: TopicCatalog) -> None:
        self._spark = spark
        self._settings = settings
        self._catalog = catalog
        self._registry = None if settings.registry is None else SchemaLookup(settings.registry)
        self.views = TopicViews(spark, settings)
        # The formats of the topics that the current statement names.
        self.tables: dict[str, TopicTable] = {}
        # For each view of the user, the views that it reads.
        self._users: dict[str, list[Recipe]] = {}

    def begin(self) -> None:
        """A new statement begins: forget what the last one has found out."""
        self.tables = {}

    def table(self, topic: str) -> TopicTable:
        """A topic with its formats, as they are now."""
        if topic not in self.tables:
            self.tables[topic] = table_of(topic, self._catalog.samples(topic), self._registry)
        return self.tables[topic]

    def is_users(self, relation: Relation) -> bool:
        """Whether it is a view of the user, not one that was made of a topic."""
        if len(relation.parts) > 1 or self.views.is_made(relation.name):
            return False
        session: Any = self._spark._jsparkSession
        return bool(session.sessionState().catalog().getTempView(relation.name).isDefined())

    def user_views(self) -> list[str]:
        """The names of the user's views."""
        found = self._spark.sql("SHOW TABLES").collect()
        return [each.tableName for each in found if not self.views.is_made(each.tableName)]

    def check_topic(self, name: str, names: list[str], span: Span) -> str:
        """Return the name if there is such a topic.

        Raises:
            SqlError: there is none; says which one may be meant.
        """
        if name in names:
            return name
        close = nearest(name, [*names, *self.user_views()])
        remedy = f"did you mean {shown(close)}?" if close else "SHOW TOPICS lists them"
        if all(each.startswith("__") for each in names):
            remedy = "there are none yet; moldau topics create makes one"
        raise SqlError(f"there is no topic {shown(name)}", remedy, span)

    def with_views(self, parsed: Parsed) -> Rewritten:
        """Make the views of the topics that a statement names, and name them in it.

        Raises:
            SqlError: there is no such topic, or not at that time.
        """
        if not parsed.relations:
            return Rewritten(parsed.text, parsed.text)
        names = self._catalog.names()
        replacements: set[Replacement] = set()
        recipes: list[Recipe] = []
        spelled: dict[str, str] = {}
        for relation in parsed.relations:
            if self.is_users(relation):
                again = self._users.get(relation.name.lower(), [])
                for each in again:
                    self._make(each)
                recipes += again
                continue
            if _is_file(relation) and relation.name not in names:
                replacements |= self._absolute(relation)
                continue
            topic = self.check_topic(relation.name, names, relation.name_span)
            first = spelled.setdefault(topic.lower(), topic)
            options = self._options(topic, relation)
            recipes.append(Recipe(topic, options, relation.is_stream, first != topic))
            view = self._make(recipes[-1])
            if view != relation.name or len(relation.parts) > 1:
                alias = f" AS {quoted(topic)}" if relation.can_have_alias else ""
                replacements.add(Replacement(relation.span, f"{quoted(view)}{alias}"))
        if parsed.kind == "CreateViewCommand":
            self._users[str(parsed.root.name().table()).lower()] = recipes
        return rewrite(parsed.text, replacements)

    def _make(self, recipe: Recipe) -> str:
        return self.views.make(
            self.table(recipe.topic),
            recipe.options,
            is_stream=recipe.is_stream,
            is_renamed=recipe.is_renamed,
        )

    def _options(self, topic: str, relation: Relation) -> dict[str, str]:
        as_of = relation.as_of
        if as_of is None:
            return relation.options
        partitions = self._catalog.partitions(topic)
        starts, ends = self._catalog.earliest(partitions), self._catalog.latest(partitions)
        if as_of.version is not None:
            cut = version_cut(topic, as_of, starts, ends)
        else:
            assert as_of.timestamp is not None
            moment_ms = self._moment_ms(as_of.timestamp, as_of.span)
            cut = self._catalog.first_after(partitions, moment_ms)
            first_ms = self._catalog.first_timestamp_ms(partitions)
            check_moment(topic, moment_ms, starts, cut, first_ms, as_of.span)
        return {**relation.options, "endingOffsets": offsets_option(topic, cut)}

    def _moment_ms(self, expression: str, span: Span) -> int:
        row = self._spark.sql(f"SELECT unix_millis(try_cast(({expression}) AS TIMESTAMP))").first()
        if row is None or row[0] is None:
            raise SqlError(
                f"TIMESTAMP AS OF {expression} is no time",
                "write one as '2026-01-31 12:00:00'",
                span,
            )
        return int(row[0])

    def _absolute(self, relation: Relation) -> set[Replacement]:
        """The process that runs the query may be in another directory than the user."""
        kind, path = relation.parts
        if "://" in path or path.startswith(("/", "file:")):
            return set()
        absolute = os.path.join(self._settings.directory, path)
        return {Replacement(relation.span, f"{kind}.{quoted(absolute)}")}


def _is_file(relation: Relation) -> bool:
    return len(relation.parts) == 2 and relation.parts[0].lower() in _FILES

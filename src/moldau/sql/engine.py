"""Runs statements in one session of Spark, with the topics of one cluster as tables."""

import itertools
import threading
from typing import TYPE_CHECKING, Any, Final

from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError
from moldau.spark.errors import PipelineError
from moldau.sql import commands, describing, inserting, schema_offer
from moldau.sql.causes import explainable
from moldau.sql.diagnosis import Context, diagnose
from moldau.sql.errors import CANCELLED, Cancelled, Span, SqlError
from moldau.sql.formats import Encoding
from moldau.sql.hints import check_ksqldb, check_whole
from moldau.sql.plan import Parsed, named_relation, parse
from moldau.sql.refusals import check_allowed
from moldau.sql.rendering import as_text, columns_of, pieces
from moldau.sql.resolving import Resolver
from moldau.sql.results import Cells, Column, Form, Sink
from moldau.sql.rewriting import Rewritten
from moldau.sql.settings import SqlSettings
from moldau.sql.statements import shown, words
from moldau.sql.streaming import StreamRun
from moldau.sql.topics import TopicCatalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Statements about one relation, which their plan has as the first child.
_ABOUT_ONE: Final = ("DescribeRelation", "ShowColumns", "ShowCreateTable")
_LIVE_ON: Final = ("CreateStreamingTableAsSelect", "CreateMaterializedViewAsSelect")
_query_ids = itertools.count(1)


class SqlSession:
    """The session of one user: its views, variables and settings. Not for several threads at once.

    ``begin`` and ``cancel`` may be called from another thread, which is the same for both.
    """

    def __init__(self, spark: "SparkSession", settings: SqlSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._catalog = TopicCatalog(settings)
        self._resolver = Resolver(spark, settings, self._catalog)
        self._cancelled = threading.Event()
        self._job_group = ""
        # The statement that runs as Spark gets it.
        self._rewritten = Rewritten("", "")
        if settings.time_zone:
            spark.conf.set("spark.sql.session.timeZone", settings.time_zone)

    def begin(self) -> None:
        """A statement will be run: ``cancel`` is about this one from now on."""
        self._job_group = f"moldau-sql-{next(_query_ids)}"
        self._cancelled.clear()

    def run(self, statement: str, form: Form, sink: Sink) -> None:
        """Run the statement that was begun and pass its result to ``sink``.

        Raises:
            SqlError: it is wrong, failed, or was cancelled.
        """
        self._rewritten = Rewritten(statement, statement)
        self._resolver.begin()
        context = self._spark.sparkContext
        context.setJobGroup(self._job_group, "moldau sql", interruptOnCancel=True)
        try:
            self._run(statement, form, sink)
        except SqlError:
            raise
        except Exception as error:
            if self._cancelled.is_set():
                raise Cancelled(CANCELLED) from None
            raise self._explained(error) from error
        if self._cancelled.is_set():
            raise Cancelled("Ctrl-C came too late: the statement has ended")

    def cancel(self) -> None:
        """End the statement that runs, from another thread."""
        self._cancelled.set()
        # It may still be planned: its first job must not start either.
        context: Any = self._spark.sparkContext._jsc.sc()
        context.cancelJobGroupAndFutureJobs(self._job_group)

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled(CANCELLED)

    def close(self) -> None:
        self._catalog.close()

    # For completion.

    def topics(self) -> list[str]:
        return self._catalog.names(include_internal=False)

    def columns(self, topic: str) -> list[str]:
        """The columns of a topic; none if there is no such topic."""
        if topic not in self._catalog.names():
            return []
        self._resolver.begin()
        table = self._resolver.table(topic)
        return list(self._resolver.views.frame(table, {}, is_stream=False).columns)

    def fields(self, topic: str) -> list[str]:
        """The fields of the JSON values of a topic, which are named behind ``value:``."""
        if topic not in self._catalog.names():
            return []
        found = schema_offer.fields_of(self._catalog.samples(topic).values)
        return [".".join(each) for each in found]

    def functions(self) -> list[str]:
        """The names of Spark's functions."""
        session: Any = self._spark._jsparkSession
        names = session.sessionState().functionRegistry().listFunction().mkString(",")
        found = (each.strip("`").rpartition(".")[2] for each in names.split(","))
        return sorted({each for each in found if each.isidentifier()})

    def _explained(self, error: Exception) -> SqlError:
        if isinstance(error, ConnectionFailed):
            return SqlError(str(error), "--bootstrap-server selects another cluster")
        if isinstance(error, ApiError | PipelineError):
            return SqlError(str(error))
        variants = (Encoding.JSON, Encoding.EMPTY)
        tables = self._resolver.tables.values()
        return diagnose(
            explainable(error),
            Context(
                self._rewritten,
                tuple(each.topic for each in tables if each.value.encoding in variants),
                tuple(each.topic for each in tables if each.value.encoding not in variants),
                self.functions,
                lambda: [name for each in list(tables) for name in self.fields(each.topic)],
            ),
        )

    def _run(self, statement: str, form: Form, sink: Sink) -> None:
        check_ksqldb(statement)
        check_whole(statement)
        own = commands.command(statement)
        if isinstance(own, commands.Help):
            sink.note(commands.HELP)
        elif isinstance(own, commands.ShowTopics):
            self._show_topics(own, sink)
        elif isinstance(own, commands.SuggestSchema):
            self._suggest(own.topic, own.span, sink)
        else:
            self._run_parsed(parse(self._spark, statement), form, sink)

    def _run_parsed(self, parsed: Parsed, form: Form, sink: Sink) -> None:
        check_allowed(parsed)
        if parsed.kind == "ShowTables":
            self._show_tables(parsed, sink)
        elif parsed.kind in _ABOUT_ONE and self._describe(parsed, sink):
            return
        elif parsed.kind == "InsertIntoStatement":
            self._insert(parsed, sink)
        elif parsed.kind in _LIVE_ON:
            self._hand_over(parsed, sink)
        else:
            self._check_new_name(parsed)
            self._rewritten = self._resolver.with_views(parsed)
            self._show(self._spark.sql(self._rewritten.text), parsed, form, sink)

    def _show(self, frame: "DataFrame", parsed: Parsed, form: Form, sink: Sink) -> None:
        if not frame.columns:
            sink.note("done")
        elif frame.isStreaming:
            StreamRun(frame, form, sink, _limit(parsed)).run(self._cancelled)
        else:
            self._show_rows(frame, form, sink)
        if frame.columns:
            # Rows may be missing.
            self._check_cancelled()

    def _show_rows(self, frame: "DataFrame", form: Form, sink: Sink) -> None:
        has_columns = form is Form.JSON
        for piece in itertools.chain(pieces(as_text(frame, form)), [[]]):
            if self._cancelled.is_set():
                return
            # Not before the first rows: a query that fails has no columns either.
            if not has_columns:
                sink.columns(columns_of(frame))
                has_columns = True
            if form is Form.JSON:
                sink.lines([row[0] for row in piece])
            else:
                sink.rows([tuple(row) for row in piece])

    # What is there.

    def _show_topics(self, wanted: commands.ShowTopics, sink: Sink) -> None:
        topics = {each.name: each for each in self._catalog.topics()}
        rows: list[Cells] = [
            (name, str(len(topics[name].partitions))) for name in wanted.matching(topics)
        ]
        sink.columns([Column("topic"), Column("partitions", is_number=True)])
        sink.rows(rows)

    def _show_tables(self, parsed: Parsed, sink: Sink) -> None:
        """Topics, and the views of the session."""
        pattern = parsed.root.pattern()
        wanted = commands.ShowTopics(pattern.get() if pattern.isDefined() else "*")
        names = self._catalog.names(include_internal=False)
        rows: list[Cells] = [(each, "topic") for each in wanted.matching(names)]
        rows += [(each, "view") for each in wanted.matching(self._resolver.user_views())]
        sink.columns([Column("name"), Column("kind")])
        sink.rows(rows)

    def _describe(self, parsed: Parsed, sink: Sink) -> bool:
        """Describe a topic; returns False if the statement names a view of the user."""
        relation = named_relation(parsed.root.children().apply(0), parsed.text)
        if self._resolver.is_users(relation):
            return False
        topic = self._resolver.check_topic(relation.name, self._catalog.names(), relation.span)
        if parsed.kind == "ShowCreateTable":
            self._suggest(topic, relation.span, sink)
            return True
        table = self._resolver.table(topic)
        schema = self._resolver.views.frame(table, {}, is_stream=False).schema
        rows = describing.description(schema, table)
        if parsed.kind == "ShowColumns":
            sink.columns([Column("column")])
            sink.rows([(each[0],) for each in rows])
            return True
        sink.columns([Column("column"), Column("type"), Column("meaning")])
        sink.rows(rows)
        note = describing.remark(table)
        if note is not None:
            sink.note(note)
        return True

    def _suggest(self, topic: str, span: Span, sink: Sink) -> None:
        self._resolver.check_topic(topic, self._catalog.names(), span)
        statement = schema_offer.offer(topic, self._catalog.samples(topic).values)
        if statement is None:
            raise SqlError(
                f"no record of {topic} that was looked at is a JSON object",
                f"DESCRIBE {shown(topic)} shows what they are",
                span,
            )
        sink.columns([Column("statement")])
        sink.rows([(f"{statement};",)])

    def _check_new_name(self, parsed: Parsed) -> None:
        """Refuse a view with the name of a topic: nobody could tell which one is meant."""
        if parsed.kind != "CreateViewCommand":
            return
        name = str(parsed.root.name().table())
        if name.lower() in {each.lower() for each in self._catalog.names()}:
            place = next(e.span for e in words(parsed.text) if e.name.lower() == name.lower())
            raise SqlError(f"{shown(name)} is a topic", "choose another name for the view", place)

    # Writing.

    def _insert(self, parsed: Parsed, sink: Sink) -> None:
        target = named_relation(parsed.root.table(), parsed.text)
        topic = self._resolver.check_topic(target.name, self._catalog.names(), target.span)
        if parsed.root.overwrite():
            raise SqlError("a topic cannot be overwritten", "write INSERT INTO", target.span)
        table = self._resolver.table(topic)
        if table.value_schema is not None or table.value.encoding is Encoding.AVRO:
            raise SqlError(
                f"the values of {shown(topic)} are Avro, and INSERT writes JSON or text",
                "insert into another topic",
                target.span,
            )
        self._rewritten = self._resolver.with_views(parsed)
        again = parse(self._spark, self._rewritten.text)
        named = again.root.userSpecifiedCols()
        names = [str(named.apply(i)) for i in range(named.size())]
        frame = self._frame(again.root.query(), again)
        if frame.isStreaming:
            raise SqlError(
                "INSERT would never end, because a stream does not",
                "write CREATE STREAMING TABLE t AS SELECT ... FROM STREAM s",
                target.span,
            )
        inserting.check_columns(frame.columns, names, target.span)
        if names:
            frame = frame.toDF(*names)
        self._check_cancelled()
        try:
            count = inserting.write(frame, topic, self._settings)
        except Exception:
            if self._cancelled.is_set():
                raise Cancelled(f"cancelled: {topic} may have some of the records") from None
            raise
        sink.note(f"{count} {'record' if count == 1 else 'records'} written to {topic}")

    def _frame(self, query: Any, parsed: Parsed) -> "DataFrame":
        """The query of a statement, with the common table expressions in front of it."""
        from pyspark.sql import DataFrame

        jvm: Any = self._spark._jvm
        plan = query
        if parsed.plan.nodeName() == "UnresolvedWith":
            children = jvm.PythonUtils.toSeq([query])
            plan = parsed.plan.withNewChildren(children)
        dataset = jvm.org.apache.spark.sql.classic.Dataset
        return DataFrame(dataset.ofRows(self._spark._jsparkSession, plan), self._spark)

    def _hand_over(self, parsed: Parsed, sink: Sink) -> None:
        from moldau.sql.handing_over import hand_over

        # What is wrong with the query is found now, not later in the worker.
        self._rewritten = self._resolver.with_views(parsed)
        again = parse(self._spark, self._rewritten.text)
        frame = self._frame(again.root.children().apply(1), again)
        self._check_cancelled()
        sink.note(hand_over(parsed, frame, self._settings, self._catalog.cluster_id()))


def _limit(parsed: Parsed) -> int | None:
    """The number of rows after which a stream with LIMIT ends."""
    if parsed.root.nodeName() != "GlobalLimit":
        return None
    text = str(parsed.root.limitExpr().sql())
    return int(text) if text.isdigit() else None

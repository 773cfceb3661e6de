"""An application: a name, a topology, and the queries that compute it.

    from moldau.streams import STRING, App, Json

    app = App("shop", bootstrap="localhost:9092")
    orders = app.stream("orders", key=STRING, value=Json("customer string, amount double"))
    orders.filter(lambda value: value.amount > 1000).to("large-orders")

    if __name__ == "__main__":
        app.run()

Everything but ``run`` and ``test`` works without Spark. A run creates missing topics, starts a
query for each sink and each cut, and continues from the checkpoints of the last run.
"""

import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moldau.client.admin import Admin
from moldau.client.security import Security, parse_security
from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.streams import resetting, status
from moldau.streams.checkpoints import default_checkpoint_dir, local_path
from moldau.streams.delivery import Delivery
from moldau.streams.description import describe_queries, dot_graph
from moldau.streams.inputs import TopicInputs
from moldau.streams.progress_view import Report
from moldau.streams.queries import Query, plan_queries
from moldau.streams.queryable import AppTable, TableReader, written_serdes
from moldau.streams.run_claim import RunClaim
from moldau.streams.stream import Stream
from moldau.streams.table import Table
from moldau.streams.topology import Node, Topology

if TYPE_CHECKING:
    from moldau.streams.serdes import Serde
    from moldau.streams.testing import Row
    from moldau.streams.watching import OnProgress

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


class App:
    """A streaming application. Its checkpoints are found by its name: do not change it."""

    def __init__(
        self,
        name: str,
        *,
        bootstrap: str = "localhost:9092",
        security: Mapping[str, str] | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        delivery: str = "at_least_once",
        source_options: Mapping[str, str] | None = None,
        sink_options: Mapping[str, str] | None = None,
    ) -> None:
        """``checkpoint_dir`` has a directory per app; the default is in the user's data directory.

        ``security`` has Kafka's settings for a secured cluster, ``security.protocol``, ``ssl.*``
        and ``sasl.*``, for all connections of the app.
        ``delivery`` is ``at_least_once``, or ``exactly_once`` if the brokers support transactions.
        ``source_options`` and ``sink_options`` are those of ``format("moldau")``.

        Raises:
            PipelineError: the name or the delivery is invalid.
        """
        if not _NAME.fullmatch(name):
            raise PipelineError(
                f"an app cannot be called {name!r}: letters, digits and . _ - are allowed, "
                "for its name is part of topics and directories"
            )
        self.name = name
        self.bootstrap = bootstrap
        self.security = dict(security or {})
        self.checkpoint_dir = os.fspath(checkpoint_dir or default_checkpoint_dir(os.environ))
        self.delivery = Delivery.parse(delivery)
        self.source_options = dict(source_options or {})
        self.sink_options = dict(sink_options or {})
        self.topology = Topology()
        self.topology.inputs = self._inputs
        self.stopping = threading.Event()
        self._tables: dict[tuple[str, int, int], AppTable] = {}

    def stream(self, topic: str, **how: Any) -> Stream:
        """The records of a topic; ``how`` as for ``Stream.source``: key, value, on_error, ..."""
        return Stream.source(self.topology, topic, **how)

    def table(
        self, name: str, *, key: "Serde | None" = None, value: "Serde | None" = None, **how: Any
    ) -> AppTable:
        """A compacted topic as a table, for operators and lookups: ``table("totals").get(key)``.

        ``name`` is a topic, or an operator of this app whose table is written to one. The default
        serdes are those that the app writes the topic with, or else those of ``Table.source``.

        Raises:
            PipelineError: the app writes the topic without naming the serdes, and none are given.
        """
        sink = self._sink_of(name)
        topic = name if sink is None or sink.topic is None else sink.topic
        if sink is not None and (key is None or value is None):
            known = written_serdes(sink)
            if known is None:
                raise PipelineError(
                    f"{self.name} writes {topic} without naming its serdes: name them there, in "
                    f".to(...), or here, as in app.table({name!r}, key=STRING, value=LONG)"
                )
            key, value = key or known[0], value or known[1]
        given = {"key": key, "value": value}
        how |= {each: serde for each, serde in given.items() if serde is not None}
        which = (topic, id(key), id(value))
        if which not in self._tables:
            made = Table.source(self.topology, topic, **how)
            self._tables[which] = AppTable(
                self.topology, made.node, None, lambda: self._reader(made.node)
            )
        return self._tables[which]

    def queries(self) -> list[Query]:
        """The queries that a run starts, in the order in which data flows.

        Raises:
            PipelineError: the app writes nothing.
        """
        return plan_queries(self.topology, self.name)

    def describe(self, *, dot: bool = False) -> str:
        """The topology as text, or as a Graphviz graph; does not start Spark."""
        queries = self.queries()
        return dot_graph(self.name, queries) if dot else describe_queries(self.name, queries)

    def run(
        self,
        *,
        master: str | None = None,
        config: Mapping[str, str] | None = None,
        trigger: str | None = None,
        once: bool = False,
        report: str = "auto",
        interval_s: float | None = None,
        on_progress: "OnProgress | None" = None,
        debug: bool = False,
        patience_s: float | None = None,
    ) -> None:
        """Run until Ctrl-C, SIGTERM, ``stop`` or a failure, and show the progress.

        ``master`` and ``config`` are for the Spark session. ``trigger`` is how often a batch starts
        (``"5 seconds"``), by default immediately; with ``once`` the run ends when all existing
        records are processed. ``report`` is auto, table, lines, json or none, every ``interval_s``.
        If brokers are unavailable the run waits for up to ``patience_s`` (None: without limit).

        Raises:
            PipelineError: an error that the user can fix, in one line; with ``debug`` Spark's own
                exception is raised.
        """
        from moldau.streams.running import RunOptions, run_app

        options = RunOptions(
            master=master,
            config=dict(config or {}),
            trigger=trigger,
            once=once,
            report=Report(report),
            interval_s=interval_s,
            debug=debug,
            patience_s=patience_s,
        )
        run_app(self, options, on_progress)

    def stop(self) -> None:
        """Make ``run`` return, from another thread; the current batches are completed first."""
        self.stopping.set()

    def test(
        self, rows: "Mapping[str, Iterable[Row]]", *, rows_per_batch: int | None = None
    ) -> dict[str, list[tuple[Any, Any]]]:
        """Return what the app writes to each topic when it reads ``rows``; needs no broker.

        An input row is ``(key, value)`` or ``(key, value, timestamp)`` in plain Python, an output
        row ``(key, value)``; bytes are used unchanged. All rows of a topic are one micro-batch
        unless ``rows_per_batch`` is given.

        Raises:
            PipelineError: an error that the user can fix, in one line.
        """
        from moldau.spark import readable_errors, session
        from moldau.spark.session import running_session
        from moldau.streams.testing import run_test

        queries = self.queries()
        spark = session(self.name, master=None if running_session() else "local[2]")
        with readable_errors():
            return run_test(spark, queries, rows, rows_per_batch=rows_per_batch)

    def status(self) -> status.AppStatus:
        """The progress of the queries, from their checkpoints and the end offsets of topics."""
        with pipeline_errors(), self.admin() as admin:
            return status.read_status(admin, self.name, self.local_folder(), self.queries())

    def plan_reset(self) -> resetting.ResetPlan:
        """What ``reset`` would delete."""
        with pipeline_errors(), self.admin() as admin:
            return resetting.plan_reset(admin, self.name, self.local_folder(), self.queries())

    def reset(self) -> None:
        """Delete progress and state: the next run starts from the beginning.

        Raises:
            PipelineError: the app is running.
        """
        folder = self.local_folder()
        with pipeline_errors(), self.admin() as admin:
            plan = resetting.plan_reset(admin, self.name, folder, self.queries())
            resetting.execute_reset(admin, self.name, folder, plan)

    def admin(self) -> Admin:
        """An admin client, which the caller must close.

        Raises:
            PipelineError: the security settings are invalid.
        """
        return Admin(self.bootstrap, security=self._client_security())

    def claim(self) -> RunClaim:
        """The claim that marks the app as running on the cluster.

        Raises:
            PipelineError: the security settings are invalid.
        """
        folder = local_path(self.checkpoint_dir)
        where = self.checkpoint_dir if folder is None else str(folder.resolve())
        return RunClaim(self.bootstrap, self._client_security(), self.name, where)

    def reading_options(self) -> dict[str, str]:
        """The options of the source, with the security settings."""
        return {**self._connecting(), **self.source_options}

    def writing_options(self) -> dict[str, str]:
        """The options of the sink, with the security settings."""
        return {**self._connecting(), **self.sink_options}

    def local_folder(self) -> Path:
        """The local directory of this app's checkpoints.

        Raises:
            PipelineError: the checkpoints are not on a local file system.
        """
        folder = local_path(self.checkpoint_dir)
        if folder is None:
            raise PipelineError(
                f"checkpoint_dir={self.checkpoint_dir} is not on this machine: look at it with "
                f"its own tools, and at the progress with moldau groups describe {self.name}-..."
            )
        return folder / self.name

    def _sink_of(self, name: str) -> Node | None:
        """The sink that writes the topic ``name``, or the table with this name."""
        sinks = self.topology.sinks()
        by_topic = [each for each in sinks if each.topic == name]
        by_name = [each for each in sinks if any(parent.name == name for parent in each.parents)]
        return next(iter(by_topic + by_name), None)

    def _reader(self, node: Node) -> TableReader:
        assert node.topic is not None
        assert node.key_serde is not None
        assert node.value_serde is not None
        return TableReader(
            self.bootstrap,
            node.topic,
            node.key_serde,
            node.value_serde,
            security=self._client_security(),
        )

    def _inputs(self) -> TopicInputs:
        """The inputs for the DataFrames of single streams (``.df``)."""
        from moldau.spark import session

        spark = session(self.name)
        return TopicInputs(
            spark, self.bootstrap, options=self.reading_options(), delivery=self.delivery
        )

    def _client_security(self) -> Security:
        try:
            return parse_security(self.security)
        except ValueError as error:
            raise PipelineError(f"security of {self.name}: {error}") from None

    def _connecting(self) -> dict[str, str]:
        return {f"kafka.{name}": value for name, value in self.security.items()}

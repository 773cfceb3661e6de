"""One run of the benchmark: every selected row, on Moldau and Apache Kafka alternately.

A row that fails is noted with the reason and does not affect other rows: crashed brokers are
restarted, and the results are saved after each row.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tools import wire
from tools.brokers import HOST, ApacheKafkaBroker, Broker, MoldauBroker

from benchmarks import (
    cluster_rows,
    command_rows,
    connect_rows,
    database_rows,
    group_rows,
    log_rows,
    many_rows,
    quorum_rows,
    spark_rows,
    transaction_rows,
)
from benchmarks.clients import Clients, UnavailableError
from benchmarks.meter import usage
from benchmarks.report import Line, absolute_line, lines_of
from benchmarks.rows import Amounts, Figures, Row, Workbench, all_rows

IDLE_S = 3.0
IDLE_RSS_LIMIT_MB = 60.0
BROKER_SETTINGS = {**group_rows.BROKER_SETTINGS, **log_rows.BROKER_SETTINGS}
START_UP = "start-up to the first answered request"

Side = TypeVar("Side")


def interleaved(
    sides: dict[str, Side], measure: Callable[[Side], Figures], repeat: int
) -> dict[str, list[Figures]]:
    """Moldau Kafka, Kafka Moldau, ...: drift of the machine affects both alike."""
    runs: dict[str, list[Figures]] = {name: [] for name in sides}
    for turn in range(repeat):
        order = list(sides.items()) if turn % 2 == 0 else list(sides.items())[::-1]
        for name, side in order:
            runs[name].append(measure(side))
    return runs


def start_up(broker: Broker) -> Figures:
    """Seconds from the start of the process to its first response, on an existing directory."""
    broker.start()
    ready = broker.ready_s
    broker.stop()
    return {"start_s": ready}


def answers(broker: Broker) -> bool:
    try:
        return bool(wire.broker_ids(HOST, broker.port))
    except OSError:
        return False


def rows_of(bench: Workbench) -> list[Row]:
    """The rows that are measured with both brokers running."""
    return [
        *all_rows(bench),
        *group_rows.group_rows(bench),
        *transaction_rows.transaction_rows(bench),
        *log_rows.log_rows(bench),
    ]


def row_names(bench: Workbench) -> list[str]:
    """The names of all rows, in the order in which they are measured."""
    return [
        START_UP,
        *(many_rows.row_name(count) for count in bench.amounts.idle_partitions),
        *quorum_rows.ROWS,
        *(row.name for row in cluster_rows.cluster_rows()),
        *(row.name for row in spark_rows.spark_rows()),
        *(row.name for row in connect_rows.connect_rows()),
        *(row.name for row in command_rows.command_rows()),
        *(row.name for row in database_rows.database_rows()),
        *(row.name for row in rows_of(bench)),
    ]


class Run:
    """Measures the rows whose name ``wants`` accepts, and calls ``save`` after each."""

    def __init__(
        self,
        folder: Path,
        amounts: Amounts,
        repeat: int,
        wants: Callable[[str], bool],
        save: Callable[["Run"], None],
    ) -> None:
        self.folder = folder
        self.repeat = repeat
        self.wants = wants
        self.bench = Workbench(Clients(folder), amounts)
        self.sides: dict[str, Broker] = {
            "moldau": MoldauBroker(folder / "moldau" / "data", BROKER_SETTINGS),
            "kafka": ApacheKafkaBroker(folder / "kafka" / "data", BROKER_SETTINGS),
        }
        self.lines: list[Line] = []
        self.runs: dict[str, Any] = {}
        self.notes: list[str] = []
        self.failures = 0
        self._save = save
        self._begun = 0
        self._total = sum(wants(name) for name in row_names(self.bench))

    def everything(self) -> None:
        for broker in self.sides.values():
            broker.directory.parent.mkdir(parents=True, exist_ok=True)
            broker.start()  # The first start, which formats, is not measured.
            broker.stop()
        if self.wants(START_UP):
            with self._row(START_UP):
                runs = interleaved(self.sides, start_up, self.repeat)
                self._keep(START_UP, runs, [("start_s", "at most", 0.1)])
        for count in self.bench.amounts.idle_partitions:
            if self.wants(many_rows.row_name(count)):
                self._idle_partitions(count)
        self._quorum([name for name in quorum_rows.ROWS if self.wants(name)])
        self._clusters()
        self._spark()
        self._connect()
        self._commands()
        self._databases()
        rows = [row for row in rows_of(self.bench) if self.wants(row.name)]
        try:
            if rows:
                self._side_by_side(rows)
        finally:
            self._stop_all()

    @contextmanager
    def _row(self, name: str) -> Iterator[None]:
        """Context of one row: prints progress, notes a failure, and saves the results."""
        self._begun += 1
        began = time.monotonic()
        place = f"[{self._begun}/{self._total}]"
        say(f"{place} {name} ...")
        try:
            yield
        except Exception as error:
            # A client that is not available on this machine is not a failure.
            self.failures += not isinstance(error, UnavailableError)
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            self.notes.append(f"not measured: {name}: {reason}")
            say(f"{place} {name}: not measured, {reason}")
        else:
            say(f"{place} {name}: {time.monotonic() - began:.0f} s")
        self._save(self)

    def _keep(
        self, name: str, runs: Any, targets: Any, limits: Any = None, floors: Any = None
    ) -> None:
        self.runs[name] = runs
        self.lines += lines_of(name, runs, targets, limits, floors)

    def _side_by_side(self, rows: list[Row]) -> None:
        self._start_all()
        self._memory("idle")
        say("warming up both brokers")
        for broker in self.sides.values():
            self.bench.warm_up(broker)
        for row in rows:
            with self._row(row.name):
                self._start_all()
                runs = interleaved(self.sides, row.measure, self.repeat)
                self._keep(row.name, runs, row.targets, row.limits)
        self._start_all()
        self._memory("loaded")

    def _start_all(self) -> None:
        """Start brokers that do not respond: first both, later those that a row has crashed."""
        for broker in self.sides.values():
            if broker.process is not None and not answers(broker):
                broker.kill()
            if broker.process is None:
                broker.start()

    def _stop_all(self) -> None:
        for broker in self.sides.values():
            if broker.process is not None:
                broker.stop()

    def _idle_partitions(self, count: int) -> None:
        name = many_rows.row_name(count)
        sides = many_rows.sides(self.folder, count, BROKER_SETTINGS)
        with self._row(name):
            try:
                filled = interleaved(sides, lambda broker: many_rows.fill(broker, count), 1)
                started = interleaved(sides, start_up, self.repeat)
            finally:
                for broker in sides.values():
                    if broker.process is not None:
                        broker.kill()
                    shutil.rmtree(broker.directory, ignore_errors=True)
            runs = {side: [filled[side][0] | each for each in started[side]] for side in sides}
            self._keep(name, runs, many_rows.TARGETS, many_rows.LIMITS)

    def _quorum(self, names: list[str]) -> None:
        """Clusters of three controllers and a broker, both running."""
        if not names:
            return
        with ExitStack() as running:
            sides = quorum_rows.clusters(self.folder)
            try:
                for cluster in sides.values():
                    running.enter_context(cluster)
            except RuntimeError as error:
                self.failures += 1
                self.notes.append(f"not measured: the quorum: {error}")
                return
            for name in names:
                with self._row(name):
                    measure = partial(quorum_rows.measure, name)
                    # Not measured: what a process loads and compiles the first time.
                    interleaved(sides, measure, 1)
                    runs = interleaved(sides, measure, self.repeat)
                    self._keep(name, runs, quorum_rows.TARGETS[name])

    def _clusters(self) -> None:
        """Three nodes of each kind."""
        rows = [row for row in cluster_rows.cluster_rows() if self.wants(row.name)]
        if not rows:
            return
        sides = cluster_rows.sides(self.folder)
        try:
            say("warming up both clusters")
            for cluster in sides.values():
                cluster_rows.warm_up(self.bench, cluster.start())
            for row in rows:
                with self._row(row.name):
                    measured = sides if row.is_compared else {"moldau": sides["moldau"]}
                    for cluster in measured.values():
                        cluster.start()
                    measure = partial(row.measure, self.bench)
                    runs = interleaved(measured, measure, self.repeat)
                    self._keep(row.name, runs, row.targets, row.limits)
        finally:
            for cluster in sides.values():
                cluster.__exit__()

    def _spark(self) -> None:
        """Both connectors on one broker, which is Moldau."""
        rows = [row for row in spark_rows.spark_rows() if self.wants(row.name)]
        if not rows:
            return
        broker = self.sides["moldau"]
        broker.start()
        try:
            with spark_rows.spark_bench(self.bench, broker) as bench:
                for row in rows:
                    with self._row(row.name):
                        # Not measured: classes and queries are loaded and compiled only once.
                        measure = partial(row.measure, bench)
                        interleaved(spark_rows.SIDES, measure, 1)
                        runs = interleaved(spark_rows.SIDES, measure, self.repeat)
                        self._keep(row.name, runs, row.targets)
        except Exception as error:
            self.failures += not isinstance(error, UnavailableError)
            self.notes.append(f"not measured: Spark: {error}")
            say(f"Spark: skipped, {error}")
        finally:
            broker.stop()

    def _connect(self) -> None:
        """Both workers on one broker, which is Moldau."""
        rows = [row for row in connect_rows.connect_rows() if self.wants(row.name)]
        if not rows:
            return
        broker = self.sides["moldau"]
        broker.start()
        try:
            with connect_rows.connect_bench(self.bench, broker) as bench:
                for row in rows:
                    with self._row(row.name):
                        # Not measured: what a worker loads and compiles the first time.
                        measure = partial(row.measure, bench)
                        interleaved(connect_rows.SIDES, measure, 1)
                        runs = interleaved(connect_rows.SIDES, measure, self.repeat)
                        self._keep(row.name, runs, row.targets)
        except Exception as error:
            self.failures += not isinstance(error, UnavailableError)
            self.notes.append(f"not measured: Connect: {error}")
            say(f"Connect: skipped, {error}")
        finally:
            broker.stop()

    def _commands(self) -> None:
        """Commands that start Spark, on one broker, which is Moldau."""
        rows = [row for row in command_rows.command_rows() if self.wants(row.name)]
        if not rows:
            return
        broker = self.sides["moldau"]
        broker.start()
        try:
            with command_rows.command_bench(self.bench, broker) as bench:
                for row in rows:
                    with self._row(row.name):
                        sides = {side: side for side in row.sides}
                        runs = interleaved(sides, partial(row.measure, bench), self.repeat)
                        self._keep(row.name, runs, [], row.limits)
        finally:
            broker.stop()

    def _databases(self) -> None:
        """Connectors of PostgreSQL, on one broker, which is Moldau."""
        rows = [row for row in database_rows.database_rows() if self.wants(row.name)]
        if not rows:
            return
        broker = self.sides["moldau"]
        broker.start()
        try:
            with database_rows.database_bench(self.bench, broker) as bench:
                for row in rows:
                    with self._row(row.name):
                        sides = {side: side for side in row.sides}
                        runs = interleaved(sides, partial(row.measure, bench), self.repeat)
                        self._keep(row.name, runs, row.targets, floors=row.floors)
        except UnavailableError as error:
            self.notes.append(f"not measured: PostgreSQL: {error}")
            say(f"PostgreSQL: skipped, {error}")
        finally:
            broker.stop()

    def _memory(self, when: str) -> None:
        time.sleep(IDLE_S)
        runs = {name: [{"rss_mb": usage(side.pid).rss_mb}] for name, side in self.sides.items()}
        self.runs[f"memory {when}"] = runs
        limit = IDLE_RSS_LIMIT_MB if when == "idle" else float("inf")
        line = absolute_line(f"resident memory, {when}", "RSS MB", runs, limit)
        self.lines.append(line if when == "idle" else line._replace(target="", is_met=None))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

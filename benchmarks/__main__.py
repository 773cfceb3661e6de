"""``python -m benchmarks``: measure, print the table, write it to benchmarks/results."""

import argparse
import datetime
import fnmatch
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tools.brokers import ApacheKafkaBroker, Broker, MoldauBroker, kafka_dir

from benchmarks import group_rows, log_rows, machine, many_rows, spark_rows
from benchmarks.clients import Clients, UnavailableError
from benchmarks.meter import usage
from benchmarks.report import Line, absolute_line, as_json, lines_of, page
from benchmarks.rows import FULL, QUICK, Figures, Row, Workbench, all_rows

RESULTS = Path(__file__).resolve().parent / "results"
IDLE_S = 3.0
IDLE_RSS_LIMIT_MB = 60.0
BROKER_SETTINGS = {**group_rows.BROKER_SETTINGS, **log_rows.BROKER_SETTINGS}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small amounts, once: a few minutes")
    parser.add_argument("--rows", metavar="PATTERN", default="*", help="only rows that match")
    parser.add_argument("--repeat", type=int, metavar="N", help="interleaved pairs (default 3)")
    parser.add_argument("--pretouch", type=float, metavar="GB", help="memory to touch first")
    parser.add_argument("--data-dir", type=Path, help="where the brokers write")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the table is written")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    return parser.parse_args()


Side = TypeVar("Side")


def interleaved(
    sides: dict[str, Side], measure: Callable[[Side], Figures], repeat: int
) -> dict[str, list[Figures]]:
    """Moldau Kafka, Kafka Moldau, ...: what drifts on the machine hits both alike."""
    runs: dict[str, list[Figures]] = {name: [] for name in sides}
    for turn in range(repeat):
        order = list(sides.items()) if turn % 2 == 0 else list(sides.items())[::-1]
        for name, side in order:
            runs[name].append(measure(side))
    return runs


def start_up(broker: Broker) -> Figures:
    """Seconds from the start of the process to the first answered request, on an old directory."""
    broker.start()
    ready = broker.ready_s
    broker.stop()
    return {"start_s": ready}


def rows_of(bench: Workbench) -> list[Row]:
    """What is measured on two brokers that run side by side."""
    return [*all_rows(bench), *group_rows.group_rows(bench), *log_rows.log_rows(bench)]


def matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatch(name.lower(), f"*{pattern.lower()}*")


class Run:
    """One run of the benchmark, from two empty directories to a table."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.folder = folder
        self.pattern: str = arguments.rows
        self.repeat: int = arguments.repeat or (1 if arguments.quick else 3)
        self.bench = Workbench(Clients(folder), QUICK if arguments.quick else FULL)
        self.sides: dict[str, Broker] = {
            "moldau": MoldauBroker(folder / "moldau" / "data", BROKER_SETTINGS),
            "kafka": ApacheKafkaBroker(folder / "kafka" / "data", BROKER_SETTINGS),
        }
        self.lines: list[Line] = []
        self.runs: dict[str, Any] = {}
        self.notes: list[str] = []

    def wants(self, name: str) -> bool:
        return matches(name, self.pattern)

    def everything(self) -> None:
        for broker in self.sides.values():
            broker.directory.parent.mkdir(parents=True, exist_ok=True)
            broker.start()  # The first start formats; nobody measures that.
            broker.stop()
        if self.wants("start-up"):
            runs = interleaved(self.sides, start_up, self.repeat)
            self.runs["start-up"] = runs
            targets = [("start_s", "at most", 0.1)]
            self.lines += lines_of("start-up to the first answered request", runs, targets)
        for count in self.bench.amounts.idle_partitions:
            if self.wants(many_rows.row_name(count)):
                self.idle_partitions(count)
        for needs_transactions in (False, True):
            self.spark(needs_transactions)
        if not any(self.wants(row.name) for row in rows_of(self.bench)):
            return
        try:
            for broker in self.sides.values():
                broker.start()
            self.memory("idle")
            say("warming up both brokers")
            for broker in self.sides.values():
                self.bench.warm_up(broker)
            for row in rows_of(self.bench):
                if self.wants(row.name):
                    self.row(row)
            self.memory("loaded")
        finally:
            for broker in self.sides.values():
                if broker.process is not None:
                    broker.stop()

    def idle_partitions(self, count: int) -> None:
        began = time.monotonic()
        name = many_rows.row_name(count)
        sides = many_rows.sides(self.folder, count, BROKER_SETTINGS)
        try:
            filled = interleaved(sides, lambda broker: many_rows.fill(broker, count), 1)
            started = interleaved(sides, start_up, self.repeat)
        except RuntimeError as error:
            self.notes.append(f"not measured: {name}: {error}")
            return
        finally:
            for broker in sides.values():
                if broker.process is not None:
                    broker.kill()
                shutil.rmtree(broker.directory, ignore_errors=True)
        runs = {side: [filled[side][0] | each for each in started[side]] for side in sides}
        self.runs[name] = runs
        self.lines += lines_of(name, runs, many_rows.TARGETS, many_rows.LIMITS)
        say(f"{name}: {time.monotonic() - began:.0f} s")

    def spark(self, needs_transactions: bool) -> None:
        """Both connectors on one broker: ours, or Apache Kafka for what needs transactions."""
        rows = [
            row
            for row in spark_rows.spark_rows()
            if row.needs_transactions == needs_transactions and self.wants(row.name)
        ]
        if not rows:
            return
        broker = self.sides["kafka" if needs_transactions else "moldau"]
        broker.start()
        try:
            with spark_rows.spark_bench(self.bench, broker) as bench:
                for row in rows:
                    began = time.monotonic()
                    # What is loaded and compiled only once shall not count.
                    interleaved(spark_rows.SIDES, partial(row.measure, bench), 1)
                    runs = interleaved(spark_rows.SIDES, partial(row.measure, bench), self.repeat)
                    self.runs[row.name] = runs
                    self.lines += lines_of(row.name, runs, row.targets)
                    say(f"{row.name}: {time.monotonic() - began:.0f} s")
        except UnavailableError as reason:
            self.notes.append(f"not measured: Spark: {reason}")
            say(f"Spark: skipped, {reason}")
        finally:
            broker.stop()

    def memory(self, when: str) -> None:
        time.sleep(IDLE_S)
        runs = {name: [{"rss_mb": usage(side.pid).rss_mb}] for name, side in self.sides.items()}
        self.runs[f"memory {when}"] = runs
        limit = IDLE_RSS_LIMIT_MB if when == "idle" else float("inf")
        line = absolute_line(f"resident memory, {when}", "RSS MB", runs, limit)
        self.lines.append(line if when == "idle" else line._replace(target="", is_met=None))

    def row(self, row: Row) -> None:
        began = time.monotonic()
        try:
            runs = interleaved(self.sides, row.measure, self.repeat)
        except UnavailableError as reason:
            self.notes.append(f"not measured: {row.name}: {reason}")
            say(f"{row.name}: skipped, {reason}")
            return
        self.runs[row.name] = runs
        self.lines += lines_of(row.name, runs, row.targets, row.limits)
        say(f"{row.name}: {time.monotonic() - began:.0f} s")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        bench = Workbench(Clients(Path()), FULL)
        for row in rows_of(bench):
            print(row.name)
        for count in bench.amounts.idle_partitions:
            print(many_rows.row_name(count))
        for spark_row in spark_rows.spark_rows():
            print(spark_row.name)
        return 0
    if not (kafka_dir() / "bin" / "kafka-server-start").exists():
        say("Apache Kafka is not installed: run tools/install-apache-kafka, or set KAFKA_DIR")
        return 1
    described = machine.describe()
    gigabytes = arguments.pretouch if arguments.pretouch is not None else 2.0
    machine.pretouch(gigabytes)
    folder = Path(tempfile.mkdtemp(prefix="moldau-bench-", dir=arguments.data_dir))
    began = time.monotonic()
    run = Run(arguments, folder)
    try:
        run.everything()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    described["repetitions"] = f"{run.repeat} interleaved pairs{', quick' * arguments.quick}"
    described["took"] = f"{time.monotonic() - began:.0f} s"
    now = datetime.datetime.now(datetime.UTC)
    text = page(f"Moldau and Apache Kafka 4.3.1, {now:%Y-%m-%d}", described, run.lines, run.notes)
    print(text)
    arguments.results.mkdir(parents=True, exist_ok=True)
    name = f"{now:%Y-%m-%d-%H%M}"
    (arguments.results / f"{name}.md").write_text(text)
    content = as_json(described, run.lines, run.runs)
    (arguments.results / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    say(f"written to {arguments.results / name}.md and .json")
    return 0


sys.exit(main())

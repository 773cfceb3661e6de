"""How soon commands on Spark answer, and what they cost while nothing happens.

A Connect worker is compared with Apache's, on one broker, which is Moldau; ``moldau sql`` with
nothing. The seconds are those from the command on, with everything that it imports and starts.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.brokers import Broker

from benchmarks.clients import encode_records, raw_produce
from benchmarks.connect_workers import (
    ApacheWorker,
    MoldauWorker,
    Worker,
    kafka_plugin,
    worker_settings,
)
from benchmarks.meter import pss_mb, usage
from benchmarks.rows import Figures, Workbench

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
IDLE_CONNECTORS = 10
# Before it is looked at, a worker has finished what its start has left to do, and Spark has ended
# the processes of tasks, which it keeps for a minute.
SETTLING_S = 80.0
IDLE_S = 30.0
WARM_COMMANDS = 11
RECORDS = 1_000
QUERY = "SELECT value:customer::string AS customer, count(*) FROM {topic} GROUP BY 1 ORDER BY 1"
BOTH = ("moldau", "kafka")


class CommandRow(NamedTuple):
    """One measurement, for each side."""

    name: str
    sides: Sequence[str]
    measure: Callable[["CommandBench", str], Figures]
    # Upper bounds for Moldau's figures.
    limits: Mapping[str, float]


def command_rows() -> list[CommandRow]:
    start = {"rest rest_s": 1.0, "new running_s": 7.0, "known running_s": 7.0}
    idle = {"cores": 0.1, "pss_mb": 1200.0}
    sql = {"cold s": 6.0, "warm p50_s": 0.5}
    return [
        CommandRow("Connect worker, start", BOTH, CommandBench.start, start),
        CommandRow("Connect worker, ten idle connectors", BOTH, CommandBench.idle, idle),
        CommandRow("moldau sql -e, the whole command", ("moldau",), CommandBench.sql, sql),
    ]


class CommandBench:
    """The broker and the folder of the commands."""

    def __init__(self, bench: Workbench, broker: Broker, folder: Path) -> None:
        self._bench = bench
        self._broker = broker
        self._folder = folder

    def start(self, side: str) -> Figures:
        """A worker that is given a connector as soon as it answers; then one that finds it."""
        settings = self._settings(side)
        with self._bench.topic(self._broker) as topic:
            config = self._config(0, topic)
            first = self._launched(side, settings, lambda worker: _create(worker, "first", config))
            second = self._launched(side, settings, lambda worker: None)
        return {
            "rest rest_s": first["rest_s"],
            "new running_s": first["running_s"],
            "new cpu_s": first["cpu_s"],
            "known running_s": second["running_s"],
            "known cpu_s": second["cpu_s"],
        }

    def _launched(
        self, side: str, settings: Mapping[str, str], act: Callable[[Worker], None]
    ) -> Figures:
        worker = self._worker(side, settings)
        began = time.monotonic()
        worker.launch()
        try:
            worker.wait(lambda: worker.ask("GET", "/")[0] == 200, "answering", 0.005)
            rest_s = time.monotonic() - began
            act(worker)
            worker.wait(lambda: _runs_here(worker, "first"), "running")
            running_s = time.monotonic() - began
            return {"rest_s": rest_s, "running_s": running_s, "cpu_s": usage(worker.pid).cpu_s}
        finally:
            worker.stop()

    def idle(self, side: str) -> Figures:
        """Half of the connectors are sources, half sinks; all have done what there was to do."""
        with (
            self._bench.topic(self._broker) as topic,
            self._worker(side, self._settings(side)) as worker,
        ):
            names = [f"idle-{number}" for number in range(IDLE_CONNECTORS)]
            for number, name in enumerate(names):
                _create(worker, name, self._config(number, topic))
            worker.wait_until_running(names)
            time.sleep(SETTLING_S)
            before_s, began = usage(worker.pid).cpu_s, time.monotonic()
            time.sleep(IDLE_S)
            cpu_s = usage(worker.pid).cpu_s - before_s
            cores = cpu_s / (time.monotonic() - began)
            return {"cores": cores, "pss_mb": pss_mb(worker.pid)}

    def sql(self, side: str) -> Figures:
        """The first command starts Spark, and those that follow find it."""
        runtime = self._folder / f"runtime-{uuid.uuid4().hex[:8]}"
        runtime.mkdir(mode=0o700)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        command = [sys.executable, "-m", "moldau", "sql"]
        with self._bench.topic(self._broker) as topic:
            values = [json.dumps({"customer": f"c{n % 7}", "n": n}) for n in range(RECORDS)]
            batch = encode_records([(None, value.encode()) for value in values])
            raw_produce(self._broker.port, topic, batch, 1)
            query = QUERY.format(topic=f"`{topic}`")
            asking = [*command, "--bootstrap-server", self._broker.bootstrap, "-e", query]
            try:
                cold_s = _run(asking, environment)
                warm = sorted(_run(asking, environment) for _ in range(WARM_COMMANDS))
            finally:
                subprocess.run([*command, "--stop"], env=environment, capture_output=True)
        return {"cold s": cold_s, "warm p50_s": statistics.median(warm), "warm max_s": warm[-1]}

    def _settings(self, side: str) -> dict[str, str]:
        return worker_settings(self._broker.bootstrap, f"{side}-{uuid.uuid4().hex[:8]}")

    def _worker(self, side: str, settings: Mapping[str, str]) -> Worker:
        folder = self._folder / f"{side}-{uuid.uuid4().hex[:8]}"
        if side == "moldau":
            return MoldauWorker(folder, settings)
        return ApacheWorker(folder, settings, [kafka_plugin("connect-file")])

    def _config(self, number: int, topic: str) -> dict[str, str]:
        path = self._folder / f"{uuid.uuid4().hex[:8]}.txt"
        path.write_text("one\n")
        if number % 2:
            return {"connector.class": SINK, "file": str(path), "topics": topic}
        return {"connector.class": SOURCE, "file": str(path), "topic": topic}


def _create(worker: Worker, name: str, config: Mapping[str, str]) -> None:
    """Create a connector on a worker that may still be starting."""
    body = {"name": name, "config": dict(config)}

    def is_there() -> bool:
        # An answer may have been lost.
        is_created = worker.ask("POST", "/connectors", body)[0] == 201
        return is_created or worker.ask("GET", f"/connectors/{name}")[0] == 200

    worker.wait(is_there, f"creating {name}")


def _runs_here(worker: Worker, name: str) -> bool:
    """Whether a connector runs on this worker: its status may still be that of the one before."""
    status, found = worker.ask("GET", f"/connectors/{name}/status")
    if status != 200:
        return False
    parts = [found["connector"], *found["tasks"]]
    here = [part for part in parts if part["worker_id"].endswith(f":{worker.port}")]
    return len(here) > 1 and all(part["state"] == "RUNNING" for part in here)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    seconds = time.monotonic() - began
    if done.returncode:
        raise RuntimeError(f"{command[-1]}: {done.stderr}")
    return seconds


@contextlib.contextmanager
def command_bench(bench: Workbench, broker: Broker) -> Iterator[CommandBench]:
    folder = Path(tempfile.mkdtemp(prefix="moldau-command-bench-"))
    try:
        yield CommandBench(bench, broker, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

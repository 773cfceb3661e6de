"""Connect workers as processes: Apache's with Kafka's file connectors, and Moldau's.

Both have the same interface, so a row treats them alike: properties, one process, REST. Apache's
has the memory and the collector that Kafka's own script gives it.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from tools.brokers import kafka_dir
from tools.connect_workers import WorkerProcess, plugin_jar

from benchmarks.clients import UnavailableError
from moldau.config.properties import format_properties

STEP_S = 0.01
HEAP = "-Xms256M -Xmx2G"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


def worker_settings(bootstrap: str, prefix: str) -> dict[str, str]:
    """The settings of a worker with internal topics of its own; everything else is the default."""
    return {
        "bootstrap.servers": bootstrap,
        "group.id": f"{prefix}-cluster",
        "key.converter": STRING_CONVERTER,
        "value.converter": STRING_CONVERTER,
        "offset.storage.topic": f"{prefix}-offsets",
        "offset.storage.replication.factor": "1",
        "config.storage.topic": f"{prefix}-configs",
        "config.storage.replication.factor": "1",
        "status.storage.topic": f"{prefix}-status",
        "status.storage.replication.factor": "1",
    }


def kafka_plugin(name: str) -> Path:
    """As ``plugin_jar``; raises UnavailableError if there is none."""
    jar = plugin_jar(name)
    if jar is None:
        raise UnavailableError(f"the jar {name} is neither in Kafka's libs nor in ~/.m2")
    return jar


class Worker(WorkerProcess):
    """A worker with its properties and a directory of its own."""

    kind = ""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory / f"{self.kind}-worker.log")
        self.directory = directory
        self.settings = {**settings, "listeners": self.url}
        self.properties_path = directory / f"{self.kind}-worker.properties"

    def launch(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.properties_path.write_text(format_properties(self.settings))
        return super().launch()

    def wait(
        self, condition: Callable[[], bool], what: str = "done", step_s: float = STEP_S
    ) -> None:
        super().wait(condition, what, step_s)

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector; it runs some time later."""
        body = {"name": name, "config": dict(config)}
        status, answer = self.ask("POST", "/connectors", body)
        if status != 201:
            raise RuntimeError(f"{self.kind} worker: {name} not created, {status}: {answer}")

    def wait_until_running(self, names: Sequence[str]) -> None:
        """Until connectors and their tasks are RUNNING."""
        for name in names:
            self.wait(partial(self._is_running, name), f"running {name}")

    def delete(self, name: str) -> None:
        """Delete a connector, and return when it is gone."""
        # 409 while the worker is busy with what was asked before.
        path = f"/connectors/{name}"
        self.wait(lambda: self.status_of("DELETE", path) in (204, 404), f"deleting {name}")

    def _is_running(self, name: str) -> bool:
        status, found = self.ask("GET", f"/connectors/{name}/status")
        if status != 200:
            return False
        states = [found["connector"]["state"], *(each["state"] for each in found["tasks"])]
        if "FAILED" in states:
            raise RuntimeError(f"{self.kind} worker: {name} has failed: {found}")
        return len(states) > 1 and set(states) == {"RUNNING"}


class ApacheWorker(Worker):
    """Apache Kafka's ConnectDistributed. ``plugins`` are jars that it finds connectors in."""

    kind = "apache"

    def __init__(
        self, directory: Path, settings: Mapping[str, str], plugins: Sequence[Path] = ()
    ) -> None:
        folder = directory / "plugins"
        super().__init__(directory, {**settings, "plugin.path": str(folder)})
        self._plugins = plugins
        self._folder = folder

    def command(self) -> list[str]:
        for jar in self._plugins:
            place = self._folder / jar.stem
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(jar, place)
        self._folder.mkdir(parents=True, exist_ok=True)
        kind = "org.apache.kafka.connect.cli.ConnectDistributed"
        return [str(kafka_dir() / "bin" / "kafka-run"), kind, str(self.properties_path)]

    def environment(self) -> dict[str, str]:
        return {"KAFKA_HEAP_OPTS": HEAP, **os.environ}


class MoldauWorker(Worker):
    """``moldau connect worker``."""

    kind = "moldau"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "moldau", "connect", "worker", str(self.properties_path)]

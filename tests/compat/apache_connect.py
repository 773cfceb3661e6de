"""Runs Connect workers as processes: Apache's with Kafka's file connectors, and Moldau's."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.brokers import kafka_dir
from tools.connect_workers import WorkerProcess, plugin_jar

from moldau.config.properties import format_properties
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED_JVM

FILE_CONNECTORS = "connect-file"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def file_connectors() -> Path:
    """The jar of Kafka's file source and sink, which are not among its libraries by default."""
    require_apache_kafka()
    jar = plugin_jar(FILE_CONNECTORS)
    if jar is None:
        raise UnavailableError(f"the jar {FILE_CONNECTORS} is neither in Kafka's libs nor in ~/.m2")
    return jar


def distributed_settings(bootstrap: str, prefix: str) -> dict[str, str]:
    """The settings of Kafka's connect-distributed.properties, with topics of their own."""
    return {
        "bootstrap.servers": bootstrap,
        "group.id": f"{prefix}-cluster",
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        "offset.storage.topic": f"{prefix}-offsets",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "3",
        "config.storage.topic": f"{prefix}-configs",
        "config.storage.replication.factor": "1",
        "status.storage.topic": f"{prefix}-status",
        "status.storage.replication.factor": "1",
        "status.storage.partitions": "2",
        "offset.flush.interval.ms": "200",
    }


class CompatWorker(WorkerProcess):
    """A worker of a test."""

    def environment(self) -> dict[str, str]:
        return {**os.environ, "KAFKA_JVM_PERFORMANCE_OPTS": SHORT_LIVED_JVM}

    def wait_for_state(self, name: str, state: str, tasks: Sequence[str]) -> None:
        """Until the connector has a state, and its tasks theirs."""

        def is_there() -> bool:
            status, found = self.ask("GET", f"/connectors/{name}/status")
            if status != 200 or found["connector"]["state"] != state:
                return False
            return [each["state"] for each in found["tasks"]] == list(tasks)

        self.wait(is_there, f"{state} with tasks {', '.join(tasks)}: {name}")


class ApacheWorker(CompatWorker):
    """One worker process of Apache's."""

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str],
        connectors: Sequence[Mapping[str, str]] = (),
        *,
        distributed: bool = True,
    ) -> None:
        super().__init__(directory / "apache-worker.log")
        self._directory = directory
        self._connectors = connectors
        self._mode = "ConnectDistributed" if distributed else "ConnectStandalone"
        self._settings = {
            **settings,
            "listeners": self.url,
            "plugin.path": str(directory / "plugins"),
        }

    def command(self) -> list[str]:
        plugins = self._directory / "plugins" / FILE_CONNECTORS
        plugins.mkdir(parents=True, exist_ok=True)
        shutil.copy(file_connectors(), plugins)
        files = [self._directory / "worker.properties"]
        files[0].write_text(format_properties(self._settings))
        for each in self._connectors:
            files.append(self._directory / f"{each['name']}.properties")
            files[-1].write_text(format_properties(each))
        return [
            str(kafka_dir() / "bin" / "kafka-run"),
            f"org.apache.kafka.connect.cli.{self._mode}",
            *map(str, files),
        ]


class MoldauWorker(CompatWorker):
    """``moldau connect worker`` with Spark."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory / "moldau-worker.log")
        self._file = directory / "moldau-worker.properties"
        self._settings = {**settings, "listeners": self.url}

    def command(self) -> list[str]:
        self._file.write_text(format_properties(self._settings))
        return [sys.executable, "-m", "moldau", "connect", "worker", str(self._file)]

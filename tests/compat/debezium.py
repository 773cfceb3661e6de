"""Debezium's PostgreSQL connector, run without a worker, and a type of each kind to compare."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Self

import pytest
from tools.brokers import kafka_dir

from tests.compat.clients.programs import require_apache_kafka

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "java" / "CaptureTask.java"
LIMIT_S = 120
# Little of the program is compiled: it runs for seconds.
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m")


def class_path() -> str:
    """Debezium's jars and Apache Kafka's; skips the test if one is missing."""
    folder = Path(os.environ.get("DEBEZIUM_DIR") or PROJECT / ".cache" / "debezium")
    jars = [path for path in sorted(folder.glob("jars/*.jar")) if _is_own(path)]
    if not jars:
        pytest.skip("Debezium is not installed: run tools/install-debezium (DEBEZIUM_DIR)")
    require_apache_kafka()
    if shutil.which("javac") is None:
        pytest.skip("no JDK (java and javac) on the PATH")
    return ":".join([*map(str, jars), f"{kafka_dir()}/libs/*"])


def _is_own(jar: Path) -> bool:
    """Jackson and the loggers are Apache Kafka's, of one version."""
    return jar.name.startswith(("debezium", "postgresql", "protobuf"))


class Debezium:
    """A running task. Use as a context manager."""

    def __init__(
        self, folder: Path, config: Mapping[str, str], stored: Mapping[str, Any] | None = None
    ) -> None:
        path = class_path()
        if not (folder / "CaptureTask.class").exists():
            subprocess.run(["javac", "-cp", path, "-d", folder, PROGRAM], check=True)
        properties = folder / f"{config['slot.name']}.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
        offset = "none" if stored is None else json.dumps(dict(stored))
        program = ["CaptureTask", str(properties), offset]
        command = ["java", *JVM, "-cp", f"{path}:{folder}", *program]
        self._log = folder / f"{config['slot.name']}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def records(self) -> Iterator[dict[str, Any]]:
        """The records, as they come."""
        while True:
            try:
                yield json.loads(self._lines.get(timeout=LIMIT_S))
            except Empty:
                tail = self._log.read_text()[-2000:]
                raise AssertionError(f"Debezium sends nothing more: {tail}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()

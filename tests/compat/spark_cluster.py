"""A standalone Spark cluster on this machine: a master and workers, as processes of their own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tools.brokers import HOST, free_port

from moldau.spark.java import find_java, java_home, wheel_home
from moldau.spark.worker_python import spark_home
from tests.compat.processes import command_of, descendants
from tests.compat.spark_session import environment_without_spark

START_LIMIT_S = 120.0
EXECUTOR = "CoarseGrainedExecutorBackend"


class SparkCluster:
    """The master, and ``workers`` of it that run executors. Use as a context manager.

    Executors inherit the environment of their worker, with the path on which Python finds Moldau.
    """

    def __init__(self, folder: Path, *, workers: int = 1, cores: int = 4) -> None:
        self.folder = folder
        self.port = free_port()
        self.master_url = f"spark://{HOST}:{self.port}"
        self._count = workers
        self._cores = cores
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._started = 0

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            log = self.folder / "master.log"
            self._master = self._launch(
                log, "master.Master", "--host", HOST, "--port", str(self.port)
            )
            _wait(f"{log}: the master listens", lambda: "I have been elected leader" in _text(log))
            for _ in range(self._count):
                self.start_worker()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._workers, *filter(None, [self._master])):
            process.terminate()
        for process in (*self._workers, *filter(None, [self._master])):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start_worker(self) -> int:
        """Start one more worker; returns its process id when the master knows it."""
        self._started += 1
        log = self.folder / f"worker-{self._started}.log"
        where = self.folder / f"work-{self._started}"
        settings = ["--cores", str(self._cores), "--memory", "2g", "--work-dir", str(where)]
        process = self._launch(log, "worker.Worker", "--host", HOST, *settings, self.master_url)
        self._workers.append(process)
        _wait(f"{log}: a worker registers", lambda: "Successfully registered" in _text(log))
        return process.pid

    def kill_worker(self) -> None:
        """Kill the first worker with -9. Its executors end when they notice."""
        process = self._workers.pop(0)
        process.kill()
        process.wait()

    def executors(self) -> list[int]:
        """The process ids of the executors that run now."""
        found = [pid for worker in self._workers for pid in descendants(worker.pid)]
        return [pid for pid in found if EXECUTOR in command_of(pid)]

    def kill_executor(self) -> None:
        """Kill an executor with -9."""
        _wait("an executor runs", lambda: bool(self.executors()))
        os.kill(self.executors()[0], signal.SIGKILL)

    def _launch(self, log: Path, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = spark_home({})
        assert home is not None, "PySpark has Spark's jars"
        java = java_home(find_java(os.environ, wheel_home()), self.folder)
        environment = {
            **environment_without_spark(),
            "JAVA_HOME": str(java),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        command = [
            str(home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind}",
            "--webui-port",
            "0",
            *arguments,
        ]
        with log.open("wb") as output:
            return subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment
            )


def _text(path: Path) -> str:
    return path.read_text(errors="replace")


def _wait(what: str, is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + START_LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline_s, f"not within {START_LIMIT_S:g} s: {what}"
        time.sleep(0.1)

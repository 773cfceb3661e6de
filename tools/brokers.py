"""Starts Moldau and Apache Kafka as real processes, for the compatibility tests and the benchmarks.

Both have the same interface: a data directory, one address, one process. So a test can be verified
by running it against Apache Kafka, and a benchmark treats both sides alike.
"""

import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from moldau.ids import new_uuid, uuid_to_str
from tools import wire

PROJECT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
START_LIMIT_S = 240.0
STOP_LIMIT_S = 180.0
FIRST_PORT = 12_000
PORTS_PER_PROCESS = 500
PROCESSES = 40


def kafka_dir() -> Path:
    """Where tools/install-apache-kafka put Apache Kafka (``KAFKA_DIR``, or the project's cache)."""
    return Path(os.environ.get("KAFKA_DIR") or PROJECT / ".cache" / "apache-kafka")


def environment_elsewhere() -> dict[str, str]:
    """The environment of this process, for one that starts in another folder.

    A relative ``PYTHONPATH`` would be that of the folder: the other process would run the sources
    that are installed, and nobody would notice.
    """
    environment = dict(os.environ)
    path = environment.get("PYTHONPATH")
    if path:
        folders = [os.path.abspath(folder) for folder in path.split(os.pathsep)]
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    return environment


class _OwnPorts:
    """Ports that no other process of this kind tries.

    They are below the kernel's range for outgoing connections, and a process that wants any takes
    a range for itself by listening on its first port as long as it lives: a worker of pytest-xdist,
    or another run of the tests. So a port that is free now is still free when the broker binds it.
    """

    def __init__(self) -> None:
        self._taken = self._take()
        self.pid = os.getpid()
        first = self._taken.getsockname()[1] + 1
        count = PORTS_PER_PROCESS - 1
        begin = random.randrange(count)
        self.numbers = (first + (begin + step) % count for step in itertools.count())

    @staticmethod
    def _take() -> socket.socket:
        for number in random.sample(range(PROCESSES), PROCESSES):
            port = FIRST_PORT + number * PORTS_PER_PROCESS
            # Without SO_REUSEADDR: two could bind it before either of them listens.
            taken = socket.socket()
            try:
                taken.bind((HOST, port))
                taken.listen(1)
            except OSError:
                taken.close()
                continue
            return taken
        raise RuntimeError(f"{PROCESSES} processes have taken all ports that tests may use")


_own_ports: _OwnPorts | None = None


def free_port() -> int:
    """A port that is not in use, and that no other process is given by this function."""
    global _own_ports
    # A process that was forked has the ports of its parent, and must not use them.
    if _own_ports is None or _own_ports.pid != os.getpid():
        _own_ports = _OwnPorts()
    while True:
        port = next(_own_ports.numbers)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port


class Broker:
    """One broker process on ``directory``, which can be started and stopped repeatedly."""

    kind = ""

    def __init__(
        self, directory: Path, settings: Mapping[str, str] | None = None, port: int | None = None
    ) -> None:
        self.directory = directory
        self.settings = dict(settings or {})
        self.port = port or free_port()
        self.log_path = directory.parent / f"{directory.name}.{self.kind}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.ready_s = 0.0
        self._began = 0.0
        self.start_limit_s = START_LIMIT_S
        self.stop_limit_s = STOP_LIMIT_S

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def command(self) -> list[str]:
        raise NotImplementedError

    def prepare(self) -> None:
        """Prepare the start of the process; not part of its start-up time."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def environment(self) -> dict[str, str]:
        return environment_elsewhere()

    def start(self) -> "Broker":
        """Start the process and return when it has answered its first request."""
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        """Start the process."""
        self.prepare()
        with self.log_path.open("ab") as log:
            self._began = time.monotonic()
            self.process = subprocess.Popen(
                self.command(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self.environment(),
                cwd=self.directory.parent,
            )

    def wait_until_ready(self) -> None:
        """Return when the process has answered a request."""
        assert self.process is not None
        while not self.is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended while starting:\n{self.log_tail()}")
            if time.monotonic() - self._began > self.start_limit_s:
                self.kill()
                raise RuntimeError(f"{self.kind} gave no answer:\n{self.log_tail()}")
            time.sleep(0.005)
        self.ready_s = time.monotonic() - self._began

    def is_ready(self) -> bool:
        try:
            return bool(wire.broker_ids(HOST, self.port))
        except OSError:
            return False

    def stop(self) -> int:
        """Stop as an operator would (SIGTERM); returns the exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: anything not written yet is lost."""
        self._end(signal.SIGKILL)

    def _end(self, signal_number: int) -> int:
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            status = self.process.wait(self.stop_limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self.process = None
            raise RuntimeError(f"{self.kind} did not stop:\n{self.log_tail()}") from None
        self.process = None
        return status

    def log_tail(self, lines: int = 40) -> str:
        if not self.log_path.exists():
            return "(no log)"
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> "Broker":
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()


class MoldauBroker(Broker):
    """Moldau; with ``properties_path`` it is configured only by that ``server.properties``."""

    kind = "moldau"
    properties_path: Path | None = None

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "moldau", "start"]
        if self.properties_path is not None:
            return [*command, str(self.properties_path)]
        command += ["--data-dir", str(self.directory), "--listen", self.bootstrap]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        return command


class ApacheKafkaBroker(Broker):
    """Apache Kafka as a combined broker and controller, on a new or an existing data directory.

    An existing directory, of either broker, keeps its node id, cluster id and kind of quorum.
    """

    kind = "apache-kafka"

    def __init__(
        self, directory: Path, settings: Mapping[str, str] | None = None, port: int | None = None
    ) -> None:
        super().__init__(directory, settings, port)
        self.controller_port = free_port()
        self.properties_path = directory.parent / f"{directory.name}.server.properties"

    def command(self) -> list[str]:
        return [str(kafka_dir() / "bin" / "kafka-server-start"), str(self.properties_path)]

    def prepare(self) -> None:
        super().prepare()
        meta = read_properties(self.directory / "meta.properties")
        controller = f"{HOST}:{self.controller_port}"
        node_id = meta.get("node.id", "1")
        properties = {
            "process.roles": "broker,controller",
            "node.id": node_id,
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.directory),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        if meta and not has_voters_record(self.directory):
            properties["controller.quorum.voters"] = f"{node_id}@{controller}"
        else:
            properties["controller.quorum.bootstrap.servers"] = controller
        properties.update(self.settings)
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        self.properties_path.write_text(text)
        if not meta:
            self._format()

    def _format(self) -> None:
        storage = str(kafka_dir() / "bin" / "kafka-storage")
        cluster_id = uuid_to_str(new_uuid(random.SystemRandom()))
        done = subprocess.run(
            [storage, "format", "--standalone", "-t", cluster_id, "-c", str(self.properties_path)],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"kafka-storage format failed:\n{done.stdout}{done.stderr}")


BROKER_KINDS: dict[str, type[Broker]] = {"moldau": MoldauBroker, "apache": ApacheKafkaBroker}


def read_properties(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines if "=" in line)


def has_voters_record(directory: Path) -> bool:
    """Whether the quorum is dynamic (KIP-853), with its voters in the metadata log."""
    metadata_log = directory / "__cluster_metadata-0"
    quorum_state = metadata_log / "quorum-state"
    if quorum_state.exists():
        return bool(json.loads(quorum_state.read_text()).get("data_version") == 1)
    return (metadata_log / "00000000000000000000-0000000000.checkpoint").exists()


def missing_command(*names: str) -> str | None:
    """The first of ``names`` that is not on the PATH."""
    return next((name for name in names if shutil.which(name) is None), None)

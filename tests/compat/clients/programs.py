"""Builds and starts the programs that drive the clients of other languages.

What a machine lacks is a reason to skip, never a failure: ``UnavailableError`` names it.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.brokers import kafka_dir, missing_command

from tests.compat.clients.base import Client
from tests.compat.clients.driver import (
    DriverClient,
    FranzGoClient,
    JavaClient,
    KafkaJsClient,
    SaramaClient,
)
from tests.compat.java_tools import SHORT_LIVED

HERE = Path(__file__).resolve().parent.parent
BUILD_LIMIT_S = 600


class UnavailableError(Exception):
    """A tool this machine does not have; the message is the reason to skip."""


def require(*commands: str) -> None:
    missing = missing_command(*commands)
    if missing is not None:
        raise UnavailableError(f"{missing} is not on the PATH")


def require_apache_kafka() -> None:
    require("java")
    if not (kafka_dir() / "libs").is_dir():
        raise UnavailableError(
            "Apache Kafka is not installed: run tools/install-apache-kafka or set KAFKA_DIR"
        )


def build_java(build_dir: Path, program: str = "Driver") -> list[str]:
    """Compile a program of tests/compat/java; gives the command without its arguments."""
    require_apache_kafka()
    libraries = str(kafka_dir() / "libs" / "*")
    classes = compile_java(build_dir, program, libraries)
    logging = f"-Dlog4j2.configurationFile={kafka_dir()}/config/tools-log4j2.properties"
    # The archive of Kafka's classes is for class paths that begin with its jars.
    path = f"{libraries}{os.pathsep}{classes}"
    return ["java", *SHORT_LIVED, "-Xmx512M", logging, "-cp", path, program]


def compile_java(build_dir: Path, program: str, libraries: str) -> Path:
    """Compile a program of tests/compat/java; gives the folder of its classes."""
    require("javac")
    classes = build_dir / f"java-{program}"
    source = HERE / "java" / f"{program}.java"
    with _built_once(classes) as is_missing:
        if is_missing:
            # The compiler, too, ends before it has gained anything from being optimized.
            quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-nowarn"]
            _run(["javac", *quick, "-d", str(classes), "-cp", libraries, str(source)], HERE)
    return classes


@contextmanager
def _built_once(result: Path) -> Iterator[bool]:
    """Whether ``result`` is still to be built; another process that wants it waits meanwhile."""
    done = result.with_name(f"{result.name}.done")
    with result.with_name(f"{result.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not done.exists()
        done.touch()


def build_go(build_dir: Path) -> str:
    """Compile tests/compat/go; gives the path of the program."""
    require("go")
    folder = HERE / "go"
    wanted = re.search(r"^go (\d+)\.(\d+)", (folder / "go.mod").read_text(), re.MULTILINE)
    version = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True).stdout
    installed = re.search(r"go(\d+)\.(\d+)", version)
    assert wanted is not None
    if installed is None or [int(n) for n in installed.groups()] < [
        int(n) for n in wanted.groups()
    ]:
        raise UnavailableError(
            f"Go is {version.strip()}, the clients need go{'.'.join(wanted.groups())}"
        )
    program = build_dir / "go-driver"
    with _built_once(program) as is_missing:
        if is_missing:
            _run(["go", "build", "-buildvcs=false", "-o", str(program), "."], folder)
    return str(program)


def build_node(build_dir: Path, program: str = "driver.js") -> list[str]:
    """Install kafkajs as the lock file says; gives the command without its arguments."""
    require("node", "npm")
    folder = build_dir / "node"
    with _built_once(folder) as is_missing:
        if is_missing:
            folder.mkdir(exist_ok=True)
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(HERE / "node" / name, folder)
            for source in (HERE / "node").glob("*.js"):
                shutil.copy(source, folder)
            _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder)
    return ["node", str(folder / program)]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=BUILD_LIMIT_S
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


class ClientFactory:
    """Starts each library at most once per session.

    ``build_dir`` is where programs are built, once for all processes that name it.
    """

    def __init__(self, bootstrap: str, build_dir: Path, log_dir: Path) -> None:
        self._bootstrap = bootstrap
        self._build_dir = build_dir
        self._log_dir = log_dir
        self._go_program = ""
        self._clients: dict[str, Client | UnavailableError] = {}
        self._makers: dict[str, Callable[[], Client]] = {
            "confluent-kafka": self._confluent,
            "java": self._java,
            "franz-go": lambda: self._go(FranzGoClient, "twmb/franz-go"),
            "sarama": lambda: self._go(SaramaClient, "IBM/sarama"),
            "kafkajs": self._kafkajs,
            "aiokafka": self._aiokafka,
            "kafka-python": self._kafka_python,
        }

    def get(self, name: str) -> Client:
        """The client called ``name``; UnavailableError when this machine cannot run it."""
        found = self._clients.get(name)
        if found is None:
            try:
                found = self._makers[name]()
            except UnavailableError as reason:
                found = reason
            self._clients[name] = found
        if isinstance(found, UnavailableError):
            raise found
        return found

    def versions(self) -> dict[str, str]:
        started = {name: one for name, one in self._clients.items() if isinstance(one, Client)}
        return {name: client.version for name, client in started.items()}

    def close(self) -> None:
        for client in self._clients.values():
            if isinstance(client, Client):
                client.close()

    def _log(self, name: str) -> Path:
        return self._log_dir / f"{name}.log"

    def _confluent(self) -> Client:
        try:
            from tests.compat.clients.confluent import ConfluentClient
        except ImportError as missing:
            raise UnavailableError(f"confluent-kafka is not installed: {missing}") from missing
        return ConfluentClient(self._bootstrap)

    def _aiokafka(self) -> Client:
        try:
            from tests.compat.clients.python_clients import AioKafkaClient
        except ImportError as missing:
            raise UnavailableError(f"aiokafka is not installed: {missing}") from missing
        return AioKafkaClient(self._bootstrap)

    def _kafka_python(self) -> Client:
        try:
            from tests.compat.clients.python_clients import KafkaPythonClient
        except ImportError as missing:
            raise UnavailableError(f"kafka-python is not installed: {missing}") from missing
        return KafkaPythonClient(self._bootstrap)

    def _java(self) -> Client:
        client = JavaClient([*build_java(self._build_dir), self._bootstrap], self._log("java"))
        jar = next((kafka_dir() / "libs").glob("kafka-clients-*.jar"))
        client.version = jar.stem.removeprefix("kafka-clients-")
        return client

    def _kafkajs(self) -> Client:
        command = build_node(self._build_dir)
        client = KafkaJsClient([*command, self._bootstrap], self._log("kafkajs"))
        lock = (HERE / "node" / "package.json").read_text()
        client.version = re.findall(r'"kafkajs": "(.*)"', lock)[0]
        return client

    def _go(self, kind: type[DriverClient], module: str) -> Client:
        self._go_program = self._go_program or build_go(self._build_dir)
        client = kind([self._go_program, kind.name, self._bootstrap], self._log(kind.name))
        pinned = (HERE / "go" / "go.mod").read_text()
        client.version = re.findall(rf"github.com/{module} v(\S+)", pinned)[0]
        return client


CLIENT_NAMES = (
    "confluent-kafka",
    "java",
    "franz-go",
    "sarama",
    "kafkajs",
    "aiokafka",
    "kafka-python",
)

"""Runs Apache Kafka's command-line tools against a broker."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools import kafka_class_archive, wire
from tools.brokers import kafka_dir

LIMIT_S = 300

# For a JVM that runs for seconds and has Kafka's jars first on its class path.
SHORT_LIVED = (*kafka_class_archive.SHORT_LIVED, *kafka_class_archive.options(kafka_dir()))
SHORT_LIVED_JVM = " ".join(SHORT_LIVED)


class Output(NamedTuple):
    status: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.stdout.splitlines() if line.strip()]

    @property
    def both(self) -> str:
        return self.stdout + self.stderr


def run_tool(name: str, *arguments: str | Path, stdin: bytes = b"") -> Output:
    """Run a tool to its end, whatever its exit status."""
    done = subprocess.run(
        [str(kafka_dir() / "bin" / name), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=LIMIT_S,
        env={**os.environ, "KAFKA_JVM_PERFORMANCE_OPTS": SHORT_LIVED_JVM},
    )
    return Output(done.returncode, done.stdout.decode(), done.stderr.decode())


class JavaTools:
    """The tools with ``--bootstrap-server`` filled in."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        host, port = bootstrap.rsplit(":", 1)
        self.broker_id = str(wire.broker_ids(host, int(port))[0])

    def run(self, name: str, *arguments: str | Path, stdin: bytes = b"") -> Output:
        """Run a tool that must succeed without a warning."""
        output = self.attempt(name, *arguments, stdin=stdin)
        assert output.status == 0, output.both
        assert " WARN " not in output.stderr, output.stderr
        assert " ERROR " not in output.stderr, output.stderr
        return output

    def attempt(self, name: str, *arguments: str | Path, stdin: bytes = b"") -> Output:
        """Run a tool that may fail."""
        server = ("--bootstrap-server", self.bootstrap)
        # kafka-cluster has sub-commands, and wants them first.
        if name == "kafka-cluster":
            return run_tool(name, *arguments, *server, stdin=stdin)
        return run_tool(name, *server, *arguments, stdin=stdin)

    def offsets(self, topic: str, time: str) -> dict[int, int]:
        """kafka-get-offsets by partition; a partition without an answer is left out."""
        lines = self.run("kafka-get-offsets", "--topic", topic, "--time", time).lines
        fields = [line.split(":") for line in lines]
        return {int(partition): int(offset) for _, partition, offset in fields}


class Toolbox:
    """Tools that run in one Java process, which is a hundred times quicker than one each."""

    CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    GROUPS = "org.apache.kafka.tools.GroupsCommand"

    def __init__(self, command: Sequence[str], log_path: Path) -> None:
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )

    def run(self, tool: str, *arguments: str | Path) -> Output:
        """Run a tool to its end, whatever its exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {"tool": tool, "arguments": [str(argument) for argument in arguments]}
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Output(answer["status"], answer["stdout"], answer["stderr"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LIMIT_S)

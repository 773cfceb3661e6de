"""Apache Kafka's message classes, in a Java process at the other end of a pipe."""

import os
import struct
import subprocess
from pathlib import Path

from moldau.protocol.generator.schema import Message

HERE = Path(__file__).resolve().parent
RECODE, RANDOM, DEFAULT, SHAPE = range(4)

_PACKAGES = {
    "moldau.protocol.records.metadata": "org.apache.kafka.common.metadata",
    "moldau.protocol.records.group_coordinator": "org.apache.kafka.coordinator.group.generated",
    "moldau.protocol.records.offset_commit": "org.apache.kafka.coordinator.group.generated",
    "moldau.protocol.records.transaction_coordinator": (
        "org.apache.kafka.coordinator.transaction.generated"
    ),
    "moldau.protocol.records.share_coordinator": "org.apache.kafka.coordinator.share.generated",
    "moldau.protocol.records.storage": (
        "org.apache.kafka.server.log.remote.metadata.storage.generated"
    ),
    "moldau.protocol.records.raft": "org.apache.kafka.raft.generated",
}


def java_class(module: str, message: Message) -> str:
    """The class that Kafka has for a message."""
    package = _PACKAGES.get(module, "org.apache.kafka.common.message")
    suffix = "Data" if message.kind in ("request", "response") else ""
    return f"{package}.{message.name}{suffix}"


class RefusedError(Exception):
    """Kafka's class threw."""


class KafkaMessages:
    """The Java process. Use it as a context manager."""

    def __init__(self, kafka_dir: Path) -> None:
        command = ["java", "-Xmx512M", "-Dfile.encoding=UTF-8", "-cp", f"{kafka_dir}/libs/*"]
        self._process = subprocess.Popen(
            [*command, str(HERE / "MessageCodec.java")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )

    def __enter__(self) -> "KafkaMessages":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def _call(self, operation: int, name: str, version: int, arguments: bytes = b"") -> bytes:
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        raw = name.encode()
        request = struct.pack(f">bH{len(raw)}sh", operation, len(raw), raw, version) + arguments
        pipe_in.write(struct.pack(">i", len(request)) + request)
        pipe_in.flush()
        prefix = pipe_out.read(4)
        if len(prefix) < 4:
            raise RuntimeError(f"the Java process ended with code {self._process.wait()}")
        answer = pipe_out.read(int.from_bytes(prefix, "big"))
        if answer[0] != 0:
            raise RefusedError(answer[1:].decode())
        return answer[1:]

    def recode(self, name: str, version: int, encoded: bytes) -> bytes:
        """``encoded`` as Kafka encodes what it decoded from it."""
        return self._call(RECODE, name, version, encoded)

    def default(self, name: str, version: int) -> bytes:
        """A message of which nothing was set."""
        return self._call(DEFAULT, name, version)

    def shape(self, name: str, version: int) -> str:
        """The names of the fields, without underscores."""
        return self._call(SHAPE, name, version).decode()

    def random(
        self, name: str, version: int, seed: int, percent: int, other: int
    ) -> tuple[bytes, bytes | None]:
        """A random message with ``percent`` of its fields set: its bytes in ``version`` and,
        unless Kafka refuses, in the ``other`` version."""
        answer = self._call(RANDOM, name, version, struct.pack(">qbh", seed, percent, other))
        size = int.from_bytes(answer[:4], "big")
        encoded, rest = answer[4 : 4 + size], answer[4 + size :]
        return encoded, rest[1:] if rest[0] == 0 else None

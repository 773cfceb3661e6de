"""Clients of other languages: one long-lived program per library, spoken to over a pipe.

A request is a JSON object on one line, ``{"op": "produce", "topic": ..., ...}``; so is the answer,
with ``error`` (a Kafka error code) and ``message`` when it failed. Keys, values and header values
travel as base64. The programs are tests/compat/java, tests/compat/go and tests/compat/node.
"""

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.compat.clients.base import Client, ClientError, Record


class DriverClient(Client):
    """A client library behind a program's stdin and stdout."""

    def __init__(self, command: Sequence[str], log_path: Path) -> None:
        self._log_path = log_path
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, op: str, **arguments: Any) -> dict[str, Any]:
        """One request and its answer; ClientError when the library reported a failure."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended: {self._log_path.read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("error"):
            raise ClientError(answer["error"], answer["message"])
        return answer

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        self.call("create_topic", topic=topic, partitions=partitions, configs=dict(configs or {}))

    def delete_topic(self, topic: str) -> None:
        self.call("delete_topic", topic=topic)

    def list_topics(self) -> set[str]:
        return set(self.call("list_topics").get("topics", []))

    def topic_config(self, topic: str) -> dict[str, str]:
        return dict(self.call("topic_config", topic=topic)["configs"])

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        self.call("set_topic_config", topic=topic, configs=dict(configs))

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        codec: str | None = None,
        acks: str | None = None,
    ) -> list[int]:
        options = {"codec": codec, "acks": acks}
        given = {name: value for name, value in options.items() if value is not None}
        answer = self.call("produce", topic=topic, records=[_to_json(r) for r in records], **given)
        return list(answer["offsets"])

    def consume(self, topic: str, starts: Mapping[int, int], count: int) -> list[Record]:
        answer = self.call("consume", topic=topic, starts=dict(starts), count=count)
        return [_from_json(record) for record in answer["records"]]

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Record]:
        answer = self.call("consume", topic=topic, group=group, count=count)
        return [_from_json(record) for record in answer["records"]]

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        answer = self.call("offset_at", topic=topic, partition=partition, timestamp=timestamp)
        return int(answer["offset"])


class JavaClient(DriverClient):
    name: ClassVar[str] = "java"


class FranzGoClient(DriverClient):
    name: ClassVar[str] = "franz-go"


class SaramaClient(DriverClient):
    name: ClassVar[str] = "sarama"


class KafkaJsClient(DriverClient):
    name: ClassVar[str] = "kafkajs"
    sends_null_headers: ClassVar[bool] = False


def _to_json(record: Record) -> dict[str, Any]:
    return {
        "partition": record.partition,
        "timestamp": record.timestamp,
        "key": _to_text(record.key),
        "value": _to_text(record.value),
        "headers": [[name, _to_text(value)] for name, value in record.headers],
    }


def _from_json(record: dict[str, Any]) -> Record:
    return Record(
        partition=record["partition"],
        key=_to_bytes(record["key"]),
        value=_to_bytes(record["value"]),
        headers=tuple((name, _to_bytes(value)) for name, value in record["headers"]),
        timestamp=record["timestamp"],
        offset=record["offset"],
    )


def _to_text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _to_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)

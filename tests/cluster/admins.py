"""Clients that change metadata: librdkafka, the ``moldau`` command, and Java's admin client.

Each goes through the brokers it is given. What fails is a ``ClientError`` with the error code of
Kafka, or a negative one if no broker has answered.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final, Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from moldau.errors import ErrorCode
from tests.compat.clients.base import ClientError

TIMEOUT_S: Final = 10.0
NO_ANSWER: Final = -1
_ERROR_NAME: Final = re.compile(r"\(([A-Z_]+)\)$")


class MetadataAdmin(Protocol):
    """What a changer needs; the clients of tests/compat have it too."""

    def create_topic(self, topic: str, partitions: int = 1) -> None: ...
    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None: ...
    def delete_topic(self, topic: str) -> None: ...


class LibrdkafkaAdmin:
    """confluent-kafka's admin client."""

    def __init__(self, address: str) -> None:
        self._client = AdminClient({"bootstrap.servers": address, "log_level": 0})

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1)
        self._wait(self._client.create_topics([new], request_timeout=TIMEOUT_S)[topic])

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        set_to = AlterConfigOpType.SET
        entries = [
            ConfigEntry(name, value, incremental_operation=set_to)
            for name, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        self._wait(self._client.incremental_alter_configs([resource])[resource])

    def delete_topic(self, topic: str) -> None:
        self._wait(self._client.delete_topics([topic], request_timeout=TIMEOUT_S)[topic])

    def _wait(self, future: Any) -> None:
        try:
            future.result(TIMEOUT_S * 2)
        except KafkaException as error:
            cause = error.args[0]
            raise ClientError(cause.code(), cause.str()) from None


class MoldauCommand:
    """The ``moldau`` command, a process per change."""

    def __init__(self, address: str) -> None:
        self._address = address

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        self._run("topics", "create", topic, "--partitions", str(partitions))

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        wanted = ",".join(f"{name}={value}" for name, value in configs.items())
        self._run("configs", "alter", "--topic", topic, "--add-config", wanted)

    def delete_topic(self, topic: str) -> None:
        self._run("topics", "delete", topic)

    def _run(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "moldau", *arguments]
        done = subprocess.run(
            [*command, "--bootstrap-server", self._address], capture_output=True, text=True
        )
        if done.returncode == 0:
            return
        said = done.stderr.strip()
        name = _ERROR_NAME.search(said)
        raise ClientError(ErrorCode[name[1]] if name else NO_ANSWER, said)

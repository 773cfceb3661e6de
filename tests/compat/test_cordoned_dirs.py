"""Cordoned log directories: the same conversation with Apache Kafka and with Moldau (KIP-1066)."""

from pathlib import Path

import pytest
from tools.brokers import ApacheKafkaBroker, Broker, MoldauBroker

from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.sample import wait_until
from tests.running import WireClient

NAMES = ("data", "second", "third")
BROKER, SET, DELETE = 4, 0, 1

pytestmark = pytest.mark.compat


class Conversation:
    """What is asked of one broker, and what it answers."""

    def __init__(self, broker: Broker) -> None:
        self._folder = broker.directory.parent
        self._client = WireClient(broker.port)
        self.answers: list[object] = []

    def hold(self) -> None:
        self.answers += [
            self.cordon("1", "/nowhere"),
            self.cordon("1", f"*,{self.path('second')}"),
            self.cordon("", "*"),
            self.create("before"),
            self.cordon("1", self.path("second")),
        ]
        wait_until(lambda: self.cordoned() == ["second"], 30)
        self.answers += [
            self.create("beside"),
            "second" in self.directories_of("beside"),
            self.move("before", "second"),
            self.cordon("1", "*"),
        ]
        wait_until(lambda: self.cordoned() == list(NAMES), 30)
        # The controller hears of it with a heartbeat.
        wait_until(lambda: self.create("nowhere", validate_only=True)[0] != 0, 30)
        self.answers += [self.create("nowhere"), self.cordon("1", None)]
        wait_until(lambda: self.cordoned() == [], 30)
        wait_until(lambda: self.create("after", validate_only=True)[0] == 0, 30)
        self.answers.append(self.create("after"))

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def cordon(self, broker: str, value: str | None) -> int:
        change = AlterableConfig(
            name="cordoned.log.dirs",
            config_operation=SET if value is not None else DELETE,
            value=value,
        )
        resource = AlterConfigsResource(
            resource_type=BROKER, resource_name=broker, configs=[change]
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        return int(self._client.send(request, 1).responses[0].error_code)

    def create(self, name: str, validate_only: bool = False) -> tuple[int, str | None]:
        topic = CreatableTopic(name=name, num_partitions=6, replication_factor=1)
        request = CreateTopicsRequest(
            topics=[topic], timeout_ms=10_000, validate_only=validate_only
        )
        result = self._client.send(request, 7).topics[0]
        return int(result.error_code), result.error_message

    def move(self, topic: str, name: str) -> int:
        wanted = AlterReplicaLogDirTopic(name=topic, partitions=[0])
        target = AlterReplicaLogDir(path=self.path(name), topics=[wanted])
        request = AlterReplicaLogDirsRequest(dirs=[target])
        return int(self._client.send(request, 2).results[0].partitions[0].error_code)

    def cordoned(self) -> list[str]:
        results = self._client.send(DescribeLogDirsRequest(topics=None), 5).results
        return sorted(Path(each.log_dir).name for each in results if each.is_cordoned)

    def directories_of(self, topic: str) -> list[str]:
        results = self._client.send(DescribeLogDirsRequest(topics=None), 5).results
        return [
            Path(each.log_dir).name
            for each in results
            if any(found.name == topic for found in each.topics)
        ]

    def close(self) -> None:
        self._client.close()


def answers_of(kind: type[Broker], folder: Path) -> list[object]:
    paths = ",".join(str(folder / name) for name in NAMES)
    broker = kind(folder / NAMES[0], {"log.dirs": paths})
    broker.start()
    try:
        conversation = Conversation(broker)
        conversation.hold()
        conversation.close()
        return conversation.answers
    finally:
        broker.kill()


def test_both_brokers_say_the_same_about_cordoned_directories(tmp_path: Path) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    expected = answers_of(ApacheKafkaBroker, tmp_path / "apache")
    assert answers_of(MoldauBroker, tmp_path / "moldau") == expected
    assert [each for each in expected if isinstance(each, bool)] == [False]

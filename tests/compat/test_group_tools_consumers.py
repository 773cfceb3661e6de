"""Consumers on the command line: kafka-verifiable-consumer and kafka-console-consumer."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from tools.brokers import Broker, kafka_dir

from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.group_reading import GroupTopic, offset_keeper
from tests.compat.java_tools import SHORT_LIVED_JVM, JavaTools

PARTITIONS = 3
RECORDS = 10
LIMIT_S = 180
ASSIGNORS = "org.apache.kafka.clients.consumer"


@pytest.fixture(scope="module")
def group_tools(group_broker: Broker) -> JavaTools:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return JavaTools(group_broker.bootstrap)


@pytest.fixture
def reading(group_broker: Broker, topic: str) -> GroupTopic:
    written = GroupTopic(group_broker.bootstrap, topic, PARTITIONS)
    written.write(RECORDS)
    return written


class VerifiableConsumer:
    """A running kafka-verifiable-consumer; several run side by side, since each starts slowly."""

    def __init__(self, bootstrap: str, topic: str, group: str, *options: str | Path) -> None:
        self.group = group
        command = [
            str(kafka_dir() / "bin" / "kafka-verifiable-consumer"),
            *("--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group),
            *map(str, options),
        ]
        environment = {**os.environ, "KAFKA_JVM_PERFORMANCE_OPTS": SHORT_LIVED_JVM}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        self.events: list[dict[str, Any]] = []
        self.status = -1

    def wait(self) -> None:
        try:
            said, problems = self._process.communicate(timeout=LIMIT_S)
        finally:
            self._process.kill()
        self.status = self._process.returncode
        lines = [line for line in said.decode().splitlines() if line.startswith("{")]
        self.events = [json.loads(line) for line in lines]
        assert self.names[0] == "startup_complete", problems.decode()[-2000:]

    @property
    def names(self) -> list[str]:
        return [event["name"] for event in self.events]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["name"] == name]

    def check(self, read: int) -> None:
        """It read so much, of partitions that were all its own, and ended well."""
        assert self.status == 0, self.events
        assert "shutdown_complete" in self.names
        assigned = [each for e in self.named("partitions_assigned") for each in e["partitions"]]
        assert sorted(each["partition"] for each in assigned) == list(range(PARTITIONS))
        assert sum(event["count"] for event in self.named("records_consumed")) == read
        assert all(event["success"] for event in self.named("offsets_committed"))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_verifiable_consumer_works_with_all_its_options(
    group_tools: JavaTools, reading: GroupTopic, protocol: str, tmp_path: Path
) -> None:
    everything = PARTITIONS * RECORDS

    def start(name: str, *options: str | Path) -> VerifiableConsumer:
        group = f"{name}-{reading.name}"
        protocol_options = ("--group-protocol", protocol)
        where = (group_tools.bootstrap, reading.name, group)
        return VerifiableConsumer(*where, *protocol_options, *options)

    before = f"resumed-{reading.name}"
    # Waits until there is a coordinator.
    assert reading.committed(before) == {}
    offset_keeper(group_tools.bootstrap, before).commit(
        offsets=[TopicPartition(reading.name, p, 4) for p in range(PARTITIONS)], asynchronous=False
    )
    config = tmp_path / "consumer.properties"
    config.write_text("client.id=verified\n")
    earliest = ("--reset-policy", "earliest", "--max-messages", str(everything))
    if protocol == "classic":
        session = ("--session-timeout", "6000")
        assignor = ("--assignment-strategy", f"{ASSIGNORS}.RoundRobinAssignor")
    else:
        session = ()
        assignor = ("--group-remote-assignor", "range")

    told = start("told", *earliest, *session, *assignor, "--verbose")
    automatic = start("auto", *earliest, "--enable-autocommit", "--command-config", config)
    static = start("static", *earliest, "--group-instance-id", "one")
    rest = everything - 4 * PARTITIONS
    resumed = start("resumed", "--reset-policy", "none", "--max-messages", str(rest))
    lost = start("lost", "--reset-policy", "none", "--max-messages", "1")
    for consumer in (told, automatic, static, resumed, lost):
        consumer.wait()

    for consumer in (told, automatic, static):
        consumer.check(everything)
    resumed.check(rest)
    for consumer in (told, static, resumed):
        assert reading.committed(consumer.group) == reading.ends, consumer.group
    values = [event["value"] for event in told.named("record_data")]
    assert sorted(values) == sorted(
        f"record {n}" for n in range(RECORDS) for _ in range(PARTITIONS)
    )
    # Nothing is committed, and nothing is to be made up.
    assert "records_consumed" not in lost.names
    assert reading.committed(lost.group) == {}


def test_the_console_consumer_goes_on_where_its_group_left_off(
    group_tools: JavaTools, reading: GroupTopic
) -> None:
    group = f"group-of-{reading.name}"
    options = ("--topic", reading.name, "--group", group, "--from-beginning")
    first = group_tools.run("kafka-console-consumer", *options, "--max-messages", "12").lines
    assert len(first) == 12
    assert sum(reading.committed(group).values()) == 12
    rest = group_tools.run("kafka-console-consumer", *options, "--max-messages", "18").lines
    assert sorted(first + rest) == sorted(f"record {n}" for n in range(10) for _ in range(3))

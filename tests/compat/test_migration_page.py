"""The commands of docs/migration.md: nodes of Moldau replace those of Apache Kafka, under load."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.clusters import APACHE, Cluster, Member, eventually

from moldau.client import Admin
from tests.cli.pages import DOCS, Machines, page_commands, page_properties
from tests.cluster.history import History, violations
from tests.cluster.load import GroupMember, NumberedProducer, read_logs
from tests.cluster.transactions import TransactionalWriter, committed_values
from tests.cluster.transactions import violations as transaction_violations
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.clients.transactors import start_transactor
from tests.compat.java_tools import SHORT_LIVED_JVM

PAGE = (DOCS / "migration.md").read_text()
PROPERTIES = "/etc/moldau/server.properties"
NAMES = ("kafka-1", "kafka-2", "kafka-3", "kafka-4")
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "2",
}
TOPIC = "orders"
TRANSACTIONAL_TOPIC = "payments"
# One of either protocol of transactions.
TRANSACTORS = ("confluent-kafka", "moldau")
PARTITIONS = 3
RATE = 100.0
PAUSE_S = 0.1


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    with Machines(tmp_path / "machines", NAMES) as machines:
        yield machines


@pytest.fixture
def apache_kafka(
    tmp_path: Path, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cluster]:
    """Nodes 1 and 2, where the page says that they are."""
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)
    members = [Member(1, kind=APACHE), Member(2, "broker", APACHE)]
    quorum = {
        "controller.quorum.bootstrap.servers": machines.local("kafka-1:9093,kafka-3:9093", "")
    }
    cluster = Cluster(tmp_path / "apache", members, {**SETTINGS, **quorum})
    for node in cluster.nodes.values():
        node.host = machines.addresses[f"kafka-{node.node_id}"]
        node.port = int(machines.ports["9092"])
        node.controller_port = int(machines.ports["9093"])
    with cluster:
        yield cluster


class Load:
    """An idempotent producer, two groups and transactions, as long as the block lasts."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.history = History()
        self.producer = NumberedProducer(1, bootstrap, TOPIC, PARTITIONS, RATE, self.history)
        self.members = [
            GroupMember(protocol, bootstrap, TOPIC, protocol, protocol, self.history)
            for protocol in ("classic", "consumer")
        ]
        self.writers = [
            TransactionalWriter(
                number,
                start_transactor(name, bootstrap, folder, folder),
                TRANSACTIONAL_TOPIC,
                PARTITIONS,
                PAUSE_S,
            )
            for number, name in enumerate(TRANSACTORS)
        ]

    def start(self) -> None:
        for each in (*self.members, self.producer, *self.writers):
            each.start()
        for protocol in ("classic", "consumer"):
            eventually(f"{protocol} reads", lambda p=protocol: self.history.read_offsets(p))

    def check(self, bootstrap: str) -> None:
        """Every acknowledged record is there once, and each group has read all of them."""
        self.producer.stop()
        logs = read_logs(bootstrap, TOPIC, PARTITIONS)
        ends = {partition: log[-1][0] + 1 for partition, log in logs.items()}
        for protocol in ("classic", "consumer"):
            eventually(
                f"{protocol} has read everything",
                lambda p=protocol: self.history.read_offsets(p) == ends,
            )
        for each in self.members:
            each.stop()
        found = violations(self.history, logs)
        assert not found, "\n".join(found)
        for writer in self.writers:
            writer.stop()
            assert writer.failure is None, f"{writer.name}: {writer.failure!r}"
        committed = committed_values(bootstrap, TRANSACTIONAL_TOPIC, PARTITIONS)
        for writer in self.writers:
            found = transaction_violations(writer.transactions, committed)
            assert not found, f"{writer.name}:\n" + "\n".join(found)


@pytest.mark.timeout(900)
def test_the_commands_of_the_page_run(
    machines: Machines, apache_kafka: Cluster, tmp_path: Path
) -> None:
    (properties,) = page_properties(PAGE)
    machines.values["CLUSTER_ID"] = apache_kafka.cluster_id
    machines.write("kafka-3", PROPERTIES, properties)
    broker_only = (
        properties.replace("broker,controller", "broker")
        .replace("node.id=3", "node.id=4")
        .replace("kafka-3:9092,CONTROLLER://kafka-3:9093", "kafka-4:9092")
    )
    machines.write("kafka-4", PROPERTIES, broker_only)
    servers = machines.local(",".join(f"{name}:9092" for name in NAMES), "")
    with Admin(apache_kafka.bootstrap) as admin:
        admin.create_topic(TOPIC, PARTITIONS, 2)
        admin.create_topic(TRANSACTIONAL_TOPIC, PARTITIONS, 2)
    load = Load(servers, tmp_path)
    load.start()
    commands = page_commands(PAGE)
    assert len(commands) >= 20
    for command in commands:
        if command.text == "kafka-server-stop.sh":
            (name,) = command.machines
            apache_kafka.nodes[int(name[-1])].stop()
        else:
            machines.run(command)
    assert not any(node.is_running for node in apache_kafka.nodes.values())
    load.check(machines.local("kafka-3:9092,kafka-4:9092", ""))
    print(f"{len(load.history.acks)} records, {load.producer.longest_gap_s:.1f} s without one")
    for writer in load.writers:
        print(f"{writer.name}: {len(writer.transactions)} transactions, {writer.errors}")

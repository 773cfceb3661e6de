"""Clusters of Moldau and Apache Kafka nodes: one metadata log, the same topics on every broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from tools.clusters import APACHE, MOLDAU, Cluster, ClusterNode, Member, eventually

from tests.cluster.controller_faults import add_voter
from tests.cluster.metadata_logs import batches, different_batches, image_of
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED_JVM
from tests.compat.quorum_talk import admin, create_topic, describe_quorum, leaders, stop_in_order

PARTITIONS = 4
WAIT_S = 120.0
SHORT_LOGS = {
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "metadata.max.retention.bytes": "1",
}
# Apache Kafka's log begins where its first file does.
SHORT_SEGMENTS = {"metadata.log.segment.ms": "1"}
# An Apache Kafka controller takes a broker that was stopped back when its session has ended.
SESSIONS = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "1000"}


@pytest.fixture(autouse=True)
def _small_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)


def change_through(broker: ClusterNode, prefix: str) -> None:
    """One change of each kind through one broker: create, grow, alter, delete."""
    client = admin(broker)
    name, doomed = f"{prefix}-{broker.node_id}", f"{prefix}-doomed-{broker.node_id}"
    new = [NewTopic(name, PARTITIONS - 1, 1), NewTopic(doomed, 1, 1)]
    for created in client.create_topics(new, operation_timeout=WAIT_S).values():
        created.result(WAIT_S)
    grown = client.create_partitions([NewPartitions(name, PARTITIONS)])
    grown[name].result(WAIT_S)
    entry = ConfigEntry("retention.ms", "7654321", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    client.incremental_alter_configs([resource])[resource].result(WAIT_S)
    client.delete_topics([doomed], operation_timeout=WAIT_S)[doomed].result(WAIT_S)


def retention(broker: ClusterNode, topic: str) -> str:
    client = admin(broker)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described = client.describe_configs([resource])[resource].result(WAIT_S)
    value: str = described["retention.ms"].value
    return value


def changed(broker: ClusterNode) -> dict[str, dict[int, int]]:
    """The leaders of the topics that all brokers must show."""
    return {name: each for name, each in leaders(broker).items() if not name.startswith("early")}


def check_every_broker(cluster: Cluster, expected: set[str]) -> None:
    """Every broker shows the topics, with the same leaders, and brokers of both kinds lead."""
    brokers = cluster.brokers

    def agree() -> bool:
        seen = [changed(broker) for broker in brokers]
        return all(each == seen[0] and set(each) == expected for each in seen)

    eventually(f"every broker shows {sorted(expected)}", agree, WAIT_S)
    for name, partitions in changed(brokers[0]).items():
        assert list(partitions) == list(range(PARTITIONS)), name
        assert set(partitions.values()) == {broker.node_id for broker in brokers}, name
        for broker in brokers:
            assert retention(broker, name) == "7654321"


def check_records(broker: ClusterNode, topic: str) -> None:
    """Records reach the leader of each partition, whichever broker a client begins with."""
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    producer = Producer(settings)
    for partition in range(PARTITIONS):
        producer.produce(topic, f"value {partition}".encode(), partition=partition)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer({**settings, "group.id": "mixed", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    messages = consumer.consume(PARTITIONS, timeout=WAIT_S)
    consumer.close()
    assert {message.value() for message in messages} == {
        f"value {partition}".encode() for partition in range(PARTITIONS)
    }


def check_logs(cluster: Cluster) -> None:
    """Every node has the same metadata log, byte for byte."""
    nodes = list(cluster.nodes.values())
    assert not different_batches(nodes)
    assert all(len(batches(node)) > 10 for node in nodes)


def check_changes(cluster: Cluster, prefix: str, expected: set[str]) -> None:
    for broker in cluster.brokers:
        change_through(broker, prefix)
        expected.add(f"{prefix}-{broker.node_id}")
    check_every_broker(cluster, expected)
    for broker in cluster.brokers:
        check_records(broker, f"{prefix}-{broker.node_id}")


@pytest.fixture
def expected() -> set[str]:
    """The topics that every broker must show."""
    return set()


def test_an_apache_kafka_broker_joins_a_moldau_quorum(tmp_path: Path, expected: set[str]) -> None:
    members = [
        *(Member(node_id, "controller", settings=SHORT_LOGS) for node_id in (1, 2, 3)),
        Member(101, "broker"),
        Member(102, "broker", APACHE),
    ]
    cluster = Cluster(tmp_path, members, SESSIONS)
    try:
        for node_id in (1, 2, 3, 101):
            cluster.prepare(cluster.nodes[node_id])
            cluster.nodes[node_id].launch()
        cluster.nodes[101].wait_until_ready()
        for index in range(5):
            create_topic(cluster.nodes[101], f"early-{index}", PARTITIONS)
        # The log begins later by now, so the broker has to fetch a snapshot first.
        cluster.start()
        check_changes(cluster, "river", expected)
        # The broker finds the next leader of the quorum, as a broker of Apache Kafka's would.
        leader_id = describe_quorum(cluster.nodes[102].port).leader_id
        cluster.nodes[leader_id].kill()
        check_changes(cluster, "lake", expected)
        cluster.nodes[leader_id].start()
        stop_in_order(cluster)
        assert not different_batches(list(cluster.nodes.values()))
        assert 0 not in batches(cluster.nodes[102])
    finally:
        cluster.__exit__()


def test_a_moldau_broker_joins_an_apache_kafka_quorum(tmp_path: Path, expected: set[str]) -> None:
    members = [Member(1, "broker,controller", APACHE), Member(101, "broker")]
    with Cluster(tmp_path, members, SESSIONS) as cluster:
        check_changes(cluster, "river", expected)
        # The broker comes back to the same registration, with what it missed.
        cluster.nodes[101].stop()
        create_topic(cluster.nodes[1], "meanwhile")
        cluster.nodes[101].start()
        eventually("the topic is there", lambda: "meanwhile" in leaders(cluster.nodes[101]))
        stop_in_order(cluster)
        check_logs(cluster)


def test_moldau_begins_with_a_snapshot_of_an_apache_kafka_leader(
    tmp_path: Path, expected: set[str]
) -> None:
    members = [
        Member(1, "broker,controller", settings={**SHORT_LOGS, **SHORT_SEGMENTS}),
        Member(2, "controller"),
        Member(101, "broker"),
    ]
    cluster = Cluster(tmp_path, members, SESSIONS)
    first, voter, broker = (cluster.nodes[node_id] for node_id in (1, 2, 101))
    try:
        # Moldau cuts its log at once, Apache Kafka every minute: it goes on with Moldau's.
        del cluster.nodes[2]
        cluster.prepare(first)
        cluster.nodes[2] = voter
        first.start()
        for index in range(5):
            create_topic(first, f"early-{index}", PARTITIONS)
        first.stop()
        assert 0 not in batches(first)
        first.member = first.member._replace(kind=APACHE, settings={})
        cluster.prepare(first)
        first.start()
        cluster.prepare(voter, is_first=False)
        cluster.prepare(broker)
        early = {f"early-{index}" for index in range(5)}
        for node in (voter, broker):
            node.start()
            eventually(
                f"{node.kind} has the topics",
                lambda node=node: early <= set(image_of(node).topics_by_name),
            )
            # Its log begins where the snapshot ends, with the next record.
            eventually(f"{node.kind} has a record", lambda node=node: bool(batches(node)))
            assert min(batches(node)) > 0
            assert not different_batches([first, node])
        add_voter(cluster, voter)
        assert {each.replica_id for each in describe_quorum(first.port).current_voters} == {1, 2}
        check_changes(cluster, "river", expected)
        stop_in_order(cluster)
        assert not different_batches(list(cluster.nodes.values()))
    finally:
        cluster.__exit__()


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Cluster]:
    """Voters of both kinds. Apache Kafka's is quicker to stand for election, so it leads first."""
    quick = {"controller.quorum.election.timeout.ms": "500"}
    slow = {"controller.quorum.election.timeout.ms": "15000"}
    members = [
        Member(1, "controller", APACHE, quick),
        Member(2, "controller", settings=slow),
        Member(3, "controller", settings=slow),
        Member(101, "broker"),
    ]
    cluster = Cluster(tmp_path, members, SESSIONS)
    try:
        cluster.prepare(cluster.nodes[1], formatted_by=MOLDAU)
        cluster.nodes[1].start()
        yield cluster.start()
    finally:
        cluster.__exit__()


def test_voters_of_both_kinds_elect_each_other(mixed: Cluster, expected: set[str]) -> None:
    broker = mixed.nodes[101]
    assert describe_quorum(broker.port).leader_id == 1
    check_changes(mixed, "apache-leads", expected)
    mixed.nodes[1].stop()
    eventually(
        "another voter leads", lambda: describe_quorum(broker.port).leader_id in (2, 3), WAIT_S
    )
    check_changes(mixed, "moldau-leads", expected)
    mixed.nodes[1].start()
    check_changes(mixed, "all-again", expected)
    stop_in_order(mixed)
    check_logs(mixed)
    # Each kind goes on where the other stopped, with its vote, its log and its snapshots.
    for node_id, kind in ((1, MOLDAU), (2, APACHE)):
        node = mixed.nodes[node_id]
        node.member = node.member._replace(kind=kind)
    mixed.start()
    check_changes(mixed, "exchanged", expected)
    stop_in_order(mixed)
    check_logs(mixed)

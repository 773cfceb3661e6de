"""Transactions in clusters of Apache Kafka and Moldau: each coordinates, leads and follows.

Partitions are placed by hand, so that every kind of coordinator decides about partitions of every
kind of leader: markers and the questions of leaders (AddPartitionsToTxn 4 and 5) cross both ways.
``TORMENT_SECONDS=600`` makes the tests with faults longer, ``TORMENT_SEED=7`` chooses other faults.
"""

import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tools.clusters import APACHE, MOLDAU, Cluster, Member, eventually

from moldau.broker.group_runtime import group_hash
from moldau.ids import TRANSACTIONS_TOPIC
from tests.cluster.faults import HEALING_LIMIT_S, ClusterView
from tests.cluster.transaction_torment import SETTINGS, TransactionTorment
from tests.cluster.transactions import committed_values
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.clients.transactors import Transactor, start_transactor
from tests.compat.java_tools import SHORT_LIVED_JVM

SECONDS = float(os.environ.get("TORMENT_SECONDS", "10"))
PLACED = "placed"
COPY = "placed-copy"
BROKERS = 3
ROUNDS = 3
LIBRARIES = ("confluent-kafka", "java")
MOLDAU_BROKER = 103
UNDER_KAFKA = [
    Member(1, "controller", APACHE),
    Member(101, "broker", APACHE),
    Member(102, "broker", APACHE),
    Member(MOLDAU_BROKER, "broker", MOLDAU),
]
UNDER_MOLDAU = [
    Member(1, "controller", MOLDAU),
    Member(101, "broker", APACHE),
    Member(102, "broker", APACHE),
    Member(MOLDAU_BROKER, "broker", MOLDAU),
]


@pytest.fixture(autouse=True)
def _small_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)


@pytest.fixture(params=[UNDER_KAFKA, UNDER_MOLDAU], ids=["under Kafka", "under Moldau"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path / "cluster", request.param, SETTINGS) as made:
        yield made


@pytest.fixture
def transactors(cluster: Cluster, program_dir: Path, tmp_path: Path) -> Iterator[list[Transactor]]:
    with ExitStack() as stack:
        started = [
            start_transactor(name, cluster.bootstrap, program_dir, tmp_path) for name in LIBRARIES
        ]
        for each in started:
            stack.enter_context(closing(each))
        yield started


def place(cluster: Cluster, topic: str) -> None:
    """Create a topic with three partitions: each broker leads one of them."""
    brokers = [node.node_id for node in cluster.brokers]
    assignment = [brokers[index:] + brokers[:index] for index in range(len(brokers))]
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    wanted = NewTopic(topic, len(brokers), replica_assignment=assignment)
    admin.create_topics([wanted])[topic].result(120)
    ClusterView(cluster, topic).wait_until_whole()


def ids_by_coordinator(cluster: Cluster) -> dict[int, str]:
    """A transactional id for every broker to coordinate."""
    view = ClusterView(cluster, TRANSACTIONS_TOPIC)
    eventually("every replica of the coordinators is in sync", view.is_whole, HEALING_LIMIT_S)
    leaders = view.leaders()
    found: dict[int, str] = {}
    for number in itertools.count():
        name = f"id-{number}"
        found.setdefault(leaders[group_hash(name) % len(leaders)], name)
        if len(found) == len(set(leaders.values())):
            return found
    raise AssertionError


def write_everywhere(transactor: Transactor, coordinator: int, name: str) -> dict[int, list[str]]:
    """A transaction that is committed and one that is aborted, in partitions of every leader."""
    committed: dict[int, list[str]] = {}
    producer = f"{transactor.name}-{coordinator}"
    transactor.open(producer, name)
    for round_number in range(ROUNDS):
        for is_commit in (False, True):
            transactor.begin(producer)
            for partition in range(BROKERS):
                value = f"{producer}-{partition}-{round_number}-{is_commit}"
                transactor.send(producer, PLACED, partition, [value])
                if is_commit:
                    committed.setdefault(partition, []).append(value)
            transactor.end(producer, commit=is_commit)
    return committed


@pytest.mark.timeout(900)
def test_a_coordinator_of_either_kind_ends_transactions_on_leaders_of_either_kind(
    cluster: Cluster, transactors: list[Transactor]
) -> None:
    place(cluster, PLACED)
    place(cluster, COPY)
    transactors[0].open("first", "first")
    ids = ids_by_coordinator(cluster)
    assert set(ids) == {node.node_id for node in cluster.brokers}

    expected: dict[int, list[str]] = {partition: [] for partition in range(BROKERS)}
    for transactor in transactors:
        for coordinator, name in ids.items():
            for partition, values in write_everywhere(transactor, coordinator, name).items():
                expected[partition] += values
    assert committed_values(cluster.bootstrap, PLACED, BROKERS) == expected

    count = sum(map(len, expected.values()))
    for transactor, (coordinator, name) in zip(itertools.cycle(transactors), ids.items()):
        # Offsets are committed in the transaction, with the group coordinator that its id has.
        transactor.copy(PLACED, COPY, f"group-of-{coordinator}", name, count)
    copied = committed_values(cluster.bootstrap, COPY, BROKERS)
    assert copied == {partition: values * len(ids) for partition, values in expected.items()}


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_what_is_committed_is_what_was_written_whichever_kind_fails(
    cluster: Cluster, transactors: list[Transactor], tmp_path: Path
) -> None:
    torment = TransactionTorment(cluster, tmp_path, transactors)
    torment.run(SECONDS)
    print(torment.summary(), *torment.told(), sep="\n")

"""Replicas of one partition on Apache Kafka and Moldau, while every node of the cluster fails.

Moldau and Apache Kafka fetch from each other and lead in turn; groups move between them as well.
``TORMENT_SECONDS=600`` makes the tests longer, ``TORMENT_SEED=7`` chooses other faults.
``NODE_ROUNDS=10`` kills and rolls every broker ten times, one after the other.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.clusters import APACHE, MOLDAU, Cluster, Member

from tests.cluster.torment import SETTINGS, TOPIC, Torment, create_topic
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED_JVM
from tests.compat.replica_verification import check_replicas

SECONDS = float(os.environ.get("TORMENT_SECONDS", "60"))
NODE_ROUNDS = int(os.environ.get("NODE_ROUNDS", "0"))
IN_A_CLUSTER_OF_KAFKA = [
    Member(1, "controller", APACHE),
    Member(101, "broker", APACHE),
    Member(102, "broker", APACHE),
    Member(103, "broker", MOLDAU),
]


@pytest.fixture(autouse=True)
def _small_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)


def torment(
    cluster: Cluster, folder: Path, run: Callable[[Torment], None] = lambda it: it.run(SECONDS)
) -> None:
    with cluster:
        create_topic(cluster)
        tormented = Torment(cluster)
        tormented.add_librdkafka()
        tormented.add_java(folder)
        tormented.last_check = lambda: check_replicas(cluster, TOPIC)
        run(tormented)
        print(tormented.summary())


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_a_moldau_broker_replicates_in_a_cluster_of_apache_kafka(tmp_path: Path) -> None:
    torment(Cluster(tmp_path / "cluster", IN_A_CLUSTER_OF_KAFKA, SETTINGS), tmp_path)


@pytest.mark.skipif(not NODE_ROUNDS, reason="takes long: NODE_ROUNDS=10 or 'make torture' runs it")
@pytest.mark.timeout(900 + 300 * NODE_ROUNDS)
def test_each_broker_of_a_mixed_cluster_is_killed_and_rolled(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster", IN_A_CLUSTER_OF_KAFKA, SETTINGS)
    torment(cluster, tmp_path, lambda it: it.run_each_broker(NODE_ROUNDS))


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_apache_kafka_brokers_replicate_under_controllers_of_moldau(tmp_path: Path) -> None:
    members = [
        *(Member(node_id, "controller", MOLDAU) for node_id in (1, 2, 3)),
        Member(101, "broker", MOLDAU),
        Member(102, "broker", APACHE),
        Member(103, "broker", APACHE),
    ]
    torment(Cluster(tmp_path / "cluster", members, SETTINGS), tmp_path)

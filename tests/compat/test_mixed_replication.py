"""Replicas of one partition on Apache Kafka and Moldau, while every node of the cluster fails.

Moldau and Apache Kafka fetch from each other and lead in turn; groups move between them as well.
``TORMENT_SECONDS=600`` makes the tests longer, ``TORMENT_SEED=7`` chooses other faults.
"""

import os
from pathlib import Path

import pytest
from tools.clusters import APACHE, MOLDAU, Cluster, Member

from tests.cluster.torment import SETTINGS, TOPIC, Torment, create_topic
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED_JVM
from tests.compat.replica_verification import check_replicas

SECONDS = float(os.environ.get("TORMENT_SECONDS", "60"))


@pytest.fixture(autouse=True)
def _small_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)


def torment(cluster: Cluster, folder: Path) -> None:
    with cluster:
        create_topic(cluster)
        tormented = Torment(cluster)
        tormented.add_librdkafka()
        tormented.add_java(folder)
        tormented.last_check = lambda: check_replicas(cluster, TOPIC)
        tormented.run(SECONDS)
        print(tormented.summary())


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_a_moldau_broker_replicates_in_a_cluster_of_apache_kafka(tmp_path: Path) -> None:
    members = [
        Member(1, "controller", APACHE),
        Member(101, "broker", APACHE),
        Member(102, "broker", APACHE),
        Member(103, "broker", MOLDAU),
    ]
    torment(Cluster(tmp_path / "cluster", members, SETTINGS), tmp_path)


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_apache_kafka_brokers_replicate_under_controllers_of_moldau(tmp_path: Path) -> None:
    members = [
        *(Member(node_id, "controller", MOLDAU) for node_id in (1, 2, 3)),
        Member(101, "broker", MOLDAU),
        Member(102, "broker", APACHE),
        Member(103, "broker", APACHE),
    ]
    torment(Cluster(tmp_path / "cluster", members, SETTINGS), tmp_path)

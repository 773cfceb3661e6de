"""Java clients and librdkafka on a replicated topic, while its nodes fail, also by the network.

``CLUSTER_KIND=apache`` runs the tests against Apache Kafka, which shows that they are right;
``TORMENT_SECONDS=3600`` makes them longer, ``TORMENT_SEED=7`` chooses other faults.
"""

import os
from pathlib import Path

import pytest
from tools.clusters import MOLDAU, Cluster, Member

from tests.cluster.namespaces import Namespaces, reason_against
from tests.cluster.torment import SETTINGS, Torment, create_topic
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED_JVM

KIND = os.environ.get("CLUSTER_KIND", MOLDAU)
SECONDS = float(os.environ.get("TORMENT_SECONDS", "60"))


@pytest.fixture(autouse=True)
def _small_jvms(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)


def new_cluster(folder: Path) -> Cluster:
    return Cluster(folder, [Member(node_id, kind=KIND) for node_id in (1, 2, 3)], SETTINGS)


def torment(cluster: Cluster, folder: Path, namespaces: Namespaces | None = None) -> None:
    with cluster:
        create_topic(cluster)
        tormented = Torment(cluster)
        tormented.add_librdkafka()
        tormented.add_java(folder)
        tormented.run(SECONDS, namespaces)
        print(tormented.summary())


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_acknowledged_records_survive_nodes_that_are_cut_off(tmp_path: Path) -> None:
    reason = reason_against()
    if reason is not None:
        pytest.skip(reason)
    cluster = new_cluster(tmp_path / "cluster")
    with Namespaces(cluster) as namespaces:
        torment(cluster, tmp_path, namespaces)


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_acknowledged_records_survive_nodes_that_are_killed(tmp_path: Path) -> None:
    if reason_against() is None:
        pytest.skip("the test with network namespaces does this as well")
    torment(new_cluster(tmp_path / "cluster"), tmp_path)

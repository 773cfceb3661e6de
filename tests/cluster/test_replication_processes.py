"""Three nodes as processes: acknowledged records survive whatever happens to the nodes.

``CLUSTER_KIND=apache`` runs the tests against Apache Kafka, which shows that they are right;
``TORMENT_SECONDS=600`` makes them longer, ``TORMENT_SEED=7`` chooses other faults.
"""

import os
import shutil
from pathlib import Path

import pytest
from tools.clusters import MOLDAU, Cluster, ClusterNode, Member, eventually, separate_members

from tests.cluster.faults import ClusterView
from tests.cluster.load import read_logs, send_all
from tests.cluster.partition_logs import differences
from tests.cluster.torment import SETTINGS, TOPIC, Torment, create_topic

KIND = os.environ.get("CLUSTER_KIND", MOLDAU)
SECONDS = float(os.environ.get("TORMENT_SECONDS", "15"))


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_acknowledged_records_survive_kills_pauses_and_restarts(tmp_path: Path) -> None:
    members = [Member(node_id, kind=KIND) for node_id in (1, 2, 3)]
    with Cluster(tmp_path, members, SETTINGS) as cluster:
        create_topic(cluster)
        torment = Torment(cluster)
        torment.add_librdkafka()
        torment.run(SECONDS)
        print(torment.summary())


def send(bootstrap: str, first: int, count: int) -> None:
    send_all(bootstrap, TOPIC, (f"1.{number}" for number in range(first, first + count)))


def wipe(cluster: Cluster, node: ClusterNode) -> None:
    """An empty disk for a broker that does not run."""
    shutil.rmtree(node.directory)
    cluster.prepare(node)


def test_a_topic_with_three_replicas_survives_the_loss_of_two_brokers(tmp_path: Path) -> None:
    members = separate_members(1, 3, KIND)
    expected = [(number, f"1.{number}") for number in range(2000)]
    with Cluster(tmp_path, members, SETTINGS) as cluster:
        # With one replica left the topic stays readable and writable.
        create_topic(cluster, partitions=1, min_isr=1)
        view = ClusterView(cluster, TOPIC)
        send(cluster.bootstrap, 0, 1000)
        leader = view.leaders()[0]
        lost = [node for node in cluster.brokers if node.node_id != leader][:1]
        lost.append(cluster.nodes[leader])
        [survivor] = [node for node in cluster.brokers if node not in lost]
        for node in lost:
            node.kill()
        view = ClusterView(cluster, TOPIC)
        eventually("the survivor leads", lambda: view.leaders() == {0: survivor.node_id})
        eventually("it knows what is committed", lambda: read_logs(survivor.bootstrap, TOPIC, 1))
        assert read_logs(survivor.bootstrap, TOPIC, 1) == {0: expected[:1000]}
        send(survivor.bootstrap, 1000, 500)
        # Their disks are lost as well: everything comes from the survivor.
        for node in lost:
            wipe(cluster, node)
            node.start()
        view.wait_until_whole()
        send(cluster.bootstrap, 1500, 500)
        assert read_logs(cluster.bootstrap, TOPIC, 1) == {0: expected}
        view.wait_until_whole()
        cluster.__exit__()
        assert differences(cluster.brokers, TOPIC, 1) == []

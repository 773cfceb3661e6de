"""Three controllers and three brokers as processes; the controllers are killed, paused and wiped.

Topics are created, altered and deleted meanwhile: each change that was acknowledged must be there,
on every node, once. ``CLUSTER_ROUNDS=50`` runs longer. ``CLUSTER_KIND=apache`` runs the test
against Apache Kafka, which shows that the test is right.
"""

from pathlib import Path

import pytest
from tools.clusters import Cluster

from tests.cluster.admins import LibrdkafkaAdmin, MoldauCommand
from tests.cluster.changing import Changer
from tests.cluster.quorum_torment import LIMIT_S, check_acknowledged_changes, tormented_cluster


def changers_of(cluster: Cluster) -> list[Changer]:
    addresses = [broker.bootstrap for broker in cluster.brokers]
    return [
        Changer("librdkafka", [LibrdkafkaAdmin(address) for address in addresses], 1),
        Changer("librdkafka-too", [LibrdkafkaAdmin(address) for address in addresses], 2),
        Changer("moldau", [MoldauCommand(address) for address in addresses], 3),
    ]


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("is_dynamic", [False, True], ids=["static", "dynamic"])
def test_acknowledged_changes_survive_the_controllers(tmp_path: Path, is_dynamic: bool) -> None:
    with tormented_cluster(tmp_path, is_dynamic=is_dynamic) as cluster:
        check_acknowledged_changes(cluster, changers_of(cluster))

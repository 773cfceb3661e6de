"""Processes that are killed are noticed by their connections, and those that hang are not.

All timeouts are so long that they cannot be what notices a death within the limits of the tests.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tools.clusters import Cluster, ClusterNode, Member, eventually

from tests.compat.quorum_talk import describe_quorum
from tests.compat.quorum_talk import leaders as leaders_by_topic

SETTINGS: Final = {
    "broker.session.timeout.ms": "900000",
    "controller.quorum.fetch.timeout.ms": "900000",
    "controller.quorum.request.timeout.ms": "900000",
}
TOPIC: Final = "river"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    members = [Member(node_id) for node_id in (1, 2, 3)]
    with Cluster(tmp_path, members, SETTINGS) as made:
        admin = AdminClient({"bootstrap.servers": made.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 6, 3)])[TOPIC].result(120)
        yield made


def active(cluster: Cluster) -> ClusterNode:
    """The active controller, as any node that runs knows it."""
    found: list[int] = []

    def is_known() -> bool:
        running = next(node for node in cluster.nodes.values() if node.is_running)
        found[:] = [describe_quorum(running.port).leader_id]
        return cluster.nodes[found[0]].is_running

    eventually("a controller is active", is_known)
    return cluster.nodes[found[0]]


def leaders(node: ClusterNode) -> list[int]:
    """Who leads the partitions, as a node shows it to clients."""
    return list(leaders_by_topic(node)[TOPIC].values())


def fences(cluster: Cluster) -> list[str]:
    return [
        line
        for node in cluster.nodes.values()
        for line in node.log_path.read_text().splitlines()
        if "is fenced because" in line
    ]


def test_a_killed_leader_that_is_also_the_active_controller_is_replaced(cluster: Cluster) -> None:
    dead = active(cluster)
    rest = [node for node in cluster.nodes.values() if node is not dead]
    dead.kill()

    def is_replaced() -> bool:
        shown = [leader for node in rest for leader in leaders(node)]
        return dead.node_id not in shown and -1 not in shown

    eventually("all nodes show other leaders", is_replaced)
    assert active(cluster) in rest
    # Logs are written by a thread of their own.
    eventually("it is fenced", lambda: fences(cluster))
    assert len(fences(cluster)) == 1
    # Its next process takes its place, though the session of this one would last for minutes.
    dead.start()
    eventually("it is back", lambda: len(leaders(dead)) == 6)


def test_a_broker_that_is_started_again_at_once_need_not_wait(cluster: Cluster) -> None:
    leader = active(cluster)
    broker = next(node for node in cluster.nodes.values() if node is not leader)
    broker.kill()
    broker.start()
    assert len(leaders(broker)) == 6


def test_processes_that_hang_are_not_taken_for_dead(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        node.pause()
        time.sleep(2)
        node.resume()
    eventually("all answer", lambda: all(len(leaders(each)) == 6 for each in cluster.brokers))
    assert fences(cluster) == []

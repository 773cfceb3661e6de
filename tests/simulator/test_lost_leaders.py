"""What clients are told of a leader that its followers cannot reach and nobody has fenced."""

from collections.abc import Iterator

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.cluster import BROKER_PORT, BROKER_SESSION_MS, Topology
from moldau.simulator.machine import Machine
from tests.simulator.replicating import TOPIC, Replicating, replicating

# Controllers are apart: who cannot reach a broker may reach its controller.
BROKERS = Topology((1, 2, 3), (4, 5, 6))
# Shorter than the controller needs to take a broker for dead.
AT_ONCE_S = 0.001
# With so much delay a follower learns of the end of its connection a few milliseconds later.
LATE = 15
SOON_S = 1.0


class Stage:
    """A cluster, the leader of a partition, and one of its followers."""

    def __init__(self, cluster: Replicating) -> None:
        self.cluster = cluster
        self.leader = cluster.leader_of(cluster.partitions[0])
        self.follower, _ = cluster.followers_of(cluster.partitions[0])

    def answer(self, by: ClusterClient | None = None) -> MetadataResponse:
        """What the follower tells a client."""
        request = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
        return self.cluster.ask(request, MetadataResponse, of=self.follower, by=by)

    def partition(self) -> MetadataResponsePartition:
        return self.answer().topics[0].partitions[0]

    def told(self) -> int:
        """The leader of the partition, as the follower tells it."""
        return self.partition().leader_id

    def told_to(self, client: ClusterClient) -> int:
        """The same, to a client that asks again over its connection."""
        return self.answer(client).topics[0].partitions[0].leader_id

    def reset(self) -> None:
        """Break the connections of the leader with the other brokers."""
        for other in self.cluster.followers_of(self.cluster.partitions[0]):
            self.cluster.network.reset_all(self.leader.name, other.name)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with replicating(seed=41, topology=BROKERS) as cluster:
        cluster.run_for(2)
        yield Stage(cluster)


def id_of(machine: Machine) -> int:
    return machine.config.node_id


def test_a_killed_leader_is_not_named_to_clients_before_the_next_is_elected(stage: Stage) -> None:
    dead = id_of(stage.leader)
    stage.leader.kill()
    stage.cluster.run_for(AT_ONCE_S)
    answer = stage.answer()
    partition = answer.topics[0].partitions[0]
    assert (partition.leader_id, partition.leader_epoch) == (-1, 0)
    assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert partition.offline_replicas == [dead]
    # It has not been fenced: clients that know it keep it.
    assert dead in [broker.node_id for broker in answer.brokers]
    stage.cluster.run_for(SOON_S)
    partition = stage.partition()
    assert partition.leader_id not in (-1, dead)
    assert (partition.error_code, partition.leader_epoch) == (0, 1)
    stage.leader.start()
    stage.cluster.until(stage.cluster.is_fully_replicated)


def test_a_client_that_asks_before_its_follower_notices_is_not_sent_back(stage: Stage) -> None:
    """The connections of a dead process close one after the other, those of followers last."""
    client = stage.cluster.new_client()
    assert stage.told_to(client) == id_of(stage.leader)
    stage.cluster.network.link(stage.leader.name, stage.follower.name).slowness = LATE
    stage.leader.kill()
    assert stage.told_to(client) == -1
    stage.leader.start()
    stage.cluster.until(stage.cluster.is_fully_replicated)


def test_a_killed_broker_is_listed_for_a_session_timeout(stage: Stage) -> None:
    """librdkafka may lose a second if the old leader vanishes when it learns of the new one."""
    dead = id_of(stage.leader)
    stage.leader.kill()
    stage.cluster.run_for(SOON_S)
    answer = stage.answer()
    assert answer.topics[0].partitions[0].leader_id not in (-1, dead)
    assert dead in [broker.node_id for broker in answer.brokers]
    described = stage.cluster.ask(DescribeClusterRequest(), DescribeClusterResponse, stage.follower)
    assert dead not in [broker.broker_id for broker in described.brokers]
    stage.cluster.run_for(BROKER_SESSION_MS / 1000)
    assert dead not in [broker.node_id for broker in stage.answer().brokers]
    stage.leader.start()
    stage.cluster.until(stage.cluster.is_fully_replicated)
    assert dead in [broker.node_id for broker in stage.answer().brokers]


def test_a_broker_that_has_shut_down_is_not_listed(stage: Stage) -> None:
    stopped = id_of(stage.leader)
    stage.leader.stop()
    stage.cluster.until(lambda: stage.leader.process is None)
    assert stopped not in [broker.node_id for broker in stage.answer().brokers]


def test_a_leader_that_accepts_connections_is_named_though_it_lost_some(stage: Stage) -> None:
    stage.reset()
    stage.cluster.run_for(AT_ONCE_S)
    assert stage.told() == id_of(stage.leader)


def test_a_leader_that_hangs_is_named(stage: Stage) -> None:
    stage.leader.pause()
    stage.reset()
    stage.cluster.run_for(AT_ONCE_S)
    assert stage.told() == id_of(stage.leader)
    stage.leader.resume()


def test_a_leader_that_only_its_followers_cannot_reach_is_named_again_after_two_seconds(
    stage: Stage,
) -> None:
    """The controller has its heartbeats, and clients may reach it at another address."""
    listeners = stage.leader.host.listeners
    door = listeners.pop(BROKER_PORT)
    stage.reset()
    stage.cluster.run_for(0.5)
    assert stage.told() == -1
    stage.cluster.run_for(2)
    assert stage.told() == id_of(stage.leader)
    listeners[BROKER_PORT] = door
    stage.cluster.until(stage.cluster.is_fully_replicated)


def test_a_leader_that_is_reached_again_is_named_at_once(stage: Stage) -> None:
    listeners = stage.leader.host.listeners
    door = listeners.pop(BROKER_PORT)
    stage.reset()
    stage.cluster.run_for(0.5)
    assert stage.told() == -1
    listeners[BROKER_PORT] = door
    stage.cluster.run_for(0.2)
    assert stage.told() == id_of(stage.leader)


def test_a_large_answer_without_leaders_is_not_kept_when_they_are_back(stage: Stage) -> None:
    large = [CreatableTopic("large", 150, 3)]
    created = stage.cluster.ask(CreateTopicsRequest(large, 30_000), CreateTopicsResponse)
    assert created.topics[0].error_code == 0
    stage.cluster.run_for(2)
    request = MetadataRequest([MetadataRequestTopic(name="large")])

    def leaderless() -> int:
        answer = stage.cluster.ask(request, MetadataResponse, of=stage.follower)
        return sum(each.leader_id == -1 for each in answer.topics[0].partitions)

    assert leaderless() == 0
    listeners = stage.leader.host.listeners
    door = listeners.pop(BROKER_PORT)
    stage.reset()
    stage.cluster.run_for(0.5)
    assert leaderless() == 50
    listeners[BROKER_PORT] = door
    stage.cluster.run_for(0.2)
    assert leaderless() == 0


def test_a_second_loss_counts_like_the_first(stage: Stage) -> None:
    stage.reset()
    stage.cluster.run_for(1)
    stage.leader.kill()
    stage.cluster.run_for(AT_ONCE_S)
    assert stage.told() == -1
    stage.leader.start()
    stage.cluster.until(stage.cluster.is_fully_replicated)


def test_nobody_looks_if_the_detection_is_switched_off() -> None:
    settings = {"moldau_failure_detection_enable": "false"}
    with replicating(seed=42, topology=BROKERS, **settings) as cluster:
        stage = Stage(cluster)
        stage.leader.kill()
        cluster.run_for(0.5)
        assert stage.told() == id_of(stage.leader)
        stage.leader.start()
        cluster.until(cluster.is_fully_replicated)

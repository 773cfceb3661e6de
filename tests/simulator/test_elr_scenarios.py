"""What the controller may do with partitions whose replicas are not all there."""

from moldau.ids import TopicPartition
from moldau.metadata.registrations import BrokerRegistration, PartitionRegistration
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.simulator.cluster import Topology
from moldau.simulator.disk import keep_everything
from moldau.simulator.machine import Machine
from tests.simulator.replicating import TOPIC, Replicating, replicating

# Controllers are apart: only replicas are lost.
BROKERS = Topology((1, 2, 3), (4, 5, 6))
_TOPIC_RESOURCE = 2
_SET = 0


def id_of(machine: Machine) -> int:
    return machine.config.node_id


def registration(cluster: Replicating, topic_partition: TopicPartition) -> PartitionRegistration:
    """The partition, as the first controller knows it."""
    node = cluster.machine(1).node
    assert node is not None
    topic = node.metadata.image.topics_by_name[topic_partition.topic]
    return topic.partitions[topic_partition.partition]


def broker(cluster: Replicating, machine: Machine) -> BrokerRegistration:
    node = cluster.machine(1).node
    assert node is not None
    return node.metadata.image.brokers[id_of(machine)]


def left_alone(
    cluster: Replicating, topic_partition: TopicPartition
) -> tuple[Machine, Machine, Machine]:
    """The leader, which is the only one in sync, and its followers; the second is eligible."""
    last = cluster.leader_of(topic_partition)
    first, second = cluster.followers_of(topic_partition)
    for other in (first, second):
        cluster.until_acknowledged(20)
        other.kill()
    cluster.until(lambda: registration(cluster, topic_partition).elr == (id_of(second),))
    return last, first, second


def reassign(cluster: Replicating, *replicas: int) -> None:
    moved = [ReassignablePartition(each.partition, list(replicas)) for each in cluster.partitions]
    response = cluster.ask(
        AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, moved)]),
        AlterPartitionReassignmentsResponse,
    )
    assert [each.error_code for each in response.responses[0].partitions] == [0] * len(moved)
    cluster.wanted = sorted(replicas)


def test_16540_a_smaller_min_isr_ends_the_eligibility_of_those_who_are_out_of_sync() -> None:
    """The leader acknowledges by itself from then on, and the others lack what it does."""
    with replicating(seed=51, topology=BROKERS) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = cluster.partitions[0]
        last, first, second = left_alone(cluster, topic_partition)
        smaller = AlterableConfig("min.insync.replicas", _SET, "1")
        altered = cluster.ask(
            IncrementalAlterConfigsRequest(
                [AlterConfigsResource(_TOPIC_RESOURCE, TOPIC, [smaller])]
            ),
            IncrementalAlterConfigsResponse,
        )
        assert altered.responses[0].error_code == 0
        cluster.until_acknowledged(50)
        assert registration(cluster, topic_partition).elr == ()
        last.kill()
        second.start()
        cluster.until(lambda: second.node is not None)
        cluster.run_for(5)
        assert registration(cluster, topic_partition).leader == -1
        last.start()
        first.start()
        cluster.until_acknowledged(50)
        cluster.end_work()


def test_19522_a_last_known_leader_that_is_fenced_is_not_elected() -> None:
    """It has registered again, and goes away before it is unfenced."""
    with replicating(seed=52, topology=BROKERS) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = cluster.partitions[0]
        last, first, second = left_alone(cluster, topic_partition)
        for machine in (second, last):
            # Nothing is lost, but nobody knows.
            machine.cut_power(lose_pages=False, lose_names=False, keep=keep_everything)
            machine.return_power()
        cluster.until(lambda: broker(cluster, last).fenced)
        second.start()
        cluster.until(lambda: registration(cluster, topic_partition).elr == (id_of(last),))
        last.start()
        cluster.until(lambda: registration(cluster, topic_partition).elr == ())
        last.kill()
        assert broker(cluster, last).fenced
        assert registration(cluster, topic_partition).last_known_elr == (id_of(last),)
        first.start()
        cluster.until(lambda: first.node is not None)
        cluster.run_for(5)
        assert registration(cluster, topic_partition).leader == -1
        last.start()
        cluster.until_acknowledged(50)
        cluster.end_work()


def test_19975_a_sick_replica_that_stays_does_not_hold_up_a_reassignment() -> None:
    with replicating(seed=53, topology=BROKERS, min_insync_replicas="1") as cluster:
        reassign(cluster, 4, 5)
        cluster.until(cluster.is_fully_replicated)
        cluster.begin_work()
        cluster.until_acknowledged(50)
        sick = cluster.machine(5)
        sick.kill()
        cluster.until(lambda: broker(cluster, sick).fenced)
        reassign(cluster, 6, 5)
        for topic_partition in cluster.partitions:
            cluster.until(lambda it=topic_partition: registration(cluster, it).replicas == (6, 5))
            assert registration(cluster, topic_partition).isr == (6,)
        cluster.until_acknowledged(50)
        sick.start()
        cluster.until(cluster.is_fully_replicated)
        cluster.end_work()

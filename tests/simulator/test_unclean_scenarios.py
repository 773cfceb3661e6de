"""Replicas whose brokers end without a word: who may have lost records, and who has not."""

from moldau.ids import TopicPartition
from moldau.simulator.cluster import Topology
from moldau.simulator.disk import keep_nothing
from moldau.simulator.machine import Machine
from moldau.storage.running_marks import RUNNING
from tests.simulator.replicating import Replicating, replicating

# Controllers are apart: only replicas are lost.
BROKERS = Topology((1, 2, 3), (4, 5, 6))


def id_of(machine: Machine) -> int:
    return machine.config.node_id


def eligible(cluster: Replicating, topic_partition: TopicPartition) -> tuple[int, ...]:
    """The eligible leader replicas, as the first controller knows them."""
    node = cluster.machine(1).node
    assert node is not None
    topic = node.metadata.image.topics_by_name[topic_partition.topic]
    return tuple(topic.partitions[topic_partition.partition].elr)


def leader(cluster: Replicating, topic_partition: TopicPartition) -> int:
    node = cluster.machine(1).node
    assert node is not None
    topic = node.metadata.image.topics_by_name[topic_partition.topic]
    return topic.partitions[topic_partition.partition].leader


def lose_followers(
    cluster: Replicating, topic_partition: TopicPartition
) -> tuple[Machine, Machine, Machine]:
    """The leader, left alone, and its followers, the second of which is eligible."""
    last = cluster.leader_of(topic_partition)
    first, second = cluster.followers_of(topic_partition)
    for other in (first, second):
        cluster.until_acknowledged(20)
        other.kill()
    cluster.until(lambda: eligible(cluster, topic_partition) == (id_of(second),))
    return last, first, second


def write_back(machine: Machine) -> None:
    """Let the kernel write the names of the data directory and the mark, as it does in time."""
    machine.disk.open(f"/data/{RUNNING}").fsync()
    machine.disk.sync_dir("/data")


def test_966_replicas_that_were_killed_are_elected_when_the_last_one_loses_its_power() -> None:
    """Kill -9 loses nothing that was written, and the broker can prove it."""
    with replicating(seed=31, topology=BROKERS) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        last, first, second = lose_followers(cluster, cluster.partitions[0])
        last.cut_power()
        first.start()
        second.start()
        cluster.until_acknowledged(50)
        last.return_power()
        last.start()
        cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_18635_a_replica_that_lost_its_power_is_not_eligible_any_more() -> None:
    """It may lack what was acknowledged; the leader was killed and has everything."""
    with replicating(seed=32, topology=BROKERS) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = cluster.partitions[0]
        last, first, second = lose_followers(cluster, topic_partition)
        write_back(second)
        second.cut_power(keep=keep_nothing)
        last.kill()
        second.return_power()
        second.start()
        cluster.until(lambda: second.node is not None)
        cluster.run_for(5)
        assert leader(cluster, topic_partition) == -1
        assert eligible(cluster, topic_partition) == (id_of(last),)
        last.start()
        first.start()
        cluster.until_acknowledged(50)
        cluster.until(cluster.is_fully_replicated)
        cluster.end_work()


def test_18106_a_replica_that_returns_at_once_from_a_power_cut_leaves_the_isr() -> None:
    """Its session has not expired, so nobody has noticed that it was gone."""
    with replicating(seed=33, topology=BROKERS) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = cluster.partitions[0]
        first, second = cluster.followers_of(topic_partition)
        last = cluster.leader_of(topic_partition)
        first.kill()
        cluster.until_acknowledged(20)
        write_back(second)
        second.cut_power(keep=keep_nothing)
        second.return_power()
        second.start()
        last.kill()
        cluster.until(lambda: second.node is not None)
        cluster.run_for(15)
        assert leader(cluster, topic_partition) == -1
        last.start()
        first.start()
        cluster.until_acknowledged(50)
        cluster.until(cluster.is_fully_replicated)
        cluster.end_work()

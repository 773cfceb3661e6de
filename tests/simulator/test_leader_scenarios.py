"""Leaders whose followers lag, are cut off from them, or are all gone."""

from moldau.broker.partition import Partition
from moldau.ids import TopicPartition
from moldau.simulator.cluster import Topology
from moldau.simulator.machine import Machine
from tests.simulator.replicating import Replicating, replicating


def led_by_another(cluster: Replicating) -> TopicPartition:
    """A partition whose leader is not the active controller."""
    cluster.until(lambda: active(cluster) is not None)
    for each in cluster.partitions:
        if cluster.leader_of(each) is not active(cluster):
            return each
    raise AssertionError("the active controller leads everything")


def active(cluster: Replicating) -> Machine | None:
    for machine in cluster.cluster.machines:
        if machine.node is not None and machine.node.metadata.runtime.is_active:
            return machine
    return None


def on(machine: Machine, topic_partition: TopicPartition) -> Partition:
    """The replica of a machine that runs."""
    assert machine.node is not None
    partition = machine.node.broker.replicas.find(topic_partition)
    assert partition is not None
    return partition


def id_of(machine: Machine) -> int:
    return machine.config.node_id


def test_a_follower_that_cannot_reach_its_leader_is_removed_and_joins_again_later() -> None:
    """It is not fenced: the controller hears of it."""
    with replicating(seed=21) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = led_by_another(cluster)
        leader = cluster.leader_of(topic_partition)
        follower = next(
            each for each in cluster.followers_of(topic_partition) if each is not active(cluster)
        )
        replica = on(leader, topic_partition)
        epoch = replica.leader_epoch
        for source, target in ((leader, follower), (follower, leader)):
            cluster.network.cut(source.name, target.name)
        cluster.until(lambda: id_of(follower) not in replica.registration.isr)
        cluster.until_acknowledged(50)
        assert leader.node is not None
        assert not leader.node.metadata.image.brokers[id_of(follower)].fenced
        for source, target in ((leader, follower), (follower, leader)):
            cluster.network.mend(source.name, target.name)
        cluster.until(cluster.is_fully_replicated)
        assert (replica.is_leader, replica.leader_epoch) == (True, epoch)
        cluster.end_work()


def test_nothing_is_acknowledged_by_a_leader_that_is_left_alone() -> None:
    with replicating(seed=22) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = cluster.partitions[0]
        followers = cluster.followers_of(topic_partition)
        for follower in followers:
            follower.kill()
        cluster.run_for(20)
        before = cluster.acknowledged()
        cluster.run_for(20)
        assert cluster.acknowledged() == before
        for follower in followers:
            follower.start()
        cluster.until_acknowledged(50)
        cluster.end_work()


def test_966_the_last_replica_standing_loses_its_power() -> None:
    """What was acknowledged is on another replica, which is elected although it left the ISR."""
    with replicating(seed=23, topology=Topology((1, 2, 3), (4, 5, 6))) as cluster:
        cluster.begin_work()
        cluster.until_acknowledged(50)
        topic_partition = cluster.partitions[0]
        last = cluster.leader_of(topic_partition)
        first, second = cluster.followers_of(topic_partition)
        for other in (first, second):
            cluster.until_acknowledged(20)
            other.stop()
            cluster.until(lambda other=other: other.process is None)
        registration = on(last, topic_partition).registration
        assert (registration.isr, registration.elr) == ((id_of(last),), (id_of(second),))
        # Producers with acks=all are refused, others are not; nobody sees what they write.
        cluster.run_for(2)
        last.cut_power()
        first.start()
        second.start()
        cluster.until_acknowledged(50)
        last.return_power()
        last.start()
        cluster.until(cluster.is_fully_replicated)
        cluster.end_work()

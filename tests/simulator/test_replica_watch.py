"""Replicas that contradict each other are noticed."""

from collections.abc import Iterator

import pytest

from moldau.broker.partition import Partition
from moldau.ids import TopicPartition
from moldau.record.records import BatchBuilder
from moldau.simulator.replica_watch import ReplicaWatch, are_replicas_in_sync
from tests.simulator.scenes import Scene, node_of, scene

PARTITION = TopicPartition("copied", 0)


@pytest.fixture
def cluster() -> Iterator[Scene]:
    """Three copies of three records."""
    with scene("replicated") as made:
        assert made.create_topic(PARTITION.topic, replicas=[1, 2, 3]) == 0
        for value in (b"a", b"b", b"c"):
            made.produce(PARTITION.topic, value)
        made.run_for(2)
        yield made


def replica(cluster: Scene, node_id: int) -> Partition:
    found = node_of(cluster.machine(node_id)).broker.replicas.find(PARTITION)
    assert found is not None
    return found


def surprises(cluster: Scene) -> list[str]:
    """What the observer finds, which is expected in these tests."""
    ReplicaWatch(cluster.world, cluster.cluster, [PARTITION])
    cluster.run_for(0.5)
    found = list(dict.fromkeys(cluster.world.surprises))
    cluster.world.surprises.clear()
    return found


def test_equal_copies_are_fine(cluster: Scene) -> None:
    assert surprises(cluster) == []
    assert are_replicas_in_sync(cluster.cluster, [PARTITION], 3)


def test_a_copy_with_another_batch_is_noticed(cluster: Scene) -> None:
    log = replica(cluster, 3).log
    log.truncate_to(2)
    builder = BatchBuilder()
    builder.append(0, None, b"d", ())
    batch = bytearray(builder.build())
    batch[:8] = (2).to_bytes(8, "big")
    batch[12:16] = (0).to_bytes(4, "big")
    log.append_as_follower(bytes(batch))
    log.update_high_watermark(3)
    (found,) = surprises(cluster)
    assert "at offset 2 of copied-0, where" in found


def test_a_leader_that_lacks_what_was_committed_is_noticed(cluster: Scene) -> None:
    watch = ReplicaWatch(cluster.world, cluster.cluster, [PARTITION])
    watch._committed[PARTITION] = 4
    cluster.run_for(0.5)
    (found,) = dict.fromkeys(cluster.world.surprises)
    cluster.world.surprises.clear()
    assert "with 3 records, but 4 were committed" in found


def test_two_leaders_of_an_epoch_are_noticed(cluster: Scene) -> None:
    watch = ReplicaWatch(cluster.world, cluster.cluster, [PARTITION])
    watch._leaders[PARTITION, replica(cluster, 1).leader_epoch] = "node-2"
    cluster.run_for(0.15)
    (found,) = dict.fromkeys(cluster.world.surprises)
    cluster.world.surprises.clear()
    assert "and so does node-2" in found


def test_a_replica_that_is_gone_is_missing_in_the_isr(cluster: Scene) -> None:
    cluster.machine(3).kill()
    cluster.wait_until(lambda: len(replica(cluster, 1).registration.isr) == 2, seconds=30)
    assert not are_replicas_in_sync(cluster.cluster, [PARTITION], 3)

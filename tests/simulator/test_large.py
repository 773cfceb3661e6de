"""The life of a large cluster, with a small one."""

import pytest

from moldau.simulator.large import LargeCluster


def create(large: LargeCluster) -> None:
    """Start the cluster, and create its topics."""
    large.cluster.start()
    large._wait("start", large._are_ready)
    large._create()
    large._wait("create", large._all_have_all)


def bury(large: LargeCluster) -> None:
    large.world.is_over = True
    large._client.bury()
    large.cluster.bury()


def test_every_step_is_done_by_all_nodes() -> None:
    large = LargeCluster(brokers=6, partitions=60, replicas=3, racks=3)
    steps = large.run()
    assert [step.name for step in steps] == [
        "start",
        "create",
        "lose a rack",
        "it comes back",
        "elect it again",
        "lose the active controller",
    ]
    assert all(step.virtual_s < 60 for step in steps)


def test_all_brokers_of_a_rack_are_lost_and_no_partition_with_them() -> None:
    large = LargeCluster(brokers=6, partitions=60, replicas=3, racks=3)
    create(large)
    lost = large._lost_machines()
    images = [machine.node.metadata.image for machine in lost if machine.node is not None]
    brokers = images[0].brokers
    assert [brokers[machine.config.node_id].rack for machine in lost] == ["rack-0", "rack-0"]
    for partition in images[0].topics_by_name["topic-0"].partitions.values():
        racks = [brokers[replica].rack for replica in partition.replicas]
        assert sorted(map(str, racks)) == ["rack-0", "rack-1", "rack-2"]
    bury(large)


def test_the_only_rack_cannot_be_lost() -> None:
    with pytest.raises(ValueError, match="3 brokers in 1 racks"):
        LargeCluster(brokers=3, partitions=60, replicas=3, racks=1)


def test_equal_topics_are_in_memory_once() -> None:
    large = LargeCluster(brokers=2, partitions=20, replicas=2, racks=2)
    create(large)
    large._share()
    nodes = [machine.node for machine in large.cluster.machines]
    images = [node.metadata.image for node in nodes if node is not None]
    partitions = {id(image.topics_by_name["topic-0"].partitions) for image in images}
    bury(large)
    assert len(images) == 5
    assert len(partitions) == 1

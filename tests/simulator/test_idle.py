"""What a cluster writes while nobody changes anything."""

import pytest

from moldau.simulator.cluster import TOPOLOGIES, Cluster
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.world import US_PER_S, World


def written_in_ten_seconds(topology: str) -> int:
    """The records of the metadata log that an idle cluster adds in ten seconds."""
    world = World(5)
    cluster = Cluster(world, SimulatedNetwork(world), TOPOLOGIES[topology])
    cluster.start()
    cluster.start_late()
    world.run_for(20 * US_PER_S)
    (active,) = (
        each.node.metadata
        for each in cluster.machines
        if each.node is not None and each.node.metadata.runtime.is_active
    )
    begin = active.raft.log_end_offset
    world.run_for(10 * US_PER_S)
    count = active.raft.log_end_offset - begin
    world.is_over = True
    cluster.bury()
    return count


@pytest.mark.parametrize("topology", ["combined", "separate"])
def test_standbys_see_that_they_are_current(topology: str) -> None:
    # metadata.max.idle.interval.ms is 500.
    assert 15 <= written_in_ten_seconds(topology) <= 20


def test_a_lone_node_leaves_its_disk_alone() -> None:
    assert written_in_ten_seconds("single") == 0

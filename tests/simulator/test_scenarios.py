"""Named simulations: one thing goes wrong, and we know what must come of it.

A number is that of an issue of Apache Kafka. What fails without its guard is in
``moldau.simulator.guards``.
"""

from collections.abc import Iterator

import pytest

from moldau.simulator.clients.admin import Admin
from moldau.simulator.cluster import TOPOLOGIES
from moldau.simulator.faults import Fault
from moldau.simulator.invariants import check_metadata
from moldau.simulator.simulation import Plan, simulate
from moldau.simulator.world import US_PER_MS
from tests.simulator.scenes import Scene, is_active, node_of, scene


@pytest.fixture
def cluster() -> Iterator[Scene]:
    """Three nodes with both roles."""
    with scene("combined") as made:
        yield made


def test_a_leader_that_hung_for_too_long_gives_up_when_it_wakes(cluster: Scene) -> None:
    for number in range(8):
        # All its timers are due when it wakes; which of them is the first depends on when it hung.
        cluster.world.run_for(number * 60 * US_PER_MS)
        leader = cluster.active()
        leader.pause()
        cluster.run_for(6)
        leader.resume()
        cluster.wait_until(lambda leader=leader: not is_active(leader))
        cluster.wait_until(lambda: len(cluster.leaders()) == 1)


def test_a_killed_leader_is_replaced_within_the_fetch_time_out(cluster: Scene) -> None:
    leader = cluster.active()
    leader.kill()
    cluster.wait_until(lambda: bool(cluster.leaders()), seconds=5)


def test_15489_a_leader_that_is_cut_off_resigns(cluster: Scene) -> None:
    leader = cluster.active()
    rest = cluster.others(leader)
    cluster.cut(leader, rest)
    cluster.wait_until(lambda: not is_active(leader), seconds=5)
    cluster.wait_until(lambda: any(is_active(each) for each in rest), seconds=5)


def test_15489_a_leader_that_hears_nobody_resigns(cluster: Scene) -> None:
    leader = cluster.active()
    for each in cluster.others(leader):
        cluster.network.cut(each.name, leader.name)
    cluster.wait_until(lambda: not is_active(leader), seconds=5)


def test_18345_a_node_that_was_cut_off_comes_back_without_a_new_election(cluster: Scene) -> None:
    leader = cluster.active()
    epoch = node_of(leader).metadata.raft.leader_epoch
    lonely = cluster.others(leader)[0]
    cluster.cut(lonely, cluster.others(lonely))
    cluster.run_for(20)
    cluster.mend(lonely, cluster.others(lonely))
    cluster.run_for(10)
    assert is_active(leader)
    assert node_of(leader).metadata.raft.leader_epoch == epoch
    assert node_of(lonely).metadata.raft.leader_epoch == epoch


def test_15345_a_controller_is_active_when_everything_before_its_epoch_is_replayed(
    cluster: Scene,
) -> None:
    clients = [cluster.client("admin") for _ in range(3)]
    for client in clients:
        Admin(client, 10, 1).start()
    for _ in range(6):
        cluster.run_for(1)
        leader = cluster.active()
        leader.kill()
        cluster.wait_until(lambda: bool(cluster.leaders()))
        leader.start()
    for client in clients:
        client.stop()
    cluster.wait_until(lambda: all(each.is_done for each in clients) and cluster.are_ready(), 60)
    cluster.run_for(2)
    assert sum(each.exists for each in cluster.history.topics.values()) > 3
    check_metadata(cluster.world, cluster.cluster, cluster.history)


def test_13104_a_controller_that_cannot_write_hands_over_the_quorum(cluster: Scene) -> None:
    leader = cluster.active()
    leader.disk.capacity = leader.disk.used_bytes()
    cluster.wait_until(lambda: any(is_active(each) for each in cluster.others(leader)), seconds=10)
    through = next(
        each
        for each in cluster.cluster.addresses
        if each.host != leader.name and not is_active(cluster.cluster.machine(each.host))
    )
    assert cluster.create_topic("made-by-the-next", through=through) == 0
    leader.disk.capacity = None


def test_all_machines_lose_their_power_at_once() -> None:
    faults = tuple(
        Fault(at_ms, 500, "power cut", f"node-{node}")
        for at_ms in (5_000, 20_000)
        for node in (1, 2, 3)
    )
    result = simulate(Plan(5, TOPOLOGIES["combined"], faults))
    assert result.problems == ()

"""Machines with real nodes on them: every way in which a process can end, and begin again."""

import contextlib
import errno
from collections.abc import Callable, Iterator

import pytest

from moldau.errors import ApiError
from moldau.protocol.records.metadata import NoOpRecord
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.cluster import TOPOLOGIES, Cluster
from moldau.simulator.faults import KINDS, Fault
from moldau.simulator.history import History
from moldau.simulator.machine import Machine
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.simulation import Plan, simulate
from moldau.simulator.unexpected import Unexpected
from moldau.simulator.world import US_PER_S, World


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    world = World(3)
    made = Cluster(world, SimulatedNetwork(world), TOPOLOGIES["single"])
    with Unexpected(world):
        made.start()
        wait_until(made, lambda: made.machines[0].node is not None)
        yield made
    made.bury()
    assert world.surprises == []


def wait_until(cluster: Cluster, condition: Callable[[], bool], seconds: int = 30) -> None:
    assert cluster.world.run_for(seconds * US_PER_S, condition), f"not within {seconds} s"


def only(cluster: Cluster) -> Machine:
    (machine,) = cluster.machines
    return machine


def epoch(cluster: Cluster) -> int:
    node = only(cluster).node
    assert node is not None
    return node.metadata.raft.leader_epoch


def change_metadata(machine: Machine) -> None:
    """Write a record, whether or not that succeeds."""
    process, node = machine.process, machine.node
    assert process is not None
    assert node is not None

    async def change() -> None:
        with contextlib.suppress(ApiError):
            await node.metadata.runtime.append([NoOpRecord()])

    process.loop.run_turn(lambda: process.loop.create_task(change()))


@pytest.mark.parametrize("end", [Machine.kill, Machine.cut_power])
def test_a_node_comes_back_in_a_new_epoch(cluster: Cluster, end: Callable[[Machine], None]) -> None:
    machine = only(cluster)
    before = epoch(cluster)
    end(machine)
    assert machine.node is None
    machine.return_power()
    machine.start()
    wait_until(cluster, lambda: machine.node is not None)
    assert epoch(cluster) > before


def test_a_node_that_is_stopped_is_started_again(cluster: Cluster) -> None:
    machine = only(cluster)
    machine.stop()
    wait_until(cluster, lambda: machine.runs == 2 and machine.node is not None)
    told = [each.what for each in cluster.world.story if each.who == machine.name]
    assert told == ["starts", "is ready", "is stopped", "has stopped", "starts", "is ready"]


def test_a_node_whose_disk_fails_gives_up_and_is_started_again(cluster: Cluster) -> None:
    machine = only(cluster)
    machine.disk.fail_next("fsync", "*", errno.EIO, 1)
    change_metadata(machine)
    wait_until(cluster, lambda: machine.runs == 2 and machine.node is not None, seconds=120)
    assert any("gives up" in each.what for each in cluster.world.story)


def test_the_power_can_go_before_any_write(cluster: Cluster) -> None:
    machine = only(cluster)
    for operations in range(20):
        machine.cut_power_after(operations)
        machine.stop()
        wait_until(cluster, lambda: not machine.host.is_up or machine.process is None)
        machine.disk.heal()
        machine.return_power()
        machine.start()
        wait_until(cluster, lambda: machine.node is not None)
    assert any("while it writes" in each.what for each in cluster.world.story)


def test_a_paused_node_answers_late(cluster: Cluster) -> None:
    machine = only(cluster)
    client = ClusterClient(
        cluster.world, cluster.network, History(cluster.world), "client", cluster.addresses
    )

    async def ask() -> None:
        await client.coordinator("somebody")

    machine.pause()
    client.begin(ask())
    cluster.world.run_for(3 * US_PER_S)
    assert not client.is_done
    machine.resume()
    wait_until(cluster, lambda: client.is_done)
    client.bury()


def test_a_wiped_machine_begins_anew(cluster: Cluster) -> None:
    machine = only(cluster)
    machine.kill()
    machine.wipe()
    cluster.format(machine)
    machine.start()
    wait_until(cluster, lambda: machine.node is not None)
    assert epoch(cluster) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault_happens_and_is_over(kind: str) -> None:
    row = KINDS[kind]
    peer = "producer-1" if row.with_peer else (row.operations or ("",))[0]
    node, topology = ("node-6", "separate") if row.only_late else ("node-1", "single")
    fault = Fault(3_000, 1_500, kind, node, peer, max(row.sizes))
    result = simulate(Plan(5, TOPOLOGIES[topology], (fault,)))
    assert result.problems == ()
    happened = [each for each in result.story if each.who == node and each.at_us > US_PER_S]
    assert happened, kind

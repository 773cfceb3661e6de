"""What goes wrong in simulations, one kind at a time."""

import pytest

from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from moldau.simulator.clients.cluster import Address
from moldau.simulator.cluster import BROKER_PORT, DATA_DIR, SECOND_DIR, TOPOLOGIES
from moldau.simulator.faults import (
    FAILED_DIRECTORY,
    KINDS,
    REPLACED_DIRECTORY,
    SEPARATION,
    UNCLEAN_FAULTS,
    Fault,
    begin,
)
from moldau.simulator.machine import Machine
from moldau.simulator.settled import unsettled
from moldau.simulator.simulation import DEFAULT_CLUSTER, Plan, Simulation, plan
from moldau.simulator.transaction_simulation import plan_transactions
from tests.simulator.scenes import Scene, node_of, scene


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_is_drawn(kind: str) -> None:
    cluster = "operated" if KINDS[kind].only_operated else DEFAULT_CLUSTER
    make = plan_transactions if kind == SEPARATION else plan
    assert any(each.kind == kind for seed in range(100) for each in make(seed, cluster).faults)


def test_a_log_directory_is_lost_only_if_nothing_else_is() -> None:
    """Two of three replicas would be more than ``min.insync.replicas=2`` makes up for."""
    for seed in range(200):
        faults = plan(seed, "operated").faults
        unclean = {each.node for each in faults if each.kind in UNCLEAN_FAULTS}
        if any(each.kind == REPLACED_DIRECTORY for each in faults):
            assert len(unclean) == 1


@pytest.mark.parametrize("kind", [FAILED_DIRECTORY, REPLACED_DIRECTORY])
def test_a_failed_log_directory_is_back_after_a_restart(kind: str) -> None:
    with scene("operated") as cluster:
        machine = cluster.machine(4)

        def offline() -> list[str]:
            return [] if machine.node is None else list(machine.node.logs.dirs.offline)

        def directory() -> bytes:
            return node_of(machine).logs.dirs.directory_ids[SECOND_DIR]

        before = directory()
        begin(cluster.cluster, Fault(0, 8_000, kind, machine.name))
        # Of each topic, some replica of this node is in the second directory.
        for number in range(4):
            assert cluster.create_topic(f"topic-{number}", partitions=5) == 0
        cluster.wait_until(lambda: offline() == [SECOND_DIR])
        # The broker goes on with its other directory.
        assert machine.runs == 1
        cluster.wait_until(lambda: machine.runs == 2 and machine.node is not None)
        assert offline() == []
        assert (directory() == before) == (kind == FAILED_DIRECTORY)
        cluster.wait_until(lambda: not any(unsettled(cluster.cluster)), seconds=60)


def test_a_separated_node_is_reached_by_clients_and_not_by_nodes() -> None:
    with scene("replicated") as cluster:
        separated = cluster.others(cluster.active())[0]
        client = cluster.client("client")
        begin(cluster.cluster, Fault(0, 12_000, SEPARATION, separated.name))
        cluster.wait_until(lambda: not is_alive(cluster, separated), seconds=20)
        address = Address(separated.name, BROKER_PORT)
        request = MetadataRequest(topics=[])
        assert cluster.ask(client.send(address, request, MetadataResponse), client).brokers
        cluster.wait_until(lambda: is_alive(cluster, separated), seconds=60)


def is_alive(cluster: Scene, machine: Machine) -> bool:
    return not cluster.image().brokers[machine.config.node_id].fenced


def test_only_late_nodes_lose_their_disks() -> None:
    for seed in range(200):
        planned = plan(seed)
        wiped = [each.node for each in planned.faults if each.kind == "wipe"]
        assert set(wiped) <= set(planned.topology.late_names)


def test_a_voter_that_lost_its_disk_joins_again_with_another_directory() -> None:
    with scene("dynamic") as cluster:

        def directories() -> dict[int, bytes]:
            voters = node_of(cluster.active()).metadata.raft.quorum.voters.voters
            return {each.id: each.directory_id for each in voters.values()}

        cluster.wait_until(lambda: 4 in directories())
        before = directories()
        begin(cluster.cluster, Fault(0, 500, "wipe", "node-4"))
        cluster.wait_until(lambda: directories().get(4, before[4]) != before[4], seconds=60)
        cluster.wait_until(cluster.are_ready)
        assert {**directories(), 4: b""} == {**before, 4: b""}


def test_a_broker_that_lost_its_disk_has_the_metadata_again() -> None:
    with scene("separate") as cluster:
        assert cluster.create_topic("before") == 0
        begin(cluster.cluster, Fault(0, 500, "wipe", "node-6"))
        broker = cluster.machine(6)
        cluster.run_for(1)
        cluster.wait_until(lambda: broker.node is not None)
        assert "before" in node_of(broker).metadata.image.topics_by_name


def test_a_snapshot_with_a_flipped_bit_is_noticed() -> None:
    settings = {"metadata.log.max.record.bytes.between.snapshots": "300"}
    with scene("separate", settings=settings) as cluster:
        assert cluster.create_topic("before") == 0
        broker = cluster.machine(6)
        cluster.run_for(3)
        broker.kill()
        names = broker.disk.files(f"{DATA_DIR}/__cluster_metadata-0")
        newest = max(each for each in names if each.endswith(".checkpoint"))
        position = broker.disk.size(newest) // 2
        byte = broker.disk.read_bytes(newest)[position]
        broker.disk.damage(newest, position, bytes([byte ^ 4]))
        broker.is_damaged = True
        broker.start()
        cluster.wait_until(lambda: broker.node is not None, seconds=60)
        # It did not start with it, and got another disk.
        assert not broker.is_damaged
        assert any("does not start" in told.what for told in cluster.world.story)
        assert "before" in node_of(broker).metadata.image.topics_by_name


def test_what_is_damaged_is_not_served() -> None:
    flips = tuple(
        Fault(2_000 + 3_000 * nth, 200, "bit rot", f"node-{nth % 3 + 1}", size=97 * nth + 13)
        for nth in range(9)
    )
    simulation = Simulation(Plan(4, TOPOLOGIES["combined"], flips))
    result = simulation.run()
    assert result.problems == ()
    assert sum("is flipped" in told.what for told in result.story) >= 5

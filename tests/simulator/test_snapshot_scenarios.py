"""Named simulations of snapshots and the log before them. Numbers are those of Apache Kafka's
issues.
"""

from collections.abc import Iterator

from moldau.broker.quorum_store import QuorumStore
from moldau.ids import METADATA_TOPIC
from moldau.record.header import BatchHeader
from moldau.simulator.clients.admin import Admin
from moldau.simulator.invariants import check_metadata
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_S
from tests.simulator.scenes import Scene, node_of, scene

METADATA_DIR = f"/data/{METADATA_TOPIC}-0"
# Every change is followed by a snapshot, and nothing is kept for long.
MANY_SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "500",
    "metadata.log.segment.ms": "300",
    "metadata.max.retention.ms": "1000",
}


def store_of(machine: Machine) -> QuorumStore:
    return node_of(machine).metadata.raft.store


def snapshots(machine: Machine) -> list[str]:
    names = machine.disk.list_dir(METADATA_DIR)
    return [each for each in names if each.endswith(".checkpoint")]


def work(cluster: Scene) -> None:
    for _ in range(2):
        client = cluster.client("admin")
        Admin(client, 50, 1).start()


def stop_work(cluster: Scene) -> None:
    for client in cluster.clients:
        client.stop()
    cluster.wait_until(lambda: all(each.is_done for each in cluster.clients), 60)
    cluster.wait_until(cluster.are_ready)
    cluster.run_for(2)
    check_metadata(cluster.world, cluster.cluster, cluster.history)


def test_15312_a_snapshot_has_its_name_only_when_it_is_on_the_device() -> None:
    with scene("single", settings=MANY_SNAPSHOTS) as cluster:
        (machine,) = cluster.machines
        work(cluster)
        for _ in range(10):
            known = snapshots(machine)
            cluster.wait_until(lambda known=known: snapshots(machine)[-1:] != known[-1:])
            machine.cut_power()
            machine.return_power()
            machine.start()
            # If the newest snapshot were damaged, the node would not start.
            cluster.wait_until(cluster.are_ready)
        stop_work(cluster)


def test_15312_a_fetched_snapshot_has_its_name_only_when_it_is_on_the_device() -> None:
    with scene("separate", settings=MANY_SNAPSHOTS) as cluster:
        machine = cluster.machine(5)
        work(cluster)
        for _ in range(3):
            machine.kill()
            cluster.run_for(3)
            known = snapshots(machine)
            machine.start()
            cluster.wait_until(lambda known=known: snapshots(machine)[-1:] != known[-1:])
            machine.cut_power()
            machine.return_power()
            machine.start()
            cluster.wait_until(cluster.are_ready)
        stop_work(cluster)


def test_14238_the_log_is_not_deleted_past_the_newest_snapshot() -> None:
    with scene("separate", settings=MANY_SNAPSHOTS) as cluster:
        work(cluster)
        for machine in cluster.machines:
            assert machine.process is not None
            # Writing a snapshot takes long, and the log goes on meanwhile.
            machine.process.executor.slowness = 50

        def has_gap() -> bool:
            return any(
                store_of(each).log.log_start_offset > store_of(each).newest_snapshot.end_offset
                for each in cluster.machines
            )

        assert not cluster.world.run_for(8 * US_PER_S, has_gap)
        assert all(store_of(each).log.log_start_offset > 0 for each in cluster.machines)
        for machine in cluster.machines:
            machine.kill()
            machine.start()
        cluster.wait_until(cluster.are_ready)
        stop_work(cluster)


def test_14618_a_snapshot_ends_where_a_batch_ends() -> None:
    with scene("separate", settings=MANY_SNAPSHOTS) as cluster:
        for nth in range(12):
            assert cluster.create_topic(f"wide-{nth}", partitions=7) == 0
            cluster.run_for(0.3)
            for machine in cluster.machines:
                store = store_of(machine)
                ends = {header.last_offset + 1 for header, _ in all_batches(store)}
                start = store.log.log_start_offset
                for snapshot in store.snapshots.all:
                    assert snapshot.end_offset in ends | {start} or snapshot.end_offset < start
        # A broker that has missed all of it begins with a snapshot, and goes on behind it.
        broker = cluster.machine(5)
        broker.kill()
        cluster.run_for(8)
        broker.wipe()
        cluster.cluster.format(broker)
        broker.start()
        cluster.wait_until(cluster.are_ready)
        assert cluster.create_topic("after") == 0
        cluster.run_for(2)
        assert "after" in node_of(broker).metadata.image.topics_by_name
        assert "wide-0" in node_of(broker).metadata.image.topics_by_name


def all_batches(store: QuorumStore) -> Iterator[tuple[BatchHeader, bytes]]:
    return store.batches(store.log.log_start_offset, store.log.high_watermark)

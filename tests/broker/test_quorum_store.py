"""The files of the quorum, as a start finds them after a crash."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from moldau.broker.first_start import format_if_empty
from moldau.broker.leader_change import voters_written_down
from moldau.broker.metadata_snapshot import (
    CorruptSnapshot,
    batches_of,
    encode_snapshot,
    snapshot_name,
)
from moldau.broker.quorum_log_view import QuorumLogView
from moldau.broker.quorum_store import QuorumStore
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.metadata.framing import encode_record
from moldau.metadata.image import EMPTY_IMAGE
from moldau.protocol.records.metadata import NoOpRecord
from moldau.raft.log_view import SnapshotId, diverging_end
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet
from moldau.record.control import control_batch
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.late_writes import Executor

CONFIG = BrokerConfig.from_properties({"log.dirs": "/data"})
SHORT = BrokerConfig.from_properties({"log.dirs": "/data", "metadata.max.retention.bytes": "1"})


def opened(
    disk: SimulatedDisk, config: BrokerConfig = CONFIG, executor: Executor | None = None
) -> QuorumStore:
    store = QuorumStore(config, disk, ManualClock(), random.Random(1), executor)
    store.open()
    return store


def write(store: QuorumStore, epoch: int, count: int) -> None:
    for _ in range(count):
        [(batch, _)] = batches_of(
            [encode_record(NoOpRecord(), 30)],
            base_offset=store.log.log_end_offset,
            epoch=epoch,
            timestamp_ms=1000,
            max_records=10,
        )
        store.append(batch)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        # From a leader of a later epoch: what lies behind its end was never committed.
        (SnapshotId(7, 4), (7, 7)),
        (SnapshotId(12, 4), (12, 12)),
        (SnapshotId(12, 3), (12, 12)),
        # Of this log: it goes on behind the snapshot.
        (SnapshotId(7, 3), (0, 10)),
    ],
)
def test_a_snapshot_of_a_leader_replaces_the_log_also_after_a_crash(
    snapshot: SnapshotId, expected: tuple[int, int]
) -> None:
    disk = SimulatedDisk()
    format_if_empty(CONFIG, disk, random.Random(1))
    before = opened(disk)
    write(before, epoch=3, count=10)
    before.log.close()
    data = snapshot_data(snapshot.epoch)
    disk.write_atomically(f"{before.directory}/{snapshot_name(snapshot)}", data)
    log = opened(disk).log
    assert (log.log_start_offset, log.log_end_offset) == expected


def snapshot_data(epoch: int) -> bytes:
    return encode_snapshot([], metadata_version=30, epoch=epoch, last_log_timestamp_ms=0, wall_ms=0)


def test_a_replica_at_the_end_of_a_fetched_snapshot_gets_what_follows_it() -> None:
    """Earlier snapshots of this node say nothing about the start of a log that was replaced."""
    disk = SimulatedDisk()
    format_if_empty(CONFIG, disk, random.Random(1))
    store = opened(disk)
    write(store, epoch=3, count=10)
    store.log.update_high_watermark(10)
    store.write_snapshot(EMPTY_IMAGE._replace(offset=4, epoch=3))
    fetched = SnapshotId(20, 4)
    store.snapshots.append_part(fetched, 0, snapshot_data(epoch=4))
    store.install_snapshot(fetched)
    write(store, epoch=4, count=2)
    assert diverging_end(QuorumLogView(store), 20, 4) is None
    # One that was being written at that moment comes too late.
    store.write_snapshot(EMPTY_IMAGE._replace(offset=8, epoch=3))
    assert diverging_end(QuorumLogView(store), 20, 4) is None
    assert store.snapshots.all == [fetched]


def test_a_snapshot_that_is_written_twice_while_the_log_is_replaced_is_removed() -> None:
    disk = SimulatedDisk()
    format_if_empty(CONFIG, disk, random.Random(1))
    problems: list[dict[str, Any]] = []
    fetched = SnapshotId(20, 4)

    async def write_and_install() -> QuorumStore:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        with ThreadPoolExecutor(1) as executor:
            store = opened(disk, executor=executor)
            write(store, epoch=3, count=10)
            for _ in range(2):
                store.write_snapshot(EMPTY_IMAGE._replace(offset=8, epoch=3))
        # Both files are written, and the loop has not heard of them yet.
        store.snapshots.append_part(fetched, 0, snapshot_data(epoch=4))
        store.install_snapshot(fetched)
        for _ in range(5):
            await asyncio.sleep(0)
        return store

    store = asyncio.run(write_and_install())
    assert problems == []
    assert store.snapshots.all == [fetched]


def test_a_fetched_snapshot_that_is_damaged_replaces_nothing() -> None:
    disk = SimulatedDisk()
    format_if_empty(CONFIG, disk, random.Random(1))
    store = opened(disk)
    write(store, epoch=3, count=10)
    fetched = SnapshotId(20, 4)
    damaged = bytearray(snapshot_data(epoch=4))
    damaged[-1] ^= 1
    store.snapshots.append_part(fetched, 0, bytes(damaged))
    with pytest.raises(CorruptSnapshot, match="checkpoint of the leader is damaged"):
        store.install_snapshot(fetched)
    store.close()
    again = opened(disk)
    assert fetched not in again.snapshots.all
    assert (again.log.log_start_offset, again.log.log_end_offset) == (0, 10)


def test_snapshots_from_before_a_fetched_one_are_removed_also_after_a_crash() -> None:
    disk = SimulatedDisk()
    format_if_empty(CONFIG, disk, random.Random(1))
    store = opened(disk)
    write(store, epoch=3, count=10)
    store.log.close()
    disk.write_atomically(f"{store.directory}/{snapshot_name(SnapshotId(5, 3))}", snapshot_data(3))
    fetched = SnapshotId(20, 4)
    disk.write_atomically(f"{store.directory}/{snapshot_name(fetched)}", snapshot_data(4))
    again = opened(disk)
    assert again.snapshots.all == [fetched]
    assert diverging_end(QuorumLogView(again), 20, 4) is None


def write_voters(store: QuorumStore, port: int) -> None:
    endpoint = VoterEndpoint("CONTROLLER", "localhost", port)
    voters = VoterSet.of(Voter(1, endpoints=(endpoint,)))
    records = voters_written_down(1, voters)
    end_offset = store.log.log_end_offset
    _, changes = store.append(control_batch(records, 0, base_offset=end_offset, leader_epoch=3))
    for change in changes:
        store.history.add(change)


def test_voters_before_the_start_of_the_log_are_forgotten() -> None:
    disk = SimulatedDisk()
    format_if_empty(SHORT, disk, random.Random(1))
    store = opened(disk, SHORT)
    kept = []
    for port in range(1, 6):
        write_voters(store, port)
        last_offset = store.log.log_end_offset - 1
        store.log.update_high_watermark(last_offset + 1)
        store.write_snapshot(EMPTY_IMAGE._replace(offset=last_offset, epoch=3))
        voters = [store.history.voters_at(offset) for offset in range(last_offset + 1)]
        kept.append(len({each.endpoints(1)[0].port for each in voters if each is not None}))
    assert store.log.log_start_offset > 0
    assert kept == [1, 1, 1, 1, 1]


def test_a_snapshot_that_is_written_while_the_node_stops_leaves_the_log_alone() -> None:
    disk = SimulatedDisk()
    format_if_empty(SHORT, disk, random.Random(1))
    problems: list[dict[str, Any]] = []

    async def write_and_stop() -> QuorumStore:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        with ThreadPoolExecutor(1) as executor:
            store = opened(disk, SHORT, executor)
            for _ in range(2):
                write(store, epoch=3, count=5)
                end_offset = store.log.log_end_offset
                store.log.update_high_watermark(end_offset)
                store.write_snapshot(EMPTY_IMAGE._replace(offset=end_offset - 1, epoch=3))
            store.close()
        # Both are written: the loop hears of them now.
        for _ in range(3):
            await asyncio.sleep(0)
        return store

    store = asyncio.run(write_and_stop())
    assert problems == []
    assert store.snapshots.all[-2:] == [SnapshotId(5, 3), SnapshotId(10, 3)]

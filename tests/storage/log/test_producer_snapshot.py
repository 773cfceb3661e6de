"""Snapshot files, byte for byte as Apache Kafka 4.3 writes them, and which of them are kept."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.log.producer_entry import BatchMetadata, ProducerEntry
from moldau.storage.log.producer_snapshot import (
    CorruptSnapshot,
    SnapshotFiles,
    decode_snapshot,
    encode_snapshot,
    read_snapshot,
    snapshot_offset,
    snapshot_path,
    write_snapshot,
)

# Written by Apache Kafka 4.3.1 after three idempotent producers.
WRITTEN_BY_KAFKA = bytes.fromhex(
    "0001 32e75c69 00000003"
    "0000000000000000 0000 000009c3 00000000000009c3 00000003 000001a1e11dc580 ffffffff"
    "ffffffffffffffff"
    "0000000000000001 0000 000009c3 0000000000001387 00000003 000001a1e11dd0f1 ffffffff"
    "ffffffffffffffff"
    "0000000000000002 0000 0000007f 0000000000001407 0000000f 000001a1e11dd86d ffffffff"
    "ffffffffffffffff"
)


def test_a_snapshot_of_apache_kafka_is_read_and_written_alike() -> None:
    entries = decode_snapshot(WRITTEN_BY_KAFKA)
    assert [entry.producer_id for entry in entries] == [0, 1, 2]
    assert entries[2].batches() == [BatchMetadata(112, 127, 5112, 5127, 1_794_778_191_981)]
    assert entries[2].next_sequence == 128
    assert entries[0].txn_first_offset == -1
    assert encode_snapshot(entries) == WRITTEN_BY_KAFKA


def test_a_snapshot_of_no_producers_is_ten_bytes() -> None:
    data = encode_snapshot([])
    assert len(data) == 10
    assert decode_snapshot(data) == []


def test_a_producer_of_whom_only_a_marker_is_known_keeps_its_epochs() -> None:
    entry = ProducerEntry(9, epoch=3)
    entry.coordinator_epoch = 7
    entry.last_timestamp = 1234
    (read,) = decode_snapshot(encode_snapshot([entry]))
    assert (read.epoch, read.coordinator_epoch, read.last_timestamp) == (3, 7, 1234)
    assert read.batches() == []
    assert read.next_sequence == 0


@given(st.data())
def test_of_any_producers_the_last_batch_survives(data: st.DataObject) -> None:
    entries = []
    for producer_id in data.draw(st.lists(st.integers(0, 2**63 - 1), unique=True, max_size=5)):
        entry = ProducerEntry(producer_id, data.draw(st.integers(0, 2**15 - 1)))
        entry.txn_first_offset = data.draw(st.integers(-1, 2**40))
        entry.coordinator_epoch = data.draw(st.integers(-1, 2**31 - 1))
        for _ in range(data.draw(st.integers(0, 7))):
            entry.add_batch(
                data.draw(st.integers(0, 2**31 - 1)),
                data.draw(st.integers(2**31, 2**62)),
                data.draw(st.integers(0, 2**31 - 1)),
                data.draw(st.integers(-1, 2**50)),
            )
        entries.append(entry)
    read = decode_snapshot(encode_snapshot(entries))
    assert encode_snapshot(read) == encode_snapshot(entries)
    assert [entry.batches() for entry in read] == [entry.batches()[-1:] for entry in entries]


def test_every_torn_or_damaged_snapshot_is_noticed() -> None:
    for size in range(len(WRITTEN_BY_KAFKA)):
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(WRITTEN_BY_KAFKA[:size])
    for position in range(len(WRITTEN_BY_KAFKA)):
        damaged = bytearray(WRITTEN_BY_KAFKA)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(bytes(damaged))
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(WRITTEN_BY_KAFKA + b"\0")


def test_a_count_that_does_not_fit_is_noticed_whatever_the_checksum() -> None:
    from crc32c import crc32c

    for count in (-1, 1, 2**31 - 1):
        body = struct.pack(">i", count)
        with pytest.raises(CorruptSnapshot, match="do not hold"):
            decode_snapshot(struct.pack(">hI", 1, crc32c(body)) + body)


def test_the_offset_is_in_the_name() -> None:
    assert snapshot_path("/t-0", 5128) == "/t-0/00000000000000005128.snapshot"
    assert snapshot_offset("00000000000000005128.snapshot") == 5128
    assert snapshot_offset("00000000000000005128.snapshot.deleted") is None
    assert snapshot_offset("00000000000000005128.log") is None
    assert snapshot_offset("x.snapshot") is None


def test_a_snapshot_replaces_a_longer_one() -> None:
    disk = SimulatedDisk()
    write_snapshot(disk, "/a.snapshot", decode_snapshot(WRITTEN_BY_KAFKA))
    write_snapshot(disk, "/a.snapshot", [], sync=True)
    disk.crash(keep_nothing)
    assert read_snapshot(disk, "/a.snapshot") == []


def test_a_damaged_file_is_named() -> None:
    disk = SimulatedDisk()
    disk.open("/a.snapshot", create=True)
    with pytest.raises(CorruptSnapshot, match=r"/a\.snapshot: 0 bytes"):
        read_snapshot(disk, "/a.snapshot")


def files_at(*offsets: int) -> tuple[SimulatedDisk, SnapshotFiles]:
    disk = SimulatedDisk()
    disk.make_dirs("/t-0")
    for offset in offsets:
        write_snapshot(disk, snapshot_path("/t-0", offset), [])
    disk.open("/t-0/00000000000000000000.log", create=True)
    return disk, SnapshotFiles(disk, "/t-0")


def on_disk(disk: SimulatedDisk) -> list[int]:
    names = (snapshot_offset(name) for name in disk.list_dir("/t-0"))
    return [offset for offset in names if offset is not None]


def test_snapshots_are_found_in_the_directory() -> None:
    _, files = files_at(30, 5, 100)
    assert files.snapshot_offsets() == [5, 30, 100]
    assert (files.oldest_snapshot_offset, files.latest_snapshot_offset) == (5, 100)


def test_a_partition_that_has_no_directory_yet_has_no_snapshots() -> None:
    files = SnapshotFiles(SimulatedDisk(), "/t-0")
    assert (files.oldest_snapshot_offset, files.latest_snapshot_offset) == (-1, -1)


@pytest.mark.parametrize(
    "snapshots, segments, kept",
    [
        # The one at the end of the log, from a clean stop, stays.
        ([10, 20, 35], [0, 10, 20], [10, 20, 35]),
        ([10, 15, 20, 25, 35], [0, 10, 20], [10, 20, 35]),
        ([10, 15, 20], [0, 10, 20], [10, 20]),
        ([5, 15], [0, 10, 20], []),
        ([5, 15], [], [15]),
        ([], [0], []),
    ],
)
def test_snapshots_that_no_segment_begins_at_are_removed(
    snapshots: list[int], segments: list[int], kept: list[int]
) -> None:
    disk, files = files_at(*snapshots)
    files.remove_stray_snapshots(segments)
    assert files.snapshot_offsets() == on_disk(disk) == kept


def test_old_snapshots_are_deleted() -> None:
    disk, files = files_at(5, 30, 100)
    files.delete_snapshots_before(30)
    assert files.snapshot_offsets() == on_disk(disk) == [30, 100]


def test_a_snapshot_is_renamed_for_removal_later() -> None:
    disk, files = files_at(5, 30)
    deleted = "/t-0/00000000000000000005.snapshot.deleted"
    assert files.mark_snapshot_deleted(5) == deleted
    assert disk.exists(deleted)
    assert files.snapshot_offsets() == on_disk(disk) == [30]
    assert files.mark_snapshot_deleted(5) is None
    disk.remove(snapshot_path("/t-0", 30))
    assert files.mark_snapshot_deleted(30) is None


def test_snapshots_are_followed_into_a_renamed_directory() -> None:
    disk, files = files_at(5, 30)
    assert files.snapshot_offsets() == [5, 30]
    disk.rename("/t-0", "/t-0.abc-delete")
    files.moved("/t-0.abc-delete")
    files.delete_snapshots_before(30)
    assert disk.list_dir("/t-0.abc-delete") == [
        "00000000000000000000.log",
        "00000000000000000030.snapshot",
    ]

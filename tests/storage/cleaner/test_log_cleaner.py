"""The cleaner on whole logs."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moldau.clock import ManualClock
from moldau.record.compression import Codec
from moldau.record.control import ControlType, encode_control_key, end_txn_batch
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_state import AppendOrigin
from tests.storage.cleaner.log_cleaning import (
    COMPACT,
    Cleaner,
    batches_of,
    check_segments,
    clean,
    compacted_log,
    fill,
    keyed_batch,
    last_values,
    offsets_of,
    records_of,
    roll,
    write,
)
from tests.storage.descriptors import open_paths
from tests.storage.log_making import EPOCH, START_MS, data_of, new_log, reopened

DAY_MS = 86_400_000


def test_of_every_key_the_last_record_stays(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log, rounds=5, keys=4)
    before = records_of(log)[-4:]
    clean(log, disk, clock)
    assert records_of(log) == before
    assert log.cleaner_checkpoint == log.log_end_offset == 20


def test_a_cleaned_log_leaves_no_descriptor_of_what_it_replaced(
    clock: ManualClock, tmp_path: Path
) -> None:
    disk = RealDisk()
    directory = str(tmp_path / "orders-0")
    log = new_log(disk, replace(COMPACT, file_delete_delay_ms=0), clock=clock, directory=directory)
    for _ in range(3):
        fill(log, rounds=5, keys=4)
        clean(log, disk, clock)
        log.remove_deleted_files(clock.monotonic_ms())
    names = [os.path.basename(path) for path in open_paths(tmp_path)]
    wanted = [os.path.basename(each.log.path) for each in log.segments]
    assert [name for name in names if ".log" in name] == [n for n in wanted if n in names]


def test_the_active_segment_is_never_touched(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    for number in range(3):
        write(log, (b"key-0", b"new-%d" % number))
    active = log.segments.active
    clean(log, disk, clock)
    assert log.segments.active is active
    # The cleaner does not look into it, so what it supersedes stays too.
    assert offsets_of(log) == [16, 17, 18, 19, 20, 21, 22]


def test_nothing_above_the_high_watermark_is_cleaned(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    log.update_high_watermark(log.segments[1].base_offset)
    first = log.segments[1].base_offset
    clean(log, disk, clock)
    assert log.cleaner_checkpoint == first
    assert offsets_of(log)[-1] == 19
    assert len([offset for offset in offsets_of(log) if offset >= first]) == 20 - first


def test_a_second_pass_cleans_what_came_since(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    clean(log, disk, clock)
    write(log, (b"key-1", b"newer"))
    roll(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [16, 18, 19, 20]
    check_segments(log)


def test_segments_are_merged_up_to_the_size_limit(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log, rounds=20)
    before = len(log.segments)
    clean(log, disk, clock)
    # The first pass groups by the sizes it finds, the second by what the first left.
    write(log, (b"key-0", b"again"))
    roll(log)
    clean(log, disk, clock)
    assert len(log.segments) < before / 4
    assert all(segment.size <= COMPACT.segment_bytes for segment in log.segments)
    assert last_values(log)[b"key-0"] == b"again"
    check_segments(log)


def test_a_log_that_is_not_dirty_enough_is_left_alone(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, min_cleanable_dirty_ratio=0.5))
    fill(log)
    clean(log, disk, clock)
    # Four records of the first pass make the clean part, one more is a fifth.
    write(log, (b"key-0", b"more"))
    roll(log)
    assert clean(log, disk, clock).cleaned == []


def test_a_log_with_another_policy_is_left_alone(disk: SimulatedDisk, clock: ManualClock) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, cleanup_policy=("delete",)))
    fill(log)
    assert clean(log, disk, clock).cleaned == []
    assert len(records_of(log)) == 20


def test_the_dirtiest_log_comes_first(disk: SimulatedDisk, clock: ManualClock) -> None:
    clean_log = compacted_log(disk, clock)
    fill(clean_log)
    clean(clean_log, disk, clock)
    write(clean_log, (b"key-0", b"more"))
    roll(clean_log)
    dirty_log = reopened(disk, COMPACT, clock=clock, directory="/data/dirty-0")
    dirty_log.topic_partition = dirty_log.topic_partition._replace(topic="dirty")
    fill(dirty_log)
    cleaner = Cleaner(disk, clock, [clean_log, dirty_log])
    cleaner.run()
    assert cleaner.cleaned == [dirty_log, clean_log]


def test_there_are_no_more_passes_at_a_time_than_threads(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    logs = []
    for number in range(3):
        log = reopened(disk, COMPACT, clock=clock, directory=f"/data/dirty-{number}")
        log.topic_partition = log.topic_partition._replace(partition=number)
        fill(log)
        logs.append(log)
    cleaner = Cleaner(disk, clock, logs, log_cleaner_threads=2)
    cleaner.begin()
    assert len(cleaner.cleaner.in_progress) == 2
    cleaner.threads.finish()
    assert sorted(log.topic_partition.partition for log in cleaner.cleaned) == [0, 1, 2]


def test_a_map_that_is_too_small_makes_several_passes(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, segment_bytes=4000))
    for number in range(60):
        write(log, (b"key-%d" % (number % 20), b"%d" % number))
    roll(log)
    cleaner = Cleaner(disk, clock, [log], map_bytes=120)
    cleaner.run()
    assert len(cleaner.cleaned) > 3
    assert offsets_of(log) == list(range(40, 60))
    check_segments(log)


def test_a_batch_with_more_keys_than_the_map_is_cleaned_bit_by_bit(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    for round_ in range(2):
        write(log, *((b"key-%d" % number, b"%d" % round_) for number in range(20)))
    roll(log)
    cleaner = Cleaner(disk, clock, [log], map_bytes=120)
    cleaner.run()
    assert len(cleaner.cleaned) > 3
    assert offsets_of(log) == list(range(20, 40))


def test_records_keep_offset_timestamp_headers_and_order(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    headers = (("trace", b"\x00\xff"), ("none", None))
    for number in range(6):
        pairs = ((b"a", b"%d" % number), (b"b%d" % number, b"x"), (b"c", b"y"))
        write(log, *pairs, timestamp=START_MS + 1000 * number, headers=headers)
    roll(log)
    before = {record.offset: record for record in records_of(log)}
    clean(log, disk, clock)
    after = records_of(log)
    assert [record.offset for record in after] == [1, 4, 7, 10, 13, 15, 16, 17]
    assert all(before[record.offset] == record for record in after)
    check_segments(log)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_keeps_its_codec(disk: SimulatedDisk, clock: ManualClock, codec: Codec) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, segment_bytes=2000))
    for number in range(6):
        pairs = ((b"a", b"%d" % number * 50), (b"b%d" % number, b"x" * 100))
        write(log, *pairs, codec=codec)
    roll(log)
    clean(log, disk, clock)
    assert [record.offset for record in records_of(log)] == [1, 3, 5, 7, 9, 10, 11]
    assert {header.compression for header, _ in batches_of(log)} == {codec}
    check_segments(log)


def test_a_batch_that_loses_nothing_is_not_changed_by_a_bit(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, (b"a", b"1"), (b"b", b"2"), codec=Codec.LZ4)
    before = data_of(log.read(0, 1 << 20, max_offset=2))
    roll(log)
    clean(log, disk, clock)
    assert data_of(log.read(0, 1 << 20, max_offset=2)) == before


def test_unkeyed_records_from_before_the_topic_was_compacted_go(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, cleanup_policy=("delete",)))
    write(log, (None, b"lost"), (b"a", b"kept"))
    log.config = COMPACT
    roll(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [1]


def test_log_append_time_stays_what_it_was(disk: SimulatedDisk, clock: ManualClock) -> None:
    config = replace(COMPACT, message_timestamp_type="LogAppendTime")
    log = compacted_log(disk, clock, config)
    write(log, (b"a", b"1"), (b"b", b"2"), timestamp=5)
    write(log, (b"a", None), timestamp=5)
    roll(log)
    clean(log, disk, clock)
    assert [(r.offset, r.timestamp) for r in records_of(log)] == [(1, START_MS), (2, START_MS)]


# -- tombstones


def test_a_tombstone_goes_when_delete_retention_has_passed_since_it_was_first_met(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, delete_retention_ms=DAY_MS))
    write(log, (b"a", b"1"), (b"b", b"1"))
    write(log, (b"a", None))
    roll(log)
    # Before its first cleaning no time counts.
    clock.advance(10 * DAY_MS)
    clean(log, disk, clock)
    assert offsets_of(log) == [1, 2]
    horizon_ms = clock.wall_ms() + DAY_MS
    header = batches_of(log)[-1][0]
    assert (header.has_delete_horizon, header.base_timestamp) == (True, horizon_ms)
    assert records_of(log)[-1].timestamp == START_MS

    clock.advance(DAY_MS - 1)
    write(log, (b"c", b"1"))
    roll(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [1, 2, 3]
    assert batches_of(log)[1][0].base_timestamp == horizon_ms

    clock.advance(1)
    write(log, (b"c", b"2"))
    roll(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [1, 4]
    check_segments(log)


def test_a_tombstone_without_a_limit_stays(disk: SimulatedDisk, clock: ManualClock) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, delete_retention_ms=(1 << 63) - 1))
    write(log, (b"a", None), (b"b", b"1"))
    roll(log)
    for _ in range(2):
        clean(log, disk, clock)
        clock.advance(1000 * 365 * DAY_MS)
        write(log, (b"c", b"1"))
        roll(log)
    assert (records_of(log)[0].key, records_of(log)[0].timestamp) == (b"a", START_MS)


def test_a_key_that_comes_back_after_its_tombstone_is_there(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, (b"a", b"1"))
    write(log, (b"a", None))
    write(log, (b"a", b"2"))
    roll(log)
    clean(log, disk, clock)
    assert last_values(log) == {b"a": b"2"}
    assert offsets_of(log) == [2]


# -- producers and transactions


def test_the_last_batch_of_a_producer_stays_as_an_empty_one(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fields: dict[str, Any] = {"producer_id": 9, "producer_epoch": 2}
    write(log, (b"a", b"1"), (b"b", b"1"), base_sequence=0, **fields)
    write(log, (b"a", b"2"), (b"b", b"2"), base_sequence=2, **fields)
    write(log, (b"a", b"3"), (b"b", b"3"))
    roll(log)
    clean(log, disk, clock)
    headers = [header for header, _ in batches_of(log)]
    assert [(h.base_offset, h.last_offset, h.record_count) for h in headers] == [
        (2, 3, 0),
        (4, 5, 2),
    ]
    assert (headers[0].producer_id, headers[0].producer_epoch, headers[0].base_sequence) == (
        9,
        2,
        2,
    )


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_producer_goes_on_after_a_cleaning_and_a_restart(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog, is_clean: bool
) -> None:
    fields: dict[str, Any] = {"producer_id": 9, "producer_epoch": 0}
    for number in range(10):
        write(log, (b"a", b"%d" % number), base_sequence=number, **fields)
    write(log, (b"a", b"last"))
    roll(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [10]
    if is_clean:
        log.close()
    # Without snapshots everything that is known of producers comes from the batches.
    for name in disk.list_dir(log.directory):
        if name.endswith(".snapshot"):
            disk.remove(f"{log.directory}/{name}")
    log = reopened(disk, COMPACT, clean=False, clock=clock)
    again = keyed_batch((b"a", b"9"), base_sequence=9, **fields)
    assert log.append_as_leader(again, EPOCH, START_MS).is_duplicate
    following = keyed_batch((b"a", b"10"), base_sequence=10, **fields)
    assert log.append_as_leader(following, EPOCH, START_MS).first_offset == 11


def test_the_last_batch_of_the_cleaned_part_stays(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, (b"a", b"1"), (b"a", None), (b"a", b"1"))
    roll(log)
    write(log, (b"a", b"2"))
    clean(log, disk, clock)
    assert offsets_of(log) == [2, 3]
    roll(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [3]
    assert batches_of(log)[-1][0].next_offset == log.log_end_offset


def test_the_last_batch_of_the_cleaned_part_stays_even_if_it_is_empty(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, (b"a", b"1"))
    write(log, (b"b", None), (b"c", None))
    roll(log)
    clean(log, disk, clock)
    clock.advance(COMPACT.delete_retention_ms)
    log.cleaner_checkpoint = -1
    clean(log, disk, clock)
    headers = [header for header, _ in batches_of(log)]
    assert [(h.base_offset, h.last_offset, h.record_count) for h in headers] == [
        (0, 0, 1),
        (1, 2, 0),
    ]


def test_a_snapshot_of_producers_stays_where_a_segment_begins(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    clean(log, disk, clock)
    write(log, (b"key-0", b"again"))
    roll(log)
    clean(log, disk, clock)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) < 5
    assert log.producers.snapshot_offsets() == bases[1:]


@pytest.mark.parametrize("seed", range(8))
def test_a_swap_is_durable_before_its_checkpoint_is_written(clock: ManualClock, seed: int) -> None:
    disk = SimulatedDisk(seed, clock)
    disk.make_dirs("/data")
    disk.sync_dir("/")
    log = compacted_log(disk, clock)
    fill(log)
    disk.sync_dir("/data")
    cleaner = Cleaner(disk, clock, [log])
    cleaner.on_cleaned = lambda _: disk.crash(lose_names=True)
    cleaner.run()
    assert offsets_of(reopened(disk, COMPACT, clock=clock)) == [16, 17, 18, 19]


def test_after_a_kill_a_log_is_cleaned_without_waiting_for_a_flush(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    fill(compacted_log(disk, clock))
    disk.kill()
    log = reopened(disk, COMPACT, clock=clock)
    log.update_high_watermark(log.log_end_offset)
    assert log.recovery_point == 0
    clean(log, disk, clock)
    assert offsets_of(log) == [16, 17, 18, 19]
    # What was read is on the device now; the next start need not look at it again.
    assert log.recovery_point == log.segments.active.base_offset


def end_txn(log: PartitionLog, control_type: ControlType, producer_id: int) -> None:
    marker = end_txn_batch(control_type, 0, producer_id, 0, START_MS)
    log.append_as_leader(marker, EPOCH, START_MS, origin=AppendOrigin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)


def write_txn(
    log: PartitionLog, producer_id: int, sequence: int, *pairs: tuple[bytes, bytes]
) -> None:
    write(
        log,
        *pairs,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )


def test_records_of_an_aborted_transaction_go_and_supersede_nothing(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, (b"a", b"good"))
    write_txn(log, 5, 0, (b"a", b"bad"), (b"b", b"bad"))
    end_txn(log, ControlType.ABORT, 5)
    write(log, (b"c", b"1"))
    roll(log)
    clean(log, disk, clock)
    assert [(r.offset, r.value) for r in records_of(log)] == [(0, b"good"), (4, b"1")]
    # The marker stays, and the index names the transaction, for those who are on their way.
    assert [h.base_offset for h, _ in batches_of(log) if h.is_control] == [3]
    assert [txn.producer_id for txn in log.aborted_transactions(0, 5)] == [5]


def test_14055_a_record_with_the_key_of_a_marker_supersedes_no_marker(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    """A marker that is gone leaves its transaction open."""
    write_txn(log, 5, 0, (b"a", b"good"))
    end_txn(log, ControlType.COMMIT, 5)
    write(log, (encode_control_key(ControlType.COMMIT), b"looks like one"))
    write(log, (b"b", b"1"))
    roll(log)
    clean(log, disk, clock)
    assert [h.base_offset for h, _ in batches_of(log) if h.is_control] == [1]
    assert [r.offset for r in records_of(log)] == [0, 2, 3]


def test_markers_go_when_their_batches_are_gone_and_delete_retention_has_passed(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write_txn(log, 5, 0, (b"a", b"bad"))
    end_txn(log, ControlType.ABORT, 5)
    write_txn(log, 6, 0, (b"a", b"1"))
    end_txn(log, ControlType.COMMIT, 6)
    for producer_id in (5, 6):
        # Their last batches are others, so that nothing here is kept for their sake.
        write(log, (b"x", b"1"), producer_id=producer_id, producer_epoch=0, base_sequence=1)

    def cleaned_markers() -> list[tuple[int, bool]]:
        write(log, (b"a", b"2"))
        roll(log)
        clean(log, disk, clock)
        headers = [header for header, _ in batches_of(log) if header.is_control]
        return [(header.base_offset, header.has_delete_horizon) for header in headers]

    assert cleaned_markers() == [(1, False), (3, False)]
    assert cleaned_markers() == [(1, True), (3, True)]
    assert log.aborted_transactions(0, 4) == []
    clock.advance(COMPACT.delete_retention_ms - 1)
    assert cleaned_markers() == [(1, True), (3, True)]
    clock.advance(1)
    assert cleaned_markers() == []
    check_segments(log)


def test_an_open_transaction_holds_up_the_cleaner(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, (b"a", b"1"))
    roll(log)
    write_txn(log, 5, 0, (b"a", b"2"))
    roll(log)
    clean(log, disk, clock)
    assert log.cleaner_checkpoint == 1
    assert offsets_of(log) == [0, 1]

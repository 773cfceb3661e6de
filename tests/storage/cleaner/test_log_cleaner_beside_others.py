"""The cleaner with concurrent users of a log, its errors, and its pace."""

import errno
import logging
from dataclasses import replace

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.protocol.primitives import FileRegion
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.log_reader import MAX_COPIED_BYTES
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.cleaner.log_cleaning import (
    COMPACT,
    Cleaner,
    check_segments,
    clean,
    compacted_log,
    fill,
    last_values,
    offsets_of,
    records_of,
    roll,
    write,
)
from tests.storage.log_making import START_MS, data_of, reopened

DAY_MS = 86_400_000


# -- while others use the log


def test_a_log_can_be_written_and_read_between_the_steps_of_its_cleaning(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log, rounds=10)
    cleaner = Cleaner(disk, clock, [log])
    cleaner.begin()
    for number in range(20):
        assert cleaner.threads.step()
        write(log, (b"key-1", b"while-%d" % number))
        assert last_values(log)[b"key-1"] == b"while-%d" % number
        assert last_values(log)[b"key-0"] == b"value-9-0"
    cleaner.threads.finish()
    assert last_values(log)[b"key-1"] == b"while-19"
    check_segments(log)


def test_a_region_that_was_handed_out_stays_readable_after_the_swap(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, segment_bytes=1 << 20))
    value = b"x" * MAX_COPIED_BYTES
    for _ in range(3):
        write(log, (b"a", value))
    roll(log)
    fetched = log.read(0, 1 << 20, max_offset=3)
    assert isinstance(fetched.records, FileRegion)
    before = data_of(fetched)
    clean(log, disk, clock)
    clock.advance(COMPACT.file_delete_delay_ms)
    log.remove_deleted_files(clock.monotonic_ms())
    assert offsets_of(log) == [2]
    assert data_of(fetched) == before


def test_a_reader_goes_on_where_it_was_after_the_swap(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    # It has read all there was, and the place is remembered.
    log.read(7, 1 << 20, max_offset=7)
    clean(log, disk, clock)
    data = data_of(log.read(7, 1 << 20, max_offset=20))
    assert data == data_of(log.read(16, 1 << 20, max_offset=20))


def test_the_sources_are_removed_after_the_delete_delay(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    clean(log, disk, clock)
    clock.advance(COMPACT.file_delete_delay_ms)
    log.remove_deleted_files(clock.monotonic_ms())
    names = disk.list_dir(log.directory)
    assert not [name for name in names if name.endswith(".deleted")]
    assert last_values(log)[b"key-3"] == b"value-4-3"


def test_retention_waits_for_the_end_of_a_cleaning(disk: SimulatedDisk, clock: ManualClock) -> None:
    config = replace(COMPACT, cleanup_policy=("compact", "delete"), retention_ms=1000)
    log = compacted_log(disk, clock, config)
    fill(log)
    cleaner = Cleaner(disk, clock, [log])
    cleaner.begin()
    clock.advance(5000)
    assert log.delete_old_segments(clock.wall_ms()) == 0
    cleaner.threads.finish()
    assert log.delete_old_segments(clock.wall_ms()) > 0
    assert records_of(log) == []
    assert log.log_start_offset == log.log_end_offset == 20


def test_deleted_records_do_not_come_back_by_a_cleaning(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    write(log, *((b"key-%d" % number, b"1") for number in range(10)))
    roll(log)
    cleaner = Cleaner(disk, clock, [log])
    cleaner.begin()
    log.delete_records_before(5)
    cleaner.threads.finish()
    assert log.log_start_offset == 5
    assert offsets_of(log) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("steps", range(6))
def test_a_log_that_is_cut_while_it_is_cleaned_stays_cut(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog, steps: int
) -> None:
    fill(log)
    cleaner = Cleaner(disk, clock, [log])
    cleaner.begin()
    for _ in range(steps):
        cleaner.threads.step()
    log.truncate_to(10)
    cleaner.threads.finish()
    assert log.log_end_offset == 10
    assert all(offset < 10 for offset in offsets_of(log))
    assert log.cleaner_checkpoint <= 10
    assert not cleaner.cleaner.uncleanable
    assert not [name for name in disk.list_dir(log.directory) if name.endswith(".cleaned")]
    # And it can be cleaned again.
    fill(log)
    clean(log, disk, clock)
    assert offsets_of(log) == [26, 27, 28, 29]


@pytest.mark.parametrize("steps", range(4))
def test_a_log_that_is_deleted_while_it_is_cleaned_is_gone(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog, steps: int
) -> None:
    fill(log)
    cleaner = Cleaner(disk, clock, [log])
    cleaner.begin()
    for _ in range(steps):
        cleaner.threads.step()
    log.is_closed = True
    log.rename_directory("/data/orders-0.1234-delete")
    log.close_files()
    disk.remove_tree("/data/orders-0.1234-delete")
    cleaner.threads.finish()
    assert cleaner.cleaned == []
    assert not cleaner.cleaner.uncleanable
    assert disk.list_dir("/data") == []


def test_stopping_gives_up_what_is_under_way(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    cleaner = Cleaner(disk, clock, [log])
    cleaner.begin()
    cleaner.threads.step()
    cleaner.cleaner.stop()
    cleaner.threads.finish()
    assert cleaner.cleaned == []
    assert len(records_of(log)) == 20
    assert not [name for name in disk.list_dir(log.directory) if name.endswith(".cleaned")]


# -- what goes wrong


def test_a_damaged_log_is_reported_once_and_kept_out(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    fill(log)
    disk.damage(log.segments[1].log.path, 65, b"\xff")
    cleaner = Cleaner(disk, clock, [log])
    with caplog.at_level(logging.ERROR, "moldau.storage.cleaner.log_cleaner"):
        cleaner.run()
        cleaner.run()
    reports = [each.getMessage() for each in caplog.records if "cannot be cleaned" in each.message]
    assert len(reports) == 1
    assert log.segments[1].log.path in reports[0]
    assert list(cleaner.cleaner.uncleanable) == [log.topic_partition]
    assert cleaner.cleaned == []


def test_other_logs_go_on_beside_one_that_cannot_be_cleaned(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    disk.damage(log.segments[0].log.path, 65, b"\xff")
    other = reopened(disk, COMPACT, clock=clock, directory="/data/other-0")
    other.topic_partition = other.topic_partition._replace(topic="other")
    fill(other)
    cleaner = Cleaner(disk, clock, [log, other])
    cleaner.begin()
    cleaner.threads.finish()
    cleaner.run()
    assert cleaner.cleaned == [other]


def test_a_partition_that_is_deleted_is_no_longer_listed_as_uncleanable(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log)
    disk.damage(log.segments[0].log.path, 65, b"\xff")
    logs = [log]
    cleaner = Cleaner(disk, clock, logs)
    cleaner.run()
    assert cleaner.cleaner.uncleanable
    logs.clear()
    cleaner.run()
    assert not cleaner.cleaner.uncleanable


def test_a_full_disk_ends_the_pass_and_nothing_else(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    fill(log)
    disk.fail_next("append", "*.log.cleaned", errno.ENOSPC)
    cleaner = Cleaner(disk, clock, [log])
    with caplog.at_level(logging.WARNING, "moldau.storage.cleaner.log_cleaner"):
        cleaner.run()
    assert "No room" in caplog.text
    assert not log.is_closed
    assert last_values(log)[b"key-0"] == b"value-4-0"
    assert cleaner.cleaned == []
    assert not [name for name in disk.list_dir(log.directory) if name.endswith(".cleaned")]
    cleaner.run()
    assert cleaner.cleaned == [log]
    assert offsets_of(log) == [16, 17, 18, 19]


def test_a_disk_that_fails_takes_its_directory_offline(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    failures: list[str] = []
    context = log._state.context
    context.on_failure = lambda log_dir, doing, error: failures.append(f"{log_dir}: {doing}")
    fill(log)
    disk.fail_next("fsync", "*.log.cleaned", errno.EIO)
    clean(log, disk, clock)
    assert failures == ["/data: cleaning orders-0"]


def test_a_checkpoint_beyond_the_log_is_not_believed(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    fill(log)
    log.cleaner_checkpoint = 1000
    with caplog.at_level(logging.WARNING, "moldau.storage.cleaner.log_cleaner"):
        clean(log, disk, clock)
    assert "cleaned up to offset 1000" in caplog.text
    assert offsets_of(log) == [16, 17, 18, 19]


# -- pace


def test_the_throttle_bounds_what_is_read_and_written(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = compacted_log(disk, clock, replace(COMPACT, segment_bytes=1 << 20))
    for number in range(20):
        write(log, (b"key-%d" % number, b"x" * 50_000))
    roll(log)
    size = log.size_bytes
    settings = {"log.cleaner.io.max.bytes.per.second": "100000"}
    cleaner = clean(log, disk, clock, **settings)
    # Read for the map, read again, and written: three times a million bytes.
    elapsed_s = (clock.wall_ms() - START_MS) / 1000
    assert 3 * size / 100_000 * 0.9 <= elapsed_s <= 3 * size / 100_000 * 1.1
    assert max(cleaner.pauses) < 2


def test_without_a_limit_nobody_waits(
    disk: SimulatedDisk, clock: ManualClock, log: PartitionLog
) -> None:
    fill(log, rounds=50)
    assert clean(log, disk, clock).pauses == []


def test_the_age_of_the_sources_is_kept(disk: SimulatedDisk, clock: ManualClock) -> None:
    log = compacted_log(disk, clock, LogConfig(cleanup_policy=("compact",), segment_bytes=400))
    fill(log)
    clock.advance(7 * DAY_MS)
    clean(log, disk, clock)
    assert {segment.largest_timestamp for segment in list(log.segments)[:-1]} == {START_MS}

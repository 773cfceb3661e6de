"""Deletion from a log by age or size, over days of a simulated clock."""

from dataclasses import replace

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.protocol.primitives import FileRegion
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.log_reader import MAX_COPIED_BYTES
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.cleaner.log_cleaning import COMPACT, Cleaner, records_of, roll, write
from tests.storage.log_making import (
    SMALL_SEGMENTS,
    START_MS,
    append,
    data_of,
    new_log,
    new_log_with,
    reopened,
)

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WEEK = LogConfig(segment_bytes=400, segment_ms=DAY_MS, retention_ms=7 * DAY_MS)


def days_of(log: PartitionLog) -> list[int]:
    """On which days the records that are there were written."""
    return [(record.timestamp - START_MS) // DAY_MS for record in records_of(log)]


def test_a_month_of_writing_leaves_the_last_week(disk: SimulatedDisk, clock: ManualClock) -> None:
    log = new_log(disk, WEEK, clock=clock)
    for hour in range(30 * 24):
        if hour % 6 == 0:
            write(log, (b"k", b"%d" % hour), timestamp=clock.wall_ms())
        log.delete_old_segments(clock.wall_ms())
        log.remove_deleted_files(clock.monotonic_ms())
        clock.advance(HOUR_MS)
    assert min(days_of(log)) in (22, 23)
    assert max(days_of(log)) == 29
    # Whole segments go, and a segment is a day.
    assert log.log_start_offset == log.segments.first.base_offset > 0
    assert log.log_end_offset == 120
    assert not [name for name in disk.list_dir(log.directory) if "0000.log.deleted" in name]


def test_a_quiet_log_is_rolled_when_segment_ms_have_passed(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = new_log(disk, WEEK, clock=clock)
    write(log, (b"k", b"1"))
    clock.advance(DAY_MS)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 1
    clock.advance(1)
    log.delete_old_segments(clock.wall_ms())
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    # Once: what is empty is not rolled again.
    clock.advance(DAY_MS + 1)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 2


def test_a_quiet_log_is_rolled_after_a_restart_too(disk: SimulatedDisk, clock: ManualClock) -> None:
    log = new_log(disk, WEEK, clock=clock)
    write(log, (b"k", b"1"))
    log.close()
    clock.advance(DAY_MS + 1)
    log = reopened(disk, WEEK, clean=True, clock=clock)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 2


def test_jitter_rolls_a_quiet_log_earlier(disk: SimulatedDisk, clock: ManualClock) -> None:
    config = replace(WEEK, segment_jitter_ms=12 * HOUR_MS)
    log = new_log(disk, config, clock=clock)
    write(log, (b"k", b"1"))
    jitter_ms = log.segments.active.roll_jitter_ms
    assert jitter_ms > 0
    clock.advance(DAY_MS - jitter_ms)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 1
    clock.advance(1)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 2


def test_old_records_that_are_copied_into_a_log_do_not_roll_it_at_every_look(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = new_log(disk, replace(WEEK, retention_ms=-1), clock=clock)
    for number in range(3):
        write(log, (b"k", b"%d" % number), timestamp=1_000_000_000_000)
        clock.advance(HOUR_MS)
        log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 1


def test_records_without_timestamps_age_from_the_making_of_their_segment(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = new_log(disk, WEEK, clock=clock)
    write(log, (b"k", b"1"), timestamp=-1)
    assert log.segments.active.max_timestamp == -1
    clock.advance(DAY_MS + 1)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 2
    # Retention falls back to when the file was last written.
    clock.advance(6 * DAY_MS)
    assert log.delete_old_segments(clock.wall_ms()) == 1


def test_a_compacted_topic_rolls_in_time_for_its_max_compaction_lag(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    config = replace(COMPACT, max_compaction_lag_ms=HOUR_MS, min_cleanable_dirty_ratio=1.0)
    log = new_log(disk, config, clock=clock)
    write(log, (b"k", b"1"), timestamp=clock.wall_ms())
    clock.advance(HOUR_MS)
    write(log, (b"k", b"2"), timestamp=clock.wall_ms())
    assert len(log.segments) == 1
    clock.advance(1)
    write(log, (b"k", b"3"), timestamp=clock.wall_ms())
    assert len(log.segments) == 2
    clock.advance(3 * HOUR_MS)
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 3
    cleaner = Cleaner(disk, clock, [log])
    cleaner.run()
    assert [record.value for record in records_of(log)] == [b"3"]


def test_a_topic_that_is_not_compacted_has_no_compaction_lag(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = new_log(disk, replace(WEEK, max_compaction_lag_ms=HOUR_MS), clock=clock)
    write(log, (b"k", b"1"), timestamp=clock.wall_ms())
    clock.advance(2 * HOUR_MS)
    write(log, (b"k", b"2"), timestamp=clock.wall_ms())
    log.delete_old_segments(clock.wall_ms())
    assert len(log.segments) == 1


def test_both_policies_compact_what_is_young_and_delete_what_is_old(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    config = replace(
        WEEK,
        cleanup_policy=("compact", "delete"),
        min_cleanable_dirty_ratio=0.0,
        segment_bytes=100,
    )
    log = new_log(disk, config, clock=clock)
    for day in range(12):
        write(log, (b"same", b"%d" % day), (b"day-%d" % day, b""), timestamp=clock.wall_ms())
        clock.advance(DAY_MS)
    roll(log)
    Cleaner(disk, clock, [log]).run()
    assert days_of(log) == [*range(12), 11]
    log.delete_old_segments(clock.wall_ms())
    assert days_of(log) == [*range(5, 12), 11]
    # The cleaner's place fell behind the start of the log, which it takes as it is.
    write(log, (b"same", b"last"), timestamp=clock.wall_ms())
    roll(log)
    Cleaner(disk, clock, [log]).run()
    assert [r.value for r in records_of(log) if r.key == b"same"] == [b"last"]


def test_offsets_are_not_used_again_when_everything_was_deleted(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = new_log(disk, WEEK, clock=clock)
    for number in range(10):
        write(log, (b"k", b"%d" % number))
    clock.advance(8 * DAY_MS)
    log.delete_old_segments(clock.wall_ms())
    clock.advance(WEEK.file_delete_delay_ms)
    log.remove_deleted_files(clock.monotonic_ms())
    log.flush()
    disk.crash()
    log = reopened(disk, WEEK, clock=clock)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)
    assert write(log, (b"k", b"next")) == 10


def test_a_reader_in_a_segment_that_is_deleted_finishes_its_read(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    log = new_log(disk, replace(WEEK, segment_bytes=1 << 20), clock=clock)
    write(log, (b"k", b"x" * MAX_COPIED_BYTES))
    fetched = log.read(0, 1 << 20, max_offset=1)
    assert isinstance(fetched.records, FileRegion)
    before = data_of(fetched)
    clock.advance(8 * DAY_MS)
    assert log.delete_old_segments(clock.wall_ms()) == 1
    clock.advance(WEEK.file_delete_delay_ms)
    log.remove_deleted_files(clock.monotonic_ms())
    assert data_of(fetched) == before


def test_retention_by_size_keeps_as_much_as_it_says() -> None:
    config = replace(SMALL_SEGMENTS, retention_bytes=1000)
    log = new_log_with(*(b"x" * 150 for _ in range(20)), config=config)
    log.delete_old_segments(START_MS)
    assert 1000 <= log.size_bytes < 1500
    assert log.log_start_offset == log.segments.first.base_offset > 0


def test_retention_by_time_may_empty_the_log_but_keeps_its_end_offset() -> None:
    config = replace(SMALL_SEGMENTS, retention_ms=1000)
    log = new_log_with(*(b"x" * 150 for _ in range(5)), config=config)
    assert log.delete_old_segments(START_MS + 1000) == 0
    assert log.delete_old_segments(START_MS + 1001) == 3
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (5, 5, 0)
    assert append(log, b"new") == 5


def test_nothing_above_the_high_watermark_is_old() -> None:
    config = replace(SMALL_SEGMENTS, retention_ms=1000)
    log = new_log_with(*(b"x" * 150 for _ in range(6)), config=config)
    log.update_high_watermark(3)
    log.delete_old_segments(START_MS + 10_000)
    assert log.log_start_offset == 2


def test_compacted_logs_are_not_shortened_by_time() -> None:
    config = replace(SMALL_SEGMENTS, retention_ms=1000, cleanup_policy=("compact",))
    log = new_log(config=config)
    log.config = replace(config, cleanup_policy=("delete",))
    append(log, b"x")
    log.config = config
    assert log.delete_old_segments(START_MS + 10_000) == 0

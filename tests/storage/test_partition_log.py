"""The log of one partition: offsets, reads, rolls, flushes, and what makes it shorter."""

import errno
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.primitives import FileRegion
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.header import iter_headers, read_header
from moldau.storage.disk import RealDisk
from moldau.storage.partition_log import PartitionLog
from moldau.storage.producer_state import AppendOrigin
from moldau.storage.simulated_disk import SimulatedDisk, keep_nothing
from tests.storage.log_making import (
    DIRECTORY,
    EPOCH,
    START_MS,
    append,
    batch,
    data_of,
    new_log,
    read_all,
    reopened,
)

SMALL_SEGMENTS = LogConfig(segment_bytes=500, index_interval_bytes=100)


def test_batches_get_consecutive_offsets_and_the_leader_epoch() -> None:
    log = new_log()
    assert append(log, b"a", b"b", b"c") == 0
    assert append(log, b"d") == 3
    assert log.log_end_offset == 4
    data = data_of(log.read(0, 1 << 20, max_offset=4))
    headers = [header for _, header in iter_headers(data)]
    assert [(h.base_offset, h.last_offset) for h in headers] == [(0, 2), (3, 3)]
    assert [h.partition_leader_epoch for h in headers] == [EPOCH, EPOCH]
    assert read_all(log) == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]


def test_the_append_info_says_where_the_batch_went() -> None:
    log = new_log()
    append(log, b"a")
    info = log.append_as_leader(batch(b"b", b"c"), EPOCH, START_MS)
    assert (info.first_offset, info.last_offset) == (1, 2)
    assert (info.log_append_time, info.log_start_offset, info.is_duplicate) == (-1, 0, False)
    assert info.max_timestamp == START_MS + 1


def test_log_append_time_is_stamped_and_reported() -> None:
    log = new_log(config=LogConfig(message_timestamp_type="LogAppendTime"))
    info = log.append_as_leader(batch(b"a", timestamp=5), EPOCH, START_MS)
    assert info.log_append_time == START_MS
    found = log.offset_for_timestamp(START_MS)
    assert found is not None
    assert (found.offset, found.timestamp) == (0, START_MS)


def test_a_duplicate_is_answered_with_its_first_offsets_and_not_written() -> None:
    log = new_log()
    first = batch(b"a", b"b", producer_id=9, sequence=0)
    log.append_as_leader(first, EPOCH, START_MS)
    log.append_as_leader(batch(b"c", producer_id=9, sequence=2), EPOCH, START_MS)
    again = log.append_as_leader(first, EPOCH, START_MS)
    assert again.is_duplicate
    assert (again.first_offset, again.last_offset) == (0, 1)
    assert log.log_end_offset == 3


def test_a_gap_in_the_sequence_is_refused_and_leaves_no_trace() -> None:
    log = new_log()
    log.append_as_leader(batch(b"a", producer_id=9, sequence=0), EPOCH, START_MS)
    with pytest.raises(ApiError) as refused:
        log.append_as_leader(batch(b"b", producer_id=9, sequence=5), EPOCH, START_MS)
    assert refused.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 1
    log.append_as_leader(batch(b"b", producer_id=9, sequence=1), EPOCH, START_MS)
    assert read_all(log) == [(0, b"a"), (1, b"b")]


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = new_log(config=SMALL_SEGMENTS)
    with pytest.raises(ApiError) as refused:
        append(log, b"x" * 600)
    assert refused.value.code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert append(log, b"small") == 0


# -- reading --


@pytest.mark.parametrize("offset", [-1, 5])
def test_offsets_outside_of_the_log_are_out_of_range(offset: int) -> None:
    log = new_log()
    append(log, b"a", b"b", b"c", b"d")
    with pytest.raises(ApiError) as refused:
        log.read(offset, 1000, max_offset=4)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_read_at_the_end_is_empty_and_remembered() -> None:
    log = new_log()
    append(log, b"a")
    assert log.read(1, 1000, max_offset=1).size_bytes == 0
    append(log, b"b")
    assert data_of(log.read(1, 1000, max_offset=2)) == data_of(
        new_log_with(b"a", b"b").read(1, 1000, max_offset=2)
    )


def new_log_with(*values: bytes, config: LogConfig | None = None) -> PartitionLog:
    log = new_log(config=config)
    for value in values:
        append(log, value)
    return log


def test_reads_stop_at_the_maximum_offset() -> None:
    log = new_log_with(b"a", b"b", b"c")
    for _ in range(2):
        headers = list(iter_headers(data_of(log.read(0, 1 << 20, max_offset=2))))
        assert [header.base_offset for _, header in headers] == [0, 1]
    assert log.read(2, 1 << 20, max_offset=2).size_bytes == 0


def test_an_offset_inside_a_batch_gives_the_whole_batch() -> None:
    log = new_log()
    append(log, b"a", b"b", b"c")
    append(log, b"d")
    header = read_header(data_of(log.read(1, 1 << 20, max_offset=4)), 0)
    assert header.base_offset == 0


def test_the_size_limit_cuts_inside_the_last_batch() -> None:
    log = new_log_with(b"a" * 100, b"b" * 100, b"c" * 100)
    fetched = log.read(0, 250, max_offset=3)
    assert fetched.size_bytes == 250
    assert [header.base_offset for _, header in iter_headers(data_of(fetched))] == [0]


def test_the_first_batch_comes_whole_only_if_one_is_due() -> None:
    log = new_log_with(b"a" * 1000, b"b")
    whole = log.read(0, 10, max_offset=2, min_one_message=True)
    size = read_header(data_of(whole), 0).size_bytes
    assert whole.size_bytes == size > 1000
    cut = log.read(0, 10, max_offset=2)
    assert (cut.size_bytes, cut.first_entry_incomplete) == (10, True)
    nothing = log.read(0, 0, max_offset=2)
    assert (nothing.size_bytes, nothing.first_entry_incomplete) == (0, True)


def test_large_answers_are_regions_of_the_file_and_outlive_the_segment(tmp_path: Path) -> None:
    clock = ManualClock(START_MS)
    log = new_log(RealDisk(), clock=clock, directory=f"{tmp_path}/orders-0")
    for number in range(4):
        append(log, bytes([number]) * 30_000)
    fetched = log.read(0, 1 << 20, max_offset=4)
    assert isinstance(fetched.records, FileRegion)
    assert len(fetched.records) == fetched.size_bytes > 120_000
    expected = [(n, bytes([n]) * 30_000) for n in range(4)]
    assert read_all(log) == expected

    log.truncate_fully_and_start_at(100)
    clock.advance(10**9)
    log.remove_deleted_files(clock.now_ms())
    assert not list(tmp_path.glob("*/*.deleted"))
    assert [h.base_offset for _, h in iter_headers(data_of(fetched))] == [0, 1, 2, 3]


def test_reads_go_on_in_the_next_segment() -> None:
    log = new_log_with(*(b"%03d" % n * 40 for n in range(20)), config=SMALL_SEGMENTS)
    assert len(log.segments) > 3
    assert read_all(log) == [(n, b"%03d" % n * 40) for n in range(20)]
    for start in range(20):
        assert read_all(log, start)[0][0] == start


def test_a_tail_reader_needs_one_read_of_the_disk_for_each_fetch() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, LogConfig(segment_bytes=3000))
    for _ in range(100):
        append(log, b"x" * 50)
    counted = CountingReads(disk)
    offset = log.log_end_offset
    log.read(offset, 1000, max_offset=offset)
    for _ in range(50):
        append(log, b"new")
        counted.reads = 0
        fetched = log.read(offset, 1 << 20, max_offset=log.log_end_offset)
        assert read_header(data_of(fetched), 0).base_offset == offset
        assert counted.reads <= 1
        offset = log.log_end_offset


class CountingReads:
    """Counts how often the files of a log are read."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.reads = 0
        begin = disk.begin

        def counting(operation: str, path: str, changes: bool = True) -> None:
            self.reads += operation == "pread"
            begin(operation, path, changes)

        disk.begin = counting  # type: ignore[method-assign]


def test_readable_bytes_tell_what_a_fetch_would_find() -> None:
    log = new_log_with(*(b"%03d" % n * 40 for n in range(20)), config=SMALL_SEGMENTS)
    assert log.readable_bytes(0, 20) == log.size_bytes
    assert log.readable_bytes(20, 20) == 0
    one = log.read(19, 1 << 20, max_offset=20).size_bytes
    assert log.readable_bytes(19, 20) == one
    assert log.readable_bytes(18, 20) == 2 * one


# -- rolling --


def test_segments_roll_by_size() -> None:
    log = new_log_with(*(b"x" * 150 for _ in range(4)), config=SMALL_SEGMENTS)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert all(segment.size <= 500 for segment in log.segments)


def test_segments_roll_by_the_timestamps_of_their_batches() -> None:
    log = new_log(config=LogConfig(segment_ms=1000))
    append(log, b"a", timestamp=START_MS)
    append(log, b"b", timestamp=START_MS + 1000)
    assert len(log.segments) == 1
    append(log, b"c", timestamp=START_MS + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_jitter_lets_segments_roll_earlier() -> None:
    log = new_log(config=LogConfig(segment_ms=1000, segment_jitter_ms=900))
    jitter_ms = log.segments.active.roll_jitter_ms
    assert 0 < jitter_ms < 900
    append(log, b"a", timestamp=START_MS)
    append(log, b"b", timestamp=START_MS + 1000 - jitter_ms)
    assert len(log.segments) == 1
    append(log, b"c", timestamp=START_MS + 1001 - jitter_ms)
    assert len(log.segments) == 2


def test_segments_roll_when_an_index_is_full() -> None:
    log = new_log(config=LogConfig(segment_index_bytes=48, index_interval_bytes=0))
    for n in range(9):
        append(log, b"%d" % n, timestamp=START_MS + n)
    assert len(log.segments) > 1
    assert all(segment.time_index.size_bytes <= 48 for segment in log.segments)
    assert all(segment.offset_index.size_bytes <= 48 for segment in log.segments)


def test_a_roll_moves_the_recovery_point_and_takes_a_producer_snapshot() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for number in range(3):
        log.append_as_leader(batch(b"x" * 150, producer_id=9, sequence=number), EPOCH, START_MS)
    assert log.recovery_point == 2
    assert f"{2:020d}.snapshot" in disk.list_dir(DIRECTORY)


def test_flushes_wait_for_the_executor_they_are_given() -> None:
    jobs = []

    class Later:
        def submit(self, fn, /, *args):  # type: ignore[no-untyped-def]
            jobs.append((fn, args))

    log = new_log(config=SMALL_SEGMENTS)
    log._context.executor = Later()
    for _ in range(4):
        append(log, b"x" * 150)
    assert (log.recovery_point, len(jobs)) == (0, 1)
    for fn, args in jobs:
        fn(*args)
    assert log.recovery_point == 2


def test_a_flush_that_was_overtaken_by_a_truncation_moves_nothing() -> None:
    jobs = []

    class Later:
        def submit(self, fn, /, *args):  # type: ignore[no-untyped-def]
            jobs.append((fn, args))

    log = new_log(config=SMALL_SEGMENTS)
    log._context.executor = Later()
    for _ in range(4):
        append(log, b"x" * 150)
    log.truncate_to(1)
    append(log, b"y")
    for fn, args in jobs:
        fn(*args)
    assert log.recovery_point == 0


def test_flush_messages_flushes_inline() -> None:
    log = new_log(config=LogConfig(flush_messages=3))
    append(log, b"a", b"b")
    assert log.recovery_point == 0
    append(log, b"c")
    assert log.recovery_point == 3


# -- epochs --


def test_epochs_begin_where_their_first_batch_is() -> None:
    log = new_log()
    log.append_as_leader(batch(b"a", b"b"), 1, START_MS)
    log.append_as_leader(batch(b"c"), 4, START_MS)
    assert log.end_offset_for_epoch(1) == (1, 2)
    assert log.end_offset_for_epoch(3) == (1, 2)
    assert log.end_offset_for_epoch(4) == (4, 3)
    assert log.end_offset_for_epoch(5) == (-1, -1)


# -- followers --


def test_a_follower_becomes_a_copy_of_its_leader() -> None:
    leader = new_log(config=SMALL_SEGMENTS)
    for number in range(12):
        leader.append_as_leader(
            batch(b"%02d" % number * 30, producer_id=5, sequence=number), number // 4, START_MS
        )
    data = b"".join(
        data_of(leader.read(segment.base_offset, 1 << 20, max_offset=12))
        for segment in leader.segments
    )
    disk = SimulatedDisk()
    follower = new_log(disk, SMALL_SEGMENTS)
    info = follower.append_as_follower(data + data[:40], 10)
    assert info is not None
    assert (info.first_offset, info.last_offset) == (0, 11)
    assert read_all(follower) == read_all(leader)
    assert [s.base_offset for s in follower.segments] == [s.base_offset for s in leader.segments]
    assert follower.leader_epochs.entries() == leader.leader_epochs.entries()
    assert follower.producers.map_end_offset == 12
    assert follower.append_as_follower(b"") is None
    # The snapshots that were taken on the way hold what the batches before them say.
    for base_offset in [segment.base_offset for segment in follower.segments][1:]:
        shorter = disk.fork()
        truncated = reopened(shorter, SMALL_SEGMENTS)
        truncated.truncate_to(base_offset)
        entry = truncated.producers.entry(5)
        assert entry is not None
        assert entry.next_sequence == base_offset


def test_a_follower_refuses_offsets_that_go_back_and_bad_checksums() -> None:
    leader = new_log_with(b"a", b"b")
    data = data_of(leader.read(0, 1000, max_offset=2))
    follower = new_log()
    follower.append_as_follower(data)
    with pytest.raises(ApiError) as refused:
        follower.append_as_follower(data)
    assert refused.value.code == ErrorCode.INVALID_RECORD
    with pytest.raises(ApiError) as refused:
        new_log().append_as_follower(data[:-1] + b"?")
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    assert follower.log_end_offset == 2


def test_a_follower_leaves_out_batches_of_a_later_epoch() -> None:
    leader = new_log()
    leader.append_as_leader(batch(b"a"), 1, START_MS)
    leader.append_as_leader(batch(b"b"), 2, START_MS)
    follower = new_log()
    follower.append_as_follower(data_of(leader.read(0, 1000, max_offset=2)), 1)
    assert follower.log_end_offset == 1


# -- shorter --


def test_deleted_records_are_gone_at_once_and_their_segments_later() -> None:
    clock = ManualClock(START_MS)
    disk = SimulatedDisk(clock=clock)
    log = new_log(disk, SMALL_SEGMENTS, clock=clock)
    for number in range(12):
        append(log, b"%02d" % number * 60)
    assert log.delete_records_before(7) == 7
    with pytest.raises(ApiError):
        log.read(6, 1000, max_offset=12)
    before = len(log.segments)
    assert log.delete_old_segments(START_MS) > 0
    assert len(log.segments) < before
    assert log.log_start_offset == 7
    assert [offset for offset, _ in read_all(log)] == list(range(7, 12))
    assert any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))
    log.remove_deleted_files(START_MS + 59_999)
    assert any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))
    log.remove_deleted_files(START_MS + 60_000)
    assert not any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))


def test_records_above_the_high_watermark_cannot_be_deleted() -> None:
    log = new_log_with(b"a", b"b", b"c")
    log.update_high_watermark(2)
    with pytest.raises(ApiError) as refused:
        log.delete_records_before(3)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.delete_records_before(-1) == 2


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
    log.high_watermark = 3
    log.delete_old_segments(START_MS + 10_000)
    assert log.log_start_offset == 2


def test_compacted_logs_are_not_shortened_by_time() -> None:
    config = replace(SMALL_SEGMENTS, retention_ms=1000, cleanup_policy=("compact",))
    log = new_log(config=config)
    log.config = replace(config, cleanup_policy=("delete",))
    append(log, b"x")
    log.config = config
    assert log.delete_old_segments(START_MS + 10_000) == 0


@pytest.mark.parametrize("offset", range(12))
def test_truncation_forgets_everything_from_an_offset_on(offset: int) -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for number in range(12):
        log.append_as_leader(
            batch(b"%02d" % number * 60, producer_id=5, sequence=number), number // 5, START_MS
        )
    log.update_high_watermark(12)
    assert log.truncate_to(offset)
    assert (log.log_end_offset, log.high_watermark) == (offset, offset)
    assert [found for found, _ in read_all(log)] == list(range(offset))
    assert log.recovery_point <= offset
    assert log.leader_epochs.latest_epoch == ((offset - 1) // 5 if offset else -1)
    entry = log.producers.entry(5)
    assert (entry.next_sequence if entry else 0) == offset
    info = log.append_as_leader(batch(b"again", producer_id=5, sequence=offset), 9, START_MS)
    assert info.first_offset == offset
    assert read_all(log)[-1] == (offset, b"again")
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == read_all(log)


def test_truncation_behind_the_end_does_nothing() -> None:
    log = new_log_with(b"a")
    assert not log.truncate_to(1)
    assert not log.truncate_to(5)
    assert log.log_end_offset == 1


def test_a_log_can_start_anew_at_any_offset() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for _ in range(5):
        append(log, b"x" * 150)
    log.truncate_fully_and_start_at(3)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (3, 3, 3)
    assert append(log, b"new") == 3
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == [(3, b"new")]


# -- transactions --


def test_an_aborted_transaction_is_reported_to_those_who_read_it() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    log.append_as_leader(
        batch(b"a", producer_id=7, sequence=0, transactional=True), EPOCH, START_MS
    )
    append(log, b"plain")
    assert (log.high_watermark, log.last_stable_offset) == (2, 0)
    marker = end_txn_batch(ControlType.ABORT, 1, 7, 0, START_MS)
    info = log.append_as_leader(marker, EPOCH, START_MS, origin=AppendOrigin.COORDINATOR)
    assert info.first_offset == 2
    log.update_high_watermark(3)
    assert log.last_stable_offset == 3
    fetched = log.read(0, 1 << 20, max_offset=3, include_aborted=True)
    assert fetched.aborted_transactions is not None
    assert [(t.producer_id, t.first_offset) for t in fetched.aborted_transactions] == [(7, 0)]
    again = reopened(disk)
    assert again.aborted_transactions(0, 3) == log.aborted_transactions(0, 3) != []
    assert again.producers.first_unstable_offset in (-1, 0)


# -- disks that fail --


def test_a_full_disk_refuses_appends_until_there_is_room() -> None:
    disk = SimulatedDisk()
    failures: list[str] = []
    log = new_log(disk)
    log._context.on_failure = lambda path, doing, error: failures.append(path)
    append(log, b"a")
    disk.capacity = 0
    with pytest.raises(ApiError) as refused:
        append(log, b"b" * 100)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "no room" in str(refused.value)
    disk.capacity = None
    assert append(log, b"c") == 1
    assert read_all(log) == [(0, b"a"), (1, b"c")]
    assert failures == []


def test_a_roll_that_finds_no_room_leaves_the_log_as_it_was() -> None:
    for operation in ("open", "append", "truncate", "rename"):
        disk = SimulatedDisk()
        log = new_log(disk, SMALL_SEGMENTS)
        for _ in range(2):
            append(log, b"x" * 150)
        disk.fail_next(operation, "*0002*", errno.ENOSPC)
        disk.fail_next(operation, "*.index", errno.ENOSPC)
        for _ in range(5):
            with suppress(ApiError):
                append(log, b"y" * 150)
        disk.heal()
        assert len(log.segments) > 1
        assert append(log, b"z") == log.log_end_offset - 1
        offsets = [offset for offset, _ in read_all(log)]
        assert offsets == list(range(log.log_end_offset))
        assert read_all(reopened(disk, SMALL_SEGMENTS)) == read_all(log)


def test_a_failed_fsync_is_never_forgiven() -> None:
    disk = SimulatedDisk()
    failures: list[str] = []
    log = new_log(disk)
    log._context.on_failure = lambda path, doing, error: failures.append(path)
    append(log, b"a")
    disk.fail_next("fsync", "*.log", errno.ENOSPC)
    with pytest.raises(ApiError):
        log.flush()
    assert (failures, log.recovery_point) == (["/data"], 0)


def test_any_other_error_takes_the_log_directory_offline() -> None:
    disk = SimulatedDisk()
    failures: list[tuple[str, str]] = []
    log = new_log(disk)
    log._context.on_failure = lambda path, doing, error: failures.append((path, doing))
    append(log, b"a")
    disk.fail_next("append", "*.log", errno.EIO)
    with pytest.raises(ApiError) as refused:
        append(log, b"b")
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert failures == [("/data", "appending to orders-0")]
    disk.fail_next("pread", "*.log", errno.EIO)
    with pytest.raises(ApiError):
        log.read(0, 1000, max_offset=1)
    assert len(failures) == 2


def test_a_closed_log_answers_with_a_storage_error() -> None:
    log = new_log_with(b"a")
    log.close()
    for attempt in (lambda: append(log, b"b"), lambda: log.read(0, 1, max_offset=1)):
        with pytest.raises(ApiError) as refused:
            attempt()
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR


def test_what_was_flushed_survives_a_power_cut() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    append(log, b"a")
    append(log, b"b")
    log.flush()
    append(log, b"c")
    disk.crash(keep_nothing, lose_names=True)
    assert read_all(reopened(disk, recovery_point=2)) == [(0, b"a"), (1, b"b")]


# -- times --


def test_offsets_are_found_by_time() -> None:
    log = new_log(config=replace(SMALL_SEGMENTS, index_interval_bytes=0))
    for number in range(30):
        append(log, b"x" * 50, b"y", timestamp=START_MS + 100 * number)
    assert len(log.segments) > 3
    for number in range(30):
        for delta, offset in ((0, 0), (1, 1), (2, 2)):
            found = log.offset_for_timestamp(START_MS + 100 * number + delta)
            if 2 * number + offset == 60:
                assert found is None
            else:
                assert found is not None
                assert found.offset == 2 * number + offset
                assert found.leader_epoch == EPOCH
    assert log.offset_for_timestamp(START_MS + 10**6) is None
    first = log.offset_for_timestamp(0)
    assert first is not None
    assert (first.offset, first.timestamp) == (0, START_MS)


def test_a_search_by_time_does_not_see_deleted_records() -> None:
    log = new_log()
    append(log, b"a", b"b", b"c")
    log.delete_records_before(2)
    found = log.offset_for_timestamp(0)
    assert found is not None
    assert found.offset == 2


def test_the_largest_timestamp_is_found_wherever_it_is() -> None:
    log = new_log(config=SMALL_SEGMENTS)
    assert log.max_timestamp() is None
    for number, timestamp in enumerate((10, 40, 20, 40, 5, 30)):
        append(log, b"%d" % number * 150, timestamp=timestamp)
    found = log.max_timestamp()
    assert found is not None
    assert (found.timestamp, found.offset) == (40, 1)
    assert (log.earliest().offset, log.latest().offset) == (0, 6)
    assert log.latest().leader_epoch == EPOCH

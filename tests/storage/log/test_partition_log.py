"""The log of one partition: offsets, rolls, epochs, and failing disks."""

import errno
from contextlib import suppress

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.header import iter_headers
from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.index.txn_index import decode_entries
from moldau.storage.log.producer_state import AppendOrigin
from tests.storage.log_making import (
    DIRECTORY,
    EPOCH,
    SMALL_SEGMENTS,
    START_MS,
    Later,
    append,
    batch,
    data_of,
    new_log,
    new_log_with,
    read_all,
    reopened,
)


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


# -- epochs --


def test_epochs_begin_where_their_first_batch_is() -> None:
    log = new_log()
    log.append_as_leader(batch(b"a", b"b"), 1, START_MS)
    log.append_as_leader(batch(b"c"), 4, START_MS)
    assert log.end_offset_for_epoch(1) == (1, 2)
    assert log.end_offset_for_epoch(3) == (1, 2)
    assert log.end_offset_for_epoch(4) == (4, 3)
    assert log.end_offset_for_epoch(5) == (-1, -1)


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
    clock.advance(59_999)
    log.remove_deleted_files(clock.monotonic_ms())
    assert any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))
    clock.advance(1)
    log.remove_deleted_files(clock.monotonic_ms())
    assert not any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))


def test_records_above_the_high_watermark_cannot_be_deleted() -> None:
    log = new_log_with(b"a", b"b", b"c")
    log.update_high_watermark(2)
    with pytest.raises(ApiError) as refused:
        log.delete_records_before(3)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.delete_records_before(-1) == 2


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
    assert fetched.aborted is not None
    assert [(t.producer_id, t.first_offset) for t in decode_entries(fetched.aborted)] == [(7, 0)]
    again = reopened(disk)
    assert again.aborted_transactions(0, 3) == log.aborted_transactions(0, 3) != []
    assert again.producers.first_unstable_offset in (-1, 0)


# -- disks that fail --


def test_a_full_disk_refuses_appends_until_there_is_room() -> None:
    disk = SimulatedDisk()
    failures: list[str] = []
    log = new_log(disk)
    log._state.context.on_failure = lambda path, doing, error: failures.append(path)
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


def test_a_full_disk_is_told_to_the_operator_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk, clock = SimulatedDisk(), ManualClock(START_MS)
    log = new_log(disk, clock=clock)
    disk.capacity = 0

    def refused_appends() -> int:
        caplog.clear()
        for _ in range(3):
            with pytest.raises(ApiError):
                append(log, b"too much")
        return len([text for text in caplog.messages if "No room on the disk of /data" in text])

    assert refused_appends() == 1
    clock.advance(59_999)
    assert refused_appends() == 0
    clock.advance(1)
    assert refused_appends() == 1


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
    log._state.context.on_failure = lambda path, doing, error: failures.append(path)
    append(log, b"a")
    disk.fail_next("fsync", "*.log", errno.ENOSPC)
    with pytest.raises(ApiError):
        log.flush()
    assert (failures, log.recovery_point) == (["/data"], 0)


def test_any_other_error_takes_the_log_directory_offline() -> None:
    disk = SimulatedDisk()
    failures: list[tuple[str, str]] = []
    log = new_log(disk)
    log._state.context.on_failure = lambda path, doing, error: failures.append((path, doing))
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


def test_the_epochs_are_written_soon_after_the_first_record_of_one() -> None:
    disk, later = SimulatedDisk(), Later()
    log = new_log(disk, executor=later)
    append(log, b"first")
    append(log, b"second")
    assert len(later.waiting) == 1
    later.run()
    path = f"{DIRECTORY}/leader-epoch-checkpoint"
    assert disk.read_bytes(path) == b"0\n1\n3 0\n"
    log.append_as_leader(batch(b"third"), EPOCH + 1, START_MS)
    later.run()
    assert disk.read_bytes(path) == b"0\n2\n3 0\n4 2\n"


def test_a_full_disk_does_not_matter_to_epochs_that_are_written_late() -> None:
    disk, later = SimulatedDisk(), Later()
    log = new_log(disk, executor=later)
    append(log, b"first")
    disk.fail_next("*", "*leader-epoch*", errno.ENOSPC)
    later.run()
    log.flush()
    assert disk.exists(f"{DIRECTORY}/leader-epoch-checkpoint")

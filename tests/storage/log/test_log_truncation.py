"""Truncation removes records, and everything derived from them."""

import errno
from contextlib import suppress
from pathlib import Path

import pytest

from moldau.clock import ManualClock
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.primitives import FileRegion
from moldau.simulator.disk import PowerCut, SimulatedDisk
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.log_making import (
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


def test_a_flush_that_was_overtaken_by_a_truncation_moves_nothing() -> None:
    executor = Later()
    log = new_log(config=SMALL_SEGMENTS, executor=executor)
    for _ in range(4):
        append(log, b"x" * 150)
    log.truncate_to(1)
    append(log, b"y")
    executor.run()
    # What was cut was flushed up to there; the flushes before it were of other batches.
    assert log.recovery_point == 1


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


@pytest.mark.parametrize("start", [8, 30])
def test_a_log_killed_while_it_starts_anew_does_not_go_back_to_its_first_offset(start: int) -> None:
    whole = SimulatedDisk()
    log = _log_that_has_left_its_first_offsets(whole)
    assert log.log_start_offset == 8
    before = whole.operations
    log.truncate_fully_and_start_at(start)
    for moment in range(whole.operations - before):
        for moment_of_recovery in range(10):
            disk = SimulatedDisk()
            log = _log_that_has_left_its_first_offsets(disk)
            disk.cut_power_after(moment)
            with pytest.raises(PowerCut):
                log.truncate_fully_and_start_at(start)
            disk.kill()
            disk.cut_power_after(moment_of_recovery)
            with suppress(PowerCut):
                reopened(disk, SMALL_SEGMENTS)
            disk.kill()
            assert reopened(disk, SMALL_SEGMENTS).log_start_offset >= 8


def _log_that_has_left_its_first_offsets(disk: SimulatedDisk) -> PartitionLog:
    """Only its last segment is left. The checkpoint of where the log starts is not written yet."""
    log = new_log(disk, SMALL_SEGMENTS)
    for _ in range(10):
        append(log, b"x" * 150)
    log.update_high_watermark(10)
    log.delete_records_before(8)
    log.delete_old_segments(START_MS)
    return log


def test_a_cut_brings_back_what_is_clean_and_where_the_log_begins() -> None:
    log = new_log(config=SMALL_SEGMENTS)
    append(log, *(b"%d" % number for number in range(10)))
    append(log, b"next")
    log.delete_records_before(8)
    log.cleaner_checkpoint = 9
    assert log.truncate_to(6)
    # The batch reaches the cut, so it goes as a whole.
    assert (log.log_start_offset, log.log_end_offset, log.cleaner_checkpoint) == (6, 6, 6)
    log.truncate_to(0)
    assert log.cleaner_checkpoint == -1


def test_a_cut_behind_the_clean_part_leaves_it_clean() -> None:
    log = new_log_with(b"a", b"b", b"c")
    log.cleaner_checkpoint = 1
    assert log.truncate_to(2)
    assert log.cleaner_checkpoint == 1


def test_an_epoch_for_which_nothing_was_written_is_taken_back() -> None:
    log = new_log_with(b"a")
    log.assign_epoch(EPOCH + 5, 1)
    assert not log.truncate_to(1)
    assert log.leader_epochs.latest_epoch == EPOCH
    # The log does not take the epoch for known: the next batch brings it again.
    log.append_as_leader(batch(b"b"), EPOCH + 5, START_MS)
    assert log.leader_epochs.latest_epoch == EPOCH + 5


def test_a_log_that_starts_anew_has_no_past() -> None:
    log = new_log_with(b"a", b"b")
    log.cleaner_checkpoint = 1
    log.truncate_fully_and_start_at(1)
    assert log.cleaner_checkpoint == -1
    assert log.leader_epochs.latest_epoch == -1
    assert log.end_offset_for_epoch(EPOCH) == (-1, -1)


def test_a_region_that_is_being_sent_never_shows_the_batches_that_replaced_its_own(
    tmp_path: Path,
) -> None:
    log = new_log(RealDisk(), directory=str(tmp_path / "orders-0"))
    for number in range(4):
        append(log, b"%d" % number * 40_000)
    before = [data_of(log.read(offset, 80_000, max_offset=4)) for offset in (0, 2)]
    regions = [log.read(offset, 80_000, max_offset=4).records for offset in (0, 2)]
    assert all(isinstance(each, FileRegion) for each in regions)
    for cut in (3, 2, 0):
        log.truncate_to(cut)
        for _ in range(5):
            append(log, b"other" * 10_000)
        for region, sent in zip(regions, before, strict=True):
            assert isinstance(region, FileRegion)
            # Shorter than it should be, so that the connection is closed, but never different.
            assert sent.startswith(region.read())


@pytest.mark.parametrize("flushed", [0, 1, 4])
def test_what_was_cut_off_stays_off_after_a_loss_of_power(flushed: int) -> None:
    for seed in range(10):
        disk = SimulatedDisk(seed=seed)
        log = new_log(disk, executor=Later())
        for number in range(4):
            append(log, b"%d" % number * 100)
        log.flush(up_to=flushed)
        log.truncate_to(2)
        append(log, b"new")
        disk.crash()
        again = reopened(disk, recovery_point=flushed)
        found = [value[:3] for _, value in read_all(again) if value]
        assert found in ([b"000", b"111"], [b"000", b"111", b"new"])


def test_epochs_that_were_truncated_do_not_come_back_with_a_kill() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    for value in (b"a", b"b"):
        log.append_as_leader(batch(value), EPOCH, START_MS)
    log.roll()
    # Not followed by a flush: the file of the epochs is written in the background.
    log.append_as_leader(batch(b"lost"), EPOCH + 1, START_MS)
    log.truncate_to(2)
    leader = new_log()
    for value in (b"a", b"b", b"c"):
        leader.append_as_leader(batch(value), EPOCH, START_MS)
    log.append_as_follower(data_of(leader.read(2, 1000, max_offset=3)))
    # Otherwise, as the next leader, it would have followers truncate what is committed.
    assert log.end_offset_for_epoch(EPOCH) == (EPOCH, 3)
    assert reopened(disk).end_offset_for_epoch(EPOCH) == (EPOCH, 3)


@pytest.mark.parametrize(
    "operation, file",
    [("write_atomically", "*leader-epoch-checkpoint"), ("append", "*.snapshot")],
)
def test_on_a_full_disk_nothing_in_memory_is_ahead_of_the_truncated_log(
    operation: str, file: str
) -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for number in range(12):
        log.append_as_leader(
            batch(b"%02d" % number * 60, producer_id=5, sequence=number), number // 5, START_MS
        )
    log.flush()
    log.update_high_watermark(11)
    # Damaged, so that the state is rebuilt from the batches, with new snapshots on the way.
    for name in disk.list_dir(log.directory):
        if name.endswith(".snapshot"):
            disk.write_atomically(f"{log.directory}/{name}", b"damaged")
    disk.fail_next(operation, file, errno.ENOSPC)
    with pytest.raises(ApiError) as raised:
        log.truncate_to(7)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (log.log_end_offset, log.high_watermark) == (7, 7)
    # Otherwise a producer that repeats its batch would be told that it is here.
    entry = log.producers.entry(5)
    assert entry is not None
    assert entry.next_sequence == 7
    log.append_as_follower(_copied_from(7, leader_epoch=1))
    assert log.leader_epochs.entries() == [(0, 0), (1, 5)]
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == read_all(log)


def test_a_full_disk_is_reported_if_only_an_epoch_without_a_batch_is_removed() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    append(log, b"a")
    disk.fail_next("append", "*.log", errno.ENOSPC)
    with pytest.raises(ApiError):
        log.append_as_leader(batch(b"b"), EPOCH + 1, START_MS)
    disk.fail_next("write_atomically", "*leader-epoch-checkpoint", errno.ENOSPC)
    with pytest.raises(ApiError) as raised:
        log.truncate_to(1)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert log.leader_epochs.latest_epoch == EPOCH


def test_on_a_full_disk_nothing_in_memory_is_ahead_of_a_log_that_starts_anew() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for number in range(12):
        log.append_as_leader(
            batch(b"%02d" % number * 60, producer_id=5, sequence=number), EPOCH, START_MS
        )
    log.flush()
    log.update_high_watermark(11)
    disk.fail_next("write_atomically", "*leader-epoch-checkpoint", errno.ENOSPC)
    with pytest.raises(ApiError):
        log.truncate_fully_and_start_at(20)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (20, 20, 20)
    assert log.producers.entry(5) is None
    log.append_as_follower(_copied_from(20, leader_epoch=EPOCH))
    assert log.leader_epochs.entries() == [(EPOCH, 20)]


@pytest.mark.parametrize("start", [0, 3, 30])
@pytest.mark.parametrize("file", ["*.log", "*.index", "*.timeindex"])
def test_a_log_that_cannot_start_anew_stays_as_it_is(file: str, start: int) -> None:
    """Its files were renamed already: what is appended to them would be deleted with them."""
    disk, clock = SimulatedDisk(), ManualClock(START_MS)
    log = new_log(disk, SMALL_SEGMENTS, clock=clock)
    for _ in range(5):
        append(log, b"x" * 150)
    log.flush()
    disk.fail_next("open", file, errno.EMFILE)
    with pytest.raises(ApiError) as raised:
        log.truncate_fully_and_start_at(start)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    disk.heal()
    assert append(log, b"new") == 5
    expected = [*((offset, b"x" * 150) for offset in range(5)), (5, b"new")]
    clock.advance(log.config.file_delete_delay_ms)
    log.remove_deleted_files(clock.monotonic_ms())
    assert read_all(log) == expected
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == expected
    log.truncate_fully_and_start_at(start)
    assert append(log, b"at last") == start
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == [(start, b"at last")]


@pytest.mark.parametrize("offset", [1, 3, 5])
@pytest.mark.parametrize(
    ("operation", "file"), [("pread", "*.log"), ("truncate", "*.log"), ("truncate", "*.index")]
)
def test_a_log_that_cannot_be_truncated_has_all_records_up_to_its_end(
    operation: str, file: str, offset: int
) -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for number in range(9):
        append(log, b"%02d" % number * 60)
    before = read_all(log)
    disk.fail_next(operation, file, errno.EMFILE)
    with pytest.raises(ApiError) as raised:
        log.truncate_to(offset)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert log.log_end_offset == 9
    assert read_all(log) == before
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == before
    log.truncate_to(offset)
    assert read_all(log) == before[:offset]
    assert read_all(reopened(disk, SMALL_SEGMENTS)) == before[:offset]


def test_a_log_that_cannot_roll_leaves_no_files_behind() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    append(log, b"a")
    before = disk.list_dir(log.directory)
    disk.fail_next("open", "*1.timeindex", errno.EMFILE)
    with pytest.raises(ApiError):
        log.roll()
    assert disk.list_dir(log.directory) == before


def _copied_from(offset: int, leader_epoch: int) -> bytes:
    """What a leader sends whose log has a batch at ``offset``."""
    leader = new_log()
    leader.truncate_fully_and_start_at(offset)
    leader.append_as_leader(batch(b"of the leader"), leader_epoch, START_MS)
    return data_of(leader.read(offset, 1000, max_offset=offset + 1))

"""Truncation removes records, and everything derived from them."""

import pytest

from moldau.storage.simulated_disk import SimulatedDisk
from tests.storage.log_making import (
    EPOCH,
    SMALL_SEGMENTS,
    START_MS,
    Later,
    append,
    batch,
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
    assert log.recovery_point == 0


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
    assert log.cleaner_checkpoint == 0


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

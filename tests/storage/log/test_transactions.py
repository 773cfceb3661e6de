"""Transactions in the log: the last stable offset, the aborted ones, and what deletion leaves."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.record.control import ControlType, built_end_txn_batch, end_txn_batch
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_state import AppendOrigin
from tests.storage.log_making import (
    EPOCH,
    SMALL_SEGMENTS,
    START_MS,
    Later,
    append,
    batch,
    data_of,
    new_log,
    reopened,
)

PRODUCER = 7
BULK = b"x" * 150


class Writer:
    """A transactional producer of one log, with its sequence numbers."""

    def __init__(self, log: PartitionLog, producer_id: int = PRODUCER) -> None:
        self.log = log
        self.producer_id = producer_id
        self.sequence = 0

    def write(self, value: bytes = b"x") -> int:
        data = batch(
            value, producer_id=self.producer_id, sequence=self.sequence, transactional=True
        )
        self.sequence += 1
        return self.log.append_as_leader(data, EPOCH, START_MS).first_offset

    def end(self, *, is_commit: bool = True, timestamp: int = START_MS) -> int:
        kind = ControlType.COMMIT if is_commit else ControlType.ABORT
        marker = built_end_txn_batch(kind, 1, self.producer_id, 0, timestamp)
        info = self.log.append_as_leader(marker, EPOCH, timestamp, origin=AppendOrigin.COORDINATOR)
        return info.first_offset


def aborted(log: PartitionLog, start: int, end: int) -> list[tuple[int, int]]:
    return [(txn.producer_id, txn.first_offset) for txn in log.aborted_transactions(start, end)]


# -- the last stable offset


def test_the_last_stable_offset_is_that_of_the_first_record_of_an_open_transaction() -> None:
    log = new_log()
    append(log, b"plain")
    writer = Writer(log)
    assert writer.write() == 1
    assert log.last_stable_offset == 1, "nothing of the transaction is committed, all before it is"
    log.update_high_watermark(2)
    assert log.last_stable_offset == 1
    assert data_of(log.read(0, 1 << 20, max_offset=log.last_stable_offset)).count(b"plain") == 1


def test_a_marker_counts_when_the_high_watermark_has_passed_it() -> None:
    log = new_log()
    writer = Writer(log)
    writer.write()
    marker = writer.end()
    log.update_high_watermark(marker)
    assert log.last_stable_offset == 0
    log.update_high_watermark(marker + 1)
    assert log.last_stable_offset == marker + 1


def test_the_first_open_transaction_holds_back_those_after_it() -> None:
    log = new_log()
    first, second = Writer(log, 1), Writer(log, 2)
    first.write()
    second.write()
    second.end()
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 0
    first.end()
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 4


# -- the list of aborted transactions


def test_an_aborted_transaction_is_listed_in_each_segment_that_it_reaches_into() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    writer = Writer(log)
    for _ in range(12):
        writer.write(BULK)
    end = writer.end(is_commit=False)
    for _ in range(12):
        append(log, BULK)
    log.update_high_watermark(log.log_end_offset)
    assert len(log.segments) > 6
    for each in (log, reopened(disk, SMALL_SEGMENTS, clean=True)):
        for offset in range(end + 1):
            assert aborted(each, offset, offset + 1) == [(PRODUCER, 0)], offset
        assert aborted(each, end + 1, end + 5) == []


def test_a_transaction_that_ends_far_behind_the_fetch_is_listed() -> None:
    log = new_log(config=SMALL_SEGMENTS)
    long, short = Writer(log, 1), Writer(log, 2)
    long.write(BULK)
    for _ in range(20):
        short.write(BULK)
        short.end(is_commit=False)
    long.end(is_commit=False)
    log.update_high_watermark(log.log_end_offset)
    assert aborted(log, 0, 1) == [(1, 0)]
    assert aborted(log, 1, 3) == [(2, 1), (1, 0)]


def test_an_abort_whose_marker_fills_the_disk_is_listed_and_frees_what_is_behind_it() -> None:
    """The marker is in the log: that its entry in the index is not, must not matter."""
    disk = SimulatedDisk()
    log = new_log(disk)
    writer = Writer(log)
    writer.write()
    before = disk.used_bytes()
    other = Writer(log, 9)
    other.end(is_commit=False)
    size = disk.used_bytes() - before
    disk.capacity = disk.used_bytes() + size
    assert writer.end(is_commit=False) == 2
    log.update_high_watermark(3)
    assert log.last_stable_offset == 3
    assert aborted(log, 0, 3) == [(PRODUCER, 0)]
    disk.capacity = None
    log.close()
    again = reopened(disk, clean=True)
    assert aborted(again, 0, 3) == [(PRODUCER, 0)]


class LookingDisk(SimulatedDisk):
    """Counts how often it is asked whether a file is there."""

    looks = 0

    def exists(self, path: str) -> bool:
        self.looks += 1
        return super().exists(path)


def test_a_log_without_aborted_transactions_is_not_searched_for_them() -> None:
    disk = LookingDisk()
    log = new_log(disk, SMALL_SEGMENTS)
    for _ in range(60):
        append(log, BULK)
    log.close()
    again = reopened(disk, SMALL_SEGMENTS, clean=True)
    again.update_high_watermark(60)
    assert len(again.segments) > 20
    disk.looks = 0
    for offset in range(60):
        assert again.read(offset, 200, max_offset=60, include_aborted=True).size_bytes
    assert disk.looks <= 1, "only the active segment may have been written to since"


# -- deletion


def test_records_can_be_deleted_out_of_an_open_transaction() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    writer = Writer(log)
    for _ in range(3):
        writer.write()
    log.update_high_watermark(3)
    log.delete_records_before(2)
    assert (log.log_start_offset, log.last_stable_offset) == (2, 2)
    writer.write()
    end = writer.end(is_commit=False)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == end + 1
    assert aborted(log, 2, 5) == [(PRODUCER, 0)]
    again = reopened(disk, log_start_offset=2)
    again.update_high_watermark(again.log_end_offset)
    assert again.last_stable_offset == end + 1


def test_retention_may_delete_the_beginning_of_an_open_transaction() -> None:
    clock = ManualClock(START_MS)
    config = LogConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=1000)
    disk = SimulatedDisk()
    log = new_log(disk, config, clock=clock)
    writer = Writer(log)
    for _ in range(8):
        writer.write(BULK)
    log.update_high_watermark(log.log_end_offset)
    clock.advance(5000)
    assert log.delete_old_segments(clock.wall_ms()) > 0
    start = log.log_start_offset
    assert start > 0
    assert log.last_stable_offset == start, "what is left of it is still undecided"
    writer.end(is_commit=False)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset
    assert aborted(log, start, log.log_end_offset) == [(PRODUCER, 0)]


def test_9144_a_marker_keeps_its_producer_alive() -> None:
    """By its own time, not that of the last record."""
    log = new_log()
    writer = Writer(log)
    writer.write()
    later = START_MS + log.producers.expiration_ms
    writer.end(timestamp=later)
    log.producers.expire(later + log.producers.expiration_ms - 1)
    entry = log.producers.entry(PRODUCER)
    assert entry is not None
    assert entry.coordinator_epoch == 1, "otherwise a zombie coordinator could end the next one"
    log.producers.expire(later + log.producers.expiration_ms)
    assert log.producers.entry(PRODUCER) is None


def test_a_marker_is_never_too_large_for_its_topic() -> None:
    log = new_log(config=LogConfig(max_message_bytes=70))
    writer = Writer(log)
    writer.write(b"")
    assert writer.end() == 1


def test_nobody_waits_for_the_disk_while_a_marker_is_appended() -> None:
    executor = Later()
    log = new_log(config=LogConfig(flush_messages=1), executor=executor)
    marker = end_txn_batch(ControlType.COMMIT, 1, PRODUCER, 0, START_MS)
    info = log.append_as_leader(marker, EPOCH, START_MS, origin=AppendOrigin.COORDINATOR)
    assert info.must_flush
    assert log.recovery_point == 0


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
@pytest.mark.parametrize("timestamps", ["CreateTime", "LogAppendTime"])
def test_a_marker_that_was_built_here_has_the_effect_of_its_bytes(
    kind: ControlType, timestamps: str
) -> None:
    """It is not read again to find out what it says."""
    logs = []
    for build in (built_end_txn_batch, end_txn_batch):
        log = new_log(config=LogConfig(message_timestamp_type=timestamps))
        Writer(log).write()
        marker = build(kind, 4, PRODUCER, 1, START_MS)
        info = log.append_as_leader(
            marker, EPOCH, START_MS + 9, origin=AppendOrigin.COORDINATOR, transaction_version=2
        )
        assert (info.first_offset, info.last_offset) == (1, 1)
        logs.append(log)
    mine, other = logs
    read = [log.read(0, 1000, max_offset=2).records for log in logs]
    assert read[0] == read[1]
    assert repr(mine.producers.entry(PRODUCER)) == repr(other.producers.entry(PRODUCER))
    assert aborted(mine, 0, 2) == aborted(other, 0, 2)
    assert bool(aborted(mine, 0, 2)) is (kind is ControlType.ABORT)
    for log in logs:
        log.update_high_watermark(2)
        entry = log.producers.entry(PRODUCER)
        assert entry is not None
        assert (entry.epoch, entry.coordinator_epoch, log.last_stable_offset) == (1, 4, 2)


# -- truncation

Action = tuple[int, str]
actions = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(("write", "write", "commit", "abort"))),
    min_size=1,
    max_size=40,
)


def perform(log: PartitionLog, script: Sequence[Action]) -> None:
    """Each action is one record."""
    writers = [Writer(log, producer_id) for producer_id in range(3)]
    for number, kind in script:
        if kind == "write":
            writers[number].write(BULK)
        else:
            writers[number].end(is_commit=kind == "commit")


def producer_states(log: PartitionLog) -> list[tuple[int, ...]]:
    """Of the batches only the last: snapshots have no other."""
    return sorted(
        (
            each.producer_id,
            each.epoch,
            each.coordinator_epoch,
            each.last_timestamp,
            each.txn_first_offset,
            each.next_sequence,
            each.last_offset,
        )
        for each in log.producers.active_producers()
    )


def state_of(log: PartitionLog) -> object:
    """All that is derived from the records of the log, when all of them are replicated."""
    log.update_high_watermark(log.log_end_offset)
    return (
        log.log_end_offset,
        log.last_stable_offset,
        producer_states(log),
        log.aborted_transactions(0, log.log_end_offset),
        [txn for each in log.segments for txn in each.txn_index.all()],
    )


@given(actions, st.integers(0, 40))
def test_after_truncation_everything_is_as_if_the_rest_had_never_been(
    script: list[Action], cut: int
) -> None:
    cut = min(cut, len(script))
    disk = SimulatedDisk()
    log, fresh = new_log(disk, SMALL_SEGMENTS), new_log(config=SMALL_SEGMENTS)
    perform(log, script)
    log.truncate_to(cut)
    perform(fresh, script[:cut])
    assert state_of(log) == state_of(fresh)
    assert state_of(reopened(disk, SMALL_SEGMENTS)) == state_of(fresh)


@pytest.mark.parametrize("high_watermark", [0, 3])
def test_after_truncation_above_the_high_watermark_only_what_is_below_it_is_stable(
    high_watermark: int,
) -> None:
    log = new_log()
    writer = Writer(log)
    writer.write()
    assert writer.end() == 1
    writer.write()
    writer.write()
    log.update_high_watermark(high_watermark)
    log.truncate_to(3)
    assert log.last_stable_offset == min(high_watermark, 2)

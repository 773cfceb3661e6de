"""Idempotent and transactional producers, with the checks of Apache Kafka 4.3."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.header import BatchHeader
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.producer_state import (
    AppendOrigin,
    CompletedTxn,
    DuplicateBatch,
    ProducerStateManager,
)

MAX_INT32 = 2**31 - 1
DAY_MS = 86_400_000
NOW = 1_700_000_000_000
TRANSACTIONAL, CONTROL = 0x10, 0x20


def batch(
    sequence: int = 0,
    count: int = 1,
    *,
    producer_id: int = 7,
    epoch: int = 0,
    timestamp: int = NOW,
    attributes: int = 0,
) -> BatchHeader:
    return BatchHeader(
        base_offset=0,
        size_bytes=100,
        partition_leader_epoch=0,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        record_count=count,
    )


def transactional(sequence: int, *, producer_id: int = 7, epoch: int = 0) -> BatchHeader:
    return batch(sequence, producer_id=producer_id, epoch=epoch, attributes=TRANSACTIONAL)


def marker(*, producer_id: int = 7, epoch: int = 0) -> BatchHeader:
    return batch(-1, producer_id=producer_id, epoch=epoch, attributes=TRANSACTIONAL | CONTROL)


class Partition:
    """A log that exists only as offsets, and the producers that write to it."""

    def __init__(self, disk: SimulatedDisk | None = None) -> None:
        self.disk = disk if disk is not None else SimulatedDisk()
        self.disk.make_dirs("/t-0")
        self.producers = ProducerStateManager(
            self.disk, "/t-0", TopicPartition("t", 0), expiration_ms=DAY_MS
        )
        self.end = 0

    def append(
        self, header: BatchHeader, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> DuplicateBatch | None:
        duplicate = self.producers.check(header, origin)
        if duplicate is None:
            base_offset, self.end = self.end, self.end + header.last_offset_delta + 1
            self.producers.update(header, base_offset, self.end - 1)
        return duplicate

    def end_txn(self, header: BatchHeader, *, abort: bool = False) -> CompletedTxn | None:
        self.producers.check_marker(header, coordinator_epoch=1)
        offset, self.end = self.end, self.end + 1
        txn = self.producers.update_marker(header, 1, abort, offset, NOW)
        if txn is not None:
            self.producers.complete_txn(txn)
        return txn


def refused(append: Callable[[], object]) -> ErrorCode:
    with pytest.raises(ApiError) as error:
        append()
    return error.value.code


# -- sequences


def test_batches_in_sequence_are_accepted() -> None:
    partition = Partition()
    for sequence in range(0, 100, 10):
        assert partition.append(batch(sequence, 10)) is None
    assert partition.producers.map_end_offset == 100


def test_batches_without_a_producer_id_leave_no_trace() -> None:
    partition = Partition()
    for _ in range(3):
        assert partition.append(batch(-1, 5, producer_id=-1, epoch=-1)) is None
    assert partition.producers.active_producers() == []
    assert partition.producers.map_end_offset == 15


def test_a_batch_that_comes_again_is_answered_with_its_first_offsets() -> None:
    partition = Partition()
    partition.append(batch(0, 5, producer_id=1))
    partition.append(batch(0, 10))
    partition.append(batch(10, 3, timestamp=NOW + 1))
    assert partition.append(batch(10, 3)) == DuplicateBatch(15, 17, NOW + 1)
    assert partition.append(batch(0, 10)) == DuplicateBatch(5, 14, NOW)
    assert partition.end == 18


def test_the_last_five_batches_are_remembered_and_no_more() -> None:
    partition = Partition()
    for sequence in range(6):
        partition.append(batch(sequence))
    for sequence in range(1, 6):
        assert partition.append(batch(sequence)) == DuplicateBatch(sequence, sequence, NOW)
    assert refused(lambda: partition.append(batch(0))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("sequence, count", [(11, 1), (12, 5), (9, 1), (5, 5), (0, 9), (1, 9)])
def test_a_gap_or_a_batch_cut_differently_is_out_of_order(sequence: int, count: int) -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    code = refused(lambda: partition.append(batch(sequence, count)))
    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.append(batch(10)) is None


def test_the_message_names_producer_offset_partition_and_what_was_expected() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    with pytest.raises(ApiError) as error:
        partition.append(batch(12))
    assert str(error.value) == (
        "producer 7 at offset 10 of t-0 sent sequence 12: expected 10 after 9"
    )


def test_a_producer_that_is_not_known_may_start_anywhere() -> None:
    partition = Partition()
    assert partition.append(batch(500, 10)) is None
    assert partition.append(batch(510)) is None
    assert refused(lambda: partition.append(batch(512))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_to_zero_between_batches() -> None:
    partition = Partition()
    partition.append(batch(MAX_INT32 - 9, 10))
    assert partition.append(batch(0, 5)) is None
    assert partition.append(batch(MAX_INT32 - 9, 10)) == DuplicateBatch(0, 9, NOW)
    assert partition.append(batch(5)) is None


def test_sequences_wrap_to_zero_within_a_batch() -> None:
    partition = Partition()
    partition.append(batch(MAX_INT32 - 4, 10))
    assert partition.append(batch(MAX_INT32 - 4, 10)) == DuplicateBatch(0, 9, NOW)
    assert partition.append(batch(5)) is None
    (entry,) = partition.producers.active_producers()
    assert entry.batches()[0].first_sequence == MAX_INT32 - 4
    assert entry.batches()[0].last_sequence == 4


def test_zero_follows_only_the_largest_sequence() -> None:
    partition = Partition()
    partition.append(batch(MAX_INT32 - 1))
    assert refused(lambda: partition.append(batch(0))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@given(
    st.integers(0, MAX_INT32),
    st.lists(st.integers(1, 2000), min_size=1, max_size=12),
    st.integers(0, 11),
)
def test_any_of_the_last_five_batches_is_recognised_wherever_sequences_wrap(
    first: int, counts: list[int], again: int
) -> None:
    partition = Partition()
    sent = []
    sequence = first
    for count in counts:
        header = batch(sequence, count)
        sent.append((header, partition.end))
        assert partition.append(header) is None
        sequence = (sequence + count) & MAX_INT32
    for header, offset in sent[-5:]:
        expected = DuplicateBatch(offset, offset + header.last_offset_delta, NOW)
        assert partition.append(header) == expected
    if again < len(sent) - 5:
        code = refused(lambda: partition.append(sent[again][0]))
        assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


# -- epochs


def test_a_new_epoch_starts_over_at_zero() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    code = refused(lambda: partition.append(batch(10, epoch=1)))
    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.append(batch(0, 10, epoch=1)) is None
    assert partition.append(batch(0, 10, epoch=1)) == DuplicateBatch(10, 19, NOW)
    assert partition.append(batch(10, epoch=1)) is None


def test_an_old_epoch_is_refused_even_for_a_batch_that_was_there() -> None:
    partition = Partition()
    partition.append(batch(0))
    partition.append(batch(0, epoch=1))
    assert refused(lambda: partition.append(batch(0))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(lambda: partition.append(batch(1))) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_coordinators_are_held_to_the_epoch_but_not_to_sequences() -> None:
    partition = Partition()
    for _ in range(3):
        assert partition.append(batch(-1, epoch=2), AppendOrigin.COORDINATOR) is None
    code = refused(lambda: partition.append(batch(-1, epoch=1), AppendOrigin.COORDINATOR))
    assert code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_what_the_leader_accepted_is_not_refused_by_a_follower() -> None:
    partition = Partition()
    partition.append(batch(0, epoch=3), AppendOrigin.REPLICATION)
    assert partition.append(batch(40, 10, epoch=2), AppendOrigin.REPLICATION) is None
    assert partition.append(batch(7, epoch=2), AppendOrigin.REPLICATION) is None
    (entry,) = partition.producers.active_producers()
    assert (entry.epoch, entry.last_sequence, entry.last_offset) == (2, 7, 11)


def test_a_check_changes_nothing() -> None:
    partition = Partition()
    partition.append(batch(0))
    for _ in range(3):
        assert partition.producers.check(batch(1)) is None
    assert partition.producers.check(batch(0, producer_id=99)) is None
    assert [entry.producer_id for entry in partition.producers.active_producers()] == [7]


# -- expiry


def test_an_idle_producer_is_forgotten_and_may_start_anywhere_again() -> None:
    partition = Partition()
    partition.append(batch(0, timestamp=NOW))
    partition.append(batch(0, producer_id=8, timestamp=NOW + 1))
    assert partition.producers.expire(NOW + DAY_MS - 1) == 0
    assert partition.producers.expire(NOW + DAY_MS) == 1
    assert [entry.producer_id for entry in partition.producers.active_producers()] == [8]
    assert partition.append(batch(1234)) is None


def test_a_producer_with_an_open_transaction_is_not_forgotten() -> None:
    partition = Partition()
    partition.append(transactional(0))
    assert partition.producers.expire(NOW + 2 * DAY_MS) == 0
    partition.end_txn(marker())
    assert partition.producers.expire(NOW + 2 * DAY_MS) == 1


# -- transactions


def test_a_transaction_is_unstable_from_its_first_batch_until_its_marker_is_replicated() -> None:
    partition = Partition()
    producers = partition.producers
    partition.append(batch(0, 5, producer_id=1))
    assert producers.first_unstable_offset == -1
    partition.append(transactional(0))
    partition.append(transactional(1))
    assert producers.first_unstable_offset == producers.first_undecided_offset == 5
    assert producers.has_ongoing_transaction(7, 0)
    assert not producers.has_ongoing_transaction(7, 1)

    assert partition.end_txn(marker(), abort=True) == CompletedTxn(7, 5, 7, True)
    assert not producers.has_ongoing_transaction(7, 0)
    assert (producers.first_undecided_offset, producers.first_unstable_offset) == (-1, 5)
    producers.on_high_watermark(7)
    assert producers.first_unstable_offset == 5
    producers.on_high_watermark(8)
    assert producers.first_unstable_offset == -1


def test_of_several_transactions_the_first_counts() -> None:
    partition = Partition()
    producers = partition.producers
    for producer_id in (1, 2, 3):
        partition.append(transactional(0, producer_id=producer_id))
    first = producers.update_marker(marker(producer_id=1), 1, False, 3, NOW)
    assert first == CompletedTxn(1, 0, 3, False)
    assert producers.last_stable_offset(first) == 1
    producers.complete_txn(first)
    assert (producers.first_undecided_offset, producers.first_unstable_offset) == (1, 0)
    second = producers.update_marker(marker(producer_id=3), 1, True, 4, NOW)
    assert second is not None
    assert producers.last_stable_offset(second) == 1
    producers.complete_txn(second)
    third = producers.update_marker(marker(producer_id=2), 1, True, 5, NOW)
    assert third is not None
    assert producers.last_stable_offset(third) == 6


def test_a_batch_outside_of_the_open_transaction_is_refused() -> None:
    partition = Partition()
    partition.append(transactional(0))
    assert refused(lambda: partition.append(batch(1))) is ErrorCode.INVALID_TXN_STATE
    partition.end_txn(marker())
    assert partition.append(batch(1)) is None


def test_a_marker_without_data_ends_nothing_but_raises_the_epoch() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    assert partition.end_txn(marker(epoch=1)) is None
    assert refused(lambda: partition.append(batch(10))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(lambda: partition.append(batch(10, epoch=1))) is (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    assert partition.append(batch(0, epoch=1)) is None


def test_a_marker_of_the_same_epoch_keeps_the_sequences() -> None:
    partition = Partition()
    partition.append(transactional(0))
    partition.end_txn(marker())
    assert partition.append(transactional(0)) == DuplicateBatch(0, 0, NOW)
    assert partition.append(transactional(1)) is None


def check_marker(
    partition: Partition,
    epoch: int,
    version: int,
    coordinator_epoch: int = 1,
    origin: AppendOrigin = AppendOrigin.COORDINATOR,
) -> None:
    partition.producers.check_marker(marker(epoch=epoch), coordinator_epoch, version, origin)


def test_a_marker_of_an_old_epoch_is_refused() -> None:
    partition = Partition()
    partition.append(transactional(0, epoch=5))
    assert refused(lambda: check_marker(partition, 4, 0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    check_marker(partition, 5, 0)
    check_marker(partition, 6, 0)
    check_marker(partition, 4, 0, origin=AppendOrigin.REPLICATION)


def test_from_transaction_version_2_a_marker_must_raise_the_epoch() -> None:
    partition = Partition()
    partition.append(transactional(0, epoch=5))
    assert refused(lambda: check_marker(partition, 5, 2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    check_marker(partition, 6, 2)
    partition.end_txn(marker(epoch=6))
    # The same marker again, after its answer was lost.
    check_marker(partition, 6, 2)
    assert refused(lambda: check_marker(partition, 5, 2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transaction_at_the_largest_epoch_can_be_ended() -> None:
    partition = Partition()
    partition.append(transactional(0, epoch=2**15 - 1))
    check_marker(partition, 2**15 - 1, 2)


def test_a_marker_of_an_old_coordinator_is_refused() -> None:
    partition = Partition()
    partition.append(transactional(0))
    partition.producers.update_marker(marker(), 5, False, 1, NOW)
    code = refused(lambda: check_marker(partition, 0, 0, coordinator_epoch=4))
    assert code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    check_marker(partition, 0, 0, coordinator_epoch=5)
    check_marker(partition, 0, 0, coordinator_epoch=4, origin=AppendOrigin.REPLICATION)


# -- snapshots


def restarted(partition: Partition, log_start: int = 0, now_ms: int = NOW) -> Partition:
    again = Partition(partition.disk)
    again.end = partition.end
    again.producers.truncate_and_reload(log_start, partition.end, now_ms)
    return again


def test_state_is_taken_up_from_the_newest_snapshot() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    partition.append(transactional(0, producer_id=8))
    assert partition.producers.take_snapshot() == "/t-0/00000000000000000011.snapshot"
    again = restarted(partition)
    assert again.producers.map_end_offset == 11
    assert again.producers.first_undecided_offset == 10
    assert again.append(batch(0, 10)) == DuplicateBatch(0, 9, NOW)
    assert again.append(batch(10)) is None
    assert again.append(transactional(1, producer_id=8)) is None
    assert again.end_txn(marker(producer_id=8)) == CompletedTxn(8, 10, 13, False)


def test_a_snapshot_is_written_once_for_each_offset() -> None:
    partition = Partition()
    producers = partition.producers
    assert producers.take_snapshot() is None
    partition.append(batch(0))
    assert producers.take_snapshot() is not None
    assert producers.take_snapshot() is None
    producers.map_end_offset = 20
    assert producers.take_snapshot() is not None
    assert producers.snapshot_offsets() == [1, 20]


def test_snapshots_outside_of_the_log_are_deleted() -> None:
    partition = Partition()
    for sequence in range(5):
        partition.append(batch(sequence))
        partition.producers.take_snapshot()
    partition.end = 4
    again = restarted(partition, log_start=2)
    assert again.producers.snapshot_offsets() == [3, 4]
    assert again.producers.map_end_offset == 4
    assert partition.disk.list_dir("/t-0") == [
        "00000000000000000003.snapshot",
        "00000000000000000004.snapshot",
    ]


def test_a_damaged_snapshot_is_deleted_and_the_one_before_is_used() -> None:
    partition = Partition()
    for sequence in range(3):
        partition.append(batch(sequence))
        partition.producers.take_snapshot()
    partition.disk.damage("/t-0/00000000000000000003.snapshot", 12, b"\xff")
    again = restarted(partition)
    assert again.producers.snapshot_offsets() == [1, 2]
    assert again.producers.map_end_offset == 2


def test_without_a_snapshot_the_log_is_read_from_its_start() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    again = restarted(partition, log_start=4)
    assert again.producers.map_end_offset == 4
    assert again.producers.active_producers() == []


def test_expired_producers_are_not_loaded() -> None:
    partition = Partition()
    partition.append(batch(0))
    partition.append(batch(0, producer_id=8, timestamp=NOW + 5))
    partition.producers.take_snapshot()
    again = restarted(partition, now_ms=NOW + DAY_MS)
    assert [entry.producer_id for entry in again.producers.active_producers()] == [8]


def test_truncation_goes_back_to_a_snapshot() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    partition.producers.take_snapshot()
    partition.append(batch(10, 10))
    partition.append(transactional(0, producer_id=8))
    partition.producers.truncate_and_reload(0, 15, NOW)
    assert partition.producers.map_end_offset == 10
    assert partition.producers.first_unstable_offset == -1
    assert [entry.last_sequence for entry in partition.producers.active_producers()] == [9]


def test_truncation_to_the_present_end_changes_nothing() -> None:
    partition = Partition()
    partition.append(batch(0, 10))
    partition.producers.truncate_and_reload(0, 10, NOW)
    assert partition.append(batch(0, 10)) == DuplicateBatch(0, 9, NOW)


def test_starting_afresh_forgets_everything() -> None:
    partition = Partition()
    partition.append(transactional(0))
    partition.producers.take_snapshot()
    partition.producers.truncate_fully_and_start_at(500)
    assert partition.producers.map_end_offset == 500
    assert partition.producers.active_producers() == []
    assert partition.producers.first_unstable_offset == -1
    assert partition.disk.list_dir("/t-0") == []


def test_deleting_records_keeps_the_producers() -> None:
    partition = Partition()
    partition.append(transactional(0))
    partition.end_txn(marker())
    partition.producers.on_log_start_offset(50)
    assert partition.producers.map_end_offset == 50
    assert partition.producers.first_unstable_offset == -1
    assert partition.append(transactional(0)) == DuplicateBatch(0, 0, NOW)
    # Nothing is new at this offset that a snapshot would have to say.
    assert partition.producers.take_snapshot() is None

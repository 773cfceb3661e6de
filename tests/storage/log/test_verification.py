"""Verification before the first append of a transaction (KIP-890)."""

from moldau.errors import ErrorCode
from moldau.record.header import BatchHeader
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.log.verification import NOT_REQUIRED, VerificationGuard
from tests.storage.log.test_producer_state import (
    DAY_MS,
    NOW,
    Partition,
    batch,
    marker,
    refused,
    transactional,
)

NOT_IN_TRANSACTION = ErrorCode.INVALID_TXN_STATE
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
CLIENT, COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR


def begin(
    partition: Partition, header: BatchHeader, *, supports_epoch_bump: bool = False
) -> VerificationGuard | None:
    return partition.producers.begin_verification(
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        NOW,
        supports_epoch_bump=supports_epoch_bump,
    )


def append(
    partition: Partition,
    header: BatchHeader,
    guard: VerificationGuard | None,
    origin: AppendOrigin = CLIENT,
) -> object:
    duplicate = partition.producers.check(header, origin, guard)
    if duplicate is None:
        partition.producers.update(header, partition.end, partition.end)
        partition.end += 1
    return duplicate


def test_the_first_batch_of_a_transaction_needs_its_guard() -> None:
    partition = Partition()
    assert refused(lambda: append(partition, transactional(0), None)) == NOT_IN_TRANSACTION
    guard = begin(partition, transactional(0))
    assert guard is not None
    assert refused(lambda: append(partition, transactional(0), None)) == NOT_IN_TRANSACTION
    assert append(partition, transactional(0), guard) is None


def test_the_offsets_of_a_group_need_a_guard_too() -> None:
    partition = Partition()
    offsets = transactional(-1)
    assert refused(lambda: append(partition, offsets, None, COORDINATOR)) == NOT_IN_TRANSACTION
    assert append(partition, offsets, begin(partition, offsets), COORDINATOR) is None


def test_later_batches_of_the_transaction_need_none() -> None:
    partition = Partition()
    append(partition, transactional(0), begin(partition, transactional(0)))
    assert begin(partition, transactional(1)) is None, "it is known to be open"
    assert append(partition, transactional(1), None) is None


def test_a_late_batch_after_the_abort_is_refused() -> None:
    partition = Partition()
    append(partition, transactional(0), begin(partition, transactional(0)))
    partition.end_txn(marker(), abort=True)
    assert refused(lambda: append(partition, transactional(1), None)) == NOT_IN_TRANSACTION


def test_a_retry_of_a_batch_of_an_ended_transaction_is_a_duplicate() -> None:
    partition = Partition()
    append(partition, transactional(0), begin(partition, transactional(0)))
    partition.end_txn(marker())
    assert append(partition, transactional(0), None) is not None


def test_an_answer_about_a_transaction_that_has_ended_is_of_no_use() -> None:
    partition = Partition()
    stale = begin(partition, transactional(0))
    partition.end_txn(marker(), abort=True)
    assert refused(lambda: append(partition, transactional(0), stale)) == NOT_IN_TRANSACTION
    fresh = begin(partition, transactional(0))
    assert fresh is not stale
    assert refused(lambda: append(partition, transactional(0), stale)) == NOT_IN_TRANSACTION
    assert append(partition, transactional(0), fresh) is None


def test_the_marker_of_the_previous_transaction_leaves_the_guard_of_the_next() -> None:
    partition = Partition()
    following = transactional(0, epoch=1)
    guard = begin(partition, following, supports_epoch_bump=True)
    partition.end_txn(marker(epoch=1), abort=True)
    assert append(partition, following, guard) is None


def test_without_epoch_bumps_every_marker_takes_the_guard_away() -> None:
    partition = Partition()
    guard = begin(partition, transactional(0, epoch=1))
    partition.end_txn(marker(epoch=1), abort=True)
    late = transactional(0, epoch=1)
    assert refused(lambda: append(partition, late, guard)) == NOT_IN_TRANSACTION


def test_only_the_lowest_sequence_may_be_first() -> None:
    partition = Partition()
    begin(partition, transactional(1))
    guard = begin(partition, transactional(0))
    assert begin(partition, transactional(2)) is guard
    assert refused(lambda: append(partition, transactional(1), guard)) == OUT_OF_ORDER
    assert append(partition, transactional(0), guard) is None
    assert append(partition, transactional(1), None) is None


def test_a_new_epoch_begins_with_its_own_lowest_sequence() -> None:
    partition = Partition()
    begin(partition, transactional(0))
    guard = begin(partition, transactional(5, epoch=1))
    assert append(partition, transactional(5, epoch=1), guard) is None


def test_a_producer_of_version_two_without_state_begins_with_zero() -> None:
    partition = Partition()
    guard = begin(partition, transactional(3), supports_epoch_bump=True)
    assert refused(lambda: append(partition, transactional(3), guard)) == OUT_OF_ORDER
    guard = begin(partition, transactional(0), supports_epoch_bump=True)
    assert append(partition, transactional(0), guard) is None


def test_an_older_producer_without_state_begins_anywhere() -> None:
    partition = Partition()
    assert append(partition, transactional(3), begin(partition, transactional(3))) is None


def test_a_fenced_producer_is_refused_before_the_coordinator_is_asked() -> None:
    partition = Partition()
    partition.append(batch(0, epoch=4))
    late = transactional(0, epoch=3)
    assert refused(lambda: begin(partition, late)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(lambda: append(partition, late, None)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_without_verification_nothing_is_required() -> None:
    partition = Partition()
    assert append(partition, transactional(0), NOT_REQUIRED) is None


def test_a_replicated_batch_needs_no_guard_and_uses_up_the_one_there_is() -> None:
    partition = Partition()
    guard = begin(partition, transactional(0))
    assert append(partition, transactional(0), None, AppendOrigin.REPLICATION) is None
    partition.end_txn(marker())
    assert refused(lambda: append(partition, transactional(1), guard)) == NOT_IN_TRANSACTION


def test_a_guard_is_used_up_even_if_an_older_epoch_has_not_ended_here() -> None:
    partition = Partition()
    first = begin(partition, transactional(0), supports_epoch_bump=True)
    append(partition, transactional(0), first)
    following = transactional(0, epoch=1)
    guard = begin(partition, following, supports_epoch_bump=True)
    assert append(partition, following, guard) is None
    partition.end_txn(marker(epoch=1), abort=True)
    late = transactional(1, epoch=1)
    assert refused(lambda: append(partition, late, guard)) == NOT_IN_TRANSACTION


def test_verifications_that_never_end_expire() -> None:
    partition = Partition()
    guard = begin(partition, transactional(0))
    partition.producers.expire(NOW + DAY_MS - 1)
    assert begin(partition, transactional(0)) is guard
    partition.producers.expire(NOW + DAY_MS)
    assert refused(lambda: append(partition, transactional(0), guard)) == NOT_IN_TRANSACTION

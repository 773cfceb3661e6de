"""Kafka's transitions, and no others."""

from collections.abc import Callable

import pytest

from moldau.protocol.records.transaction_coordinator import PartitionsSchema, TransactionLogValue
from moldau.transaction_coordinator.status import (
    AT_REST,
    STATE_NAMES,
    VALID_PREVIOUS,
    TransactionStatus,
)
from moldau.transaction_coordinator.transaction import Transaction
from moldau.transaction_coordinator.transitions import (
    Transition,
    to_complete,
    to_empty,
    to_fenced_abort,
    to_ongoing,
    to_prepared,
)

S = TransactionStatus
NOW_MS = 5000

# As the table of the states in Apache Kafka's documentation of the coordinator.
ALLOWED = {
    "Empty": {"Empty", "CompleteCommit", "CompleteAbort"},
    "Ongoing": {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareCommit": {"Ongoing"},
    "PrepareAbort": {"Ongoing", "PrepareEpochFence", "Empty", "CompleteCommit", "CompleteAbort"},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    "Dead": {"Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareEpochFence": {"Ongoing"},
}


def transaction(status: TransactionStatus, epoch: int = 3) -> Transaction:
    partitions = [] if status in AT_REST else [PartitionsSchema("orders", [1])]
    value = TransactionLogValue(
        producer_id=9,
        producer_epoch=epoch,
        transaction_timeout_ms=100,
        transaction_status=int(status),
        transaction_partitions=partitions,
        transaction_start_timestamp_ms=4000,
    )
    return Transaction("payments", value, 2)


def empty(of: Transaction) -> Transition:
    return to_empty(of, 9, 4, 3, 200, NOW_MS)


def ongoing(of: Transaction) -> Transition:
    return to_ongoing(of, [("orders", [0])], 2, NOW_MS)


def prepare(of: Transaction, is_commit: bool, version: int = 2) -> Transition:
    return to_prepared(
        of,
        is_commit=is_commit,
        client_transaction_version=version,
        next_producer_id=-1,
        wall_ms=NOW_MS,
    )


# The state that each function leads to; a completion leads to the one that was prepared.
WAYS: list[tuple[Callable[[Transaction], Transition], TransactionStatus, set[str]]] = [
    (empty, S.EMPTY, ALLOWED["Empty"]),
    (ongoing, S.ONGOING, ALLOWED["Ongoing"]),
    (lambda of: prepare(of, True), S.PREPARE_COMMIT, ALLOWED["PrepareCommit"]),
    (
        lambda of: prepare(of, False),
        S.PREPARE_ABORT,
        # The fence is a step on the way from Ongoing, not a state to start from.
        ALLOWED["PrepareAbort"],
    ),
    (lambda of: prepare(of, True, 0), S.PREPARE_COMMIT, {"Ongoing"}),
    (lambda of: prepare(of, False, 0), S.PREPARE_ABORT, {"Ongoing", "PrepareEpochFence"}),
    (lambda of: to_fenced_abort(of, NOW_MS), S.PREPARE_ABORT, {"Ongoing"}),
]


def test_the_table_of_transitions_is_that_of_kafka() -> None:
    table = {
        STATE_NAMES[status]: {STATE_NAMES[previous] for previous in allowed}
        for status, allowed in VALID_PREVIOUS.items()
    }
    assert table == ALLOWED


@pytest.mark.parametrize("previous", list(S))
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_a_transition_that_is_not_in_the_table_is_a_bug(
    way: int, previous: TransactionStatus
) -> None:
    function, status, allowed = WAYS[way]
    if STATE_NAMES[previous] in allowed:
        assert function(transaction(previous)).value.transaction_status == status
    else:
        with pytest.raises(AssertionError):
            function(transaction(previous))


@pytest.mark.parametrize("previous", list(S))
def test_only_what_is_prepared_becomes_complete(previous: TransactionStatus) -> None:
    completed = {S.PREPARE_COMMIT: S.COMPLETE_COMMIT, S.PREPARE_ABORT: S.COMPLETE_ABORT}
    if previous in completed:
        value = to_complete(transaction(previous), NOW_MS).value
        assert value.transaction_status == completed[previous]
        assert value.transaction_partitions == []
    else:
        with pytest.raises(AssertionError):
            to_complete(transaction(previous), NOW_MS)


def test_the_first_partitions_begin_a_transaction_and_others_join_it() -> None:
    assert ongoing(transaction(S.EMPTY)).value.transaction_start_timestamp_ms == NOW_MS
    later = ongoing(transaction(S.ONGOING)).value
    assert later.transaction_start_timestamp_ms == 4000
    assert later.transaction_partitions == [PartitionsSchema("orders", [1, 0])]


def test_the_last_epoch_is_not_bumped_again() -> None:
    last = transaction(S.ONGOING, epoch=32767)
    assert prepare(last, False).value.producer_epoch == 32767
    assert prepare(last, True).value.producer_epoch == 32767
    assert to_fenced_abort(last, NOW_MS).value.producer_epoch == 32767


def test_a_fence_forgets_the_epoch_by_which_a_request_may_be_repeated() -> None:
    assert to_fenced_abort(transaction(S.ONGOING), NOW_MS).last_producer_epoch == -1
    assert prepare(transaction(S.ONGOING), False).last_producer_epoch == 3
    assert prepare(transaction(S.ONGOING), False, version=0).last_producer_epoch == 2

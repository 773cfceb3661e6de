"""AddPartitionsToTxn: by clients, by brokers, and to verify."""

import pytest

from moldau.coordinator.outcome import Reply
from moldau.errors import ErrorCode
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.records.transaction_coordinator import PartitionsSchema
from moldau.transaction_coordinator.add_partitions import one_result
from moldau.transaction_coordinator.context import TransactionContext, add_offsets_context
from tests.transaction_coordinator.coordinator import Coordinator, Producer

NONE = ErrorCode.NONE
ABORTABLE = ErrorCode.TRANSACTION_ABORTABLE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def at_rest(commit: bool | None) -> tuple[Coordinator, Producer]:
    coordinator = Coordinator()
    producer = coordinator.start()
    if commit is not None:
        producer = coordinator.run(producer, commit=commit)
    return coordinator, producer


@pytest.mark.parametrize("commit", [None, True, False])
def test_a_transaction_begins_from_every_state_of_rest(commit: bool | None) -> None:
    coordinator, producer = at_rest(commit)
    assert coordinator.add(producer, 4, 5) == [NONE, NONE]
    assert coordinator.state == "Ongoing"
    assert coordinator.last.transaction_start_timestamp_ms == coordinator.now.wall_ms


@pytest.mark.parametrize("version", range(6))
def test_the_version_of_the_request_tells_the_protocol(version: int) -> None:
    coordinator, producer = at_rest(None)
    coordinator.add(producer, version=version)
    assert coordinator.last.client_transaction_version == (2 if version > 3 else 0)


@pytest.mark.parametrize("version", range(5))
def test_offsets_are_added_only_by_clients_of_version_1(version: int) -> None:
    assert add_offsets_context(version).api_version <= 3


@pytest.mark.parametrize("verify_only", [True, False])
def test_every_partition_has_the_error(verify_only: bool) -> None:
    coordinator, producer = at_rest(None)

    def results(producer: Producer, transactional_id: str = "payments") -> list[ErrorCode]:
        return coordinator.add(
            producer, 0, 1, verify_only=verify_only, transactional_id=transactional_id
        )

    assert results(producer, "") == [ErrorCode.INVALID_REQUEST] * 2
    assert results(producer, "unknown") == [MAPPING] * 2
    assert results(Producer(producer.producer_id + 1, 0)) == [MAPPING] * 2
    assert results(Producer(producer.producer_id, 1)) == [FENCED] * 2
    # Both are wrong: the producer id is compared first.
    assert results(Producer(producer.producer_id + 1, 1)) == [MAPPING] * 2
    assert len(coordinator.log) == 1


@pytest.mark.parametrize("version", range(6))
def test_old_clients_are_fenced_with_the_code_they_know(version: int) -> None:
    coordinator, zombie = at_rest(None)
    coordinator.start()
    expected = FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert coordinator.add(zombie, version=version) == [expected]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("verify_only", [True, False])
def test_a_transaction_that_is_being_ended_takes_no_partitions(
    commit: bool, verify_only: bool
) -> None:
    coordinator, producer = at_rest(None)
    coordinator.add(producer)
    ended = coordinator.end(producer, commit=commit)
    after = Producer(ended.producer_id, ended.producer_epoch)
    assert coordinator.add(after, verify_only=verify_only) == [CONCURRENT]
    late = coordinator.add(producer, verify_only=verify_only)
    assert late == [FENCED if verify_only else CONCURRENT]
    stranger = coordinator.add(Producer(5, 0), verify_only=verify_only)
    assert stranger == [MAPPING if verify_only else CONCURRENT]
    coordinator.write_markers()
    expected = ABORTABLE if verify_only else NONE
    assert coordinator.add(after, verify_only=verify_only) == [expected]


def test_verifying_says_which_partitions_are_missing_and_adds_none() -> None:
    coordinator, producer = at_rest(None)
    coordinator.add(producer, 0, 2)
    records = len(coordinator.log)
    results = coordinator.add(producer, 0, 1, 2, verify_only=True)
    assert results == [NONE, ABORTABLE, NONE]
    assert len(coordinator.log) == records


@pytest.mark.parametrize("commit", [None, True, False])
def test_nothing_is_verified_where_no_transaction_is_open(commit: bool | None) -> None:
    coordinator, producer = at_rest(commit)
    assert coordinator.add(producer, verify_only=True) == [ABORTABLE]


def test_topics_without_partitions_are_not_part_of_a_transaction() -> None:
    coordinator, producer = at_rest(None)
    topics = [AddPartitionsToTxnTopic(name, indexes) for name, indexes in (("a", []), ("b", [3]))]
    request = AddPartitionsToTxnTransaction("payments", *producer, False, topics)
    coordinator.apply(
        coordinator.shard.handle_add_partitions(7, request, TransactionContext(3), coordinator.now)
    )
    assert coordinator.last.transaction_partitions == [PartitionsSchema("b", [3])]


def test_a_request_without_partitions_begins_a_transaction_as_in_kafka() -> None:
    coordinator, producer = at_rest(None)
    topics = [AddPartitionsToTxnTopic("a", []), AddPartitionsToTxnTopic("b", [])]
    request = AddPartitionsToTxnTransaction("payments", *producer, False, topics)
    outcome = coordinator.shard.handle_add_partitions(
        7, request, TransactionContext(3), coordinator.now
    )
    coordinator.apply(outcome)
    assert coordinator.state == "Ongoing"
    assert coordinator.last.transaction_partitions == []


@pytest.mark.parametrize("is_known", [True, False])
def test_the_result_of_very_many_partitions_is_told_once(is_known: bool) -> None:
    coordinator, producer = at_rest(None)
    name = "payments" if is_known else "unknown"
    topics = [AddPartitionsToTxnTopic("wide", list(range(9)))]
    request = AddPartitionsToTxnTransaction(name, *producer, False, topics)
    context = TransactionContext(3, has_one_result=True)
    outcome = coordinator.shard.handle_add_partitions(7, request, context, coordinator.now)
    assert outcome.replies == [Reply(7, one_result(NONE if is_known else MAPPING))]
    assert len(outcome.records) == is_known

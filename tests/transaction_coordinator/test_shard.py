"""Transactions of both protocols from beginning to end, and the records that they leave."""

import pytest

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.records.transaction_coordinator import PartitionsSchema, TransactionLogValue
from moldau.transaction_coordinator.prepared import (
    Partitions,
    PreparedTransaction,
    each_partition,
)
from tests.transaction_coordinator.coordinator import (
    ADD_VERSION,
    END_VERSION,
    FIRST_PRODUCER_ID,
    ID,
    TIMEOUT_MS,
    V1,
    V2,
    Coordinator,
    Producer,
)


def test_a_new_transactional_id_gets_a_producer_id_with_epoch_0() -> None:
    coordinator = Coordinator()
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID, 0)
    assert coordinator.last == TransactionLogValue(
        producer_id=FIRST_PRODUCER_ID,
        previous_producer_id=FIRST_PRODUCER_ID,
        producer_epoch=0,
        transaction_timeout_ms=TIMEOUT_MS,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=coordinator.now.wall_ms,
        transaction_start_timestamp_ms=-1,
    )


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_of_version_1_keeps_its_epoch(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    begin_ms = coordinator.now.wall_ms
    assert coordinator.add(producer, 2, 0, version=ADD_VERSION[V1]) == [ErrorCode.NONE] * 2
    coordinator.now_ms += 10
    response = coordinator.end(producer, commit=commit, version=END_VERSION[V1])
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, -1, -1)
    coordinator.now_ms += 10
    partitions: Partitions = {"orders": {2: None, 0: None}}
    (prepared,) = coordinator.write_markers()
    assert prepared == PreparedTransaction(ID, FIRST_PRODUCER_ID, 0, commit, partitions, 0)
    in_order = [TopicPartition("orders", 2), TopicPartition("orders", 0)]
    assert list(each_partition(prepared.partitions)) == in_order
    assert coordinator.shard.take_prepared() == []

    common = {
        "producer_id": FIRST_PRODUCER_ID,
        "previous_producer_id": FIRST_PRODUCER_ID,
        "transaction_timeout_ms": TIMEOUT_MS,
        "transaction_start_timestamp_ms": begin_ms,
    }
    orders = [PartitionsSchema("orders", [2, 0])]
    assert coordinator.values()[1:] == [
        TransactionLogValue(
            **common,
            transaction_status=1,
            transaction_partitions=orders,
            transaction_last_update_timestamp_ms=begin_ms,
        ),
        TransactionLogValue(
            **common,
            transaction_status=2 if commit else 3,
            transaction_partitions=orders,
            transaction_last_update_timestamp_ms=begin_ms + 10,
        ),
        TransactionLogValue(
            **common,
            transaction_status=4 if commit else 5,
            transaction_partitions=[],
            transaction_last_update_timestamp_ms=begin_ms + 20,
        ),
    ]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_of_version_2_ends_with_the_next_epoch(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.add(producer)
    response = coordinator.end(producer, commit=commit)
    after = (response.error_code, response.producer_id, response.producer_epoch)
    assert after == (0, FIRST_PRODUCER_ID, 1)
    # The marker has the new epoch: nothing of the old one can be written after it.
    (prepared,) = coordinator.write_markers()
    assert (prepared.producer_epoch, prepared.is_commit, prepared.transaction_version) == (
        1,
        commit,
        V2,
    )
    assert coordinator.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert [value.client_transaction_version for value in coordinator.values() if value] == [
        0,
        V2,
        V2,
        V2,
    ]


def test_both_protocols_can_use_one_id_in_turn() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    producer = coordinator.run(producer, commit=True, protocol=V2)
    producer = coordinator.run(producer, commit=False, protocol=V1)
    producer = coordinator.run(producer, commit=True, protocol=V1)
    producer = coordinator.run(producer, commit=False, protocol=V2)
    assert producer == Producer(FIRST_PRODUCER_ID, 2)


def test_partitions_that_are_there_already_write_nothing() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.add(producer, 0, 1)
    records = len(coordinator.log)
    assert coordinator.add(producer, 1) == [ErrorCode.NONE]
    assert len(coordinator.log) == records
    coordinator.add(producer, 1, 2)
    assert coordinator.last.transaction_partitions == [PartitionsSchema("orders", [0, 1, 2])]


def test_what_was_prepared_before_a_reload_is_prepared_after_it() -> None:
    coordinator = Coordinator()
    coordinator.run(coordinator.start(), commit=True)
    coordinator.add(Producer(FIRST_PRODUCER_ID, 1), 3)
    coordinator.end(Producer(FIRST_PRODUCER_ID, 1), commit=False)
    before = coordinator.shard.take_prepared()
    coordinator.reload()
    assert coordinator.write_markers() == before
    assert coordinator.state == "CompleteAbort"

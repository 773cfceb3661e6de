"""Races that have gone wrong in Apache Kafka; the numbers are those of its JIRA."""

import pytest

from moldau.errors import ErrorCode
from moldau.transaction_coordinator.prepared import PreparedTransaction
from tests.transaction_coordinator.coordinator import (
    ADD_VERSION,
    END_VERSION,
    FIRST_PRODUCER_ID,
    LAST_CLIENT_EPOCH,
    V1,
    Coordinator,
    Producer,
)

NONE = ErrorCode.NONE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED


def test_17754_a_delayed_commit_does_not_decide_the_next_transaction() -> None:
    coordinator = Coordinator()
    first = coordinator.start()
    second = coordinator.run(first, commit=True)
    coordinator.add(second)
    for commit in (True, False):
        assert ErrorCode(coordinator.end(first, commit=commit).error_code) is FENCED
    assert coordinator.state == "Ongoing"
    # Nor after the next transaction has ended the other way.
    coordinator.end(second, commit=False)
    assert ErrorCode(coordinator.end(first, commit=True).error_code) is CONCURRENT
    coordinator.write_markers()
    assert ErrorCode(coordinator.end(first, commit=True).error_code) is FENCED
    assert coordinator.state == "CompleteAbort"


@pytest.mark.parametrize("commit", [True, False])
def test_18575_a_new_transaction_waits_until_the_old_one_is_complete(commit: bool) -> None:
    coordinator = Coordinator()
    first = coordinator.start()
    coordinator.add(first, 0)
    ended = coordinator.end(first, commit=commit)
    # The client has its answer, and goes on while the markers are still being written.
    second = Producer(ended.producer_id, ended.producer_epoch)
    assert coordinator.add(second, 1) == [CONCURRENT]
    (prepared,) = coordinator.write_markers()
    assert list(prepared.partitions.values()) == [{0: None}]
    assert coordinator.add(second, 1) == [NONE]
    assert coordinator.shard.describe("payments").topics[0].partitions == [1]


def test_18654_the_producer_that_rotated_its_id_waits_as_any_other() -> None:
    """The new id is not in the state yet; it must not be taken for a stranger's for good."""
    coordinator = Coordinator()
    first = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(first)
    ended = coordinator.end(first, commit=True)
    second = Producer(ended.producer_id, ended.producer_epoch)
    assert coordinator.add(second) == [CONCURRENT]
    assert ErrorCode(coordinator.end(second, commit=False).error_code) is CONCURRENT
    coordinator.write_markers()
    assert coordinator.add(second) == [NONE]


def test_18464_an_empty_abort_does_not_fence_its_own_producer() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    for epoch in range(1, 4):
        # Each is written twice: the answer to the first one was lost.
        response = coordinator.end(producer, commit=False)
        coordinator.write_markers()
        again = coordinator.end(producer, commit=False)
        assert ErrorCode(again.error_code) is NONE
        expected = (FIRST_PRODUCER_ID, epoch)
        assert (response.producer_id, response.producer_epoch) == expected
        assert (again.producer_id, again.producer_epoch) == expected
        producer = Producer(*expected)
    assert coordinator.add(producer) == [NONE]


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_19367_taking_over_an_open_transaction_bumps_the_epoch_once_for_the_abort(
    transaction_version: int,
) -> None:
    coordinator = Coordinator(transaction_version)
    coordinator.add(coordinator.start(), version=ADD_VERSION[V1])
    coordinator.init()
    assert coordinator.last.producer_epoch == 1
    coordinator.write_markers()
    assert coordinator.last.producer_epoch == 1
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID, 2)


@pytest.mark.parametrize("transaction_version", [1, 2])
def test_9666_a_fence_that_could_not_be_written_is_tried_again_without_another_bump(
    transaction_version: int,
) -> None:
    coordinator = Coordinator(transaction_version)
    producer = coordinator.start(timeout_ms=1000)
    coordinator.add(producer, version=ADD_VERSION[V1])
    for _ in range(3):
        coordinator.now_ms += 20_000
        lost = coordinator.shard.tick(coordinator.now)
        assert len(lost.records) == 1
        # The append fails: the runtime drops the shard and loads it again.
        coordinator.reload()
    coordinator.wait(20_000)
    assert (coordinator.state, coordinator.last.producer_epoch) == ("PrepareAbort", 1)


def test_18660_the_answer_over_a_rotation_is_the_new_id_also_when_it_is_repeated() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(producer)
    expected = (0, FIRST_PRODUCER_ID + 1, 0)
    first = coordinator.end(producer, commit=True)
    assert (first.error_code, first.producer_id, first.producer_epoch) == expected
    coordinator.write_markers()
    for _ in range(2):
        again = coordinator.end(producer, commit=True)
        assert (again.error_code, again.producer_id, again.producer_epoch) == expected
        # The previous id is in the record: another coordinator knows the answer too.
        coordinator.reload()
    wrong = coordinator.end(producer, commit=False)
    assert ErrorCode(wrong.error_code) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("transaction_version", [1, 2])
def test_20090_a_time_out_with_the_last_epoch_leaves_an_id_that_can_be_used(
    transaction_version: int,
) -> None:
    coordinator = Coordinator(transaction_version)
    coordinator.add(coordinator.start_at(LAST_CLIENT_EPOCH), version=ADD_VERSION[V1])
    coordinator.wait(100_000)
    assert coordinator.last.producer_epoch == 32767
    coordinator.write_markers()
    if transaction_version == 2:
        completed = (coordinator.last.producer_id, coordinator.last.producer_epoch)
        assert completed == (FIRST_PRODUCER_ID + 1, 0)
    producer = coordinator.start()
    assert producer.producer_id == FIRST_PRODUCER_ID + 1
    assert coordinator.run(producer, commit=True).producer_id == FIRST_PRODUCER_ID + 1


@pytest.mark.parametrize("is_timed_out", [True, False])
def test_20310_a_fail_over_does_not_forget_the_next_id(is_timed_out: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(producer)
    if is_timed_out:
        coordinator.wait(100_000)
    else:
        coordinator.end(producer, commit=True)
    coordinator.reload()
    coordinator.write_markers()
    assert coordinator.next_producer_id == FIRST_PRODUCER_ID + 2
    assert (coordinator.last.producer_id, coordinator.last.producer_epoch) == (
        FIRST_PRODUCER_ID + 1,
        0,
    )


def test_19690_a_late_producer_is_fenced_before_it_is_told_to_abort_or_to_wait() -> None:
    """Leaders show that as INVALID_PRODUCER_EPOCH, after which a producer can go on."""
    coordinator = Coordinator()
    late = coordinator.start()
    coordinator.add(late)
    coordinator.end(late, commit=False)
    for version in (4, 5):
        assert coordinator.add(late, version=version, verify_only=True) == [FENCED]
    coordinator.write_markers()
    assert coordinator.add(late, verify_only=True) == [FENCED]
    for version in (0, 1):
        code = ErrorCode(coordinator.end(Producer(late.producer_id, 0), commit=True).error_code)
        assert code is ErrorCode.INVALID_TXN_STATE
        assert coordinator.add(late, version=version) == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_10080_a_transaction_is_completed_once() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.add(producer)
    coordinator.end(producer, commit=True)
    (prepared,) = coordinator.write_markers()
    records = len(coordinator.log)
    assert coordinator.shard.handle_markers_written(prepared, coordinator.now).is_empty
    # Not after the next transaction has begun, nor after it was prepared.
    second = Producer(producer.producer_id, 1)
    coordinator.add(second)
    assert coordinator.shard.handle_markers_written(prepared, coordinator.now).is_empty
    assert len(coordinator.log) == records + 1


def prepared_twice(coordinator: Coordinator) -> tuple[PreparedTransaction, PreparedTransaction]:
    """Two transactions of version 1 that cannot be told from each other."""
    producer = coordinator.start()
    found: list[PreparedTransaction] = []
    for is_last in (False, True):
        coordinator.add(producer, version=ADD_VERSION[V1])
        coordinator.end(producer, commit=True, version=END_VERSION[V1])
        found.extend(coordinator.shard.take_prepared())
        if not is_last:
            coordinator.apply(coordinator.shard.handle_markers_written(found[0], coordinator.now))
    return found[0], found[1]


def test_16352_an_older_transaction_neither_completes_nor_removes_a_newer_one() -> None:
    coordinator = Coordinator()
    first, second = prepared_twice(coordinator)
    assert first == second
    assert coordinator.shard.handle_markers_written(first, coordinator.now).is_empty
    assert coordinator.state == "PrepareCommit"
    coordinator.apply(coordinator.shard.handle_markers_written(second, coordinator.now))
    assert coordinator.state == "CompleteCommit"


def test_16352_what_a_former_coordinator_prepared_is_taken_from_the_new_one() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.add(producer)
    coordinator.end(producer, commit=True)
    (former,) = coordinator.shard.take_prepared()
    coordinator.reload()
    assert coordinator.shard.handle_markers_written(former, coordinator.now).is_empty
    assert len(coordinator.write_markers()) == 1
    assert coordinator.state == "CompleteCommit"


def test_what_is_complete_is_not_prepared_again_after_a_reload() -> None:
    coordinator = Coordinator()
    coordinator.run(coordinator.start(), commit=True)
    coordinator.reload()
    assert coordinator.shard.take_prepared() == []

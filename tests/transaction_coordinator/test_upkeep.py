"""Timeouts of transactions and expiry of ids, on two clocks."""

import pytest

from moldau.errors import ErrorCode
from tests.transaction_coordinator.coordinator import (
    ADD_VERSION,
    FIRST_PRODUCER_ID,
    LAST_CLIENT_EPOCH,
    V1,
    Coordinator,
    Producer,
)

DAY_MS = 86_400_000
INTERVAL_MS = 10_000


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    transaction_version: int,
) -> None:
    coordinator = Coordinator(transaction_version)
    producer = coordinator.start(timeout_ms=5000)
    coordinator.add(producer, version=ADD_VERSION[V1])
    coordinator.wait(5000)
    assert coordinator.state == "Ongoing"
    coordinator.wait(INTERVAL_MS)
    assert coordinator.state == "PrepareAbort"
    (prepared,) = coordinator.write_markers()
    assert (prepared.producer_epoch, prepared.is_commit) == (1, False)
    assert coordinator.state == "CompleteAbort"
    assert coordinator.add(producer) == [ErrorCode.PRODUCER_FENCED]


def test_a_transaction_has_all_of_its_time() -> None:
    coordinator = Coordinator()
    producer = coordinator.start(timeout_ms=INTERVAL_MS)
    coordinator.add(producer)
    # The look that happens in the very millisecond of the timeout is not late enough.
    coordinator.wait(INTERVAL_MS)
    assert coordinator.state == "Ongoing"
    coordinator.wait(INTERVAL_MS)
    assert coordinator.state == "PrepareAbort"


def test_the_time_of_a_transaction_is_measured_from_its_first_partition() -> None:
    coordinator = Coordinator()
    producer = coordinator.start(timeout_ms=15_000)
    coordinator.wait(DAY_MS)
    coordinator.add(producer, 0)
    coordinator.wait(9000)
    coordinator.add(producer, 1)
    coordinator.wait(5000)
    assert coordinator.state == "Ongoing"
    coordinator.wait(INTERVAL_MS)
    assert coordinator.state == "PrepareAbort"


def test_time_goes_on_while_there_is_no_coordinator() -> None:
    coordinator = Coordinator()
    coordinator.add(coordinator.start(timeout_ms=5000))
    # The monotonic clock of another process says nothing about this one's.
    coordinator.wall_ahead_ms += DAY_MS
    coordinator.now_ms = 10
    coordinator.reload()
    coordinator.wait(INTERVAL_MS)
    assert coordinator.state == "PrepareAbort"


def test_a_two_phase_commit_does_not_time_out() -> None:
    coordinator = Coordinator(allows_2pc=True)
    response = coordinator.init(enable_2pc=True)
    coordinator.add(Producer(response.producer_id, response.producer_epoch))
    coordinator.wait(40 * DAY_MS)
    assert coordinator.state == "Ongoing"


def test_only_open_transactions_are_looked_at() -> None:
    coordinator = Coordinator()
    assert coordinator.shard.next_deadline_ms() is None
    producer = coordinator.start(timeout_ms=1)
    hour_ms = 3_600_000
    assert coordinator.shard.next_deadline_ms() == coordinator.now_ms + hour_ms
    coordinator.add(producer)
    assert coordinator.shard.next_deadline_ms() == coordinator.now_ms + INTERVAL_MS
    coordinator.end(producer, commit=True)
    assert coordinator.shard.next_deadline_ms() == coordinator.now_ms + hour_ms
    records = len(coordinator.log)
    coordinator.wait(DAY_MS)
    assert len(coordinator.log) == records


def test_a_time_out_that_needs_a_producer_id_waits_for_one() -> None:
    coordinator = Coordinator()
    coordinator.add(coordinator.start_at(LAST_CLIENT_EPOCH))
    coordinator.has_producer_ids = False
    coordinator.wait(DAY_MS)
    assert coordinator.state == "Ongoing"
    coordinator.has_producer_ids = True
    coordinator.wait(INTERVAL_MS)
    assert coordinator.state == "PrepareAbort"


def open_many(coordinator: Coordinator, count: int) -> None:
    for number in range(count):
        producer = coordinator.start(f"id-{number}")
        coordinator.add(producer, transactional_id=f"id-{number}")
    coordinator.now_ms += DAY_MS


def test_many_transactions_time_out_in_parts_without_a_pause() -> None:
    coordinator = Coordinator()
    open_many(coordinator, 500)
    sizes = []
    while (due_ms := coordinator.shard.next_deadline_ms()) is not None:
        if due_ms > coordinator.now_ms:
            break
        outcome = coordinator.shard.tick(coordinator.now)
        coordinator.apply(outcome)
        sizes.append(len(outcome.records))
    assert sizes == [200, 200, 100]
    assert len(coordinator.write_markers()) == 500


def test_a_transaction_that_ends_before_its_turn_is_not_aborted() -> None:
    coordinator = Coordinator()
    open_many(coordinator, 300)
    coordinator.apply(coordinator.shard.tick(coordinator.now))
    last = Producer(FIRST_PRODUCER_ID + 299, 0)
    ended = coordinator.end(last, commit=True, transactional_id="id-299")
    assert ErrorCode(ended.error_code) is ErrorCode.NONE
    outcome = coordinator.shard.tick(coordinator.now)
    coordinator.apply(outcome)
    assert len(outcome.records) == 99
    assert coordinator.shard.describe("id-299").transaction_state == "PrepareCommit"


def test_time_outs_for_which_there_are_no_producer_ids_hold_up_nobody() -> None:
    coordinator = Coordinator()
    coordinator.add(coordinator.start_at(LAST_CLIENT_EPOCH))
    open_many(coordinator, 300)
    coordinator.has_producer_ids = False
    for _ in range(3):
        coordinator.apply(coordinator.shard.tick(coordinator.now))
    due_ms = coordinator.shard.next_deadline_ms()
    assert due_ms == coordinator.now_ms + INTERVAL_MS
    assert (coordinator.state, len(coordinator.write_markers())) == ("Ongoing", 300)


@pytest.mark.parametrize("commit", [None, True, False])
def test_an_id_that_is_not_used_expires(commit: bool | None) -> None:
    coordinator = Coordinator(transactional_id_expiration_ms=str(DAY_MS))
    producer = coordinator.start()
    if commit is not None:
        coordinator.run(producer, commit=commit)
    coordinator.wait(DAY_MS - 1)
    assert coordinator.state
    coordinator.wait(3_600_000)
    assert coordinator.values()[-1] is None
    code = ErrorCode(coordinator.shard.describe("payments").error_code)
    assert code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert coordinator.shard.next_deadline_ms() is None
    coordinator.reload()
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID + 1, 0)


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort"])
def test_an_id_with_a_transaction_does_not_expire(state: str) -> None:
    coordinator = Coordinator(allows_2pc=True, transactional_id_expiration_ms=str(DAY_MS))
    response = coordinator.init(enable_2pc=True)
    producer = Producer(response.producer_id, response.producer_epoch)
    coordinator.add(producer)
    if state != "Ongoing":
        coordinator.end(producer, commit=state == "PrepareCommit")
    coordinator.wait(40 * DAY_MS)
    assert coordinator.state == state


def test_many_ids_expire_in_parts_without_a_pause() -> None:
    coordinator = Coordinator(transactional_id_expiration_ms=str(DAY_MS))
    for number in range(2500):
        coordinator.start(f"id-{number}")
    coordinator.now_ms += 2 * DAY_MS
    sizes = []
    while coordinator.shard.next_deadline_ms() is not None:
        outcome = coordinator.shard.tick(coordinator.now)
        coordinator.apply(outcome)
        sizes.append(len(outcome.records))
    assert sizes == [1000, 1000, 500]

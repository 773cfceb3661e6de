"""EndTxn in every state, by both protocols: the outcome, or the error that Kafka answers."""

import pytest

from moldau.errors import ErrorCode
from tests.transaction_coordinator.coordinator import (
    ADD_VERSION,
    END_VERSION,
    FIRST_PRODUCER_ID,
    LAST_CLIENT_EPOCH,
    V1,
    V2,
    Coordinator,
    Producer,
)

NONE = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED
INVALID = ErrorCode.INVALID_TXN_STATE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING

STATES = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]


def in_state(state: str, protocol: int) -> tuple[Coordinator, Producer]:
    """A coordinator whose id is in this state, and the producer as the coordinator has it."""
    coordinator = Coordinator()
    coordinator.start()
    producer = coordinator.start()
    if state != "Empty":
        coordinator.add(producer, version=ADD_VERSION[protocol])
    if state.startswith(("Prepare", "Complete")):
        commit = state.endswith("Commit")
        coordinator.end(producer, commit=commit, version=END_VERSION[protocol])
        if protocol == V2:
            producer = Producer(producer.producer_id, producer.producer_epoch + 1)
    if state.startswith("Complete"):
        coordinator.write_markers()
    assert coordinator.state == state
    return coordinator, producer


# State -> the answers to a commit and to an abort, with the epoch of the coordinator.
VERSION_1 = {
    "Empty": (INVALID, INVALID),
    "Ongoing": (NONE, NONE),
    # Apache Kafka has INVALID_TXN_STATE for the other outcome, but never gets there: it has begun
    # the transition to Complete* by then.
    "PrepareCommit": (CONCURRENT, CONCURRENT),
    "PrepareAbort": (CONCURRENT, CONCURRENT),
    "CompleteCommit": (NONE, INVALID),
    "CompleteAbort": (INVALID, NONE),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("commit", [True, False])
def test_version_1_judges_by_the_state(state: str, commit: bool) -> None:
    coordinator, producer = in_state(state, V1)
    records = len(coordinator.log)
    response = coordinator.end(producer, commit=commit, version=END_VERSION[V1])
    assert ErrorCode(response.error_code) is VERSION_1[state][0 if commit else 1]
    assert len(coordinator.log) == records + (state == "Ongoing")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("difference", [-1, 1])
def test_version_1_fences_every_other_epoch(state: str, difference: int) -> None:
    coordinator, producer = in_state(state, V1)
    other = Producer(producer.producer_id, producer.producer_epoch + difference)
    response = coordinator.end(other, commit=True, version=END_VERSION[V1])
    assert ErrorCode(response.error_code) is FENCED


# State -> the answers to a commit: repeated and current; and to an abort: repeated and current.
VERSION_2 = {
    "Empty": (FENCED, INVALID, FENCED, NONE),
    "Ongoing": (FENCED, NONE, FENCED, NONE),
    "PrepareCommit": (CONCURRENT,) * 4,
    "PrepareAbort": (CONCURRENT,) * 4,
    "CompleteCommit": (NONE, INVALID, INVALID, NONE),
    "CompleteAbort": (INVALID, INVALID, NONE, NONE),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("is_current", [True, False])
def test_version_2_judges_by_state_and_epoch(state: str, commit: bool, is_current: bool) -> None:
    coordinator, producer = in_state(state, V2)
    if not is_current:
        producer = Producer(producer.producer_id, producer.producer_epoch - 1)
    records = len(coordinator.log)
    response = coordinator.end(producer, commit=commit)
    expected = VERSION_2[state][(0 if commit else 2) + is_current]
    assert ErrorCode(response.error_code) is expected
    is_decided = expected is NONE and is_current
    assert len(coordinator.log) == records + is_decided
    if expected is NONE:
        bumped = Producer(producer.producer_id, producer.producer_epoch + 1)
        assert (response.producer_id, response.producer_epoch) == bumped
    else:
        assert (response.producer_id, response.producer_epoch) == (-1, -1)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("difference", [-2, 1])
def test_version_2_fences_epochs_that_are_neither_repeated_nor_current(
    state: str, difference: int
) -> None:
    coordinator, producer = in_state(state, V2)
    other = Producer(producer.producer_id, producer.producer_epoch + difference)
    expected = CONCURRENT if state.startswith("Prepare") else FENCED
    for commit in (True, False):
        assert ErrorCode(coordinator.end(other, commit=commit).error_code) is expected


def test_who_was_fenced_is_not_taken_for_the_instance_that_ended_in_version_1() -> None:
    """That one has not bumped the epoch: both would go on in the same one."""
    coordinator = Coordinator()
    fenced = coordinator.start()
    producer = coordinator.start()
    assert producer.producer_epoch == fenced.producer_epoch + 1
    coordinator.add(producer, version=ADD_VERSION[V1])
    coordinator.end(producer, commit=True, version=END_VERSION[V1])
    coordinator.write_markers()
    coordinator.reload()
    response = coordinator.end(fenced, commit=True, version=END_VERSION[V2])
    assert ErrorCode(response.error_code) is FENCED


@pytest.mark.parametrize("protocol", [V1, V2])
@pytest.mark.parametrize("state", STATES)
def test_another_producer_id_is_refused(state: str, protocol: int) -> None:
    coordinator, producer = in_state(state, protocol)
    other = Producer(producer.producer_id + 1, producer.producer_epoch)
    response = coordinator.end(other, commit=True, version=END_VERSION[protocol])
    is_waited_for = protocol == V2 and state.startswith("Prepare")
    assert ErrorCode(response.error_code) is (CONCURRENT if is_waited_for else MAPPING)


@pytest.mark.parametrize("version", range(6))
def test_an_id_that_is_unknown_or_empty_is_refused(version: int) -> None:
    coordinator = Coordinator()
    nobody = Producer(1, 0)
    unknown = coordinator.end(nobody, commit=True, version=version)
    empty = coordinator.end(nobody, commit=True, version=version, transactional_id="")
    assert ErrorCode(unknown.error_code) is MAPPING
    assert ErrorCode(empty.error_code) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(6))
def test_old_clients_are_fenced_with_the_code_they_know(version: int) -> None:
    coordinator, _ = in_state("Ongoing", V1)
    response = coordinator.end(Producer(FIRST_PRODUCER_ID, 0), commit=True, version=version)
    expected = FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert ErrorCode(response.error_code) is expected


def test_an_abort_of_what_has_not_begun_bumps_the_epoch_and_has_a_beginning() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.now_ms += 5
    assert coordinator.end(producer, commit=False).producer_epoch == 1
    assert coordinator.last.transaction_start_timestamp_ms == coordinator.now.wall_ms
    (prepared,) = coordinator.write_markers()
    assert (prepared.partitions, prepared.is_commit) == ({}, False)
    assert coordinator.state == "CompleteAbort"


def test_the_last_epoch_of_an_id_ends_with_a_new_id() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(producer)
    response = coordinator.end(producer, commit=True)
    assert (response.producer_id, response.producer_epoch) == (FIRST_PRODUCER_ID + 1, 0)
    assert (coordinator.last.producer_id, coordinator.last.producer_epoch) == (
        FIRST_PRODUCER_ID,
        32767,
    )
    assert coordinator.last.next_producer_id == FIRST_PRODUCER_ID + 1
    assert ErrorCode(coordinator.end(producer, commit=True).error_code) is CONCURRENT
    (prepared,) = coordinator.write_markers()
    # The markers belong to the old id.
    assert (prepared.producer_id, prepared.producer_epoch) == (FIRST_PRODUCER_ID, 32767)
    assert coordinator.last.previous_producer_id == FIRST_PRODUCER_ID
    assert coordinator.last.next_producer_id == -1
    after = Producer(FIRST_PRODUCER_ID + 1, 0)
    assert coordinator.add(after) == [NONE]


def test_a_new_id_that_is_not_there_yet_must_be_waited_for() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(producer)
    coordinator.has_producer_ids = False
    code = ErrorCode(coordinator.end(producer, commit=True).error_code)
    assert code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert coordinator.state == "Ongoing"
    coordinator.has_producer_ids = True
    assert ErrorCode(coordinator.end(producer, commit=True).error_code) is NONE


def test_a_client_of_version_1_keeps_the_last_epoch() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.run(producer, commit=True, protocol=V1)
    assert (coordinator.last.producer_id, coordinator.last.producer_epoch) == producer
    # Only taking over the id again rotates it.
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID + 1, 0)


def test_the_epoch_of_a_fence_is_given_to_nobody() -> None:
    """A client of version 2 that was fenced before the cluster had that version."""
    coordinator = Coordinator(1)
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(producer)
    coordinator.init()
    coordinator.write_markers()
    assert (coordinator.state, coordinator.last.producer_epoch) == ("CompleteAbort", 32767)
    assert ErrorCode(coordinator.end(producer, commit=False).error_code) is FENCED


def test_an_epoch_that_no_client_has_does_not_overflow() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(32767)
    coordinator.add(producer)
    response = coordinator.end(producer, commit=True)
    assert (response.producer_id, response.producer_epoch) == (FIRST_PRODUCER_ID + 1, 0)
    coordinator.write_markers()
    assert coordinator.state == "CompleteCommit"

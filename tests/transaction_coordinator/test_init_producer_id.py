"""InitProducerId: who gets which id and epoch, and who is fenced."""

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdResponse
from tests.transaction_coordinator.coordinator import (
    ADD_VERSION,
    END_VERSION,
    FIRST_PRODUCER_ID,
    ID,
    LAST_CLIENT_EPOCH,
    V1,
    Coordinator,
    Producer,
)

CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED


def code(response: InitProducerIdResponse) -> ErrorCode:
    error = ErrorCode(response.error_code)
    if error is not ErrorCode.NONE:
        assert (response.producer_id, response.producer_epoch) == (-1, -1)
    return error


def given(response: InitProducerIdResponse) -> Producer:
    assert code(response) is ErrorCode.NONE
    return Producer(response.producer_id, response.producer_epoch)


# -- requests that are wrong whatever the state ------------------------------------------------


@pytest.mark.parametrize("producer", [Producer(-1, 0), Producer(5, -1)])
def test_an_id_without_an_epoch_is_an_invalid_request(producer: Producer) -> None:
    assert code(Coordinator().init(producer)) is ErrorCode.INVALID_REQUEST


def test_an_empty_transactional_id_is_an_invalid_request() -> None:
    assert code(Coordinator().init(transactional_id="")) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "timeout_ms, expected",
    [
        (-1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (1, ErrorCode.NONE),
        (900_000, ErrorCode.NONE),
        (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_the_time_out_is_limited(timeout_ms: int, expected: ErrorCode) -> None:
    coordinator = Coordinator(transaction_max_timeout_ms="900000")
    assert code(coordinator.init(timeout_ms=timeout_ms)) is expected


def test_two_phase_commit_must_be_allowed() -> None:
    expected = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert code(Coordinator().init(enable_2pc=True)) is expected
    # It is judged before the other flags and the timeout.
    refused = Coordinator().init(enable_2pc=True, keep_prepared=True, timeout_ms=0)
    assert code(refused) is expected


def test_a_two_phase_commit_has_no_time_out() -> None:
    coordinator = Coordinator(allows_2pc=True)
    given(coordinator.init(enable_2pc=True, timeout_ms=0))
    assert coordinator.last.transaction_timeout_ms == 2**31 - 1


@pytest.mark.parametrize("enable_2pc", [True, False])
def test_a_prepared_transaction_cannot_be_kept_yet(enable_2pc: bool) -> None:
    coordinator = Coordinator(allows_2pc=True)
    response = coordinator.init(enable_2pc=enable_2pc, keep_prepared=True)
    assert code(response) is ErrorCode.UNSUPPORTED_VERSION


def test_without_a_producer_id_a_new_transactional_id_must_wait() -> None:
    coordinator = Coordinator()
    coordinator.has_producer_ids = False
    assert code(coordinator.init()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert coordinator.log == []


# -- at rest -----------------------------------------------------------------------------------


def test_a_producer_that_takes_over_gets_the_next_epoch_and_its_own_time_out() -> None:
    coordinator = Coordinator()
    coordinator.start()
    assert given(coordinator.init(timeout_ms=123)) == Producer(FIRST_PRODUCER_ID, 1)
    assert coordinator.last.transaction_timeout_ms == 123


@pytest.mark.parametrize("commit", [True, False])
def test_a_producer_takes_over_after_the_last_transaction_is_complete(commit: bool) -> None:
    coordinator = Coordinator()
    coordinator.run(coordinator.start(), commit=commit)
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID, 2)
    assert (coordinator.last.transaction_status, coordinator.last.transaction_partitions) == (
        0,
        None,
    )


def test_a_producer_continues_with_the_next_epoch() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    assert given(coordinator.init(producer)) == Producer(FIRST_PRODUCER_ID, 1)


def test_a_repeated_request_is_answered_again() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    first = given(coordinator.init(producer))
    assert given(coordinator.init(producer)) == first
    assert given(coordinator.init(producer)) == first
    # But not after somebody else has taken over.
    coordinator.start()
    assert code(coordinator.init(producer)) is FENCED
    assert code(coordinator.init(first)) is FENCED


def test_after_a_fail_over_a_repeated_request_is_fenced() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.init(producer)
    coordinator.reload()
    assert code(coordinator.init(producer)) is FENCED


@pytest.mark.parametrize("version", range(3, 7))
def test_a_fenced_producer_gets_the_code_that_its_client_knows(version: int) -> None:
    coordinator = Coordinator()
    zombie = coordinator.start()
    coordinator.start()
    expected = FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert code(coordinator.init(zombie, version=version)) is expected
    stranger = Producer(zombie.producer_id + 100, 1)
    assert code(coordinator.init(stranger, version=version)) is expected


def test_a_producer_that_was_forgotten_gets_a_new_id() -> None:
    coordinator = Coordinator()
    assert given(coordinator.init(Producer(5, 17))) == Producer(FIRST_PRODUCER_ID, 0)


# -- epochs are used up ------------------------------------------------------------------------


def test_the_last_epoch_is_followed_by_a_new_id() -> None:
    coordinator = Coordinator()
    coordinator.start_at(LAST_CLIENT_EPOCH - 1)
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID, LAST_CLIENT_EPOCH)
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID + 1, 0)
    assert coordinator.last.previous_producer_id == FIRST_PRODUCER_ID


def test_a_producer_that_continues_over_a_change_of_its_id_may_repeat_it() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    rotated = given(coordinator.init(producer))
    assert rotated == Producer(FIRST_PRODUCER_ID + 1, 0)
    assert given(coordinator.init(producer)) == rotated


def test_a_producer_with_the_previous_id_is_fenced_if_another_one_changed_it() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.start()
    assert code(coordinator.init(producer)) is FENCED
    # And with an epoch that was not the last one, it never had a reason to be given a new id.
    assert code(coordinator.init(Producer(FIRST_PRODUCER_ID, 4))) is FENCED


def test_an_older_epoch_is_fenced_and_a_repeated_one_answered_when_the_epochs_are_used_up() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH - 1)
    last = given(coordinator.init(producer))
    assert last == Producer(FIRST_PRODUCER_ID, LAST_CLIENT_EPOCH)
    assert given(coordinator.init(producer)) == last
    assert code(coordinator.init(Producer(FIRST_PRODUCER_ID, 5))) is FENCED


def test_without_a_producer_id_a_change_of_ids_must_wait() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.has_producer_ids = False
    assert code(coordinator.init()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    coordinator.add(producer)
    assert code(coordinator.init()) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert coordinator.state == "Ongoing"


# -- a transaction is open ---------------------------------------------------------------------


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_an_open_transaction_is_aborted_first(transaction_version: int) -> None:
    """With its producer fenced: this is also how an administrator terminates a transaction."""
    coordinator = Coordinator(transaction_version)
    zombie = coordinator.start()
    coordinator.add(zombie, version=ADD_VERSION[V1])
    assert code(coordinator.init()) is CONCURRENT
    assert coordinator.state == "PrepareAbort"
    assert coordinator.last.producer_epoch == 1
    assert code(coordinator.init()) is CONCURRENT
    (prepared,) = coordinator.write_markers()
    is_new = transaction_version == 2
    assert (prepared.producer_epoch, prepared.is_commit) == (1, False)
    assert prepared.transaction_version == (2 if is_new else 0)
    assert coordinator.start() == Producer(FIRST_PRODUCER_ID, 2)
    assert coordinator.add(zombie) == [FENCED]
    late = coordinator.end(zombie, commit=True, version=END_VERSION[V1])
    assert ErrorCode(late.error_code) is FENCED


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_that_is_being_ended_must_be_waited_for(commit: bool) -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.add(producer)
    coordinator.end(producer, commit=commit)
    records = len(coordinator.log)
    assert code(coordinator.init()) is CONCURRENT
    # Also for a producer that would be fenced.
    assert code(coordinator.init(Producer(5, 0))) is CONCURRENT
    assert len(coordinator.log) == records


def test_a_stranger_does_not_abort_an_open_transaction() -> None:
    coordinator = Coordinator()
    coordinator.add(coordinator.start())
    assert code(coordinator.init(Producer(5, 0))) is FENCED
    assert coordinator.state == "Ongoing"


@pytest.mark.parametrize("transaction_version, after", [(1, FENCED), (2, ErrorCode.NONE)])
def test_a_producer_that_continues_in_an_open_transaction_aborts_its_own(
    transaction_version: int, after: ErrorCode
) -> None:
    """Only version 2 recognizes it: the fence of version 1 does not remember who was fenced."""
    coordinator = Coordinator(transaction_version)
    producer = coordinator.start()
    coordinator.add(producer)
    assert code(coordinator.init(producer)) is CONCURRENT
    coordinator.write_markers()
    response = coordinator.init(producer)
    assert code(response) is after
    if after is ErrorCode.NONE:
        assert given(response) == Producer(FIRST_PRODUCER_ID, 1)


@pytest.mark.parametrize("transaction_version", [1, 2])
def test_fencing_the_last_epoch_leads_to_a_new_id(transaction_version: int) -> None:
    coordinator = Coordinator(transaction_version)
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.add(producer)
    assert code(coordinator.init()) is CONCURRENT
    assert coordinator.last.producer_epoch == 32767
    (prepared,) = coordinator.write_markers()
    assert (prepared.producer_id, prepared.producer_epoch) == (FIRST_PRODUCER_ID, 32767)
    taken = coordinator.start()
    assert taken.producer_id == FIRST_PRODUCER_ID + 1
    assert taken.producer_epoch == (1 if transaction_version == 2 else 0)
    assert coordinator.shard.describe(ID).producer_id == FIRST_PRODUCER_ID + 1

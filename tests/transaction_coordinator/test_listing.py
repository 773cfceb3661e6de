"""Transactions as administrators see them."""

from itertools import chain

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.describe_transactions import TopicData, TransactionState
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.transaction_coordinator.listing import filters_of
from tests.transaction_coordinator.coordinator import (
    FIRST_PRODUCER_ID,
    ID,
    TIMEOUT_MS,
    Coordinator,
)


@pytest.fixture
def coordinator() -> Coordinator:
    """Four ids: one at rest, one open for 5 s, one open for 1 s, and one prepared."""
    coordinator = Coordinator()
    coordinator.start("idle")
    coordinator.add(coordinator.start("old"), transactional_id="old")
    coordinator.now_ms += 4000
    coordinator.add(coordinator.start("new"), transactional_id="new")
    ending = coordinator.start("ending")
    coordinator.add(ending, transactional_id="ending")
    coordinator.end(ending, commit=True, transactional_id="ending")
    coordinator.now_ms += 1000
    return coordinator


def listed(coordinator: Coordinator, request: ListTransactionsRequest) -> list[str]:
    filters, unknown = filters_of(request)
    assert unknown == []
    found = chain(*coordinator.shard.list_transactions(filters, coordinator.now))
    return [state.transactional_id for state in found]


def test_without_filters_all_are_listed(coordinator: Coordinator) -> None:
    filters, _ = filters_of(ListTransactionsRequest())
    found = chain(*coordinator.shard.list_transactions(filters, coordinator.now))
    assert [(s.transactional_id, s.producer_id, s.transaction_state) for s in found] == [
        ("idle", FIRST_PRODUCER_ID, "Empty"),
        ("old", FIRST_PRODUCER_ID + 1, "Ongoing"),
        ("new", FIRST_PRODUCER_ID + 2, "Ongoing"),
        ("ending", FIRST_PRODUCER_ID + 3, "PrepareCommit"),
    ]


def test_many_are_listed_in_parts_as_they_were_at_the_first_one() -> None:
    coordinator = Coordinator()
    for number in range(500):
        coordinator.start(f"id-{number}")
    filters, _ = filters_of(ListTransactionsRequest())
    parts = coordinator.shard.list_transactions(filters, coordinator.now)
    sizes = [len(next(parts))]
    coordinator.add(coordinator.start("id-499"), transactional_id="id-499")
    coordinator.start("id-500")
    rest = list(parts)
    assert sizes + [len(part) for part in rest] == [200, 200, 100]
    last = rest[-1][-1]
    assert (last.transactional_id, last.transaction_state) == ("id-499", "Empty")


@pytest.mark.parametrize(
    "request_, expected",
    [
        (ListTransactionsRequest(state_filters=["Ongoing"]), ["old", "new"]),
        (ListTransactionsRequest(state_filters=["Empty", "PrepareCommit"]), ["idle", "ending"]),
        (ListTransactionsRequest(state_filters=["Dead"]), []),
        (ListTransactionsRequest(producer_id_filters=[FIRST_PRODUCER_ID + 2, 7]), ["new"]),
        # As in Kafka, an id that has not begun anything is older than everything.
        (ListTransactionsRequest(duration_filter=0), ["idle", "old", "new", "ending"]),
        (ListTransactionsRequest(duration_filter=1000), ["idle", "old"]),
        (ListTransactionsRequest(duration_filter=5000), ["idle"]),
        (ListTransactionsRequest(transactional_id_pattern="n.*|o..|i"), ["old", "new"]),
        (ListTransactionsRequest(transactional_id_pattern=""), ["idle", "old", "new", "ending"]),
        (
            ListTransactionsRequest(["Ongoing"], [FIRST_PRODUCER_ID + 1], 1000, "[no].*"),
            ["old"],
        ),
        (ListTransactionsRequest(["Ongoing"], [FIRST_PRODUCER_ID + 2], 1000, "[no].*"), []),
    ],
)
def test_every_filter_must_be_fulfilled(
    coordinator: Coordinator, request_: ListTransactionsRequest, expected: list[str]
) -> None:
    assert listed(coordinator, request_) == expected


def test_names_that_are_no_state_are_returned_and_match_nothing(coordinator: Coordinator) -> None:
    filters, unknown = filters_of(ListTransactionsRequest(state_filters=["ongoing", "Lost"]))
    assert unknown == ["ongoing", "Lost"]
    assert list(chain(*coordinator.shard.list_transactions(filters, coordinator.now))) == []


def test_an_invalid_pattern_is_refused() -> None:
    with pytest.raises(ApiError, match="Transaction ID pattern `\\(` is not a valid") as caught:
        filters_of(ListTransactionsRequest(transactional_id_pattern="("))
    assert caught.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_transaction_is_described_with_its_partitions() -> None:
    coordinator = Coordinator()
    producer = coordinator.start()
    coordinator.add(producer, 3, 1)
    assert coordinator.shard.describe(ID) == TransactionState(
        0,
        ID,
        "Ongoing",
        TIMEOUT_MS,
        coordinator.now.wall_ms,
        FIRST_PRODUCER_ID,
        0,
        [TopicData("orders", [3, 1])],
    )


def test_an_id_that_is_unknown_or_empty_is_not_described() -> None:
    shard = Coordinator().shard
    assert ErrorCode(shard.describe("no").error_code) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert ErrorCode(shard.describe("").error_code) is ErrorCode.INVALID_REQUEST

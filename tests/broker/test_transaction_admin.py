"""What administrators see of transactions: lists with filters, and descriptions."""

from collections.abc import Iterator
from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from tests.broker.producing import create_topic
from tests.broker.transacting import QUICK, Producer, find_coordinator
from tests.running import RunningBroker, WireClient


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """The ids ``open`` and ``open-too`` have a transaction, ``ended`` had one, ``empty`` not."""
    with RunningBroker(tmp_path_factory.mktemp("data"), QUICK) as running:
        with running.connect() as client:
            create_topic(client, "t", partitions=3)
            find_coordinator(client, "tx")
            for name in ("open", "open-too", "ended", "empty"):
                producer = Producer(client, name)
                producer.init(timeout_ms=50_000)
                if name != "empty":
                    producer.add(("t", 0), ("t", 2))
                if name == "ended":
                    producer.end()
        yield running


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[WireClient]:
    with broker.connect() as connection:
        yield connection


def listed(client: WireClient, **filters: Any) -> dict[str, str]:
    """The states of what is listed, by id."""
    response = client.send(ListTransactionsRequest(**filters), 2)
    assert response.error_code == 0
    return {each.transactional_id: each.transaction_state for each in response.transaction_states}


def test_all_transactions_are_listed_without_a_filter(client: WireClient) -> None:
    expected = {
        "empty": "Empty",
        "ended": "CompleteCommit",
        "open": "Ongoing",
        "open-too": "Ongoing",
    }
    assert dict(sorted(listed(client).items())) == expected
    for version in (0, 1):
        response = client.send(ListTransactionsRequest(), version)
        assert len(response.transaction_states) == len(expected)


def test_transactions_are_listed_by_state(client: WireClient) -> None:
    assert set(listed(client, state_filters=["Ongoing"])) == {"open", "open-too"}
    assert set(listed(client, state_filters=["Empty", "CompleteCommit"])) == {"empty", "ended"}


def test_names_of_no_state_are_reported_and_admit_nothing(client: WireClient) -> None:
    request = ListTransactionsRequest(state_filters=["Ongoing", "Lost", "Lost"])
    response = client.send(request, 2)
    assert response.unknown_state_filters == ["Lost"]
    assert len(response.transaction_states) == 2
    assert listed(client, state_filters=["Lost"]) == {}


def test_transactions_are_listed_by_producer_id(client: WireClient) -> None:
    response = client.send(ListTransactionsRequest(), 2)
    ids = {each.transactional_id: each.producer_id for each in response.transaction_states}
    wanted = [ids["open"], 999_999]
    assert set(listed(client, producer_id_filters=wanted)) == {"open"}


def test_transactions_are_listed_by_duration(client: WireClient) -> None:
    assert "open" in listed(client, duration_filter=-1)
    assert "open" not in listed(client, duration_filter=3_600_000)


def test_transactions_are_listed_by_a_pattern_for_the_whole_id(client: WireClient) -> None:
    assert set(listed(client, transactional_id_pattern="open.*")) == {"open", "open-too"}
    assert set(listed(client, transactional_id_pattern="open")) == {"open"}
    assert len(listed(client, transactional_id_pattern="")) == 4


def test_patterns_are_those_of_re2(client: WireClient) -> None:
    odd = client.send(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert odd.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    # Python's re module fails on these; RE2 does not.
    for harmless in ("(" * 5000 + ")" * 5000, "a{999999999999999999999}"):
        assert listed(client, transactional_id_pattern=harmless) == {}


def test_a_transaction_is_described_with_its_partitions(client: WireClient) -> None:
    request = DescribeTransactionsRequest(transactional_ids=["open"])
    (found,) = client.send(request, 0).transaction_states
    assert (found.error_code, found.transaction_state) == (0, "Ongoing")
    assert (found.transaction_timeout_ms, found.producer_epoch) == (50_000, 0)
    assert found.transaction_start_time_ms > 0
    assert [(each.topic, each.partitions) for each in found.topics] == [("t", [0, 2])]


def test_each_id_has_its_own_answer_also_if_it_is_named_twice(client: WireClient) -> None:
    request = DescribeTransactionsRequest(transactional_ids=["ended", "unknown", "", "ended"])
    states = client.send(request, 0).transaction_states
    assert [each.error_code for each in states] == [
        0,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.INVALID_REQUEST,
        0,
    ]
    assert [each.transaction_state for each in states] == [
        "CompleteCommit",
        "",
        "",
        "CompleteCommit",
    ]

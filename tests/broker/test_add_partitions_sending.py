"""Questions to coordinators on other brokers, one request at a time."""

import asyncio

import pytest

from moldau.broker.add_partitions_sending import AddPartitionsSender, Refused
from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outgoing import Disconnected
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

COORDINATOR = 2
FIRST = TopicPartition("t", 0)


class ScriptedPeer:
    """Another broker, which answers when the test says so."""

    def __init__(self) -> None:
        self.requests: list[tuple[AddPartitionsToTxnRequest, asyncio.Future[Message]]] = []

    async def send(self, node_id: int, request: Message, version: int) -> Message:
        assert node_id == COORDINATOR
        assert isinstance(request, AddPartitionsToTxnRequest)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.requests.append((request, answer))
        return await answer

    def asked(self, number: int) -> list[str]:
        return [each.transactional_id for each in self.requests[number][0].transactions]

    def answer(self, number: int, codes: dict[str, int], error_code: int = 0) -> None:
        results = [
            AddPartitionsToTxnResult(
                transactional_id,
                [AddPartitionsToTxnTopicResult("t", [AddPartitionsToTxnPartitionResult(0, code)])],
            )
            for transactional_id, code in codes.items()
        ]
        response = AddPartitionsToTxnResponse(0, error_code, results)
        self.requests[number][1].set_result(response)


def question(transactional_id: str) -> AddPartitionsToTxnTransaction:
    topics = [AddPartitionsToTxnTopic("t", [0])]
    return AddPartitionsToTxnTransaction(transactional_id, 7, 0, verify_only=True, topics=topics)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_is_asked_meanwhile_goes_into_the_next_request() -> None:
    async def scenario() -> None:
        peer = ScriptedPeer()
        sender = AddPartitionsSender(peer)
        first = sender.ask(COORDINATOR, question("a"))
        await turns()
        second = sender.ask(COORDINATOR, question("b"))
        third = sender.ask(COORDINATOR, question("c"))
        await turns()
        assert len(peer.requests) == 1
        peer.answer(0, {"a": 0})
        assert await first == {}
        await turns()
        assert peer.asked(1) == ["b", "c"]
        peer.answer(1, {"b": 0, "c": ErrorCode.PRODUCER_FENCED})
        assert await second == {}
        assert await third == {FIRST: ErrorCode.PRODUCER_FENCED}

    asyncio.run(scenario())


def test_two_questions_about_one_transaction_are_in_two_requests() -> None:
    async def scenario() -> None:
        peer = ScriptedPeer()
        sender = AddPartitionsSender(peer)
        asked = [sender.ask(COORDINATOR, question("a")) for _ in range(2)]
        await turns()
        assert peer.asked(0) == ["a"]
        peer.answer(0, {"a": 0})
        await turns()
        peer.answer(1, {"a": ErrorCode.INVALID_TXN_STATE})
        assert [await each for each in asked] == [{}, {FIRST: ErrorCode.INVALID_TXN_STATE}]

    asyncio.run(scenario())


def answered(error_code: int, codes: dict[str, int]) -> Refused:
    async def scenario() -> Refused:
        peer = ScriptedPeer()
        asked = AddPartitionsSender(peer).ask(COORDINATOR, question("a"))
        await turns()
        peer.answer(0, codes, error_code)
        return await asked

    return asyncio.run(scenario())


def test_a_refused_request_refuses_all_partitions() -> None:
    code = ErrorCode.NOT_COORDINATOR
    assert answered(code, {}) == {FIRST: code}


def test_clients_do_not_hear_that_this_broker_was_not_authorized() -> None:
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answered(code, {}) == {FIRST: ErrorCode.INVALID_TXN_STATE}


def test_an_answer_that_leaves_a_transaction_out_verifies_nothing() -> None:
    assert answered(0, {"other": 0}) == {FIRST: ErrorCode.NETWORK_EXCEPTION}


def test_a_lost_connection_ends_all_questions_of_the_request_and_no_other() -> None:
    async def scenario() -> None:
        peer = ScriptedPeer()
        sender = AddPartitionsSender(peer)
        lost = sender.ask(COORDINATOR, question("a"))
        await turns()
        later = sender.ask(COORDINATOR, question("b"))
        peer.requests[0][1].set_exception(Disconnected("gone"))
        assert await lost == {FIRST: ErrorCode.NETWORK_EXCEPTION}
        await turns()
        peer.answer(1, {"b": 0})
        assert await later == {}

    asyncio.run(scenario())


def test_an_answer_that_makes_no_sense_keeps_nobody_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(0, {"a": 9999}) == {FIRST: ErrorCode.NETWORK_EXCEPTION}
    assert "broker 2 gave no proper answer about transactions" in caplog.text


def test_who_has_gone_away_does_not_harm_the_others() -> None:
    async def scenario() -> None:
        peer = ScriptedPeer()
        sender = AddPartitionsSender(peer)
        gone, stays = sender.ask(COORDINATOR, question("a")), sender.ask(COORDINATOR, question("b"))
        await turns()
        gone.cancel()
        peer.answer(0, {"a": 0, "b": 0})
        assert await stays == {}

    asyncio.run(scenario())

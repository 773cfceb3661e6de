"""Asks coordinators on other brokers whether partitions belong to transactions (KIP-890).

There is one AddPartitionsToTxn request to a broker at a time. What is asked meanwhile goes into the
next one, so that a busy coordinator gets few large requests instead of many small ones.

Apache Kafka asks about one transaction at most once at a time, and lets the client retry otherwise.
Here the second question waits for the answer to the first.
"""

import asyncio
import logging
from typing import Any, Final, Protocol

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outgoing import Disconnected
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)

# The newest version: from 4 on the request is for brokers and has several transactions.
VERSION: Final = 5

logger = logging.getLogger(__name__)

# The partitions that were refused, and why. Those not in it are part of the transaction.
Refused = dict[TopicPartition, ErrorCode]


class Channels(Protocol):
    """The way to the other brokers."""

    async def send(self, node_id: int, request: Message, version: int) -> Message:
        """Raises Disconnected."""
        ...


class _Question:
    """A transaction, and the future of the answer."""

    __slots__ = ("answer", "transaction")

    def __init__(self, transaction: AddPartitionsToTxnTransaction) -> None:
        self.transaction = transaction
        self.answer: asyncio.Future[Refused] = asyncio.get_running_loop().create_future()

    def refuse(self, code: ErrorCode) -> None:
        self.settle(refused_all(self.transaction, code))

    def settle(self, refused: Refused) -> None:
        # The future of a client that has disconnected is cancelled.
        if not self.answer.done():
            self.answer.set_result(refused)


class AddPartitionsSender:
    """Sends questions to other brokers. To be used on one event loop."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._waiting: dict[int, list[_Question]] = {}
        # The task that asks each broker, while there is something to ask.
        self._asking: dict[int, asyncio.Task[None]] = {}

    def ask(
        self, node_id: int, transaction: AddPartitionsToTxnTransaction
    ) -> "asyncio.Future[Refused]":
        question = _Question(transaction)
        self._waiting.setdefault(node_id, []).append(question)
        if node_id not in self._asking:
            asking = asyncio.get_running_loop().create_task(self._ask_all(node_id))
            self._asking[node_id] = asking
        return question.answer

    async def _ask_all(self, node_id: int) -> None:
        try:
            while waiting := self._waiting.pop(node_id, None):
                questions: dict[str, _Question] = {}
                later: list[_Question] = []
                for question in waiting:
                    transactional_id = question.transaction.transactional_id
                    if questions.setdefault(transactional_id, question) is not question:
                        later.append(question)
                if later:
                    self._waiting[node_id] = later
                try:
                    await self._send(node_id, questions)
                except Exception:
                    logger.exception("broker %d gave no proper answer about transactions", node_id)
                # Who has no answer is as far as before.
                for question in questions.values():
                    question.refuse(ErrorCode.NETWORK_EXCEPTION)
        finally:
            del self._asking[node_id]

    async def _send(self, node_id: int, questions: dict[str, _Question]) -> None:
        request = AddPartitionsToTxnRequest(
            transactions=[question.transaction for question in questions.values()]
        )
        try:
            response: Any = await self._channels.send(node_id, request, VERSION)
        except Disconnected:
            return
        code = ErrorCode(response.error_code)
        if code is ErrorCode.NONE:
            for result in response.results_by_transaction:
                asked = questions.get(result.transactional_id)
                if asked is not None:
                    asked.settle(refused_in(result))
            return
        if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            # It concerns this broker, not the client, who only learns that it was not verified.
            code = ErrorCode.INVALID_TXN_STATE
        for question in questions.values():
            question.refuse(code)


def refused_in(result: AddPartitionsToTxnResult) -> Refused:
    return {
        TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
        for topic in result.topic_results
        for each in topic.results_by_partition
        if each.partition_error_code
    }


def refused_all(transaction: AddPartitionsToTxnTransaction, code: ErrorCode) -> Refused:
    return {
        TopicPartition(topic.name, index): code
        for topic in transaction.topics
        for index in topic.partitions
    }

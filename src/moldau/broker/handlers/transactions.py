"""The requests of transactional producers: partitions and offsets of a transaction, and its end.

The shard of the transaction coordinator decides. This module looks it up, and converts the errors
of the lookup to the response of the API.
"""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.transaction_runtime import TransactionRuntime
from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.network.turns import Steps, dropping
from moldau.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.transaction_coordinator.context import (
    LAST_CLIENT_ADD_PARTITIONS,
    TransactionContext,
    add_offsets_context,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# Partitions of a request are checked and answered in several turns if there are more.
MANY_PARTITIONS: Final = 1_000
PARTITIONS_PER_STEP: Final = 100

_Result = AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]


class Transactions:
    """Passes the requests of producers to the coordinators of their transactions."""

    def __init__(self, transactions: TransactionRuntime, groups: GroupRuntime) -> None:
        self._transactions = transactions
        self._groups = groups

    def add_partitions(
        self, request: AddPartitionsToTxnRequest, context: "RequestContext"
    ) -> AddPartitionsToTxnResponse | Awaitable[AddPartitionsToTxnResponse]:
        """Versions up to 3 come from clients, for one transaction; later ones from brokers."""
        if context.api_version > LAST_CLIENT_ADD_PARTITIONS:
            return self._add_for_broker(request, context)
        transaction = AddPartitionsToTxnTransaction(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            verify_only=False,
            topics=request.v3_and_below_topics,
        )
        if _count(transaction) > MANY_PARTITIONS:
            return self._add_many(transaction, context)
        result = self._transactions.add_partitions(transaction, context.api_version)
        if isinstance(result, AddPartitionsToTxnResult):
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)
        return _answered(result)

    async def _add_many(
        self, transaction: AddPartitionsToTxnTransaction, context: "RequestContext"
    ) -> AddPartitionsToTxnResponse:
        context.is_large = True
        named = await context.dispatcher.turns.complete(_without_duplicates(transaction))
        steps = self._transactions.refusal(transaction, context.api_version)
        refused = await context.dispatcher.turns.complete(steps)
        if refused is not None:
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=refused.topic_results)
        # What exists is no more than the partitions of the cluster.
        version = TransactionContext(context.api_version, has_one_result=True)
        wanted = AddPartitionsToTxnTransaction(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
            topics=named,
        )
        result = self._transactions.add_existing(wanted, version)
        if not isinstance(result, AddPartitionsToTxnResult):
            result = await result
        results = _results(transaction, _first_code(result))
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=await context.dispatcher.turns.complete(results)
        )

    def _add_for_broker(
        self, request: AddPartitionsToTxnRequest, context: "RequestContext"
    ) -> AddPartitionsToTxnResponse | Awaitable[AddPartitionsToTxnResponse]:
        if len(request.transactions) == 1 and _count(request.transactions[0]) <= MANY_PARTITIONS:
            result = self._transactions.add_partitions(request.transactions[0], context.api_version)
            if isinstance(result, AddPartitionsToTxnResult):
                return AddPartitionsToTxnResponse(results_by_transaction=[result])
            return _all_answered([result])
        return self._add_in_turns(request, context)

    async def _add_in_turns(
        self, request: AddPartitionsToTxnRequest, context: "RequestContext"
    ) -> AddPartitionsToTxnResponse:
        steps = self._add_each(request, context.api_version)
        results = await context.dispatcher.turns.complete(steps)
        return await _all_answered(results)

    def _add_each(
        self, request: AddPartitionsToTxnRequest, api_version: int
    ) -> Steps[list[_Result]]:
        """One transaction per step."""
        results: list[_Result] = []
        for transaction in request.transactions:
            results.append(self._transactions.add_partitions(transaction, api_version))
            yield
        return results

    def add_offsets(
        self, request: AddOffsetsToTxnRequest, context: "RequestContext"
    ) -> AddOffsetsToTxnResponse | Awaitable[AddOffsetsToTxnResponse]:
        """Add the partition in which the group coordinator will store the offsets."""
        index = self._groups.partition_for(request.group_id)
        transaction = AddPartitionsToTxnTransaction(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            topics=[AddPartitionsToTxnTopic(OFFSETS_TOPIC, [index])],
        )
        version = add_offsets_context(context.api_version)
        result = self._transactions.add_existing(transaction, version)
        if isinstance(result, AddPartitionsToTxnResult):
            return AddOffsetsToTxnResponse(error_code=_first_code(result))
        return _offsets_added(result)

    def end(
        self, request: EndTxnRequest, context: "RequestContext"
    ) -> EndTxnResponse | Awaitable[EndTxnResponse]:
        check_transactional_id(request.transactional_id)
        hosted = self._transactions.shard_of(request.transactional_id)
        version = TransactionContext(context.api_version)
        result: EndTxnResponse | asyncio.Future[EndTxnResponse]
        result = hosted.run(hosted.shard.handle_end_txn, request, version)
        attempt = self._transactions.first_attempt(request.transactional_id)
        return result if attempt is None else _ended(result, attempt)


async def _ended(
    result: "EndTxnResponse | asyncio.Future[EndTxnResponse]", attempt: "asyncio.Future[None]"
) -> EndTxnResponse:
    # Others may wait for it too: a client that disconnects must not cancel it.
    await asyncio.shield(attempt)
    return result if isinstance(result, EndTxnResponse) else await result


def check_transactional_id(transactional_id: str) -> None:
    if not transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "a transactional id must not be empty")


def _count(transaction: AddPartitionsToTxnTransaction) -> int:
    topics = transaction.topics
    if len(topics) > MANY_PARTITIONS:
        return len(topics)
    return sum([len(topic.partitions) for topic in topics])


def _without_duplicates(
    transaction: AddPartitionsToTxnTransaction,
) -> Steps[list[AddPartitionsToTxnTopic]]:
    """Name every partition once, in steps; returns the topics that have partitions."""
    named: dict[str, dict[int, None]] = {}
    for topic in transaction.topics:
        indexes = named.setdefault(topic.name, {})
        for begin in range(0, len(topic.partitions), PARTITIONS_PER_STEP):
            indexes.update(dict.fromkeys(topic.partitions[begin : begin + PARTITIONS_PER_STEP]))
            yield
        yield
    yield from dropping(transaction.topics)
    topics: list[AddPartitionsToTxnTopic] = []
    with_partitions: list[AddPartitionsToTxnTopic] = []
    for name, indexes in named.items():
        topics.append(AddPartitionsToTxnTopic(name, list(indexes)))
        if indexes:
            with_partitions.append(topics[-1])
        yield
    transaction.topics = topics
    yield from dropping(named)
    return with_partitions


def _results(
    transaction: AddPartitionsToTxnTransaction, code: int
) -> Steps[list[AddPartitionsToTxnTopicResult]]:
    """The same result for every partition, in steps."""
    results: list[AddPartitionsToTxnTopicResult] = []
    for topic in transaction.topics:
        result = AddPartitionsToTxnTopicResult(topic.name)
        results.append(result)
        for begin in range(0, len(topic.partitions), PARTITIONS_PER_STEP):
            indexes = topic.partitions[begin : begin + PARTITIONS_PER_STEP]
            result.results_by_partition += [
                AddPartitionsToTxnPartitionResult(index, code) for index in indexes
            ]
            yield
        yield
    return results


def _first_code(result: AddPartitionsToTxnResult) -> int:
    return result.topic_results[0].results_by_partition[0].partition_error_code


async def _answered(result: Awaitable[AddPartitionsToTxnResult]) -> AddPartitionsToTxnResponse:
    found = await result
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=found.topic_results)


async def _all_answered(results: list[_Result]) -> AddPartitionsToTxnResponse:
    found = [each if isinstance(each, AddPartitionsToTxnResult) else await each for each in results]
    return AddPartitionsToTxnResponse(results_by_transaction=found)


async def _offsets_added(result: Awaitable[AddPartitionsToTxnResult]) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=_first_code(await result))

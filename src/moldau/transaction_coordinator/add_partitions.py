"""AddPartitionsToTxn: partitions become part of a transaction, or it is verified that they are.

Clients of version 1 add partitions before they write; the broker that gets the first batch verifies
with the coordinator that they did (KIP-890, part 1). For clients of version 2 that broker adds
them.
"""

from collections.abc import Sequence

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from moldau.transaction_coordinator.end_txn import check_complete
from moldau.transaction_coordinator.status import TransactionStatus
from moldau.transaction_coordinator.transaction import Transaction
from moldau.transaction_coordinator.transitions import Transition, to_ongoing


def check_producer(
    transaction: Transaction | None, request: AddPartitionsToTxnTransaction
) -> Transaction:
    """The transaction, if the request comes from its producer and it is not being ended.

    To add, a producer may have got its next id, which it takes with completion: it must wait. What
    is verified was sent before; a fenced producer must not be told to try again.

    Raises:
        ApiError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
    """
    name = repr(request.transactional_id)
    if transaction is None:
        message = f"there is no transactional id {name}; it begins with InitProducerId"
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)
    if not request.verify_only:
        check_complete(transaction)
    if transaction.producer_id != request.producer_id:
        message = f"{name} has producer id {transaction.producer_id}, not {request.producer_id}"
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)
    if transaction.producer_epoch != request.producer_epoch:
        held = transaction.producer_epoch
        message = f"{name} has producer epoch {held}, not {request.producer_epoch}"
        raise ApiError(ErrorCode.PRODUCER_FENCED, message)
    check_complete(transaction)
    return transaction


def add(
    transaction: Transaction,
    topics: Sequence[AddPartitionsToTxnTopic],
    client_transaction_version: int,
    wall_ms: int,
) -> Transition | None:
    """The transaction with these partitions, or None if it has them all.

    As in Kafka, a transaction also begins with a request that names no partitions.
    """
    if transaction.status is TransactionStatus.ONGOING and _has_all(transaction, topics):
        return None
    added = [(topic.name, topic.partitions) for topic in topics if topic.partitions]
    return to_ongoing(transaction, added, client_transaction_version, wall_ms)


def verify(
    transaction: Transaction, request: AddPartitionsToTxnTransaction
) -> AddPartitionsToTxnResult:
    """Whether the transaction has each of the partitions. If not, the client must abort it."""
    result = result_of(request, ErrorCode.NONE)
    for topic in result.topic_results:
        held = transaction.partitions.get(topic.name, {})
        for partition in topic.results_by_partition:
            if partition.partition_index not in held:
                partition.partition_error_code = int(ErrorCode.TRANSACTION_ABORTABLE)
    return result


def one_result(code: ErrorCode) -> AddPartitionsToTxnResult:
    """The result of every partition, whichever they are."""
    every = AddPartitionsToTxnPartitionResult(partition_error_code=int(code))
    return AddPartitionsToTxnResult(topic_results=[AddPartitionsToTxnTopicResult("", [every])])


def result_of(request: AddPartitionsToTxnTransaction, code: ErrorCode) -> AddPartitionsToTxnResult:
    """The same result for every partition."""
    return AddPartitionsToTxnResult(
        request.transactional_id,
        [
            AddPartitionsToTxnTopicResult(
                topic.name,
                [AddPartitionsToTxnPartitionResult(index, int(code)) for index in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _has_all(transaction: Transaction, topics: Sequence[AddPartitionsToTxnTopic]) -> bool:
    for topic in topics:
        held = transaction.partitions.get(topic.name, {})
        for index in topic.partitions:
            if index not in held:
                return False
    return True

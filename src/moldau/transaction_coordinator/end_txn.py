"""How transactions end: EndTxn by clients of both protocols, and aborts by the coordinator.

Version 1 (KIP-98): the epoch stays. A repeated request is recognized by the state alone, so that
one that was delayed can end the next transaction of the same producer.

Version 2 (KIP-890): the epoch is bumped when a transaction ends. A repeated request has the epoch
before, a request with the current one is about the next transaction:

    ==============  ================================  ================================
    state           abort: repeated, current          commit: repeated, current
    ==============  ================================  ================================
    Empty           PRODUCER_FENCED, aborts           PRODUCER_FENCED, INVALID_TXN_STATE
    CompleteAbort   answered again, aborts            INVALID_TXN_STATE, INVALID_TXN_STATE
    CompleteCommit  INVALID_TXN_STATE, aborts         answered again, INVALID_TXN_STATE
    ==============  ================================  ================================

"Aborts" is for a transaction that the coordinator may never have heard of: the epoch is bumped, so
that none of its records can arrive later.
"""

from collections.abc import Callable
from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.transaction_coordinator.status import PREPARED, TransactionStatus
from moldau.transaction_coordinator.transaction import (
    MAX_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)
from moldau.transaction_coordinator.transitions import (
    Transition,
    bumps_epoch,
    to_fenced_abort,
    to_prepared,
)

TakeProducerId = Callable[[], int | None]

_LAST_CLIENT_EPOCH: Final = MAX_PRODUCER_EPOCH - 1
_COMPLETE: Final = (TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT)


def end(
    transaction: Transaction,
    request: EndTxnRequest,
    client_transaction_version: int,
    take_producer_id: TakeProducerId,
    wall_ms: int,
) -> Transition | None:
    """The decision on a client's request, or None if it is a repeated one and has been decided.

    Raises:
        ApiError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
            INVALID_TXN_STATE, COORDINATOR_LOAD_IN_PROGRESS.
    """
    if not bumps_epoch(client_transaction_version):
        return _end_version_1(transaction, request, wall_ms)
    # Before the producer is compared: it may have got its next id, which it takes with completion.
    check_complete(transaction)
    is_repeated = _check_version_2(transaction, request)
    if transaction.status is not TransactionStatus.ONGOING:
        if is_repeated:
            _check_outcome(transaction, request.committed)
            return None
        if request.committed:
            raise _invalid_state(transaction, request.committed)
    return to_prepared(
        transaction,
        is_commit=request.committed,
        client_transaction_version=client_transaction_version,
        next_producer_id=next_producer_id(transaction, take_producer_id),
        wall_ms=wall_ms,
    )


def abort(
    transaction: Transaction,
    transaction_version: int,
    take_producer_id: TakeProducerId,
    wall_ms: int,
) -> Transition:
    """Fence the producer and abort its transaction, with the protocol of the cluster.

    The epoch is bumped once: by the fence in version 1, by the abort itself in version 2.

    Raises:
        ApiError: COORDINATOR_LOAD_IN_PROGRESS if there is no producer id at the moment.
    """
    if not bumps_epoch(transaction_version):
        return to_fenced_abort(transaction, wall_ms)
    return to_prepared(
        transaction,
        is_commit=False,
        client_transaction_version=transaction_version,
        next_producer_id=next_producer_id(transaction, take_producer_id),
        wall_ms=wall_ms,
    )


def check_complete(transaction: Transaction) -> None:
    """Raises ApiError CONCURRENT_TRANSACTIONS while markers are being written, whoever asks."""
    if transaction.status in PREPARED:
        message = f"the transaction of {transaction.transactional_id!r} is being ended; try again"
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, message)


def next_producer_id(transaction: Transaction, take_producer_id: TakeProducerId) -> int:
    """The id that the producer gets with the end of this transaction, if its epochs are used up."""
    if not transaction.is_epoch_exhausted:
        return NO_PRODUCER_ID
    return taken_producer_id(take_producer_id)


def taken_producer_id(take_producer_id: TakeProducerId) -> int:
    producer_id = take_producer_id()
    if producer_id is None:
        message = "this broker has no producer id at the moment and waits for more; try again"
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, message)
    return producer_id


def _end_version_1(
    transaction: Transaction, request: EndTxnRequest, wall_ms: int
) -> Transition | None:
    if transaction.producer_id != request.producer_id:
        raise _wrong_producer_id(transaction, request)
    if transaction.producer_epoch != request.producer_epoch:
        raise _fenced(transaction, request)
    if transaction.status is TransactionStatus.ONGOING:
        return to_prepared(
            transaction,
            is_commit=request.committed,
            client_transaction_version=0,
            next_producer_id=NO_PRODUCER_ID,
            wall_ms=wall_ms,
        )
    check_complete(transaction)
    _check_outcome(transaction, request.committed)
    return None


def _check_version_2(transaction: Transaction, request: EndTxnRequest) -> bool:
    """Whether the request is a repeated one. Raises ApiError if it is not this producer's."""
    epoch = request.producer_epoch
    # It ended a transaction with the last epoch of an id: the answer was a new id, with epoch 0.
    is_before_rotation = (
        transaction.previous_producer_id == request.producer_id
        and epoch == _LAST_CLIENT_EPOCH
        and transaction.producer_epoch == 0
    )
    if transaction.producer_id != request.producer_id and not is_before_rotation:
        raise _wrong_producer_id(transaction, request)
    is_current = epoch == transaction.producer_epoch
    # The last epoch is that of a fence, and given to nobody. And if the epoch was bumped by another
    # instance, whose transactions of version 1 keep it, an answer would give this one the same
    # epoch. (Apache Kafka does.)
    is_before_bump = epoch + 1 == transaction.producer_epoch <= _LAST_CLIENT_EPOCH and bumps_epoch(
        transaction.client_transaction_version
    )
    is_repeated = is_before_bump or is_before_rotation
    if not is_current and not (is_repeated and transaction.status in _COMPLETE):
        raise _fenced(transaction, request)
    return is_repeated


def _check_outcome(transaction: Transaction, is_commit: bool) -> None:
    """Raises ApiError unless the last transaction ended so."""
    expected = TransactionStatus.COMPLETE_COMMIT if is_commit else TransactionStatus.COMPLETE_ABORT
    if transaction.status is not expected:
        raise _invalid_state(transaction, is_commit)


def _invalid_state(transaction: Transaction, is_commit: bool) -> ApiError:
    verb = "commit" if is_commit else "abort"
    message = f"cannot {verb} {transaction.transactional_id!r}: it is {transaction.status.name}"
    return ApiError(ErrorCode.INVALID_TXN_STATE, message)


def _wrong_producer_id(transaction: Transaction, request: EndTxnRequest) -> ApiError:
    message = (
        f"{request.transactional_id!r} has producer id {transaction.producer_id}, "
        f"not {request.producer_id}"
    )
    return ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)


def _fenced(transaction: Transaction, request: EndTxnRequest) -> ApiError:
    message = (
        f"{request.transactional_id!r} has producer epoch {transaction.producer_epoch}, "
        f"not {request.producer_epoch}"
    )
    return ApiError(ErrorCode.PRODUCER_FENCED, message)

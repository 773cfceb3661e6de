"""InitProducerId: a producer takes over a transactional id, and all before it are fenced.

A producer that starts gives no producer id. One that continues after an error gives its id and
epoch (KIP-360): it gets the next epoch if nobody has taken over, and the same answer again if it
repeats the request because it has missed the answer.

An open transaction is aborted first. The epoch of that abort is not given to anyone: the client is
told to try again, and gets the next one.

Where Apache Kafka 4.3 answers UNKNOWN_SERVER_ERROR, to a producer that gives an older epoch while
the epochs are used up, a repeated request is answered again and any other one with PRODUCER_FENCED.
"""

from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.transaction_coordinator.end_txn import (
    TakeProducerId,
    abort,
    check_complete,
    taken_producer_id,
)
from moldau.transaction_coordinator.status import TransactionStatus
from moldau.transaction_coordinator.transaction import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TWO_PHASE_COMMIT_TIMEOUT_MS,
    Transaction,
    is_epoch_exhausted,
    new_transaction,
)
from moldau.transaction_coordinator.transitions import Transition, to_empty


def check_request(request: InitProducerIdRequest, config: BrokerConfig) -> None:
    """Refuse what is wrong whatever the state of the id.

    Of two-phase commit (KIP-939), Apache Kafka 4.3 has the transaction without timeout, if the
    broker allows it, but cannot keep a prepared transaction yet.
    """
    has_id = request.producer_id != NO_PRODUCER_ID
    has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
    if has_id is not has_epoch:
        message = (
            f"producer id {request.producer_id} with epoch {request.producer_epoch}: "
            "give both, or -1 for both"
        )
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    if not request.transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if request.enable_2pc and not config.transaction_two_phase_commit_enable:
        message = "two-phase commit is off: set transaction.two.phase.commit.enable=true"
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, message)
    if request.keep_prepared_txn:
        message = "a prepared transaction cannot be kept: set KeepPreparedTxn=false"
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    highest = config.transaction_max_timeout_ms
    if not request.enable_2pc and not 0 < request.transaction_timeout_ms <= highest:
        message = (
            f"a transaction timeout of {request.transaction_timeout_ms} ms is not between 1 and "
            f"transaction.max.timeout.ms={highest}"
        )
        raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT, message)


def initialize(
    transaction: Transaction | None,
    request: InitProducerIdRequest,
    transaction_version: int,
    take_producer_id: TakeProducerId,
    wall_ms: int,
) -> Transition:
    """A transition to Empty, or to PrepareAbort if a transaction is open: then try again.

    Raises:
        ApiError: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED, COORDINATOR_LOAD_IN_PROGRESS.
    """
    if transaction is None:
        producer_id = taken_producer_id(take_producer_id)
        transaction = new_transaction(request.transactional_id or "", producer_id)
    # Before the producer is compared: it may have got its next id, which it takes with completion.
    check_complete(transaction)
    if not _may_be_this_producer(transaction, request):
        raise _fenced(transaction, request)
    if transaction.status is TransactionStatus.ONGOING:
        return abort(transaction, transaction_version, take_producer_id, wall_ms)
    return _next_epoch(transaction, request, take_producer_id, wall_ms)


def _may_be_this_producer(transaction: Transaction, request: InitProducerIdRequest) -> bool:
    """Whether the id fits; the epoch is compared when it is bumped.

    An id that is initialized for the first time fits: the coordinator has forgotten this producer,
    and the new id that it gets fences nobody.
    """
    if request.producer_id == NO_PRODUCER_ID or transaction.producer_epoch == NO_PRODUCER_EPOCH:
        return True
    if request.producer_id == transaction.producer_id:
        return True
    is_previous = request.producer_id == transaction.previous_producer_id
    return is_previous and is_epoch_exhausted(request.producer_epoch)


def _next_epoch(
    transaction: Transaction,
    request: InitProducerIdRequest,
    take_producer_id: TakeProducerId,
    wall_ms: int,
) -> Transition:
    is_continued = request.producer_id != NO_PRODUCER_ID
    timeout_ms = request.transaction_timeout_ms
    if request.enable_2pc:
        timeout_ms = TWO_PHASE_COMMIT_TIMEOUT_MS
    producer_id = transaction.producer_id
    producer_epoch = transaction.producer_epoch
    last_producer_epoch = producer_epoch if is_continued else NO_PRODUCER_EPOCH
    is_current = (
        not is_continued
        or producer_epoch == NO_PRODUCER_EPOCH
        or request.producer_epoch == producer_epoch
    )
    if is_current and transaction.is_epoch_exhausted:
        producer_id, producer_epoch = taken_producer_id(take_producer_id), 0
    elif is_current:
        producer_epoch += 1
    elif request.producer_epoch == transaction.last_producer_epoch:
        # Repeated: the last epoch would be unknown if another producer had taken over.
        last_producer_epoch = transaction.last_producer_epoch
    else:
        raise _fenced(transaction, request)
    return to_empty(
        transaction, producer_id, producer_epoch, last_producer_epoch, timeout_ms, wall_ms
    )


def _fenced(transaction: Transaction, request: InitProducerIdRequest) -> ApiError:
    message = (
        f"producer {request.producer_id} with epoch {request.producer_epoch} no longer has "
        f"{transaction.transactional_id!r}, but {transaction.producer_id} with epoch "
        f"{transaction.producer_epoch}"
    )
    return ApiError(ErrorCode.PRODUCER_FENCED, message)

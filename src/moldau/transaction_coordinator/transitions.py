"""The next record of a transactional id: one function for each way to a new state.

The functions only build; whether a client may ask for the transition is decided by their callers.
Every record names the producer id before it as the previous one, so that a producer that repeats a
request over a change of its id is recognized.
"""

from collections.abc import Iterable, Sequence

from moldau.protocol.records.transaction_coordinator import PartitionsSchema, TransactionLogValue
from moldau.transaction_coordinator.prepared import Partitions
from moldau.transaction_coordinator.status import AT_REST, VALID_PREVIOUS, TransactionStatus
from moldau.transaction_coordinator.transaction import (
    MAX_PRODUCER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Transaction,
    add_to,
)

# From this version on, every transaction has an epoch of its own (KIP-890).
FIRST_VERSION_WITH_EPOCH_BUMP = 2


class Transition:
    """The record to write, and what it does not hold."""

    __slots__ = ("last_producer_epoch", "value")

    def __init__(self, value: TransactionLogValue, last_producer_epoch: int) -> None:
        self.value = value
        self.last_producer_epoch = last_producer_epoch


def bumps_epoch(transaction_version: int) -> bool:
    return transaction_version >= FIRST_VERSION_WITH_EPOCH_BUMP


def to_empty(
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    last_producer_epoch: int,
    timeout_ms: int,
    wall_ms: int,
) -> Transition:
    """The id is initialized for a producer with this id and epoch."""
    value = _unchanged(transaction, TransactionStatus.EMPTY, wall_ms)
    value.producer_id = producer_id
    value.producer_epoch = producer_epoch
    value.transaction_timeout_ms = timeout_ms
    value.transaction_partitions = None
    value.transaction_start_timestamp_ms = NO_TIMESTAMP
    return Transition(value, last_producer_epoch)


def to_ongoing(
    transaction: Transaction,
    added: Iterable[tuple[str, Sequence[int]]],
    client_transaction_version: int,
    wall_ms: int,
) -> Transition:
    """Partitions are added; the first ones begin a transaction."""
    value = _unchanged(transaction, TransactionStatus.ONGOING, wall_ms)
    partitions = {topic: dict(indexes) for topic, indexes in transaction.partitions.items()}
    for name, indexes in added:
        add_to(partitions, name, indexes)
    value.transaction_partitions = _by_topic(partitions)
    if transaction.status in AT_REST:
        value.transaction_start_timestamp_ms = wall_ms
    value.client_transaction_version = client_transaction_version
    return Transition(value, transaction.last_producer_epoch)


def to_prepared(
    transaction: Transaction,
    *,
    is_commit: bool,
    client_transaction_version: int,
    next_producer_id: int,
    wall_ms: int,
) -> Transition:
    """The outcome is decided. With version 2, the epoch is bumped, which fences late requests.

    The last epoch is not bumped: no client has it, so there is nobody left to fence.
    """
    status = TransactionStatus.PREPARE_COMMIT if is_commit else TransactionStatus.PREPARE_ABORT
    if transaction.status in AT_REST:
        assert bumps_epoch(client_transaction_version), "version 1 cannot end what has not begun"
    value = _unchanged(transaction, status, wall_ms)
    last_producer_epoch = transaction.last_producer_epoch
    if bumps_epoch(client_transaction_version):
        value.producer_epoch = min(transaction.producer_epoch + 1, MAX_PRODUCER_EPOCH)
        last_producer_epoch = transaction.producer_epoch
    if transaction.status in AT_REST:
        # Nothing was added, but a transaction that ends must have begun.
        value.transaction_start_timestamp_ms = wall_ms
    value.next_producer_id = next_producer_id
    value.client_transaction_version = client_transaction_version
    return Transition(value, last_producer_epoch)


def to_fenced_abort(transaction: Transaction, wall_ms: int) -> Transition:
    """PrepareAbort by way of PrepareEpochFence, before version 2: the epoch fences the producer."""
    _check(transaction, TransactionStatus.PREPARE_EPOCH_FENCE)
    value = _unchanged(transaction, TransactionStatus.PREPARE_ABORT, wall_ms)
    value.producer_epoch = min(transaction.producer_epoch + 1, MAX_PRODUCER_EPOCH)
    value.next_producer_id = NO_PRODUCER_ID
    value.client_transaction_version = 0
    return Transition(value, NO_PRODUCER_EPOCH)


def to_complete(transaction: Transaction, wall_ms: int) -> Transition:
    """All markers are written. A next producer id takes the place of the exhausted one."""
    is_commit = transaction.status is TransactionStatus.PREPARE_COMMIT
    status = TransactionStatus.COMPLETE_COMMIT if is_commit else TransactionStatus.COMPLETE_ABORT
    value = _unchanged(transaction, status, wall_ms)
    value.producer_id, value.producer_epoch = after_completion(value)
    value.next_producer_id = NO_PRODUCER_ID
    value.transaction_partitions = []
    return Transition(value, transaction.last_producer_epoch)


def after_completion(value: TransactionLogValue) -> tuple[int, int]:
    """The producer id and epoch that the client has when the prepared transaction is complete."""
    has_next = value.next_producer_id != NO_PRODUCER_ID
    if has_next and bumps_epoch(value.client_transaction_version):
        return value.next_producer_id, 0
    return value.producer_id, value.producer_epoch


def _unchanged(
    transaction: Transaction, status: TransactionStatus, wall_ms: int
) -> TransactionLogValue:
    """The record of a transition that changes only the state and the time."""
    _check(transaction, status)
    return TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=int(status),
        transaction_partitions=_by_topic(transaction.partitions),
        transaction_last_update_timestamp_ms=wall_ms,
        transaction_start_timestamp_ms=transaction.start_timestamp_ms,
        client_transaction_version=transaction.client_transaction_version,
    )


def _check(transaction: Transaction, status: TransactionStatus) -> None:
    previous = transaction.status
    assert previous in VALID_PREVIOUS[status], (
        f"{transaction.transactional_id!r}: {previous.name} does not become {status.name}"
    )


def _by_topic(partitions: Partitions) -> list[PartitionsSchema]:
    return [PartitionsSchema(topic, list(indexes)) for topic, indexes in partitions.items()]

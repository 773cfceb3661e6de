"""Transactions as administrators see them: described one by one, or listed by filters."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from moldau.coordinator.patterns import compile_pattern
from moldau.errors import ErrorCode
from moldau.protocol.messages import describe_transactions, list_transactions
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.transaction_coordinator.status import STATE_NAMES, TransactionStatus
from moldau.transaction_coordinator.transaction import Transaction

# How many transactions are looked at before others are served: less than a millisecond.
_PART: Final = 200


class TransactionFilters(NamedTuple):
    """What a listed transaction must fulfil; a filter that is empty or None admits all."""

    states: frozenset[TransactionStatus] | None = None
    producer_ids: frozenset[int] = frozenset()
    # Open for longer than this; negative admits all.
    duration_ms: int = -1
    matches_id: Callable[[str], object | None] | None = None

    def admit(self, transaction: Transaction, wall_ms: int) -> bool:
        """An id that has not begun a transaction has been open since ever, as in Kafka."""
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states is not None and transaction.status not in self.states:
            return False
        open_ms = wall_ms - transaction.start_timestamp_ms
        if self.duration_ms >= 0 and open_ms <= self.duration_ms:
            return False
        return self.matches_id is None or self.matches_id(transaction.transactional_id) is not None


def filters_of(request: ListTransactionsRequest) -> tuple[TransactionFilters, list[str]]:
    """The filters of a request, and the names in it that are no state.

    Raises:
        ApiError: INVALID_REGULAR_EXPRESSION.
    """
    by_name = {name: status for status, name in STATE_NAMES.items()}
    names = list(dict.fromkeys(request.state_filters))
    known = [by_name[name] for name in names if name in by_name]
    pattern = request.transactional_id_pattern
    filters = TransactionFilters(
        frozenset(known) if names else None,
        frozenset(request.producer_id_filters),
        request.duration_filter,
        compile_pattern("Transaction ID pattern", pattern) if pattern else None,
    )
    return filters, [name for name in names if name not in by_name]


def listed(
    transactions: Sequence[Transaction], filters: TransactionFilters, wall_ms: int
) -> Iterator[list[list_transactions.TransactionState]]:
    """Those that ``filters`` admits, in parts."""
    for begin in range(0, len(transactions), _PART):
        yield [
            list_transactions.TransactionState(
                transaction.transactional_id,
                transaction.producer_id,
                STATE_NAMES[transaction.status],
            )
            for transaction in transactions[begin : begin + _PART]
            if filters.admit(transaction, wall_ms)
        ]


def described(
    transactional_id: str, transaction: Transaction | None
) -> describe_transactions.TransactionState:
    state = describe_transactions.TransactionState(transactional_id=transactional_id)
    if not transactional_id:
        state.error_code = int(ErrorCode.INVALID_REQUEST)
        return state
    if transaction is None:
        state.error_code = int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return state
    state.transaction_state = STATE_NAMES[transaction.status]
    state.transaction_timeout_ms = transaction.timeout_ms
    state.transaction_start_time_ms = transaction.start_timestamp_ms
    state.producer_id = transaction.producer_id
    state.producer_epoch = transaction.producer_epoch
    state.topics = [
        describe_transactions.TopicData(name, list(indexes))
        for name, indexes in transaction.partitions.items()
    ]
    return state

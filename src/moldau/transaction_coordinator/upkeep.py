"""What the coordinator does without a request: timeouts of transactions, expiry of ids.

Both are looked for at intervals, as in Apache Kafka, and compare wall time with what is in the
records: a transaction may be older than this process. Only open transactions are looked at for
timeouts, so that a round costs nothing where there are none.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.transaction_coordinator.status import AT_REST, TransactionStatus
from moldau.transaction_coordinator.transaction import Transaction

# More would keep the event loop from other requests; the rest follows at once. Each that has timed
# out is a record with all its partitions.
_MAX_TIMED_OUT: Final = 200
_MAX_EXPIRED: Final = 1000


class Upkeep:
    """When to look, and what is due then."""

    def __init__(self, config: BrokerConfig, transactions: Mapping[str, Transaction]) -> None:
        self._transactions = transactions
        # In the order in which they began.
        self._ongoing: dict[str, None] = {}
        # Those that were over their time at the last look, and have not been returned.
        self._overdue: deque[str] = deque()
        self._looked_ms = 0
        self._expiration_ms = config.transactional_id_expiration_ms
        self._abort_interval_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._expiry_interval_ms = config.transaction_remove_expired_transaction_cleanup_interval_ms
        self._abort_due_ms = 0
        self._expiry_due_ms = 0

    def start(self, now: Now) -> None:
        self._abort_due_ms = now.monotonic_ms + self._abort_interval_ms
        self._expiry_due_ms = now.monotonic_ms + self._expiry_interval_ms

    def note(self, transaction: Transaction) -> None:
        """Called for every new state of an id."""
        if transaction.status is TransactionStatus.ONGOING:
            self._ongoing[transaction.transactional_id] = None
        else:
            self._ongoing.pop(transaction.transactional_id, None)

    def forget(self, transactional_id: str) -> None:
        self._ongoing.pop(transactional_id, None)

    def next_deadline_ms(self) -> int | None:
        if self._overdue:
            return self._looked_ms
        if self._ongoing:
            return min(self._abort_due_ms, self._expiry_due_ms)
        return self._expiry_due_ms if self._transactions else None

    def timed_out(self, now: Now) -> list[Transaction]:
        """Some of the open transactions that are over their time, each once per look for them."""
        if now.monotonic_ms >= self._abort_due_ms:
            self._abort_due_ms = now.monotonic_ms + self._abort_interval_ms
            self._looked_ms = now.monotonic_ms
            self._overdue = deque(
                each for each in self._ongoing if _is_overdue(self._transactions[each], now)
            )
        found: list[Transaction] = []
        while self._overdue and len(found) < _MAX_TIMED_OUT:
            transactional_id = self._overdue.popleft()
            # It may have ended since.
            if transactional_id in self._ongoing:
                transaction = self._transactions[transactional_id]
                if _is_overdue(transaction, now):
                    found.append(transaction)
        return found

    def expired(self, now: Now) -> list[str]:
        """Ids at rest that have not been used for long, if it is time to look for them."""
        if now.monotonic_ms < self._expiry_due_ms:
            return []
        self._expiry_due_ms = now.monotonic_ms + self._expiry_interval_ms
        latest_ms = now.wall_ms - self._expiration_ms
        found: list[str] = []
        for transactional_id, transaction in self._transactions.items():
            if transaction.status in AT_REST and transaction.last_update_timestamp_ms <= latest_ms:
                found.append(transactional_id)
                if len(found) == _MAX_EXPIRED:
                    self._expiry_due_ms = now.monotonic_ms
                    break
        return found


def _is_overdue(transaction: Transaction, now: Now) -> bool:
    end_ms = transaction.start_timestamp_ms + transaction.timeout_ms
    return transaction.has_timeout and end_ms < now.wall_ms
